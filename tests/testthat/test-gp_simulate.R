# Draws have the moments of kriging; cross-validation and variograms agree with their definitions.

moments <- function(draws, mean, covariance) {
  n <- ncol(draws)
  error <- (rowMeans(draws) - mean) / sqrt(diag(covariance) / n)
  spread <- (cov(t(draws)) - covariance) / sqrt((tcrossprod(diag(covariance)) + covariance^2) / n)
  expect_lt(max(abs(error)), 5)
  expect_lt(max(abs(spread)), 5)
}

test_that("draws have the mean and the covariance of kriging, whether exact or by Fourier features", {
  withr::local_seed(1)
  d <- smooth_case(40)
  new <- smooth_case(6)
  u <- as.matrix(rbind(d, new)[c("a", "b")])
  for (name in c("squared_exponential", "exponential", "matern52", "rational_quadratic")) {
    object <- oracle_objects()[[name]]
    fit <- gp(z ~ w, d, ~ a + b, object + nugget(0.1), estimate = "none")
    both <- oracle_covariance[[name]](u, u)
    K <- both[1:40, 1:40] + diag(0.1, 40)
    X <- model.matrix(~ w, d)
    X0 <- model.matrix(~ w, new)
    gap <- X0 - both[41:46, 1:40] %*% solve(K, X)
    covariance <- both[41:46, 41:46] - both[41:46, 1:40] %*% solve(K, both[1:40,
        41:46]) + gap %*% solve(t(X) %*% solve(K, X), t(gap))
    mean <- predict(fit, new)
    for (limit in c(1e4, 10)) {
      fit$how$control$exact_limit <- limit
      moments(simulate(fit, 600, seed = 2, newdata = new, features = 6000), mean, covariance)
    }
    fit$how$control$exact_limit <- 1e4
    moments(simulate(fit, 3000, seed = 3, newdata = new, noise = TRUE), mean, covariance + diag(0.1, 6))
    free <- simulate(fit, 3000, seed = 4, newdata = new, conditional = FALSE)
    moments(free, as.vector(X0 %*% coef(fit)), both[41:46, 41:46])
  }
})

test_that("new responses at one location have the noise of each observation", {
  # all observations are at one location without a field, so that only their noise varies
  d <- data.frame(z = c(3, 1, 4, 1, 5, 9, 2, 6), w = c(1, 100, 4, 25, 1, 9, 16, 100))
  fit <- gp(z ~ 1, d, covariance = nugget(4), weights = w, known = list(beta = 3), estimate = "none")
  draws <- as.matrix(simulate(fit, 4000, seed = 1, noise = TRUE))
  expect_equal(apply(draws, 1, sd), 2 / sqrt(d$w), tolerance = 0.05, ignore_attr = TRUE)
})

test_that("covariances with anisotropy and products have Fourier features", {
  withr::local_seed(2)
  u <- matrix(runif(10), 5)
  object <- exponential(1, 0.5, angle = 30, ratio = 0.3) * matern(3/2, range = 0.7, dims = 2) + constant(0.5)
  fit <- gp(z ~ 1, smooth_case(20), ~ a + b, object + nugget(0.1), estimate = "none")
  draws <- kernops:::fourier_draws(fit, u, 600, 6000)
  moments(draws, rep(0, 5), covariance_values(fit$covariance$parts[[1]], u, u))
})

test_that("draws without noise pass through the observations, and are equal at coinciding points", {
  withr::local_seed(7)
  d <- smooth_case(40)
  new <- d[c(1, 2, 2), ] + 0.01
  for (covariance in list(matern(5/2, 1, 0.4), matern(3/2, 1, 0.4))) {
    fit <- gp(z ~ 1, d, ~ a + b, covariance, estimate = "none")
    expect_lt(max(abs(simulate(fit, 3) - d$z)), 2e-6)
    draws <- simulate(fit, 3, newdata = new)
    expect_lt(max(abs(draws[2, ] - draws[3, ])), 2e-6)
  }
})

test_that("draws agree with the data also for a very large variance", {
  withr::local_seed(8)
  d <- smooth_case(60)
  fit <- gp(z ~ 0, d, ~ a + b, exponential(1, 0.2) + constant(1e10), known = list(beta = 0), estimate = "none")
  new <- rbind(d[1:3, ], d[1:3, ] + 1)
  expect_lt(max(abs(simulate(fit, 3, newdata = new)[1:3, ] - d$z[1:3])), 5e-3)
  origin <- gp(z ~ 0, d, ~ a + b, linear(1) + nugget(0.1), known = list(beta = 0), estimate = "none")
  draws <- simulate(origin, 3, newdata = data.frame(a = c(0, 0.5), b = c(0, 0.5)), conditional = FALSE)
  expect_lt(max(abs(draws[1, ])), 1e-6)
})

