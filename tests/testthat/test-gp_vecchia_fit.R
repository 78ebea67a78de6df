# Estimation, prediction with noise and simulation by Vecchia's approximation.

# A field of Matern 3/2 with range 0.1 on the unit square, and its observations.
field_case <- function(n, new, noise, seed = 1) {
  withr::local_seed(seed)
  u <- matrix(runif(2 * (n + new)), n + new, dimnames = list(NULL, c("a", "b")))
  h <- sqrt(3) * as.matrix(dist(u)) / 0.1
  f <- drop(crossprod(chol((1 + h) * exp(-h) + diag(1e-10, n + new)), rnorm(n + new)))
  data.frame(u, f, z = f + rnorm(n + new, sd = sqrt(noise)), new = seq_len(n + new) > n)
}

test_that("predictions of noisy data are those of the exact method", {
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

test_that("new points have more neighbours if observations are noisy, or as many as asked for", {
  local <- \(noise, m = NULL) {
    case <- field_case(1500, 0, noise)
    gp(z ~ 1, case, ~ a + b, exponential(1, 0.3) + nugget(noise), "vecchia", "none", control = list(neighbours = m))
  }
  expect_gt(local(20)$vecchia$local, local(0.01)$vecchia$local)
  expect_equal(local(0.01, 10)$vecchia$local %% 20, 0)
  fit <- local(1)
  new <- data.frame(a = 0.52, b = 0.48)
  near <- \(m) predict(fit, new, se.fit = TRUE, interval = "confidence", control = list(neighbours = m))
  rows <- order((fit$parts$u[, 1] - 0.52)^2 + (fit$parts$u[, 2] - 0.48)^2)[1:3]
  K <- exp(-as.matrix(dist(rbind(fit$parts$u[rows, ], c(0.52, 0.48)))) / 0.3)
  weights <- solve(K[1:3, 1:3] + diag(3), K[1:3, 4])
  expect_equal(near(3)$fit, fit$beta[[1]] + sum(weights * (fit$parts$y[rows] - fit$beta[[1]])), tolerance = 1e-10)
  variance <- 1 - sum(weights * K[1:3, 4]) + (1 - sum(weights))^2 * vcov(fit)[[1]]
  expect_equal(near(3)$se.fit, sqrt(variance), tolerance = 1e-10)
})

test_that("standard errors of other methods may be those of local kriging", {
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

test_that("estimates are within half a standard error of the exact ones", {
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

test_that("neighbours follow the ranges that are found", {
  case <- field_case(900, 0, 0.01)
  case$b <- 20 * case$b # the second range is 2
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

test_that("more neighbours are closer to the exact process, and \"auto\" finds enough of them", {
  case <- field_case(600, 0, 0.05)
  by <- \(m) gp(z ~ 1, case, ~ a + b, matern(3/2, 1, 0.1) + nugget(0.05), "vecchia", "none",
                control = gp_control(neighbours = m))
  expected <- kernops:::covariance_matrix(by(1)$model)(list(theta = by(1)$theta, x = by(1)$data$u, y = by(1)$data$u))
  diag(expected) <- diag(expected) + 0.05
  divergence <- vapply(c(2, 5, 10, 20, 40, 80), \(m) {
    sets <- kernops:::observation_sets(by(m), m)
    2 * sum(log(sets$sd)) - as.numeric(determinant(expected)$modulus) # the trace is n
  }, 0)
  expect_true(all(diff(divergence) < 0))
  expect_gt(min(divergence), 0)
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2) + nugget(), "vecchia",
            control = gp_control(neighbours = "auto", neighbour_tol = 1e-4))
  expect_lt(abs(fit$vecchia$doubled), 1e-4 * 600)
  expect_gt(fit$vecchia$m, 30)
})

test_that("what more neighbours change is estimated by some of the points", {
  case <- field_case(1000, 0, 0.05)
  for (formula in c(z ~ 0, z ~ a)) {
    fit <- gp(formula, case, ~ a + b, matern(3/2, 1, 0.1) + nugget(0.05), "vecchia", "none", control = list(neighbours = 8))
    likelihood <- kernops:::vecchia_likelihood(fit$data, fit$model, fit$how)
    state <- likelihood$evaluate(fit$theta)
    sets <- kernops:::vecchia_sets(fit$data, fit$model, fit$theta, 8, fit$how$control, qr(fit$data$x))
    gain <- \() kernops:::gain_of_some(sets, kernops:::set_operators(fit$model), fit$model, fit$theta, state$contrast, c(8L, 16L))
    exact <- likelihood$doubled(fit$theta, state)
    expect_equal(gain(), exact, tolerance = if (ncol(fit$data$x)) 0.02 else 1e-9)
    testthat::local_mocked_bindings(some_positions = \(n) round(seq(1, n, length.out = 500)), .package = "kernops")
    expect_equal(gain(), exact, tolerance = 0.5)
  }
})

test_that("simulations have the mean and the standard errors of predict()", {
  case <- field_case(300, 8, 0.1)
  fit <- gp(z ~ a, case[!case$new, ], ~ a + b, matern(3/2, 1, 0.1) + nugget(0.1), "vecchia", "none")
  new <- case[c(which(case$new), 301), ]
  at <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  draws <- simulate(fit, 4000, seed = 1, newdata = new)
  expect_identical(draws[1, ], draws[9, ])
  expect_lt(max(abs(rowMeans(draws) - at$fit) / at$se.fit), 4 / sqrt(4000))
  expect_equal(apply(draws, 1, sd), at$se.fit, tolerance = 0.05, ignore_attr = TRUE)
  noisy <- simulate(fit, 4000, seed = 1, newdata = new, noise = TRUE)
  expect_equal(apply(noisy, 1, sd), sqrt(at$se.fit^2 + 0.1), tolerance = 0.05, ignore_attr = TRUE)
})

test_that("unconditional draws have the covariance of the model", {
  case <- field_case(300, 5, 0.1)
  fit <- gp(z ~ 0, case[!case$new, ], ~ a + b, exponential(2, 0.5) + nugget(0.1), "vecchia", "none")
  draws <- simulate(fit, 8000, seed = 1, newdata = case[case$new, ], conditional = FALSE)
  expected <- 2 * exp(-as.matrix(dist(case[case$new, c("a", "b")])) / 0.5)
  expect_lt(max(abs(cov(t(draws)) - expected)), 0.15)
  smooth <- gp(z ~ 0, case[!case$new, ], ~ a + b, squared_exponential(2, 0.5) + nugget(0.1), "vecchia", "none")
  expect_false(anyNA(simulate(smooth, 2, seed = 1)))
})

test_that("leave-one-out with few neighbours is close to the exact one", {
  case <- field_case(500, 0, 0.1)
  by <- \(method) gp_cv(gp(z ~ a, case, ~ a + b, matern(3/2, 1, 0.1) + nugget(0.1), method, "none"))
  exact <- by("exact")
  at <- by("vecchia")
  expect_lt(max(abs(at$fit - exact$fit) / exact$se.fit), 0.1)
  expect_equal(at$se.fit, exact$se.fit, tolerance = 0.02)
})

test_that("a fit says what it did, compares, updates and survives a file", {
  case <- field_case(400, 0, 0.1)
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2) + nugget(), "vecchia", control = gp_control(neighbours = 10))
  expect_output(print(fit), "10 \\(maxmin\\).*for predictions.*log-likelihood [+-].* with twice as many")
  expect_output(print(summary(fit)), "Neighbours +10")
  expect_identical(kernops:::some_residuals(fit, 7), unname(residuals(fit))[round(seq(1, 400, length.out = 7))])
  expect_equal(AIC(fit), 8 - 2 * fit$loglik)
  expect_equal(nrow(anova(fit, update(fit, . ~ a))), 2)
  expect_equal(dim(confint(fit)), c(4, 2))
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), case[1:5, ], se.fit = TRUE), predict(fit, case[1:5, ], se.fit = TRUE))
  expect_lt(file.size(file), 2e5)
})

test_that("the method is chosen by size and covariance", {
  chosen <- \(covariance, n = 2e4, ..., d = 2) {
    kernops:::chosen_method(n, kernops:::covariance_model(covariance, d), "float64", gp_control(...))
  }
  expect_equal(chosen(matern(3/2) + nugget()), "vecchia")
  expect_equal(chosen(exponential() * matern(5/2, ard = TRUE) + nugget()), "vecchia")
  expect_equal(chosen(matern(3/2, distance = "great_circle")), "vecchia")
  expect_equal(chosen(exponential() * periodic() + nugget()), "vecchia")
  expect_equal(chosen(matern(3/2), n = 1e4), "exact")
  expect_equal(chosen(matern(3/2), n = 500, exact_limit = 100), "vecchia")
  for (covariance in list(matern(3/2) + linear(), exponential() + periodic(), covariance("SqDist(x, y)"))) {
    expect_equal(chosen(covariance), "iterative")
  }
  expect_equal(chosen(matern(3/2), d = 11), "iterative")
})
