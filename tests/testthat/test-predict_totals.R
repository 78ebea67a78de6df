# Totals of responses over many points by draws, against the joint normal distribution of the points in plain R.

catch <- withr::with_seed(5, {
  d <- data.frame(a = runif(150), b = runif(150), g = sample(letters[1:5], 150, TRUE), area = runif(150))
  eta <- sin(5 * d$a) + cos(4 * d$b) + rnorm(5, sd = 0.4)[match(d$g, letters)]
  transform(d, count = rpois(150, exp(eta)), z = exp(eta + rnorm(150, sd = 0.3)), seen = rbinom(150, 1, plogis(eta)))
})
cells <- expand.grid(a = seq(0, 1, length.out = 30), b = seq(0, 1, length.out = 20), g = c("a", "new"))
cells <- cells[-(1:580), ] # 20 cells have the level "a", and 600 cells have the level "new"
regions <- cbind(new = cells$g == "new", west = cells$a < 0.7, all = 1) / 100

# The means and covariances of sums of exp(eta), where eta is normal.
lognormal_sums <- function(points, weights) {
  mu <- exp(points$fit$fit + diag(points$cov) / 2)
  list(mean = as.vector(t(weights) %*% mu), cov = t(weights * mu) %*% expm1(points$cov) %*% (weights * mu))
}
fit_counts <- function(method, ...) {
  field <- matern(3/2, 0.6, 0.4) + random_effect(~ 1 | g, 0.2)
  gp(count ~ a, catch, ~ a + b, field, method, "none", neighbours = 149, family = poisson(), ...)
}

test_that("totals of counts have the moments of sums of log-normal variables, with effects and new levels", {
  for (method in c("exact", "vecchia")) {
    fit <- fit_counts(method)
    ours <- predict(fit, cells, sums = regions, se.fit = TRUE, interval = "confidence", cov = TRUE, probs = 0.1)
    theirs <- lognormal_sums(predict(fit, cells, type = "link", se.fit = TRUE, cov = TRUE), regions)
    expect_equal(ours$fit$fit, theirs$mean, tolerance = 1e-6, info = method)
    expect_equal(ours$fit$se.fit, sqrt(unname(diag(theirs$cov))), tolerance = 0.02, info = method)
    expect_equal(unname(ours$cov), unname(theirs$cov), tolerance = 0.04, info = method)
    expect_equal(ours$fit$se.fit^2, unname(diag(ours$cov)), tolerance = 1e-8, info = method)
    expect_true(all(ours$fit$lwr < ours$fit$q0.1 & ours$fit$q0.1 < ours$fit$fit & ours$fit$fit < ours$fit$upr))
  }
})

# Draws of the sums of back(eta), where eta has the joint normal distribution.
drawn_sums <- function(points, weights, back, count = 20000) {
  z <- withr::with_seed(1, matrix(rnorm(nrow(weights) * count), nrow(weights)))
  crossprod(weights, back(points$fit$fit + t(chol(points$cov + diag(1e-9, nrow(weights)))) %*% z))
}

test_that("quantiles of totals agree with draws of the joint distribution", {
  fit <- fit_counts("vecchia")
  totals <- drawn_sums(predict(fit, cells, type = "link", se.fit = TRUE, cov = TRUE), regions, exp)
  ours <- predict(fit, cells, sums = regions, interval = "confidence", above = 8)
  limits <- apply(totals, 1, quantile, c(0.025, 0.975))
  sd <- apply(totals, 1, sd)
  expect_lt(max(abs(ours$lwr - limits[1, ]) / sd), 0.1)
  expect_lt(max(abs(ours$upr - limits[2, ]) / sd), 0.15)
  expect_lt(max(abs(ours$above8 - rowMeans(totals > 8))), 0.03)
})

test_that("totals with a logit link integrate over the nugget", {
  fit <- gp(seen ~ 1, catch, ~ a + b, matern(3/2, 0.6, 0.4) + nugget(0.2), "vecchia", "none", neighbours = 149,
            family = binomial())
  own <- sqrt(0.2) * qnorm((1:20 - 0.5) / 20)
  back <- function(eta) Reduce(`+`, lapply(own, \(shift) plogis(eta + shift))) / 20
  totals <- drawn_sums(predict(fit, cells, type = "link", se.fit = TRUE, cov = TRUE), regions, back, 4000)
  ours <- predict(fit, cells, sums = regions, se.fit = TRUE)
  expect_equal(ours$fit, unname(rowMeans(totals)), tolerance = 0.01)
  expect_equal(ours$se.fit, unname(apply(totals, 1, sd)), tolerance = 0.04)
})

test_that("totals of a transformed response agree with the dense covariance matrix, with VIF and effects", {
  fit <- gp(z ~ a, catch, ~ a + b, matern(3/2, 0.6, 0.4) + random_effect(~ 1 | g, 0.2) + nugget(0.1), "vif", "none",
            neighbours = 149, inducing = 20, transform = "log")
  points <- predict(fit, cells, interval = "confidence", cov = TRUE)
  ours <- predict(fit, cells, sums = regions, se.fit = TRUE, interval = "confidence")
  expect_equal(ours$se.fit, sqrt(unname(diag(t(regions) %*% points$cov %*% regions))), tolerance = 0.02)
  expect_equal(ours$fit, as.vector(t(regions) %*% predict(fit, cells)), tolerance = 1e-8)
  expect_identical(predict(fit, cells, sums = regions, se.fit = TRUE, interval = "confidence"), ours)
})

test_that("totals do not change the state of R's generator", {
  fit <- fit_counts("vecchia")
  withr::local_seed(1)
  before <- .Random.seed
  predict(fit, cells, sums = regions[, 3], se.fit = TRUE)
  expect_identical(.Random.seed, before)
})
