# Starting values and ends of searches by gp(), and standard errors at the end.

test_that("estimates are at an optimum of the dense likelihood", {
  withr::local_seed(3)
  d <- smooth_case(100)
  for (estimate in c("ML", "REML")) {
    fit <- gp(z ~ w, d, ~ a + b, estimate = estimate)
    value <- \(s) oracle_likelihood(covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3])), d$z,
                                    model.matrix(~ w, d), estimate == "REML")$value
    at <- log(unname(coef(fit, "covariance")))
    expect_equal(-2 * fit$loglik, value(at), tolerance = 1e-9)
    best <- optim(at, value, control = list(reltol = 1e-10))$value
    expect_lt(value(at) - best, 1e-3)
  }
})

test_that("the search may reach the best optimum from a starting point at which the value is not the lowest", {
  model <- kernops:::covariance_model(exponential(1, fixed = "variance"), 1)
  well <- \(s) pmin(10 + 8 * (s + 2)^2, 7 + 8 * (s - 2)^2)
  target <- list(model = model, value = \(theta) well(log(theta[[2]])))
  downhill <- function(theta) {
    s <- log(theta[[2]])
    found <- optimize(well, s + c(-1.2, 1.2))
    list(theta = c(1, exp(found$minimum)), value = found$objective)
  }
  candidates <- cbind(1, exp(c(-1.9, 2.8, -1.8, 1.2)))
  values <- apply(candidates, 1, target$value)
  expect_identical(which.min(values), 1L)
  best <- kernops:::best_beside(candidates, values, downhill, target)
  expect_equal(log(best$theta[[2]]), 2, tolerance = 1e-3)
  expect_equal(vapply(best$rivals, \(end) log(end$theta[[2]]), 0), -2, tolerance = 1e-3)
})

# The average information in the logarithms of variance, range and nugget: y'P K_i P K_j P y / 2, where K_i are
# derivatives by finite differences.
average_of <- function(theta, d, X) {
  k <- \(s) covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3]))
  K <- k(log(theta))
  KX <- solve(K, X)
  P <- solve(K) - KX %*% solve(t(X) %*% KX, t(KX))
  move <- function(n) replace(numeric(3), n, 1e-4)
  slopes <- lapply(1:3, \(n) (k(log(theta) + move(n)) - k(log(theta) - move(n))) / 2e-4)
  across <- do.call(cbind, lapply(slopes, \(slope) slope %*% P %*% d$z))
  t(across) %*% P %*% across / 2
}

test_that("the search ends with the average information, which is near the observed information", {
  withr::local_seed(18)
  d <- smooth_case(300)
  d$z <- d$w + as.vector(rnorm(300) %*% chol(covariance_of(d[c("a", "b")], 1, 0.1, 0.1)))
  X <- model.matrix(~ w, d)
  for (estimate in c("ML", "REML")) for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, d, ~ a + b, estimate = estimate, method = method,
              control = gp_control(subset = 100, probes = 64, rank = 100))
    theta <- unname(coef(fit, "covariance"))
    v <- solve(fit$search$information / 2)
    expect_equal(v, solve(average_of(theta, d, X)), tolerance = if (method == "exact") 1e-6 else 1e-2)
    if (estimate == "ML") expect_equal(diag(v), diag(solve(log_hessian(theta, d, X))), tolerance = 0.2)
    if (method == "iterative") expect_equal(unname(vcov(fit, "covariance")), v * tcrossprod(theta))
  }
})

