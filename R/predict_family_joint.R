# Joint covariances of the field of fits with a family by Vecchia's approximation, and its means over blocks: the error
# of a weighted mean of places, and that of the values of these.

# As joint_errors(), of targets.
latent_errors <- function(object) {
  system <- posterior_with_factor(object)
  places <- near_places(object)
  field <- field_of_places(object, system)
  trend <- if (ncol(object$data$x)) smoothed(system, object$data$x)
  function(targets) {
    sets <- places(targets$u)
    check_memory(8 * nrow(field$data$u) * targets$n)
    parts <- system$posterior$parts(sets_of_targets(sets, targets))
    gap <- trend_uncertainty(object, targets$x, explained_by_places(sets, trend, targets))$gap
    error_covariance(field, targets, weighed_points(sets)) + crossprod(parts) + crossprod(gap)
  }
}

# As block_errors().
latent_block_errors <- function(object, targets) {
  system <- posterior_with_factor(object)
  sets <- near_places(object)(targets$u)
  trend <- if (ncol(targets$x)) smoothed(system, object$data$x)
  error <- trend_uncertainty(object, targets$x, explained_by_places(sets, trend, targets))
  posterior <- system$posterior$sums(sets_of_targets(sets, targets))
  field <- error_variances(field_of_places(object, system), targets, weighed_points(sets))
  list(variance = pmax(field + posterior + error$variance, 0), lagrange = error$lagrange)
}

# The places of all points of a target, with their weights.
sets_of_targets <- function(sets, targets) {
  if (are_points(targets)) return(sets)
  sums <- lapply(split(seq_along(targets$of), factor(targets$of, seq_len(targets$n))), function(own) {
    weights <- sets$weights[, own, drop = FALSE] * rep(targets$weight[own], each = nrow(sets$weights))
    rowsum(as.vector(weights), as.vector(sets$neighbours[, own]))
  })
  most <- max(lengths(sums), 1L)
  padded <- function(x) matrix(vapply(x, function(x) c(x, numeric(most - length(x))), numeric(most)), most)
  near <- padded(lapply(sums, function(sum) as.integer(rownames(sum))))
  storage.mode(near) <- "integer"
  list(neighbours = near, weights = padded(sums))
}

posterior_with_factor <- function(object) {
  system <- fitted_system(object)
  system$logdet(system$weight)
  system
}

# A fit whose observations are the values of the field at the places.
field_of_places <- function(object, system) {
  u <- system$sets$points
  theta <- replace(object$theta, object$model$nugget, 0)
  prior <- as.vector(covariance_diagonal(object$model)(list(theta = theta, x = u)))
  data <- list(u = u, noise = (latent_diagonal - 1) * prior, weights = rep(1, nrow(u)))
  replace(object, c("data", "theta"), list(data, theta))
}

explained_by_places <- function(sets, trend, targets) {
  if (!is.null(trend)) gathered(neighbour_means(sets, trend), targets)
}
