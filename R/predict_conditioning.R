# A conditioning is the distribution of the process of a fit given its data, as a list of functions. Predictions,
# simulations and cross-validation call only these functions, whatever the method of the fit.
#
# The functions are the arguments of new_conditioning(). Arguments without a default are required; the defaults of the
# optional arguments are computed from the required ones. `targets` is a result of targets_of() for n points or means.
#
#   means(targets)         two parts of the mean: the `trend`, whose coefficients are estimated, and the mean of the
#                          `process`
#   moments(targets)       the columns of means(); the `variance` of the field, including the uncertainty of the trend;
#                          and the Lagrange multiplier `lagrange` of the trend
#   errors(targets)        the covariance matrix of the errors of all targets, symmetric up to rounding
#   errors_among(targets)  a function f(numbers): the covariance matrix of the errors of the targets with the indices
#                          `numbers`. Each kind of conditioning defines errors() or errors_among().
#   correction(points, values)     kriging predictions at points, with a column of values in place of the observations;
#                          if a family has negative weights, draws of the error due to these weights are subtracted
#   prior_draws(u, nsim, features) draws of the process at points u from the model; `features` is the number of cosine
#                          functions if there are too many points for exact draws
#   draws(points, nsim, features)  draws of the mean and the process at points given the data
#   inverse()              parts of the inverse of the covariance matrix K of the observations: its `diagonal`,
#                          `alpha` = K^-1 (y - X beta) and `z` = K^-1 X R^-1 with R' R = X' K^-1 X
#   determined(leaf)       the number of coefficients of a smooth that the data determine: the sum of the relative
#                          reductions of their variances
#   exact                  TRUE if means and moments are exact
#
# The kinds of conditioning, and the points on which a new point is conditioned:
#
#   exact, iterative   all observations, with a Cholesky factor or a solver     predict_solved.R
#   nearest            the nearest base points of each point                    predict_nearest.R
#   joint              the nearest base points and earlier new points           predict_joint.R
#   cells              values of the field in the cell of each point            predict_by_cells.R
#   vif                the nearest base points for the residual process        predict_vif.R
#   effects            one of the above for the field, and random effects       predict_effects.R
#   local trend        the nearest observations, also for the trend             predict_local.R
#
# Base points are the observations, or values of the field at the observations: predict_base.R.
new_conditioning <- function(object, means, moments, errors = all_errors(errors_among),
                             errors_among = errors_of_some(errors), correction = NULL, inverse = NULL,
                             prior_draws = function(u, nsim, features) separate_draws(object, u, nsim, features),
                             draws = corrected_draws(object, means, correction, prior_draws),
                             determined = function(leaf) determined_by_solver(object, leaf), exact = FALSE) {
  mget(setdiff(names(formals()), "object"))
}

all_errors <- function(errors_among) function(targets) errors_among(targets)(seq_len(targets$n))

errors_of_some <- function(errors) function(targets) function(numbers) errors(some_targets(targets, numbers))

# The conditioning of a fit; `how` is a result of prediction_request(). All windows of a map share the conditioning
# `object$prepared`.
conditioning_for <- function(object, how = field_request$how) {
  if (!is.null(object$prepared)) return(object$prepared)
  if (is_local_trend(how)) return(local_trend_conditioning(object, how))
  if (has_neighbours(object) && has_effects(object$model)) return(effects_kriging(object, how))
  switch(object$method, exact = exact_conditioning(object, how$local),
         iterative = iterative_conditioning(object, how$local),
         vif = vif_conditioning(object, how), vecchia = by_neighbours(object))
}

by_neighbours <- function(object) {
  if (!is_joint(object)) return(nearest_conditioning(object))
  if (predicts_by_cells(object)) cells_conditioning(object) else joint_conditioning(object)
}

# Draws by Matheron's rule: a draw from the model at observations and points, plus the kriging prediction of the
# differences between the data and the draw.
corrected_draws <- function(object, means, correction, prior_draws) function(points, nsim, features) {
  targets <- targets_of(object, points)
  u <- seen_points(object$data)
  seen <- seq_len(nrow(u))
  field <- prior_draws(rbind(u, targets$u), nsim, features)
  noise <- sqrt(noise_variance(object$data, object$model, object$theta))
  values <- by_observation(field[seen, , drop = FALSE], object$data$nodes)
  values <- values + noise * stats::rnorm(length(values))
  correction <- correction(points, values)
  mean <- with(means(targets), known_trend(object, points) + trend + process)
  mean + gathered(field[-seen, , drop = FALSE], targets) - as.matrix(correction)
}
