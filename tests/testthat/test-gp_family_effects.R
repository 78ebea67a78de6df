# Families with groups, random effects and smooths: the Laplace approximation against plain R, and mgcv::gam().

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
d <- withr::with_seed(6, {
  d <- family_data(60, 5)
  d <- transform(d, x = runif(60), g = factor(sample(letters[1:7], 60, TRUE)), day = sample(1:3, 60, TRUE))
  transform(d, count = rpois(60, exp(0.5 + sin(6 * x) + rnorm(7, sd = 0.5)[g])))
})
new <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), x = c(0.1, 0.55, 0.8),
                  g = c("a", "c", "z"), day = c(2, 3, 9))
density <- \(eta) dpois(d$count, exp(eta), log = TRUE)
field_of <- function(d, e, v, r) {
  h <- sqrt(3) * sqrt(outer(d$a, e$a, `-`)^2 + outer(d$b, e$b, `-`)^2) / r
  v * (1 + h) * exp(-h)
}
same <- \(a, b) outer(as.character(a), as.character(b), `==`)

# matrix_of(theta, d, e) is the covariance of d and e without the nugget, which is the last of the `count` parameters.
expect_plain_laplace <- function(fit, matrix_of, count) {
  nugget <- if (length(fit$model$nugget)) fit$theta[[count]] else 0
  value <- function(theta) {
    K <- matrix_of(theta, d, d) + diag(if (nugget > 0) theta[[count]] else 0, 60)
    oracle_laplace(K, as.vector(fit$response$basis %*% theta[-seq_len(count)]), density)
  }
  theta <- fit$outer_theta
  plain <- value(theta)
  expect_equal(-2 * fit$loglik, plain$value, tolerance = 1e-8)
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  slope <- likelihood$evaluate(theta * 1.1)$gradient()
  differences <- central_difference(\(theta) value(theta)$value, theta * 1.1, 1e-4)
  expect_close(matrix(slope, 1), differences, tolerance = 1e-5)
  # the distribution of the linear predictor is that of a Gaussian response with noise variance 1 / W
  K <- matrix_of(theta, d, d) + diag(nugget, 60) + diag(1 / plain$W)
  X <- model.matrix(fit)
  response <- X %*% coef(fit) + plain$h + slopes_of(density, as.vector(X %*% coef(fit) + plain$h)) / plain$W
  prior <- diag(matrix_of(theta, new, new))
  expected <- oracle_kriging(K, matrix_of(theta, d, new), prior, response, X, cbind(1, new$w))
  at <- predict(fit, new, se.fit = TRUE, type = "link", interval = "confidence")
  # the coefficients of the trend maximise the likelihood, and are not the least-squares estimates
  mean <- cbind(1, new$w) %*% coef(fit) + t(matrix_of(theta, d, new)) %*% solve(K, response - X %*% coef(fit))
  expect_equal(at$fit, as.vector(mean), tolerance = 1e-6)
  expect_equal(at$se.fit, sqrt(expected$variance), tolerance = 1e-6)
}

test_that("groups have independent fields, by all methods", {
  within <- \(theta, d, e) field_of(d, e, theta[[1]], theta[[2]]) * same(d$day, e$day)
  for (method in c("exact", "vecchia")) {
    fit <- gp(count ~ w, d, ~ a + b, matern(3/2, 0.6, 0.4) + nugget(0.1), method, "none", family = poisson(),
              group = ~ day, neighbours = 59)
    expect_plain_laplace(fit, within, 3)
  }
  fit <- gp(count ~ w, d, ~ a + b, matern(3/2, 0.6, 0.4), estimate = "none", family = poisson(), group = ~ day)
  expect_length(kernops:::factor_of(fit), 3)
  left <- gp_cv(fit, folds = d$day)
  away <- update(fit, subset = day != 2)
  expect_equal(left$fit[d$day == 2], unname(predict(away, d[d$day == 2, ])), tolerance = 1e-6)
  free <- gp(count ~ w, d, ~ a + b, matern(3/2, range = 0.4, fixed = "range"), family = poisson(), group = ~ day)
  expect_lt(fit$loglik, free$loglik)
})

