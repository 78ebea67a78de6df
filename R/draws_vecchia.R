# Simulations by Vecchia's approximation: the field is drawn point by point, given the neighbours among earlier points.

# Draws of the field at distinct points u.
vecchia_draws <- function(object, u, nsim) {
  near <- neighbour_coordinates(object$model, object$theta, u)
  tree <- search_tree(near)
  order <- vecchia_order(near, "maxmin", object$how$control$seed, tree)
  neighbours <- ordered_neighbours(tree, as.integer(min(object$vecchia$m, nrow(u) - 1)), order = order)
  points <- u[order, , drop = FALSE]
  values <- sets_covariance(object)
  variance <- as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = points)))
  if (all(variance == 0)) return(matrix(0, nrow(u), nsim)) # no field
  jitter <- 0
  repeat {
    sets <- set_weights(values, object$theta, points, jitter * pmax(variance, max(variance) * 1e-15), neighbours)
    if (all(is.finite(sets$weights)) || jitter > 1e-3) break
    # adds a jitter for nearly coinciding points, like distinct_draws()
    jitter <- if (jitter == 0) 10 * max(1, nrow(neighbours)) * .Machine$double.eps else 10 * jitter
  }
  draws <- sparse_multiply(sets, normal_numbers(nrow(u), nsim), inverse = TRUE)
  if (!anyNA(draws)) return(draws[order(order), , drop = FALSE])
  stop_kernops("input", "The covariance is not finite for some pairs of points.", call = NULL)
}
