# Matrices C that have a row for each point and few entries in each row, such as indicators of levels, and products of C
# with the sparse factor U of solve_sets.R.

# Column i of `values` has the entries of C in the row of point i, and column i of `columns` has the columns of C to
# which these entries belong. C has `size` columns. The result also has the functions
#   times(x), crossprod(x)  C x and C' x, for columns of x
#   means(sets)             for each set, the weighted sum of the rows of C at its neighbours, see neighbour_means()
#   gram(rows)              C' U' U C, for the rows of U
#   sparse_gram(rows, most) C' U' U C as a sparse_symmetric() matrix; NULL if it has more than `most` entries
#   system(rows)            I + C' U' U C = D + F: the `diagonal` of D, the `square` of the Frobenius norm of
#                           D^-1/2 F D^-1/2, and product() and solve() of A = D^-1/2 (D + F) D^-1/2: scaled_system()
#   square_adjoint(rows, diagonal, pairs)  the derivatives of half the `square` if D is `diagonal`, see the C++ function
#                           effects_square_adjoint()
#   adjoint(rows, by_gram)  the derivatives of a function of C' U' U C with respect to `weights`, the weights in the
#                           rows of U, and `log_sd`, the logarithms of their standard deviations. `by_gram` has the
#                           derivatives of the function with respect to C' U' U C: a symmetric matrix, a
#                           sparse_symmetric() matrix, or the sum of a diagonal and (left right' + right left') / 2,
#                           minus the derivatives in `less`
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
    system = function(rows) {
      held <- effects_hold(rows, columns, values, size, threads())
      c(held[c("diagonal", "square")], scaled_system(held$pointer, held$diagonal))
    },
    square_adjoint = function(rows, diagonal, pairs) {
      effects_square_adjoint(rows, columns, values, diagonal, pairs, threads())
    },
    adjoint = function(rows, by_gram) {
      if (is.matrix(by_gram)) return(effects_adjoint(rows, columns, values, by_gram, threads()))
      if (!is.null(by_gram$left)) return(low_rank_adjoint(rows, columns, values, by_gram))
      effects_sparse_adjoint(rows, columns, values, by_gram$start, by_gram$row, by_gram$value, threads())
    }
  )
}

# A list of two functions: product(x) returns A x, and solve(b, tol) returns a list with the `solution` of A x = b.
scaled_system <- function(pointer, diagonal) {
  root <- sqrt(diagonal)
  product <- function(a, precision) effects_product(pointer, as.matrix(a) / root, threads()) / root
  system <- list(n = length(root), lambda = 0, precision = "float64", any_width = TRUE,
                 product = product)
  list(product = product, solve = function(b, tol) solve_system(system, b, NULL, tol, check = 0)["solution"])
}

# The result of adjoint() if `by_gram` has the low-rank form, computed for `width` columns of `left` and `right` at a
# time. Let a = U C left and b = U C right. Changes da and db change the function of C' U' U C by the sum of all entries
# of a db + b da, apart from the other terms of its derivatives.
low_rank_adjoint <- function(rows, columns, values, by_gram, width = 16) {
  size <- length(by_gram$diagonal)
  none <- seq_len(size)
  total <- effects_sparse_adjoint(rows, columns, values, c(0L, none), none - 1L, by_gram$diagonal, threads())
  sd <- rep(rows$sd, each = nrow(rows$weights))
  for (part in split(seq_len(ncol(by_gram$left)), (seq_len(ncol(by_gram$left)) - 1) %/% width)) {
    left <- effects_times(columns, values, by_gram$left[, part, drop = FALSE])
    right <- effects_times(columns, values, by_gram$right[, part, drop = FALSE])
    a <- sparse_multiply(rows, left)
    b <- sparse_multiply(rows, right)
    along <- factors_inner(rows$neighbours, t(a), t(right), threads()) +
      factors_inner(rows$neighbours, t(b), t(left), threads())
    total$weights <- total$weights - along / sd
    total$log_sd <- total$log_sd - 2 * rowSums(a * b)
  }
  if (is.null(by_gram$less)) return(total)
  list(weights = total$weights - by_gram$less$weights, log_sd = total$log_sd - by_gram$less$log_sd)
}
