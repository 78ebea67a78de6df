# Fits of many responses at the same points.

# Makes a fit of class gp_responses, whose parts are described in gp_responses.R. `arguments` is passed to
# data_and_model().
fit_responses <- function(responses, covariance, source, coords, arguments, how, estimate, call) {
  built <- data_and_model(responses$formula, covariance, source, coords, arguments, "vecchia", NULL, call)
  parts <- built$parts
  check_responses_model(built$model, call)
  problem <- centred_problem(parts, built$model, NULL, estimate, call)
  if (length(parts$y) < ncol(parts$x) + 2) {
    stop_kernops("input", "The trend has {ncol(parts$x)} coefficient{?s} for {length(parts$y)} observation{?s}: too few
                           for a covariance.", call = call)
  }
  check_white(problem$model, problem$data$u, call)
  problem <- bounded_problem(problem, rep(1, length(parts$y)), call)
  how$neighbours <- as.integer(how$control$neighbours %||% 10)
  task <- response_task(problem, how, estimate == "REML")
  fit_all <- if (responses$kind == "common") common_fits else separate_fits
  fits <- fit_all(task, responses, parts, call)
  object <- c(list(call = NULL, formula = responses$written, kind = responses$kind, responses = responses,
                   estimate = estimate, how = how, method = "vecchia", parts = parts, na.action = parts$na.action),
              problem, fits)
  object$null <- if (responses$kind == "independent") null_statistics(task, how$control)
  tell_without_fit(object)
  structure(object, class = "gp_responses")
}

# The data that the fits of all responses share. `sets_of(rows)` returns the conditioning sets of the observations
# `rows`, a result of response_sets(). `held(group)` returns the result of held_responses() for a group of responses.
response_task <- function(problem, how, reml) {
  model <- problem$model
  parameters <- response_parameters(model)
  starts <- response_starts(model, problem$data$u, parameters)
  theta <- response_theta(parameters, starts$s[, 1])
  sets_of <- function(rows) response_sets(rows_of_data(problem$data, rows), model, theta, how)
  operators <- set_operators(model)
  all_rows <- once(function() sets_of(seq_along(problem$data$y)))
  list(model = model, data = problem$data, parameters = parameters, starts = starts, reml = reml,
       held = function(group) held_responses(operators, model$nugget, group$sets$held, group$y),
       sets_of = function(rows) if (length(rows) == length(problem$data$y)) all_rows() else sets_of(rows))
}

# Fits each response with separate parameters, block by block.
separate_fits <- function(task, responses, parts, call) {
  fits <- empty_fits(task, responses, parts)
  blocks <- response_blocks(responses)
  for (k in seq_along(blocks)) {
    say_progress(step = paste("response", min(blocks[[k]])), fraction = (k - 1) / length(blocks))
    grouped <- grouped_responses(task, responses, blocks[[k]], parts, call)
    fits$problem[blocks[[k]]] <- grouped$problem
    for (group in grouped$groups) {
      found <- task$held(group)$optima(task$parameters, task$starts, task$reml)
      fits <- with_fits(fits, task, group, found)
    }
  }
  fits
}

# Fits all responses with common parameters; only the factor of all variances differs between responses.
common_fits <- function(task, responses, parts, call) {
  fits <- empty_fits(task, responses, parts)
  groups <- list()
  for (block in response_blocks(responses)) {
    grouped <- grouped_responses(task, responses, block, parts, call)
    fits$problem[block] <- grouped$problem
    groups <- c(groups, grouped$groups)
  }
  if (!length(groups)) return(fits)
  starts <- response_starts(task$model, task$data$u, task$parameters, 48)
  s <- common_optimum(task$held, groups, task$parameters, starts, task$reml)
  theta <- response_theta(task$parameters, s)
  for (group in groups) {
    found <- profiled_products(task$held(group)$products(theta), group$sets$n, task$reml)
    count <- ncol(group$y)
    fits <- with_fits(fits, task, group, c(found, list(theta = matrix(theta, length(theta), count),
                                                       evaluations = rep(NA_real_, count), converged = rep(1, count))))
  }
  fits
}
