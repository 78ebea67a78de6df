# Likelihood, gradient and information of Vecchia's approximation, against plain R and the exact method.

case <- local({
  withr::local_seed(5)
  cbind(smooth_case(90), noise = runif(90, 0, 0.1), k = runif(90, 0.5, 2))
})
u <- as.matrix(case[c("a", "b")])
on_sets <- \(m, ...) gp_control(neighbours = m, ordering = "given", ...)
matern_of <- \(theta) {
  h <- sqrt(3) * as.matrix(dist(u)) / theta[[2]]
  theta[[1]] * (1 + h) * exp(-h) + diag(theta[[3]] / case$k + case$noise)
}
vecchia <- \(fit, m, reml = FALSE, profile = FALSE, search = TRUE, theta = fit$theta) {
  how <- list(method = "vecchia", reml = reml, control = on_sets(m))
  kernops:::vecchia_likelihood(fit$data, fit$model, how)$evaluate(theta, profile, search)
}

test_that("the likelihood agrees with a double loop, with each instruction set", {
  for (formula in trends) for (reml in c(FALSE, TRUE)) for (m in c(1, 7, 30)) for (isa in kernops:::cpu_isas()) {
    local_kernops(isa = isa)
    fit <- gp(formula, case, ~ a + b, matern(3/2, 1.3, 0.4) + nugget(0.05), "vecchia", "none", weights = k,
              known = list(noise = case$noise), control = on_sets(m))
    X <- model.matrix(formula, case)
    K <- matern_of(c(1.3, 0.4, 0.05))
    expected <- oracle_vecchia(K, earlier_neighbours(u, m), case$z, X, reml)
    state <- vecchia(fit, m, reml)
    expect_equal(state$value, expected$value, tolerance = 1e-10)
    expect_equal(unname(state$beta), expected$beta, tolerance = 1e-10)
    expect_equal(unname(crossprod(state$root)), unname(t(X) %*% crossprod(oracle_factor(K, earlier_neighbours(u, m)))
                                                       %*% X), tolerance = 1e-9)
  }
})

test_that("the gradient agrees with differences, with and without profiling", {
  fit <- gp(z ~ w, case, ~ a + b, matern(3/2, 1.3, 0.4) + nugget(0.05), "vecchia", "none", weights = k)
  for (reml in c(FALSE, TRUE)) for (profile in c(FALSE, TRUE)) {
    value <- \(theta) vecchia(fit, 9, reml, profile, FALSE, theta)$value
    differences <- vapply(1:3, \(k) {
      h <- replace(numeric(3), k, 1e-5)
      (value(fit$theta + h) - value(fit$theta - h)) / 2e-5
    }, 0)
    expect_equal(vecchia(fit, 9, reml, profile)$gradient(), differences, tolerance = 1e-6)
  }
})

test_that("the information is the expected information, also if a common factor is profiled out", {
  fit <- gp(z ~ 1, case, ~ a + b, matern(3/2, 1.3, 0.4) + nugget(0.05), "vecchia", "none", weights = k,
            known = list(noise = case$noise))
  slopes <- lapply(1:3, \(k) {
    h <- replace(numeric(3), k, 1e-4)
    (matern_of(fit$theta + h) - matern_of(fit$theta - h)) / 2e-4
  })
  K <- matern_of(fit$theta)
  for (m in c(5, 89)) {
    expected <- oracle_information(K, slopes, earlier_neighbours(u, m))
    state <- vecchia(fit, m)
    expect_equal(state$information(FALSE), expected, tolerance = 1e-6)
  }
  trace <- vapply(slopes, \(slope) sum(solve(K) * slope), 0)
  expect_equal(state$information(TRUE), expected - tcrossprod(trace) / 90, tolerance = 1e-6)
})

