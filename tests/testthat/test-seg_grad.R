# Gradients of operations on segments, against finite differences, one segment at a time.

oracle_segment$softmax <- \(x) exp(x) / sum(exp(x))
whole <- \(x, op, positions) unlist(lapply(positions, \(at) oracle_segment[[op]](x[at])))

for (op in c("sum", "prod", "min", "max", "mean", "var", "logsumexp", "softmax")) {
  test_that(paste("the gradient agrees with finite differences:", op), {
    withr::local_seed(1)
    lengths <- c(3, 2, 0, 7, 20)
    x <- rnorm(32)
    positions <- by_lengths(lengths)[lengths > 0]
    eta <- rnorm(if (op == "softmax") 32 else 5)
    of_full <- if (op == "softmax") eta else eta[lengths > 0]
    expected <- central_difference(\(x) sum(of_full * whole(x, op, positions)), x)
    expect_equal(seg_grad(op)(x, eta, lengths = lengths), drop(expected), tolerance = 1e-7)

    g <- sample(4, 32, TRUE)
    groups <- unname(split(1:32, g))
    value <- function(x) if (op == "softmax") replace(x, unlist(groups), whole(x, op, groups)) else whole(x, op, groups)
    eta <- rnorm(length(value(x)))
    expected <- central_difference(\(x) sum(eta * value(x)), x)
    expect_equal(seg_grad(op)(x, eta, g = g), drop(expected), tolerance = 1e-7)

    m <- matrix(rnorm(64), 32, dimnames = list(NULL, c("a", "b")))
    etas <- cbind(eta, -eta)
    both <- seg_grad(op)(m, etas, g = g)
    for (k in 1:2) expect_equal(both[, k], seg_grad(op)(m[, k], etas[, k], g = g), tolerance = 1e-14)
    expect_identical(colnames(both), c("a", "b"))

    if (op == "softmax") return()
    sources <- list(1:5, 4:9, 2:3)
    expected <- central_difference(\(x) sum(eta[1:3] * whole(x, op, sources)), x)
    expect_equal(seg_grad(op)(x, eta[1:3], lengths = c(5, 6, 2), sources = c(0, 3, 1)), drop(expected),
                 tolerance = 1e-7)
  })
}

test_that("gradients of many columns of a matrix are computed at once", {
  withr::local_seed(3)
  x <- matrix(rnorm(6e4), 6)
  eta <- matrix(rnorm(3e4), 3)
  g <- c(2, 3, 1, NA, 3, 2)
  means <- unname(rowsum(x[-4, ], g[-4])) / c(1, 2, 2)
  expected <- 2 * (x - means[g, ]) * (eta * c(NA, 1, 1))[g, ]
  expected[4, ] <- 0
  expect_equal(seg_grad("var")(x, eta, g = g), expected, tolerance = 1e-14)
})

test_that("the gradient of a product is right if factors are zero", {
  expect_identical(seg_grad("prod")(c(2, 0, 3, 0, 0, 5), c(1, 1), lengths = c(3, 3)), c(0, 6, 0, 0, 0, 0))
})

test_that("the gradient of a product is right if the product is 0, is infinite or overflows", {
  others <- \(x) vapply(seq_along(x), \(k) prod(x[-k]), 0)
  for (x in list(c(1e-200, 1e-200), c(1e200, -1e200), c(Inf, 2, 3), c(-Inf, 0, 2), c(NaN, 2, 3), c(1e-300, 1e-20), 7)) {
    expect_equal(seg_grad("prod")(x, 1, lengths = length(x)), others(x), tolerance = 1e-15, info = toString(x))
    expect_equal(axis_grad("prod")(x, 1), others(x), tolerance = 1e-15, info = toString(x))
  }
})

test_that("an incoming gradient that is not finite changes only the gradient of the extreme value", {
  for (eta in c(Inf, NaN, NA)) {
    expect_identical(seg_grad("max")(c(1, 3, 2), eta, lengths = 3), c(0, eta, 0))
    expect_identical(axis_grad("min")(c(1, 3, 2), eta), c(eta, 0, 0))
  }
})

test_that("only the first of equal extremes has a gradient, and values in no segment have the gradient 0", {
  expect_identical(seg_grad("max")(c(1, 2, 2), 3, lengths = 3), c(0, 3, 0))
  expect_identical(seg_grad("sum")(c(1, 2, 3), c(5, 7), offsets = c(1, 2, 3)), c(0, 5, 7))
})

test_mistakes("kernops_error", alist(
  `no gradient` = seg_grad("argmin"),
  `eta of another shape` = seg_grad("sum")(1:3, 1:2, lengths = 3),
  `eta the other way round` = seg_grad("sum")(matrix(0, 4, 3), matrix(0, 3, 2), lengths = c(2, 2)),
  `eta of class integer64` = seg_grad("sum")(1:3, integer64(1, 0), lengths = 3),
  `eta in words` = seg_grad("sum")(1:3, "1", lengths = 3)
))
