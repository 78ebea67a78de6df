# Minimises -2 log-likelihood, as search_from() does, by quasi-Newton steps (BFGS). The average information is the first
# approximation of the curvature. Each iteration proposes a step, accepts the first of the halved steps that increases
# the log-likelihood, and stops when a step would increase the log-likelihood by less than control$gain or by less than
# its rounding error. If states have no values (lik.R), a step is accepted unless the directional derivative at its end
# shows that the step was far too long. At the end of such a search, the values at the start and at the end are
# estimated, and the search returns the start if the value at the start is clearly better. The result has the
# `information` of all free parameters.
information_search <- function(theta, evaluate, model, profile, control) {
  search <- new_search(theta, evaluate, model, profile, control)
  if (!begin(search)) return(list(theta = search$theta, value = Inf, convergence = 1L, iterations = 0L,
                                  message = "singular at the start", evaluations = 1L))
  leave_floor(search)
  for (iteration in seq_len(control$maxit)) {
    if (jump_to_bound(search)) next
    propose_step(search)
    if (search$gain < search$least_gain) {
      if (raise_parameters(search) || refine_gradient(search)) next
      end_search(search, FALSE, "a step would increase the log-likelihood by less than ", signif(search$least_gain, 2))
      break
    }
    step <- halved_step(search)
    if (!is.null(step$point)) accept_step(search, step) else if (!restart(search, step)) {
      end_without_step(search, step)
      break
    }
  }
  search_result(search, iteration)
}

# The state of a search, an environment that the functions of the search change.
#   free, estimated  the rows of the parameters that the search moves; the rows of all estimated parameters, which
#                    include a profiled scale
#   some, low, high  the rows `free` of the table of parameters, and their bounds on the scale of the search
#   point            the best result of visit() so far
#   curvature, learnt  the curvature at this point; the number of BFGS updates of the curvature
#   reach            the longest step, in logarithms
#   unraised         the point before raise_parameters() moved the search
#   loss             the mean loss of log-likelihood due to random probes, after probe_loss() has computed it
#   lifted           the rows of variances that raise_parameters() has raised, in this search or, according to
#                    control$lifted, in the previous search
new_search <- function(theta, evaluate, model, profile, control) {
  parameters <- model$parameters
  estimated <- !parameters$fixed
  free <- which(if (profile) replace(estimated, model$scale[[1]], FALSE) else estimated)
  some <- parameters[free, ]
  list2env(list(
    theta = theta, evaluate = evaluate, model = model, profile = profile, control = control, estimated = estimated,
    free = free, some = some, low = to_search(some, some$lower), high = to_search(some, some$upper),
    point = NULL, latest = NULL, curvature = NULL, learnt = 0, reach = 1, jumps = 0, raised = FALSE, unraised = NULL,
    lifted = control$lifted, loss = NULL, evaluations = 0L, first_gain = 2 * control$gain, early = TRUE,
    message = "maximum number of steps reached"
  ), parent = emptyenv())
}

# Evaluates the likelihood at s, on the scale of the search: returns a point, or NULL if the covariance matrix is
# singular. The gradient is computed only if the value is less than `below`.
visit <- function(search, s, below = Inf) {
  model <- search$model
  theta <- replace(search$theta, search$free, from_search(search$some, s))
  state <- search$evaluate(theta)
  search$evaluations <- search$evaluations + 1L
  search$latest <- s
  if (is_singular(state)) return(NULL)
  if (state$has_value && state$value >= below) return(list(state = state))
  slope <- search_slope(model$parameters, theta)
  gradient <- state$gradient()
  steepness <- (gradient * slope)[search$free]
  if (!all(is.finite(steepness))) return(NULL) # singular up to rounding
  scaled <- function(information, rows) (information * tcrossprod(slope))[rows, rows, drop = FALSE]
  known <- list() # caches the information, whose computation may take longer than the gradient
  information_of <- function(profiled) {
    key <- if (profiled) "profiled" else "whole"
    known[[key]] <<- known[[key]] %||% state$information(profiled)
    known[[key]]
  }
  list(s = s, theta = theta, state = state, slope = slope, gradient = steepness,
       information = function(profiled, rows) scaled(information_of(profiled), rows),
       curvature = function() {
         information <- information_of(search$profile) + root_curvature(model, theta, gradient)
         positive_definite(scaled(information, search$free))
       })
}

# Moves the search to a point, and uses the information at this point as the curvature.
move_to <- function(search, point) {
  search$point <- point
  search$curvature <- point$curvature()
  TRUE
}

begin <- function(search) {
  regular <- function(s) !is.null(search$point <- visit(search, s))
  regular_start(to_search(search$some, search$theta[search$free]), search$some, regular)
  if (is.null(search$point)) return(FALSE)
  search$start <- list(s = search$point$s, theta = scaled_theta(search))
  move_to(search, search$point)
}

# The parameters theta at the point of the search. If the scale is profiled out, the variances are multiplied by the
# profiled scale.
scaled_theta <- function(search) {
  theta <- search$point$theta
  scale <- search$model$scale
  if (search$profile) theta[scale] <- theta[scale] * search$point$state$scale
  theta
}

search_result <- function(search, iterations) {
  if (isTRUE(search$unraised$state$value < search$point$state$value)) search$point <- search$unraised
  signed <- with_signs(search$model, search$point$theta)
  if (!identical(search$latest, search$point$s) || any(signed != search$point$theta)) {
    search$point <- visit(search, to_search(search$some, signed[search$free]))
  }
  state <- search$point$state
  if (!state$has_value && clearly_worse(state$estimate, scaled_theta(search), search$start$theta)) {
    end_search(search, TRUE, "the steps decreased the likelihood", better_slopes)
    search$point <- visit(search, search$start$s)
  }
  point <- search$point
  list(theta = scaled_theta(search), value = point$state$value, convergence = as.integer(search$early),
       message = search$message, gain = search$gain, iterations = iterations, evaluations = search$evaluations,
       information = point$information(FALSE, search$estimated), probe_loss = search$loss, lifted = search$lifted,
       rounding = point$state$rounding)
}

better_slopes <- " (more `probes` of gp_control() give more accurate gradients)"

# TRUE if the log-likelihood at `end` is lower than at `start` by more than 1 plus the Monte Carlo uncertainty due to
# the probes.
clearly_worse <- function(estimate, end, start) {
  if (identical(end, start)) return(FALSE)
  before <- estimate(start)
  after <- estimate(end)
  isTRUE(after$value - before$value > 2 + 3 * sqrt(sum(before$logdet_error^2, after$logdet_error^2)))
}
