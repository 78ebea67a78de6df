# The base points of a fit by neighbours are the points on which new points are conditioned: observations, or values of
# the field at the observations (predict_field.R). A list describes the base points:
#
#   fit                 a fit whose observations are the base points, with the covariances of the base points
#   unexplained(targets, terms)  the covariance matrix of the differences between targets and weighted sums of base
#                       points
#   u, near, noise      coordinates, coordinates in which distances are searched, and the variances of noise
#   diagonal            the factor by which variances of the covariance are multiplied, see joint_sets()
#   known               the indices of the base points whose value is the field itself, without noise
#   process, trend()    the mean of the process at the base points given the data; trend() has a column for each column
#                       of the trend: the mean that results if this column replaces the data
#   cover()             the indices of a few base points that cover the region of all base points, see joint_order()
#   joint()             the number of points on which a new point is conditioned in joint predictions
#   beside              the number of earlier new points in the conditioning set in addition to joint(), see
#                       joint_order(); NULL if the number joint() includes earlier new points
#   nearest(u)          the weights of the nearest base points in the prediction of the field at points u, and the
#                       conditional standard deviations of the field
#   width               the maximum number of points u in one call
#   elsewhere(count)    whether worker processes should predict `count` points
#   posterior()         the distribution of the values of the base points given the data, see joint_sets(); NULL if
#                       these values are known
#   sums(sets)          the variances of the weighted sums `sets` of base points given the data
#   parts(sets)         a matrix with a column for each sum; the inner products of columns are the covariances of sums
#   solve(values)       the coefficients of the trend `beta` and the `values` of the base points that result if a
#                       column of the argument replaces the observations
#   correct(values)     the result of solve(), for correction() of new_conditioning(); if some observations have
#                       negative weights, draws of the errors are added
#   draws(nsim)         draws of the process at the base points given the data and the coefficients of the trend
#   row(k)              the index of an observation at base point k
# In joint predictions of a family with random effects (predict_joint_effects.R), the base points are the coefficients
# of effects, followed by the values of the field. For such a model, the list has further elements:
#   field, points_of(u)  the fit of the field, and the columns of u that this fit reads; without effects, NULL and u
#   entries(u)          the sums of coefficients at points u; without effects, NULL

# The base points for two kinds of conditioning: on the nearest base points, and joint with other new points. If near
# values of the field are known, distant points add little information; if only noisy observations are near, distant
# points add more information. Joint predictions therefore use values of the field, if their number is not too large.
nearest_base <- function(object) UseMethod("nearest_base")
joint_base <- function(object) UseMethod("joint_base")

nearest_base.default <- function(object) observed_base(object)

joint_base.default <- function(object) {
  few <- length(object$data$y) <= most_latent
  system <- if (few && has_latent_field(object)) kept_for(object, gaussian_system)
  if (is.null(system)) return(observed_base(object))
  field_base(object, system, function() object$vecchia$new %||% (2L * object$vecchia$m))
}

nearest_base.gp_family_fit <- function(object) {
  if (object$method != "vecchia") return(observed_base(object))
  field_base(object, kept_for(object, fitted_system), function() {
    object$vecchia$new %||% max(60L, object$vecchia$local)
  })
}

joint_base.gp_family_fit <- function(object) nearest_base(object)

