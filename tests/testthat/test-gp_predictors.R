# Fits of families with predictors of their parameters, against other packages and plain R; invalid calls.

withr::local_options(kernops.backend = "auto")
d <- withr::with_seed(4, {
  n <- 150
  d <- data.frame(x = runif(n, 0, 10), y = runif(n, 0, 10), w = rnorm(n), z = rnorm(n, 3), m = runif(n, 1, 3))
  d$g <- factor(sample(c("a", "b", "c"), n, TRUE))
  field <- sin(d$x) + cos(d$y)
  d$level <- field + d$w + exp(-1 + 0.4 * (d$z - 3)) * rnorm(n)
  d$count <- rbinom(n, 1, plogis(1 + d$w)) * rnbinom(n, mu = exp(1 + field / 2), size = exp(0.5 + 0.5 * (d$z - 3)))
  d$size <- rgamma(n, exp(1 + 0.5 * d$w), exp(1 + 0.5 * d$w) / exp(field))
  d
})

oracle_normal <- \(residual, V) -(sum(residual * solve(V, residual)) + determinant(2 * pi * V)$modulus[[1]]) / 2

test_that("a Gaussian response whose variance depends on covariates is a Gaussian process with this noise", {
  fit <- gp(level ~ w, d, ~ x + y, matern(3/2) + nugget(), dispersion = ~ z)
  K <- covariance_of(as.matrix(d[c("x", "y")]), coef(fit, "covariance")[[1]], coef(fit, "covariance")[[2]], 0)
  gamma <- coef(fit, "covariance")[c("sigma (Intercept)", "sigma z")]
  V <- K + diag(exp(2 * (gamma[[1]] + gamma[[2]] * d$z)))
  expect_equal(fit$loglik, oracle_normal(d$level - as.vector(cbind(1, d$w) %*% fit$beta), V), tolerance = 1e-8)
  known <- gp(level ~ w, d, ~ x + y, matern(3/2, coef(fit, "covariance")[[1]], coef(fit, "covariance")[[2]]),
              known = list(noise = exp(2 * (gamma[[1]] + gamma[[2]] * d$z))), estimate = "none")
  expect_equal(fit$loglik, known$loglik, tolerance = 1e-7)
  expect_equal(fit$beta, known$beta, tolerance = 1e-4)
  new <- d[1:4, ]
  expect_equal(predict(fit, new, se.fit = TRUE), predict(known, new, se.fit = TRUE, interval = "none"),
               tolerance = 1e-4)
  # new observations have the noise that their covariates imply
  noisy <- predict(fit, new, se.fit = TRUE, interval = "prediction", probs = 0.9)
  se <- sqrt(predict(fit, new, se.fit = TRUE)$se.fit^2 + exp(2 * (gamma[[1]] + gamma[[2]] * new$z)))
  expect_equal(noisy$se.fit, se, tolerance = 1e-10)
  expect_equal(noisy$q0.9, noisy$fit + qnorm(0.9) * se, tolerance = 1e-10)
  off <- d$level - fitted(fit)
  expect_equal(unname(residuals(fit, "pearson")), unname(off / exp(gamma[[1]] + gamma[[2]] * d$z)), tolerance = 1e-10)
  expect_equal(residuals(fit, "quantile"), residuals(fit, "pearson"), tolerance = 1e-8)
})

test_that("a fit with a constant predictor of a parameter agrees with a fit of the parameter", {
  plain <- gp(level ~ w, d, ~ x + y, matern(3/2) + nugget(), estimate = "ML")
  constant <- gp(level ~ w, d, ~ x + y, dispersion = ~ 1, covariance = matern(3/2))
  expect_equal(constant$loglik, plain$loglik, tolerance = 1e-8)
  expect_equal(exp(2 * coef(constant, "covariance")[[3]]), coef(plain, "covariance")[[3]], tolerance = 1e-3)
  sized <- gp(size ~ 1, d, ~ x + y, family = Gamma("log"))
  expect_equal(logLik(update(sized, dispersion = ~ 1)), logLik(sized), tolerance = 1e-8)
})

