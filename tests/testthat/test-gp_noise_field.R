# A noise field, gp(dispersion = ~ s(x)), against the marginal likelihood by importance sampling, and simulated noise.

skip_if_not_installed("mgcv")
spread <- \(x) exp(-1.5 + 1.2 * sin(x / 2))
d <- withr::with_seed(5, {
  d <- data.frame(x = runif(120, 0, 10), b = runif(120))
  transform(d, y = sin(2 * x) + spread(x) * rnorm(120))
})
fit <- gp(y ~ 1, d, ~ x, matern(5/2), dispersion = ~ s(x, k = 6))

# The logarithm of the marginal likelihood, integrated over the random coefficients, at given values of the other
# parameters, by plain R with the basis of mgcv.
marginal <- local({
  made <- mgcv::smoothCon(mgcv::s(x, k = 6), d, absorb.cons = TRUE, modCon = 2)[[1]]
  penalty <- eigen(made$S[[1]], symmetric = TRUE)
  random <- seq_len(made$rank)
  Z <- made$X %*% penalty$vectors[, random] %*% diag(1 / sqrt(penalty$values[random]))
  straight <- made$X %*% penalty$vectors[, -random]
  theta <- coef(fit, "covariance")
  h <- sqrt(5) * abs(outer(d$x, d$x, `-`)) / theta[["matern.range"]]
  K <- theta[["matern.variance"]] * (1 + h + h^2 / 3) * exp(-h)
  residual <- d$y - fit$beta
  fixed <- theta[["sigma (Intercept)"]] + as.vector(straight %*% theta[["sigma s(x).1"]])
  density <- \(g, v) {
    L <- chol(K + diag(exp(2 * (fixed + as.vector(Z %*% g)))))
    -sum(log(diag(L))) - sum(backsolve(L, residual, transpose = TRUE)^2) / 2 - length(residual) * log(2 * pi) / 2 +
      sum(dnorm(g, 0, sqrt(v), log = TRUE))
  }
  \(v, draws = 2000) withr::with_seed(1, {
    end <- optim(numeric(ncol(Z)), density, v = v, method = "BFGS", hessian = TRUE, control = list(fnscale = -1))
    L <- chol(-end$hessian)
    e <- matrix(rnorm(draws * length(end$par)), length(end$par))
    g <- end$par + backsolve(L, e)
    log_weight <- apply(g, 2, density, v = v) - colSums(dnorm(e, log = TRUE)) - sum(log(diag(L)))
    max(log_weight) + log(mean(exp(log_weight - max(log_weight))))
  })
})

test_that("the log-likelihood agrees with the marginal likelihood, which the variance of the smooth maximises", {
  v <- fit$family$predictors$sigma$variances
  at <- vapply(v * c(1, 0.4, 2.5), marginal, 0)
  expect_equal(as.numeric(logLik(fit)), at[[1]], tolerance = 2e-3)
  expect_gt(at[[1]], at[[2]])
  expect_gt(at[[1]], at[[3]])
  expect_identical(attr(logLik(fit), "df"), 6L)
})

test_that("the noise field agrees with the simulation, at observations and at new points", {
  new <- data.frame(x = seq(0.5, 9.5, 1))
  noise <- \(fit, new) {
    both <- lapply(c("prediction", "confidence"), \(i) predict(fit, new, se.fit = TRUE, interval = i)$se.fit)
    sqrt(both[[1]]^2 - both[[2]]^2)
  }
  expect_lt(mean(abs(log(noise(fit, new) / spread(new$x)))), 0.2)
  constant <- gp(y ~ 1, d, ~ x, matern(5/2) + nugget(), estimate = "ML")
  expect_gt(as.numeric(logLik(fit)), as.numeric(logLik(constant)) + 10)
  near <- update(fit, method = "vecchia", neighbours = 119)
  expect_equal(logLik(near), logLik(fit), tolerance = 1e-4)
  expect_equal(noise(near, new), noise(fit, new), tolerance = 1e-2)
  folds <- gp_cv(fit, folds = rep(1:2, 60))
  expect_true(all(is.finite(folds$fit)))
  # for constant noise, the smooth vanishes
  flat <- withr::with_seed(2, transform(d, y = sin(2 * x) + 0.3 * rnorm(120)))
  flat <- update(fit, data = flat, dispersion = ~ s(x, b, k = 10, bs = "gp"))
  expect_lt(max(abs(log(noise(flat, data.frame(x = new$x, b = 0.5)) / 0.3))), 0.35)
})

test_that("print() and summary() show smooths of the noise", {
  expect_snapshot(print(fit), transform = \(x) gsub("[0-9]+[.][0-9]+", "0.0", x))
  expect_identical(rownames(summary(fit)$predictors$sigma), paste("sigma", c("(Intercept)", "s(x).1")))
  expect_output(print(summary(fit)), "Smooths: s\\(x\\) \\(variance")
})

noisy <- \(dispersion, ...) gp(y ~ 1, d, ~ x, matern(5/2), dispersion = dispersion, ...)
test_mistakes("kernops_input_error", alist(
  penalties = noisy(~ te(x, b)),
  factor = noisy(~ s(x, cut(b, 2), bs = "fs")),
  effect = noisy(~ (1 | b)),
  family = gp(I(y > 0) ~ 1, d, ~ x, matern(5/2), family = gp_family("beta_binomial"), dispersion = ~ s(x)),
  variable = noisy(~ s(nowhere))
))
