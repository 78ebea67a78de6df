# Base points that are values of the field at the locations of the observations, given the data. Predictions by
# Vecchia's approximation use these base points for fits with a family, and for joint predictions from noisy
# observations.

# The list that predict_base.R describes. `system` is a result of given_observations(), with system$field, the mean of
# the field. joint() returns the number of points on which a new point is conditioned. The parts for standard errors are
# computed on first use. For `nothing` see sparse_posterior().
field_base <- function(object, system, joint, nothing = 1e-18) {
  sets <- system$sets
  posterior <- function() {
    system$logdet(system$weight) # factorises the precision
    system$posterior
  }
  near <- neighbour_coordinates(object$model, object$theta, sets$points, object$data$u)
  base <- list(u = sets$points, near = near, noise = numeric(nrow(sets$points)), diagonal = latent_diagonal)
  weights_at <- once(function() {
    nearest_weights(field_covariance(object), base, object$model, object$theta, object$data$u)
  })
  fit <- fit_of_field(object, sets$points)
  solve <- function(values) {
    beta <- matrix(0, 0, ncol(values))
    if (ncol(object$data$x)) beta <- backsolve(object$state$root, crossprod(object$state$z, values))
    list(beta = beta, values = smoothed(system, values - object$data$x %*% beta))
  }
  c(base, list(
    fit = fit, unexplained = function(targets, terms) unexplained(fit, targets, terms), known = integer(),
    process = as.vector(system$field), trend = system$trend, joint = joint,
    cover = once(function() covering_points(near)),
    nearest = function(u) weights_at()(u, min(object$vecchia$local, nrow(sets$points))),
    width = 1e5, elsewhere = function(points) FALSE, posterior = function() posterior()$held(),
    sums = function(sums) posterior()$sums(sums, nothing),
    parts = function(sums) {
      check_memory(8 * nrow(sets$points) * ncol(sums$weights))
      posterior()$parts(sums)
    },
    solve = solve, correct = if (has_negative_weights(system)) solved_with_errors(object, system) else solve,
    draws = function(nsim) as.vector(system$field) + posterior_errors(system, nsim),
    row = function(k) match(k, sets$of), points_of = identity, entries = function(u) NULL
  ))
}

# The covariance of the field in float64, because the precision of the field is factorised in float64.
field_covariance <- function(object) {
  covariance_matrix(object$model, backend = usable_backend(object$how$backend))
}

# The posterior of the field in a fit with a family: a result of given_observations(), with the mode of the field,
# system$field.
fitted_system <- function(object) {
  about <- object$vecchia
  parts <- latent_parts(object$model, object$data$u)
  places <- places_of_parts(parts)
  sets <- list(iterative = about$iterative, without_field = isTRUE(parts$without_field), order = about$order,
               points = places$u[about$order, , drop = FALSE],
               of = order(about$order)[places$of],
               operators = list(values = field_covariance(replace(object, "model", list(parts$field)))))
  sets$observed <- observed_effects(parts, sets$of, nrow(places$u), unname(object$theta))
  sets[c("wide", "kept")] <- parts[c("wide", "kept")]
  if (!is.null(about$wide)) sets$wide$count <- about$wide
  sets$search <- function(m) {
    tree <- search_tree(neighbour_coordinates(parts$field, unname(object$theta)[parts$rows], places$u))
    ordered_neighbours(tree, m, order = about$order)
  }
  sets <- with_latent_neighbours(sets, about$neighbours)
  theta <- object$theta
  system <- latent_system(sets, parts$field, theta[parts$rows], whole = unname(theta))
  field <- system$at_places(object$latent$h - system$nugget * object$state$alpha, object$state$alpha)
  terms <- object$latent$terms
  system <- given_observations(system, sets, terms$weight, object$data$x, positive_weights(terms))
  c(system, list(field = field))
}