test_that("with all points as neighbours, all results agree with the exact method", {
  new <- case[1:15, ] + 0.013
  for (covariance in vecchia_covariances()) {
    by <- \(method, ...) gp(z ~ w, case, ~ a + b, covariance, method, "none", weights = k, ...)
    exact <- by("exact")
    fit <- by("vecchia", control = gp_control(neighbours = 89))
    expect_equal(fit$loglik, exact$loglik, tolerance = 1e-8)
    expect_equal(vcov(fit), vcov(exact), tolerance = 1e-8)
    at <- kernops:::exact_likelihood(exact$data, exact$model, FALSE)$evaluate(exact$theta)
    expect_equal(vecchia(fit, 89)$gradient(), at$gradient(), tolerance = 1e-8)
    for (interval in c("prediction", "confidence")) {
      expect_equal(predict(fit, new, se.fit = TRUE, interval = interval),
                   predict(exact, new, se.fit = TRUE, interval = interval), tolerance = 1e-8)
    }
    expect_equal(predict(fit, new, type = "terms"), predict(exact, new, type = "terms"), tolerance = 1e-7)
    expect_equal(residuals(fit), residuals(exact), tolerance = 1e-7)
    expect_equal(gp_cv(fit), gp_cv(exact), tolerance = 1e-7)
    expect_equal(gp_cv(fit, folds = 4), gp_cv(exact, folds = 4), tolerance = 1e-7)
  }
})

test_that("with all points as neighbours, likelihoods, information and predictions are exact for 400 points", {
  n <- 400
  many <- withr::with_seed(7, smooth_case(n))
  new <- many[1:15, ] + 0.013
  control <- gp_control(neighbours = n - 1)
  for (covariance in vecchia_covariances()[c("exponential", "matern32", "matern52", "squared_exponential", "own")]) {
    by <- \(method, ...) gp(z ~ w, many, ~ a + b, covariance, method, "none", ...)
    exact <- by("exact")
    fit <- by("vecchia", control = control)
    expect_equal(fit$loglik, exact$loglik, tolerance = 1e-8)
    how <- list(method = "vecchia", reml = FALSE, control = control)
    state <- kernops:::vecchia_likelihood(fit$data, fit$model, how)$evaluate(fit$theta, FALSE, TRUE)
    expected <- kernops:::exact_likelihood(exact$data, exact$model, FALSE)$evaluate(exact$theta)
    expect_equal(state$gradient(), expected$gradient(), tolerance = 1e-8)
    inputs <- list(theta = exact$theta, x = exact$data$u, y = exact$data$u)
    is_nugget <- names(exact$theta) == "nugget.variance"
    inverse <- solve(kernops:::covariance_matrix(exact$model)(inputs) + diag(exact$theta[[which(is_nugget)]], n))
    slopes <- matrix(kernops:::covariance_derivatives(exact$model)(inputs), n * n)
    slopes[, is_nugget] <- diag(n)
    products <- apply(slopes, 2, \(slope) inverse %*% matrix(slope, n))
    turned <- apply(slopes, 2, \(slope) matrix(slope, n) %*% inverse)
    expect_equal(state$information(FALSE), unname(crossprod(products, turned)), tolerance = 1e-8)
    for (interval in c("prediction", "confidence")) {
      expect_equal(predict(fit, new, se.fit = TRUE, interval = interval),
                   predict(exact, new, se.fit = TRUE, interval = interval), tolerance = 1e-8)
    }
  }
})

test_that("without a nugget, the prediction at an observation is the value of the observation", {
  fit <- gp(z ~ 1, case, ~ a + b, exponential(1.3, 0.4), "vecchia", "none")
  at <- predict(fit, case[1:9, ], se.fit = TRUE, interval = "confidence")
  expect_equal(at$fit, case$z[1:9], tolerance = 1e-10)
  expect_lt(max(at$se.fit), 1e-6)
})

test_that("results do not depend on threads or on the other points of a call", {
  fit <- gp(z ~ w, case, ~ a + b, given(), "vecchia", "none")
  new <- case[1:40, ] + 0.01
  at <- predict(fit, new, se.fit = TRUE, interval = "prediction")
  expect_identical(predict(fit, new[7, ], se.fit = TRUE, interval = "prediction")$se.fit, at$se.fit[[7]])
  big <- withr::with_seed(1, smooth_case(3000))
  values <- lapply(1:3, \(n) with_kernops(
    gp(z ~ w, big, ~ a + b, given(), "vecchia", "none")[c("loglik", "beta")], threads = n))
  expect_identical(values[[2]], values[[1]])
  expect_identical(values[[3]], values[[1]])
})

