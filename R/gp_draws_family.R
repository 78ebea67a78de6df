# Posterior draws of fits with a family: draws of the parameters of the covariance and the coefficients of the trend.
# The parameters of the family keep their estimates.

# The fit in the form that the sampler requires: its model has all parameters of the search, also the trend
# coefficients.
sampled_fit <- function(fit) UseMethod("sampled_fit")

sampled_fit.gp <- function(fit) fit

sampled_fit.gp_family_fit <- function(fit) {
  outer <- fit$outer
  outer$parameters$fixed <- outer$parameters$fixed | outer$parameters$kind == "family"
  theta <- stats::setNames(fit$outer_theta, outer$parameters$name)
  replace(fit, c("data", "model", "theta"), list(fit$response, outer, theta))
}

# The method for families. The coefficients of the trend in a draw are treated as known.
with_parameters.gp_family_fit <- function(fit, likelihood, theta) {
  problem <- list(data = fit$response, model = fit$model, outer = fit$outer, center = fit$center)
  state <- finish_family(problem, likelihood, list(theta = theta), NULL)
  fit[names(state)] <- state
  beta <- state$beta
  if (!length(beta)) return(fit)
  x <- fit$data$x
  fit$known$beta <- beta
  fit$beta <- beta[0]
  fit$state[c("z", "root")] <- list(x[, 0, drop = FALSE], matrix(0, 0, 0))
  fit$data[c("x", "y")] <- list(x[, 0, drop = FALSE], fit$data$y - as.vector(x %*% beta))
  fit
}

# The draws as a matrix with a row for each draw. Coefficients of the orthogonal basis of the trend are converted to
# coefficients of the trend.
reported_draws <- function(posterior) {
  fit <- sampled_fit(posterior$fit)
  parameters <- fit$model$parameters
  theta <- posterior$theta
  trend <- parameters$kind == "trend"
  if (any(trend)) {
    theta[, trend] <- t(sqrt(length(fit$data$y)) * backsolve(qr.R(qr(fit$data$x)), t(theta[, trend, drop = FALSE])))
    colnames(theta)[trend] <- names(fit$beta)
  }
  theta[, !parameters$fixed, drop = FALSE]
}
