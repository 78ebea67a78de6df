# The predictive distribution of a fit at new points or blocks, and the joint covariance matrix of its errors.

# `request` is a result of prediction_request().
predictive_at <- function(object, points, request) UseMethod("predictive_at")
covariance_at <- function(object, points, request) UseMethod("covariance_at")

predictive_at.gp <- function(object, points, request) {
  object <- with_phi_of(object, points$u)
  scale <- requested_scale(object, request)
  if (!is.null(points$blocks) && !is.null(scale) && !scale$linear) return(block_sample(object, points, request))
  moments <- predicted_moments(object, points, request$how, needs_variance(request) || !is.null(scale))
  if (!is.null(points$blocks)) scale <- NULL
  noise <- if (is_noisy(request)) unname(new_noise(object, points)) else 0
  predictive_of(object, moments, noise, scale, request)
}

# The predictive distribution, from the moments of the field.
predictive_of <- function(object, moments, noise, scale, request) {
  variance <- if (!is.null(moments$variance)) moments$variance + noise
  normal <- predictive_normal(moments$trend + moments$process, variance)
  if (is.null(scale)) return(normal)
  if (!is.null(object$family) && is_noisy(request)) return(predictive_observation(normal, object))
  predictive_transformed(normal, scale, if (request$unbiased) moments$lagrange else 0)
}

# The predictive distribution for posterior draws of the parameters: the mixture of the predictive distributions over
# the draws.
predictive_at.gp_posterior <- function(object, points, request) {
  check_memory(8 * 4 * nrow(points$u) * length(unique(object$number)))
  parts <- for_draws(object, function(fit, rows) {
    predictive_at(fit, points, replace(request, "draws", ceiling(request$draws * length(rows) / length(object$number))))
  })
  predictive_mixture(parts, draw_weights(object))
}

requested_scale <- function(object, request) if (request$type == "response") predictive_scale(object)

# The covariance matrix of the errors of the field, of means of the response given the field, or of new observations.
# For blocks, the covariance matrix of the errors of means over the blocks.
covariance_at.gp <- function(object, points, request) {
  noisy <- is_noisy(request)
  nodes <- if (is.null(requested_scale(object, request))) points else nodes_of(points)
  object <- with_phi_of(object, nodes$u)
  scale <- requested_scale(object, request)
  if (!is.null(scale) && !scale$linear && needs_draws_of_nodes(points, request$how)) {
    return(sums_by_draws(object, points, request, joint = TRUE)$covariance)
  }
  joint <- joint_covariance(object, nodes, request$how)
  if (is.null(scale)) return(joint + if (noisy) new_noise_matrix(object, points) else 0)
  moments <- predicted_moments(object, nodes, request$how, TRUE)
  mean <- moments$trend + moments$process
  if (!is.null(points$blocks)) {
    targets <- targets_of(object, points)
    within <- covariance_within(object, scale, mean, joint)
    return(symmetric(gathered(t(gathered(within, targets)), targets)))
  }
  noise <- if (noisy) new_noise(object, points) else 0
  covariance <- scale$covariance(mean, joint, noise)
  if (noisy) diag(covariance) <- variance(predictive_of(object, moments, noise, scale, request))
  covariance
}

# The covariance matrix for posterior draws of the parameters, by the law of total covariance.
covariance_at.gp_posterior <- function(object, points, request) {
  weights <- draw_weights(object)
  of_means <- replace(request, c("se.fit", "probs", "above", "unbiased"), list(FALSE, NULL, NULL, FALSE))
  if (!is_noisy(request)) of_means$interval <- "none"
  total <- 0
  means <- for_draws(object, function(fit, rows) {
    total <<- total + length(rows) / length(object$number) * covariance_at(fit, points, request)
    mean(predictive_at(fit, points, of_means))
  })
  means <- matrix(unlist(means), ncol = length(means))
  off <- means - as.vector(means %*% weights)
  total + off %*% (weights * t(off))
}
