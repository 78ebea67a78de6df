# Cross-validation of fits with a family: the linear predictor of observations given the others, and scores of these.

# The cavity of the Laplace approximation, the normal distribution of the linear predictor from which the observation
# is divided out; with z = h + slope / W and P = S - S X (X' S X)^-1 X' S for S = (K + W^-1)^-1, its mean is
# z_i - (P z)_i / P_ii and its variance 1 / P_ii - 1 / W_i.
leave_one_out.gp_family_fit <- function(object) {
  alone <- if (is_latent(object)) latent_inverse_diagonal(object) else inverse_diagonal(object)
  inverse <- c(object$state[c("alpha", "z")], list(diagonal = alone))
  weight <- object$latent$terms$weight
  precision <- inverse$diagonal - rowSums(inverse$z^2)
  left <- 1 - precision / weight
  # without this observation, a coefficient of the trend would be anything
  told <- precision > 1e-12 * inverse$diagonal
  mean <- object$latent$terms$eta + object$latent$terms$slope / weight - inverse$alpha / precision
  variance <- left / (weight * (1 - left))
  # the cavity of an observation without information is the predictive given all observations
  idle <- which(left < 1e-9)
  if (length(idle)) {
    points <- some_points(new_points(object, NULL, NULL), idle)
    terms <- predicted_terms(object, points)
    mean[idle] <- terms$trend + terms$process
    variance[idle] <- field_variance(object, points, terms$process) + nugget_of(object)
  }
  predictive_normal(ifelse(told, mean, NA), ifelse(told, pmax(variance, 0), Inf))
}

# The moments of the linear predictor.
predict_fold.gp_family_fit <- function(object, out, refit) {
  fold <- leave_out(object, out, refit)
  family <- object$family
  if (!refit) family$parameters$value <- object$dispersion
  fit <- fit_family(fold$parts, fold$model, object$known, object$how, fold$estimate, family, NULL)
  fit <- c(fit, list(known = object$known, method = object$method))
  points <- fold$points(fit$center)
  terms <- predicted_terms(fit, points)
  variance <- field_variance(fit, points, terms$process) + nugget_of(fit)
  cbind(ifelse(fold$told, terms$trend + terms$process, NA), ifelse(fold$told, variance, Inf))
}

# Columns of the observations, by the predictive of their linear predictors.
score_columns.gp_family_fit <- function(object, normal) {
  told <- is.finite(normal$mean)
  normal$variance <- ifelse(told, normal$variance, 0)
  y <- object$parts$y
  x <- predictive_observation(normal, object, object$parts$weights)
  table <- predictive_columns(x, field_request)
  table$se.fit[!told] <- Inf
  within <- y >= quantile(x, 0.025) - 1e-9 & y <= quantile(x, 0.975) + 1e-9
  data.frame(table, log_density = log_density(x, y), within = within)
}
