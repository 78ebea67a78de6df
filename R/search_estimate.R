# Estimation of covariance parameters: starting values, search on a subset, search on all data, progress messages.

# The parameters of the covariance: a list of theta, value, and how they were found.
estimate_covariance <- function(problem, likelihood, how, estimate, call) {
  parameters <- problem$model$parameters
  if (estimate == "none") {
    if (length(lacking <- parameters$name[is.na(parameters$value)])) {
      stop_kernops("input", "{.code estimate = \"none\"} needs a value for {.code {lacking}}.", call = call)
    }
    return(list(theta = parameters$value))
  }
  data <- problem$data
  profile <- is_profiled(problem$model, data)
  n <- length(data$y)
  target <- list(data = data, model = problem$model, how = how, profile = profile, value = function(theta) {
    likelihood$evaluate(theta, profile, search = how$method == "exact")$value
  })
  evaluate <- function(theta) likelihood$evaluate(theta, profile, search = TRUE)
  target$evaluate <- step_reporter(evaluate, problem$model, how$control)
  starts <- starting_values(problem$model, problem$every_u %||% data$u, problem$residual)
  # where a likelihood of all takes long, better starting values are worth more
  size <- how$control$subset * if (n > 4000 && how$method == "iterative") 4 else 1
  some <- representative_rows(problem$model, data, enough_rows(n, size), how$control$seed)
  best <- if (how$method == "exact" && n == length(some)) best_optimum(starts, target) else {
    candidates <- start_candidates(starts, target, some)
    how$precision <- sufficient_precision(how, data, problem$model, candidates[1, ], likelihood)
    target$how$precision <- how$precision
    if (how$method == "vecchia") vecchia_search(candidates, target, likelihood) else
      best_from(of_a_fifth(candidates, target), target)
  }
  if (identical(best$value, Inf)) stop_singular(problem, likelihood$evaluate(best$theta, search = TRUE), call)
  best <- without_ridge(best, target)
  angles <- with(problem$model, is_direction(parameters) & !parameters$fixed)
  best$theta[angles] <- best$theta[angles] %% 180
  problem$model$parameters$upper <- best$upper %||% parameters$upper
  best$at_bound <- at_bound(problem$model, best$theta)
  best$precision <- how$precision
  warn_about_search(best, how$control)
  best
}

# A single range above 20 extents of the data is kept only if the log-likelihood gains by more than 0.1. Otherwise its
# variance grows with it along a ridge, and the optimum at 20 extents describes the data as well.
without_ridge <- function(best, target) {
  parameters <- target$model$parameters
  limit <- 20 * parameters$extent
  far <- parameters$kind == "range" & parameters$coordinate == 0 & !parameters$fixed & best$theta > limit
  if (!any(far) || is.na(best$value)) return(best)
  model <- target$model
  model$parameters$upper[far] <- limit[far]
  start <- replace(best$theta, far, limit[far])
  nearer <- information_search(start, target$evaluate, model, target$profile, target$how$control)
  if (!isTRUE(nearer$value <= best$value + 0.2)) return(best)
  best[names(nearer)] <- nearer
  best$upper <- model$parameters$upper
  best
}

# A subset of nearly all takes as long as all.
enough_rows <- function(n, size) if (n <= 1.25 * size) n else size

