# Sparse symmetric matrices, and their Cholesky factors (src/neighbours/cholesky.h).

# The lower triangle by columns: the entries start[j] + 1 .. start[j + 1] of `row`, counted from 0, and of `value`
# belong to column j, starting with the diagonal. The result also has the functions
#   columns()     the columns of the entries, counted from 1
#   diagonal(value)  the entries of another vector `value` on the diagonal
#   with(value)   the matrix with another vector `value`
#   split(known)  the matrix `within` of the first `known` rows and columns and the block `across` of the other rows and
#                 these columns, both dense, and the sparse matrix `low` of the other rows and columns plus the identity
#                 matrix
#   order()       an ordering for the factor, see ordered_symmetric()
sparse_symmetric <- function(start, row, value) {
  columns <- function() rep.int(seq_along(start[-1]), diff(start))
  x <- list(
    start = start, row = row, value = value, columns = columns,
    diagonal = function(value) value[start[-length(start)] + 1L],
    with = function(value) sparse_symmetric(start, row, value),
    split = function(known) split_symmetric(x, known), order = function() ordered_symmetric(x)
  )
  class(x) <- "sparse_symmetric"
  x
}

split_symmetric <- function(x, count) {
  column <- x$columns()
  last <- x$start[[count + 1]]
  first <- seq_len(last)
  rest <- seq_along(x$row) > last
  inside <- x$row[first] < count
  cells <- cbind(x$row[first] + 1, column[first])
  within <- matrix(0, count, count)
  within[cells[inside, , drop = FALSE]] <- x$value[first][inside]
  within <- within + t(within) - diag(diag(within), count)
  across <- matrix(0, length(x$start) - 1 - count, count)
  across[cbind(cells[, 1] - count, cells[, 2])[!inside, , drop = FALSE]] <- x$value[first][!inside]
  row <- x$row[rest] - as.integer(count)
  value <- x$value[rest] + (row == column[rest] - 1L - count)
  list(within = within, across = across, low = sparse_symmetric(x$start[-seq_len(count)] - last, row, value))
}

# An ordering for which the factor has few entries: the number of `entries` of the factor, the number of `operations`
# that compute the factor, and factor(), which is NULL unless x is positive definite. With P x P' = L L', a factor is a
# list of functions:
#   logdet()          log det x
#   solve(b)          x^-1 b
#   half(b), back(b)  L^-1 P b, and P' L'^-1 b
#   inverse()         the entries of the inverse where x has entries
#   variances()       the diagonal of the inverse
#   forms(rows, values)  b' x^-1 b for sparse columns b: a column of `values` has the entries of b, and a column of
#                     `rows` their rows; 0 for no entry
ordered_symmetric <- function(x) {
  ordered <- sparse_cholesky(x$start, x$row)
  held <- ordered$pointer
  solve_by <- function(b, half) sparse_cholesky_solve(held, as.matrix(b), half, threads())
  factor <- function() {
    logdet <- sparse_cholesky_factor(held, x$value, threads())
    if (is.nan(logdet)) return(NULL)
    inverted <- NULL
    inverse <- function() inverted <<- inverted %||% sparse_cholesky_inverse(held, threads())
    list(
      logdet = function() logdet, solve = function(b) solve_by(b, 0L), half = function(b) solve_by(b, 1L),
      back = function(b) solve_by(b, 2L), inverse = inverse, variances = function() x$diagonal(inverse()),
      forms = function(rows, values) sparse_cholesky_forms(held, rows, values, threads())
    )
  }
  list(entries = ordered$costs[[1]], operations = ordered$costs[[2]], factor = factor)
}
