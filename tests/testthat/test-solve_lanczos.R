# Log-determinants and traces from random probes, against determinant() and dense traces.

test_that("the log-determinant is within its reported error, which a preconditioner reduces", {
  withr::local_seed(1)
  case <- problem(200)
  for_each_space(\(backend) for (lambda in list(1e-3, runif(200, 0.1, 1))) {
    expected <- as.vector(determinant(shifted(case, lambda))$modulus)
    system <- system_of(case, lambda, backend = backend)
    errors <- vapply(list(NULL, "jacobi", "pivoted_cholesky", "nystrom"), function(type) {
      precond <- if (!is.null(type)) system_preconditioner(system, type, 80)
      found <- system_logdet(system, precond, count = 20, tol = 1e-8)
      expect_lt(abs(found$logdet - expected), 3 * found$std_error + 1e-6)
      found$std_error
    }, 0)
    expect_lt(max(errors[3:4]), errors[1] / 3)
  })
})

test_that("nodes and weights of Lanczos quadrature have the moments of the tridiagonal matrix", {
  withr::local_seed(6)
  for (m in c(1, 2, 3, 40)) {
    tridiagonal <- diag(runif(m, 1, 2), m)
    tridiagonal[row(tridiagonal) == col(tridiagonal) + 1] <- below <- runif(m - 1) * (runif(m - 1) > 0.1)
    whole <- tridiagonal + t(tridiagonal) - diag(diag(tridiagonal), m)
    found <- lanczos_quadrature(diag(tridiagonal), below)
    for (power in 0:6) {
      expected <- Reduce(`%*%`, rep(list(whole), power), diag(m))[1, 1]
      expect_equal(sum(found$weights * found$nodes^power), expected, tolerance = 1e-10)
    }
  }
})

test_that("the mean of the log-determinant over seeds has no bias", {
  withr::local_seed(2)
  case <- problem(60)
  system <- system_of(case, 0.01)
  precond <- system_preconditioner(system, "pivoted_cholesky", 8)
  estimates <- unlist(lapply(1:40, \(seed) system_logdet(system, precond, 10, seed, tol = 1e-10)$estimates))
  expected <- as.vector(determinant(shifted(case, 0.01))$modulus)
  expect_lt(abs(mean(estimates) - expected), 3 * sd(estimates) / sqrt(400))
})

test_that("if all eigenvectors are known, the quadrature is exact", {
  withr::local_seed(3)
  case <- problem(12)
  system <- system_of(case, 0.5, backend = "cpu")
  found <- system_logdet(system, count = 6, tol = 1e-13)
  decomposition <- eigen(shifted(case, 0.5), TRUE)
  log_A <- decomposition$vectors %*% (log(decomposition$values) * t(decomposition$vectors))
  z <- found$probes$probes
  expect_equal(found$estimates, diag(t(z) %*% log_A %*% z), tolerance = 1e-8)
  same <- system_logdet(system, count = 6, tol = 1e-13)
  expect_identical(same$estimates, found$estimates)
})

test_that("the solutions for probes give the gradient of the log-determinant", {
  withr::local_seed(4)
  case <- problem(100)
  distance <- as.matrix(dist(case$input$x))^2
  expected <- sum(solve(shifted(case, 0.01)) * (-distance * case$K))
  for_each_space(function(backend) {
    system <- system_of(case, 0.01, backend = backend)
    precond <- system_preconditioner(system, "pivoted_cholesky", 30)
    found <- system_logdet(system, precond, 64, tol = 1e-8)
    slope <- system$gradient("s", found$probes$weights, found$fit$solution) / 64
    each <- colSums(as.matrix(found$fit$solution) * (-distance * case$K) %*% as.matrix(found$probes$weights))
    expect_equal(as.vector(slope), mean(each), tolerance = 1e-8)
    expect_lt(abs(slope - expected), 3 * sd(each) / 8)
  })
})

test_that("probes and other right-hand sides may be solved together", {
  withr::local_seed(5)
  case <- problem(80)
  system <- system_of(case, 0.1, backend = "cpu")
  z <- probe_vectors(system, NULL, 4)
  together <- solve_system(system, cbind(case$b, z$probes), tol = 1e-10)
  alone <- solve_system(system, z$probes, tol = 1e-10)
  expect_equal(lanczos_logdet(system, together, z, columns = 2:5), lanczos_logdet(system, alone, z), tolerance = 1e-9)
  expect_close(together$solution[, 1, drop = FALSE], dense(case, 0.1), tolerance = 1e-8)
})
