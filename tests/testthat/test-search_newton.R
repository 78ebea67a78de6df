# A search from exp(s) for the minimum of `value`, a function of the logarithm of one parameter.
search_of_one <- function(s, value, slope, maxit = 100, bends = 2, ...) {
  parameters <- data.frame(name = "r", log = TRUE, kind = "range", fixed = FALSE, lower = exp(-100), upper = exp(100))
  likelihood <- function(theta) {
    at <- log(theta)
    kernops:::new_state(list(value = value(at)), gradient = \() slope(at) / theta,
                        information = \(profiled) matrix(bends / theta^2), has_value = !is.na(value(at)), ...)
  }
  kernops:::information_search(exp(s), likelihood, list(parameters = parameters), FALSE, gp_control(maxit = maxit))
}

test_that("the search makes at most the allowed number of steps, and reports an early end", {
  value <- \(s) (s - 50)^2
  slope <- \(s) 2 * (s - 50)
  found <- search_of_one(0, value, slope)
  expect_equal(log(found$theta), 50, tolerance = 1e-3)
  expect_identical(found$convergence, 0L)
  early <- search_of_one(0, value, slope, maxit = 35)
  expect_equal(log(early$theta), 35)
  expect_identical(early$convergence, 1L)
  expect_identical(search_of_one(0, value, \(s) -slope(s))[c("message", "convergence")],
                   list(message = "no better step found", convergence = 1L))
})

test_that("a search does not move to points at which the derivative is NaN", {
  found <- search_of_one(0, \(s) (s - 50)^2, \(s) if (s > 20) NaN else 2 * (s - 50))
  expect_lte(log(found$theta), 20)
  expect_identical(found$convergence, 1L)
  expect_match(found$message, "singular")
})

test_that("a search continues where the information has no curvature", {
  found <- search_of_one(0, \(s) (s - 50)^2, \(s) 2 * (s - 50), bends = 0)
  expect_equal(log(found$theta), 50, tolerance = 1e-3)
  expect_identical(found$convergence, 0L)
})

test_that("a search ends if rounding errors exceed the possible gain, and reports the reason", {
  search <- search_of_one(40, \(s) (s - 50)^2, \(s) 2 * (s - 50), rounding = 1)
  expect_lt(abs(log(search$theta) - 50), 2)
  expect_gt(abs(log(search$theta) - 50), 1e-6)
  expect_identical(search[c("convergence", "rounding")], list(convergence = 0L, rounding = 1))

  # random errors of this size in the entries change the log-determinant by the expected loss
  withr::local_seed(4)
  n <- 300
  K <- 50 * exp(-as.matrix(dist(runif(n))))
  A <- K + diag(0.05, n)
  change <- replicate(20, {
    E <- matrix(0, n, n)
    E[upper.tri(E)] <- 50 * 2^-23 * 1e3 * rnorm(n * (n - 1) / 2)
    as.numeric(determinant(A + E + t(E))$modulus - determinant(A)$modulus)
  })
  expected <- kernops:::rounding_loss(50, sum(diag(solve(A))), "float32") * 1e6
  expect_lt(abs(log(-mean(change) / expected)), 0.5)
})

test_that("a step that meets a bound follows the ridge along the bound", {
  # values in a valley along (1, -3), against the minimum of the quadratic function on a grid
  across <- c(3, 1) / sqrt(10)
  along <- c(1, -3) / sqrt(10)
  h <- 1e4 * tcrossprod(across) + tcrossprod(along)
  gradient <- as.vector(-h %*% (3 * along + 0.1 * across))
  s <- c(0.5, 0)
  step <- kernops:::newton_step(gradient, h, s, c(-9, -9), c(1, 9), reach = 4)
  value <- \(move) sum(gradient * move) + sum(move * (h %*% move)) / 2
  seen <- expand.grid(seq(-1, 0.5, 0.01), seq(-4, 4, 0.01))
  expect_lte(value(step), min(apply(seen, 1, value)) + 1)
  expect_equal(step[[1]], 0.5)
  free <- kernops:::newton_step(gradient, h, s, c(-9, -9), c(9, 9), reach = 4)
  expect_equal(free, as.vector(-solve(h, gradient)), tolerance = 0.02)
  expect_lt(value(step), value(pmin(free, 0.5)) - 100)
})

