# Products, Cholesky factors, solves and inverses against base R, for sizes around the size of a tile.

for_each_isa <- function(body) {
  for (isa in c("", "baseline")) for (threads in 1:3) body(list(isa = isa, threads = threads))
}
positive_definite <- \(n) crossprod(matrix(rnorm(n * (n + 5)), n + 5)) / n

test_that("products agree with base R", {
  withr::local_seed(3)
  for_each_isa(function(settings) {
    for (n in c(0, 1, 7, 130, 1100)) for (k in c(1, 20, 300)) for (p in c(1, 3, 140)) {
      a <- matrix(rnorm(n * k), n, k)
      b <- matrix(rnorm(n * p), n, p)
      C <- matrix(rnorm(min(k, 15) * p), ncol = p)
      expect_close(kernops:::block_inner(a, b, settings), crossprod(a, b))
      expect_close(kernops:::block_combine(a, C, settings), a[, seq_len(nrow(C)), drop = FALSE] %*% C)
    }
  })
})

test_that("the factor, solves and inverse agree with base R", {
  withr::local_seed(1)
  for_each_isa(function(settings) for (n in c(1, 2, 127, 128, 129, 300)) {
    A <- positive_definite(n)
    L <- A + 0
    expect_identical(kernops:::factor_matrix(L, numeric(n), settings), 0)
    expect_close(L * lower.tri(L, TRUE), t(chol(A)))
    b <- matrix(rnorm(3 * n), n)
    solved <- function(transposed) kernops:::factor_apply_inverse(L, b, transposed, settings)
    expect_close(solved(FALSE), forwardsolve(t(chol(A)), b), tolerance = 1e-9)
    expect_close(solved(TRUE), backsolve(chol(A), b), tolerance = 1e-9)
    expect_close(kernops:::factor_times(L, b), t(chol(A)) %*% b)
    diagonal <- kernops:::factor_diagonal_of_inverse(L, settings)
    expect_close(matrix(diagonal), diag(chol2inv(chol(A))), tolerance = 1e-7)
    expect_close(L * lower.tri(L, TRUE), t(chol(A)))
    inverse <- kernops:::factor_invert(L, settings)
    expect_close(inverse * lower.tri(L, TRUE), chol2inv(chol(A)) * lower.tri(L, TRUE), tolerance = 1e-7)
  })
})

test_that("a factor has the same bits at any memory address", {
  withr::local_seed(4)
  A <- positive_definite(90)
  kept <- list()
  factor <- function(count, isa) {
    kept[[count]] <<- numeric(17 * count)
    L <- A + 0
    kernops:::factor_matrix(L, numeric(90), list(isa = isa, threads = 2L))
    L
  }
  for (isa in c("", "baseline")) {
    expected <- factor(1, isa)
    for (count in 2:30) expect_identical(factor(count, isa), expected)
  }
})

test_that("an error names the first pivot that is not positive", {
  withr::local_seed(2)
  A <- positive_definite(200)
  A[, 150] <- A[, 20]
  A[150, ] <- A[20, ]
  A[150, 150] <- A[20, 20] - 1
  expect_identical(kernops:::factor_matrix(A, numeric(200), list(threads = 2L)), 150)
  expect_identical(kernops:::factor_matrix(matrix(-1), 0, list()), 1)
})
