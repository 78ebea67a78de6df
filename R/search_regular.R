# The minimum of `likelihood` over the free parameters, from `theta`. Where the common factor of the variances
# is known in closed form, the first of them stays as it is, and all are multiplied at the end.
# long: closures that share the likelihood that was evaluated last
search_from <- function(theta, likelihood, model, profile, control) {
  parameters <- model$parameters
  free <- !parameters$fixed
  if (profile) free[model$scale[[1]]] <- FALSE
  theta_of <- function(s) replace(theta, free, from_search(parameters[free, ], s))
  start <- to_search(parameters[free, ], theta[free])
  best <- list(s = start, value = Inf) # of all that were seen: what nlminb() returns may be beside it, by rounding
  seen <- new.env(parent = emptyenv())
  visit <- function(s) {
    if (!identical(seen$s, s)) {
      state <- likelihood(theta_of(s))
      seen$s <- s
      seen$value <- if (is.finite(state$value)) state$value else Inf
      seen$state <- state
      seen$gradient <- NULL
      if (seen$value < best$value) best <<- list(s = s, value = seen$value, scale = state$scale)
    }
  }
  gradient <- function(s) {
    visit(s)
    if (is.null(seen$gradient)) {
      at <- theta_of(s)
      # an infinite value has no gradient, and the search goes back
      slope <- if (is.finite(seen$value)) seen$state$gradient() else 0 * at
      seen$gradient <- (slope * search_slope(parameters, at))[free]
    }
    seen$gradient
  }
  value <- function(s) {
    visit(s)
    seen$value
  }
  found <- if (any(free)) stats::nlminb(
    regular_start(start, parameters[free, ], function(s) value(s) < Inf), value, gradient,
    lower = to_search(parameters[free, ], parameters$lower[free]),
    upper = to_search(parameters[free, ], parameters$upper[free]),
    scale = search_scale(parameters, theta)[free],
    control = list(iter.max = control$maxit, eval.max = 2 * control$maxit, rel.tol = control$tol, step.max = 2)
  ) else {
    visit(start)
    list(convergence = 0L, message = "no free parameters", iterations = 0L, evaluations = c(0L, 0L))
  }
  result <- theta_of(best$s)
  if (profile) result[model$scale] <- result[model$scale] * (best$scale %||% 1)
  c(list(theta = with_signs(model, result), value = best$value),
    found[c("convergence", "message", "iterations", "evaluations")])
}

# From a start where the matrix is singular ranges are halved until it is not, or until all are at their bounds.
regular_start <- function(s, parameters, regular) {
  low <- to_search(parameters, parameters$lower)
  while (!regular(s)) {
    shorter <- ifelse(parameters$kind == "range", pmax(s - log(2), low), s)
    if (all(shorter == s)) break
    s <- shorter
  }
  s
}