test_that("fits by Vecchia's approximation with all neighbours agree with exact fits", {
  fit <- gp(count ~ w, d, ~ x + y, matern(3/2), family = gp_family("hurdle_negative_binomial"), zi = ~ w,
            dispersion = ~ z)
  near <- update(fit, method = "vecchia", neighbours = 149)
  expect_equal(near$loglik, fit$loglik, tolerance = 1e-6)
  expect_equal(coef(near, "both"), coef(fit, "both"), tolerance = 1e-3)
  expect_equal(sqrt(diag(vcov(near, "both"))), sqrt(diag(vcov(fit, "both"))), tolerance = 1e-2)
})

test_that("independent observations whose variance depends on covariates agree with nlme::gls()", {
  skip_if_not_installed("nlme")
  ours <- gp(level ~ w, d, covariance = nugget(), dispersion = ~ z)
  theirs <- nlme::gls(level ~ w, d, weights = nlme::varExp(form = ~ z), method = "ML",
                      control = nlme::glsControl(tolerance = 1e-10, msTol = 1e-14, apVar = FALSE))
  expect_equal(ours$loglik, as.numeric(logLik(theirs)), tolerance = 1e-7)
  expect_equal(ours$beta, coef(theirs), tolerance = 1e-4)
  expect_equal(coef(ours, "covariance")[["sigma z"]], coef(theirs$modelStruct$varStruct)[[1]], tolerance = 1e-3)
})

test_that("random effects with a variance that depends on covariates agree with nlme::lme()", {
  skip_if_not_installed("nlme")
  d$site <- factor(rep(1:15, 10))
  d$level <- d$level + withr::with_seed(1, rnorm(15))[d$site]
  ours <- gp(level ~ w + (1 | site), d, covariance = nugget(), dispersion = ~ z)
  theirs <- nlme::lme(level ~ w, d, ~ 1 | site, weights = nlme::varExp(form = ~ z), method = "ML")
  expect_equal(ours$loglik, as.numeric(logLik(theirs)), tolerance = 1e-6)
  expect_equal(ours$beta, nlme::fixef(theirs), tolerance = 1e-3)
})

test_that("without a field, fits agree with mgcv", {
  skip_if_not_installed("mgcv")
  none <- exponential(1e-8, 0.01, fixed = c("variance", "range"))
  ours <- gp(level ~ w, d, ~ x + y, none, dispersion = ~ z)
  theirs <- mgcv::gam(list(level ~ w, ~ z), data = d, family = mgcv::gaulss(b = 0))
  expect_equal(unname(ours$beta), unname(coef(theirs)[1:2]), tolerance = 1e-4)
  expect_equal(ours$loglik, as.numeric(logLik(theirs)), tolerance = 1e-6)
  # mgcv models the presence by a complementary log-log link; if the predictor is a factor, the fit does not depend on
  # the link
  ours <- gp(count ~ w, d, ~ x + y, none, family = gp_family("hurdle_poisson"), zi = ~ g)
  theirs <- mgcv::gam(list(count ~ w, ~ g), data = d, family = mgcv::ziplss())
  expect_equal(unname(ours$beta), unname(coef(theirs)[1:2]), tolerance = 1e-4)
  expect_equal(ours$loglik, as.numeric(logLik(theirs)), tolerance = 1e-6)
})

test_that("coefficients do not depend on the unit and the origin of covariates", {
  fit <- gp(count ~ 1, d, ~ x + y, matern(3/2), family = negative_binomial(), dispersion = ~ z)
  d$z <- 2000 + 1e-3 * d$z
  moved <- gp(count ~ 1, d, ~ x + y, matern(3/2), family = negative_binomial(), dispersion = ~ z)
  expect_equal(moved$loglik, fit$loglik, tolerance = 1e-9)
  expect_equal(1e-3 * coef(moved, "covariance")[["theta z"]], coef(fit, "covariance")[["theta z"]], tolerance = 1e-4)
})

