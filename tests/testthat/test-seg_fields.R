# Operations on values with several fields and on complex numbers, against loops.

pool <- seg_op(c(n = "a_n + b_n", mean = "(a_n * a_mean + b_n * b_mean) / (a_n + b_n)"), c(n = 0, mean = -1))
latest <- seg_op(c(t = "Max2(a_t, b_t)", v = "IfElse(b_t - a_t, b_v, a_v)"))
set.seed(3)
values <- data.frame(n = sample(9, 60, TRUE), mean = round(rnorm(60), 2), g = sample(letters[1:7], 60, TRUE))
pooled <- \(d) c(n = sum(d$n), mean = if (nrow(d)) sum(d$n * d$mean) / sum(d$n) else -1)
expected <- t(sapply(split(values, values$g), pooled))

test_that("the fields of data frames and lists are reduced together", {
  got <- seg_reduce(values, g = ~g, op = pool)
  expect_named(got, c("g", "n", "mean"))
  expect_equal(as.matrix(got[c("n", "mean")]), expected, ignore_attr = TRUE)
  got <- seg_reduce(as.list(values[c("mean", "n")]), g = values$g, op = pool)
  expect_equal(do.call(cbind, got), expected)
  lengths <- c(0, 1, 2, 0, 30, 27, 0)
  rows <- split(values, factor(rep(seq_along(lengths), lengths), seq_along(lengths)))
  expect_equal(as.matrix(seg_reduce(values, lengths = lengths, op = pool)), t(sapply(rows, pooled)), ignore_attr = TRUE)
  runs <- reduce_by_key(values$n, values, pool)
  expect_equal(runs$values$n, runs$keys * runs$lengths)
  dear <- seg_reduce(data.frame(t = c(3, 9, 4, 1), v = c(30, 90, 40, 10)), lengths = c(3, 1), op = latest)
  expect_equal(dear, data.frame(t = c(9, 1), v = c(90, 10)))
})

test_that("rows with a missing field are removed, or make the result missing", {
  gaps <- values
  gaps$mean[5] <- NA
  kept <- t(sapply(split(gaps[-5, ], gaps$g[-5]), pooled))
  expect_equal(as.matrix(seg_reduce(gaps, g = ~g, op = pool, na.rm = TRUE)[2:3]), kept, ignore_attr = TRUE)
  got <- seg_reduce(gaps, g = ~g, op = pool)
  expect_identical(is.na(got$mean), got$g == gaps$g[5])
  expect_equal(got$n, expected[, "n"], ignore_attr = TRUE)
})

test_that("fields of arrays are reduced over any dimensions", {
  x <- list(n = array(sample(9, 120, TRUE), c(4, 5, 3, 2)), mean = array(rnorm(120), c(4, 5, 3, 2)))
  for (dims in list(1, 2, 3, 4, 2:3, c(1, 3), c(2, 4), 1:4)) {
    kept <- setdiff(1:4, dims)
    sums <- \(v) if (length(kept)) apply(v, kept, sum) else sum(v)
    got <- axis_reduce(x, dims, pool)
    expect_equal(got$n, sums(x$n))
    expect_equal(got$mean, sums(x$n * x$mean) / sums(x$n))
    expect_equal(axis_reduce(x, dims, pool, na.rm = TRUE), got)
  }
  expect_identical(dim(axis_reduce(x, 2, pool, keepdims = TRUE)$n), c(4L, 1L, 3L, 2L))
})

test_that("products of complex numbers, and of arrays of complex numbers, agree with loops", {
  z <- complex(real = rnorm(24), imaginary = rnorm(24))
  expect_equal(seg_reduce(z, lengths = c(10, 0, 14), op = "prod"), c(prod(z[1:10]), 1, prod(z[11:24])))
  expect_identical(seg_reduce(c(1i, 1i, 2), g = c("a", "a", "b"), op = "prod"), c(a = -1 + 0i, b = 2 + 0i))
  x <- array(z, 2:4, list(letters[1:2], LETTERS[1:3], 1:4))
  for (op in c("sum", "mean", "prod")) for (dims in list(1, 2, 3, c(1, 3), 1:3)) {
    kept <- setdiff(1:3, dims)
    f <- get(op)
    expect_equal(axis_reduce(x, dims, op), if (length(kept)) apply(x, kept, f) else f(z))
  }
  add <- seg_op(c(re = "a_re + b_re", im = "a_im + b_im"))
  expect_equal(axis_reduce(x, 2, add), axis_reduce(x, 2, "sum"))
})

test_that("arrays of dates and of 64-bit integers are reduced", {
  days <- structure(array(19000 + sample(99, 24), 2:4), class = "Date")
  expect_equal(unclass(axis_reduce(days, 2, "max")), apply(unclass(days), c(1, 3), max))
  expect_s3_class(axis_reduce(days, 2, "median"), "Date")
  low <- array(sample(1e8, 24), 2:4)
  large <- structure(integer64(low, rep(2^22, 24)), dim = 2:4)
  sums <- axis_reduce(large, c(1, 3), "sum")
  expect_identical(unclass(sums), unclass(integer64(apply(low, 2, sum), rep(8 * 2^22, 3))))
  expect_error(axis_reduce(days, 2, "sum"), class = "kernops_input_error")
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, seg_op(c("a", "b")))
  expect_snapshot(error = TRUE, seg_op(c(x = "a_x + b_x", y = "a_x - b_y")))
  expect_snapshot(error = TRUE, seg_op(c(x = "a_x + b_x", y = "a_y + b_y"), c(x = 0)))
  expect_snapshot(error = TRUE, seg_op(c(x = "1", y = "2")))
  expect_snapshot(error = TRUE, seg_op(c(x = "a_x + b_z", y = "a_y")))
  expect_snapshot(error = TRUE, seg_reduce(data.frame(n = 1), lengths = 1, op = pool))
  expect_snapshot(error = TRUE, seg_reduce(1:3, lengths = 3, op = pool))
  expect_snapshot(error = TRUE, seg_reduce(values, g = ~g, op = pool, weights = 1:60))
  expect_snapshot(error = TRUE, seg_scan(1:3, op = pool))
  expect_snapshot(error = TRUE, seg_scan(1i * 1:3, op = "prod"))
  expect_snapshot(print(pool))
})
