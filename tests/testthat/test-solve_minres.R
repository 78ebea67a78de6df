# MINRES, for systems that are symmetric but not positive definite.

test_that("an indefinite system is solved", {
  withr::local_seed(1)
  case <- problem(80, 2)
  shift <- -mean(sort(eigen(case$K, TRUE, only.values = TRUE)$values, decreasing = TRUE)[3:4])
  for_each_space(function(backend) {
    op <- gaussian(2, backend = backend)
    solve_it <- \(method) kernel_solve(op, "b", case$input, shift, tol = 1e-11, method = method)
    fit <- solve_it("minres")
    expect_true(all(fit$converged))
    expect_close(fit$solution, dense(case, shift), tolerance = 1e-7)
    expect_error(solve_it("cg"), class = "kernops_input_error")
  })
})

test_that("the residual of MINRES does not grow, and is the smallest in the Krylov space", {
  withr::local_seed(2)
  case <- problem(60)
  history <- kernel_solve(gaussian(), "b", case$input, -0.7, tol = 1e-8, method = "minres")$history
  expect_true(all(diff(history[, 1]) <= 1e-12))
  A <- shifted(case, -0.7)
  krylov <- Reduce(\(v, n) A %*% v, 1:4, case$b, accumulate = TRUE)[1:4]
  smallest <- \(k) sqrt(sum(qr.resid(qr(A %*% do.call(cbind, krylov[1:k])), case$b)^2) / sum(case$b^2))
  expect_equal(history[2:5, 1], vapply(1:4, smallest, 0), tolerance = 1e-8)
})

test_that("MINRES agrees with conjugate gradients for positive definite matrices", {
  withr::local_seed(3)
  case <- problem(70, 2)
  by <- \(method) kernel_solve(gaussian(2), "b", case$input, 0.5, tol = 1e-12, method = method)$solution
  expect_close(by("minres"), by("cg"), tolerance = 1e-9)
})

test_that("a solve takes one step for an eigenvector and none for zeros, and a starting value is used", {
  withr::local_seed(4)
  case <- problem(30)
  case$input$b <- cbind(eigen(case$K, TRUE)$vectors[, 3], 0)
  fit <- kernel_solve(gaussian(2), "b", case$input, -0.3, tol = 1e-9, method = "minres")
  expect_identical(fit$iterations, 1L)
  expect_identical(fit$solution[, 2], numeric(30))
  again <- kernel_solve(gaussian(2), "b", case$input, -0.3, tol = 1e-8, method = "minres", x0 = fit$solution)
  expect_identical(again$iterations, 0L)
})

test_that("for a singular matrix, MINRES ends at the smallest residual, whether or not b is in its range", {
  for_each_space(function(backend) {
    op <- keops_kernel("Sum_Reduction(x * y * b, 1)", c("x = Vi(1)", "y = Vj(1)", "b = Vj(1)"), backend = backend)
    b <- cbind(c(1, 0, 0), 1:3, 0)
    smallest <- sqrt(colSums(qr.resid(qr(matrix(1:3)), b)^2) / pmax(colSums(b^2), 1))
    fit <- suppressWarnings(kernel_solve(op, "b", list(1:3, 1:3, b), method = "minres"))
    expect_equal(fit$residual, smallest, tolerance = 1e-12)
    expect_lte(fit$iterations, 3)
  })
})

test_that("rounding errors do not make the solution worse than its starting value", {
  withr::local_seed(1)
  x <- runif(60)
  b <- rnorm(60)
  K <- exp(-outer(x, x, `-`)^2) - 0.3 # numerically singular
  for (precision in c("float64", "float32")) {
    op <- keops_kernel("Sum_Reduction((Exp(-SqDist(x, y)) - 0.3) * b, 1)", c("x = Vi(1)", "y = Vj(1)", "b = Vj(1)"),
                       precision = precision)
    fit <- suppressWarnings(kernel_solve(op, "b", list(x, x, cbind(b, K %*% b)), method = "minres"))
    expect_lte(max(fit$residual), 1)
    expect_true(fit$converged[[2]])
    expect_equal(fit$residual[[1]], sqrt(sum((b - K %*% fit$solution[, 1])^2) / sum(b^2)), tolerance = 1e-6)
  }
})
