# confint(method = "profile"), against the likelihood in plain R and the definition of profile intervals.

points <- withr::with_seed(41, smooth_case(45, noise = 0.3))
theirs <- function(held = rep(NA_real_, 3), shift = 0, X = cbind(1, points$w)) {
  # the minimum of -2 log-likelihood over log variance, range and nugget, some of which may be fixed
  free <- is.na(held)
  value <- function(s) {
    theta <- exp(replace(held, free, s))
    oracle_likelihood(covariance_of(points[c("a", "b")], theta[1], theta[2], theta[3]), points$z - shift, X)$value
  }
  start <- log(c(0.8, 0.4, 0.08))[free]
  optim(optim(start, value, control = list(maxit = 1000))$par, value, method = "BFGS",
        control = list(reltol = 1e-14))$value
}
fit <- gp(z ~ w, points, ~ a + b, matern(3/2) + nugget())
limits <- confint(fit, method = "profile")
drop <- qchisq(0.95, 1)

test_that("at the limits, the likelihood in plain R has fallen by half a quantile of the chi-squared distribution", {
  best <- theirs()
  expect_equal(best, deviance(fit), tolerance = 1e-8)
  expect_identical(dimnames(limits), dimnames(confint(fit)))
  expect_true(all(limits[, 1] < coef(fit, "both") & limits[, 2] > coef(fit, "both")))
  for (row in 1:3) for (side in 1:2) {
    limit <- limits[2 + row, side]
    expect_equal(theirs(replace(rep(NA_real_, 3), row, log(limit))) - best, drop, tolerance = 2e-3)
  }
  for (side in 1:2) {
    expect_equal(theirs(shift = limits[2, side] * points$w, X = matrix(1, 45)) - best, drop, tolerance = 2e-3)
    expect_equal(theirs(shift = limits[1, side], X = cbind(points$w)) - best, drop, tolerance = 2e-3)
  }
})

test_that("limits of one parameter at another level agree with the likelihoods of refits", {
  some <- confint(fit, "matern.range", level = 0.8, type = "covariance", method = "profile")
  expect_identical(dimnames(some), list("matern.range", c("10 %", "90 %")))
  for (limit in some) {
    held <- update(fit, covariance = matern(3/2, range = limit, fixed = "range") + nugget())
    expect_equal(2 * as.numeric(logLik(fit) - logLik(held)), qchisq(0.8, 1), tolerance = 1e-3)
  }
  expect_equal(confint(fit, 2, method = "profile"), limits[2, , drop = FALSE], tolerance = 1e-3)
})

test_that("if the covariance is given, the profile of the trend is quadratic", {
  for (method in c("exact", "vecchia")) {
    known <- gp(z ~ w + a, points, ~ a + b, given(), estimate = "none", method = method)
    expect_equal(confint(known, method = "profile"), confint(known), tolerance = 1e-4)
  }
})

test_that("limits by Vecchia's approximation with all neighbours agree with the exact method", {
  near <- update(fit, method = "vecchia", control = gp_control(neighbours = 44, gain = 1e-6))
  expect_equal(confint(near, method = "profile"), limits, tolerance = 2e-3)
})

test_that("the limit of a parameter that the data do not bound is 0 or infinite", {
  flat <- withr::with_seed(5, data.frame(points[c("a", "b")], z = rnorm(45)))
  noisy <- suppressWarnings(gp(z ~ 1, flat, ~ a + b, matern(3/2) + nugget()))
  wide <- suppressWarnings(confint(noisy, type = "covariance", method = "profile"))
  # a field with a range below the spacing is noise: either variance may be 0
  expect_identical(unname(wide[, 1]), c(0, 0, 0))
  expect_identical(wide[["matern.range", 2]], Inf)
  expect_equal(wide[[1, 2]], wide[[3, 2]], tolerance = 1e-4)
})

test_that("REML fits have profiles of the covariance parameters", {
  reml <- update(fit, estimate = "REML")
  some <- confint(reml, "nugget.variance", type = "covariance", method = "profile")
  for (limit in some) {
    held <- update(reml, covariance = matern(3/2) + nugget(limit, fixed = "variance"))
    expect_equal(2 * as.numeric(logLik(reml) - logLik(held)), drop, tolerance = 2e-3)
  }
})

test_mistakes("kernops_input_error", alist(
  `profile of the trend of a restricted likelihood` = confint(update(fit, estimate = "REML"), method = "profile"),
  `profile of an estimated likelihood` = confint(update(fit, method = "iterative"), method = "profile"),
  `method of intervals that is none` = confint(fit, method = "bootstrap")
))

test_that("anova() reports that a variance is at its boundary", {
  alone <- update(fit, covariance = nugget())
  expect_match(paste(attr(anova(alone, fit), "heading"), collapse = ""), "boundary")
  expect_no_match(paste(attr(anova(fit, update(fit, . ~ w + a)), "heading"), collapse = ""), "boundary")
})
