# The exact method of gp(), against dense matrices in plain R.

test_that("likelihood and trend agree with dense algebra, by ML and REML", {
  withr::local_seed(1)
  d <- smooth_case(140)
  K <- covariance_of(d[c("a", "b")])
  for (formula in trends) for (reml in c(FALSE, TRUE)) {
    fit <- gp(formula, d, ~ a + b, given(), estimate = "none")
    expected <- oracle_likelihood(K, d$z, model.matrix(formula, d), reml)
    how <- list(method = "exact", reml = reml, backend = "cpu")
    value <- kernops:::likelihood_for(fit$data, fit$model, how)$evaluate(unname(fit$theta))$value
    expect_equal(value, expected$value, tolerance = 1e-10)
    expect_equal(unname(coef(fit)), expected$beta, tolerance = 1e-9)
    if (!reml) expect_equal(as.numeric(logLik(fit)), -expected$value / 2, tolerance = 1e-10)
  }
})

test_that("the gradient agrees with finite differences, for every covariance", {
  withr::local_seed(2)
  d <- smooth_case(70)
  own_names <- c("exponential", "matern52", "matern_general", "rational_quadratic", "periodic", "linear",
                 "powered_exponential", "pentaspherical", "wave")
  cases <- c(oracle_objects()[own_names],
             list(ard = matern(3/2, 1, c(0.3, 0.7)), turned = exponential(1, 0.4, angle = 20, ratio = 0.5),
                  circular = circular(1, 2), # finite differences fail if the distance of a pair equals the range
                  power = power_law(1, 1.3, angle = 20, ratio = 0.5), logarithmic = logarithmic(1, c(0.3, 0.7)),
                  own = covariance("s * Exp(-l * SqDist(x, y))", list(s = 1, l = 3)),
                  joined = matern(1/2, 1, 0.3) * periodic(1, 1, 2) + constant(0.5)))
  for (name in names(cases)) for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    fit <- gp(z ~ w, d, ~ a + b, cases[[name]] + nugget(0.1), estimate = "none")
    likelihood <- kernops:::exact_likelihood(fit$data, fit$model, reml)
    theta <- unname(fit$theta)
    gradient <- likelihood$evaluate(theta, profile)$gradient()
    expected <- central_difference(\(t) likelihood$evaluate(t, profile)$value, theta, h = 2^-8 * 0.05)
    expect_close(matrix(gradient, 1), expected, tolerance = 1e-5, info = name)
  }
})

test_that("kriging agrees with the bordered system", {
  withr::local_seed(4)
  d <- smooth_case(60)
  new <- smooth_case(25)
  both <- covariance_of(rbind(d, new)[c("a", "b")], tau = 0)
  K <- both[1:60, 1:60] + diag(0.05, 60)
  for (formula in trends[-1]) {
    fit <- gp(formula, d, ~ a + b, given(), estimate = "none")
    X <- model.matrix(formula, d)
    X0 <- model.matrix(formula, transform(new, z = 0))
    expected <- oracle_kriging(K, both[1:60, 61:85], diag(both)[61:85], d$z, X, X0)
    field <- predict(fit, new, se.fit = TRUE, interval = "confidence", level = 0.9)
    expect_close(matrix(field$fit), expected$mean, tolerance = 1e-9)
    expect_close(matrix(field$se.fit), sqrt(expected$variance), tolerance = 1e-8)
    expect_equal(field$upr - field$fit, qnorm(0.95) * field$se.fit)
    expect_equal(predict(fit, new, se.fit = TRUE, interval = "prediction")$se.fit,
                 unname(sqrt(expected$variance + 0.05)), tolerance = 1e-8)
    parts <- predict(fit, new, type = "terms")
    expect_equal(parts$trend, as.vector(X0 %*% coef(fit)))
    expect_equal(parts$trend + parts$process, field$fit)
  }
})

test_that("simple kriging with a known mean agrees with dense algebra", {
  withr::local_seed(5)
  d <- smooth_case(40)
  K <- covariance_of(d[c("a", "b")])
  fit <- gp(z ~ 0, d, ~ a + b, given(), estimate = "none", known = list(beta = 2))
  expect_equal(unname(fitted(fit)), as.vector(2 + (K - diag(0.05, 40)) %*% solve(K, d$z - 2)), tolerance = 1e-9)
  same <- gp(z ~ w, d, ~ a + b, given(), estimate = "none", known = list(beta = c(2, 0)))
  expect_equal(unname(fitted(same)), unname(fitted(fit)))
})

test_that("noise and weights of each point contribute to its variance", {
  withr::local_seed(6)
  d <- smooth_case(30)
  noise <- runif(30)
  weights <- runif(30, 0.5, 2)
  K <- covariance_of(d[c("a", "b")], tau = 0) + diag(noise + 0.05 / weights)
  fit <- gp(z ~ 1, d, ~ a + b, given(), estimate = "none", known = list(noise = noise), weights = weights)
  expect_equal(-2 * fit$loglik, oracle_likelihood(K, d$z, matrix(1, 30))$value, tolerance = 1e-9)
  estimated <- gp(z ~ 1, d, ~ a + b, known = list(noise = noise / 50), weights = weights)
  expect_gt(estimated$loglik, -Inf)
})

