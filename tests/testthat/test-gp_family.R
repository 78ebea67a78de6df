# Families: the Laplace approximation and predictions, against plain R and known answers.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
d <- family_data()
u <- as.matrix(d[c("a", "b")])
own <- matern(3/2, 1.1, 0.4) + nugget(0.2)
matrix_of <- \(theta) covariance_of(u, theta[1], theta[2], theta[3])
families <- oracle_families()

given_fit <- \(name, ...) gp(families[[name]][[2]], d, ~ a + b, own, family = with_phi(name), estimate = "none", ...)
density_of <- \(name, phi = oracle_phi[[name]]) \(eta) families[[name]][[3]](d, eta, phi)

for (name in names(families)) test_that(paste("likelihood, mode and gradient agree with plain R:", name), {
  fit <- given_fit(name)
  value <- function(theta, count = length(oracle_phi[[name]])) {
    phi <- theta[3 + seq_len(count)]
    mean <- fit$response$basis %*% theta[-seq_len(3 + count)]
    oracle_laplace(matrix_of(theta), as.vector(mean), density_of(name, phi))
  }
  theta <- fit$outer_theta
  plain <- value(theta)
  expect_equal(-2 * fit$loglik, plain$value, tolerance = 1e-9)
  expect_equal(fit$latent$h, unname(plain$h), tolerance = 1e-6)
  expect_equal(as.vector(fit$response$basis %*% theta[-seq_len(3 + length(oracle_phi[[name]]))]),
               as.vector(model.matrix(fit) %*% coef(fit)))
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  away <- theta * 1.1
  slope <- likelihood$evaluate(away)$gradient()
  differences <- vapply(seq_along(away), function(k) {
    step <- replace(numeric(length(away)), k, 1e-4 * max(1, abs(away[[k]])))
    (value(away + step)$value - value(away - step)$value) / (2 * max(step))
  }, 0)
  expect_equal(unname(slope), differences, tolerance = 1e-5)
  # the coefficients of the trend maximise the likelihood
  expect_lt(max(abs(likelihood$evaluate(theta)$gradient()[seq_along(theta) > 3 + length(oracle_phi[[name]])])), 1e-2)
})

test_that("a search ends at the optimum that plain R finds", {
  withr::local_seed(3)
  line <- data.frame(a = seq(0, 1, length.out = 50))
  line$count <- rpois(50, exp(1 + sin(9 * line$a)))
  fit <- gp(count ~ 1, line, ~ a, matern(3/2), family = poisson())
  h <- sqrt(3) * as.matrix(dist(line$a))
  value <- function(s) {
    K <- exp(s[1]) * (1 + h / exp(s[2])) * exp(-h / exp(s[2])) + diag(1e-10, 50)
    oracle_laplace(K, rep(s[3], 50), \(eta) dpois(line$count, exp(eta), log = TRUE))$value
  }
  at <- c(log(coef(fit, "covariance")), coef(fit))
  expect_equal(-2 * fit$loglik, value(at), tolerance = 1e-6)
  best <- optim(at + c(0.1, -0.1, 0.1), value, method = "BFGS", control = list(reltol = 1e-12))
  expect_equal(unname(best$par), unname(at), tolerance = 1e-3)
  hessian <- solve(optimHess(at, value) / 2)
  expect_equal(unname(sqrt(diag(hessian))), unname(sqrt(diag(vcov(fit, "both")))[c(2, 3, 1)] /
                                                    c(coef(fit, "covariance"), 1)), tolerance = 1e-2)
  expect_equal(attr(logLik(fit), "df"), 3)
})