test_that("a search whose end is clearly worse than its starting value returns the starting value", {
  # the slope leads to s = 50, although the value is smallest at s = 0
  follow <- \(error) search_of_one(1, \(s) NA_real_, \(s) 2 * (s - 50),
                                   estimate = \(theta) list(value = log(theta)^2 / 100, logdet_error = error))
  expect_equal(log(follow(1)$theta), 1)
  expect_identical(follow(1)$convergence, 1L)
  expect_equal(log(follow(10)$theta), 50, tolerance = 1e-3)
  expect_identical(follow(10)$convergence, 0L)
  # with steps of length one, the search would need 49 steps
  expect_lt(follow(10)$evaluations, 20)

  withr::local_seed(1)
  d <- data.frame(x = runif(40))
  d$y <- sin(6 * d$x)
  exact <- function(theta) {
    oracle_likelihood(theta[1] * exp(-as.matrix(dist(d$x))^2 / 2 / theta[2]^2), d$y, matrix(1, 40))$value / -2
  }
  expect_warning(fit <- gp(y ~ 1, d, ~ x, squared_exponential(), method = "iterative"), class = "kernops_not_converged",
                 "probes")
  expect_gt(exact(fit$theta), 30)
})

test_that("a search computes the information once at each point", {
  computed <- 0
  parameters <- data.frame(name = "r", log = TRUE, kind = "range", fixed = FALSE, lower = 1e-9, upper = 1e9)
  likelihood <- function(theta) {
    kernops:::new_state(list(value = log(theta)^2), gradient = \() 2 * log(theta) / theta, information = \(profiled) {
      computed <<- computed + 1
      matrix(2 / theta^2)
    })
  }
  found <- kernops:::information_search(1, likelihood, list(parameters = parameters), FALSE, gp_control())
  expect_identical(found$evaluations, 1L)
  expect_identical(computed, 1)
  expect_equal(found$information, matrix(2))
})

test_that("a variance is not raised at the end of a search if a previous search reports that raising failed", {
  # -2 log-likelihood that increases with the variance n, although the slope at the bound promises a large improvement
  value <- \(n) 3 * log1p(n / 1e-10)
  slope <- \(n) if (n > 1e-11) 3 / (1e-10 + n) else -1e7
  parameters <- data.frame(name = c("v", "n"), kind = "variance", log = TRUE, fixed = FALSE, lower = 1e-11, upper = 1e6)
  raised <- 0
  search <- function(theta, ...) {
    raised <<- 0
    model <- kernops:::covariance_model(constant() + nugget(), 1)
    model$parameters[names(parameters)] <- parameters
    kernops:::information_search(theta, function(theta) {
      raised <<- raised + (theta[[2]] > 5e-3)
      kernops:::new_state(
        list(value = log(theta[[1]])^2 + value(theta[[2]])),
        gradient = \() c(2 * log(theta[[1]]) / theta[[1]], slope(theta[[2]])),
        information = \(profiled) diag(c(2, 3 * theta[[2]] / (1e-10 + theta[[2]])) / theta^2)
      )
    }, c(model, list(sites = matrix(0))), FALSE, c(gp_control(), list(...)))
  }
  first <- search(c(1, 1e-11))
  expect_equal(first$theta[[2]], 1e-11)
  expect_identical(first$lifted, 2L)
  expect_gt(raised, 1) # larger nuggets are evaluated at the start and at the end
  again <- search(first$theta)
  expect_gt(raised, 1)
  expect_lt(search(first$theta, lifted = first$lifted)$evaluations, again$evaluations)
  expect_identical(raised, 1) # only at the start
})
