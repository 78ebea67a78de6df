# Local kriging: a new point is conditioned on its nearest observations.

# local(u, m): the weights of the nearest `m` observations for the field at points u, and its conditional standard
# deviations, with covariances by `values`, of sets_covariance(), or by those that are given. A GPU copies the
# observations once.
local_sets <- function(values, data, model, theta) {
  near <- search_tree(neighbour_coordinates(model, theta, data$u))
  held <- hold_sets(data$u, noise_variance(data, model, theta))
  function(u, m, by = values) {
    from <- neighbour_coordinates(model, theta, u, reference = data$u)
    set_weights_at(by, theta, held, u, nearest_points(from, near, m))
  }
}

# The covariance of a fit as set_weights() takes it. A fit by another method has its precision for other sums.
sets_covariance <- function(object) {
  precision <- if (object$method == "vecchia") object$how$precision else "float64"
  covariance_matrix(object$model, precision, usable_backend(object$how$backend))
}

# f(points, sets) for chunks of the points of a fit, in order.
local_chunks <- function(object, u, f, width = 20000) {
  data <- object$data
  local <- local_sets(sets_covariance(object), data, object$model, object$theta)
  m <- local_count_of(object)
  by_chunks(u, width, function(at, new) {
    sets <- local(new, m)
    check_local(object, sets, new, function() local(new, m, covariance_matrix(object$model)))
    f(at, sets)
  })
}

# f(numbers, points) for chunks of points, in order, with a bar.
by_chunks <- function(u, width, f) {
  parts <- list()
  with_bar("Predicting", for (first in seq(1, by = width, length.out = ceiling(nrow(u) / width)))  {
    at <- first:min(nrow(u), first + width - 1)
    say_progress(step = paste("point", first, "of", nrow(u)), fraction = (first - 1) / nrow(u))
    parts[[length(parts) + 1]] <- f(at, u[at, , drop = FALSE])
  })
  parts
}

# How many observations a point is conditioned on; a fit by another method has not chosen yet.
local_count_of <- function(object) {
  n <- length(object$data$y)
  if (!is.null(object$vecchia$local)) return(min(object$vecchia$local, n))
  m <- neighbour_count(object$how$control, object$model$d, n)
  local_count(object$data, object$model, object$theta, min(2L * m, n), sets_covariance(object))
}

# Points whose own variance is not a number, such as the logarithm of what is negative, are not predicted.
check_local <- function(object, sets, u, in_float64) {
  bad <- which(!is.finite(colSums(sets$weights)))
  if (!length(bad)) return(invisible())
  own <- covariance_diagonal(object$model)(list(theta = object$theta, x = u[bad, , drop = FALSE]))
  if (!any(is.finite(own))) return(invisible())
  first <- bad[is.finite(own)][[1]]
  only_rounded <- function() {
    identical(object$how$precision, "float32") && is.finite(sum(in_float64()$weights[, first]))
  }
  stop_singular(list(data = object$data), singular_state(sets$neighbours[1, first], only_rounded), NULL)
}

# The process at new points and, if asked for, the variance of the field, trend included, and its Lagrange multiplier.
local_prediction <- function(object, points, variance = FALSE) {
  if (is_joint(object, nrow(points$u))) return(joint_prediction(object, points, variance))
  if (is_latent(object)) return(latent_prediction(object, points, variance))
  object$vecchia$local <- local_count_of(object)
  if (worth_predicting_elsewhere(object, nrow(points$u))) return(local_prediction_elsewhere(object, points, variance))
  data <- object$data
  residual <- process_of_data(object)
  x <- estimated_trend(object, points)
  parts <- local_chunks(object, points$u, function(at, sets) {
    process <- neighbour_means(sets, residual)
    if (!variance) return(data.frame(process))
    trend <- trend_uncertainty(object, x[at, , drop = FALSE], neighbour_means(sets, data$x))
    data.frame(process, variance = sets$sd^2 + trend$variance, lagrange = trend$lagrange)
  })
  if (length(parts)) return(do.call(rbind, parts))
  data.frame(process = numeric(), variance = numeric(), lagrange = numeric())
}

# K^-1 of the observations by their sparse factor: K^-1 (y - X beta), K^-1 X R^-1 and its diagonal.
vecchia_inverse <- function(object) {
  sets <- observation_sets(object, object$vecchia$local)
  data <- object$data
  order <- sets$order
  residual <- data$y - if (ncol(data$x)) as.vector(data$x %*% object$beta) else 0
  both <- cbind(residual, data$x)[order, , drop = FALSE]
  back <- sparse_multiply(sets, sparse_multiply(sets, both), transposed = TRUE)[order(order), , drop = FALSE]
  squares <- list(weights = -sets$weights^2, sd = sets$sd^2, neighbours = sets$neighbours)
  z <- if (ncol(data$x)) t(backsolve(object$state$root, t(back[, -1, drop = FALSE]), transpose = TRUE)) else back[, -1]
  diagonal <- sparse_multiply(squares, rep(1, length(order)), transposed = TRUE)
  list(alpha = back[, 1], z = z, diagonal = diagonal[order(order)])
}

# The sparse factor of the covariance of the observations, with their order.
observation_sets <- function(object, m) {
  data <- object$data
  sets <- vecchia_sets(data, object$model, object$theta, min(m, length(data$y) - 1L), object$how$control, qr(data$x))
  noise <- noise_variance(data, object$model, object$theta)[sets$order]
  factor <- set_weights(sets_covariance(object), object$theta, sets$points, noise, sets$neighbours)
  c(factor, list(order = sets$order))
}
