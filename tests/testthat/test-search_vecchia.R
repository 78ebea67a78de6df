# Estimation, prediction with noise and simulation, by Vecchia's approximation.

# A Matern 3/2 field with range 0.1 on the unit square, and its observations.
field_case <- function(n, new, noise, seed = 1) {
  withr::local_seed(seed)
  u <- matrix(runif(2 * (n + new)), n + new, dimnames = list(NULL, c("a", "b")))
  h <- sqrt(3) * as.matrix(dist(u)) / 0.1
  f <- drop(crossprod(chol((1 + h) * exp(-h) + diag(1e-10, n + new)), rnorm(n + new)))
  data.frame(u, f, z = f + rnorm(n + new, sd = sqrt(noise)), new = seq_len(n + new) > n)
}

test_that("predictions of noisy data agree with the exact method", {
  for (noise in c(5, 0.05)) {
    case <- field_case(1500, 300, noise)
    new <- case[case$new, ]
    by <- \(method) predict(gp(z ~ 1, case[!case$new, ], ~ a + b, matern(3/2, 1, 0.1) + nugget(noise), method, "none"),
                            new, se.fit = TRUE, interval = "confidence")
    exact <- by("exact")
    at <- by("vecchia")
    rmse <- \(p) sqrt(mean((p$fit - new$f)^2))
    expect_lt(abs(rmse(at) / rmse(exact) - 1), 0.02)
    expect_lt(max(abs(at$se.fit / exact$se.fit - 1)), 0.05)
  }
})

test_that("new points have more neighbours if observations are noisy, or as many as requested", {
  local <- \(noise, m = NULL) {
    case <- field_case(1500, 0, noise)
    gp(z ~ 1, case, ~ a + b, exponential(1, 0.3) + nugget(noise), "vecchia", "none", control = list(neighbours = m))
  }
  expect_gt(local(20)$vecchia$local, local(0.01)$vecchia$local)
  expect_equal(local(0.01, 10)$vecchia$local %% 20, 0)
  fit <- local(1)
  new <- data.frame(a = 0.52, b = 0.48)
  near <- \(m) {
    predict(fit, new, se.fit = TRUE, interval = "confidence", control = list(neighbours = m), joint = FALSE)
  }
  rows <- order((fit$parts$u[, 1] - 0.52)^2 + (fit$parts$u[, 2] - 0.48)^2)[1:3]
  K <- exp(-as.matrix(dist(rbind(fit$parts$u[rows, ], c(0.52, 0.48)))) / 0.3)
  weights <- solve(K[1:3, 1:3] + diag(3), K[1:3, 4])
  expect_equal(near(3)$fit, fit$beta[[1]] + sum(weights * (fit$parts$y[rows] - fit$beta[[1]])), tolerance = 1e-10)
  variance <- 1 - sum(weights * K[1:3, 4]) + (1 - sum(weights))^2 * vcov(fit)[[1]]
  expect_equal(near(3)$se.fit, sqrt(variance), tolerance = 1e-10)
})

test_that("standard errors of other methods may be computed by local kriging", {
  case <- field_case(600, 100, 0.1)
  new <- case[case$new, ]
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ a, case[!case$new, ], ~ a + b, matern(3/2, 1, 0.1) + nugget(0.1), method, "none")
    for (interval in c("confidence", "prediction")) {
      own <- predict(fit, new, se.fit = TRUE, interval = interval)
      local <- predict(fit, new, se.fit = TRUE, interval = interval, se = "local")
      expect_identical(local$fit, own$fit)
      expect_equal(local$se.fit, own$se.fit, tolerance = 0.02)
    }
  }
  expect_error(predict(fit, new, se.fit = TRUE, se = "near"), class = "kernops_input_error")
})

