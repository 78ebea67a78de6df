# The choice of `method = "auto"` between Vecchia's approximation and Vecchia-inducing-points (VIF) approximations.

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

test_that("smooth fields and many inputs use inducing points if neighbours do not suffice", {
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  expect_equal(chosen(draws_of(400, 2, smooth), smooth)$method, "vif")
  many <- matern(3/2, 1, 8) + nugget(0.001)
  expect_equal(chosen(draws_of(400, 6, many), many)$method, "vif")
  free <- chosen(draws_of(400, 2, smooth), squared_exponential() + nugget(), estimate = "ML")
  expect_equal(c(free$method, free$how$method), c("vif", "vif"))
  expect_output(print(free), "vif")
})

test_that("other fits use Vecchia's approximation", {
  rough <- exponential(1, 0.2) + nugget(0.01)
  expect_equal(chosen(draws_of(400, 2, rough), rough)$method, "vecchia")
  noisy <- matern(5/2, 1, 0.1) + nugget(1) # a smooth field for which neighbours suffice
  expect_equal(chosen(draws_of(400, 2, noisy), noisy)$method, "vecchia")
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  data <- draws_of(400, 2, smooth)
  expect_equal(chosen(data, smooth, "vecchia")$method, "vecchia")
  data$y <- rpois(400, exp(data$y))
  expect_equal(chosen(data, squared_exponential(1, 0.4), family = poisson())$method, "vecchia")
})

