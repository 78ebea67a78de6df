# matern(NA), a covariance whose smoothness is estimated, against the likelihood in plain R with besselK().

seen <- withr::with_seed(111, {
  d <- data.frame(a = runif(90), b = runif(90))
  transform(d, z = as.vector(t(chol(kernops:::covariance_matrix(kernops:::covariance_model(matern(0.8, 1, 0.3), 2))(
    list(theta = c(1, 0.3), x = as.matrix(d), y = as.matrix(d))) + diag(1e-8, 90))) %*% rnorm(90)))
})
by_bessel <- function(s) {
  h <- as.matrix(dist(seen[c("a", "b")])) * sqrt(2 * exp(s[3])) / exp(s[2])
  nu <- exp(s[3])
  K <- ifelse(h == 0, 1, 2^(1 - nu) / gamma(nu) * h^nu * besselK(h, nu))
  oracle_likelihood(exp(s[1]) * K, seen$z, matrix(1, 90))$value
}
fit <- gp(z ~ 1, seen, ~ a + b, matern(NA))

test_that("the likelihood and its maximum agree with plain R", {
  theta <- coef(fit, "covariance")
  expect_identical(names(theta), c("matern.variance", "matern.range", "matern.nu"))
  expect_equal(by_bessel(log(theta)), deviance(fit), tolerance = 1e-7)
  found <- optim(log(theta), by_bessel, method = "BFGS", control = list(reltol = 1e-12))
  expect_equal(found$value, deviance(fit), tolerance = 1e-7)
  expect_equal(unname(found$par[[3]]), log(theta[["matern.nu"]]), tolerance = 1e-2)
  for (nu in c(0.5, 1.5)) expect_gte(as.numeric(logLik(fit)), as.numeric(logLik(update(fit, covariance = matern(nu)))))
  expect_output(print(fit), "nu = ")
  expect_output(print(matern(NA)), "matern(nu = NA)", fixed = TRUE)
})

test_that("the gradient agrees with finite differences, by each method", {
  theta <- c(0.9, 0.25, 0.7)
  for (method in c("exact", "vecchia")) {
    how <- list(method = method, reml = FALSE, backend = "cpu", precision = "float64",
                control = gp_control(neighbours = 89))
    likelihood <- kernops:::likelihood_for(fit$data, fit$model, how)
    ours <- likelihood$evaluate(theta, search = TRUE)$gradient()
    for (k in 1:3) {
      step <- replace(numeric(3), k, 1e-5)
      slope <- (by_bessel(log(theta + step)) - by_bessel(log(theta - step))) / 2e-5
      # by the envelope theorem, this derivative is also that of the likelihood profiled over the mean
      expect_equal(ours[[k]], slope, tolerance = 1e-4)
    }
  }
})

test_that("predictions and draws use the estimated smoothness", {
  theta <- unname(coef(fit, "covariance"))
  same <- gp(z ~ 1, seen, ~ a + b, matern(theta[[3]], theta[[1]], theta[[2]]), estimate = "none")
  new <- data.frame(a = c(0.2, 0.5), b = c(0.4, 0.9))
  expect_equal(predict(fit, new, se.fit = TRUE, interval = "confidence"),
               predict(same, new, se.fit = TRUE, interval = "confidence"), tolerance = 1e-6)
  fit$how$control$exact_limit <- same$how$control$exact_limit <- 10
  expect_equal(simulate(fit, 2, seed = 1, newdata = new), simulate(same, 2, seed = 1, newdata = new), tolerance = 1e-5)
  near <- update(fit, method = "vecchia", control = gp_control(neighbours = 89))
  expect_equal(as.numeric(logLik(near)), as.numeric(logLik(fit)), tolerance = 1e-5)
})

test_that("for large smoothness, float32 and float64 predictions agree, and the estimate is at its bound", {
  withr::local_seed(7)
  d <- data.frame(a = runif(150), b = runif(150))
  d$z <- sin(3 * d$a) + cos(2 * d$b) + 0.05 * rnorm(150)
  for (nu in c(18, 34, 50)) {
    fitted_by <- function(...) gp(z ~ 1, d, ~ a + b, matern(nu, 1, 0.5) + nugget(0.01), estimate = "none", ...)
    expect_equal(predict(fitted_by(method = "iterative", precision = "float32"), d[1:9, ]),
                 predict(fitted_by(method = "exact"), d[1:9, ]), tolerance = 1e-4)
  }
  free <- \(...) suppressWarnings(gp(z ~ 1, d, ~ a + b, matern(NA, 1, 0.5) + nugget(0.01), ...))
  single <- free(method = "iterative", precision = "float32")
  expect_equal(as.numeric(logLik(single)), as.numeric(logLik(free(method = "exact"))), tolerance = 1e-2)
  expect_gt(coef(single, "covariance")[["matern.nu"]], 5)
})
