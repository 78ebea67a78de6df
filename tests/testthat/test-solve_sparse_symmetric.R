# Sparse symmetric matrices and their Cholesky factors, against dense algebra.

# A random positive definite matrix whose lower triangle has about `each` entries per column.
sparse_case <- function(n, each, seed = 1) {
  withr::local_seed(seed)
  S <- matrix(0, n, n)
  for (j in seq_len(n)) {
    rows <- sample(n, min(n, each))
    S[rows, j] <- rnorm(length(rows))
  }
  S <- crossprod(S) * outer(seq_len(n), seq_len(n), \(i, j) abs(i - j) < n / 2) + 3 * each * diag(n)
  used <- which(S != 0 & lower.tri(S, TRUE), arr.ind = TRUE)
  start <- cumsum(c(0L, tabulate(used[, 2], n)))
  list(dense = S, used = used,
       sparse = kernops:::sparse_symmetric(as.integer(start), as.integer(used[, 1] - 1), S[used]))
}

test_that("the factor, solutions, the inverse and quadratic forms agree with dense algebra", {
  for (n in c(1, 2, 7, 60, 300)) for (each in c(1, 2, 4)) {
    case <- sparse_case(n, each)
    factor <- case$sparse$order()$factor()
    inverse <- solve(case$dense)
    b <- matrix(rnorm(3 * n), n)
    expect_equal(factor$logdet(), as.numeric(determinant(case$dense)$modulus), tolerance = 1e-12)
    expect_equal(factor$solve(b), inverse %*% b, tolerance = 1e-10)
    expect_equal(crossprod(factor$half(b)), t(b) %*% inverse %*% b, tolerance = 1e-10)
    expect_equal(tcrossprod(factor$back(diag(n))), inverse, tolerance = 1e-10)
    expect_equal(factor$inverse(), inverse[case$used], tolerance = 1e-10)
    expect_equal(factor$variances(), diag(inverse), tolerance = 1e-10)
    rows <- matrix(sample(0:n, 12, TRUE), 3)
    columns <- vapply(1:4, \(k) rowSums(outer(seq_len(n), rows[, k], `==`) * rep(c(1, -2, 0.5), each = n)), numeric(n))
    expect_equal(factor$forms(rows, matrix(c(1, -2, 0.5), 3, 4)),
                 diag(t(matrix(columns, n)) %*% inverse %*% matrix(columns, n)), tolerance = 1e-10)
  }
})

test_that("the predicted numbers of entries and of operations agree with the factor", {
  arrow <- kernops:::sparse_symmetric(c(0L, 5L, 6L, 7L, 8L, 9L), c(0:4, 1:4), c(9, 1, 1, 1, 1, 3, 3, 3, 3))
  ordered <- arrow$order() # the dense row is eliminated last
  expect_identical(c(ordered$entries, ordered$operations), c(9, 4 * 2^2 + 1))
})

test_that("a matrix can be split into its first rows and the other rows", {
  case <- sparse_case(9, 3)
  parts <- case$sparse$split(2)
  expect_equal(parts$within, case$dense[1:2, 1:2])
  expect_equal(parts$across, case$dense[-(1:2), 1:2])
  factor <- parts$low$order()$factor()
  expect_equal(factor$solve(diag(7)), solve(case$dense[-(1:2), -(1:2)] + diag(7)), tolerance = 1e-10)
})

test_that("a matrix that is not positive definite has no factor, and input is checked", {
  expect_null(kernops:::sparse_symmetric(0:2, 0:1, c(1, -1))$order()$factor())
  expect_null(kernops:::sparse_symmetric(c(0L, 2L, 3L), c(0L, 1L, 1L), c(1, 2, 1))$order()$factor())
  expect_error(kernops:::sparse_cholesky(c(0L, 1L), c(0L, 1L)), "each column has rows")
  expect_error(kernops:::sparse_cholesky(0:2, c(0L, 0L)), "ascending rows from the diagonal on")
  held <- kernops:::sparse_cholesky(0:2, 0:1)$pointer
  expect_error(kernops:::sparse_cholesky_inverse(held, 1L), "the matrix has no factor yet")
  expect_error(kernops:::sparse_cholesky_factor(held, 1, 1L), "each entry has a value")
  kernops:::sparse_cholesky_factor(held, c(1, 1), 1L)
  expect_error(kernops:::sparse_cholesky_solve(held, matrix(1, 3, 1), 0L, 1L), "each column of the matrix has a number")
  expect_error(kernops:::sparse_cholesky_forms(held, matrix(3L, 1, 1), matrix(1, 1, 1), 1L), class = "kernops_error")
  expect_error(kernops:::sparse_cholesky_forms(held, matrix(1L, 1, 1), matrix(1, 2, 1), 1L), "each row has a value")
})