test_that("parameters with given values have no standard error", {
  withr::local_seed(19)
  d <- smooth_case(60)
  fit <- gp(z ~ 1, d, ~ a + b, matern(3/2, range = 0.4) + nugget())
  expect_identical(is.na(unname(summary(fit)$errors)), fit$model$parameters$fixed)
  expect_true(all(is.na(summary(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"))$errors)))
})

test_that("equal terms of a sum get different starting values, and given values are kept", {
  withr::local_seed(13)
  u <- matrix(runif(40))
  model <- kernops:::covariance_model(matern(range = 0.5) + matern(5/2) + matern(5/2) + nugget(), 1)
  starts <- kernops:::starting_values(kernops:::with_bounds(model, u, rnorm(40)), u, rnorm(40))
  expect_true(all(starts[, 2] == 0.5))
  expect_true(all(starts[, 4] > 2 * starts[, 6]))
})

test_that("the slope of a line is found for any units of measurement", {
  withr::local_seed(19)
  u <- 1:50
  z <- 3 + u + rnorm(50, sd = 0.1)
  value <- \(s) oracle_likelihood(exp(s[1]) * outer(u, u) + diag(exp(s[2]), 50), z, matrix(1, 50))$value / 2
  best <- optim(log(c(1, 0.01)), value)
  for (unit in c(1, 1e-6, 1e6)) {
    at <- u * unit
    fit <- gp(z ~ 1, coords = ~ at, covariance = linear() + nugget())
    expect_lt(-best$value - fit$loglik, 1e-3)
    expect_equal(fit$theta[["linear.variance"]] * unit^2, exp(best$par[1]), tolerance = 0.02)
  }
})

test_that("smooth functions without noise are interpolated, up to the limit of singular matrices", {
  at <- seq(0.05, 0.95, by = 0.01)
  for (seed in 1:3) for (nu in c(5/2, 7/2)) {
    u <- withr::with_seed(seed, runif(60))
    expect_warning(fit <- gp(sin(5 * u) ~ 1, coords = ~ u, covariance = matern(nu)), class = "kernops_near_singular")
    expect_lt(max(abs(predict(fit, data.frame(u = at)) - sin(5 * at))), 0.01)
  }
})

test_that("smooth functions on a line are interpolated if earlier observations determine later ones", {
  for (u in list(seq(0, 1, length.out = 15), seq(0, 1, length.out = 15)^2, seq(0, 1, length.out = 100),
                 seq(0, 1, length.out = 450))) {
    expect_warning(fit <- gp(sin(7 * u) ~ 1, coords = ~ u, covariance = squared_exponential()),
                   class = "kernops_near_singular")
    between <- u[-1] - diff(u) / 2
    expect_lt(max(abs(predict(fit, data.frame(u = between)) - sin(7 * between))), 1e-2)
  }
})

test_that("a singular matrix gives no standard errors", {
  u <- seq(0, 1, length.out = 15)
  fit <- suppressWarnings(gp(sin(7 * u) ~ 1, coords = ~ u, covariance = squared_exponential()))
  fit$theta[["squared_exponential.range"]] <- 100
  expect_warning(errors <- summary(fit)$errors, "no standard errors")
  expect_identical(unname(errors), c(NA_real_, NA_real_))
})

test_that("a period is found", {
  withr::local_seed(14)
  u <- seq(0, 10, length.out = 120)
  z <- sin(2 * pi * u / 1.7) + rnorm(120, sd = 0.1)
  fit <- gp(z ~ 1, coords = ~ u, covariance = periodic() + nugget())
  expect_equal(unname(coef(fit, "covariance")["periodic.period"]), 1.7, tolerance = 0.01)
})

test_that("the search needs few steps for a period, which the data determine far better than other parameters", {
  withr::local_seed(1)
  u <- seq(0, 12, length.out = 150)
  z <- sin(2 * pi * u) * (1 + 0.1 * u) + 0.2 * u + rnorm(150, sd = 0.2)
  fit <- gp(z ~ u, coords = ~ u, covariance = periodic() * squared_exponential(range = 10) + nugget())
  expect_identical(fit$search$convergence, 0L)
  expect_lt(fit$search$iterations, 50)
})

test_that("the search finds a slowly changing wave for both orders of the factors of the covariance", {
  withr::local_seed(25)
  u <- sort(runif(120, 0, 10))
  z <- sin(2 * u) + 0.3 * u + rnorm(120, sd = 0.2)
  h <- abs(outer(u, u, "-"))
  wave <- \(s) {
    exp(s[1] - 2 * (sin(pi * h / exp(s[2])) / exp(s[3]))^2 - h^2 / (2 * exp(2 * s[4]))) + diag(exp(s[5]), 120)
  }
  value <- \(s) oracle_likelihood(wave(s), z, matrix(1, 120))$value / 2
  best <- optim(log(c(1, pi, 1, 10, 0.04)), value)$value
  for (covariance in list(periodic() * squared_exponential(), squared_exponential() * periodic())) {
    expect_lt(-best - suppressWarnings(gp(z ~ 1, coords = ~ u, covariance = covariance + nugget()))$loglik, 0.5)
  }
})

test_that("a level that is missing in the subset of a start does not remove other columns of the trend", {
  withr::local_seed(26)
  d <- transform(smooth_case(40), g = factor(replace(rep(c("p", "q"), 20), 7, "rare")))
  data <- gp(z ~ g + w, d, ~ a + b, given(), estimate = "none")$data
  kept <- kernops:::subset_data(data, seq(2, 40, by = 2))$x
  expect_identical(colnames(kept), c("(Intercept)", "w"))
  expect_identical(unname(kept[, 2]), d$w[seq(2, 40, by = 2)])
})

test_that("starting values in another unit are rescaled if the scale is free", {
  withr::local_seed(4)
  d <- smooth_case(80)
  fits <- list(gp(z ~ 1, d, ~ a + b), gp(I(1e5 * z) ~ 1, d, ~ a + b, matern(3/2, variance = 1) + nugget()),
               gp(I(1e-5 * z) ~ 1, d, ~ a + b, matern(3/2, variance = 2) + nugget(1)))
  loglik <- vapply(fits, \(fit) fit$loglik, 0) + 80 * log(c(1, 1e5, 1e-5))
  expect_equal(loglik, rep(loglik[[1]], 3), tolerance = 1e-6)
})

test_that("optima of products do not depend on the units of response and coordinates", {
  withr::local_seed(1)
  u <- matrix(runif(300), 150)
  y <- as.vector(t(chol(exp(-as.matrix(dist(u)) / 0.3) + diag(0.01, 150))) %*% rnorm(150))
  with_sum <- exponential(dims = 1) * (exponential(dims = 2) + periodic(period = 1, dims = 2)) + nugget()
  loglik <- \(unit) suppressWarnings(gp(unit * y ~ 1, coords = u, covariance = with_sum))$loglik + 150 * log(unit)
  expect_equal(loglik(1e-3), loglik(1), tolerance = 1e-6)
  line <- \(unit) gp(y ~ 1, coords = u * unit, covariance = exponential() * linear() + nugget())$loglik
  expect_equal(line(1e4), line(1), tolerance = 1e-6)
})
