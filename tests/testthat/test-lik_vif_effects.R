# Models with Vecchia-inducing-points approximations, random effects and smooths, against plain R and the exact method.

farms <- local({
  withr::local_seed(61)
  d <- transform(smooth_case(80), x = runif(80), g = sample(letters[1:6], 80, TRUE), h = sample(1:9, 80, TRUE),
                 day = rep_len(c("mon", "tue"), 80), year = sample(2001:2008, 80, TRUE), known = runif(80, 0.01, 0.05),
                 times = sample(1:4, 80, TRUE))
  transform(d, z = z + rnorm(6)[match(g, letters)] + w * rnorm(9, sd = 0.5)[h])
})
new_farms <- data.frame(a = c(0.2, 0.7, 0.4, 0.5), b = c(0.3, 0.6, 0.1, 0.1), w = c(0.5, 1, -2, 1),
                        x = c(0.1, 0.5, 0.9, 0.3), g = c("q", "b", "z", "q"), h = c(3, 99, 99, 1),
                        day = c("mon", "tue", "tue", "mon"), year = c(2003, 2010, 2010, 2012))
slopes <- function() random_effect(~ w | h, c(0.4, 0.3), correlation = -0.4)
given_farms <- function() matern(3/2, 1.3, 0.4) + random_effect(~ 1 | g, 0.7) + slopes() + nugget(0.05)
by_vif <- function(..., neighbours = 79, inducing = 12, estimate = "none") {
  gp(..., method = "vif", neighbours = neighbours, inducing = inducing, estimate = estimate)
}
effects_of_farms <- function(u = farms, v = farms) {
  S <- matrix(c(0.4, rep(-0.4 * sqrt(0.4 * 0.3), 2), 0.3), 2)
  0.7 * outer(u$g, v$g, `==`) + outer(u$h, v$h, `==`) * (cbind(1, u$w) %*% S %*% t(cbind(1, v$w)))
}

test_that("the likelihood agrees with the dense matrix of the definition, and its gradient with differences", {
  fit <- by_vif(z ~ w, farms, ~ a + b, given_farms(), neighbours = 6)
  theta <- unname(fit$theta)
  for (reml in c(FALSE, TRUE)) {
    likelihood <- kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", reml))
    state <- likelihood$evaluate(theta)
    sets <- likelihood$sets()
    near <- lapply(seq_len(80), \(i) setdiff(sets$neighbours[, i], 0))
    u <- farms[sets$order, ]
    K <- covariance_of(u[c("a", "b")], tau = 0)
    first <- seq_len(12)
    low <- K[, first] %*% solve(K[first, first], K[first, ])
    V <- low + solve(crossprod(oracle_factor(K - low + diag(0.05, 80), near))) + effects_of_farms(u, u)
    expected <- oracle_likelihood(V, u$z, cbind(1, u$w), reml)
    expect_equal(state$value, expected$value, tolerance = 1e-8)
    expect_equal(unname(state$beta), expected$beta, tolerance = 1e-7)
    expect_profile_slope(likelihood, theta)
    slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
    expect_close(matrix(likelihood$evaluate(theta)$gradient(), 1), slope, tolerance = 1e-5)
  }
})

test_that("predictions agree with dense kriging", {
  fit <- by_vif(z ~ w, farms, ~ a + b, given_farms())
  both <- rbind(farms[names(new_farms)], new_farms)
  all <- covariance_of(both[c("a", "b")], tau = 0) + effects_of_farms(both, both)
  rows <- 1:80
  expected <- oracle_kriging(all[rows, rows] + diag(0.05, 80), all[rows, -rows], diag(all)[-rows], farms$z,
                             cbind(1, farms$w), cbind(1, new_farms$w))
  ours <- predict(fit, new_farms, se.fit = TRUE, interval = "confidence")
  expect_equal(ours$fit, expected$mean, tolerance = 1e-7, ignore_attr = TRUE)
  expect_equal(ours$se.fit^2, expected$variance, tolerance = 1e-6, ignore_attr = TRUE)
})