test_that("the fit of the vignette \"beyond-gaussian\" ends at the maximum that plain R finds", {
  inventions <- data.frame(year = 1860:1959, count = as.vector(discoveries))
  fit <- gp(count ~ 1, inventions, ~ year, matern(5/2), family = poisson())
  distances <- sqrt(5) * as.matrix(dist(inventions$year))
  value <- function(variance, range, mean) {
    h <- distances / range
    K <- variance * (1 + h + h^2 / 3) * exp(-h) + diag(1e-10, 100)
    oracle_laplace(K, rep(mean, 100), \(eta) dpois(inventions$count, exp(eta), log = TRUE))$value
  }
  optimum <- c(coef(fit, "covariance"), coef(fit))
  least <- do.call(value, unname(as.list(optimum)))
  expect_equal(-2 * fit$loglik, least, tolerance = 1e-6)
  near <- t(optimum * (1 + cbind(diag(0.1, 3), diag(-0.1, 3))))
  far <- cbind(as.matrix(expand.grid(optimum[[1]] * c(0.4, 4), c(0.5, 12, 40))), optimum[[3]])
  expect_gt(min(apply(rbind(near, far), 1, \(x) value(x[1], x[2], x[3]))), least)
})

test_that("student() with many degrees of freedom is the Gaussian model", {
  limit <- gp(y ~ w, d, ~ a + b, matern(3/2, 1.1, 0.4), family = student(1e9, 0.4), estimate = "none")
  plain <- gp(y ~ w, d, ~ a + b, matern(3/2, 1.1, 0.4) + nugget(0.16), estimate = "none")
  expect_equal(limit$loglik, plain$loglik, tolerance = 1e-7)
  expect_equal(coef(limit), coef(plain), tolerance = 1e-6)
  at <- data.frame(a = c(0.1, 0.7), b = 0.5, w = 0)
  expect_equal(predict(limit, at, se.fit = TRUE, type = "link"),
               predict(plain, at, se.fit = TRUE, interval = "none"), tolerance = 1e-6)
  expect_equal(predict(limit, at, se.fit = TRUE, interval = "prediction"),
               predict(plain, at, se.fit = TRUE, interval = "prediction"), tolerance = 1e-6)
  expect_equal(gp_cv(limit)[c("fit", "se.fit", "zscore")], gp_cv(plain)[c("fit", "se.fit", "zscore")],
               tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(simulate(limit, 2, 1, at), simulate(plain, 2, 1, at), tolerance = 1e-6)
})

test_that("a fit whose field has no variance agrees with glm()", {
  for (name in c("poisson", "binary", "binomial", "probit", "cloglog")) {
    family <- families[[name]]
    fit <- gp(family[[2]], d, ~ a + b, exponential(1e-8, 0.4), family = family[[1]], estimate = "none")
    plain <- glm(family[[2]], family[[1]], d)
    expect_equal(coef(fit), coef(plain), tolerance = 1e-5)
    if (name %in% c("poisson", "binary", "binomial")) expect_equal(vcov(fit), vcov(plain), tolerance = 1e-3)
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(plain)), tolerance = 1e-6)
    for (type in c("deviance", "pearson", "response")) {
      expect_equal(residuals(fit, type), residuals(plain, type), tolerance = 1e-4)
    }
    expect_equal(fitted(fit), fitted(plain), tolerance = 1e-5)
  }
})

test_that("a random intercept agrees with mgcv", {
  skip_if_not_installed("mgcv")
  withr::local_seed(4)
  g <- data.frame(place = rep(1:12, each = 5))
  g$count <- rpois(60, exp(1 + rnorm(12)[g$place]))
  g$f <- factor(g$place)
  # the places are so far from each other that their effects are independent
  fit <- gp(count ~ 0 + offset(rep(0.9, 60)), g, ~ place, exponential(0.5, 0.01), family = poisson(), estimate = "none")
  smooth <- mgcv::gam(count ~ -1 + offset(rep(0.9, 60)) + s(f, bs = "re"), poisson(), g, sp = 2, method = "ML")
  expect_equal(unname(predict(fit, type = "link")), as.vector(predict(smooth)), tolerance = 1e-6)
  expect_equal(fit$loglik, -as.numeric(smooth$gcv.ubre), tolerance = 1e-6)
  expect_equal(unname(predict(fit, se.fit = TRUE, type = "link")$se.fit),
               as.vector(predict(smooth, se.fit = TRUE)$se.fit), tolerance = 1e-6)
})

