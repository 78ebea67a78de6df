# Estimates the parameters of a covariance and of a family by a search for the global optimum of the likelihood.

# Estimates the parameters of the covariance. Returns a list of `theta`, the `value`, information on how the search
# ended, and resume(), which continues the search after a change of the likelihood.
estimate_covariance <- function(problem, likelihood, how, estimate, call) {
  model <- problem$model
  data <- problem$data
  if (estimate == "none") {
    check_all_given(model$parameters, call)
    theta <- model$parameters$value
    return(list(theta = theta, settings = likelihood$suited_settings(theta)))
  }
  target <- reporting_target(search_target(
    likelihood, data, model, how, is_profiled(model, data),
    sample_rows = function(data, size) representative_rows(model, data, size, how$control$seed),
    too_little = function(data) length(data$y) <= ncol(data$x) + 1, beside = function(end) starts_beside(end, model)
  ))
  best <- global_optimum(starting_values(model, problem$every_u %||% data$u, problem$residual), target)
  if (is_singular(best)) stop_singular(problem, likelihood$evaluate(best$theta, search = TRUE), call)
  resumable(without_ridge(best, target), target)
}

# Estimates the parameters of the covariance, the family and the trend. With `estimate = "none"`, only the trend is
# estimated.
estimate_family <- function(problem, likelihood, how, estimate, call) {
  data <- problem$data
  model <- problem$outer
  control <- how$control
  all_given <- estimate == "none"
  if (all_given) {
    for (part in list(problem$model, data$family)) check_all_given(part$parameters, call)
    if (!ncol(data$x)) return(list(theta = model$parameters$value))
  }
  target <- family_target(problem, likelihood, how)
  process <- if (all_given) rbind(problem$model$parameters$value) else {
    starting_values(problem$model, data$u, problem$residual)
  }
  others <- c(problem$start$parameters$value, problem$start$trend)
  starts <- unname(cbind(process, matrix(others, nrow(process), length(others), byrow = TRUE)))
  # the smallest gain for which a search continues is larger for sparse likelihoods, because their rounding errors
  # accumulate over the steps to the mode
  gain <- if (likelihood$dense) 1e-13 else 1e-11
  best <- if (!all_given) global_optimum(starts, target) else trend_alone(starts[1, ], target, gain)
  if (is_singular(best)) stop_no_mode(call)
  if (all_given) best$value <- NULL
  resumable(best, target)
}

family_target <- function(problem, likelihood, how) {
  reporting_target(search_target(
    likelihood, problem$data, problem$outer, how, FALSE,
    sample_rows = function(data, size) subset_rows(data$u, size, how$control$seed, if (likelihood$dense) data$block),
    too_little = function(data) all(data$y == data$y[[1]]), beside = function(end) rbind(end$theta)
  ))
}

# Optimises only the coefficients of the trend, from the starting value `theta`. If the approximation of the likelihood
# is outdated at the end of the search, the approximation is updated, and a second search starts where the first search
# ended.
trend_alone <- function(theta, target, gain) {
  control <- replace(target$how$control, "gain", gain)
  best <- descend(theta, target, control)
  if (is_singular(best) || !target$likelihood$outdated(best$theta)) return(best)
  target$likelihood$regroup(best$theta)
  descend(best$theta, target, control)
}

check_all_given <- function(parameters, call) {
  lacking <- parameters$name[is.na(parameters$value)]
  if (!length(lacking)) return(invisible())
  stop_kernops("input", "{.code estimate = \"none\"} needs a value for {.code {lacking}}.", call = call)
}

# TRUE if the common factor of all variances is known in closed form.
is_profiled <- function(model, data) length(model$scale) > 0 && !length(model$prior) && all(data$noise == 0)

# Finds the best optimum. If the likelihood is cheap to evaluate, searches begin at all starts. Otherwise the searches
# use a subset of the observations first, then larger subsets, whose sizes the likelihood determines; each search begins
# at the optima of the previous subset. A subset of nearly all observations is not used, because a search with this
# subset takes as long as a search with all observations.
global_optimum <- function(starts, target) {
  likelihood <- target$likelihood
  if (target$how$control$starts == 0) return(search_from_candidates(starts[1, , drop = FALSE], target))
  n <- length(target$data$y)
  # if the likelihood of all observations takes long, a larger subset gives better starting values and thus saves time
  size <- target$how$control$subset * if (likelihood$costly && n > 4000) 4 else 1
  rows <- target$sample_rows(target$data, if (n <= 1.25 * size) n else size)
  if (likelihood$dense && length(rows) == n) return(best_optimum(starts, target))
  search_from_candidates(start_candidates(starts, target, rows), target, part_optimum)
}

# The best optimum that searches from `candidates` reach. improve(candidates, target) first improves the candidates, by
# a search with a part of the data.
search_from_candidates <- function(candidates, target, improve = function(candidates, target) candidates) {
  likelihood <- target$likelihood
  target$how$precision <- likelihood$sufficient_precision(candidates[1, ], target$how$precision)
  settings <- likelihood$suited_settings(candidates[1, ])
  target$how <- with_settings(target$how, settings)
  candidates <- improve(candidates, target)
  best <- if (likelihood$count() > 0) vecchia_search(candidates, target) else best_from(candidates, target)
  c(best, target$how["precision"], list(settings = settings))
}

# Adds two elements to the optimum: `at_bound`, the names of the parameters at their bounds, and the function resume().
# Angles are reduced to less than 180 degrees.
resumable <- function(best, target) {
  parameters <- target$model$parameters
  turned <- is_direction(parameters) & !parameters$fixed
  best$theta[turned] <- best$theta[turned] %% 180
  parameters$upper <- best$upper %||% parameters$upper
  best$at_bound <- at_bound(parameters, best$theta)
  best$resume <- function() {
    further <- with_settled_neighbours(best, target)
    if (is.null(best$value)) further$value <- NULL
    resumable(replace(best, names(further), further), target)
  }
  best
}

# A range above 20 times the extent of the data is kept only if it increases the log-likelihood by more than 0.1. If the
# increase is smaller, variance and range grow along a ridge, and the optimum with a range of 20 extents describes the
# data as well.
without_ridge <- function(best, target) {
  parameters <- target$model$parameters
  limit <- 20 * parameters$extent
  far <- parameters$kind == "range" & parameters$coordinate == 0 & !parameters$fixed & best$theta > limit
  if (!any(far) || target$likelihood$costly) return(best)
  target$model$parameters$upper[far] <- limit[far]
  nearer <- descend(replace(best$theta, far, limit[far]), target)
  if (!isTRUE(nearer$value <= best$value + 0.2)) return(best)
  best[names(nearer)] <- nearer
  best$upper <- target$model$parameters$upper
  best
}
