# Predictions of processes that are the sum of a part with a sparse precision and a part with a low-rank covariance. The
# low-rank part comes from the inducing points of a VIF approximation (lik_vif.R), or from effects.

# The posterior of the coefficients of a low-rank part with the prior N(0, I): the mean; `low_root`, the upper
# triangular root of the precision; and `root`, the root of the joint precision of the coefficients of the trend and of
# the low-rank part. The precision of the other parts of the process is U' U. `gram` has the inner products of the
# columns of U [y Q C], where y is the response, the trend is Q r with an orthonormal Q of p columns, and C has the
# columns of the low-rank part. The columns of `root` for Q are multiplied by r, so that they belong to the coefficients
# of the trend.
coefficients_by_gram <- function(gram, p, r) {
  known <- seq_len(1 + p)
  gram <- gram + diag(rep(0:1, c(1 + p, nrow(gram) - 1 - p)), nrow(gram))
  low_root <- chol(gram[-known, -known, drop = FALSE])
  root <- chol(gram[-1, -1, drop = FALSE])
  if (p) root[, seq_len(p)] <- root[, seq_len(p), drop = FALSE] %*% regular_root(r)
  list(mean = backsolve(low_root, backsolve(low_root, gram[-known, 1], transpose = TRUE)), root = root,
       low_root = low_root)
}

# The triangular matrix r, with small diagonal entries replaced so that it is regular. r is singular if the observations
# do not determine the trend.
regular_root <- function(r) {
  diag(r) <- ifelse(abs(diag(r)) > 1e-12 * max(abs(r)), diag(r), 1e-12 * max(abs(r)))
  r
}

# The diagonal of U' (I - half half') U.
diagonal_beside_low_rank <- function(rows, half) {
  squares <- list(weights = -rows$weights^2, sd = rows$sd^2, neighbours = rows$neighbours)
  sparse_multiply(squares, rep(1, nrow(half)), transposed = TRUE) -
    rowSums(sparse_multiply(rows, half, transposed = TRUE)^2)
}

# The upper triangular factor of a positive definite matrix; NULL for other matrices.
chol_or_null <- function(x) tryCatch(chol(x), error = function(e) NULL)
