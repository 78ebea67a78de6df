# Medians, quantiles, modes and similar statistics of segments, against base R.

base_median <- \(x) if (anyNA(x)) x[is.na(x)][order(is.nan(x[is.na(x)]))][1] else stats::median(as.numeric(x))
mode_of <- function(x) {
  distinct <- unique(x)
  distinct[which.max(tabulate(match(x, distinct)))]
}
of_groups <- \(x, g, f) vapply(split(x, g), f, 0)

lengths_mixed <- c(0, 1, 2, 3, 0, 8, 23, 24, 25, 26, 100, 511, 512, 513, 4095, 4096, 5000, 0)

test_that("median, mad, iqr, mode, n_distinct and nth of segments and groups agree with R", {
  withr::local_seed(1)
  n <- sum(lengths_mixed)
  part <- factor(rep(seq_along(lengths_mixed), lengths_mixed), seq_along(lengths_mixed))
  oracle <- list(median = stats::median, mad = stats::mad, iqr = stats::IQR,
                 mode = \(x) if (length(x)) mode_of(x) else NA,
                 n_distinct = \(x) length(unique(x)), nth = \(x) sort(x)[3])
  for (x in list(rnorm(n), round(rnorm(n), 1), sample(c(-Inf, 0, Inf), n, TRUE), rep(2, n), exp(200 * rnorm(n)),
                 sample(50L, n, TRUE))) {
    for (op in names(oracle)) {
      reduce <- \(...) unname(seg_reduce(..., op = op, nth = 3))
      expected <- unname(of_groups(x, part, \(v) as.numeric(oracle[[op]](v))))
      expect_equal(as.numeric(reduce(x, lengths = lengths_mixed)), expected, label = op)
      mixed <- sample(n)
      if (op != "mode") expect_equal(as.numeric(reduce(x[mixed], g = part[mixed])), expected, label = op)
      expect_identical(with_threads(3, reduce(x, lengths = lengths_mixed)), reduce(x, lengths = lengths_mixed))
    }
  }
})

test_that("every statistic of the table is tested and documented", {
  expect_setequal(kernops:::order_ops()$name, c("median", "mad", "iqr", "mode", "n_distinct", "nth", "quantile"))
})

test_that("the nine types of quantiles agree with R", {
  withr::local_seed(2)
  probs <- c(0, 1 / 64, 0.25, 0.5, 0.625, 0.75, 1)
  for (x in list(rnorm(200), sample(9, 200, TRUE), c(rep(-Inf, 40), rnorm(120), rep(Inf, 40)))) {
    part <- rep(c(1, 2, 3, 4, 5, 6), c(1, 2, 7, 40, 50, 100))[sample(200)]
    for (type in 1:9) {
      quantiles <- seg_reduce(x, g = part, op = "quantile", probs = probs, type = type)
      expected <- do.call(rbind, tapply(x, part, stats::quantile, probs = probs, type = type))
      expect_identical(dimnames(quantiles), dimnames(expected))
      expect_equal(quantiles, expected, tolerance = 1e-14)
      for (p in probs[2:4]) {
        one <- seg_reduce(x, g = part, op = "quantile", probs = p, type = type)
        expect_equal(one, c(tapply(x, part, stats::quantile, p, names = FALSE, type = type)), tolerance = 1e-14)
      }
    }
  }
  long <- rnorm(50000)
  for (p in c(0, 1e-5, 0.001, 0.5, 0.9, 1)) {
    expect_equal(seg_reduce(long, lengths = 50000, op = "quantile", probs = p), stats::quantile(long, p, names = FALSE))
  }
})

