# Conjugate gradients for (K + lambda I) a = b, against the dense solution.

gaussian <- function(p = 1, ...) {
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", sprintf("b = Vj(%d)", p))
  keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", args, ...)
}
problem <- function(n, p = 1) {
  x <- uniform(n, 2)
  b <- uniform(n, p)
  list(input = list(s = 8, x = x, y = x, b = b), K = exp(-8 * as.matrix(dist(x))^2), b = b)
}
dense <- \(case, lambda) unname(solve(case$K + lambda * diag(nrow(case$K)), case$b))
residuals_of <- function(case, solution, lambda) {
  off <- case$b - case$K %*% solution - lambda * solution
  unname(sqrt(colSums(off^2) / colSums(case$b^2)))
}

test_that("the solution is the dense one", {
  withr::local_seed(1)
  case <- problem(120)
  for (lambda in c(0.1, 10)) {
    fit <- kernel_solve(gaussian(), "b", case$input, lambda, tol = 1e-12)
    expect_s3_class(fit, "kernel_solve")
    expect_close(fit$solution, dense(case, lambda), tolerance = 1e-8)
    expect_true(all(fit$converged))
  }
})

test_that("without lambda K itself is solved", {
  withr::local_seed(2)
  x <- as.matrix(expand.grid(1:6, 1:5))
  case <- list(input = list(s = 3, x = x, y = x, b = uniform(30)), K = exp(-3 * as.matrix(dist(x))^2))
  case$b <- case$input$b
  fit <- kernel_solve(gaussian(), "b", case$input, tol = 1e-12)
  expect_close(fit$solution, dense(case, 0), tolerance = 1e-8)
})

test_that("the residuals are true, below tol, and recorded from the start", {
  withr::local_seed(3)
  case <- problem(100, 3)
  fit <- kernel_solve(gaussian(3), "b", case$input, 0.5, tol = 1e-7)
  expect_equal(as.vector(fit$residual), residuals_of(case, fit$solution, 0.5), tolerance = 1e-4)
  expect_true(all(fit$residual <= 1e-7))
  expect_identical(dim(fit$history), c(max(fit$iterations) + 1L, 3L))
  expect_equal(unname(fit$history[1, ]), c(1, 1, 1))
  expect_gt(max(fit$iterations), 3)
})

test_that("columns stop one by one, each as if it were alone", {
  withr::local_seed(4)
  case <- problem(80, 3)
  leading <- eigen(case$K, symmetric = TRUE)$vectors[, 1]
  case$input$b[, 2] <- case$b[, 2] <- leading
  together <- kernel_solve(gaussian(3), "b", case$input, 0.3, tol = 1e-9)
  steps <- colSums(together$history > 1e-9)
  expect_lt(steps[2], min(steps[-2]))
  for (column in 1:3) {
    alone <- kernel_solve(gaussian(), "b", replace(case$input, "b", list(case$b[, column])), 0.3, tol = 1e-9)
    expect_close(together$solution[, column, drop = FALSE], alone$solution, tolerance = 1e-7, info = column)
  }
})

test_that("a right-hand side of zeros has the solution zero", {
  withr::local_seed(5)
  case <- problem(40, 2)
  case$input$b[, 1] <- 0
  fit <- kernel_solve(gaussian(2), "b", case$input, 0.5)
  expect_identical(fit$solution[, 1], numeric(40))
  expect_true(all(fit$converged))
  expect_false(anyNA(fit$residual))
})

test_that("too few iterations warn, and give the best so far", {
  withr::local_seed(6)
  case <- problem(100)
  expect_warning(
    fit <- kernel_solve(gaussian(), "b", case$input, 1e-6, maxit = 3),
    class = "kernops_not_converged"
  )
  expect_false(all(fit$converged))
  expect_identical(max(fit$iterations), 3L)
  expect_identical(dim(fit$solution), c(100L, 1L))
})

test_that("a warm start shortens the way", {
  withr::local_seed(7)
  case <- problem(100)
  cold <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-8)
  warm <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-6, x0 = cold$solution)
  near <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-8, x0 = cold$solution * 1.001)
  expect_equal(max(warm$iterations), 0)
  expect_lt(max(near$iterations), max(cold$iterations))
  expect_close(near$solution, cold$solution, tolerance = 1e-6)
})

test_that("float32 solves to the accuracy of float32", {
  withr::local_seed(8)
  case <- problem(100)
  fit <- kernel_solve(gaussian(precision = "float32"), "b", case$input, 1, tol = 1e-5)
  expect_close(fit$solution, dense(case, 1), tolerance = 1e-3)
})

test_that("the product may run over the other axis", {
  withr::local_seed(9)
  case <- problem(50)
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vi(1)")
  over_i <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 0)", args)
  fit <- kernel_solve(over_i, "b", case$input, 0.2, tol = 1e-12)
  expect_close(fit$solution, dense(case, 0.2), tolerance = 1e-8)
})

test_that("a mistake is explained", {
  withr::local_seed(10)
  case <- problem(10)
  op <- gaussian()
  solve_with <- \(..., op = gaussian(), b_name = "b", input = case$input) kernel_solve(op, b_name, input, ...)
  mistakes <- list(
    kernops_input_error = \() solve_with(tol = 0),
    kernops_input_error = \() solve_with(tol = NA),
    kernops_input_error = \() solve_with(tol = "small"),
    kernops_input_error = \() solve_with(tol = c(1e-3, 1e-6)),
    kernops_input_error = \() solve_with(maxit = 0),
    kernops_input_error = \() solve_with(maxit = 2.5),
    kernops_input_error = \() solve_with(lambda = -1),
    kernops_input_error = \() solve_with(lambda = Inf),
    kernops_input_error = \() solve_with(b_name = "z"),
    kernops_input_error = \() solve_with(b_name = "s"),
    kernops_input_error = \() solve_with(op = sum),
    kernops_dim_error = \() solve_with(x0 = uniform(9)),
    kernops_dim_error = \() solve_with(input = replace(case$input, "x", list(uniform(9, 2))))
  )
  for (k in seq_along(mistakes)) {
    expect_kernops_error(mistakes[[k]](), names(mistakes)[k])
    expect_snapshot(mistakes[[k]](), error = TRUE)
  }
})

test_that("the result prints as a summary", {
  withr::local_seed(11)
  case <- problem(20)
  rounded <- \(lines) gsub("[0-9.]+e-[0-9]+", "<small>", lines)
  expect_snapshot(print(kernel_solve(gaussian(), "b", case$input, 5)), transform = rounded)
})