test_that("the automatic fit agrees with a fit by the chosen method", {
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

test_that("neighbours are added if only a larger number meets neighbour_tol, unless the user sets the number", {
  data <- draws_of(400, 2, matern(5/2, 1, 0.3) + nugget(0.01))
  fit_with <- function(..., data = NULL) {
    gp(y ~ 0, data, ~ V1 + V2, matern(5/2, 1, 0.3) + nugget(0.01), estimate = "none", exact_limit = 100, ...)
  }
  m <- function(...) fit_with(..., data = data)$vecchia$m
  expect_equal(m(neighbour_tol = 1), 60)
  expect_equal(m(neighbour_tol = 2e-5), 120)
  expect_equal(m(neighbour_tol = 2e-5, neighbours = 20), 20)
  expect_equal(m(neighbour_tol = 2e-5, neighbours = "auto"), 120)
  fit <- fit_with(neighbour_tol = 2e-5, data = data)
  expect_output(print(fit), "120 (maxmin)", fixed = TRUE)
  expect_equal(fit$loglik, fit_with(method = "vecchia", neighbours = 120, data = data)$loglik)
  expect_equal(update(fit, neighbour_tol = 2e-5)$vecchia$m, 120)
})

test_that("VIF is a candidate only if its factors fit into memory", {
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  fit <- gp(y ~ 0, draws_of(200, 2, smooth), ~ V1 + V2, smooth, "vecchia", "none", inducing = 50)
  methods <- \(largest) vapply(kernops:::neighbour_candidates(fit$data, fit$model, fit$how, largest = largest),
                               `[[`, "", "method")
  expect_equal(methods(200 * 50), c("vecchia", "vecchia", "vif"))
  expect_equal(methods(200 * 50 - 1), c("vecchia", "vecchia"))
})

test_that("for a model with random effects, the method is chosen by the field alone", {
  withr::local_seed(8)
  d <- data.frame(matrix(runif(5 * 500), 500), g = sample(1:8, 500, TRUE))
  d$z <- sin(3 * d$X1) + d$X2^2 + d$X3 * d$X4 + rnorm(8)[d$g] + rnorm(500, sd = 0.05)
  smooth <- matern(5/2, 5, 3) + random_effect(~ 1 | g, 1) + nugget(0.0025)
  auto <- function(...) gp(z ~ 1, d, ~ X1 + X2 + X3 + X4 + X5, smooth, exact_limit = 200, inducing = 60, ...)
  fit <- auto()
  expect_identical(fit$method, "vif")
  exact <- update(fit, method = "exact")
  expect_lt(abs(fit$loglik - exact$loglik), 1)
  expect_true(auto(neighbour_tol = 1)$method == "vecchia")
  # noise alone always uses Vecchia's approximation
  expect_identical(gp(z ~ 1, d, covariance = random_effect(~ 1 | g) + nugget(), exact_limit = 50)$method, "vecchia")
  # a fit with the chosen method and number of neighbours is the same
  chosen <- auto(neighbour_tol = 2e-3)
  expect_equal(chosen$loglik, auto(method = chosen$method, neighbours = chosen$vecchia$m)$loglik, tolerance = 1e-4)
})

# The mean of log(sd / exact sd) over the conditional standard deviations, by Cholesky factors.
oracle_loss <- function(K, neighbours) {
  exact <- diag(chol(K))
  sd <- vapply(seq_along(exact), \(i) {
    s <- neighbours[[i]]
    if (!length(s)) return(sqrt(K[i, i]))
    sqrt(K[i, i] - sum(K[i, s] * solve(K[s, s], K[s, i])))
  }, 0)
  mean(log(sd / exact))
}

test_that("the expected loss agrees with dense matrices, with and without inducing points", {
  u <- withr::with_seed(2, matrix(runif(160), 80))
  data <- data.frame(a = u[, 1], b = u[, 2], y = sin(9 * u[, 1]))
  fit <- gp(y ~ 1, data, ~ a + b, squared_exponential(1.2, 0.4) + nugget(0.01), "vecchia", "none")
  u <- unname(fit$data$u)
  u <- u[gp_neighbours(u / 0.4, 1)$order, ]
  model <- fit$model
  theta <- unname(fit$theta)
  sets <- kernops:::ordered_observations(fit$data, model, theta, fit$how, kernops:::orthonormal_trend(fit$data))
  loss <- kernops:::sampled_loss(sets, model, kernops:::set_operators(model), theta)
  K <- 1.2 * exp(-as.matrix(dist(u))^2 / (2 * 0.4^2))
  Z <- K[1:15, 1:15] + 1.2e-12 * diag(15)
  residual <- K - K[, 1:15] %*% solve(Z, K[1:15, ])
  for (m in c(1, 6)) {
    near <- earlier_neighbours(u, m)
    expect_equal(loss(m), oracle_loss(K + diag(0.01, 80), near), tolerance = 1e-7)
    expect_equal(loss(m, 15), oracle_loss(residual + diag(0.01, 80), near), tolerance = 1e-5)
  }
  expect_equal(c(loss(79), loss(79, 15)), c(0, 0))
  expect_equal(kernops:::sampled_loss(sets, model, kernops:::set_operators(model), theta, count = 40)(6), loss(6),
               tolerance = 0.5)
})

test_that("for many observations, the change from doubling the neighbours agrees with the expected loss", {
  limit <- kernops:::compared_points
  withr::defer(utils::assignInNamespace("compared_points", limit, "kernops"))
  utils::assignInNamespace("compared_points", 100, "kernops")
  smooth <- squared_exponential(1, 0.4) + nugget(0.001)
  data <- draws_of(400, 2, smooth)
  fit <- gp(y ~ 0, data, ~ V1 + V2, smooth, "vif", "none", neighbours = 5, inducing = 10)
  model <- fit$model
  theta <- unname(fit$theta)
  sets <- kernops:::ordered_observations(fit$data, model, theta, fit$how, kernops:::orthonormal_trend(fit$data))
  loss <- kernops:::sampled_loss(sets, model, kernops:::set_operators(model), theta)
  expect_equal(fit$vecchia$changes[["loglik"]], 400 * (loss(5, 10) - loss(10, 20)), tolerance = 1e-6)
  expect_equal(is.na(fit$vecchia$changes), c(loglik = FALSE, estimates = TRUE, predictions = FALSE, se = FALSE))
  expect_output(print(fit), "poor")
})

test_that("for many inputs, new points get more neighbours until predictions hardly change, or up to 240 neighbours", {
  rough <- matern(3/2, 1, 1) + nugget(1e-3)
  data <- draws_of(400, 4, rough)
  for (method in c("vif", "vecchia")) {
    fit <- gp(y ~ 0, data, ~ V1 + V2 + V3 + V4, rough, method, "none", neighbours = 10, inducing = 20)
    sites <- as.data.frame(kernops:::certified_sites(fit, 200)$u + rep(fit$center, each = 200))
    names(sites) <- paste0("V", 1:4)
    change <- function(m) {
      answers <- lapply(c(m, 2 * m), \(m) predict(fit, sites, se.fit = TRUE, interval = "confidence",
                                                  control = list(neighbours = m)))
      c(sqrt(mean(((answers[[1]]$fit - answers[[2]]$fit) / answers[[2]]$se.fit)^2)) / 0.1,
        sqrt(mean(log(answers[[1]]$se.fit / answers[[2]]$se.fit)^2)) / 0.03)
    }
    m <- fit$vecchia$new %||% fit$vecchia$local
    expect_gt(m, 20)
    expect_lte(m, 240)
    if (m > fit$vecchia$local || method == "vif") expect_gt(max(change(m / 2)), 1)
    expect_true(2 * m > 240 || max(change(m)) <= 1)
    expect_output(print(fit), paste(m, "for predictions"))
  }
})