test_that("a prediction far from observations is the trend, and a single observation is enough for a fit", {
  far <- data.frame(a = 100, b = 100, w = 0)
  fit <- gp(z ~ 1, case, ~ a + b, given(), "vecchia", "none")
  at <- predict(fit, far, se.fit = TRUE, interval = "confidence")
  expect_equal(at$fit, unname(fit$beta), tolerance = 1e-10)
  expect_gt(at$se.fit, sqrt(1.3))
  one <- gp(z ~ 0, case[1, ], ~ a + b, given(), "vecchia", "none")
  exact <- gp(z ~ 0, case[1, ], ~ a + b, given(), "exact", "none")
  expect_equal(one$loglik, exact$loglik, tolerance = 1e-12)
  expect_equal(predict(one, case[2:5, ], se.fit = TRUE, interval = "prediction"),
               predict(exact, case[2:5, ], se.fit = TRUE, interval = "prediction"), tolerance = 1e-10)
})

test_that("invalid arguments are classed errors, as for the other methods", {
  by <- \(...) gp(z ~ 1, case, ~ a + b, given(), "vecchia", ...)
  expect_snapshot(error = TRUE, {
    gp_control(neighbours = 0)
    gp_control(neighbours = "many")
    gp_control(ordering = "best")
    gp_control(neighbour_tol = 0)
    gp(z ~ 1, case[c(1:20, 3), ], ~ a + b, exponential(), "vecchia")
  })
  expect_error(gp(z ~ a + I(2 * a), case, ~ a + b, given(), "vecchia"), class = "kernops_input_error")
  near <- data.frame(a = (1:20) / 1000, z = rnorm(20))
  singular <- \(m) gp(z ~ 1, near, ~ a, squared_exponential(1, 1), "vecchia", "none", control = list(neighbours = m))
  expect_error(singular(19), class = "kernops_singular_error")
  fit <- singular(1)
  expect_error(predict(fit, data.frame(a = 0.0035), control = list(neighbours = 15)), class = "kernops_singular_error")
})

test_that("a likelihood can be interrupted", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_in_library()
  result <- interrupt(quote({
    library(kernops)
    ns <- asNamespace("kernops")
    n <- 1e5
    m <- 240
    operators <- ns$set_operators(ns$covariance_model(exponential(1, 0.1), 2))
    neighbours <- outer(seq_len(m), seq_len(n), \(k, i) as.integer(pmax(i - k, 0)))
    u <- matrix(sin(seq_len(2 * n)^2), n)
    zero <- numeric(n)
    started <- Sys.time()
    say_pid()
    ended <- tryCatch({
      sets <- ns$hold_sets(u, zero + 0.1, zero, matrix(zero), neighbours)
      ns$set_totals(operators, c(1, 0.1), integer(), sets, FALSE, Inf)
      "finished"
    }, interrupt = \(e) "interrupted")
    list(ended = ended, seconds = as.numeric(Sys.time() - started, units = "secs"))
  }))
  expect_identical(result$ended, "interrupted")
  expect_lt(result$seconds, 4)
})

test_that("with many ranges, derivatives and information agree with plain R, with each instruction set", {
  points <- withr::with_seed(1, matrix(runif(500), 50))
  values <- withr::with_seed(2, matrix(rnorm(100), 50))
  ranges <- seq(0.5, 1.4, by = 0.1)
  sets <- earlier_neighbours(points, 33)
  matrix_of <- vapply(sets, \(near) c(near, integer(33 - length(near))), integer(33))
  squares <- lapply(1:10, \(k) outer(points[, k], points[, k], "-")^2)
  h <- sqrt(3 * Reduce(`+`, Map(`/`, squares, ranges^2)))
  noise <- seq(0.2, 0.5, length.out = 50)
  K <- 1.3 * (1 + h) * exp(-h) + diag(0.2 * noise)
  slopes <- c(list((1 + h) * exp(-h)), Map(\(square, r) 3 * 1.3 * exp(-h) * square / r^3, squares, ranges),
              list(diag(noise)))
  expected <- oracle_sums(K, slopes, sets, values)
  model <- kernops:::covariance_model(matern(3/2, 1.3, ranges) + nugget(0.2), 10)
  held <- kernops:::hold_sets(points, numeric(50), noise, values, matrix_of)
  for (isa in kernops:::cpu_isas()) {
    local_kernops(isa = isa)
    found <- set_sums(kernops:::set_operators(model), model$parameters$value, model$nugget, held, TRUE)
    for (name in names(expected)) expect_equal(c(found[[name]]), c(expected[[name]]), tolerance = 1e-10)
  }
})
