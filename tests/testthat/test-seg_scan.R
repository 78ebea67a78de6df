# Scans of segments, against reductions of each prefix in plain R.

# The definition: for each value, `reduce` is applied to the values of the segment up to this value or, if `reverse` is
# TRUE, from this value on.
oracle_scan <- function(x, positions, reduce, exclusive = FALSE, reverse = FALSE, size = 1) {
  result <- matrix(NA_real_, length(x), size)
  for (at in positions) {
    for (k in seq_along(at)) {
      within <- if (reverse) seq_along(at) > k else seq_along(at) < k
      if (!exclusive) within[k] <- TRUE
      result[at[k], ] <- reduce(x[at[within]], at[within], at)
    }
  }
  drop(result)
}
# A scan by the name of the operation, with positions counted from the first value of the segment.
oracle_named_scan <- function(x, positions, op, ..., na.rm = FALSE) {
  reduce <- function(values, used, all) {
    kept <- !(na.rm & is.na(values))
    result <- as.numeric(oracle_segment[[op]](values[kept]))
    if (op %in% c("argmin", "argmax") && !is.na(result)) match(used[kept][result], all) else result
  }
  oracle_scan(x, positions, reduce, ...)
}

lengths_here <- c(0, 1, 2, 0, 7, 16, 33, 1, 0)
directions <- expand.grid(exclusive = c(FALSE, TRUE), reverse = c(FALSE, TRUE))

for (op in names(oracle_segment)) test_that(paste("scans agree with reductions of each prefix and suffix:", op), {
  withr::local_seed(1)
  list2env(segment_case(op, lengths_here, 9, missing = 12), environment())
  near <- \(actual, expected) expect_equal(as.numeric(actual), expected, tolerance = 1e-12)
  for (d in seq_len(nrow(directions))) {
    how <- as.list(directions[d, ])
    scan <- \(x, ...) do.call(seg_scan, c(list(x, op = op), how, list(...)))
    expected <- \(x, positions, ...) do.call(oracle_named_scan, c(list(x, positions, op), how, list(...)))
    near(scan(x, lengths = lengths_here), expected(x, by_lengths(lengths_here)))
    near(scan(x, g = keys), expected(x, split(seq_len(n), keys)))
    near(scan(gaps, g = keys, na.rm = TRUE), expected(gaps, split(seq_len(n), keys), na.rm = TRUE))
    near(scan(gaps, lengths = lengths_here, na.rm = TRUE), expected(gaps, by_lengths(lengths_here), na.rm = TRUE))
    with_tile(8, expect_identical(scan(x, lengths = lengths_here), with_tile(1, scan(x, lengths = lengths_here))))
  }
})

test_that("scans by group agree with the cumulative functions of base R, in any order", {
  withr::local_seed(2)
  x <- sample(5, 1000, replace = TRUE) / 4
  keys <- sample(letters, 1000, replace = TRUE)
  base <- list(sum = cumsum, prod = cumprod, max = cummax, min = cummin)
  for (op in names(base)) {
    expect_equal(seg_scan(x, g = keys, op = op), ave(x, keys, FUN = base[[op]]), label = op)
    expect_equal(seg_scan(x, op = op), base[[op]](x), label = op)
    expect_equal(seg_scan(x, g = sort(keys), op = op), ave(x, sort(keys), FUN = base[[op]]), label = op)
  }
  expect_identical(seg_scan(1:6, g = c(2, 1, 2, 1, 2, 1)), as.integer(ave(1:6, c(2, 1, 2, 1, 2, 1), FUN = cumsum)))
  expect_identical(seg_scan(x, g = keys, op = "count"), as.integer(ave(x, keys, FUN = seq_along)))
  lag <- \(x) c(NA, x[-length(x)])
  expect_identical(seg_scan(x, g = keys, op = "last", exclusive = TRUE), ave(x, keys, FUN = lag))
})

