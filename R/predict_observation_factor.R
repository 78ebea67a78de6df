# The inverse covariance matrix of the observations, from its sparse factor by Vecchia's approximation. This file is for
# fits whose base points (predict_base.R) are observations.

# The sparse factor of the inverse covariance matrix of the observations, and the order of the observations.
observation_sets <- function(object, m) {
  data <- object$data
  values <- sets_covariance(object)
  how <- replace(object$how, "backend", list(values))
  sets <- vecchia_sets(data, object$model, object$theta, min(m, length(data$y) - 1L), how, orthonormal_trend(data))
  noise <- noise_variance(data, object$model, object$theta)[sets$order]
  factor <- set_weights(values, object$theta, sets$points, noise, sets$neighbours)
  c(factor, list(order = sets$order))
}

# The coefficients of the trend for each column of `values`, which replaces the observations. The coefficients are
# computed by generalised least squares with the sparse factor.
trend_by_neighbours <- function(object, values) {
  x <- object$data$x
  if (!ncol(x)) return(matrix(0, 0, ncol(values)))
  sets <- observation_sets(object, object$vecchia$m)
  white <- sparse_multiply(sets, cbind(x, values)[sets$order, , drop = FALSE])
  trend <- seq_len(ncol(x))
  root <- chol(crossprod(white[, trend, drop = FALSE]))
  across <- crossprod(white[, trend, drop = FALSE], white[, -trend, drop = FALSE])
  backsolve(root, backsolve(root, across, transpose = TRUE))
}

# The function inverse() of new_conditioning(), computed with the sparse factor of the inverse covariance matrix.
sparse_inverse <- function(object) UseMethod("sparse_inverse")

sparse_inverse.default <- function(object) {
  sets <- observation_sets(object, object$vecchia$local)
  data <- object$data
  order <- sets$order
  both <- cbind(process_of_data(object), data$x)[order, , drop = FALSE]
  back <- sparse_multiply(sets, sparse_multiply(sets, both), transposed = TRUE)[order(order), , drop = FALSE]
  squares <- list(weights = -sets$weights^2, sd = sets$sd^2, neighbours = sets$neighbours)
  z <- if (ncol(data$x)) t(backsolve(object$state$root, t(back[, -1, drop = FALSE]), transpose = TRUE)) else back[, -1]
  diagonal <- sparse_multiply(squares, rep(1, length(order)), transposed = TRUE)
  list(alpha = back[, 1], z = z, diagonal = diagonal[order(order)])
}
