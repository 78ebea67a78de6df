# Data frames, against aggregate(), ave() and dplyr.

frame <- data.frame(
  g = c("b", "a", "b", "a", "c"), h = factor(c("u", "v", "u", "u", "v"), c("v", "u", "w")), n = 1:5,
  x = c(1.5, NA, 2, 3, 4), day = as.Date("2024-01-01") + 0:4, z = complex(real = 1:5, imaginary = 1)
)

test_that("one operation on all columns keeps the names and agrees with aggregate()", {
  expect_equal(seg_reduce(frame[c("g", "n", "x")], g = ~g, op = "mean"),
               aggregate(frame[c("n", "x")], frame["g"], mean))
  two <- seg_reduce(frame[c("g", "h", "n")], g = ~ g + h)
  expected <- aggregate(frame["n"], frame[c("g", "h")], sum)
  expect_equal(two, expected[order(expected$g, expected$h), ], ignore_attr = "row.names")
  expect_identical(seg_reduce(frame["n"], g = frame$h)$group, factor(c("v", "u", "w"), levels(frame$h)))
  expect_identical(seg_reduce(frame["n"], frame$g, "max"), data.frame(group = c("a", "b", "c"), n = c(4L, 3L, 5L)))
  expect_identical(seg_reduce(frame["n"], g = frame["h"], sort = FALSE),
                   data.frame(h = factor(c("u", "v"), levels(frame$h)), n = c(8L, 7L)))
})

test_that("several operations, and an operation for each column, agree with base R", {
  ops <- list(n = c("sum", largest = "max"), day = "max", x = "range", z = "sum")
  got <- seg_reduce(frame, g = ~g, op = ops, na.rm = TRUE)
  expected <- data.frame(g = c("a", "b", "c"), n_sum = c(6L, 4L, 5L), n_largest = c(4L, 3L, 5L),
                         day = frame$day[c(4, 3, 5)], x_min = c(3, 1.5, 4), x_max = c(3, 2, 4),
                         z = c(6 + 2i, 4 + 2i, 5 + 1i))
  expect_equal(got, expected)
  got <- seg_reduce(frame[c("n", "x")], g = frame$g, op = c("first", "count"))
  expect_named(got, c("group", "n_first", "n_count", "x_first", "x_count"))
  largest_size <- seg_op("Max(Abs(a), Abs(b))")
  expect_equal(seg_reduce(frame["n"], g = frame$g, op = list(n = largest_size))$n, c(4, 3, 5))
})

test_that("segments of data frames may be given without groups", {
  expect_identical(seg_reduce(frame["n"], lengths = c(u = 2, v = 3)), data.frame(group = c("u", "v"), n = c(3L, 12L)))
  expect_identical(seg_reduce(frame["n"], offsets = c(0, 2)), data.frame(n = c(3L, 12L)))
  expect_identical(seg_reduce(frame["n"], plan = seg_plan(g = frame$g))$n, c(6L, 4L, 5L))
  expect_identical(reduce_by_key(c(1, 1, 2, 2, 1), frame["n"])$values, data.frame(n = c(3L, 7L, 5L)))
  expect_identical(dim(seg_reduce(frame[0, ], g = ~g, op = list(day = "max"))), c(0L, 2L))
})

test_that("scans, windows and transformations return a row for each row", {
  row.names(frame) <- letters[11:15]
  got <- seg_scan(frame[c("g", "n", "x")], g = ~g, op = c("sum", "count"))
  expect_equal(got, data.frame(
    g = frame$g, n_sum = ave(frame$n, frame$g, FUN = cumsum), n_count = c(1L, 1L, 2L, 2L, 1L),
    x_sum = ave(frame$x, frame$g, FUN = cumsum), x_count = c(1L, 1L, 2L, 2L, 1L), row.names = row.names(frame)
  ))
  kinds <- c("n", "day", "h")
  expect_equal(seg_transform(frame[kinds], "lag"), frame[c(NA, 1:4), kinds], ignore_attr = "row.names")
  expect_equal(seg_transform(frame[c("g", "n")], "center", g = ~g)$n, frame$n - ave(frame$n, frame$g))
  expect_equal(seg_roll(frame[kinds[1:2]], 2, op = "max"), frame[c(NA, 2:5), kinds[1:2]], ignore_attr = "row.names")
})

test_that("tibbles and groups of dplyr are accepted", {
  skip_if_not_installed("dplyr")
  grouped <- dplyr::group_by(dplyr::as_tibble(frame), h, g)
  expected <- dplyr::summarise(grouped, n_sum = sum(n), n_max = max(n), .groups = "drop")
  expect_identical(seg_reduce(grouped, op = list(n = c("sum", "max"))), expected)
  expect_identical(seg_scan(grouped, op = list(n = "sum"))$n, dplyr::mutate(grouped, n = cumsum(n))$n)
})

test_that("errors name the column", {
  expect_snapshot(error = TRUE, seg_reduce(frame, g = ~g, op = "mean"))
  expect_snapshot(error = TRUE, seg_reduce(frame, g = ~ g + nothing))
  expect_snapshot(error = TRUE, seg_reduce(frame, g = ~g, op = list(nothing = "sum")))
  expect_snapshot(error = TRUE, seg_reduce(frame["n"], g = frame$g, op = "softmax"))
  expect_snapshot(error = TRUE, seg_reduce(frame["n"], g = frame$g, op = c("sum", "total")))
  expect_snapshot(error = TRUE, seg_reduce(frame["n"], g = 1:3))
  expect_snapshot(error = TRUE, seg_sort(frame))
  expect_snapshot(error = TRUE, seg_reduce(frame["n"], g = frame$g, op = character()))
  expect_named(seg_reduce(frame["n"], g = list(frame$g, frame$h)), c("group", "group_1", "n"))
})

test_that("several operations in one call require a data frame", {
  g <- c(1, 1, 2, 2)
  days <- as.Date("2026-11-30") + 1:4
  expect_snapshot(error = TRUE, seg_reduce(1:4, g = g, op = c("sum", "max")))
  expect_snapshot(error = TRUE, seg_reduce(days, g = g, op = c("first", "max")))
  expect_snapshot(error = TRUE, reduce_by_key(g, days, op = c("first", "max")))
})
