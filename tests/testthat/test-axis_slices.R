# Order statistics, moments and formulas over dimensions of an array, against apply().

moment <- \(x, k) mean((x - mean(x))^k)
in_order <- list(
  median = \(x) as.numeric(stats::median(x)), quantile = \(x) stats::quantile(x, c(0.1, 0.5, 0.9), type = 6),
  iqr = \(x) unname(stats::IQR(x, type = 6)), mad = stats::mad, nth = \(x) sort(x, decreasing = TRUE)[2],
  mode = \(x) as(names(which.max(table(factor(x, unique(x))))), typeof(x)), n_distinct = \(x) length(unique(x)),
  skewness = \(x) moment(x, 3) / moment(x, 2)^1.5, kurtosis = \(x) moment(x, 4) / moment(x, 2)^2
)
largest <- seg_op("IfElse(Abs(a) - Abs(b), a, b)", identity = -1)

oracle <- function(x, dims, f) {
  kept <- setdiff(seq_along(dim(x)), dims)
  if (length(kept) == 0) f(as.vector(x)) else apply(x, kept, \(slice) f(as.vector(slice)))
}
reduce <- \(x, dims, op, ...) axis_reduce(x, dims, op, probs = c(0.1, 0.5, 0.9), type = 6, nth = -2, ...)
all_dims <- list(1, 2, 3, 4, 1:2, 2:3, 3:4, c(1, 3), c(2, 4), c(1, 4), c(1, 3, 4), 1:3, 1:4)

for (op in names(in_order)) test_that(paste("statistics over any dimensions agree with apply():", op), {
  withr::local_seed(4)
  x <- array(round(rnorm(120), 1), c(4, 5, 3, 2), list(letters[1:4], 1:5, LETTERS[1:3], c("u", "v")))
  whole <- array(sample(9L, 120, TRUE), dim(x))
  for (dims in all_dims) {
    expect_equal(reduce(x, dims, op), oracle(x, dims, in_order[[op]]), info = toString(dims))
    expect_equal(reduce(whole, dims, op), oracle(whole, dims, in_order[[op]]), info = toString(dims))
  }
  plan <- axis_plan(dim(x), c(2, 3))
  expect_identical(reduce(x, NULL, op, plan = plan), reduce(x, 2:3, op))
  expect_identical(c(reduce(x, 2:3, op, keepdims = TRUE)), c(reduce(x, 2:3, op)))
})

test_that("order statistics of missing values, logicals, vectors and empty arrays agree with R", {
  x <- matrix(c(1, NA, 3, NaN, 5, 6), 2)
  expect_identical(axis_reduce(x, 1, "median"), c(NA, NaN, 5.5))
  expect_identical(axis_reduce(x, 1, "median", na.rm = TRUE), c(1, 3, 5.5))
  expect_identical(axis_reduce(x > 2, 2, "mode"), c(TRUE, NA))
  expect_identical(axis_reduce(c(a = 3, b = 1), op = "nth"), 1)
  expect_identical(axis_reduce(array(0, c(0, 3)), 1, "median"), rep(NA_real_, 3))
  expect_identical(axis_reduce(array(0, c(0, 3)), 1, "n_distinct"), rep(0L, 3))
  expect_identical(axis_reduce(array(0, c(0, 3)), 2, "median"), numeric())
  expect_identical(dim(axis_reduce(array(0, c(0, 3)), 1, "quantile")), c(5L, 3L))
  expect_identical(axis_reduce(matrix(1:4, 2), integer(), "median"), matrix(c(1, 2, 3, 4), 2))
})

test_that("arrays that are read in several passes agree with R, for any number of threads", {
  withr::local_seed(8)
  x <- array(rnorm(4e5), c(20, 50, 400))
  for (dims in list(1, 2, 3, 1:2, 2:3)) {
    expect_equal(axis_reduce(x, dims, "median"), oracle(x, dims, stats::median))
    alone <- with_threads(1, axis_reduce(x, dims, largest))
    expect_identical(with_threads(2, axis_reduce(x, dims, largest)), alone)
    expect_equal(alone, oracle(x, dims, \(x) x[which.max(abs(x))]))
  }
})

test_that("formulas keep the order of values on every backend, also if a slice is reduced in several chunks", {
  withr::local_seed(3)
  last_positive <- seg_op("IfElse(b, b, a)", identity = -7)
  of_slice <- \(x) if (any(x >= 0)) rev(x[x >= 0])[1] else if (length(x)) x[1] else -7
  for (size in list(c(5, 7, 3), c(4, 3, 300), c(1, 17000, 1))) {
    x <- array(round(rnorm(prod(size), -2), 2), size)
    for (dims in list(1, 2, 3, c(1, 3), 1:3)) if (prod(size[-dims]) < 1e4) for (backend in backends()) {
      expect_identical(axis_reduce(x, dims, last_positive, backend = backend), oracle(x, dims, of_slice),
                       info = paste(backend, toString(size), toString(dims)))
    }
  }
  y <- matrix(c(NA, 1, NaN, NaN, -1, 2), 2)
  for (backend in backends()) {
    expect_identical(axis_reduce(y, 1, seg_op("a + b"), backend = backend), c(NA, NaN, 1))
    expect_identical(axis_reduce(y, 1, last_positive, na.rm = TRUE, backend = backend), c(1, -7, 2))
    expect_identical(axis_reduce(matrix(1:4, 2), 2, seg_op("a - 0 * b + b"), backend = backend), c(4, 6))
    expect_identical(axis_reduce(array(0, c(0, 3)), 1, last_positive, backend = backend), rep(-7, 3))
  }
})

test_that("gradients of order statistics agree with differences", {
  withr::local_seed(1)
  x <- array(sample(24) / 10, 2:4)
  functions <- list(median = stats::median, quantile = \(x) stats::quantile(x, c(0.3, 0.8)), iqr = stats::IQR,
                    nth = \(x) sort(x)[1])
  for (op in names(functions)) for (dims in list(1, 2, c(1, 3), 1:3)) {
    eta <- oracle(x, dims, functions[[op]])
    eta[] <- rnorm(length(eta))
    loss <- \(v) sum(eta * oracle(array(v, 2:4), dims, functions[[op]]))
    plan <- axis_plan(2:4, dims)
    expect_equal(c(axis_grad(op)(x, eta, plan = plan, probs = c(0.3, 0.8))), c(central_difference(loss, c(x))),
                 tolerance = 1e-7)
  }
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, axis_reduce(matrix(1:4, 2), 1, "quantile", probs = 2))
  withr::with_options(list(kernops.backend = "cpu"), {
    expect_snapshot(error = TRUE, axis_reduce(matrix(1:4, 2), 1, "median", output = "gpu"))
  })
  expect_snapshot(error = TRUE, axis_reduce(matrix(1:4, 2), 1, "centre"))
  expect_snapshot(error = TRUE, axis_grad("mode"))
})
