# Fits with a family by Vecchia's approximation: what they keep, and predictions from the field at the places of the
# observations.

is_latent <- function(object) !is.null(object$family) && object$method == "vecchia"

# As about_neighbours(), with the order and the neighbours of the places. A likelihood with twice as many neighbours
# takes five times as long: of many observations, it is left to those who ask for it.
about_latent <- function(problem, likelihood, search, state, how) {
  told <- !is.null(search$value) && (length(state$h) <= 2e4 || identical(how$control$neighbours, "auto"))
  sets <- likelihood$sets()
  m <- likelihood$count()
  list(m = m, ordering = how$control$ordering, local = as.integer(min(max(30L, m), nrow(sets$points))),
       doubled = if (told) likelihood$doubled(search$theta, state),
       order = sets$order, neighbours = sets$neighbours)
}

# The posterior of a fit: latent_system(), its sets, and the mode of the field; `wanted` are sets of places whose
# covariances are, `factor` what another system of the fit has.
fitted_system <- function(object, wanted = matrix(0L, 0, 0), factor = NULL) {
  about <- object$vecchia
  places <- field_places(object$data$u, object$model)
  sets <- list(order = about$order, points = places$u[about$order, , drop = FALSE],
               of = order(about$order)[places$of])
  sets <- with_latent_neighbours(sets, about$neighbours, wanted)
  system <- latent_system(sets, object$model, object$theta, factor %||% latent_factor(sets, object$model, object$theta))
  c(system, list(sets = sets, weight = object$latent$terms$weight,
                 field = system$at_places(object$latent$h - system$nugget * object$state$alpha)))
}

# places(u): the weights of the nearest places for the field at points u, and its conditional standard deviations.
near_places <- function(object) {
  model <- object$model
  about <- object$vecchia
  places <- field_places(object$data$u, model)$u[about$order, , drop = FALSE]
  tree <- search_tree(neighbour_coordinates(model, object$theta, places))
  held <- hold_points(places, jittered(model, object$theta, places))
  m <- min(about$local, nrow(places))
  function(u) {
    from <- neighbour_coordinates(model, object$theta, u, reference = places)
    set_weights_at(covariance_matrix(model), object$theta, held, u, nearest_points(from, tree, m))
  }
}

# f(points, sets) for chunks of the points of a fit, in order, as local_chunks(). They are large, as the posterior is
# made for each of them: a set has a number for each pair of its places, of which there is a memory of 0.2 GB.
latent_chunks <- function(object, u, f, width = ceiling(1e8 / object$vecchia$local^2)) {
  places <- near_places(object)
  by_chunks(u, width, function(at, new) f(at, places(new)))
}

# As local_prediction(). The variance is what the nearest places leave, and that of their weighted mean: the pairs of
# places whose covariances that takes are those of a chunk, of all points they would be too many.
latent_prediction <- function(object, points, variance) {
  x <- if (is.null(object$known$beta)) points$x else points$x[, 0, drop = FALSE]
  own <- trend <- NULL
  parts <- latent_chunks(object, points$u, function(at, sets) {
    if (is.null(own) || variance) {
      own <<- fitted_system(object, if (variance) sets$neighbours else matrix(0L, 0, 0), own$factor)
    }
    process <- as.vector(neighbour_means(sets, own$field))
    if (!variance) return(data.frame(process))
    own$logdet(own$weight)
    own$variances()
    if (ncol(x)) trend <<- trend %||% smoothed(own, object$data$x)
    error <- trend_uncertainty(object, x[at, , drop = FALSE], if (ncol(x)) neighbour_means(sets, trend))
    data.frame(process, variance = sets$sd^2 + posterior_sums(own$sets$held, sets$weights) + error$variance,
               lagrange = error$lagrange)
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
  system <- fitted_system(object)
  system$logdet(system$weight)
  share <- system$share(system$weight)
  share - share^2 * as.vector(system$spread(cbind(system$variances())))
}

# As local_correction().
latent_correction <- function(object, points, values) {
  x <- if (is.null(object$known$beta)) points$x else points$x[, 0, drop = FALSE]
  system <- fitted_system(object)
  beta <- matrix(0, 0, ncol(values))
  if (ncol(x)) beta <- backsolve(object$state$root, crossprod(object$state$z, values))
  field <- smoothed(system, values - object$data$x %*% beta)
  parts <- latent_chunks(object, points$u, function(at, sets) neighbour_means(sets, field))
  do.call(rbind, c(list(matrix(0, 0, ncol(values))), parts)) + x %*% beta
}