test_that("models with random effects and a field agree with dense algebra", {
  with_effects <- \(theta, d, e) field_of(d, e, theta[[1]], theta[[2]]) + theta[[3]] * same(d$g, e$g)
  fit <- gp(count ~ w, d, ~ a + b, matern(3/2, 0.6, 0.4) + random_effect(~ 1 | g, 0.3) + nugget(0.1),
            estimate = "none", family = poisson())
  expect_plain_laplace(fit, with_effects, 4)
  skip_if_not_installed("nlme")
  effects <- nlme::ranef(fit)$g
  expect_equal(effects[["(Intercept)"]], as.vector(0.3 * rowsum(fit$state$alpha, d$g)), tolerance = 1e-10)
  draws <- simulate(fit, 2000, seed = 1, newdata = new)
  expect_lt(max(abs(rowMeans(draws) - predict(fit, new, type = "link"))), 0.1)
})

test_that("without a field, likelihoods agree with mgcv::gam()", {
  skip_if_not_installed("mgcv")
  for (family in list(poisson(), binomial())) {
    formula <- if (family$family == "poisson") count ~ w else cbind(k, 5 - k) ~ w
    peer <- mgcv::gam(update(formula, . ~ . + s(g, bs = "re")), data = d, family = family, method = "ML")
    capture.output(deviations <- mgcv::gam.vcomp(peer))
    variance <- as.matrix(deviations)[1, 1]^2
    known <- gp(formula, d, covariance = random_effect(~ 1 | g, variance), estimate = "none", family = family,
                known = list(beta = coef(peer)[1:2]))
    expect_equal(known$loglik, -as.vector(peer$gcv.ubre), tolerance = 1e-7)
    if (family$family == "binomial") next
    free <- gp(formula, d, covariance = random_effect(~ 1 | g), family = family)
    expect_gt(free$loglik - known$loglik, -1e-8)
    # Laplace's approximation in plain R, with the effects as latent variables
    Z <- model.matrix(~ 0 + g, d)
    value <- function(s) {
      effects <- numeric(7)
      for (round in 1:20) {
        mu <- as.vector(exp(s[2] + s[3] * d$w + Z %*% effects))
        inner <- crossprod(Z, mu * Z) + diag(exp(-s[1]), 7)
        effects <- effects + solve(inner, crossprod(Z, d$count - mu) - effects / exp(s[1]))
      }
      sum(effects^2) / exp(s[1]) - 2 * sum(dpois(d$count, mu, log = TRUE)) + 7 * s[1] +
        as.numeric(determinant(inner)$modulus)
    }
    best <- optim(c(log(variance), coef(peer)[1:2]), value, method = "BFGS", control = list(reltol = 1e-12))
    expect_equal(free$loglik, -best$value / 2, tolerance = 1e-6)
    expect_equal(c(log(free$theta), coef(free)), best$par, tolerance = 1e-3, ignore_attr = TRUE)
  }
  peer <- mgcv::gam(count ~ s(x, bs = "cc"), data = d, family = poisson(), method = "ML")
  given <- gp(count ~ 1, d, covariance = smooth_effect(~ s(x, bs = "cc"), 1 / peer$sp), estimate = "none",
              family = poisson(), known = list(beta = coef(peer)[[1]]))
  expect_equal(given$loglik, -as.vector(peer$gcv.ubre), tolerance = 1e-7)
  expect_equal(unname(fitted(given)), as.vector(fitted(peer)), tolerance = 0.05)
  free <- gp(count ~ s(x), d, covariance = smooth_effect(~ s(x)), family = poisson())
  peer <- mgcv::gam(count ~ s(x), data = d, family = poisson(), method = "ML")
  expect_equal(free$loglik, -as.vector(peer$gcv.ubre), tolerance = 1e-3)
  expect_equal(unname(summary(free)$edf), summary(peer)$edf, tolerance = 0.02)
  expect_equal(predict(free, new, type = "link"), predict(peer, new), tolerance = 0.02, ignore_attr = TRUE)
})

test_that("a variance of zero is found in few steps, and the fit agrees with the model without the effect", {
  some <- withr::with_seed(2, data.frame(x = rnorm(120), site = factor(rep(1:20, 6))))
  for (seed in c(10, 14, 23)) {
    some$count <- withr::with_seed(seed, rpois(120, exp(1 + 0.3 * some$x)))
    plain <- glm(count ~ x, poisson, some)
    fit <- expect_silent(gp(count ~ x, some, covariance = random_effect(~ 1 | site), family = poisson()))
    expect_lt(coef(fit, "covariance"), 1e-5)
    expect_equal(coef(fit), coef(plain), tolerance = 1e-4)
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(plain)), tolerance = 1e-5)
    expect_lt(fit$search$iterations, 30)
  }
})
