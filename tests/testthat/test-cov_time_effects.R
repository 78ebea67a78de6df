# Effects of a time index, against dense matrices in plain R.

yearly_case <- function(n) {
  d <- data.frame(a = runif(n), b = runif(n), year = sample(2003:2012, n, TRUE))
  d$year[1:10] <- 2003:2012
  transform(d, y = 1 + sin(5 * a) + cos(year) + rnorm(n, sd = 0.2))
}
effects_of_time <- list(
  list(term = \() ar1(~ year, 0.8, 3), K = \(t) 0.8 * exp(-abs(outer(t, t, "-")) / 3)),
  list(term = \() random_walk(~ year, 0.5), K = \(t) 0.5 * outer(t - 2003, t - 2003, \(s, t) {
    ifelse(s * t < 0, 0, pmin(abs(s), abs(t)))
  }))
)
field <- \(d) 2 * exp(-as.matrix(dist(d[c("a", "b")])) / 0.4)

test_that("kriging and forecasts agree with dense matrices, by each method", {
  withr::local_seed(1)
  d <- yearly_case(60)
  new <- data.frame(a = runif(6), b = runif(6), year = c(2003, 2007, 2012, 2013, 2015.5, 2001))
  all <- rbind(d[names(new)], new)
  for (case in effects_of_time) {
    K <- field(all) + case$K(all$year)
    expected <- oracle_kriging(K[1:60, 1:60] + diag(0.1, 60), K[1:60, 61:66], diag(K)[61:66], d$y, matrix(1, 60),
                               matrix(1, 6))
    expect_kriging_by(c("exact", "iterative", "vecchia"), y ~ 1, d, ~ a + b,
                      exponential(2, 0.4) + case$term() + nugget(0.1), new, expected)
  }
})

test_that("a product of a time effect and a field is a field for each time, correlated over time", {
  withr::local_seed(6)
  d <- yearly_case(40)
  K <- field(d) * exp(-abs(outer(d$year, d$year, "-")) / 3) + diag(0.1, 40)
  one <- rep(1, 40)
  beta <- sum(solve(K, d$y)) / sum(solve(K, one))
  for (method in c("exact", "vecchia")) {
    fit <- gp(y ~ 1, d, ~ a + b, exponential(2, 0.4) * ar1(~ year, 1, 3) + nugget(0.1), method, estimate = "none",
              neighbours = 39)
    expect_equal(unname(coef(fit)), beta, tolerance = 1e-8)
    expect_equal(-2 * as.numeric(logLik(fit)),
                 40 * log(2 * pi) + c(determinant(K)$modulus) + sum((d$y - beta) * solve(K, d$y - beta)),
                 tolerance = 1e-8)
  }
})

test_that("the gradient of a model with time effects and Vecchia's approximation agrees with finite differences", {
  withr::local_seed(2)
  d <- yearly_case(80)
  both <- exponential(2, 0.4) + ar1(~ year, 0.8, 3) + random_walk(~ year, 0.5) + nugget(0.1)
  fit <- gp(y ~ 1, d, ~ a + b, both, "vecchia", estimate = "none", neighbours = 12)
  likelihood <- kernops:::likelihood_for(fit$data, fit$model, fit$how)
  theta <- unname(fit$theta)
  gradient <- likelihood$evaluate(theta, search = TRUE)$gradient()
  expected <- central_difference(\(t) likelihood$evaluate(t)$value, theta, h = 2^-8 * 0.05)
  expect_close(matrix(gradient, 1), expected, tolerance = 1e-5)
})

test_that("estimates and forecasts agree with arima() for a series without a field", {
  withr::local_seed(3)
  z <- as.vector(stats::arima.sim(list(ar = 0.7), 120))
  d <- data.frame(z = z, day = as.Date("2026-01-01") + 0:119)
  fit <- gp(z ~ 1, d, covariance = ar1(~ day) + nugget(1e-8, fixed = "variance"))
  expected <- stats::arima(z, c(1, 0, 0), method = "ML")
  range <- coef(fit, "covariance")[["ar1(day).range"]]
  expect_equal(exp(-1 / range), unname(coef(expected)[["ar1"]]), tolerance = 1e-3)
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(expected)), tolerance = 1e-4)
  ahead <- predict(fit, data.frame(day = as.Date("2026-01-01") + 120:124))
  expect_equal(unname(ahead), as.vector(predict(expected, 5)$pred), tolerance = 1e-3)
})

test_that("families have effects of time, and draws have the moments of the effects", {
  withr::local_seed(4)
  d <- yearly_case(60)
  d$count <- rpois(60, exp(1 + cos(d$year) / 2))
  counts <- gp(count ~ 1, d, ~ a, exponential(0.3, 0.5) + random_walk(~ year), family = poisson())
  ahead <- predict(counts, data.frame(a = 0.5, year = 2013:2016), type = "link", se.fit = TRUE)
  expect_true(all(diff(ahead$se.fit) > 0))
  expect_equal(diff(ahead$fit), rep(0, 3), tolerance = 1e-8, ignore_attr = TRUE)
  fit <- gp(y ~ 1, d, ~ a, exponential(1, 0.5) + ar1(~ year, 0.8, 3) + nugget(0.1), "vecchia", estimate = "none",
            neighbours = 59)
  at <- data.frame(a = 0.5, year = c(2005, 2014, 2020))
  draws <- simulate(fit, 2000, seed = 1, newdata = at)
  expected <- predict(fit, at, se.fit = TRUE, interval = "confidence")
  expect_lt(max(abs(rowMeans(draws) - expected$fit) / expected$se.fit), 5 / sqrt(2000))
  expect_equal(unname(apply(draws, 1, stats::sd)), unname(expected$se.fit), tolerance = 0.08)
})

test_that("formulas and indices that effects of time do not support are refused", {
  withr::local_seed(5)
  d <- transform(yearly_case(20), f = rep(letters[1:4], 5))
  expect_snapshot(error = TRUE, {
    ar1(~ 1)
    ar1(~ 1 | year)
    ar1(~ year, range = -1)
    gp(y ~ 1, d, ~ a, matern() + random_walk(~ f))
  })
})
