# The gradient of sum(eta * a) through the solve, against finite differences of dense solutions.

dense_sum <- function(eta) function(s, x, y, b, lambda) {
  K <- exp(-s * outer(rowSums(x^2), rowSums(y^2), "+") + 2 * s * tcrossprod(x, y))
  sum(eta * solve(K + diag(rep_len(lambda, nrow(x))), b))
}

test_that("the gradient of a solution agrees with finite differences, for every variable", {
  withr::local_seed(1)
  case <- problem(12, 2)
  eta <- uniform(12, 2)
  f <- dense_sum(eta)
  for_each_space(\(backend) for (lambda in list(0.7, runif(12, 0.5, 1))) {
    values <- c(case$input, list(lambda = lambda))
    fit <- kernel_solve(gaussian(2, backend = backend), "b", case$input, lambda, tol = 1e-13)
    gradient <- kernel_solve_grad(fit, eta)
    expect_named(gradient, names(values))
    for (name in names(values)) {
      at <- \(v) do.call(f, replace(values, name, list(v)))
      expected <- central_difference(at, values[[name]])
      actual <- gradient[[name]]
      if (name == "lambda") actual <- t(actual)
      expect_close(actual, expected, tolerance = 1e-6, info = name)
    }
  })
})

test_that("gradients in points of both axes, and in selected variables only, agree with differences", {
  withr::local_seed(2)
  case <- problem(10)
  eta <- uniform(10)
  fit <- kernel_solve(gaussian(), "b", case$input, 0.5, tol = 1e-13, precond = "pivoted_cholesky", rank = 5)
  gradient <- kernel_solve_grad(fit, eta, c("x", "y"))
  expect_named(gradient, c("x", "y"))
  both <- \(x) dense_sum(eta)(8, x, x, case$b, 0.5)
  expect_close(gradient$x + gradient$y, central_difference(both, case$input$x), tolerance = 1e-6)
})

test_that("the gradient of a solution by MINRES agrees with finite differences", {
  withr::local_seed(3)
  case <- problem(10)
  eta <- uniform(10)
  fit <- kernel_solve(gaussian(), "b", case$input, -0.4, tol = 1e-13, method = "minres")
  values <- c(case$input, list(lambda = -0.4))
  for (name in c("s", "b", "lambda")) {
    at <- \(v) do.call(dense_sum(eta), replace(values, name, list(v)))
    expect_close(matrix(kernel_solve_grad(fit, eta, name)[[1]]), matrix(central_difference(at, values[[name]])),
                 tolerance = 1e-5, info = name)
  }
})

tiny_fit <- kernel_solve(gaussian(), "b", list(s = 8, x = diag(2), y = diag(2), b = 1:2), 1)
test_mistakes("kernops_input_error", alist(
  `no fit` = kernel_solve_grad(1, 2),
  `unknown variable` = kernel_solve_grad(tiny_fit, 1:2, "z"),
  `variable that is a function` = kernel_solve_grad(tiny_fit, 1:2, sum),
  `missing weights` = kernel_solve_grad(tiny_fit, c(1, NA))
))
test_mistakes("kernops_dim_error", alist(
  `weights of another shape` = kernel_solve_grad(tiny_fit, diag(2)),
  `weights in words` = kernel_solve_grad(tiny_fit, c("a", "b"))
))
