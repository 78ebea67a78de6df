# Sparse inverses by Vecchia's approximation: agreement with dense matrices, and the number of iterations that the
# inverses save.

rough <- function(p = 1, ...) {
  keops_kernel("Sum_Reduction(Exp(-Norm2(x - y) / s) * b, 1)",
               c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", sprintf("b = Vj(%d)", p)), ...)
}
rough_problem <- function(n, p = 1, range = 0.3) {
  x <- matrix(runif(2 * n), n)
  b <- uniform(n, p)
  list(input = list(s = range, x = x, y = x, b = b), K = unname(exp(-as.matrix(dist(x)) / range)), b = b)
}
rough_system <- \(case, lambda, ...) kernel_system(rough(...), "b", case$input, lambda)

# U'U, where each row of U is the conditional distribution of a point given the m nearest of the earlier points.
oracle_inverse <- function(K, x, order, m) {
  n <- nrow(K)
  U <- matrix(0, n, n)
  for (i in seq_len(n)) {
    point <- order[i]
    before <- order[seq_len(i - 1)]
    near <- before[order(colSums((t(x[before, , drop = FALSE]) - x[point, ])^2))]
    near <- near[seq_len(min(m, length(near)))]
    weights <- if (length(near)) solve(K[near, near], K[near, point]) else numeric()
    U[i, c(point, near)] <- c(1, -weights) / sqrt(K[point, point] - sum(weights * K[near, point]))
  }
  crossprod(U)
}

test_that("the inverse agrees with the conditional distributions given the nearest earlier points", {
  withr::local_seed(1)
  case <- rough_problem(60)
  for_each_space(\(backend) for (lambda in list(0, 0.1, runif(60))) for (m in c(1, 5, 60)) {
    precond <- system_preconditioner(rough_system(case, lambda, backend = backend), "vecchia", m)
    inverse <- inverse_of(precond, rough_system(case, lambda, backend = backend))
    expected <- oracle_inverse(shifted(case, lambda), case$input$x, precond$order, m)
    expect_close(inverse, expected, tolerance = 1e-7, info = m)
    expect_equal(precond$logdet, -as.vector(determinant(expected)$modulus), tolerance = 1e-8)
  })
})

test_that("with all earlier points as neighbours, the preconditioner is the inverse of K", {
  withr::local_seed(2)
  case <- rough_problem(50)
  system <- rough_system(case, 0.01)
  precond <- system_preconditioner(system, "vecchia", 49)
  expect_close(inverse_of(precond, system) %*% shifted(case, 0.01), diag(50), tolerance = 1e-8)
  expect_identical(kernel_solve(rough(), "b", case$input, 0.01, precond = "vecchia", rank = 49)$iterations, 1L)
})

test_that("probes have the covariance of the preconditioner", {
  withr::local_seed(3)
  case <- rough_problem(30)
  for_each_space(function(backend) {
    system <- rough_system(case, 0.1, backend = backend)
    precond <- system_preconditioner(system, "vecchia", 4)
    P <- solve(inverse_of(precond, system))
    few <- probe_vectors(system, precond, 5)
    expect_close(as.matrix(few$weights), solve(P, as.matrix(few$probes)), tolerance = 1e-8)
    sample <- as.matrix(probe_vectors(system, precond, 1e4)$probes)
    expect_close(tcrossprod(sample) / 1e4, P, tolerance = 0.1)
  })
})

test_that("errors of log-determinants are smaller than with the same number of columns of a low-rank preconditioner", {
  withr::local_seed(4)
  case <- rough_problem(400)
  system <- rough_system(case, 1e-3)
  exact <- as.vector(determinant(shifted(case, 1e-3))$modulus)
  estimate <- \(type, rank) system_logdet(system, system_preconditioner(system, type, rank))
  sparse <- estimate("vecchia", 20)
  expect_lt(abs(sparse$logdet - exact), 4 * sparse$std_error)
  expect_lt(sparse$std_error, estimate("pivoted_cholesky", 40)$std_error / 5)
})

test_that("a rough field with little noise needs few iterations, and the solution agrees with dense algebra", {
  withr::local_seed(5)
  case <- rough_problem(1200, 2)
  for_each_space(function(backend) {
    solve_by <- \(...) kernel_solve(rough(2, backend = backend), "b", case$input, 1e-4, tol = 1e-9, ...)
    sparse <- solve_by(precond = "vecchia")
    expect_lt(sparse$iterations, 15)
    expect_lt(sparse$iterations, solve_by(precond = "pivoted_cholesky")$iterations / 10)
    expect_close(sparse$solution, dense(case, 1e-4), tolerance = 1e-6)
    expect_lt(max(residuals_of(case, sparse$solution, 1e-4)), 2e-9)
  })
})

test_that("the number of threads does not change the preconditioner", {
  withr::local_seed(6)
  case <- rough_problem(5000, 3)
  system <- rough_system(case, 0.1)
  solved <- \() sparse_solver(system_preconditioner(system, "vecchia", 8))(case$b)
  applied <- \(threads) with_kernops(threads = threads, solved())
  expect_identical(applied(3), applied(1))
})

test_that("the preconditioner uses all variables of the formula", {
  withr::local_seed(7)
  n <- 40
  x <- uniform(n, 2)
  w <- matrix(runif(n, 1, 2))
  A <- matrix(c(3, 1, 0, 2), 2)
  case <- list(input = list(A = A, x = x, v = w, y = x, w = w, b = uniform(n)))
  K <- exp(-as.matrix(dist(x %*% t(A)))) * tcrossprod(w) + 2 * diag(n)
  formula <- "Sum_Reduction((Exp(-Norm2(MatVecMult(A, x - y))) * v * w + 2 * (IndexI() == IndexJ())) * b, %d)"
  args <- c("A = Pm(4)", "x = Vi(2)", "v = Vi(1)", "y = Vj(2)", "w = Vj(1)")
  op <- keops_kernel(sprintf(formula, 1), c(args, "b = Vj(1)"))
  swapped <- keops_kernel(sprintf(formula, 0), c(args, "b = Vi(1)"))
  for (each in list(op, swapped)) {
    system <- kernel_system(each, "b", case$input, 0.5)
    precond <- system_preconditioner(system, "vecchia", n - 1)
    expect_close(inverse_of(precond, system) %*% (unname(K) + diag(0.5, n)), diag(n), tolerance = 1e-8)
  }
})

test_that("systems with duplicated points and with a single point are solved", {
  withr::local_seed(8)
  case <- rough_problem(30)
  case$input$x <- case$input$y <- case$input$x[c(1:30, 1:10), ]
  case$input$b <- uniform(40)
  for (lambda in c(0, 1e-8)) {
    precond <- system_preconditioner(rough_system(case, lambda), "vecchia", 5)
    expect_true(all(is.finite(sparse_solver(precond)(case$input$b))))
  }
  one <- list(s = 1, x = t(1:2), y = t(1:2), b = 3)
  expect_close(kernel_solve(rough(), "b", one, 0.5, precond = "vecchia")$solution, matrix(2))
  same <- list(s = 1, x = matrix(1, 9, 2), y = matrix(1, 9, 2), b = rep(1, 9))
  expect_close(kernel_solve(rough(), "b", same, 0.5, precond = "vecchia")$solution, matrix(1 / 9.5, 9))
})

test_that("the neighbour graph of a search is reused if all ranges change by the same factor", {
  withr::local_seed(13)
  x <- matrix(runif(400), 200)
  graph_of <- remembered_graph()
  first <- graph_of(x, 10)
  expect_identical(graph_of(3 * x, 10), first)
  other <- x %*% diag(c(1, 2))
  expect_identical(graph_of(other, 10), sparse_graph(other, 10))
  expect_false(identical(sparse_graph(other, 10), first))
})

test_that("the type of the preconditioner is chosen only once, at the first parameters", {
  withr::local_seed(14)
  d <- smooth_case(300)
  model <- gp(z ~ 1, d, ~ a + b, exponential(1, 0.1) + nugget(0.01), "iterative", "none")$model
  data <- list(u = as.matrix(d[c("a", "b")]), weights = rep(1, 300), noise = numeric(300))
  product <- covariance_product(model, 1L, "float64", "cpu")
  made <- preconditioner_maker(gp_control(), data, model)
  type_at <- \(theta) made(iterative_system(product, data, model, theta), theta)$type
  expect_identical(type_at(c(1, 0.1, 0.01)), "vecchia")
  expect_identical(type_at(c(1, 0.1, 100)), "vecchia")
  anew <- preconditioner_maker(gp_control(), data, model)
  theta <- c(1, 0.1, 100)
  expect_identical(anew(iterative_system(product, data, model, theta), theta)$type, "pivoted_cholesky")
})

test_that("a preconditioner can be saved by saveRDS() and read again", {
  withr::local_seed(9)
  case <- rough_problem(50)
  precond <- kernel_preconditioner(rough(), "b", case$input, 0.1, "vecchia", rank = 5)
  again <- unserialize(serialize(precond, NULL))
  expect_identical(sparse_solver(again)(case$b), sparse_solver(precond)(case$b))
})

test_that("the sparse inverse is chosen for rough fields, but not for smooth fields or much noise", {
  withr::local_seed(10)
  x <- matrix(runif(600), 300)
  chosen <- function(covariance, lambda) {
    model <- covariance_model(covariance, 2)
    product <- covariance_product(model, 1L, "float64", "cpu")
    best_preconditioner(kernel_system(product, "b", list(theta = model$parameters$value, x = x, y = x), lambda))
  }
  expect_identical(chosen(exponential(1, 0.1), 0.01), "vecchia")
  expect_identical(chosen(exponential(1, 0.1), 100), "pivoted_cholesky")
  expect_identical(chosen(squared_exponential(1, 0.5), 0.01), "pivoted_cholesky")
})

test_that("iterative fits have the likelihood of exact fits with each preconditioner", {
  withr::local_seed(11)
  d <- smooth_case(300)
  covariances <- list(exponential(1, 0.3) + nugget(0.01),
                      matern(3/2, 1, 0.3, angle = 20, ratio = 0.5) + nugget(0.01))
  for (covariance in covariances) {
    fitted_by <- function(method, ...) {
      gp(z ~ 1, d, ~ a + b, covariance, method = method, estimate = "none", control = gp_control(...))
    }
    exact <- fitted_by("exact")
    for (precond in c("auto", "vecchia", "pivoted_cholesky")) {
      fit <- fitted_by("iterative", precond = precond)
      expect_lt(abs(fit$loglik - exact$loglik), 4 * fit$state$logdet_error / 2 + 1e-6)
      expect_equal(predict(fit, d[1:5, ] + 0.01), predict(exact, d[1:5, ] + 0.01), tolerance = 1e-5)
    }
  }
})

test_that("a preconditioner prints as a summary", {
  x <- as.matrix(expand.grid(1:6, 1:5))
  expect_snapshot(kernel_preconditioner(rough(), "b", list(s = 1, x = x, y = x), 1, "vecchia", rank = 10))
})

test_that("a modified preconditioner is refused", {
  withr::local_seed(12)
  case <- rough_problem(20)
  precond <- kernel_preconditioner(rough(), "b", case$input, 0.1, "vecchia", rank = 3)
  damage <- list(\(p) {p$order[2] <- 99L; p}, \(p) {p$order[2] <- NA; p}, \(p) {p$sets$neighbours[1, 5] <- 77L; p},
                 \(p) {p$columns$start[3] <- 1e9; p}, \(p) {p$columns$entry[3] <- -4L; p}, \(p) {p$sets$sd <- 1; p})
  for (change in damage) {
    expect_error(kernel_solve(rough(), "b", case$input, 0.1, precond = change(precond)), class = "kernops_error")
  }
})

points <- diag(3)[, 1:2]
test_mistakes("kernops_input_error", alist(
  `other points on each axis` = kernel_solve(rough(), "b", list(s = 1, x = points, y = 2 * points, b = 1:3), 1,
                                             precond = "vecchia"),
  `no neighbours` = kernel_solve(rough(), "b", list(s = 1, x = points, y = points, b = 1:3), 1, precond = "vecchia",
                                 rank = 0),
  `unknown preconditioner of a fit` = gp_control(precond = "ilu")
))
