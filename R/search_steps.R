# The steps of information_search(): propose, accept, stop. Each changes the search (search_newton.R).

# ---- Propose ----

jump_to_bound <- function(search) {
  if (search$jumps == 3) return(FALSE)
  bound <- onto_a_bound(search$point, search$some, search$low, search$high)
  if (!length(bound)) return(FALSE)
  search$jumps <- search$jumps + 1
  move_if_better(search, bound)
}

# Moves to s, and returns TRUE, if the likelihood is higher there.
move_if_better <- function(search, s) {
  value <- search$point$state$value
  trial <- visit(search, s, value)
  isTRUE(trial$state$value < value) && move_to(search, trial)
}

# The step, the gain of the log-likelihood that it promises, and the minimum gain for which a step is taken.
propose_step <- function(search) {
  point <- search$point
  control <- search$control
  search$step <- newton_step(point$gradient, search$curvature, point$s, search$low, search$high, search$reach)
  search$gain <- -sum(point$gradient * search$step) / 4
  search$first_gain <- max(search$first_gain, search$gain)
  say_progress(fraction = log(search$first_gain / search$gain) / log(search$first_gain / control$gain))
  search$least_gain <- max(control$gain, point$state$rounding, 10 * point$state$resolution)
}

# At the start of a search, raises variances that were nearly zero in a subset.
leave_floor <- function(search) {
  higher <- if (search$point$state$has_value) off_the_floor(search)
  if (length(higher)) move_if_better(search, higher)
}

# Raises parameters, once, if the gradient vanishes although there is no optimum.
raise_parameters <- function(search) {
  if (search$raised) return(FALSE)
  higher <- off_the_floor(search) %||% grown_sills(search)
  if (!length(higher)) return(FALSE)
  search$raised <- TRUE
  move_to(search, visit(search, higher) %||% search$point)
}

# Once, draws more probes with smaller residuals, if the optimum by the present probes may be far below the true one.
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

# The mean loss of log-likelihood at an optimum by these probes, compared with the true optimum. At the end of a search,
# the loss must be at most `allowed_loss`, and enough probes are drawn for this.
probe_loss <- function(search) {
  point <- search$point
  noise <- (point$state$noise() * tcrossprod(point$slope))[search$free, search$free, drop = FALSE]
  sum(diag(solve(positive_definite(point$information(search$profile, search$free)), noise))) / 4
}
allowed_loss <- 0.1
most_probes <- 128

# ---- Accept ----

# The first of the step and its halvings that is an improvement: its `point`, NULL if there is none, how often it was
# halved, and whether the matrix was `singular` at one of them.
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

# If there are no values, a step is an improvement unless the derivative at its end points back at least as steeply.
improves <- function(search, trial) {
  point <- search$point
  if (trial$state$has_value) return(trial$state$value < point$state$value)
  sum(trial$gradient * search$step) < -sum(point$gradient * search$step)
}

accept_step <- function(search, step) {
  point <- search$point
  # if each likelihood takes long, whole steps along a ridge are followed by longer ones
  whole <- step$half == 0 && !point$state$has_value && max(abs(search$step)) > 0.99 * search$reach
  search$reach <- if (whole) min(2 * search$reach, 4) else 1
  search$curvature <- bfgs(search$curvature, step$point$s - point$s, step$point$gradient - point$gradient)
  search$learnt <- search$learnt + 1
  search$point <- step$point
}

# Restarts from the information, or with a sharper gradient: accumulated BFGS updates may mislead in a bent valley, and
# a coarse gradient anywhere. FALSE if neither can be improved.
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
