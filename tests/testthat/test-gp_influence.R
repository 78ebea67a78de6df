# Leverages, standardised residuals and Cook's distances, against lm(), glm(), dense matrices, and fits that omit an
# observation.

d <- withr::with_seed(1, {
  d <- data.frame(x = runif(40), w = rnorm(40))
  transform(d, y = sin(6 * x) + w + rnorm(40, sd = 0.3), k = rpois(40, exp(1 + 0.3 * w)), b = rbinom(40, 3, 0.6),
            size = rgamma(40, 3, 3 / exp(w)))
})
bare <- function(fit) unname(c(fit))

test_that("influence measures without a field agree with lm() for the same variance", {
  peer <- lm(y ~ w + x, d, weights = rep(1:4, 10))
  fit <- gp(y ~ w + x, d, ~ x, nugget(sigma(peer)^2), weights = rep(1:4, 10), estimate = "none")
  expect_equal(hatvalues(fit), hatvalues(peer), tolerance = 1e-10)
  expect_equal(rstandard(fit), rstandard(peer), tolerance = 1e-10)
  expect_equal(cooks.distance(fit), cooks.distance(peer), tolerance = 1e-10)
})

test_that("influence measures without a field agree with glm()", {
  families <- list(k = poisson(), `cbind(b, 3 - b)` = binomial())
  for (name in names(families)) {
    formula <- reformulate("w", str2lang(name))
    peer <- glm(formula, families[[name]], d)
    fit <- gp(formula, d, ~ x, exponential(1e-10, 0.3), family = families[[name]], estimate = "none")
    expect_equal(hatvalues(fit), hatvalues(peer), tolerance = 1e-4)
    expect_equal(rstandard(fit), rstandard(peer), tolerance = 1e-4)
    expect_equal(cooks.distance(fit), cooks.distance(peer), tolerance = 1e-4)
  }
  # for a link that is not canonical, the observed information is used
  fit <- gp(size ~ w, d, ~ x, exponential(1e-10, 0.3), family = gp_family("Gamma", shape = 3, link = "log"),
            estimate = "none")
  weight <- 3 * d$size / fitted(fit)
  X <- sqrt(weight) * model.matrix(~ w, d)
  expect_equal(hatvalues(fit), diag(X %*% solve(crossprod(X), t(X))), tolerance = 1e-4)
})

test_that("influence measures with a field agree with dense matrices, and with fits that omit an observation", {
  fit <- gp(y ~ w, d, ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none", weights = rep(1:2, 20))
  h <- as.matrix(dist(d$x)) * sqrt(3) / 0.3
  D <- diag(0.1 / rep(1:2, 20))
  K <- (1 + h) * exp(-h) + D
  X <- model.matrix(~ w, d)
  P <- solve(K) - solve(K, X) %*% solve(t(X) %*% solve(K, X), t(solve(K, X)))
  H <- diag(40) - D %*% P
  expect_equal(bare(hatvalues(fit)), unname(diag(H)), tolerance = 1e-10)
  expect_equal(bare(fitted(fit)), as.vector(H %*% d$y), tolerance = 1e-8)
  expect_equal(bare(rstandard(fit)), unname((P %*% d$y)[, 1] / sqrt(diag(P))), tolerance = 1e-10)
  expect_equal(bare(rstandard(fit)), gp_cv(fit)$zscore)
  without <- gp(y ~ w, d[-7, ], ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none", weights = rep(1:2, 20)[-7])
  change <- coef(fit) - coef(without)
  expect_equal(cooks.distance(fit)[[7]], as.numeric(change %*% solve(vcov(fit), change)) / 2, tolerance = 1e-8)
})

test_that("influence measures work with several variables, repeated points, missing values and fits without noise", {
  both <- gp(cbind(y, z) ~ 1, transform(d, z = replace(w, 3, NA)), ~ x, estimate = "none", na.action = na.pass,
             covariance = lmc(matern(3/2, range = 0.3), nugget(), sills = list(diag(2), diag(c(0.1, 0.2)))))
  alone <- gp(y ~ 1, d, ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none")
  expect_equal(hatvalues(both)[, "y"], hatvalues(alone), tolerance = 1e-8)
  expect_identical(unname(which(is.na(hatvalues(both)[, "z"]))), 3L)
  repeated <- gp(y ~ 1, transform(d, x = round(x, 1)), ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none")
  h <- as.matrix(dist(round(d$x, 1))) * sqrt(3) / 0.3
  K <- (1 + h) * exp(-h) + diag(0.1, 40)
  P <- solve(K) - tcrossprod(rowSums(solve(K))) / sum(solve(K))
  expect_equal(bare(hatvalues(repeated)), unname(1 - 0.1 * diag(P)), tolerance = 1e-8)
  gaps <- gp(y ~ 1, transform(d, y = replace(y, 2, NA)), ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none",
             na.action = na.exclude)
  for (f in list(hatvalues, rstandard, cooks.distance)) expect_identical(unname(which(is.na(f(gaps)))), 2L)
  exact <- gp(y ~ 1, d, ~ x, exponential(1, 0.3), estimate = "none")
  expect_equal(bare(hatvalues(exact)), rep(1, 40))
  expect_true(all(is.na(cooks.distance(gp(y ~ 0, d, ~ x, nugget(1), estimate = "none")))))
})

test_that("influence measures by Vecchia's approximation with all neighbours agree with the exact method", {
  exact <- gp(y ~ w, d, ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none", method = "exact")
  near <- gp(y ~ w, d, ~ x, matern(3/2, 1, 0.3) + nugget(0.1), estimate = "none", method = "vecchia", neighbours = 39)
  for (f in list(hatvalues, rstandard, cooks.distance)) expect_equal(f(near), f(exact), tolerance = 1e-6)
})
