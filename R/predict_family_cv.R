# Cross-validation of fits with a family: the linear predictor of each observation given the other observations, and
# scores of the predictions.

# The cavity distribution of an observation is the normal distribution of its linear predictor in the Laplace
# approximation, divided by the normal approximation of the density of the observation. Let z = h + slope / W, S = (K +
# W^-1)^-1 and P = S - S X (X' S X)^-1 X' S. The cavity distribution has the mean z_i - (P z)_i / P_ii and the variance
# 1 / P_ii - 1 / W_i. `left` is W_i times the variance given all observations; if `left` is 1 or more, the cavity
# distribution does not exist.
leave_one_out.gp_family_fit <- function(object) {
  inverse <- conditioning_for(object)$inverse()
  weight <- object$latent$terms$weight
  precision <- inverse$diagonal - rowSums(inverse$z^2)
  left <- 1 - precision / weight
  # TRUE if the other observations determine all coefficients of the trend
  told <- weight == 0 | 1 - left > 1e-12 * abs(inverse$diagonal / weight)
  mean <- object$latent$terms$eta + object$latent$terms$slope / weight - inverse$alpha / precision
  variance <- left / (weight * (1 - left))
  # for an observation without information, the cavity distribution is the predictive distribution given all data
  idle <- which(weight == 0 | abs(left) < 1e-9)
  if (length(idle)) {
    points <- some_points(new_points(object, NULL, NULL), idle)
    moments <- predicted_moments(object, points, field_request$how, TRUE)
    mean[idle] <- moments$trend + moments$process
    variance[idle] <- moments$variance + nugget_of(object)
  }
  predictive_normal(ifelse(told, mean, NA), ifelse(told, pmax(variance, 0), Inf))
}

# The moments of the linear predictor of the observations in a fold.
predict_fold.gp_family_fit <- function(object, out, refit) {
  fold <- leave_out(object, out, refit)
  family <- object$family
  if (!refit) family$parameters$value <- object$dispersion
  fit <- fit_family(fold$parts, fold$model, object$known, object$how, fold$estimate, family, NULL)
  points <- fold$points(fit$center)
  moments <- predicted_moments(fit, points, field_request$how, TRUE)
  variance <- moments$variance + nugget_of(fit)
  cbind(ifelse(fold$told, moments$trend + moments$process, NA), ifelse(fold$told, variance, Inf))
}

# The scores of the predictions of all observations, from the predictive distributions of the linear predictors.
score_columns.gp_family_fit <- function(object, normal) {
  told <- is.finite(normal$mean)
  normal$variance <- ifelse(told, normal$variance, 0)
  y <- object$parts$y
  x <- predictive_observation(normal, object, object$parts$weights)
  table <- predictive_columns(x, field_request)
  table$se.fit[!told] <- Inf
  above <- y >= quantile(x, 0.025) - 1e-9
  if (!is.null(object$parts$censored)) above <- above | object$parts$censored
  data.frame(table, log_density = log_density(x, object$response$y), within = above & y <= quantile(x, 0.975) + 1e-9)
}