# A search in float32 would end at the wrong place where rounding changes the log-likelihood.
sufficient_precision <- function(how, data, model, theta, likelihood) {
  if (how$method != "iterative" || how$precision == "float64") return(how$precision)
  loss <- expected_rounding(data, model, theta, how$precision)
  if (isTRUE(loss < allowed_rounding)) return(how$precision)
  cli::cli_inform(c(i = "{.code precision = \"float32\"} would change the log-likelihood by about {signif(loss, 2)}:
                         float64 is used instead."), class = "kernops_rounding")
  likelihood$use_precision("float64")
  "float64"
}

# Whether the common factor of all variances is known in closed form.
is_profiled <- function(model, data) length(model$scale) > 0 && !length(model$prior) && all(data$noise == 0)

# Starting values of the search on all points, one in each row: the optima of the subset, and beside each that was the
# best so far the same with the values given by the user, and with a larger nugget, since the subset may not identify
# the nugget. Of many observations, for which each likelihood takes as long as a step of the search, a larger subset
# chooses one.
start_candidates <- function(starts, target, some) {
  whole <- target
  target$data <- subset_data(whole$data, some)
  if (length(some) <= ncol(target$data$x) + 1) return(starts[1, , drop = FALSE])
  how <- target$how
  how$control$tol <- max(how$control$tol, 1e-7)
  how$method <- "exact"
  target$how <- how
  say_progress(step = paste("start from", length(some), "observations"))
  target$evaluate <- exact_evaluate(target)
  target$value <- function(theta) target$evaluate(theta)$value
  found <- find_optima(starts, target)
  if (whole$how$method != "exact") found$best <- c(finish(found$best, target), leads = TRUE)
  larger <- larger_subset(whole)
  if (!is.null(larger)) found$best$theta <- larger$search(found$best$theta)
  rows <- lapply(ordered_optima(found, target, whole$how$method), starts_beside, target$model)
  candidates <- unique(do.call(rbind, rows))
  if (is.null(larger) || nrow(candidates) == 1) return(candidates)
  candidates[which.min(apply(candidates, 1, larger$value)), , drop = FALSE]
}

starts_beside <- function(end, model) {
  theta <- unname(end$theta)
  if (!isTRUE(end$leads)) return(rbind(theta, deparse.level = 0))
  parameters <- model$parameters
  given <- !parameters$fixed & !is.na(parameters$value)
  white <- white_rows(model)
  sill <- total_variance(model, theta)
  little <- setdiff(white[theta[white] < 1e-3 * sill], which(parameters$fixed))
  rbind(theta, replace(theta, given, parameters$value[given]), replace(theta, little, 0.01 * sill), deparse.level = 0)
}

# Where values of all data choose, in the order in which they were found, so that those found later take nothing away;
# else the best one is first, and others that are far worse are left out.
ordered_optima <- function(found, target, method) {
  if (method == "exact" && length(found$optima)) return(found$optima)
  c(list(found$best), rivals_of(found, target, if (has_formula(target$model)) 20 else 4))
}

# That of a likelihood by Cholesky factors.
solving_backend <- function(how) if (nzchar(factor_problem(how$backend))) "cpu" else how$backend

exact_evaluate <- function(target) {
  how <- target$how
  likelihood <- exact_likelihood(target$data, target$model, how$reml, solving_backend(how))
  likelihood <- with_prior(likelihood, target$model)
  function(theta) likelihood$evaluate(theta, target$profile, search = TRUE)
}

# Whether a likelihood of all takes far longer than a few of so many by Cholesky factors.
takes_long <- function(target) target$how$method == "iterative" && length(target$data$y) >= 8 * exact_size(target)

exact_size <- function(target) {
  on_cpu <- factor_device(1e4, solving_backend(target$how), first_device()) < 0
  if (on_cpu) 4000 else min(max(1e4, length(target$data$y) / 25), 4e4)
}

# The likelihood of more of them, and its search.
larger_subset <- function(target) {
  if (!takes_long(target)) return(NULL)
  target <- on_subset(target, exact_size(target))
  target$evaluate <- exact_evaluate(target)
  list(
    value = function(theta) target$evaluate(theta)$value,
    search = function(theta) subset_search(theta, target)$theta
  )
}

# The optimum of a fifth of many observations: each likelihood takes a twenty-fifth of the time, and the optimum of all
# is near.
of_a_fifth <- function(candidates, target) {
  if (!takes_long(target)) return(candidates)
  target <- on_subset(target, length(target$data$y) %/% 5)
  target$evaluate <- new_evaluate(target)
  best <- subset_search(candidates[1, ], target) # larger_subset() chose one
  if (identical(best$value, Inf)) candidates else rbind(best$theta)
}

on_subset <- function(target, size) {
  some <- representative_rows(target$model, target$data, size, target$how$control$seed)
  target$data <- subset_data(target$data, some)
  target
}

subset_search <- function(theta, target) {
  say_progress(step = paste("start from", length(target$data$y), "observations"))
  information_search(theta, target$evaluate, target$model, target$profile, target$how$control)
}

# By a likelihood of its own.
new_evaluate <- function(target) {
  likelihood <- likelihood_for(target$data, target$model, target$how)
  function(theta) likelihood$evaluate(theta, target$profile, search = TRUE)
}

# Near the optimum few steps of Newton's kind are enough. Where values are known to cost little, others are tried, too.
best_from <- function(candidates, target) {
  control <- target$how$control
  exact <- target$how$method == "exact"
  if (exact) control$gain <- 1e-5
  search <- function(theta) information_search(theta, target$evaluate, target$model, target$profile, control)
  if (nrow(candidates) == 1) return(search(candidates[1, ]))
  values <- apply(candidates, 1, target$value)
  if (exact || target$how$method == "vecchia" && has_formula(target$model)) {
    return(best_beside(candidates, values, search, target, if (exact) 6 else 40))
  }
  best <- search(candidates[which.min(values), ])
  cheap <- target$how$method != "iterative"
  for (other in which(cheap & values < best$value)) best <- lowest(list(best, search(candidates[other, ])))
  best
}

# Parameters of user-defined formulas have optima that differ in more ways than those of ranges and nuggets.
has_formula <- function(model) any(model$parameters$kind == "free" & !model$parameters$fixed)

# The best of the optima that candidates lead to, and its rivals. The values of candidates say little about those of the
# optima, since they are optima of a subset: all that are near the lowest one before them are searched from, in their
# order, unless nothing separates them from an optimum that was found.
best_beside <- function(candidates, values, search, target, within = 6) {
  found <- list()
  for (k in which(values < Inf & values <= cummin(values) + within)) {
    end <- list(theta = candidates[k, ], value = values[[k]])
    if (all(vapply(found, apart, NA, end, target))) found <- c(found, list(search(end$theta)))
  }
  if (!length(found)) return(search(candidates[1, ]))
  best <- lowest(found)
  rivals <- list()
  for (end in Filter(function(end) end$value <= best$value + 4, from_best(found))) {
    if (length(rivals) < 3 && all(vapply(c(list(best), rivals), apart, NA, end, target))) rivals <- c(rivals, list(end))
  }
  best$rivals <- rivals
  best
}

# Searches from all starts. Where future::plan() has other processes, each makes its own likelihood there.
searches <- function(starts, search, target) {
  if (nrow(starts) > 1 && many_workers()) return(search_elsewhere(starts, search, target))
  apply(starts, 1, search, target$evaluate, target$model, target$profile, target$how$control, simplify = FALSE)
}

search_elsewhere <- function(starts, search, target) {
  lapply_future(seq_len(nrow(starts)), function(k) {
    search(starts[k, ], new_evaluate(target), target$model, target$profile, target$how$control)
  })
}

many_workers <- function() {
  requireNamespace("future", quietly = TRUE) && requireNamespace("future.apply", quietly = TRUE) &&
    future::nbrOfWorkers() > 1
}

subset_data <- function(data, some) {
  small <- list(y = data$y[some], x = data$x[some, , drop = FALSE], u = data$u[some, , drop = FALSE],
                noise = data$noise[some], weights = data$weights[some], rows = data$rows[some],
                block = data$block[some], logdet_xx = 0)
  # a level of a factor may not occur in it
  columns <- independent_columns(rbind(small$x, data$within$x))
  small$x <- small$x[, columns, drop = FALSE]
  if (is.null(data$within)) return(small)
  within <- replace(data$within, "x", list(data$within$x[, columns, drop = FALSE]))
  c(small, list(location = data$location, within = within))
}

# Says after each likelihood where the search is: on the bar, or by a line.
step_reporter <- function(evaluate, model, control) {
  force(evaluate)
  count <- 0
  function(theta) {
    say_progress(detail = paste0(", likelihood ", count + 1))
    state <- evaluate(theta)
    count <<- count + 1
    word <- if (length(model$prior)) ", log posterior density " else ", log-likelihood "
    value <- if (!is.na(state$value)) paste0(word, likelihood_text(-state$value / 2))
    # a search takes 3 to 7 likelihoods, as a rule
    say_progress(step = paste0("likelihood ", count, value), fraction = count / (count + 4))
    if (control$progress == "steps") {
      # the variances that belong to the profile likelihood
      if (length(state$scale)) theta[model$scale] <- theta[model$scale] * state$scale
      theta <- reported(model, theta)
      cli::cat_line("likelihood ", count, value, ", at ",
                    paste(model$parameters$name, signif(theta, 4), sep = " = ", collapse = ", "))
    }
    state
  }
}