test_that("long segments, which are scanned in blocks, are right for any number of threads", {
  withr::local_seed(3)
  lengths <- c(4095, 4096, 4097, 0, 30000, 5, 70000)
  x <- rnorm(sum(lengths))
  part <- rep(seq_along(lengths), lengths)
  plan <- seg_plan(lengths = lengths)
  mix <- sample(length(x))
  base <- list(sum = cumsum, max = cummax, min = cummin, argmax = \(x) match(cummax(x), x),
               mean = \(x) cumsum(x) / seq_along(x))
  for (op in names(base)) {
    scanned <- seg_scan(x, plan = plan, op = op)
    expect_equal(scanned, ave(x, part, FUN = base[[op]]), tolerance = 1e-12, label = op)
    backward <- seg_scan(x, plan = plan, op = op, reverse = TRUE)
    if (op != "argmax") {
      expect_equal(backward, ave(x, part, FUN = \(v) rev(base[[op]](rev(v)))), tolerance = 1e-12, label = op)
    }
    for (threads in c(1, 2, 8)) with_threads(threads, {
      expect_identical(seg_scan(x, plan = plan, op = op), scanned)
      expect_identical(seg_scan(x, plan = plan, op = op, reverse = TRUE), backward)
      expect_equal(seg_scan(x[mix], g = part[mix], op = op),
                   ave(x[mix], part[mix], FUN = base[[op]]), tolerance = 1e-12, label = op)
    })
  }
  add <- seg_op("a + b", identity = 0)
  expect_equal(seg_scan(x, plan = plan, op = add), ave(x, part, FUN = cumsum), tolerance = 1e-10)
  for (op in list("sum", "first", "var", "logsumexp", add)) {
    by <- \(threads) with_threads(threads, seg_scan(x[mix], g = part[mix], op = op))
    expect_identical(by(1), by(3))
  }
})

test_that("cumulative sums on the CPU are compensated, and those of positive numbers do not decrease", {
  scan <- \(x) seg_scan(x, backend = "cpu")
  x <- rep(0.1, 1e5)
  expect_identical(scan(x)[c(1e4, 1e5)], c(1e3, 1e4))
  large <- c(1e16, rep(1, 9999), -1e16)
  expect_identical(scan(large)[10001], 9999)
  withr::local_seed(4)
  weights <- rexp(50000) * 10^sample(-9:9, 50000, replace = TRUE)
  expect_false(is.unsorted(scan(weights)))
  expect_identical(scan(c(1, Inf, 2, -Inf, 1)), c(1, Inf, Inf, NaN, NaN))
})

test_that("formulas combine values in their order", {
  withr::local_seed(5)
  lengths <- c(3, 0, 1, 100, 5000, 8)
  x <- runif(sum(lengths), -1, 1)
  positions <- by_lengths(lengths)
  latest <- seg_op("Step(Abs(b) - 0.5) * b + (1 - Step(Abs(b) - 0.5)) * a", identity = 7) # the latest large value
  expected <- function(x, reverse, exclusive) {
    for (at in positions) {
      if (!length(at)) next
      f <- \(a, b) if (abs(b) >= 0.5) b else a
      g <- if (reverse) \(acc, v) f(v, acc) else f
      walk <- if (reverse) rev(at) else at
      acc <- Reduce(g, x[walk], accumulate = TRUE)
      x[walk] <- if (exclusive) c(7, acc[-length(acc)]) else acc
    }
    x
  }
  for (d in seq_len(nrow(directions))) {
    exclusive <- directions$exclusive[d]
    reverse <- directions$reverse[d]
    expect_identical(seg_scan(x, lengths = lengths, op = latest, exclusive = exclusive, reverse = reverse),
                     expected(x, reverse, exclusive))
  }
  gaps <- replace(x, c(1, 4, 50, 4000), NA)
  kept <- seg_scan(gaps, lengths = lengths, op = latest, na.rm = TRUE)
  expect_identical(kept[c(1, 4)], c(7, 7))
  expect_identical(kept[-c(1:4)], expected(replace(x, c(1, 4, 50, 4000), 0), FALSE, FALSE)[-c(1:4)])
})

test_that("results are NA or NaN from the first missing value on", {
  x <- c(1, NaN, 2, NA, 3)
  expect_identical(is.nan(seg_scan(x)), c(FALSE, TRUE, TRUE, FALSE, FALSE))
  expect_identical(is.na(seg_scan(x)), c(FALSE, TRUE, TRUE, TRUE, TRUE))
  expect_identical(is.nan(seg_scan(x, exclusive = TRUE)), c(FALSE, FALSE, TRUE, TRUE, FALSE))
  expect_identical(seg_scan(x, reverse = TRUE), c(NA, NA, NA, NA, 3))
  expect_identical(is.nan(seg_scan(c(NA, NaN), g = c(2, 1))), c(FALSE, TRUE))
  expect_identical(seg_scan(c(1L, NA, 3L)), c(1L, NA, NA))
  expect_identical(seg_scan(c(1L, NA, 3L), na.rm = TRUE), c(1L, 1L, 4L))
  expect_identical(seg_scan(c(NA, 2, NA), op = "max", na.rm = TRUE, empty = 0), c(0, 2, 2))
  expect_identical(seg_scan(c(2, 3), op = "prod", exclusive = TRUE, empty = NA), c(NA, 2))
})

