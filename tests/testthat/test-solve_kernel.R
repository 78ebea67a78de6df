# Iterative solutions of (K + lambda I) a = b, against dense solutions.

test_that("the solution agrees with the dense solution", {
  withr::local_seed(1)
  case <- problem(120)
  for_each_space(\(backend) for (lambda in list(0.1, 10, runif(120))) {
    fit <- kernel_solve(gaussian(backend = backend), "b", case$input, lambda, tol = 1e-12)
    expect_s3_class(fit, "kernel_solve")
    expect_close(fit$solution, dense(case, lambda), tolerance = 1e-8)
    expect_true(all(fit$converged))
  })
})

test_that("without lambda, the system of K itself is solved", {
  withr::local_seed(2)
  x <- as.matrix(expand.grid(1:6, 1:5))
  case <- list(input = list(s = 3, x = x, y = x, b = uniform(30)), K = exp(-3 * as.matrix(dist(x))^2))
  case$b <- case$input$b
  fit <- kernel_solve(gaussian(), "b", case$input, tol = 1e-12)
  expect_close(fit$solution, dense(case, 0), tolerance = 1e-8)
})

test_that("reported residuals agree with the solution, are below tol, and have a history from step 0", {
  withr::local_seed(3)
  case <- problem(100, 3)
  fit <- kernel_solve(gaussian(3), "b", case$input, 0.5, tol = 1e-7)
  expect_equal(as.vector(fit$residual), residuals_of(case, fit$solution, 0.5), tolerance = 1e-4)
  expect_true(all(fit$residual <= 1e-7))
  expect_identical(dim(fit$history), c(max(fit$iterations) + 1L, 3L))
  expect_equal(unname(fit$history[1, ]), c(1, 1, 1))
  expect_gt(max(fit$iterations), 3)
})

test_that("columns converge separately, with the results of single columns", {
  withr::local_seed(4)
  case <- problem(80, 4)
  case$input$b[, 2:3] <- case$b[, 2:3] <- eigen(case$K, symmetric = TRUE)$vectors[, 1:2]
  for_each_space(\(backend) for (method in c("cg", "minres")) {
    solve_it <- \(op, b) kernel_solve(op, "b", replace(case$input, "b", list(b)), 0.3, tol = 1e-9, method = method)
    together <- solve_it(gaussian(4, backend = backend), case$b)
    steps <- colSums(together$history > 1e-9)
    expect_lt(max(steps[2:3]), min(steps[-(2:3)]))
    for (column in 1:4) {
      alone <- solve_it(gaussian(backend = backend), case$b[, column])
      expect_close(together$solution[, column, drop = FALSE], alone$solution, tolerance = 1e-7)
      expect_lte(abs(steps[column] - alone$iterations), 1)
    }
  })
})

test_that("the product gets fewer columns as columns converge", {
  withr::local_seed(12)
  case <- problem(60, 3)
  case$b[, 2:3] <- eigen(case$K, symmetric = TRUE)$vectors %*% cbind(1:60 == 1, 1:60 < 6)
  for_each_space(function(backend) {
    system <- system_of(case, 0.3, backend = backend)
    product <- system$product
    widths <- NULL
    system$product <- function(a, ...) {
      widths <<- c(widths, ncol(a))
      product(a, ...)
    }
    system$space$worth_leaving <- vector_space()$worth_leaving
    fit <- solve_system(system, system$space$copy(case$b), tol = 1e-9)
    expect_true(all(c(3, 2, 1) %in% widths))
    expect_false(is.unsorted(rev(widths[-length(widths)])))
    expect_close(as.matrix(fit$solution), dense(case, 0.3), tolerance = 1e-7)
  })
})

test_that("b may have more columns than declared, unless the formula reads several columns", {
  withr::local_seed(13)
  case <- problem(30, 3)
  expect_close(kernel_solve(gaussian(), "b", case$input, 0.5, tol = 1e-12)$solution, dense(case, 0.5), tolerance = 1e-8)
  weights <- "Concat(Elem(b, 0) * Exp(-s * SqDist(x, y)), Elem(b, 1) * Exp(-3 * s * SqDist(x, y)))"
  op <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", weights), c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(2)"))
  case$input$b <- case$b[, 1:2]
  fit <- kernel_solve(op, "b", case$input, 0.5, tol = 1e-12)
  expect_close(fit$solution[, 1, drop = FALSE], dense(case, 0.5)[, 1], tolerance = 1e-8)
  expect_close(fit$solution[, 2, drop = FALSE], solve(case$K^3 + 0.5 * diag(30), case$b[, 2]), tolerance = 1e-8)
  expect_error(kernel_solve(op, "b", replace(case$input, "b", list(case$b)), 0.5), class = "kernops_input_error")
})