test_that("estimates are within half a standard error of the exact estimates", {
  case <- field_case(1200, 0, 0.1)
  for (estimate in c("ML", "REML")) {
    by <- \(method) gp(z ~ a, case, ~ a + b, matern(3/2) + nugget(), method, estimate)
    exact <- by("exact")
    fit <- by("vecchia")
    expect_lt(max(abs(log(fit$theta / exact$theta)) / sqrt(diag(kernops:::covariance_vcov(exact)))), 0.5)
    expect_equal(fit$loglik, exact$loglik, tolerance = 0.005)
    expect_equal(vcov(fit), vcov(exact), tolerance = 0.1)
    expect_equal(unname(diag(vcov(fit, "covariance")) / diag(vcov(exact, "covariance"))), c(1, 1, 1), tolerance = 0.3)
  }
})

test_that("neighbours are searched with the estimated ranges", {
  case <- field_case(900, 0, 0.01)
  case$b <- 20 * case$b # the second range is 2, 20 times the first
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2, ard = TRUE) + nugget(), "vecchia", control = gp_control(neighbours = 15))
  expect_equal(unname(fit$theta[3] / fit$theta[2]), 20, tolerance = 0.3)
  how <- list(reml = FALSE, control = gp_control())
  likelihood <- kernops:::vecchia_likelihood(fit$data, fit$model, how)
  first <- likelihood$evaluate(fit$theta)$value
  expect_false(likelihood$outdated(fit$theta * c(2, 3, 3, 0.1)))
  wide <- fit$theta * c(1, 3, 1, 1)
  expect_true(likelihood$outdated(wide))
  before <- likelihood$evaluate(wide)$value
  likelihood$regroup(wide)
  expect_false(likelihood$outdated(wide))
  anew <- kernops:::vecchia_likelihood(fit$data, fit$model, how)
  expect_identical(likelihood$evaluate(wide)$value, anew$evaluate(wide)$value)
  expect_false(identical(likelihood$evaluate(wide)$value, before))
  again <- gp(z ~ 1, case, ~ a + b, fit$covariance, "vecchia", "none", control = gp_control(neighbours = 15))
  expect_lt(abs(fit$loglik - again$loglik), 3)
  exact <- gp(z ~ 1, case, ~ a + b, matern(3/2, ard = TRUE) + nugget(), "exact")
  expect_lt(max(abs(log(fit$theta / exact$theta)) / sqrt(diag(kernops:::covariance_vcov(exact)))), 1)
})

test_that("with more neighbours, fits are closer to the exact process; \"auto\" finds a sufficient number", {
  case <- field_case(600, 0, 0.05)
  by <- \(m) gp(z ~ 1, case, ~ a + b, matern(3/2, 1, 0.1) + nugget(0.05), "vecchia", "none",
                control = gp_control(neighbours = m))
  expected <- kernops:::covariance_matrix(by(1)$model)(list(theta = by(1)$theta, x = by(1)$data$u, y = by(1)$data$u))
  diag(expected) <- diag(expected) + 0.05
  divergence <- vapply(c(2, 5, 10, 20, 40, 80), \(m) {
    sets <- kernops:::observation_sets(by(m), m)
    # the trace term of the Kullback-Leibler divergence is n, and cancels with -n
    2 * sum(log(sets$sd)) - as.numeric(determinant(expected)$modulus)
  }, 0)
  expect_true(all(diff(divergence) < 0))
  expect_gt(min(divergence), 0)
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2) + nugget(), "vecchia",
            control = gp_control(neighbours = "auto", neighbour_tol = 1e-4))
  expect_lt(abs(fit$vecchia$changes[["loglik"]]), 0.1)
  expect_gt(fit$vecchia$m, 30)
})