test_that("confidence intervals, tables and tests contain the coefficients of predictors", {
  fit <- gp(count ~ w, d, ~ x + y, matern(3/2), family = gp_family("zero_inflated_negative_binomial"), zi = ~ w,
            dispersion = ~ z)
  names <- c("theta (Intercept)", "theta z", "zi (Intercept)", "zi w")
  expect_identical(utils::tail(names(coef(fit, "covariance")), 4), names)
  se <- sqrt(diag(vcov(fit, "covariance")))[names]
  expect_equal(unname(confint(fit, names)), unname(coef(fit, "covariance")[names] + outer(se, c(-1, 1)) * qnorm(0.975)),
               tolerance = 1e-10)
  table <- summary(fit)$predictors
  expect_equal(table$zi[, "Std. Error"], se[3:4])
  expect_output(print(summary(fit)), "Predictor of zi, link logit:\n *Estimate")
  expect_output(print(fit), "log(theta)", fixed = TRUE)
  fewer <- update(fit, zi = NULL)
  tests <- anova(fewer, fit)
  expect_identical(tests$Df, c(NA, 1))
  expect_equal(tests$Chisq[[2]], 2 * (fit$loglik - fewer$loglik))
  # the two predictors are not nested
  expect_identical(anova(update(fit, zi = ~ m), update(fit, zi = ~ w + z))$Df, c(NA_real_, NA))
  if (requireNamespace("generics", quietly = TRUE)) {
    expect_identical(generics::tidy(fit)$term[5:8], names)
  }
})

test_that("estimates are near the true parameters, within their standard errors", {
  withr::local_seed(3)
  n <- 600
  e <- data.frame(x = runif(n, 0, 30), z = rnorm(n))
  e$count <- rbinom(n, 1, plogis(0.3 - 0.8 * e$z)) * rpois(n, exp(1.5 + 0.5 * sin(e$x)))
  fit <- gp(count ~ 1, e, ~ x, matern(3/2), family = gp_family("zero_inflated_poisson"), zi = ~ z)
  gamma <- coef(fit, "covariance")[3:4]
  se <- sqrt(diag(vcov(fit, "covariance")))[names(gamma)]
  expect_lt(max(abs(gamma - c(-0.3, 0.8)) / se), 2.5)
  expect_true(all(se > 0.08 & se < 0.2))
})

test_that("standard errors of large fits account for the covariances of all parameters", {
  withr::local_seed(3)
  n <- 2001
  e <- data.frame(x = runif(n, 0, 30), z = rnorm(n))
  e$count <- rbinom(n, 1, plogis(0.3 - 0.8 * e$z)) * rpois(n, exp(0.2 + 0.5 * sin(e$x) + 0.3 * e$z))
  fit <- gp(count ~ z, e, ~ x, matern(3/2), family = gp_family("zip"), zi = ~ z, method = "vecchia", neighbours = 5)
  outer <- replace(fit, c("data", "model", "theta"), list(fit$response, fit$outer, fit$outer_theta))
  expected <- sqrt(diag(solve(kernops:::observed_information(outer, 1:6))))
  expect_equal(sqrt(diag(solve(kernops:::family_information(fit, 1:6))))[3:6], expected[3:6], tolerance = 0.05)
})

test_that("a warning reports a level in which all counts are zero", {
  d$count[d$g == "a"] <- 0
  field <- matern(3/2, range = 2, fixed = "range")
  hurdle <- \(zi) gp(count ~ 1, d, ~ x + y, field, family = gp_family("hurdle_poisson"), zi = zi)
  expect_warning(fit <- hurdle(~ g), class = "kernops_separation")
  expect_true(all(fit$phi$zero[d$g == "a"] > 0.9999))
  expect_no_warning(hurdle(~ w))
})

