# The parameter of a Box-Cox transformation of the response, by maximum likelihood.

# The lambda with the largest profile likelihood. If lambda changes, variances change about in proportion to g^(2
# lambda), where g is the geometric mean of the response.
estimated_lambda <- function(parts, problem_of, how, call) {
  log_mean <- mean(log(parts$y))
  last <- NULL
  deviance <- function(lambda) {
    now <- transformed(parts, lambda)
    problem <- problem_of(now)
    likelihood <- likelihood_for(problem$data, problem$model, how)
    parameters <- problem$model$parameters
    theta <- if (is.null(last)) {
      # warnings are suppressed, because the fit with the estimated lambda repeats them
      suppressWarnings(estimate_covariance(problem, likelihood, how, "ML", call)$theta)
    } else {
      free <- parameters$kind == "variance" & !parameters$fixed
      replace(last$theta, free, last$theta[free] * exp(2 * (lambda - last$lambda) * log_mean))
    }
    optimum <- least_deviance(likelihood, theta, problem$model, is_profiled(problem$model, problem$data), how$control)
    if (is.finite(optimum$value)) last <<- list(theta = optimum$theta, lambda = lambda)
    optimum$value - 2 * now$jacobian
  }
  say_progress(step = "transformation")
  stats::optimize(deviance, c(-2, 3), tol = 1e-3)$minimum
}
