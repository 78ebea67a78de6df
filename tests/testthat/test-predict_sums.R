# Weighted sums over new points, against kriging by dense matrices in plain R.

case <- withr::with_seed(1, {
  case <- data.frame(a = runif(60), b = runif(60))
  transform(case, z = sin(5 * a) + b + rnorm(60, sd = 0.2), w = cos(4 * b) + rnorm(60, sd = 0.1),
            count = rpois(60, exp(sin(5 * a) + 1)))
})
new <- withr::with_seed(2, data.frame(a = runif(25), b = runif(25)))
sums <- withr::with_seed(3, cbind(total = rep(0.04, 25), difference = replace(numeric(25), c(3, 9), c(1, -1)),
                                  any = rnorm(25), double = replace(numeric(25), 4, 2)))
k <- matern(3/2, 1.2, 0.3) + nugget(0.05)
of <- \(x, y) {
  h <- sqrt(3) * sqrt(outer(x$a, y$a, "-")^2 + outer(x$b, y$b, "-")^2) / 0.3
  1.2 * (1 + h) * exp(-h)
}
# Universal kriging with the trend 1 + a, of the values at `new`.
kriged <- local({
  K <- of(case, case) + diag(0.05, 60)
  X <- cbind(1, case$a)
  x <- cbind(1, new$a)
  S <- solve(K)
  V <- solve(t(X) %*% S %*% X)
  beta <- V %*% t(X) %*% S %*% case$z
  cross <- of(case, new)
  gap <- t(x) - t(X) %*% S %*% cross
  list(mean = as.vector(x %*% beta + t(cross) %*% S %*% (case$z - X %*% beta)),
       cov = of(new, new) - t(cross) %*% S %*% cross + t(gap) %*% V %*% gap)
})
fit_by <- \(method, formula = z ~ a, ...) {
  gp(formula, case, ~ a + b, k, method, "none", ..., control = gp_control(neighbours = 59, cg_tol = 1e-10))
}
total <- \(fit, ...) predict(fit, new, sums = sums, se.fit = TRUE, interval = "confidence", ...)

test_that("sums, their standard errors, quantiles and covariances agree with dense kriging, by each method", {
  mean <- as.vector(t(sums) %*% kriged$mean)
  cov <- t(sums) %*% kriged$cov %*% sums
  for (method in c("exact", "iterative", "vecchia")) for (joint in if (method == "vecchia") c(TRUE, FALSE) else NA) {
    fit <- fit_by(method)
    if (!is.na(joint)) fit$vecchia[c("joint", "new", "local")] <- list(joint, 1000L, 60L)
    ours <- total(fit, cov = TRUE, probs = 0.2, above = 0.5)
    expect_identical(rownames(ours$fit), colnames(sums))
    expect_equal(ours$fit$fit, mean, tolerance = 1e-6)
    expect_equal(ours$fit$se.fit, sqrt(unname(diag(cov))), tolerance = 1e-5)
    expect_equal(unname(ours$cov), unname(cov), tolerance = 1e-5)
    expect_equal(ours$fit$q0.2, qnorm(0.2, mean, sqrt(unname(diag(cov)))), tolerance = 1e-5)
    expect_equal(ours$fit$above0.5, pnorm(0.5, mean, sqrt(unname(diag(cov))), lower.tail = FALSE), tolerance = 1e-5)
  }
})

test_that("with few neighbours, sums agree with the joint distribution of the points", {
  fit <- gp(z ~ a, case, ~ a + b, k, "vecchia", "none", control = gp_control(neighbours = 8))
  fit$vecchia$joint <- TRUE
  points <- predict(fit, new, se.fit = TRUE, interval = "confidence", cov = TRUE)
  ours <- total(fit)
  expect_equal(ours$fit, as.vector(t(sums) %*% points$fit$fit), tolerance = 1e-10)
  expect_equal(ours$se.fit^2, unname(diag(t(sums) %*% points$cov %*% sums)), tolerance = 1e-6)
})

test_that("known means, offsets and several variables contribute to sums", {
  known <- gp(z ~ 0 + offset(b), case, ~ a + b, k, "exact", "none", known = list(beta = 0.7))
  expect_equal(unname(predict(known, new, sums = sums)), as.vector(t(sums) %*% predict(known, new)))
  two <- lmc(matern(3/2, range = 0.3), nugget(), sills = list(matrix(c(1, 0.4, 0.4, 0.8), 2), c(0.05, 0.06)))
  several <- gp(cbind(z, w) ~ a, case, ~ a + b, two, "exact", "none")
  points <- predict(several, new, interval = "confidence", cov = TRUE)
  both <- predict(several, new, sums = sums, se.fit = TRUE, interval = "confidence", cov = TRUE)
  expect_equal(both$fit$w.fit, as.vector(t(sums) %*% points$fit$w.fit), tolerance = 1e-10)
  W <- kronecker(diag(2), sums)
  expect_equal(unname(both$cov), unname(t(W) %*% points$cov %*% W), tolerance = 1e-8)
  expect_equal(unname(diag(both$cov)), c(both$fit$z.se.fit, both$fit$w.se.fit)^2, tolerance = 1e-8)
})

test_that("sums are sums of responses, not responses at sums of linear predictors", {
  fit <- fit_by("exact", exp(z) ~ a, transform = "log")
  ours <- predict(fit, new, sums = sums, se.fit = TRUE, interval = "confidence", cov = TRUE)
  expect_equal(ours$fit$fit, as.vector(t(sums) %*% predict(fit, new)), tolerance = 1e-8)
  points <- predict(fit, new, cov = TRUE)$cov
  expect_equal(unname(ours$cov), unname(t(sums) %*% points %*% sums), tolerance = 1e-6)
  expect_equal(ours$fit$se.fit^2, unname(diag(ours$cov)), tolerance = 1e-6)
  counts <- fit_by("vecchia", count ~ a, family = poisson())
  expect_equal(predict(counts, new, sums = sums[, 1]), sum(sums[, 1] * predict(counts, new)), tolerance = 1e-6)
})

test_that("sums over rows with missing values are missing, and polygons are summed by their means", {
  missing <- transform(new, a = replace(a, 3, NA))
  ours <- predict(fit_by("exact"), missing, sums = sums)
  expect_identical(unname(is.na(ours)), c(TRUE, TRUE, TRUE, FALSE))
  blocks <- predict(fit_by("exact"), new, block = c(0.1, 0.1), interval = "confidence", cov = TRUE)
  of_blocks <- total(fit_by("exact"), block = c(0.1, 0.1))
  expect_equal(of_blocks$fit, as.vector(t(sums) %*% blocks$fit$fit), tolerance = 1e-8)
  expect_equal(of_blocks$se.fit^2, unname(diag(t(sums) %*% blocks$cov %*% sums)), tolerance = 1e-6)
})

test_that("errors name invalid sums", {
  fit <- fit_by("exact")
  expect_snapshot(error = TRUE, {
    predict(fit, new, sums = "area")
    predict(fit, new, sums = 1:3)
    predict(fit, new, sums = cbind(1, numeric(25)))
    predict(fit, new, sums = c(NA, 1:24))
    predict(fit, new, sums = sums, interval = "prediction")
  })
})