test_that("short names select the zero-inflated families", {
  expect_identical(gp_family("zip")$name, "zero_inflated_poisson")
  expect_identical(gp_family("zinb", theta = 2)$name, "zero_inflated_negative_binomial")
})

test_that("predictors work with groups, offsets, weights and missing values", {
  d$z[[5]] <- NA
  d$day <- rep(1:3, 50)
  fit <- gp(size ~ 1 + offset(log(m)), d, ~ x + y, matern(3/2), family = Gamma("log"), group = ~ day,
            weights = rep(1:2, 75), dispersion = ~ z + g)
  expect_length(fit$na.action, 1)
  expect_identical(names(fit$na.action), "5")
  expect_identical(nobs(fit), 149L)
  expect_true(all(is.finite(predict(fit, d[6:9, ], se.fit = TRUE, interval = "prediction")$se.fit)))
  expect_identical(is.na(predict(fit, d[4:6, ])), c(`4` = FALSE, `5` = TRUE, `6` = FALSE))
  # a basis that depends on the fitted data, and a factor with unused levels
  wave <- gp(size ~ 1, d, ~ x + y, matern(3/2), family = Gamma("log"), subset = g != "b",
             dispersion = ~ poly(m, 2) + g)
  expect_identical(names(coef(wave, "covariance"))[3:6],
                   paste("shape", c("(Intercept)", "poly(m, 2)1", "poly(m, 2)2", "gc")))
  one <- predict(wave, d[1, ], interval = "prediction", probs = 0.9)
  expect_equal(predict(wave, d[c(1, 3), ], interval = "prediction", probs = 0.9)[1, ], one, tolerance = 1e-10)
})

test_that("blocks, sums, draws and thresholds use the parameters at each point", {
  fit <- gp(count ~ w, d, ~ x + y, matern(3/2), family = gp_family("zinb"), zi = ~ w, dispersion = ~ z)
  new <- data.frame(x = c(2, 2, 7), y = c(3, 3, 8), w = c(-2, 2, 0), z = c(1, 5, 3))
  each <- \(f) do.call(rbind, lapply(1:3, \(i) f(new[i, ])))
  means <- \(new) predict(fit, new, block = c(0.5, 0.5), se.fit = TRUE)
  expect_equal(means(new), each(means), tolerance = 1e-8, ignore_attr = TRUE)
  response <- \(new) predict(fit, new, se.fit = TRUE)
  joint <- predict(fit, new, cov = TRUE)
  expect_equal(sqrt(diag(joint$cov)), response(new)$se.fit, tolerance = 1e-6, ignore_attr = TRUE)
  sum <- predict(fit, new, sums = c(1, 2, 3), se.fit = TRUE)
  expect_equal(sum$fit, sum(1:3 * joint$fit), tolerance = 1e-8)
  expect_equal(sum$se.fit^2, c(1:3 %*% joint$cov %*% 1:3), tolerance = 1e-6)
  noisy <- predict(fit, new, interval = "prediction", cov = TRUE, se.fit = TRUE, above = 0)
  expect_equal(sqrt(diag(noisy$cov)), noisy$fit$se.fit, tolerance = 1e-6, ignore_attr = TRUE)
  drawn <- simulate(fit, 4000, seed = 1, newdata = new, noise = TRUE)
  expect_equal(rowMeans(drawn > 0), noisy$fit$above0, tolerance = 0.05, ignore_attr = TRUE)
  expect_equal(rowMeans(drawn), noisy$fit$fit, tolerance = 0.1, ignore_attr = TRUE)
  beyond <- \(new) gp_exceedance(fit, new, above = 1, nsim = 10)$fit
  expect_equal(beyond(new), sum(each(beyond)), tolerance = 1e-8)
})

