# The functions of information_search() that propose a step, accept a step, and stop the search. Each function changes
# the environment `search` (search_newton.R).

# ---- Propose ----

jump_to_bound <- function(search) {
  if (search$jumps == 3) return(FALSE)
  bound <- onto_a_bound(search$point, search$some, search$low, search$high)
  if (!length(bound)) return(FALSE)
  search$jumps <- search$jumps + 1
  move_if_better(search, bound)
}

# If the likelihood at s is higher than at the point of the search, moves the search to s and returns TRUE; otherwise
# returns FALSE.
move_if_better <- function(search, s) {
  value <- search$point$state$value
  trial <- visit(search, s, value)
  isTRUE(trial$state$value < value) && move_to(search, trial)
}

# Computes the step, the gain of the log-likelihood that the step is predicted to give, and the minimum gain below which
# the search stops.
propose_step <- function(search) {
  point <- search$point
  control <- search$control
  search$step <- newton_step(point$gradient, search$curvature, point$s, search$low, search$high, search$reach)
  search$gain <- -sum(point$gradient * search$step) / 4
  search$first_gain <- max(search$first_gain, search$gain)
  say_progress(fraction = log(search$first_gain / search$gain) / log(search$first_gain / control$gain))
  search$least_gain <- max(control$gain, point$state$rounding, 10 * point$state$resolution)
}

# Called at the start of a search: raises variances that were nearly zero at the optimum for a subset.
leave_floor <- function(search) {
  higher <- if (search$point$state$has_value) off_the_floor(search)
  if (length(higher)) move_if_better(search, higher)
}

# If the gradient vanishes although the likelihood has no optimum at the point, raises parameters. A search raises
# parameters at most once. If the search then ends at a lower likelihood than before, search_result() returns the point
# at which the parameters were raised. Variances that the previous search raised, and that are nearly zero again, are
# not raised a second time. A search that begins at an earlier optimum (`starts` of 0) raises parameters only if the
# likelihood increases.
raise_parameters <- function(search) {
  if (search$raised) return(FALSE)
  higher <- off_the_floor(search, search$lifted)
  if (length(higher)) search$lifted <- union(search$lifted, search$free[higher != search$point$s])
  higher <- higher %||% grown_sills(search)
  if (!length(higher)) return(FALSE)
  search$raised <- TRUE
  valued <- search$point$state$has_value
  if (valued && identical(as.numeric(search$control$starts), 0)) return(move_if_better(search, higher))
  if (valued) search$unraised <- search$point
  move_to(search, visit(search, higher) %||% search$point)
}

# If the optimum with the present probes may have a far lower likelihood than the true optimum, draws more probes and
# solves systems to smaller residuals. This function has an effect at most once in a search.
refine_gradient <- function(search) {
  state <- search$point$state
  fine <- state$probes > 0 && isTRUE(state$rounding < allowed_loss)
  if (!fine || !is.null(search$loss) || !length(search$free)) return(FALSE)
  loss <- probe_loss(search)
  number <- min(most_probes, ceiling(state$probes * loss / allowed_loss))
  search$loss <- loss * state$probes / max(number, state$probes)
  more <- number > state$probes
  if (more) state$draw_probes(number)
  if (!state$sharpen() && !more) return(FALSE)
  search$point <- visit(search, search$point$s)
  TRUE
}

# The expected loss of log-likelihood due to random probes: the log-likelihood at its optimum minus the log-likelihood
# at the optimum that a search with the present probes finds, on average over random probes. refine_gradient() draws as
# many probes as necessary for a loss of at most `allowed_loss`.
probe_loss <- function(search) {
  point <- search$point
  noise <- (point$state$noise() * tcrossprod(point$slope))[search$free, search$free, drop = FALSE]
  sum(diag(solve(positive_definite(point$information(search$profile, search$free)), noise))) / 4
}
allowed_loss <- 0.1
most_probes <- 128

# ---- Accept ----

# Tries the step and its halvings until a step is an improvement. Returns a list of the `point` at the end of this step
# (NULL if no step is an improvement); `half`, the number of halvings; and `singular`, which is TRUE if the covariance
# matrix was singular at the end of one of the steps.
halved_step <- function(search) {
  singular <- FALSE
  for (half in 0:4) {
    s <- pmin(pmax(search$point$s + search$step / 2^half, search$low), search$high)
    trial <- visit(search, s, search$point$state$value)
    if (is.null(trial)) singular <- TRUE else if (improves(search, trial)) {
      return(list(point = trial, half = half, singular = singular))
    }
  }
  list(singular = singular)
}

# TRUE if a step is an improvement. If states have no values, the directional derivative along the step decides: the
# step is too long if at its end the derivative has the opposite sign and is at least as steep as at its start.
improves <- function(search, trial) {
  point <- search$point
  if (trial$state$has_value) return(trial$state$value < point$state$value)
  sum(trial$gradient * search$step) < -sum(point$gradient * search$step)
}

accept_step <- function(search, step) {
  point <- search$point
  # if each likelihood takes long, the maximum length of steps is increased after whole steps along a ridge
  whole <- step$half == 0 && !point$state$has_value && max(abs(search$step)) > 0.99 * search$reach
  search$reach <- if (whole) min(2 * search$reach, 4) else 1
  search$curvature <- bfgs(search$curvature, step$point$s - point$s, step$point$gradient - point$gradient)
  search$learnt <- search$learnt + 1
  search$point <- step$point
}

# Restarts the search at its point, if no better step was found. If states have values, the information replaces the
# curvature, because BFGS updates accumulate errors in a bent valley. If states have no values, the residuals are
# reduced, because the gradient may be too inexact. Returns FALSE if the search cannot be restarted.
restart <- function(search, step) {
  state <- search$point$state
  if (!(if (state$has_value) search$learnt > 0 else !step$singular && state$sharpen())) return(FALSE)
  search$learnt <- 0
  search$reach <- 1
  move_to(search, visit(search, search$point$s))
}

# ---- Stop ----

end_search <- function(search, early, ...) {
  search$early <- early
  search$message <- paste0(...)
}

# Gains below 0.5 do not matter for estimated values, and gains below 0.01 may be rounding errors.
end_without_step <- function(search, step) {
  valued <- search$point$state$has_value
  end_search(search, search$gain > if (valued) 0.01 else 0.5, "no better step found",
             if (step$singular) " before the matrix is singular", if (!valued) better_slopes)
}
