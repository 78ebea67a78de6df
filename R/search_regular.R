# Searches that use values and gradients of the likelihood, from starting values that may be far from an optimum.

# Minimises -2 log-likelihood over the free parameters by nlminb(), from the starting value `theta`. If the common
# factor of the variances is known in closed form, the first variance keeps its value during the search, and all
# variances are multiplied by the optimal factor at the end.
search_from <- function(theta, evaluate, model, profile, control) {
  search <- new_search(theta, evaluate, model, profile, control)
  free <- search$free
  theta_of <- function(s) replace(theta, free, from_search(search$some, s))
  start <- to_search(search$some, theta[free])
  # the best visited point, because nlminb() may return a worse point in case of rounding errors
  best <- list(s = start, value = Inf)
  latest <- NULL
  visit <- function(s) {
    if (identical(latest$s, s)) return(latest)
    theta <- theta_of(s)
    state <- evaluate(theta)
    value <- if (is.finite(state$value)) state$value else Inf
    # at an infinite value, there is no gradient, and nlminb() takes a shorter step
    slope <- function() if (value < Inf) state$gradient() else 0 * theta
    gradient <- once(function() (slope() * search_slope(model$parameters, theta))[free])
    latest <<- list(s = s, value = value, scale = state$scale, gradient = gradient)
    if (value < best$value) best <<- latest
    latest
  }
  value <- function(s) visit(s)$value
  end <- if (length(free)) stats::nlminb(
    regular_start(start, search$some, function(s) value(s) < Inf), value, function(s) visit(s)$gradient(),
    lower = search$low, upper = search$high, scale = search_scale(model$parameters, theta)[free],
    control = list(iter.max = control$maxit, eval.max = 2 * control$maxit, rel.tol = control$tol, step.max = 2)
  ) else {
    visit(start)
    list(convergence = 0L, message = "no free parameters", iterations = 0L, evaluations = c(0L, 0L))
  }
  theta <- theta_of(best$s)
  if (profile) theta[model$scale] <- theta[model$scale] * (best$scale %||% 1)
  c(list(theta = with_signs(model, theta), value = best$value),
    end[c("convergence", "message", "iterations", "evaluations")])
}

# If the covariance matrix is singular at the start s, halves all ranges repeatedly, until the matrix is regular or all
# ranges are at their bounds.
regular_start <- function(s, parameters, regular) {
  low <- to_search(parameters, parameters$lower)
  while (!regular(s)) {
    shorter <- ifelse(parameters$kind == "range", pmax(s - log(2), low), s)
    if (all(shorter == s)) break
    s <- shorter
  }
  s
}
