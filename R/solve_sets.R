# Conditional distributions of points given their neighbours, which are the rows of sparse inverse Cholesky factors of
# covariance matrices. A set is a point with its neighbours.

# Stores ordered points with their noise and values, and the neighbours of the last ncol(neighbours) points, as a C++
# object. Returns a function that returns this object. The object is kept between evaluations of the likelihood, so that
# the points are copied to a GPU once.
hold_sets <- function(points, noise, noise_derivative = noise, values = matrix(0, nrow(points), 0),
                      neighbours = matrix(0L, 0, 0)) {
  arguments <- list(points, noise, noise_derivative, values, neighbours)
  pointer <- NULL
  function() {
    if (is.null(pointer) || is_null_pointer(pointer)) pointer <<- do.call(sets_hold, c(arguments, threads()))
    pointer
  }
}

# Sums over all sets, in which at most `count` neighbours of each set are used: log det K, the inner products of the
# whitened columns of `values` and, with `derivatives`, the derivatives of these sums and twice the expected information
# on theta. All sums are in one vector `sums`, so that the vectors of several parts of the sets can be added. `bad` is
# the index of the first set whose covariance is not positive definite, or 0.
set_totals <- function(operators, theta, nugget, sets, derivatives, count) {
  wanted <- operators[c("values", if (derivatives) "derivatives")]
  sets_sums(lapply(wanted, live), unname(theta), c(nugget, 0L)[[1]], sets(), count, settings_of(operators$values))
}

# The results of set_totals() as a named list, for `size` columns of values and `parameters` parameters.
set_moments <- function(totals, size, parameters, derivatives) {
  if (totals$bad > 0) return(list(bad = totals$bad))
  number <- if (derivatives) parameters else 0L
  first <- seq_len(1 + size * (size + 1) / 2)
  changes <- matrix(totals$sums[length(first) + seq_len(length(first) * number)], length(first))
  sums <- list(bad = 0, logdet = totals$sums[[1]], gram = from_triangle(totals$sums[first[-1]], size))
  if (!derivatives) return(sums)
  c(sums, list(
    logdet_derivative = changes[1, ],
    gram_derivative = array(apply(changes[-1, , drop = FALSE], 2, from_triangle, size), c(size, size, number)),
    information = from_triangle(totals$sums[-seq_len(length(first) * (1 + number))], number)
  ))
}

# A symmetric matrix from the rows of its lower triangle.
from_triangle <- function(x, size) {
  full <- matrix(0, size, size)
  full[upper.tri(full, TRUE)] <- x
  full[lower.tri(full)] <- t(full)[lower.tri(full)]
  full
}

# The conditional distributions of the last ncol(neighbours) points given their neighbours: the rows of a sparse U with
# U K U' = I are (1, -weights) / sd. The diagonal of the covariance matrix, without the noise, is multiplied by
# `diagonal`.
set_weights <- function(values, theta, points, noise, neighbours, diagonal = 1) {
  result <- unnamed_weights(list(values = values), theta, points, noise, neighbours, diagonal)
  c(result, list(neighbours = neighbours))
}

# The derivatives of the weights (an array) and of log(sd) (a matrix) with respect to theta. The last dimension of the
# array and of the matrix is the set.
set_slopes <- function(operators, theta, points, noise, neighbours, diagonal = 1) {
  result <- unnamed_weights(operators, theta, points, noise, neighbours, diagonal)
  list(weights = result$weights[, -1, , drop = FALSE], log_sd = result$sd[-1, , drop = FALSE])
}

unnamed_weights <- function(operators, theta, points, noise, neighbours, diagonal) {
  sets_weights(lapply(operators, live), unname(theta), points, noise, diagonal, neighbours,
               settings_of(operators$values))
}

# The conditional distributions of `points`, which have no noise and are not stored, given neighbours among the points
# in `stored`, a result of hold_sets().
set_weights_at <- function(values, theta, stored, points, neighbours, diagonal = 1) {
  result <- sets_weights_at(list(values = live(values)), unname(theta), stored(), points, diagonal, neighbours,
                            settings_of(values))
  c(result, list(neighbours = neighbours))
}

# One of the products U x, U' x, U^-1 x and U'^-1 x, for each column of x.
sparse_multiply <- function(sets, x, inverse = FALSE, transposed = FALSE) {
  columns <- t(as.matrix(x)) # a column for each point
  t(if (inverse) sets_colour(sets$weights, sets$sd, sets$neighbours, columns, transposed) else {
    sets_whiten(sets$weights, sets$sd, sets$neighbours, columns, transposed, threads())
  })
}

# For each set, the weighted sum of the rows of x at the neighbours of the set. If the number `points` is given, returns
# the result of the transposed operation: for each point, the weighted sum of the rows of x that belong to sets in which
# the point is a neighbour.
neighbour_means <- function(sets, x, points = NULL) {
  if (is.null(points)) return(sets_means(sets$weights, sets$neighbours, as.matrix(x)))
  sets_scatter(sets$weights, sets$neighbours, as.matrix(x), points)
}
