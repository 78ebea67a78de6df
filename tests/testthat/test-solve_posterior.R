# Solves with the posterior precision of a field. Several right-hand sides that are solved together are compared with
# each right-hand side alone, and with base R.

precision_of <- function(n = 700, m = 6) {
  withr::local_seed(3)
  near <- matrix(vapply(seq_len(n), \(i) c(sample.int(i - 1, min(m, i - 1)), integer(m))[seq_len(m)], integer(m)), m)
  factor <- list(weights = matrix(runif(m * n, 0, 0.3), m) * (near > 0), sd = runif(n, 0.5, 2))
  U <- diag(n)
  U[cbind(col(near)[near > 0], near[near > 0])] <- -factor$weights[near > 0]
  list(posterior = kernops:::sparse_posterior(kernops:::sparse_pattern(near), factor), w = runif(n),
       Q = crossprod(U / factor$sd), b = matrix(rnorm(11 * n), n) * rep(10^(-5:5), each = n))
}

test_that("columns that are solved together have the solutions and steps of each column alone", {
  precision <- precision_of()
  b <- precision$b
  b[, 4] <- 0
  solve <- function(b, ...) precision$posterior$solve(precision$w, b, ...)
  expect_equal(unclass(solve(b)), base::solve(precision$Q + diag(precision$w), b), tolerance = 1e-10,
               ignore_attr = TRUE)
  alone <- lapply(seq_len(ncol(b)), \(k) solve(b[, k, drop = FALSE], tol = 1e-6))
  for (threads in c(1, 2)) {
    withr::local_options(kernops.threads = threads)
    together <- solve(b, tol = 1e-6)
    expect_identical(as.vector(together), unlist(lapply(alone, as.vector)))
    expect_identical(attr(together, "steps"), unlist(lapply(alone, attr, "steps")))
  }
  from <- unclass(solve(b))
  expect_identical(attr(solve(b, from, tol = 1e-6), "steps"), integer(11)) # the starting value is the solution
})

test_that("a number in one column that is not finite does not change the other columns", {
  precision <- precision_of(90)
  b <- precision$b
  whole <- precision$posterior$solve(precision$w, b)
  b[5, 2] <- NaN
  damaged <- precision$posterior$solve(precision$w, b)
  expect_identical(as.vector(damaged[, -2]), as.vector(whole[, -2]))
  expect_true(anyNA(damaged[, 2]))
})

test_that("products agree with the dense matrix, and the complete factor solves systems with this matrix", {
  precision <- precision_of(90)
  b <- precision$b
  dense <- precision$Q + diag(precision$w)
  expect_false(precision$posterior$has_factor())
  for (threads in c(1, 2)) {
    withr::local_options(kernops.threads = threads)
    expect_equal(precision$posterior$product(precision$w, b), dense %*% b, tolerance = 1e-12)
    expect_equal(precision$posterior$product(precision$w, b[, 1, drop = FALSE]), dense %*% b[, 1], tolerance = 1e-12)
  }
  complete <- precision_of(12, 11)
  dense <- complete$Q + diag(complete$w)
  complete$posterior$logdet(complete$w)
  expect_true(complete$posterior$has_factor())
  expect_equal(complete$posterior$precondition(complete$b), solve(dense, complete$b), tolerance = 1e-10)
  expect_equal(complete$posterior$precondition(complete$b[, 3, drop = FALSE]), cbind(solve(dense, complete$b[, 3])),
               tolerance = 1e-10)
})