test_that("predictions are integrals over the linear predictor", {
  targets <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), w = c(0, 1))
  for (name in names(families)) {
    fit <- given_fit(name)
    # predictions in plain R: K* (K + 1 / W)^-1, and the trend by generalised least squares
    mean <- as.vector(model.matrix(fit) %*% coef(fit))
    plain <- oracle_laplace(matrix_of(c(1.1, 0.4, 0.2)), mean, density_of(name))
    K <- matrix_of(c(1.1, 0.4, 0.2)) + diag(1 / plain$W)
    across <- covariance_values(matern(3/2, 1.1, 0.4), as.matrix(targets[1:2]), u)
    link <- predict(fit, targets, se.fit = TRUE, type = "link")
    x <- cbind(1, targets$w)
    expect_equal(link$fit, as.vector(x %*% coef(fit) + across %*% solve(matrix_of(c(1.1, 0.4, 0.2)), plain$h)),
                 tolerance = 1e-5)
    expect_equal(link$se.fit^2, oracle_kriging(K, t(across), 1.1, mean, model.matrix(fit), x)$variance,
                 tolerance = 1e-5)
    sd <- sqrt(link$se.fit^2 + 0.2)
    phi <- oracle_phi[[name]]
    family <- fit$family
    over <- \(f, k, sd) integrate(\(eta) f(eta) * dnorm(eta, link$fit[k], sd[k]), link$fit[k] - 9 * sd[k],
                                  link$fit[k] + 9 * sd[k], rel.tol = 1e-10)$value
    mu <- \(eta) family$density$mean(eta, phi, family$link)
    response <- predict(fit, targets, se.fit = TRUE, interval = "prediction")
    expect_equal(response$fit, vapply(1:2, \(k) over(mu, k, sd), 0), tolerance = 1e-6)
    for (k in 1:2) {
      total <- \(q) over(\(eta) family$density$cdf(q, eta, 1, phi, family$link), k, sd)
      step <- if (family$density$discrete) 1 else 1e-4
      expect_gte(total(response$upr[k] + 1e-6), 0.975 - 1e-6)
      expect_lte(total(response$upr[k] - step), 0.975)
      expect_gte(total(response$lwr[k] + 1e-6), 0.025 - 1e-6)
      expect_lte(total(response$lwr[k] - step), 0.025)
    }
    field <- predict(fit, targets, interval = "confidence")
    expect_equal(field$upr, mu(link$fit + qnorm(0.975) * link$se.fit))
    # quantiles and probabilities of the mean given the field, and then of new observations
    limits <- if (family$name == "binomial") c(-1, 0, 0.3, 1) else c(-1, 0, 0.3, 2)
    levels <- predict(fit, targets, interval = "confidence", probs = c(0.2, 0.975), above = limits)
    expect_named(levels, c("fit", "lwr", "upr", "q0.2", "q0.975", paste0("above", limits)))
    expect_equal(levels$q0.975, field$upr)
    expect_equal(levels$q0.2, mu(link$fit + qnorm(0.2) * link$se.fit))
    new <- predict(fit, targets, interval = "prediction", probs = 0.975, above = limits)
    expect_equal(new$q0.975, response$upr)
    for (limit in limits) for (k in 1:2) {
      column <- paste0("above", limit)
      # the linear predictor for which the mean equals the limit
      crossing <- link$fit[k] + c(-9, 9) * link$se.fit[k]
      crossing <- if (mu(crossing[1]) > limit) -Inf else if (mu(crossing[2]) < limit) Inf else
        uniroot(\(eta) mu(eta) - limit, crossing, tol = 1e-12)$root
      expect_equal(levels[[column]][k], 1 - pnorm(crossing, link$fit[k], link$se.fit[k]), tolerance = 1e-7)
      beyond <- \(eta) 1 - family$density$cdf(limit, eta, 1, phi, family$link)
      # the tolerance is the error of a quadrature with 40 nodes for observations that vary less than the field
      expect_equal(new[[column]][k], over(beyond, k, sd), tolerance = 2e-5)
    }
  }
})