test_that("missing values are kept, removed, or treated as values", {
  x <- c(1, NA, NaN, 2, 2, NaN, 5, NA)
  by <- \(op, ...) seg_reduce(x, lengths = c(2, 4, 2), op = op, ...)
  for (op in c("median", "mad", "iqr", "nth")) {
    expect_identical(is.nan(by(op)), c(FALSE, TRUE, FALSE), label = op)
    expect_identical(is.na(by(op)), c(TRUE, TRUE, TRUE), label = op)
  }
  expect_identical(by("median", na.rm = TRUE), c(1, 2, 5))
  expect_identical(by("n_distinct"), c(2L, 2L, 2L))
  expect_identical(by("n_distinct", na.rm = TRUE), c(1L, 1L, 1L))
  expect_identical(seg_reduce(c(NA, NA, 1, NaN), lengths = 4, op = "mode"), NA_real_)
  expect_identical(seg_reduce(c(1, NaN, NaN, NA), lengths = 4, op = "mode"), NaN)
  expect_identical(seg_reduce(c(NA, NA, 1), lengths = 3, op = "mode", na.rm = TRUE), 1)
  expect_identical(seg_reduce(c(NA, 1), lengths = c(1, 1), op = "median", na.rm = TRUE), c(NA, 1))
  expect_identical(seg_reduce(c(NA, 1), lengths = c(1, 1), op = "median", na.rm = TRUE, empty = 0), c(0, 1))
  expect_identical(seg_reduce(c(3L, NA), lengths = c(1, 0, 1), op = "nth"), c(3L, NA, NA))
  expect_identical(base_median(c(1, NaN, NA)), NA_real_)
  expect_identical(seg_reduce(c(1, NaN, NA), lengths = 3, op = "median"), base_median(c(1, NaN, NA)))
})

test_that("integer weights agree with repeated values", {
  withr::local_seed(3)
  x <- round(rnorm(60), 1)
  w <- sample(0:4, 60, TRUE)
  part <- sample(5, 60, TRUE)
  for (type in 1:9) {
    weighted <- seg_reduce(x, g = part, op = "quantile", probs = c(0.125, 0.5, 0.75), type = type, weights = w)
    repeated <- seg_reduce(rep(x, w), g = rep(part, w), op = "quantile", probs = c(0.125, 0.5, 0.75), type = type)
    expect_equal(weighted, repeated, label = type)
  }
  for (op in c("median", "iqr", "mode")) {
    expect_equal(seg_reduce(x, g = part, op = op, weights = w), seg_reduce(rep(x, w), g = rep(part, w), op = op))
  }
  median_by <- \(w) seg_reduce(x, g = part, op = "median", weights = w)
  expect_identical(median_by(w / 7), median_by(w))
  expect_identical(seg_reduce(c(1, 2), lengths = 2, op = "median", weights = c(0, 0)), NA_real_)
  expect_identical(seg_reduce(c(NA, 2), lengths = 2, op = "median", weights = c(0, 1)), 2)
})

test_that("shapes, types and names of results agree with R", {
  x <- matrix(c(3, 1, 2, 4, 6, 5), 3, dimnames = list(NULL, c("u", "v")))
  g <- factor(c("a", "b", "a"), c("a", "b", "c"))
  expect_identical(seg_reduce(x, g = g, op = "median"),
                   matrix(c(2.5, 1, NA, 4.5, 6, NA), 3, dimnames = list(c("a", "b", "c"), c("u", "v"))))
  both <- seg_reduce(x, g = g, op = "quantile", probs = c(0, 1))
  expect_identical(dimnames(both), list(c("a", "b", "c"), c("u", "v"), c("0%", "100%")))
  expect_identical(both["a", "v", ], c("0%" = 4, "100%" = 5))
  expect_identical(seg_reduce(c(5L, 3L, 5L), lengths = 3, op = "mode"), 5L)
  expect_identical(seg_reduce(c(5L, 3L, 4L), lengths = 3, op = "median"), 4)
  expect_identical(seg_reduce(c(TRUE, FALSE, TRUE), lengths = 3, op = "mode"), TRUE)
  expect_identical(seg_reduce(c(5, 3, 4), lengths = 3, op = "nth", nth = -1), 5)
  expect_identical(seg_reduce(c(5, 3, 4), lengths = 3, op = "nth", nth = 4), NA_real_)
  expect_identical(seg_reduce(numeric(), g = character(), op = "median"), stats::setNames(numeric(), character()))
  expect_identical(seg_reduce(1:4, lengths = c(2, 2), sources = c(0, 1), op = "median", plan = NULL), c(1.5, 2.5))
  expect_identical(reduce_by_key(c("a", "a", "b"), c(1, 3, 5), op = "median")$values, c(2, 5))
  expect_identical(reduce_by_key(c("a", "a", "b"), c(1, 3, 5), op = "quantile", probs = 1)$values, c(3, 5))
  expect_identical(seg_reduce(c(.Machine$double.xmax, .Machine$double.xmax), lengths = 2, op = "median"),
                   .Machine$double.xmax)
})

