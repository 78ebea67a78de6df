# Matrices C with a row for each point and few entries in each row, such as indicators of levels, and their products
# with the sparse factor U of sets (solve_sets.R).

# `columns` has the numbers of columns of the entries of a point in a column, and `values` the entries; C has `size`
# columns. The result also has the functions
#   times(x), crossprod(x)  C x and C' x, for columns of x
#   means(sets)             the weighted sums of rows of C over the neighbours of each set, as neighbour_means()
#   gram(rows)              C' U' U C, for the rows of U
#   sparse_gram(rows, most) the same as a sparse_symmetric() matrix; NULL if it has more than `most` entries
#   adjoint(rows, by_gram)  of a function of these products with the symmetric matrix of derivatives `by_gram`, dense or
#                           sparse: its derivatives with respect to the `weights` of the rows of U and `log_sd`, the
#                           logarithms of their standard deviations
row_sparse <- function(columns, values, size) {
  storage.mode(columns) <- "integer"
  list(
    columns = columns, values = values, size = as.integer(size),
    times = function(x) effects_times(columns, values, as.matrix(x)),
    crossprod = function(x) effects_crossprod(columns, values, as.matrix(x), size),
    means = function(sets) effects_means(sets$weights, sets$neighbours, columns, values, size),
    gram = function(rows) effects_gram(rows, columns, values, size, threads()),
    sparse_gram = function(rows, most) {
      gram <- effects_sparse_gram(rows, columns, values, size, most, threads())
      if (length(gram)) do.call(sparse_symmetric, gram)
    },
    adjoint = function(rows, by_gram) {
      if (is.matrix(by_gram)) return(effects_adjoint(rows, columns, values, by_gram, threads()))
      effects_sparse_adjoint(rows, columns, values, by_gram$start, by_gram$row, by_gram$value, threads())
    }
  )
}