test_that("a seed gives the same draws, and does not change the state of the generator", {
  withr::local_seed(3)
  fit <- gp(z ~ 1, smooth_case(20), ~ a + b, matern(3/2, 1, 0.5) + nugget(0.1), estimate = "none")
  before <- .Random.seed
  first <- simulate(fit, 2, seed = 7)
  expect_identical(.Random.seed, before)
  expect_identical(simulate(fit, 2, seed = 7), first)
  expect_false(identical(simulate(fit, 2, seed = 8), first))
})

test_that("prediction intervals have their nominal coverage", {
  withr::local_seed(4)
  u <- matrix(runif(1000), 500)
  h <- sqrt(3) * as.matrix(dist(u)) / 0.3
  field <- t(chol((1 + h) * exp(-h))) %*% matrix(rnorm(500 * 12), 500)
  within <- vapply(1:12, function(k) {
    z <- field[1:200, k] + rnorm(200, sd = 0.2)
    fit <- gp(z ~ 1, coords = u[1:200, ])
    out <- predict(fit, u[201:500, ], interval = "prediction")
    new <- field[201:500, k] + rnorm(300, sd = 0.2)
    mean(out$lwr <= new & new <= out$upr)
  }, 0)
  expect_gt(mean(within), 0.93)
  expect_lt(mean(within), 0.97)
})

test_that("leave-one-out predictions agree with fits that omit the observation", {
  withr::local_seed(5)
  d <- smooth_case(30)
  covariance <- matern(3/2, 1, 0.5) + nugget(0.02)
  fit <- gp(z ~ w, d, ~ a + b, covariance, estimate = "none", weights = runif(30, 0.5, 1.5))
  quick <- gp_cv(fit)
  slow <- gp_cv(fit, folds = 1:30)
  expect_equal(quick$fit, slow$fit)
  expect_equal(quick$se.fit, slow$se.fit)
  one <- gp(z ~ w, d[-4, ], ~ a + b, covariance, estimate = "none", weights = fit$data$weights[-4])
  expect_equal(quick$fit[4], unname(predict(one, d[4, ])))
  expect_equal(summary(quick)$rmse, sqrt(mean((d$z - quick$fit)^2)))
  expect_identical(sort(unique(gp_cv(fit, folds = 5)$fold)), 1:5)
  refitted <- gp_cv(gp(z ~ 1, d, ~ a + b), folds = 3, refit = TRUE)
  expect_false(anyNA(refitted$fit))
})

test_that("the empirical variogram agrees with a computation from all pairs", {
  withr::local_seed(6)
  x <- matrix(runif(80), 40)
  y <- rnorm(40)
  breaks <- c(0, 0.1, 0.3, 0.35, 0.8)
  v <- gp_variogram(x, y, breaks)
  h <- as.vector(dist(x))
  half <- as.vector(dist(y))^2 / 2
  class <- cut(h, breaks)
  expect_equal(v$np, as.vector(table(class)))
  expect_equal(v$gamma, as.vector(tapply(half, class, mean)))
  expect_equal(v$dist, as.vector(tapply(h, class, mean)))
  expect_equal(sum(gp_variogram(x, y, c(-1, 2))$np), 40 * 39 / 2)
})

test_that("kernel interpolation passes through its points", {
  withr::local_seed(7)
  x <- matrix(runif(100), 50)
  y <- sin(5 * x[, 1]) + x[, 2]
  f <- kernel_interpolation(x, y, matern(5/2, 1, 0.4), tol = 1e-10)
  expect_equal(f(x), y, tolerance = 1e-6)
  smooth <- kernel_interpolation(x, y, squared_exponential(1, 0.5), lambda = 1e-6)
  expect_true(all(attr(smooth, "solve")$converged))
  expect_lt(attr(smooth, "solve")$iterations, 50)
  both <- kernel_interpolation(x, cbind(once = y, twice = 2 * y), "Exp(-9 * SqDist(x, y))", lambda = 0.1, tol = 1e-10)
  K <- exp(-9 * as.matrix(dist(x))^2)
  expect_close(both(x), K %*% solve(K + diag(0.1, 50), cbind(y, 2 * y)), tolerance = 1e-6)
  expect_identical(colnames(both(x)), c("once", "twice"))
})

test_that("a fit of kernel interpolation is printed as an interpolation", {
  f <- kernel_interpolation(diag(3), 1:3, matern(3/2, 1, 1), lambda = 0.5)
  expect_output(print(f), "<kernel_interpolation> of 3 points of 3 coordinates\n.*matern.*\n  lambda +0.5\n")
  expect_equal(f(diag(3)), f(diag(3) + 0))
})