test_that("shapes, types and names of results are those of the values", {
  x <- matrix(c(3, 1, 2, 4, 6, 5), 3, dimnames = list(letters[1:3], c("u", "v")))
  expect_identical(seg_scan(x, lengths = c(1, 2)), `dimnames<-`(cbind(c(3, 1, 3), c(4, 6, 11)), dimnames(x)))
  expect_identical(seg_scan(x, g = c("b", "a", "b"), op = "max"),
                   `dimnames<-`(cbind(c(3, 1, 3), c(4, 6, 5)), dimnames(x)))
  range <- seg_scan(x, op = "range")
  expect_identical(dimnames(range), c(dimnames(x), list(c("min", "max"))))
  expect_identical(unname(range[, "u", ]), cbind(c(3, 1, 1), c(3, 3, 3)))
  expect_identical(dimnames(seg_scan(c(a = 1, b = 2), op = "range")), list(c("a", "b"), c("min", "max")))
  expect_identical(seg_scan(c(a = 1, b = 2)), c(a = 1, b = 3))
  expect_identical(seg_scan(c(0, 1, 0), op = "any"), c(FALSE, TRUE, TRUE))
  expect_identical(seg_scan(c(TRUE, FALSE, TRUE)), c(1L, 1L, 2L))
  expect_identical(seg_scan(c(TRUE, FALSE), op = "last", exclusive = TRUE), c(NA, TRUE))
  expect_identical(seg_scan(c(5L, 3L, 6L), op = "bit_and"), c(5L, 1L, 0L))
  expect_identical(seg_scan(c(1, 2, 3), g = c("a", NA, "a")), c(1, NA, 4))
  expect_identical(seg_scan(c(9, 1, 2, 3), offsets = c(1, 3)), c(NA, 1, 3, 3))
  expect_identical(seg_scan(numeric()), numeric())
  expect_identical(seg_scan(integer(), g = factor(character(), "a"), op = "max"), integer())
  expect_identical(seg_scan(matrix(0, 0, 3)), matrix(0, 0, 3))
  expect_warning(long <- seg_scan(c(.Machine$integer.max, 1L)), class = "kernops_overflow_warning")
  expect_identical(long, c(2147483647, 2147483648))
  plan <- seg_plan(g = c(1, 1, 2))
  expect_identical(seg_scan(1:3, plan = plan), c(1L, 3L, 3L))
  many <- seg_scan(rep(1, 3e5), g = rep(sample(1e5), 3), exclusive = TRUE)
  expect_identical(many, rep(c(0, 1, 2), each = 1e5))
})

test_that("gradients of scans agree with finite differences", {
  withr::local_seed(6)
  x <- round(rnorm(12), 2)
  keys <- c(1, 2, 1, 1, 2, 3, 1, 2, NA, 1, 2, 1)
  eta <- rnorm(12)
  numeric_gradient <- function(x, f) vapply(seq_along(x), function(k) {
    moved <- \(by) f(replace(x, k, x[k] + by))
    (moved(1e-5) - moved(-1e-5)) / 2e-5
  }, 0)
  for (op in c("sum", "prod", "min", "max", "mean", "var", "logsumexp")) {
    for (d in seq_len(nrow(directions))) {
      exclusive <- directions$exclusive[d]
      reverse <- directions$reverse[d]
      total <- function(x) {
        y <- seg_scan(x, g = keys, op = op, exclusive = exclusive, reverse = reverse)
        sum((eta * y)[is.finite(y)])
      }
      grad <- seg_grad(op, scan = TRUE)(x, eta, g = keys, exclusive = exclusive, reverse = reverse)
      expect_equal(grad, numeric_gradient(x, total), tolerance = 1e-6, label = paste(op, exclusive, reverse))
    }
  }
  y <- matrix(x, 6, dimnames = list(NULL, c("a", "b")))
  both <- seg_grad("max", scan = TRUE)(y, matrix(eta, 6), lengths = c(4, 2))
  expect_identical(both[, "b"], seg_grad("max", scan = TRUE)(x[7:12], eta[7:12], lengths = c(4, 2)))
  expect_identical(seg_grad("prod", scan = TRUE)(c(2, 0, 3, 0), c(0, 0, 1, 1)), c(0, 6, 0, 0))
  expect_identical(seg_grad("sum", scan = TRUE)(1:3, c(1, 1, 1)), c(3, 2, 1))
})

