# A symmetric matrix K of n rows, on the host or on a GPU. A formula fills the matrix, and then the Cholesky factor L of
# K = L L' overwrites K.
#
# dense_factor(n, backend) allocates the matrix and returns a list of functions:
#   fill(values, theta, x, noise, before)  computes L for the matrix values(theta, x, x) + diag(noise) and returns 0, or
#                                  the index of the first row without a positive pivot. If the factor of the first
#                                  points is known, `before` is the result of its function numbers()
#   factorise(matrix, noise)       computes L for an R matrix plus diag(noise); the matrix is overwritten
#   numbers()                      L, as an R matrix or a matrix on the GPU, of which only the lower triangle is used
#   diagonal(), times(b)           the diagonal of L; L b
#   solve(b, transposed)           L^-1 b, or L^-T b
#   diagonal_of_inverse()          the diagonal of K^-1
#   hold(b)                        a copy of the numbers b on the device of K
#   explain(values, theta, x, u, b)  for k = values(theta, x, u), where x and b are results of hold(): a list of
#                                  `variance`, the column sums of (L^-1 k)^2, and `trend`, k' b
#   slope(operators, theta, x, left, right)  sum_ij W_ij dK_ij with W = K^-1 - left right'; overwrites L by K^-1
#   invert()                       overwrites L by K^-1
#   inverse_diagonal(), inverse_times(b)  the diagonal of K^-1; K^-1 b. These functions require that slope() or invert()
#                                         was called
#   rounding                       the rounding error of an entry of L, in machine epsilons
dense_factor <- function(n, backend = "cpu") {
  k <- factor_new(n, dense_device(n, backend))
  device <- block_device(k)
  list(
    hold = function(b) block_copy(b, device),
    numbers = function() k,
    factorise = function(matrix, noise) {
      k <<- matrix
      factor_matrix(k, noise, run_settings())
    },
    fill = function(values, theta, x, noise, before = NULL) {
      if (!is.null(before)) {
        longer <- extended_factor(before, live(values), theta, x, noise)
        if (is.matrix(longer)) k <<- longer
        return(if (is.matrix(longer)) 0 else longer)
      }
      covariance_fill(k, live(values), theta, x, run_settings())
      factor_matrix(k, noise, run_settings())
    },
    diagonal = function() factor_diagonal(k),
    times = function(b) factor_times(k, b),
    solve = function(b, transposed = FALSE) factor_apply_inverse(k, numbers_of(b), transposed, run_settings()),
    diagonal_of_inverse = function() factor_diagonal_of_inverse(k, run_settings()),
    explain = function(values, theta, x, u, b) {
      between <- covariance_block(k, live(values), theta, x, u, run_settings())
      trend <- if (ncol(b)) block_inner(between, b, run_settings())
      whitened <- factor_apply_inverse(k, between, FALSE, run_settings())
      list(variance = block_dots(whitened, whitened), trend = trend)
    },
    invert = function() factor_invert(k, run_settings()),
    slope = function(operators, theta, x, left, right) {
      factor_invert(k, run_settings())
      factor_weighted_derivatives(k, lapply(operators, live), theta, x, left, right, run_settings())
    },
    inverse_diagonal = function() factor_inverse_diagonal(k),
    inverse_times = function(b) factor_inverse_times(k, numbers_of(b)),
    rounding = factor_rounding(k)
  )
}

# The index of the GPU for a dense matrix of n rows; -1 for the host.
dense_device <- function(n, backend) factor_device(n, backend, first_device())

# The backend for dense matrices: `backend`, or "cpu" if no GPU can factor matrices.
dense_backend <- function(backend) if (nzchar(factor_problem(backend))) "cpu" else backend

# Extends `before`, the factor for the first points, to the factor for all points, on the host. Returns the factor, or
# the index of a row without a positive pivot.
extended_factor <- function(before, kernel, theta, x, noise) {
  settings <- run_settings()
  first <- seq_len(nrow(before))
  old <- x[first, , drop = FALSE]
  new <- x[-first, , drop = FALSE]
  across <- factor_apply_inverse(before, covariance_block(before, kernel, theta, old, new, settings), FALSE, settings)
  rest <- covariance_block(before, kernel, theta, new, new, settings) + diag(noise[-first], nrow(new))
  root <- tryCatch(chol(rest - crossprod(across)), error = function(e) NULL)
  if (is.null(root)) return(nrow(before) + 1L)
  k <- matrix(0, nrow(x), nrow(x))
  k[first, first] <- before[, first]
  k[-first, first] <- t(across)
  k[-first, -first] <- t(root)
  k
}