test_that("the change from doubling the neighbours is estimated from a sample of the points", {
  case <- field_case(1000, 0, 0.05)
  for (formula in c(z ~ 0, z ~ a)) {
    fit <- gp(formula, case, ~ a + b, matern(3/2, 1, 0.1) + nugget(0.05), "vecchia", "none",
              control = list(neighbours = 8))
    likelihood <- kernops:::vecchia_likelihood(fit$data, fit$model, fit$how)
    state <- likelihood$evaluate(fit$theta)
    sets <- kernops:::vecchia_sets(fit$data, fit$model, fit$theta, 8, fit$how, kernops:::orthonormal_trend(fit$data))
    change <- \(some) kernops:::change_of_some(sets, kernops:::set_operators(fit$model), fit$model, fit$theta,
                                               state$contrast, c(8L, 16L), some)
    gain <- \(some) change(some)$loglik
    exact <- likelihood$doubled(fit$theta, state)$loglik
    expect_equal(gain(1:1000), exact, tolerance = if (ncol(fit$data$x)) 0.1 else 1e-9)
    halves <- c(gain(seq(1, 999, 2)), gain(seq(2, 1000, 2)))
    expect_equal(mean(halves), gain(1:1000), tolerance = 1e-9)
    expect_lt(max(abs(halves - exact)), 10)
  }
})

test_that("for several variables, each prediction site has one variable and lies between the observations", {
  withr::local_seed(7)
  sample <- data.frame(a = runif(60), b = runif(60))
  sample$y <- sin(4 * sample$a) + rnorm(60, sd = 0.1)
  sample$z <- replace(cos(4 * sample$b), 1:20, NA)
  two <- lmc(matern(3/2, range = 0.3), nugget(), sills = list(matrix(c(1, 0.4, 0.4, 0.8), 2), c(0.05, 0.06)))
  fit <- gp(cbind(y, z) ~ a, sample, ~ a + b, two, "vecchia", "none", control = gp_control(neighbours = 8))
  near <- kernops:::neighbour_coordinates(fit$model, fit$theta, fit$data$u)
  sites <- kernops:::prediction_sites(fit$data$u, near, fit$model, 20)
  expect_setequal(sites[, 3], c(0, 1))
  expect_true(all(sites[, 4:5] == 0)) # these columns are 0 for sites that are not observations
  gaps <- sqrt(outer(sites[, 1], fit$data$u[, 1], "-")^2 + outer(sites[, 2], fit$data$u[, 2], "-")^2)
  expect_gt(min(gaps), 0)
  # certify() compares predictions of each variable with the trend of this variable
  certified <- kernops:::certified_sites(fit, 20)
  expect_setequal(certified$variable, 1:2)
  expect_identical(certified$x[, 1] == 1, certified$variable == 1)
  shown <- certify(fit, sites = 10)$predictions
  expect_setequal(shown$variable, c("y", "z"))
  # dense kriging
  exact <- gp(cbind(y, z) ~ a, sample, ~ a + b, two, "exact", "none")
  expect_equal(certify(exact, sites = 10)$predictions$fit, shown$exact, tolerance = 0.05)
})

test_that("a nugget is estimated as zero only if searches from positive nuggets end at zero", {
  for (seed in 1:4) {
    case <- field_case(300, 0, c(1e-3, 0.02)[seed %% 2 + 1], seed)
    fitted <- \(start) suppressWarnings(gp(z ~ 1, case, ~ a + b, matern(1/2) + start, "vecchia"))$loglik
    best <- fitted(nugget())
    for (positive in c(0.01, 0.1, 0.5)) expect_gt(best, fitted(nugget(positive)) - 0.05)
  }
})

test_that("the search on a part of many observations starts from the optimum of a smaller part", {
  d <- withr::with_seed(1, data.frame(a = runif(20100), b = runif(20100), count = rpois(20100, 3)))
  fit <- gp(count ~ 1, d, ~ a + b, exponential(0.1, 0.05), "vecchia", "none", family = poisson(), neighbours = 5)
  model <- fit$outer
  model$parameters$fixed[] <- TRUE
  sizes <- NULL
  sample_rows <- function(data, size) {
    sizes <<- c(sizes, nrow(data$u))
    seq(nrow(data$u), by = -1, length.out = size)
  }
  target <- kernops:::search_target(list(subset_sizes = \() c(dense = 0, same = 20000)), fit$response, model, fit$how,
                                    FALSE, sample_rows = sample_rows)
  best <- kernops:::part_optimum(rbind(fit$outer_theta), target)
  expect_equal(as.vector(best), unname(fit$outer_theta))
  expect_identical(sizes, c(20100L, 20000L))
})
