# Surrogate models that can be written as covariances, such as an autoregressive model of two computer codes (Kennedy
# and O'Hagan 2000).

test_that("an accurate computer model is a multiple of a cheap computer model plus a field", {
  d <- rbind(data.frame(x = seq(0, 1, 0.1), z = 0), data.frame(x = c(0, 0.4, 0.6, 1), z = 1))
  accurate <- \(x) (6 * x - 2)^2 * sin(12 * x - 4)
  d$y <- with(d, ifelse(z == 1, accurate(x), accurate(x) / 2 + 10 * (x - 0.5) - 5))
  model <- \(a, ...) covariance("(1 + a * Elem(x, 1)) * (1 + a * Elem(y, 1))", list(a = a))
  given <- model(0.7) * squared_exponential(2, 0.3, dims = 1) +
    linear(1.5, dims = 2) * squared_exponential(1, 0.6, dims = 1)
  fit <- gp(y ~ z, d, ~ x + z, given, estimate = "none")
  k <- \(x, v, range) v * exp(-outer(x, x, `-`)^2 / (2 * range^2))
  factor <- ifelse(d$z == 1, 1.7, 1)
  K <- outer(factor, factor) * k(d$x, 2, 0.3) + outer(d$z, d$z) * k(d$x, 1.5, 0.6)
  expect_equal(fit$loglik, -oracle_likelihood(K, d$y, cbind(1, d$z))$value / 2, tolerance = 1e-6)
  field <- squared_exponential(dims = 1)
  fit <- gp(y ~ z, d, ~ x + z, model(0.5) * field + linear(dims = 2) * field, starts = 1)
  expect_equal(coef(fit, "covariance")[["covariance.a"]], 1, tolerance = 0.01)
  grid <- data.frame(x = seq(0, 1, 0.01), z = 1)
  expect_lt(max(abs(predict(fit, grid) - accurate(grid$x))), 0.5)
})
