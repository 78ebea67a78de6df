# The oracle is a sum of multivariate normal densities in plain R.
normal_densities <- function(x, at, h, weights = rep(1 / nrow(x), nrow(x))) {
  d <- ncol(x)
  inverse <- solve(h)
  one <- function(p) {
    from <- t(p - t(x))
    terms <- weights / sum(weights) * exp(-rowSums(from %*% inverse * from) / 2) / sqrt((2 * pi)^d * det(h))
    c(sum(terms), -colSums(terms * from) %*% inverse)
  }
  t(apply(at, 1, one))
}
kde_points <- \(n, d, seed = d) withr::with_seed(seed, matrix(rnorm(n * d, 1e3), n) %*% (diag(d) + 0.3))

test_that("densities and gradients agree with sums of normal densities", {
  for (d in 1:4) {
    x <- kde_points(80, d)
    targets <- x[1:15, , drop = FALSE] + 0.5
    weights <- (1:80) %% 5
    for (bandwidth in list(0.7, seq(0.5, 1, length.out = d), diag(d) / 2 + 0.1)) {
      h <- if (is.matrix(bandwidth)) bandwidth else diag(rep_len(bandwidth^2, d), d)
      true <- normal_densities(x, targets, h, weights)
      fit <- kde(x, targets, bandwidth, weights, gradient = TRUE)
      expect_equal(fit$bandwidth, h)
      expect_close(cbind(fit$density, fit$gradient), true, tolerance = 1e-9)
      in_logs <- kde(x, targets, bandwidth, weights, log = TRUE, gradient = TRUE)
      expect_close(cbind(in_logs$density, in_logs$gradient), cbind(log(true[, 1]), true[, -1] / true[, 1]),
                   tolerance = 1e-9)
      single <- kde(x, targets, bandwidth, weights, precision = "float32")
      expect_close(cbind(single$density), true[, 1, drop = FALSE], tolerance = 1e-4)
    }
  }
  far <- kde(0, at = 1e3, bandwidth = 1, log = TRUE, gradient = TRUE)
  expect_equal(c(far$density, far$gradient), c(dnorm(1e3, log = TRUE), -1e3))
})

test_that("a grid covers the points, and the density integrates to 1", {
  fit <- kde(faithful, grid = c(40, 50))
  expect_identical(dim(fit$density), c(40L, 50L))
  expect_identical(names(fit$axes), names(faithful))
  expect_equal(fit$density[3, 7], kde(faithful, cbind(fit$axes[[1]][3], fit$axes[[2]][7]))$density)
  cell <- prod(vapply(fit$axes, \(u) u[2] - u[1], 0))
  expect_equal(sum(fit$density) * cell, 1, tolerance = 1e-3)
  line <- kde(faithful$waiting, grid = 512)
  true <- stats::density(faithful$waiting, bw = sqrt(line$bandwidth[1, 1]), n = 2^14)
  expect_equal(c(line$density), approx(true$x, true$y, line$axes[[1]], rule = 2)$y, tolerance = 1e-3)
})

test_that("bandwidth selectors agree with published values", {
  x <- kde_points(150, 2)
  expect_equal(kde(x)$bandwidth, cov(x) * (4 / (150 * 4))^(1 / 3))
  expect_equal(kde(x, bandwidth = "scott")$bandwidth, cov(x) * 150^(-1 / 3))
  if (requireNamespace("ks", quietly = TRUE)) expect_equal(kde(x)$bandwidth, ks::Hns(x), ignore_attr = TRUE)
})

test_that("cross-validation minimises the estimated integrated squared error", {
  # the criterion by its definition: the integral of the squared density, minus twice the mean of the densities at
  # points, each estimated without this point
  error <- function(x, h) {
    alone <- vapply(seq_len(nrow(x)), \(i) normal_densities(x[-i, , drop = FALSE], x[i, , drop = FALSE], h)[1, 1], 0)
    mean(normal_densities(x, x, 2 * h)[, 1]) - 2 * mean(alone)
  }
  for (d in 1:2) {
    x <- kde_points(100, d)
    best <- kde(x, bandwidth = "cv")$bandwidth
    for (factor in c(0.97, 1.03)) expect_lt(error(x, best), error(x, factor * best))
  }
  expect_equal(sqrt(kde(faithful$waiting, bandwidth = "cv")$bandwidth[1, 1]), bw.ucv(faithful$waiting), tolerance = 0.1)
})

test_that("bandwidth selectors treat a weight as a number of points", {
  x <- kde_points(60, 2)
  weights <- rep(c(1, 3), 30)
  h <- kde(x, weights = weights, bandwidth = "cv")$bandwidth
  effective <- sum(weights)^2 / sum(weights^2)
  scale <- cov.wt(x, weights / sum(weights))$cov
  expect_equal(kde(x, weights = weights)$bandwidth, scale * effective^(-1 / 3))
  expect_equal(cov2cor(h), cov2cor(scale))
})

test_that("kde() refuses invalid arguments", {
  x <- kde_points(10, 2)
  expect_snapshot(error = TRUE, {
    kde(c(1, NA))
    kde(numeric())
    kde(NULL)
    kde(1)
    kde(cbind(1:5, 1:5))
    kde(x, bandwidth = "best")
    kde(x, bandwidth = -1)
    kde(x, bandwidth = 1:3)
    kde(x, bandwidth = matrix(1, 2, 2))
    kde(x, at = 1:3)
    kde(x, at = x, grid = 10)
    kde(x, grid = 1)
    kde(x, weights = 1:3)
  })
  expect_snapshot(print(kde(1:3, bandwidth = 1)))
})

test_that("densities to a tolerance are near the exact densities", {
  slow_pairs(1e-4)
  x <- kde_points(300, 2)
  exact <- kde(x, bandwidth = 0.4, grid = 20)
  fit <- kde(x, bandwidth = 0.4, grid = 20, tol = 1e-7)
  expect_lte(max(abs(fit$density - exact$density)), 1e-7 * max(exact$density))
  expect_lte(fit$error, 1e-7)
  expect_error(kde(x, log = TRUE, tol = 1e-3), class = "kernops_input_error")
})
