# The method that `method = "auto"` chooses between Vecchia's approximation and VIF.

draws_of <- function(n, d, covariance, seed = 1) {
  withr::local_seed(seed)
  u <- as.data.frame(matrix(runif(n * d), n))
  u$y <- rnorm(n)
  fit <- gp(y ~ 0, u, reformulate(setdiff(names(u), "y")), covariance, "exact", "none")
  u$y <- simulate(fit, 1, seed, conditional = FALSE, noise = TRUE)[[1]]
  u
}
chosen <- function(data, covariance, method = "auto", estimate = "none", ...) {
  coords <- reformulate(setdiff(names(data), "y"))
  gp(y ~ 0, data, coords, covariance, method, estimate, exact_limit = 100, neighbours = 10, inducing = 60, ...)
}

test_that("smooth fields and many inputs take inducing points where neighbours are not enough", {
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  expect_equal(chosen(draws_of(400, 2, smooth), smooth)$method, "vif")
  many <- matern(3/2, 1, 8) + nugget(0.001)
  expect_equal(chosen(draws_of(400, 6, many), many)$method, "vif")
  free <- chosen(draws_of(400, 2, smooth), squared_exponential() + nugget(), estimate = "ML")
  expect_equal(c(free$method, free$how$method), c("vif", "vif"))
  expect_output(print(free), "vif")
})

test_that("other fits keep Vecchia's approximation", {
  rough <- exponential(1, 0.2) + nugget(0.01)
  expect_equal(chosen(draws_of(400, 2, rough), rough)$method, "vecchia")
  noisy <- matern(5/2, 1, 0.1) + nugget(1) # smooth, but neighbours are enough
  expect_equal(chosen(draws_of(400, 2, noisy), noisy)$method, "vecchia")
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  data <- draws_of(400, 2, smooth)
  expect_equal(chosen(data, smooth, "vecchia")$method, "vecchia")
  data$y <- rpois(400, exp(data$y))
  expect_equal(chosen(data, squared_exponential(1, 0.4), family = poisson())$method, "vecchia")
})

test_that("the chosen fit is that of its method", {
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  data <- draws_of(400, 2, smooth)
  free <- squared_exponential() + nugget()
  auto <- chosen(data, free, estimate = "ML")
  asked <- chosen(data, free, "vif", estimate = "ML")
  expect_equal(auto$theta, asked$theta, tolerance = 1e-6)
  expect_equal(auto$loglik, asked$loglik, tolerance = 1e-8)
  new <- data.frame(V1 = c(0.2, 0.7), V2 = c(0.5, 0.1))
  expect_equal(predict(auto, new), predict(asked, new), tolerance = 1e-5)
})