test_that("predictors of parameters of a user-defined likelihood are given by the names of the parameters", {
  density <- "-Square((y - eta) / s) / 2 - Log(s) - Log(2 * pi) / 2"
  ours <- likelihood(density, list(s = 0.5), cdf = \(q, eta, phi) pnorm(q, eta, phi[["s"]]),
                     variance = \(mu, phi) phi[["s"]]^2 + 0 * mu)
  fit <- gp(level ~ w, d, ~ x + y, matern(3/2), family = ours, predictors = list(s = ~ z))
  expected <- gp(level ~ w, d, ~ x + y, matern(3/2), dispersion = ~ z)
  expect_equal(fit$loglik, expected$loglik, tolerance = 1e-8)
  expect_equal(predict(fit, d[1:3, ], interval = "prediction"), predict(expected, d[1:3, ], interval = "prediction"),
               tolerance = 1e-3)
})

test_that("the family of a fit with predictors can be reused without predictors", {
  fit <- gp(count ~ 1, d, ~ x + y, matern(3/2), family = negative_binomial(), dispersion = ~ z)
  again <- gp(count ~ 1, d, ~ x + y, matern(3/2), family = family(fit))
  expect_identical(names(coef(again, "covariance")), c("matern.variance", "matern.range", "theta"))
  expect_error(family(fit)$variance(1:2), class = "kernops_input_error")
})

test_that("probabilities above a threshold use the parameters at each point", {
  fit <- gp(count ~ w, d, ~ x + y, matern(3/2), family = gp_family("zero_inflated_poisson"))
  p <- predict(fit, d[1:3, ], interval = "prediction", above = 1)$above1
  alone <- vapply(1:3, \(i) predict(fit, d[i, ], interval = "prediction", above = 1)$above1, 0)
  expect_equal(p, alone, tolerance = 1e-10)
})

test_that("errors for invalid predictors name the valid predictors", {
  counts <- \(...) gp(count ~ 1, d, ~ x + y, matern(3/2), family = gp_family("zero_inflated_poisson"), ...)
  expect_snapshot(error = TRUE, {
    counts(dispersion = ~ z)
    gp(count ~ 1, d, ~ x + y, family = poisson(), zi = ~ z)
    gp(level ~ 1, d, ~ x + y, zi = ~ z)
    counts(predictors = list(zero = ~ z))
    counts(predictors = list(~ z))
    counts(predictors = ~ z)
    counts(zi = "z")
    counts(zi = count ~ z)
    counts(zi = ~ (1 | g))
    counts(zi = ~ s(z))
    counts(zi = ~ z + offset(m))
    counts(zi = ~ .)
    counts(zi = ~ nothing)
    counts(zi = ~ z + I(2 * z))
    counts(zi = ~ 0)
    counts(zi = ~ g, subset = g == "a")
    counts(zi = ~ I(z / (z > -99)) + log(x * 0))
    counts(zi = ~ z, estimate = "none")
    counts(zi = ~ 1:3)
    counts(zi = ~ factor(seq_along(z)))
    counts(zi = ~ z, predictors = list(zi = ~ g))
    gp(cbind(level, size) ~ 1, d, ~ x + y, dispersion = ~ z)
    gp(count ~ 1, d, ~ x + y, family = gp_family("zero_inflated_poisson", zi = 0.2), zi = ~ z)
    gp(g ~ 1, d, ~ x + y, family = gp_family("ordered"), predictors = list(gap2 = ~ z))
    gp(level ~ 1, d, ~ x + y, dispersion = ~ z, method = "vif")
    gp(level ~ 1, d, ~ x + y, dispersion = ~ z, estimate = "REML", transform = "log")
    gp(level ~ 1, d, ~ x + y, dispersion = ~ z, known = list(noise = 1))
  })
  fit <- counts(zi = ~ m + g)
  expect_snapshot(error = TRUE, {
    predict(fit, data.frame(x = 1, y = 1))
    predict(fit, data.frame(x = 1, y = 1, m = 1, g = "d"))
    predict(fit, data.frame(x = 1, y = 1, m = "one", g = "a"))
  })
})
