# Predicted effects and their standard errors, against dense matrices in plain R and mgcv.

skip_if_not_installed("nlme")

wards <- withr::with_seed(71, {
  d <- data.frame(a = runif(60), b = runif(60), x = runif(60), h = sample(1:5, 60, TRUE),
                  g = sample(letters[1:4], 60, TRUE),
                  day = as.Date("2024-02-27") + c(0:6, sample(0:6, 53, TRUE)))
  walk <- cumsum(rnorm(7))[d$day - as.Date("2024-02-26")]
  d$z <- sin(5 * d$a) + rnorm(5)[d$h] * d$x + rnorm(4)[match(d$g, letters)] + walk + rnorm(60, sd = 0.2)
  transform(d, k = rpois(60, exp(z / 2)))
})
given_wards <- function() {
  matern(3/2, 0.5, 0.4) + random_effect(~ x | h, c(0.3, 0.4), correlation = 0.2) + random_effect(~ 0 + x | g, 0.6) +
    random_walk(~ day, 0.5) + ar1(~ day, 0.2, 3)
}
# The design columns of each effect, and the covariance of its coefficients.
ward_effects <- local({
  levels <- \(x) outer(x, sort(unique(x)), `==`) * 1
  h <- levels(wards$h)
  time <- 0:6
  pair <- 0.2 * sqrt(0.3 * 0.4)
  list(h = list(B = cbind(h, h * wards$x), S = kronecker(matrix(c(0.3, pair, pair, 0.4), 2), diag(5))),
       g = list(B = levels(wards$g) * wards$x, S = diag(0.6, 4)),
       walk = list(B = levels(wards$day), S = 0.5 * outer(time, time, pmin)),
       ar1 = list(B = levels(wards$day), S = 0.2 * exp(-abs(outer(time, time, `-`)) / 3)))
})
wards_covariance <- function() {
  Reduce(`+`, lapply(ward_effects, \(e) e$B %*% e$S %*% t(e$B)), covariance_of(wards[c("a", "b")], 0.5, 0.4, tau = 0))
}
# The mean of each effect given the data, with standard errors, computed from the inverse Q of the covariance matrix of
# the observations, and from the residuals.
expected_effects <- function(K, X, y) {
  inverse <- solve(K)
  P <- inverse - inverse %*% X %*% solve(t(X) %*% inverse %*% X, t(X) %*% inverse)
  lapply(ward_effects, \(e) {
    along <- e$S %*% t(e$B)
    list(mean = as.vector(along %*% P %*% y), se = sqrt(pmax(0, diag(e$S - along %*% P %*% t(along)))))
  })
}
expect_effects <- function(effects, expected, tolerance) {
  expect_named(effects, c("h", "g", "random_walk(day)", "ar1(day)"))
  for (k in seq_along(expected)) {
    table <- effects[[k]]
    se <- grepl("se.fit$", names(table))
    expect_equal(unlist(table[!se], use.names = FALSE), expected[[k]]$mean, tolerance = tolerance)
    expect_equal(unlist(table[se], use.names = FALSE), expected[[k]]$se, tolerance = tolerance)
  }
}

test_that("effects of levels and of times agree with dense matrices, by each method", {
  expected <- expected_effects(wards_covariance() + diag(0.1, 60), cbind(1, wards$x), wards$z)
  for (method in c("exact", "iterative", "vecchia")) {
    fit <- gp(z ~ x, wards, ~ a + b, given_wards() + nugget(0.1), method, "none", neighbours = 59, cg_tol = 1e-11)
    effects <- nlme::ranef(fit, se.fit = TRUE)
    expect_effects(effects, expected, 1e-6)
    expect_equal(nlme::ranef(fit)$h, effects$h[c("(Intercept)", "x")], tolerance = 1e-10)
  }
  expect_identical(names(effects$h), c("(Intercept)", "(Intercept).se.fit", "x", "x.se.fit"))
  expect_identical(names(effects$g), c("x", "x.se.fit"))
  expect_identical(row.names(effects[["ar1(day)"]]), format(as.Date("2024-02-27") + 0:6))
  expect_identical(row.names(effects$g), letters[1:4])
})

test_that("effects of families have the mode and the precision of Laplace's approximation", {
  K <- wards_covariance()
  mode <- oracle_laplace(K, numeric(60), \(eta) dpois(wards$k, exp(eta), log = TRUE))
  expected <- lapply(ward_effects, \(e) {
    along <- e$S %*% t(e$B)
    list(mean = as.vector(along %*% solve(K, mode$h)),
         se = sqrt(pmax(0, diag(e$S - along %*% solve(K + diag(1 / mode$W), t(along))))))
  })
  for (method in c("exact", "vecchia")) {
    fit <- gp(k ~ 0, wards, ~ a + b, given_wards(), method, "none", family = poisson(), neighbours = 59)
    expect_effects(nlme::ranef(fit, se.fit = TRUE), expected, 1e-4)
  }
})

test_that("standard errors without a field agree with mgcv::gam()", {
  skip_if_not_installed("mgcv")
  d <- transform(wards, g = factor(g))
  peer <- mgcv::gam(z ~ x + s(g, bs = "re"), data = d, method = "REML")
  fit <- gp(z ~ x + (1 | g), d, covariance = nugget(), estimate = "REML")
  effects <- nlme::ranef(fit, se.fit = TRUE)$g
  theirs <- grepl("s(g)", names(coef(peer)), fixed = TRUE)
  expect_equal(effects[["(Intercept)"]], unname(coef(peer)[theirs]), tolerance = 1e-3)
  expect_equal(effects[["(Intercept).se.fit"]], unname(sqrt(diag(peer$Vp))[theirs]), tolerance = 1e-3)
})

test_that("labels of times have the class of the times, and effects agree with predictions at the times", {
  hour <- as.numeric(wards$day - min(wards$day))
  d <- transform(wards, when = as.POSIXct("2024-03-01 06:00", tz = "UTC") + 3600 * hour, t = x * 3)
  fit <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.3) + ar1(~ when, 0.5, 0.1) + nugget(0.1), estimate = "none")
  effects <- nlme::ranef(fit, se.fit = TRUE)[["ar1(when)"]]
  expect_match(row.names(effects)[2:3], "2024-03-01 0[78]:00")
  some <- d[match(sort(unique(d$when)), d$when), ]
  part <- predict(fit, some, terms = "ar1(when)", se.fit = TRUE, interval = "confidence")
  expect_equal(effects[["(Intercept)"]], as.vector(part$fit), tolerance = 1e-8)
  expect_equal(effects[["(Intercept).se.fit"]], as.vector(part$se.fit), tolerance = 1e-8)
  fit <- gp(z ~ 1, d, covariance = random_walk(~ t, 0.5) + nugget(0.1), estimate = "none", subset = h < 4)
  times <- sort(unique(d$t[d$h < 4]))
  expect_identical(as.numeric(row.names(nlme::ranef(fit)[[1]])), signif(times, 15))
})

test_mistakes("kernops_error", alist(
  `standard errors that are no flag` = nlme::ranef(gp(z ~ x + (1 | g), wards, covariance = nugget()), se.fit = 2),
  `no effects of levels or times` = nlme::ranef(gp(z ~ x, wards, ~ a + b, given(), estimate = "none"), se.fit = TRUE),
  `argument that does not exist` = nlme::ranef(gp(z ~ x + (1 | g), wards, covariance = nugget()), condVar = TRUE)
))
