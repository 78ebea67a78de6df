# Fits with a family by Vecchia's approximation: what they keep, and predictions from the field at the places of the
# observations.

is_latent <- function(object) !is.null(object$family) && object$method == "vecchia"

# As sets_covariance(), in float64 whatever the precision of the fit.
field_covariance <- function(object) {
  covariance_matrix(object$model, backend = usable_backend(object$how$backend))
}

# The posterior of a fit: latent_system(), its sets, and the mode of the field.
fitted_system <- function(object) {
  about <- object$vecchia
  places <- field_places(object$data$u, object$model)
  sets <- list(order = about$order, points = places$u[about$order, , drop = FALSE],
               of = order(about$order)[places$of],
               operators = list(values = field_covariance(object)))
  sets <- with_latent_neighbours(sets, about$neighbours)
  system <- latent_system(sets, object$model, object$theta)
  c(system, list(sets = sets, weight = object$latent$terms$weight,
                 field = system$at_places(object$latent$h - system$nugget * object$state$alpha)))
}

# places(u): the weights of the nearest places for the field at points u, and its conditional standard deviations.
near_places <- function(object) {
  model <- object$model
  about <- object$vecchia
  places <- field_places(object$data$u, model)$u[about$order, , drop = FALSE]
  tree <- search_tree(neighbour_coordinates(model, object$theta, places))
  held <- hold_sets(places, numeric(nrow(places)))
  m <- min(about$local, nrow(places))
  covariance <- field_covariance(object)
  function(u) {
    from <- neighbour_coordinates(model, object$theta, u, reference = places)
    set_weights_at(covariance, object$theta, held, u, nearest_points(from, tree, m), latent_diagonal)
  }
}

# f(points, sets) for chunks of the points of a fit, in order, as local_chunks().
latent_chunks <- function(object, u, f, width = 1e5) {
  places <- near_places(object)
  by_chunks(u, width, function(at, new) f(at, places(new)))
}

# As local_prediction(). The variance is what the nearest places leave, and that of their weighted mean.
latent_prediction <- function(object, points, variance) {
  x <- estimated_trend(object, points)
  system <- if (variance) posterior_with_factor(object) else fitted_system(object)
  trend <- if (variance && ncol(x)) smoothed(system, object$data$x)
  parts <- latent_chunks(object, points$u, function(at, sets) {
    process <- as.vector(neighbour_means(sets, system$field))
    if (!variance) return(data.frame(process))
    error <- trend_uncertainty(object, x[at, , drop = FALSE], if (ncol(x)) neighbour_means(sets, trend))
    field <- system$posterior$sums(sets)
    data.frame(process, variance = sets$sd^2 + field + error$variance, lagrange = error$lagrange)
  })
  if (length(parts)) return(do.call(rbind, parts))
  data.frame(process = numeric(), variance = numeric(), lagrange = numeric())
}

# The field at the places that is predicted from columns of values of the process of the observations.
smoothed <- function(system, values) {
  values <- unname(as.matrix(values))
  system$mean(system$weight, system$gather(system$share(system$weight) * values))
}

# The diagonal of the inverse of the covariance of the process with noise 1 / W.
latent_inverse_diagonal <- function(object) {
  system <- posterior_with_factor(object)
  share <- system$share(system$weight)
  share - share^2 * as.vector(system$spread(cbind(system$posterior$variances())))
}

# As local_correction().
latent_correction <- function(object, points, values) {
  x <- estimated_trend(object, points)
  system <- fitted_system(object)
  beta <- matrix(0, 0, ncol(values))
  if (ncol(x)) beta <- backsolve(object$state$root, crossprod(object$state$z, values))
  field <- smoothed(system, values - object$data$x %*% beta)
  parts <- latent_chunks(object, points$u, function(at, sets) neighbour_means(sets, field))
  do.call(rbind, c(list(matrix(0, 0, ncol(values))), parts)) + x %*% beta
}
