# Priors and the posterior mode: densities against their definition, the mode against plain R.

case <- withr::with_seed(3, smooth_case(40, noise = 0.3))
priors <- list(range = pc_range(0.3, 0.05), variance = pc_sd(2, 0.01), nugget = lognormal(log(0.1), 0.7))
fit <- gp(z ~ w, case, ~ a + b, matern(3/2) + nugget(), prior = priors)

# The logarithm of the prior density of log range, log variance and log nugget, in d = 2 dimensions.
log_prior <- function(s) {
  theta <- exp(s)
  rate <- -log(0.05) * 0.3
  by_range <- log(rate) - 2 * log(theta[1]) - rate / theta[1] + s[1]
  by_sd <- dexp(sqrt(theta[2]), -log(0.01) / 2, log = TRUE) - log(2 * sqrt(theta[2])) + s[2]
  by_range + by_sd + dlnorm(theta[3], log(0.1), 0.7, log = TRUE) + s[3]
}
posterior <- function(s, X = cbind(1, case$w), reml = TRUE) {
  theta <- exp(s)
  K <- covariance_of(case[c("a", "b")], theta[2], theta[1], theta[3])
  oracle_likelihood(K, case$z, X, reml)$value - 2 * log_prior(s)
}
mode_of <- function(f, start) {
  found <- optim(optim(start, f, control = list(maxit = 2000, reltol = 1e-14))$par, f, method = "BFGS",
                 control = list(reltol = 1e-15, ndeps = rep(1e-4, length(start))))
  found$par
}

test_that("prior densities integrate to one and have the given tail probabilities", {
  density_of <- function(prior) Vectorize(function(s) exp(prior_terms(prior, s)[[1]]))
  row <- function(x, name) placed_prior(x, match(name, fit$model$parameters$name), fit$model, NULL)
  for (d in 1:3) {
    model <- covariance_model(matern(3/2), d)
    range <- placed_prior(pc_range(0.5, 0.1), match("matern.range", model$parameters$name), model, NULL)
    expect_equal(integrate(density_of(range), -30, 60, rel.tol = 1e-10, subdivisions = 1000)$value, 1, tolerance = 1e-8)
    expect_equal(integrate(density_of(range), -30, log(0.5), rel.tol = 1e-10)$value, 0.1, tolerance = 1e-8)
  }
  sd <- row(pc_sd(2, 0.01), "matern.variance")
  expect_equal(integrate(density_of(sd), -60, 10, rel.tol = 1e-10, subdivisions = 1000)$value, 1, tolerance = 1e-8)
  expect_equal(integrate(density_of(sd), log(4), 10, rel.tol = 1e-10)$value, 0.01, tolerance = 1e-8)
  expect_equal(integrate(density_of(lognormal(1, 0.5)), -10, 1, rel.tol = 1e-10)$value, 0.5, tolerance = 1e-8)
})

test_that("derivatives of the prior densities agree with finite differences", {
  in_space <- c(unclass(pc_range(0.5)), d = 3, rate = 2)
  for (prior in list(in_space, pc_sd(2), lognormal(1, 0.3))) for (s in c(-1, 0.2, 2)) {
    h <- 1e-4
    at <- vapply(s + c(-h, 0, h), function(s) prior_terms(prior, s)[[1]], 0)
    expect_equal(prior_terms(prior, s)[2:3], c(at[3] - at[1], (at[3] - 2 * at[2] + at[1]) / h) / c(2 * h, h),
                 tolerance = 1e-5)
  }
})

test_that("the fit is the posterior mode of plain R, and logLik() excludes the prior", {
  expect_identical(fit$estimate, "REML")
  best <- mode_of(posterior, log(c(0.5, 1, 0.1)))
  theirs <- exp(best)
  ours <- coef(fit, "covariance")[c("matern.range", "matern.variance", "nugget.variance")]
  expect_equal(unname(ours), theirs, tolerance = 1e-4)
  at <- log(unname(ours))
  expect_equal(deviance(fit), posterior(at) + 2 * log_prior(at), tolerance = 1e-9)
  expect_lte(posterior(log(ours)), posterior(best) + 1e-7)
  hessian <- optimHess(log(ours), posterior, control = list(ndeps = rep(1e-3, 3))) / 2
  expect_equal(unname(sqrt(diag(vcov(fit, "covariance"))[names(ours)])), unname(ours * sqrt(diag(solve(hessian)))),
               tolerance = 1e-3)
  ml <- update(fit, estimate = "ML")
  best <- mode_of(function(s) posterior(s, reml = FALSE), log(c(0.5, 1, 0.1)))
  expect_equal(unname(coef(ml, "covariance")[names(ours)]), exp(best), tolerance = 1e-4)
})