# Adds the observations to a result of latent_system(): `weight`, the weights of the observations, which may be
# negative; `positive`, positive weights that are close to `weight`; and trend(), the columns x of the observations,
# smoothed to the locations of the field.
given_observations <- function(system, sets, weight, x, positive = weight) {
  system <- c(system, list(sets = sets, weight = weight, positive = positive))
  c(system, list(trend = once(function() smoothed(system, x))))
}

# The system with the observations of a Gaussian fit; NULL if the field has no factor.
gaussian_system <- function(object) {
  data <- object$data
  field <- replace(object$model, "nugget", list(integer()))
  places <- field_places(data$u, field)
  m <- min(object$vecchia$field %||% object$vecchia$m, max(1L, nrow(places$u) - 1L))
  sets <- latent_sets(places, field, object$theta, m, object$how)
  system <- latent_system(sets, field, object$theta)
  if (is.null(system)) return(NULL)
  weight <- weight_beside_field(object, system)
  if (is.nan(system$logdet(weight))) return(NULL)
  system <- given_observations(system, sets, weight, data$x)
  c(system, list(field = smoothed(system, process_of_data(object))))
}

# The weights of the observations, given the values of the field. The variance of the field is multiplied by
# `latent_diagonal`. Therefore the variance of the mean of the noise at each location is reduced by the amount that this
# factor adds, so that the covariance of the observations is exact.
weight_beside_field <- function(object, system) {
  weight <- 1 / noise_variance(object$data, object$model, object$theta)
  variance <- covariance_diagonal(object$model)(list(theta = object$theta, x = object$data$u))
  share <- (latent_diagonal - 1) * as.vector(variance) * as.vector(system$spread(system$gather(weight)))
  ifelse(share < 0.5, weight / (1 - share), weight)
}

# TRUE if the base points of joint predictions are values of the field. This is the case for up to 20,000 noisy
# observations, and for more observations if with_prediction_changes() has chosen a number of neighbours for the field.
has_latent_field <- function(object) UseMethod("has_latent_field")

has_latent_field.gp_family_fit <- function(object) TRUE

has_latent_field.default <- function(object) {
  may_have_latent_field(object, if (is.null(object$vecchia$field)) few_latent else Inf)
}

# With more than `few_latent` observations, the factor of the field has up to 25 neighbours for each point, and its
# computation takes about as long as the fit. With 25 neighbours, standard errors are 0.4 % too small on average (with
# 20 neighbours, 1 % too small). New points have twice as many neighbours as an observation of the fit. If there are
# more than `most_latent` observations, predictions are computed for one cell of the observations at a time
# (predict_by_cells.R).
few_latent <- 2e4
most_of_field <- 25L
most_latent <- 5e5
with_latent_field <- function(object) {
  object$vecchia[c("field", "new")] <- list(min(object$vecchia$m, most_of_field), 2L * object$vecchia$m)
  object
}

# TRUE if there are at most `max_points` observations and all observations have noise.
may_have_latent_field <- function(object, max_points) {
  length(object$data$noise) <= max_points && !is_lmc(object$model$covariance) &&
    all(noise_variance(object$data, object$model, object$theta) > 0)
}

# Predicts the field at the base points from columns of values at the observations.
smoothed <- function(system, values, weight = system$weight) {
  values <- unname(as.matrix(values))
  system$mean(weight, system$gather(system$share(weight) * values))
}

# A fit whose observations are the values of the field at points u.
fit_of_field <- function(object, u) {
  theta <- replace(object$theta, object$model$nugget, 0)
  prior <- as.vector(covariance_diagonal(object$model)(list(theta = theta, x = u)))
  data <- list(u = u, noise = (latent_diagonal - 1) * prior, weights = rep(1, nrow(u)))
  replace(object, c("data", "theta"), list(data, theta))
}

sparse_inverse.gp_family_fit <- function(object) {
  system <- kept_for(object, fitted_system)
  system$logdet(system$weight)
  share <- system$share(system$weight)
  alone <- system$variances(system$posterior)
  c(object$state[c("alpha", "z")], list(diagonal = share - share^2 * alone))
}
