# Random Fourier features: the mean of cos(w'h) over random frequencies w is the correlation at the lag h.

spectrum <- function(object, u) kernops:::spectral_terms(object, list(d = ncol(u), sample = u, u = u))
draws_of <- function(object, u, nsim = 600, features = 6000) {
  fit <- list(covariance = object, model = list(d = ncol(u)), data = list(u = u), how = list(backend = "cpu"))
  kernops:::fourier_draws(fit, u, nsim, features)
}
# The largest error of the covariance of draws, in standard errors.
far_off <- function(draws, covariance) {
  error <- tcrossprod(draws) / ncol(draws) - covariance
  max(abs(error) / (sqrt((tcrossprod(diag(covariance)) + covariance^2) / ncol(draws)) + 1e-12))
}

test_that("frequencies of each covariance agree with its spectral density", {
  withr::local_seed(1)
  count <- 2e5
  lags <- cbind(seq(0.01, 0.5, length.out = 9), seq(0.2, 0, length.out = 9))
  for (d in 1:2) for (name in setdiff(names(oracle_objects()), c("linear", "constant"))) {
    h <- lags[, seq_len(d), drop = FALSE]
    term <- spectrum(oracle_objects()[[name]], h)[[1]]
    waves <- cos(term$spectral[[1]]$frequencies(count) %*% t(h))
    expected <- as.vector(oracle_covariance[[name]](h, 0 * h[1, , drop = FALSE]))
    off <- (colMeans(waves) - expected / 2) / (apply(waves, 2, sd) / sqrt(count))
    expect_lt(max(abs(off)), 4.5, label = paste(name, "in", d, "dimensions: error in standard errors"))
  }
})

test_that("draws of sums and products have the covariance of the model", {
  withr::local_seed(2)
  u <- matrix(runif(16), 8)
  k <- oracle_covariance
  o <- oracle_objects()
  cases <- list(
    list(o$linear * o$periodic + o$constant, k$linear(u, u) * k$periodic(u, u) + k$constant(u, u)),
    list(o$linear * linear(1, 0.3) + o$wendland, k$linear(u, u)^2 / 2 + k$wendland(u, u)),
    list((o$spherical + 0.5) * o$matern52, (k$spherical(u, u) + 0.5) * k$matern52(u, u))
  )
  for (case in cases) expect_lt(far_off(draws_of(case[[1]], u), case[[2]]), 4.5)
})

test_that("a covariance without stationary factors has exact features", {
  withr::local_seed(3)
  u <- matrix(runif(16), 8)
  draws <- draws_of(linear(2, 0.3) * linear(1, c(0, 1)), u, nsim = 5000, features = 1)
  moved <- sweep(u, 2, 0:1)
  expect_lt(far_off(draws, oracle_covariance$linear(u, u) * (moved %*% t(moved))), 4.5)
  expect_identical(qr(draws_of(linear(2, 0.3), u, nsim = 50))$rank, 2L)
  expect_identical(qr(draws_of(linear(2, 0.3) * linear(1), u, nsim = 50))$rank, 4L)
  expect_lt(far_off(draws_of(linear(2, 0.3), u, 5000, features = 1), oracle_covariance$linear(u, u)), 4.5)
  constant <- draws_of(constant(2), u, 5000)
  expect_true(all(constant == rep(constant[1, ], each = 8)))
  expect_lt(abs(var(constant[1, ]) - 2) / (2 * sqrt(2 / 5000)), 4.5)
})

test_that("great-circle distances have frequencies in three-dimensional space", {
  withr::local_seed(4)
  u <- cbind(runif(8, -180, 180), runif(8, -80, 80))
  for (object in list(matern(3/2, 2, 4000, distance = "great_circle"), wendland(2, 9000, distance = "great_circle"))) {
    expect_lt(far_off(draws_of(object, u), covariance_values(object, u, u)), 4.5)
  }
})

test_that("a stationary user-defined formula has frequencies from its Fourier transform", {
  withr::local_seed(5)
  for (d in 1:3) {
    u <- matrix(runif(8 * d), 8)
    own <- covariance("s * Exp(-SqDist(x, y) / l) * Cos(Elem(x - y, 0))", list(s = 2, l = 0.2))
    expect_lt(far_off(draws_of(own * constant(2), u), 2 * covariance_values(own, u, u)), 4.5)
  }
  rough <- covariance("Exp(-Norm2(x - y) / l)", list(l = 0.5))
  u <- matrix(runif(8))
  expect_lt(far_off(draws_of(rough, u), covariance_values(rough, u, u)), 4.5)
})

test_that("draws at many points use spectral simulation, both with and without conditioning on the data", {
  withr::local_seed(6)
  d <- smooth_case(40)
  new <- smooth_case(5)
  covariance <- spherical(1, 0.8) + periodic(0.5, 1, 0.7) + linear(0.2) + nugget(0.1)
  fit <- gp(z ~ 1, d, ~ a + b, covariance, estimate = "none")
  exact <- simulate(fit, 4000, seed = 1, newdata = new)
  fit$how$control$exact_limit <- 10
  waves <- simulate(fit, 1000, seed = 2, newdata = new, features = 4000)
  expect_lt(max(abs(rowMeans(waves) - rowMeans(exact)) / (apply(exact, 1, sd) / sqrt(800))), 4.5)
  expect_equal(cov(t(waves)), cov(t(exact)), tolerance = 0.15)
})

unit_points <- matrix((1:20) / 20, 10)
test_mistakes("kernops_input_error", alist(
  `spectral simulation of a covariance that is not stationary` = draws_of(
    covariance("Exp(-SqDist(x, y)) * (x | y)"), unit_points
  ),
  `spectral simulation of a formula in many coordinates` = draws_of(covariance("Exp(-SqDist(x, y))"), matrix(0, 9, 4)),
  `spectral simulation of what is no covariance` = draws_of(
    covariance("1 - 9 * SqDist(x, y)"), unit_points[, 1, drop = FALSE]
  )
))