test_that("priors by full names take precedence, ranges of one coordinate have d = 1, fixed parameters have no prior", {
  both <- priors_of(list(range = pc_range(1), matern2.range = lognormal(0, 1)),
                    covariance_model(matern(3/2) + matern(5/2) + nugget(), 2), "REML", NULL)
  expect_identical(vapply(both, function(each) each$prior$kind, ""), c("pc_range", "lognormal"))
  ard <- priors_of(list(range = pc_range(1)), covariance_model(matern(3/2, ard = TRUE), 2), "REML", NULL)
  expect_identical(vapply(ard, function(each) each$prior$d, 0), c(1, 1))
  given <- priors_of(list(variance = pc_sd(1)), covariance_model(matern(3/2, 1, fixed = "variance") + exponential(), 2),
                     "REML", NULL)
  expect_length(given, 1)
})

test_that("fits by other methods have the same mode, and cross-validation and AIC() accept priors", {
  ours <- coef(fit, "covariance")
  near <- update(fit, method = "vecchia", neighbours = 39)
  expect_equal(coef(near, "covariance"), ours, tolerance = 1e-3)
  expect_equal(logLik(near), logLik(fit), tolerance = 1e-5)
  solved <- update(fit, method = "iterative")
  expect_equal(coef(solved, "covariance"), ours, tolerance = 0.05)
  expect_equal(logLik(solved), logLik(fit), tolerance = 1e-2)
  expect_identical(coef(gp(z ~ w, case, ~ a + b, matern(3/2) + nugget(), prior = list(), estimate = "ML")),
                   coef(update(fit, prior = NULL, estimate = "ML")))
  expect_s3_class(gp_cv(fit, folds = rep(1:2, 20), refit = TRUE), "gp_cv")
  expect_equal(AIC(fit), -2 * fit$loglik + 2 * fit$df)
})

test_that("a strong prior determines a parameter, also outside the usual bounds", {
  held <- suppressWarnings(update(fit, prior = list(range = lognormal(log(300), 1e-3), variance = pc_sd(1e3))))
  expect_equal(coef(held, "covariance")[["matern.range"]], 300, tolerance = 1e-2)
})

test_that("the profile of a family's likelihood times the prior is maximal at the estimate", {
  withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
  counts <- withr::with_seed(4, transform(case, n = rpois(40, exp(1 + z))))
  prior <- list(range = lognormal(log(0.3), 0.2))
  mode <- gp(n ~ 1, counts, ~ a + b, matern(3/2), family = poisson(), prior = prior)
  at <- coef(mode, "covariance")[["matern.range"]]
  value <- function(s) {
    held <- gp(n ~ 1, counts, ~ a + b, matern(3/2, range = exp(s), fixed = "range"), family = poisson())
    as.numeric(logLik(held)) + dnorm(s, log(0.3), 0.2, log = TRUE)
  }
  around <- vapply(log(at) + c(-0.02, 0, 0.02), value, 0)
  peak <- 0.02 * (around[1] - around[3]) / (2 * (around[1] - 2 * around[2] + around[3]))
  expect_lt(abs(peak), 1e-3)
  expect_equal(as.numeric(logLik(mode)), around[2] - dnorm(log(at), log(0.3), 0.2, log = TRUE), tolerance = 1e-6)
})

test_that("errors name invalid priors", {
  expect_snapshot(error = TRUE, {
    pc_range(-1)
    pc_range(1, p = 1)
    pc_sd("a")
    lognormal(0, 0)
    update(fit, prior = pc_range(1))
    update(fit, prior = list(pc_range(1)))
    update(fit, prior = list(sill = pc_range(1)))
    update(fit, prior = list(range = pc_sd(1)))
    update(fit, prior = list(variance = pc_range(1)))
    update(fit, covariance = matern(3/2, range = 1, fixed = "range") + nugget())
    update(fit, covariance = matern(3/2, 1, 1) + nugget(1), estimate = "none")
    gp(z ~ w, case, ~ a + b, exponential(angle = 10, ratio = 0.5), prior = list(angle = lognormal(1, 1)))
    gp(exp(z) ~ w, case, ~ a + b, transform = "boxcox", prior = list(range = pc_range(1)))
    gp(cbind(z, w) ~ 1, case, ~ a + b, prior = list(variance = pc_sd(1)))
    confint(fit, method = "profile")
    anova(fit, update(fit, . ~ 1))
  })
  expect_snapshot(print(priors))
  expect_snapshot(cat(grep("prior|range <|sd >|lognormal", capture.output(summary(fit)), value = TRUE), sep = "\n"))
})