test_that("scans of values on the GPU may return results on the GPU or on the host", {
  skip_without_gpu()
  withr::local_seed(7)
  lengths <- c(1, 4094, 1, 4096, 3, 5000, 400, 2)
  n <- sum(lengths)
  x <- matrix(round(rnorm(2 * n), 3), n)
  x[, 2] <- abs(x[, 2])
  latest <- seg_op("Step(Abs(b) - 0.5) * b + (1 - Step(Abs(b) - 0.5)) * a", identity = 7)
  for (precision in c("float32", "float64")) {
    there <- gpu_matrix(x, precision)
    same <- as.matrix(there)
    for (op in list("sum", "mean", "sd", "max", "argmax", "range", "first", "last", "logsumexp", "count", latest)) {
      for (d in seq_len(nrow(directions))) {
        how <- c(list(lengths = lengths, op = op), as.list(directions[d, ]))
        expect_equal(do.call(seg_scan, c(list(there), how)), do.call(seg_scan, c(list(same), how)), tolerance = 1e-10)
      }
    }
    stays <- seg_scan(there, lengths = lengths, output = "gpu")
    expect_s3_class(stays, "gpu_matrix")
    rounding <- if (precision == "float32") 1e-6 else 1e-12
    expect_equal(as.matrix(stays), seg_scan(same, lengths = lengths), tolerance = rounding)
  }
  gaps <- gpu_matrix(matrix(c(1, NA, 3, NaN, 5, 6), 3), "float64")
  expect_identical(seg_scan(gaps), matrix(c(1, NA, NA, NaN, NaN, NaN), 3))
  expect_identical(seg_scan(gaps, na.rm = TRUE), matrix(c(1, 1, 4, 0, 5, 11), 3))
  expect_identical(as.matrix(seg_scan(gaps, exclusive = TRUE, empty = 9, output = "gpu"))[1, ], c(9, 9))
  expect_identical(seg_scan(gaps, g = c(2, 1, 2)), matrix(c(1, NA, 4, NaN, 5, NaN), 3))
})

test_that("the GPU scans groups in any order, values of the host, and missing values", {
  skip_without_gpu()
  withr::local_seed(8)
  n <- 20000
  x <- matrix(round(rnorm(2 * n), 3), n)
  g <- sample(c(NA, rep(1:40, 1:40)), n, replace = TRUE)
  gaps <- replace(x, sample(2 * n, 500), NA)
  latest <- seg_op("Step(Abs(b) - 0.5) * b + (1 - Step(Abs(b) - 0.5)) * a", identity = 7)
  ops <- list("sum", "argmin", "range", "count", "logsumexp", "argmax", latest)
  for (k in seq_along(ops)) { # two of the four combinations of `directions` for each operation
    for (d in c(k, k + 1) %% 4 + 1) {
      by <- list(list(g = g), list(lengths = c(5000, 0, n - 5000)), list(offsets = c(3, 4, 4096, 9000)))[[d %% 3 + 1]]
      how <- c(by, list(op = ops[[k]], na.rm = d %% 2 == 1), as.list(directions[d, ]))
      there <- do.call(seg_scan, c(list(gaps, backend = "cuda"), how))
      expect_equal(there, do.call(seg_scan, c(list(gaps, backend = "cpu"), how)), tolerance = 1e-12)
    }
  }
  stays <- as.matrix(seg_scan(gpu_matrix(x, "float32"), g = g, output = "gpu"))
  expect_equal(stays, replace(seg_scan(x, g = g), is.na(g), NaN), tolerance = 1e-6)
  expect_identical(seg_scan(c(3L, NA, 4L, 1L), g = c(1, 2, 1, 2), backend = "cuda"), c(3L, NA, 7L, NA))
  expect_identical(seg_scan(c(TRUE, FALSE, TRUE), op = "all", reverse = TRUE, backend = "cuda"), c(FALSE, FALSE, TRUE))
})

test_that("the bits of a scan on the GPU do not depend on the order in which tiles finish", {
  skip_without_gpu()
  withr::local_seed(9)
  n <- 1030 * 4096 + 5 # more than one section of tiles
  there <- gpu_matrix(rep_len(rnorm(50000), n), "float32")
  for (reverse in c(FALSE, TRUE)) {
    plan <- seg_plan(lengths = if (reverse) c(40 * 4096, 1, n - 40 * 4096 - 1) else n)
    scanned <- seg_scan(there, plan = plan, reverse = reverse)
    expect_equal(scanned[, 1], seg_scan(as.matrix(there)[, 1], plan = plan, reverse = reverse, backend = "cpu"),
                 tolerance = 1e-12)
    expect_identical(seg_scan(there, plan = plan, reverse = reverse), scanned)
  }
})

test_that("operations without a scan are errors", {
  expect_snapshot(error = TRUE, {
    seg_scan("a")
    seg_scan(1:3, op = "softmax")
    seg_scan(1:3, lengths = c(1, 1))
    seg_scan(1:3, exclusive = NA)
    seg_scan(c(0.5, 1), op = "bit_or")
    seg_scan(1:3, plan = seg_plan(lengths = 2, sources = 0, n = 3))
    seg_scan(1:3, g = 1:3, lengths = 3)
    seg_scan(1:3, g = 1:2)
    seg_grad("first", scan = TRUE)
    seg_grad("sum", scan = TRUE)(1:3, 1:2)
  })
})
