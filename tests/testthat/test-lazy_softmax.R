# softmax() and logsumexp(), against their definitions.

test_that("weights and slice sums of a softmax agree with published values", {
  x <- array(0:23 + 0, 2:4)
  expected <- c(8.171638999262963e-09, 2.221281780042377e-08, 3.2966744623308384e-06, 8.961290285298912e-06,
                0.0013299734008764416, 0.0036152425279363082, 0.5365495644930125, 1.4584929312289705)
  for (backend in backends()) {
    weights <- softmax(x, c(1, 3), alpha = 2, backend = backend)
    expect_equal(as.vector(weights[, 1, ]), expected, tolerance = 1e-13)
    expect_equal(axis_reduce(weights, c(1, 3)), rep(2, 3), tolerance = 1e-14)
  }
  expect_equal(softmax(x, 2, alpha = -3), -3 * softmax(x, 2))
})

test_that("the values of a softmax sum to alpha up to rounding", {
  withr::local_seed(2)
  for (n in c(1, 2, 9, 4097, 1e5)) for (alpha in c(1, 2, -3)) {
    x <- matrix(rnorm(3 * n, 1000, 30), n)
    within <- \(sums) expect_true(all(abs(sums - alpha) <= 4 * .Machine$double.eps * abs(alpha)), info = n)
    within(colSums(softmax(x, 1, alpha)))
    within(rowSums(softmax(t(x), 2, alpha)))
    within(alpha * colSums(seg_softmax(x, lengths = n)))
  }
})

test_that("names and shape are kept, and integers become doubles", {
  x <- matrix(1:6, 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(dimnames(softmax(x, 1)), dimnames(x))
  expect_equal(softmax(x, 2), softmax(x + 0, 2))
  expect_equal(softmax(x, 1)[, 1], c(a = 1, b = exp(1)) / (1 + exp(1)))
})

test_that("large values do not overflow, and small values do not vanish", {
  for (backend in backends()) for (shift in c(0, 1000, -1000, 1e5)) {
    x <- c(0.3, -1, 2) + shift
    expect_equal(softmax(x, 1, backend = backend), exp(x - shift) / sum(exp(x - shift)), tolerance = 1e-10)
    expect_equal(logsumexp(x, 1, backend = backend), shift + log(sum(exp(x - shift))), tolerance = 1e-14)
  }
  # ascending values: the running maximum changes in every block
  rising <- seq(0, 3000, length.out = 1e5)
  expect_equal(softmax(rising), exp(rising - 3000) / sum(exp(rising - 3000)), tolerance = 1e-11)
  across <- t(matrix(rising, 1e5, 20))
  expect_equal(softmax(across, 2)[13, ], softmax(rising), tolerance = 1e-11)
})

test_that("softmax and logsumexp treat infinities, NA and NaN as documented", {
  for (backend in backends()) {
    check <- \(x, sum, weights) {
      expect_identical(logsumexp(x, 1, backend = backend), sum)
      expect_identical(softmax(x, 1, backend = backend), weights)
    }
    check(c(-Inf, -Inf), -Inf, c(NaN, NaN))
    check(c(1, Inf), Inf, c(NaN, NaN))
    check(c(Inf, Inf), Inf, c(NaN, NaN))
    check(c(-Inf, 3), 3, c(0, 1))
    check(c(1, NaN), NaN, c(NaN, NaN))
    check(c(1, NaN, NA), NA_real_, rep(NA_real_, 3))
    check(7, 7, 1)
    check(-1.7976931348623157e308, -1.7976931348623157e308, 1)
    check(c(NA, 2L, NA), NA_real_, rep(NA_real_, 3))
    check(numeric(), -Inf, numeric())
    expect_identical(softmax(c(1, NA, 1), 1, na.rm = TRUE, backend = backend), c(0.5, NA, 0.5))
    expect_identical(logsumexp(c(1, NA, -Inf), 1, na.rm = TRUE, backend = backend), 1)
    for (x in list(c(1, NA, Inf, NaN), c(-Inf, NA, -Inf, NaN))) {
      expect_identical(softmax(x, 1, na.rm = TRUE, backend = backend), c(NaN, NA, NaN, NaN))
      m <- matrix(x, 4, 20)
      expect_identical(softmax(m, 1, na.rm = TRUE, backend = backend), matrix(c(NaN, NA, NaN, NaN), 4, 20))
      expect_identical(softmax(t(m), 2, na.rm = TRUE, backend = backend), t(matrix(c(NaN, NA, NaN, NaN), 4, 20)))
    }
  }
  # NaN in one slice does not affect other slices
  x <- matrix(c(1, 2, NaN, 3, -Inf, -Inf, 0, 0), 2)
  for (values in list(x, t(x))) {
    dims <- if (nrow(values) == 2) 1 else 2
    weights <- if (dims == 1) softmax(values, 1) else t(softmax(values, 2))
    expect_equal(weights, cbind(c(1, exp(1)) / (1 + exp(1)), NaN, NaN, 0.5))
    expect_equal(logsumexp(values, dims), c(log(exp(1) + exp(2)), NaN, -Inf, log(2)))
  }
})
