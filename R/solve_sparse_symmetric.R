# Sparse symmetric matrices, and their Cholesky factors (src/neighbours/cholesky.h).

# The lower triangle of columns: the entries start[j] + 1 .. start[j + 1] of `row`, counted from 0, and of `value` are
# those of column j, from the diagonal on.
sparse_symmetric <- function(start, row, value) {
  structure(list(start = start, row = row, value = value), class = "sparse_symmetric")
}

# The columns of its entries, counted from 1.
column_of_entries <- function(x) rep.int(seq_along(x$start[-1]), diff(x$start))

# The block of rows and columns behind the first `known` ones, plus the identity matrix; the block of these rows and the
# first columns, and the matrix of the first ones, are dense.
split_symmetric <- function(x, known) {
  column <- column_of_entries(x)
  last <- x$start[[known + 1]]
  first <- seq_len(last)
  rest <- seq_along(x$row) > last
  own <- x$row[first] < known
  within <- matrix(0, known, known)
  within[cbind(x$row[first] + 1, column[first])[own, , drop = FALSE]] <- x$value[first][own]
  within <- within + t(within) - diag(diag(within), known)
  across <- matrix(0, length(x$start) - 1 - known, known)
  across[cbind(x$row[first] + 1 - known, column[first])[!own, , drop = FALSE]] <- x$value[first][!own]
  row <- x$row[rest] - known
  value <- x$value[rest] + (row == column[rest] - 1L - known)
  list(within = within, across = across,
       low = sparse_symmetric(x$start[-seq_len(known)] - last, row, value))
}

# The ordering of such a matrix for its factor, with the numbers of `entries` of the factor and of `operations`.
order_symmetric <- function(x) {
  ordered <- sparse_cholesky(x$start, x$row)
  list(held = ordered$pointer, entries = ordered$costs[[1]], operations = ordered$costs[[2]])
}

# The Cholesky factor with P x P' = L L'; NULL unless x is positive definite. A list of functions:
#   logdet()       log det x
#   solve(b)       x^-1 b
#   half(b), back(b)  L^-1 P b, and P' L'^-1 b
#   inverse()      the entries of the inverse where x has entries
#   variances()    its diagonal
#   forms(rows, values)  b' x^-1 b for sparse columns b: the values of each are in a column, with their rows, or 0
sparse_cholesky_factor_of <- function(x, ordered = order_symmetric(x)) {
  held <- ordered$held
  logdet <- sparse_cholesky_factor(held, x$value)
  if (is.nan(logdet)) return(NULL)
  inverse <- once(function() sparse_cholesky_inverse(held))
  solve_by <- function(b, half) sparse_cholesky_solve(held, as.matrix(b), half, threads())
  list(
    logdet = function() logdet, solve = function(b) solve_by(b, 0L), half = function(b) solve_by(b, 1L),
    back = function(b) solve_by(b, 2L), inverse = inverse,
    variances = function() inverse()[x$start[-length(x$start)] + 1L],
    forms = function(rows, values) sparse_cholesky_forms(held, rows, values, threads())
  )
}
