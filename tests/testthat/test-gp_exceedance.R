# Areas of exceedance, against sums of bivariate normal probabilities over pairs of points.

case <- withr::with_seed(1, {
  case <- data.frame(a = runif(40), b = runif(40))
  transform(case, z = sin(5 * a) + b + rnorm(40, sd = 0.2), w = cos(4 * b), count = rpois(40, exp(sin(5 * a))))
})
new <- withr::with_seed(2, data.frame(a = runif(9), b = runif(9)))
areas <- cbind(all = rep(0.5, 9), some = c(1:4, numeric(5)))
k <- matern(3/2, 1.2, 0.3) + nugget(0.05)
fit_by <- \(method, formula = z ~ 1, ...) gp(formula, case, ~ a + b, k, method, "none", ...)
# P(X > limit, Y > limit), as an integral over X.
both_exceed <- function(limit, mean, C) {
  conditional <- \(x) pnorm(limit, mean[2] + C[1, 2] / C[1, 1] * (x - mean[1]), sqrt(C[2, 2] - C[1, 2]^2 / C[1, 1]),
                            lower.tail = FALSE)
  integrate(\(x) dnorm(x, mean[1], sqrt(C[1, 1])) * conditional(x), limit, mean[1] + 9 * sqrt(C[1, 1]))$value
}
moments_of <- function(limit, joint, w) {
  mean <- joint$fit$fit
  p <- pnorm(limit, mean, joint$fit$se.fit, lower.tail = FALSE)
  variance <- sum(w^2 * p * (1 - p))
  for (i in 1:8) for (j in (i + 1):9) {
    pair <- c(i, j)
    variance <- variance + 2 * w[i] * w[j] * (both_exceed(limit, mean[pair], joint$cov[pair, pair]) - p[i] * p[j])
  }
  c(sum(w * p), sqrt(variance))
}

test_that("expected areas and their standard errors agree with the joint distribution", {
  for (method in c("exact", "vecchia")) {
    fit <- fit_by(method)
    joint <- predict(fit, new, se.fit = TRUE, interval = "confidence", cov = TRUE)
    ours <- gp_exceedance(fit, new, above = c(0.8, 1.2), areas = areas, nsim = 4000)
    expect_identical(ours[1:2], data.frame(above = rep(c(0.8, 1.2), each = 2), region = rep(c("all", "some"), 2)))
    for (row in 1:4) {
      theirs <- moments_of(ours$above[row], joint, areas[, ours$region[row]])
      expect_equal(ours$fit[row], theirs[1], tolerance = 1e-6)
      expect_equal(ours$se.fit[row], theirs[2], tolerance = 0.05)
    }
    expect_true(all(ours$lwr <= ours$fit & ours$fit <= ours$upr))
  }
})

test_that("thresholds are on the scale of the response, and areas are numbers of points by default", {
  log_fit <- fit_by("exact", exp(z) ~ 1, transform = "log")
  normal <- gp_exceedance(fit_by("exact"), new, above = log(2))
  ours <- gp_exceedance(log_fit, new, above = 2)
  expect_equal(ours[-1], normal[-1], tolerance = 1e-8)
  expect_equal(gp_exceedance(log_fit, new, above = log(2), type = "link")[-1], normal[-1], tolerance = 1e-8)
  expect_equal(ours$fit, sum(predict(log_fit, new, above = 2, interval = "confidence")$above2), tolerance = 1e-10)
  counts <- fit_by("vecchia", count ~ 1, family = poisson())
  ours <- gp_exceedance(counts, new, above = 1.5)
  expect_equal(ours$fit, sum(predict(counts, new, above = 1.5, interval = "confidence")$above1.5), tolerance = 1e-8)
  draws <- simulate(counts, 1000, seed = 1, newdata = new, type = "response")
  expect_equal(ours$se.fit, sd(colSums(draws > 1.5)))
})

test_that("results depend on the seed only, and areas of rows with missing values are missing", {
  fit <- fit_by("exact")
  expect_identical(gp_exceedance(fit, new, above = 1), gp_exceedance(fit, new, above = 1))
  expect_false(identical(gp_exceedance(fit, new, above = 1, seed = 2), gp_exceedance(fit, new, above = 1)))
  missing <- transform(new, a = replace(a, 9, NA))
  ours <- gp_exceedance(fit, missing, above = 1, areas = areas)
  expect_identical(is.na(ours$fit), c(TRUE, FALSE))
  expect_equal(ours[2, ], gp_exceedance(fit, new[1:8, ], above = 1, areas = areas[1:8, ])[2, ], tolerance = 1e-8)
})

test_that("errors name invalid arguments of gp_exceedance()", {
  fit <- fit_by("exact")
  expect_snapshot(error = TRUE, {
    gp_exceedance(fit, new)
    gp_exceedance(fit, new, above = NA)
    gp_exceedance(fit, new, above = 1, areas = 1:3)
    gp_exceedance(fit, new, above = 1, nsim = 1)
    gp_exceedance(lm(z ~ a, case), new, above = 1)
  })
})