test_that("a right-hand side of zeros has a solution of zeros", {
  withr::local_seed(5)
  case <- problem(40, 2)
  case$input$b[, 1] <- 0
  fit <- kernel_solve(gaussian(2), "b", case$input, 0.5)
  expect_identical(fit$solution[, 1], numeric(40))
  expect_true(all(fit$converged))
  expect_false(anyNA(fit$residual))
})

test_that("a system without points has an empty solution", {
  none <- kernel_solve(gaussian(), "b", list(s = 1, x = diag(2)[0, ], y = diag(2)[0, ], b = numeric()), 1)
  expect_identical(dim(none$solution), 0:1)
  expect_true(none$converged)
})

test_that("too few iterations give a warning and the best solution so far", {
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

test_that("a good starting value reduces the number of iterations", {
  withr::local_seed(7)
  case <- problem(100)
  cold <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-8)
  warm <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-6, x0 = cold$solution)
  near <- kernel_solve(gaussian(), "b", case$input, 0.1, tol = 1e-8, x0 = cold$solution * 1.001)
  expect_equal(max(warm$iterations), 0)
  expect_lt(max(near$iterations), max(cold$iterations))
  expect_close(near$solution, cold$solution, tolerance = 1e-6)
})

test_that("a float32 system is solved to the tolerance in float64", {
  withr::local_seed(8)
  case <- problem(100)
  for_each_space(\(backend) for (tol in c(1e-5, 1e-12)) {
    fit <- kernel_solve(gaussian(precision = "float32", backend = backend), "b", case$input, 1, tol = tol)
    expect_lt(residuals_of(case, fit$solution, 1), 2 * tol)
    expect_equal(fit$residual, residuals_of(case, fit$solution, 1), tolerance = 0.01)
  })
})

test_that("a tolerance that float32 cannot reach gives a warning", {
  withr::local_seed(14)
  case <- problem(100)
  hopeless <- \() kernel_solve(gaussian(precision = "float32"), "b", case$input, 1e-5, tol = 1e-10, maxit = 400)
  expect_warning(fit <- hopeless(), class = "kernops_not_converged")
  expect_equal(fit$residual, residuals_of(case, fit$solution, 1e-5), tolerance = 1e-4)
})

test_that("names of the solution agree with the right-hand side", {
  withr::local_seed(15)
  case <- problem(10, 2)
  dimnames(case$input$b) <- list(letters[1:10], c("u", "v"))
  rownames(case$input$x) <- LETTERS[1:10]
  fit <- kernel_solve(gaussian(), "b", case$input, 1)
  expect_identical(dimnames(fit$solution), dimnames(case$input$b))
  expect_named(fit$residual, c("u", "v"))
  expect_identical(colnames(fit$history), c("u", "v"))
})

test_that("the product with K may be a sum over i", {
  withr::local_seed(9)
  case <- problem(50)
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vi(1)")
  over_i <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 0)", args)
  fit <- kernel_solve(over_i, "b", case$input, 0.2, tol = 1e-12)
  expect_close(fit$solution, dense(case, 0.2), tolerance = 1e-8)
})

test_that("right-hand sides may have any size that doubles can represent", {
  withr::local_seed(12)
  case <- problem(30, 4)
  sizes <- c(1e-300, 1e-160, 1e160, 1e300)
  wide <- replace(case$input, "b", list(sweep(case$b, 2, sizes, "*")))
  for_each_space(\(backend) for (method in c("cg", "minres")) {
    fit <- kernel_solve(gaussian(4, backend = backend), "b", wide, 0.2, tol = 1e-12, method = method)
    expect_true(all(fit$converged))
    expect_close(sweep(as.matrix(fit$solution), 2, sizes, "/"), dense(case, 0.2), tolerance = 1e-8)
    narrow <- kernel_solve(gaussian(4, precision = "float32", backend = backend), "b",
                           replace(case$input, "b", list(case$b * 1e-60)), 0.2, tol = 1e-9, method = method)
    expect_close(narrow$solution * 1e60, dense(case, 0.2), tolerance = 1e-6)
  })
})

