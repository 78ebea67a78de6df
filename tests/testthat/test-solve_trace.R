# Bounds of log-determinants, against dense matrices.

# The interval for log det(K + lambda I), from solves for random probes to the tolerance `tol`.
interval_of <- function(system, precond, tol, seed = 1, count = 16, miss = 1e-3) {
  probes <- probe_vectors(system, precond, count, seed, normal_numbers)
  fit <- solve_system(system, probes$probes, precond, tol, check = 0)
  logdet_interval(system, fit, probes, precond, seq_len(count), miss)
}

test_that("the interval contains the log-determinant, for each preconditioner and tolerance", {
  withr::local_seed(1)
  case <- problem(120)
  for_each_space(\(backend) for (lambda in list(1e-2, runif(120, 0.1, 1))) {
    S <- shifted(case, lambda)
    expected <- determinant(S)$modulus[[1]]
    system <- system_of(case, lambda, backend = backend)
    for (precond in list(system_preconditioner(system, "vecchia", 6), system_preconditioner(system, "vecchia", 25),
                         system_preconditioner(system, "pivoted_cholesky", 10), system_preconditioner(system, "jacobi"),
                         system_preconditioner(system, "nystrom", 30))) {
      A <- S %*% inverse_of(precond, system)
      truth <- range(Re(eigen(A, only.values = TRUE)$values))
      for (tol in c(0.1, 1e-3, 1e-8)) for (seed in 1:3) {
        found <- interval_of(system, precond, tol, seed)
        expect_lte(found$interval[[1]], expected + 1e-8)
        expect_gte(found$interval[[2]], expected - 1e-8)
        expect_lte(found$eigenvalues[[1]], truth[[1]] * (1 + 1e-8))
        expect_gte(found$eigenvalues[[2]], truth[[2]] * (1 - 1e-8))
      }
      expect_equal(sum(diag(A)) - 120, trace_excess(system, precond), tolerance = 1e-6)
    }
  })
})

test_that("the interval is short if the preconditioner is good, and shorter with more probes", {
  withr::local_seed(2)
  case <- problem(200)
  system <- system_of(case, 0.1)
  width <- \(neighbours, count = 16) {
    diff(interval_of(system, system_preconditioner(system, "vecchia", neighbours), 1e-6, count = count)$interval)
  }
  expect_lt(width(80), width(5) / 10)
  expect_lt(width(5, 200), width(5, 8) / 2)
})

test_that("Gauss and Gauss-Radau quadrature give bounds after each number of steps", {
  withr::local_seed(3)
  for (case in 1:5) {
    values <- exp(rnorm(30, sd = case / 3))
    b <- rnorm(30)
    exact <- sum(b^2 * (values - 1 - log(values))) / sum(b^2)
    # Lanczos' recurrence in the basis of eigenvectors, with full orthogonalisation
    Q <- matrix(b / sqrt(sum(b^2)))
    diagonal <- below <- numeric()
    for (k in 1:12) {
      w <- values * Q[, k]
      diagonal[[k]] <- sum(w * Q[, k])
      w <- w - Q %*% crossprod(Q, w)
      w <- w - Q %*% crossprod(Q, w)
      below[[k]] <- sqrt(sum(w^2))
      Q <- cbind(Q, w / below[[k]])
      run <- list(diagonal = diagonal, below = below, gauss = lanczos_quadrature(diagonal, below[-k]))
      for (smallest in min(values) * c(1, 0.1)) {
        bounds <- run_bounds(run, smallest)
        expect_lte(bounds[[1]], exact * (1 + 1e-10))
        expect_gte(bounds[[2]], exact * (1 - 1e-10))
      }
    }
  }
})

test_that("confidence limits of traces have their nominal coverage for any eigenvalues", {
  withr::local_seed(4)
  spectra <- list(1, c(1, 1e-3), rep(1, 20), 1 / (1:50)^2, c(5, rep(0.1, 100)), rep(1e-3, 3))
  for (weights in spectra) for (largest in max(weights) * c(1, 4)) {
    s <- 8
    means <- colMeans(matrix(crossprod(matrix(rnorm(length(weights) * s * 1000)^2, length(weights)), weights), s))
    some <- means[1:300]
    upper <- vapply(some, trace_limit, 0, largest, s, 0.02, TRUE)
    lower <- vapply(some, trace_limit, 0, largest, s, 0.02, FALSE)
    expect_lte(mean(upper < sum(weights)), 0.02 + 3 * sqrt(0.02 / 300))
    expect_lte(mean(lower > sum(weights)), 0.02 + 3 * sqrt(0.02 / 300))
    expect_true(all(lower < some & some < upper))
  }
  expect_identical(trace_limit(0, 1, 8, 0.01, TRUE), 0)
})

test_that("few points, repeated points and nearly singular matrices have an interval, too", {
  withr::local_seed(5)
  for (n in c(2, 3, 10)) {
    case <- problem(n)
    system <- system_of(case, 0.1)
    found <- interval_of(system, system_preconditioner(system, "vecchia", max(1, n - 1)), 1e-8)
    expect_equal(found$interval, rep(determinant(shifted(case, 0.1))$modulus[[1]], 2), tolerance = 1e-6)
  }
  case <- problem(60)
  case$input$x[31:60, ] <- case$input$y[31:60, ] <- case$input$x[1:30, ]
  case$K <- unname(exp(-8 * as.matrix(dist(case$input$x))^2))
  system <- system_of(case, 1e-5)
  expected <- determinant(shifted(case, 1e-5))$modulus[[1]]
  for (type in c("vecchia", "pivoted_cholesky")) {
    found <- interval_of(system, system_preconditioner(system, type, 15), 1e-8)$interval
    expect_true(found[[1]] <= expected + 1e-6 && expected - 1e-6 <= found[[2]])
  }
})
