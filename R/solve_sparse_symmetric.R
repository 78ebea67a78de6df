# Sparse symmetric matrices, and their Cholesky factors (src/neighbours/cholesky.h).

# The lower triangle of the matrix, stored by columns: elements start[j] + 1 to start[j + 1] of `row` and of `value` are
# the rows, counted from 0, and the values of the entries in column j. The first of these entries is on the diagonal.
# The result also has the functions
#   columns()     the column of each entry, counted from 1
#   diagonal(value)  the diagonal of the matrix if its entries are `value`
#   with(value)   the matrix with the entries `value`
#   split(known)  a list of three blocks: `within`, the first `known` rows and columns, a dense matrix; `across`, the
#                 other rows in the first `known` columns, a dense matrix; and `low`, the other rows and columns plus
#                 the identity matrix, a sparse matrix
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

# Computes an ordering for which the Cholesky factor of x has few entries. Returns a list of the number of `entries` of
# the factor, the number of `operations` that its computation requires, and factor(), which computes the factor and
# returns NULL if x is not positive definite. Let P x P' = L L' with the permutation matrix P of the ordering. A factor
# is a list of functions:
#   logdet()          log det x
#   solve(b)          x^-1 b
#   half(b), back(b)  L^-1 P b, and P' L'^-1 b
#   inverse()         the entries of the inverse at the positions where x has entries
#   variances()       the diagonal of the inverse
#   forms(rows, values)  b' x^-1 b for sparse columns b: a column of `values` has the entries of b, and the same column
#                     of `rows` has the rows of these entries; a row of 0 means no entry
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