test_that("gradients go to the selected values", {
  withr::local_seed(4)
  x <- round(rnorm(15), 2)
  part <- c(1, 2, 1, 1, 2, 3, 1, 2, NA, 1, 2, 1, 2, 2, 1)
  numeric_gradient <- function(x, f) vapply(seq_along(x), function(k) {
    (f(replace(x, k, x[k] + 1e-6)) - f(replace(x, k, x[k] - 1e-6))) / 2e-6
  }, 0)
  for (op in c("median", "iqr", "nth")) {
    eta <- c(1, -2, 0.5)
    total <- \(x) sum(eta * seg_reduce(x, g = part, op = op, nth = 1))
    expect_equal(seg_grad(op)(x, eta, g = part, nth = 1), numeric_gradient(x, total), tolerance = 1e-6, label = op)
  }
  eta <- matrix(rnorm(6), 3)
  for (type in c(1, 4, 7, 8)) {
    total <- \(x) sum(eta * seg_reduce(x, g = part, op = "quantile", probs = c(0.3, 0.8), type = type))
    expect_equal(seg_grad("quantile")(x, eta, g = part, probs = c(0.3, 0.8), type = type), numeric_gradient(x, total),
                 tolerance = 1e-6)
  }
  y <- matrix(rnorm(12), 6)
  eta <- array(rnorm(8), c(2, 2, 2))
  total <- \(v) sum(eta * seg_reduce(matrix(v, 6), lengths = c(2, 4), op = "quantile", probs = c(0.2, 0.6)))
  expect_equal(c(seg_grad("quantile")(y, eta, lengths = c(2, 4), probs = c(0.2, 0.6))), numeric_gradient(c(y), total),
               tolerance = 1e-6)
  total <- \(v) sum(eta * seg_top(matrix(v, 6), 2, lengths = c(2, 4))$values)
  expect_equal(c(seg_grad("top")(y, eta, k = 2, lengths = c(2, 4))), numeric_gradient(c(y), total), tolerance = 1e-6)
  expect_identical(seg_grad("top")(c(3, 1, 2), c(5, 7), k = 2), c(5, 0, 7))
  expect_identical(seg_grad("median")(c(3, NA, 2), c(5, 7), lengths = c(1, 2)), c(5, 0, 0))
})

test_that("results of values on the GPU are returned to the host or stay on the GPU", {
  skip_without_gpu()
  x <- matrix(c(3, 1, 2, 4, 6, 5), 3)
  for (precision in c("float32", "float64")) {
    there <- gpu_matrix(x, precision)
    medians <- seg_reduce(x, lengths = c(1, 2), op = "median")
    expect_identical(seg_reduce(there, lengths = c(1, 2), op = "median"), medians)
    stays <- seg_reduce(there, lengths = c(1, 2), op = "median", output = "gpu")
    expect_identical(as.matrix(stays), medians)
    expect_identical(seg_sort(there, lengths = c(1, 2)), seg_sort(x, lengths = c(1, 2)))
  }
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, {
    seg_reduce(1:3, lengths = 3, op = "quantile", probs = c(0.5, 1.5))
    seg_reduce(1:3, lengths = 3, op = "quantile", probs = "a")
    seg_reduce(1:3, lengths = 3, op = "quantile", type = 10)
    seg_reduce(1:3, lengths = 3, op = "nth", nth = 0)
    seg_reduce(1:3, lengths = 3, op = "median", weights = c(1, NA, 1))
    seg_reduce(1:3, lengths = 3, op = "mad", weights = c(1, 1, 1))
    seg_reduce(1:3, lengths = 3, op = "median", empty = "a")
    seg_grad("mad")
    seg_grad("median")(1:3, 1:2, lengths = 3)
  })
})