test_that("a system without points has an empty solution with each preconditioner", {
  none <- list(s = 8, x = matrix(0, 0, 2), y = matrix(0, 0, 2), b = numeric())
  for (precond in c("none", preconditioner_types)) {
    expect_identical(dim(kernel_solve(gaussian(), "b", none, 1, precond = precond)$solution), c(0L, 1L))
  }
})

test_that("the variable is selected by name or position", {
  case <- problem(20)
  by_name <- kernel_solve(gaussian(), "b", case$input, 5)
  expect_identical(kernel_solve(gaussian(), 4, case$input, 5)$solution, by_name$solution)
  expect_identical(kernel_solve(gaussian(), 4, case$input, 5)$problem$b_name, "b")
  precond <- kernel_preconditioner(gaussian(), 4, case$input, 5)
  expect_lte(kernel_solve(gaussian(), 4, case$input, 5, precond = precond)$iterations, by_name$iterations)
})

test_that("the result prints as a summary", {
  withr::local_seed(11)
  case <- problem(20)
  rounded <- \(lines) gsub("[0-9.]+e-[0-9]+", "<small>", lines)
  expect_snapshot(print(kernel_solve(gaussian(), "b", case$input, 5)), transform = rounded)
})

tiny <- list(s = 8, x = diag(2), y = diag(2), b = 1:2)
solve_tiny <- \(..., var = "b", input = tiny) kernel_solve(gaussian(), var, input, ...)
negative <- keops_kernel("Sum_Reduction(-(x|y) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
test_mistakes("kernops_input_error", alist(
  `tol of 0` = solve_tiny(tol = 0),
  `missing tol` = solve_tiny(tol = NA),
  `tol in words` = solve_tiny(tol = "small"),
  `two values of tol` = solve_tiny(tol = c(1e-3, 1e-6)),
  `negative maxit` = solve_tiny(maxit = -1),
  `fractional maxit` = solve_tiny(maxit = 2.5),
  `missing maxit` = solve_tiny(maxit = NA),
  `negative lambda` = solve_tiny(lambda = -1),
  `infinite lambda` = solve_tiny(lambda = Inf),
  `unknown variable` = solve_tiny(var = "z"),
  `a parameter as the variable` = solve_tiny(var = "s"),
  `the position of a parameter` = solve_tiny(var = 1),
  `a position too large` = solve_tiny(var = 5),
  `missing variable` = solve_tiny(input = tiny[-2]),
  `missing right-hand side` = solve_tiny(input = replace(tiny, "b", list(c(1, NA)))),
  `matrix that is not positive definite` = kernel_solve(negative, "b", tiny[-1]),
  `matrix that is not positive definite, for several columns` =
    kernel_solve(keops_kernel("Sum_Reduction(-(x|y) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(2)")), "b",
                 list(x = diag(2), y = diag(2), b = diag(2) + 1)),
  `missing parameter` = solve_tiny(input = replace(tiny, "s", NA)),
  `missing parameter, for MINRES` = solve_tiny(input = replace(tiny, "s", NA), method = "minres"),
  `missing parameter, with a start` = solve_tiny(input = replace(tiny, "s", NA), x0 = 1:2),
  `no operator` = kernel_solve(sum, "b", tiny),
  `lambda of the wrong length` = solve_tiny(1:3),
  `negative lambda of a point` = solve_tiny(c(1, -1)),
  `infinite lambda, for MINRES` = solve_tiny(Inf, method = "minres"),
  `unknown method` = solve_tiny(method = "gmres"),
  `unknown preconditioner` = solve_tiny(precond = "ilu"),
  `preconditioner for MINRES` = solve_tiny(precond = "jacobi", method = "minres"),
  `preconditioner that is a function` = solve_tiny(precond = solve),
  `no method` = solve_tiny(method = character()),
  `rank of 0` = solve_tiny(precond = "nystrom", rank = 0),
  `start that is not finite` = solve_tiny(x0 = c(1, Inf))
))
test_mistakes("kernops_dim_error", alist(
  `start of the wrong size` = solve_tiny(x0 = 1:3),
  `right-hand side of other points` = solve_tiny(input = replace(tiny, "b", list(1:3))),
  `no right-hand side` = solve_tiny(input = replace(tiny, "b", list(NULL))),
  `start in words` = solve_tiny(x0 = c("a", "b")),
  `points that are not those of b` = solve_tiny(input = replace(tiny, "x", list(diag(3)[, 1:2])))
))
