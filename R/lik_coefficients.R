# The coefficients b ~ N(0, I) of effects B L b in Vecchia's approximation. V is the covariance matrix of the field and
# the noise, and S = I + L' B' V^-1 B L is the precision of b given the data.
#
# solve_effects() computes the list below; the likelihood and predictions use only this list and no other part of S. The
# computation starts from the inner products of the columns [y X B L] with respect to V^-1. The first `known` columns
# belong to the response and the trend.
#
#   logdet          log det S
#   along           S^-1 L' B' V^-1 [y X]
#   gram            [y X]' (V + B L L' B')^-1 [y X], the inner products of y and X after b is integrated out
#   by_gram(by_known)  the derivatives of log det S + sum(by_known * gram) with respect to the products of all columns:
#                   a symmetric matrix, for the function adjoint() of row_sparse() and for sum_of_blocks()
#   joint(r)        the joint distribution of the coefficients of X R and of b given the data, for a matrix R; J is its
#                   precision, without a row for y
#
# The result of joint() is a list of functions. Each row of an argument belongs to a coefficient; the coefficients of
# the trend precede the coefficients of effects:
#   half(b)         a matrix whose inner products are b' J^-1 b
#   draw(nsim)      random columns with covariance J^-1
#   determined(rows)  the sum over the given coefficients of effects of 1 minus the diagonal of J^-1
#   width           the largest number of columns of half(), optional
#   forms(x, trend, rows, values)  for columns b, which have the weights x of the trend and sparse weights of the
#                   effects: the `variance` b' J^-1 b and `lagrange`, b' J^-1 (trend, 0); optional. See
#                   ordered_symmetric()
#
# The matrix of products has one of three kinds: dense; sparse_symmetric(), whose factor is sparse
# (lik_coefficients_sparse.R); or, if the factor would be too large, operator_of_products(), which has no factor
# (lik_coefficients_iterative.R) and whose `logdet` has the standard error `logdet_error`.

solve_effects <- function(gram, known) UseMethod("solve_effects")
sum_of_blocks <- function(x, before, size, count) UseMethod("sum_of_blocks")

# The matrix C' U' U C, where `entries` has the columns of C, in the form that takes the least time to factor or to
# solve with. A dense factor of up to `dense_coefficients` coefficients takes milliseconds. A floating-point operation
# in a sparse factorisation takes about `sparse_cost` times as long as in a dense factorisation. In measurements,
# computing a sparse factor with `most_operations` operations took some seconds, as long as solving the same system by
# conjugate gradients.
products_of_columns <- function(entries, rows, known, probes = NULL) {
  count <- entries$size - known
  if (count <= dense_coefficients) return(entries$gram(rows))
  if (isTRUE(probes$needed)) return(operator_of_products(entries, rows, known, probes))
  gram <- entries$sparse_gram(rows, most_products)
  if (!is.null(gram)) gram <- with_order(gram, known)
  operations <- gram$ordered$operations %||% Inf
  if (count <= most_coefficients && sparse_cost * operations > count^3 / 3) return(entries$gram(rows))
  if (operations <= most_operations) return(gram)
  if (!is.null(probes)) probes$needed <- TRUE
  operator_of_products(entries, rows, known, probes)
}

dense_coefficients <- 400
sparse_cost <- 2
most_products <- 5e6
most_operations <- 5e9

solve_effects.default <- function(gram, known) {
  sums <- sums_without(gram, known, 0)
  if (is.null(sums)) return(NULL)
  list(logdet = sums$logdet, along = sums$along, gram = sums$gram,
       by_gram = function(by_known) adjoint_of_products(sums, by_known),
       joint = function(r) joint_by_root(coefficients_by_gram(gram, known - 1, r)$root, known - 1))
}

# The result of joint(), computed from the upper triangular root of J, for p columns of the trend.
joint_by_root <- function(root, p) {
  list(half = function(b) backsolve(root, b, transpose = TRUE),
       draw = function(nsim) backsolve(root, normal_numbers(nrow(root), nsim)),
       determined = function(rows) sum(1 - diag(chol2inv(root))[p + rows]))
}

# The rows after the first p rows of a matrix x, or the elements after the first p elements of a vector x.
rows_behind <- function(x, p) {
  rows <- p + seq_len(NROW(x) - p)
  if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
}

# The derivatives of log det S with respect to relative changes of the covariance L L' of the coefficients of a level.
# The result is the symmetric matrix G for which sum(G * H) is the derivative for the change H = L^-1 d(L L') L'^-1.
gap_of_blocks <- function(x, before, size, count) UseMethod("gap_of_blocks")

gap_of_blocks.default <- function(x, before, size, count) count * diag(size) - sum_of_blocks(x, before, size, count)

# The sum of `count` diagonal blocks of `size` rows, after the first `before` rows.
sum_of_blocks.default <- function(x, before, size, count) {
  total <- matrix(0, size, size)
  for (k in seq_len(count)) {
    rows <- before + (k - 1) * size + seq_len(size)
    total <- total + x[rows, rows]
  }
  total
}