test_that("methods of a fit are consistent with each other", {
  withr::local_seed(10)
  d <- smooth_case(60)
  fit <- gp(z ~ w, d, ~ a + b)
  expect_equal(AIC(fit), -2 * as.numeric(logLik(fit)) + 2 * 5)
  expect_equal(BIC(fit), -2 * as.numeric(logLik(fit)) + log(60) * 5)
  expect_equal(unname(residuals(fit)), d$z - unname(fitted(fit)))
  K <- do.call(covariance_of, c(list(d[c("a", "b")]), unname(as.list(coef(fit, "covariance")))))
  X <- model.matrix(~ w, d)
  expect_equal(unname(vcov(fit)), unname(solve(t(X) %*% solve(K, X))), tolerance = 1e-8)
  theta <- unname(coef(fit, "covariance"))
  expect_equal(unname(vcov(fit, "covariance")), solve(log_hessian(theta, d, X)) * tcrossprod(theta), tolerance = 1e-2)
  expect_equal(summary(fit)$errors, sqrt(diag(vcov(fit, "covariance"))))
  expect_equal(coef(summary(fit))[, "Std. Error"], sqrt(diag(vcov(fit))))
  limits <- confint(fit, level = 0.9)
  expect_identical(rownames(limits), names(coef(fit, "both")))
  expect_true(all(limits[, 1] < coef(fit, "both") & coef(fit, "both") < limits[, 2]))
  expect_equal(formula(update(fit, . ~ 1)), z ~ 1)
  expect_lt(update(fit, . ~ 1)$loglik, fit$loglik + 1e-6)
  d$nugget.variance <- d$w
  expect_equal(unname(confint(update(fit, . ~ nugget.variance), level = 0.9)), unname(limits), tolerance = 1e-6)
  expect_identical(dim(confint(gp(z ~ 0, d, ~ a + b, given(), estimate = "none"))), c(0L, 2L))
})

test_that("the leave-one-out prediction of an observation that alone determines a coefficient is missing", {
  withr::local_seed(20)
  d <- transform(smooth_case(20), g = factor(c("r", rep(c("p", "q"), length.out = 19))))
  fit <- gp(z ~ g, d, ~ a + b, given(), estimate = "none")
  left_out <- gp_cv(fit)
  expect_identical(left_out$fit[[1]], NA_real_)
  expect_identical(left_out$se.fit[[1]], Inf)
  expect_equal(left_out[-1, c("fit", "se.fit")], gp_cv(update(fit, data = d[-1, ]))[, c("fit", "se.fit")])
  expect_identical(summary(left_out)$n, 19L)
  columns <- c("fit", "se.fit", "zscore")
  quiet_cv <- \(...) suppressWarnings(gp_cv(...), classes = "kernops_unknown_fold")
  expect_equal(quiet_cv(fit, 1:20)[columns], left_out[columns], ignore_attr = TRUE)
  # without the fold of the first observation, one coefficient cannot be estimated; the other observations of this fold
  # are predicted with the remaining coefficients
  folds <- c(1, rep(1:4, length.out = 19))
  expect_equal(quiet_cv(fit, folds)[-1, columns], gp_cv(update(fit, data = d[-1, ]), folds[-1])[columns],
               ignore_attr = TRUE)
  expect_identical(quiet_cv(fit, folds)$se.fit[[1]], Inf)
})

test_that("folds may be labels of all rows of the data", {
  withr::local_seed(21)
  d <- smooth_case(20)
  folds <- rep(1:4, 5)
  whole <- gp_cv(gp(z ~ 1, d[-3, ], ~ a + b, given(), estimate = "none"), folds[-3])
  d$z[3] <- NA
  expect_equal(gp_cv(gp(z ~ 1, d, ~ a + b, given(), estimate = "none"), folds), whole)
})

test_that("fit, prediction and leave-one-out need little more memory than one n x n matrix", {
  skip_if(nzchar(Sys.getenv("ASAN_OPTIONS")), "sanitizers need memory of their own")
  skip_on_cran()
  skip_if_not(file.exists("/proc/self/status"))
  skip_if_not_in_library()
  n <- 4700 # two n x n matrices exceed the memory that the process may use
  script <- bquote({
    .libPaths(.(.libPaths()))
    options(kernops.threads = 2) # each thread allocates tiles
    kilobytes <- function() gsub("[^0-9]", "", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))
    peak <- function() as.numeric(kilobytes()) * 1024
    d <- data.frame(a = (1:.(n) * 0.754877666) %% 1, b = (1:.(n) * 0.569840296) %% 1)
    d$z <- sin(5 * d$a) + cos(4 * d$b) + sin(1:.(n) * 99) / 10
    before <- peak()
    fit <- suppressWarnings(kernops::gp(z ~ 1, d, ~ a + b, backend = "cpu",
                                        control = kernops::gp_control(subset = 100, maxit = 1)))
    at <- predict(fit, d[1:1000, ], se.fit = TRUE, interval = "none")
    out <- kernops::gp_cv(fit)
    cat("peak", peak() - before)
  })
  file <- withr::local_tempfile(lines = deparse(script))
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, env = "R_TESTS=")
  expect_lt(as.numeric(sub(".*peak ", "", said)), 8 * n^2 + 1.5e8)
})

test_that("an observation with very large noise has no effect", {
  withr::local_seed(3)
  x <- seq(0, 10, length.out = 60)
  y <- sin(x) + rnorm(60, sd = 0.1)
  without <- gp(y[-5] ~ 1, coords = x[-5], covariance = matern(5/2), known = list(noise = 0.01))
  for (noise in c(1e12, 1e14)) {
    fit <- gp(y ~ 1, coords = x, covariance = matern(5/2), known = list(noise = replace(rep(0.01, 60), 5, noise)))
    expect_equal(fit$theta, without$theta, tolerance = 1e-4)
  }
})