# The number of observations on which a point is conditioned, `count`, is chosen on first use.
observed_base <- function(object, count = local_count_of(object)) {
  data <- object$data
  base <- list(u = data$u, near = neighbour_coordinates(object$model, object$theta, data$u),
               noise = noise_variance(data, object$model, object$theta), diagonal = 1)
  base$beside <- if (any(base$noise > 0)) new_beside_noisy
  weights_at <- once(function() nearest_weights(sets_covariance(object), base, object$model, object$theta))
  solve <- function(values) {
    beta <- trend_by_neighbours(object, values)
    list(beta = beta, values = values - data$x %*% beta)
  }
  c(base, list(
    fit = object, unexplained = function(targets, terms) unexplained(object, targets, terms),
    known = which(observed_exactly(object)), cover = once(function() data$cover %||% covering_points(base$near)),
    process = process_of_data(object), trend = function() data$x,
    joint = function() object$vecchia$observed %||% object$vecchia$new %||% count,
    nearest = function(u) {
      sets <- weights_at()(u, count)
      check_local(object, sets, u, function() weights_at()(u, count, covariance_matrix(object$model)))
      sets
    },
    width = 20000, elsewhere = function(points) worth_predicting_elsewhere(object, points, count),
    posterior = function() NULL, sums = function(sets) 0, parts = function(sets) matrix(0, 0, ncol(sets$weights)),
    solve = solve, correct = solve,
    draws = function(nsim) matrix(process_of_data(object), length(data$y), nsim), row = identity, points_of = identity,
    entries = function(u) NULL
  ))
}

# The number of earlier new points in the conditioning set of a new point, in addition to its nearest noisy
# observations. If earlier new points replaced observations, the information of the noisy observations around a dense
# group of new points would be counted several times, and standard errors would be too small.
new_beside_noisy <- 30L

# A few rows of `near` that cover the region of all rows: the first rows of the maximum-minimum distance ordering of
# evenly spaced rows.
covering_points <- function(near) {
  count <- ceiling(4 * sqrt(nrow(near)))
  rows <- some_positions(nrow(near), 16 * count)
  utils::head(rows[vecchia_order(near[rows, , drop = FALSE])], count)
}

# TRUE for observations without noise; in fits of several variables, noise is in the formula of the covariance.
observed_exactly <- function(object) {
  noise_variance(object$data, object$model, object$theta) == 0 & !is_lmc(object$model$covariance)
}

# Returns a function f(u, m): the weights of the nearest `m` base points in the prediction of the field at points u, and
# the conditional standard deviations of the field. The function `values` computes the covariances. The base points are
# copied to a GPU once.
nearest_weights <- function(values, base, model, theta, reference = base$u, tree = search_tree(base$near)) {
  resident <- hold_sets(base$u, base$noise)
  search <- function(query, m) nearest_points(query, tree, m, backend = values)
  nearest <- correlated_nearest(search, model, theta, base$u)
  function(u, m, by = values) {
    from <- neighbour_coordinates(model, theta, u, reference)
    set_weights_at(by, theta, resident, u, nearest(from, u, m), base$diagonal)
  }
}

# The covariance of a fit in the form that set_weights() reads. For methods other than Vecchia's, the covariance is in
# float64, because the user's setting of the precision concerns products with matrices.
sets_covariance <- function(object) {
  precision <- if (object$method == "vecchia") object$how$precision else "float64"
  covariance_matrix(object$model, precision, usable_backend(object$how$backend))
}

# The number of observations on which a point is conditioned. For a fit by a method other than Vecchia's, local_count()
# chooses the number.
local_count_of <- function(object) {
  n <- length(object$data$y)
  if (!is.null(object$vecchia$local)) return(min(object$vecchia$local, n))
  m <- neighbour_count(object$how$control, object$model$d, n)
  local_count(object$data, object$model, object$theta, min(2L * m, n), sets_covariance(object))
}

# Stops for points whose variance is not a number, for example because of the logarithm of a negative coordinate.
check_local <- function(object, sets, u, in_float64) {
  bad <- columns_with_gaps(sets$weights)
  if (!length(bad)) return(invisible())
  variance <- covariance_diagonal(object$model)(list(theta = object$theta, x = u[bad, , drop = FALSE]))
  if (!any(is.finite(variance))) return(invisible())
  first <- bad[is.finite(variance)][[1]]
  only_rounded <- function() {
    identical(object$how$precision, "float32") && is.finite(sum(in_float64()$weights[, first]))
  }
  stop_singular(list(data = object$data), singular_state(sets$neighbours[1, first], only_rounded), NULL)
}