# Expects that a fit with all neighbours agrees with the exact method.
expect_vif_exact <- function(..., newdata = new_farms, tolerance = 1e-6) {
  exact <- gp(..., method = "exact", estimate = "none")
  vif <- by_vif(...)
  same <- function(f) expect_equal(f(vif), f(exact), tolerance = tolerance)
  same(\(fit) fit$loglik)
  same(coef)
  same(vcov)
  same(fitted)
  same(\(fit) predict(fit, newdata, se.fit = TRUE, interval = "confidence", cov = TRUE))
  same(\(fit) as.matrix(gp_cv(fit)[c("fit", "se.fit")]))
  same(\(fit) predict(fit, newdata, se.fit = TRUE, interval = "confidence", sums = cbind(c(1, 0, 2, 1), 1)))
  same(\(fit) predict(fit, newdata, se.fit = TRUE, interval = "confidence", exclude = "matern"))
}

test_that("with all neighbours, each kind of effect and layout agrees with the exact method", {
  given <- given_farms()
  expect_vif_exact(z ~ w, farms, ~ a + b, given)
  expect_vif_exact(z ~ w + offset(x), farms, ~ a + b, given, weights = times, known = list(noise = farms$known))
  expect_vif_exact(z ~ w, farms, ~ a + b, given, group = day)
  expect_vif_exact(z ~ 0, farms, ~ a + b, given, known = list(beta = 0.3))
  expect_vif_exact(z ~ 1, farms, ~ a + b, exponential(0.5, 0.2, dims = 1) + given + ar1(~ year, 0.3, 2))
  expect_vif_exact(z ~ 1, farms, ~ a + b, given + random_walk(~ year, 0.2) + svc(~ w, exponential(0.2, 0.3)))
  skip_if_not_installed("mgcv")
  expect_vif_exact(z ~ w + s(x), farms, ~ a + b, given + smooth_effect(~ s(x), 2))
})

test_that("estimates, effects, degrees of freedom and draws agree with the exact method", {
  skip_if_not_installed("mgcv")
  skip_if_not_installed("nlme")
  fits <- lapply(c(vif = "vif", exact = "exact"), \(method) {
    gp(z ~ w + s(x) + (1 | g), farms, ~ a + b, method = method, neighbours = 79, inducing = 12, estimate = "REML",
       gain = 1e-8)
  })
  expect_equal(fits$vif$loglik, fits$exact$loglik, tolerance = 1e-7)
  expect_equal(coef(fits$vif, "covariance"), coef(fits$exact, "covariance"), tolerance = 1e-3)
  expect_equal(nlme::ranef(fits$vif), nlme::ranef(fits$exact), tolerance = 1e-3)
  expect_equal(summary(fits$vif)$edf, summary(fits$exact)$edf, tolerance = 1e-3)
  few <- by_vif(z ~ w, farms, ~ a + b, given_farms(), neighbours = 20)
  draws <- simulate(few, 4000, seed = 1, newdata = new_farms)
  expect_lt(max(abs(cov(t(draws)) - predict(few, new_farms, cov = TRUE)$cov)), 0.2)
  prior <- simulate(few, 4000, seed = 1, newdata = new_farms, conditional = FALSE)
  expected <- covariance_of(new_farms[c("a", "b")], tau = 0) + effects_of_farms(new_farms, new_farms)
  expect_lt(max(abs(cov(t(prior)) - expected)), 0.3)
  expect_s3_class(certify(few), "gp_certificate")
})

test_mistakes("kernops_input_error", alist(
  `more coefficients than VIF takes` = {
    levels <- data.frame(y = rep_len(c(0, 1, 3), 2100), x = 1:2100, k = 1:2100)
    gp(y ~ 1 + (1 | k), levels, ~ x, method = "vif")
  },
  `effects without a field` = gp(z ~ (1 | g), farms, covariance = nugget(), method = "vif"),
  `noise without a field` = gp(z ~ 1, farms, ~ a + b, nugget(), method = "vif")
))
