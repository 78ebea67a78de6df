# The coefficients of effects, computed from a sparse Cholesky factor of their precision S.

# Splits the matrix of products at column `known`, and adds the fill-reducing ordering of S.
with_order <- function(gram, known) {
  gram$parts <- gram$split(known)
  gram$ordered <- gram$parts$low$order()
  gram
}

solve_effects.sparse_symmetric <- function(gram, known) {
  parts <- gram$parts
  factor <- gram$ordered$factor()
  if (is.null(factor)) return(NULL)
  along <- factor$solve(parts$across)
  left <- parts$within - crossprod(parts$across, along)
  left <- (left + t(left)) / 2
  list(logdet = factor$logdet(), along = along, gram = left,
       by_gram = function(by_known) sparse_adjoint_of_products(gram, factor, along, by_known),
       joint = function(r) joint_by_parts(factor, along[, -1, drop = FALSE], left[-1, -1, drop = FALSE], r))
}

# The result of adjoint_of_products(), computed only at the entries of the sparse products.
sparse_adjoint_of_products <- function(gram, factor, coefficients, by_known) {
  known <- nrow(by_known)
  last <- gram$start[[known + 1]]
  value <- c(numeric(last), factor$inverse())
  back <- rbind(diag(known), -coefficients)
  image <- back %*% by_known
  column <- gram$columns()
  for (k in seq_len(known)) value <- value + image[gram$row + 1L, k] * back[column, k]
  gram$with(value)
}

# The result of joint(), computed from the factor of S. The coefficients of the trend X R have the precision R' left R.
# Given these coefficients, the mean of the other coefficients changes by -`coefficients` R times the coefficients of X
# R.
joint_by_parts <- function(factor, coefficients, left, r) {
  p <- ncol(coefficients)
  root <- if (p) chol(left) %*% regular_root(r) else left
  coefficients <- coefficients %*% r
  by_trend <- function(b) if (p) backsolve(root, b, transpose = TRUE) else b
  first <- seq_len(p)
  list(
    half = function(b) {
      low <- rows_behind(b, p)
      rbind(by_trend(b[first, , drop = FALSE] - crossprod(coefficients, low)), factor$half(low))
    },
    draw = function(nsim) {
      z <- normal_numbers(p + nrow(coefficients), nsim)
      trend <- if (p) backsolve(root, z[first, , drop = FALSE]) else z[first, , drop = FALSE]
      rbind(trend, factor$back(rows_behind(z, p)) - coefficients %*% trend)
    },
    determined = function(rows) {
      sum(1 - factor$variances()[rows]) - if (p) sum(by_trend(t(coefficients[rows, , drop = FALSE]))^2) else 0
    },
    forms = function(x, trend, rows, values) {
      explained <- vapply(first, function(j) colSums(values * c(0, coefficients[, j])[rows + 1L]), numeric(ncol(rows)))
      gap <- by_trend(x - t(matrix(explained, ncol(rows))))
      list(variance = factor$forms(rows, values) + colSums(gap^2), lagrange = colSums(by_trend(trend) * gap))
    }
  )
}

# The method of sum_of_blocks() for sparse matrices. The entries of a block are in the sparsity pattern if the
# coefficients of the block are observed together.
sum_of_blocks.sparse_symmetric <- function(x, before, size, count) {
  entries <- x$start[[before + 1]] + seq_len(x$start[[before + size * count + 1]] - x$start[[before + 1]])
  row <- x$row[entries] - before
  column <- x$columns()[entries] - 1 - before
  same <- row %/% size == column %/% size
  total <- matrix(0, size, size)
  sums <- rowsum(x$value[entries][same], (row %% size + size * (column %% size))[same])
  total[as.integer(rownames(sums)) + 1] <- sums
  total + t(total) - diag(diag(total), size)
}

# The method of sum_of_blocks() for matrices with a dense border. The rows of an effect are either all in the border or
# all sparse.
sum_of_blocks.bordered_matrix <- function(x, before, size, count) {
  in_border <- (before + 1) %in% x$dense
  rows <- if (in_border) x$dense else x$others
  sum_of_blocks(if (in_border) x$border else x$sparse, match(before + 1, rows) - 1, size, count)
}
