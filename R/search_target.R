# The target of a search, which is the likelihood with its data, and searches from several starts.

# A target has the likelihood, and the arguments that are necessary to create a likelihood for other data. Searches call
# these functions of a target:
#   evaluate(theta), value(theta)   states and values of the likelihood (lik.R)
#   sample_rows(data, size)  the indices of about `size` representative rows of the data, for a subset
#   too_little(data)   TRUE if a subset has too little information on the parameters
#   beside(end)        a matrix of starting values, one in each row: the optimum of a subset, and values near it
search_target <- function(likelihood, data, model, how, profile, ...) {
  list(
    likelihood = likelihood, data = data, model = model, how = how, profile = profile,
    evaluate = function(theta) likelihood$evaluate(theta, profile, search = TRUE),
    value = function(theta) likelihood$value(theta, profile), ...
  )
}

# The target with a new likelihood, for the same data or for a subset.
remade_target <- function(target, data = target$data, how = target$how) {
  likelihood <- likelihood_for(data, target$model, how)
  made <- search_target(likelihood, data, target$model, how, target$profile)
  replace(target, names(made), made)
}

subset_target <- function(target, rows, how = target$how) {
  say_progress(step = paste("start from", length(rows), "observations"))
  remade_target(target, subset_data(target$data, rows), how)
}

rows_of_data <- function(data, rows) {
  each <- intersect(c("y", "x", "u", "noise", "weights", "rows", "block", "prior", "offset", "basis"), names(data))
  data[each] <- lapply(data[each], function(v) if (is.matrix(v)) v[rows, , drop = FALSE] else v[rows])
  data
}

subset_data <- function(data, rows) {
  data <- rows_of_data(data, rows)
  data$logdet_xx <- 0
  # drops columns of the trend that are dependent, because a level of a factor may be absent from the subset
  columns <- independent_columns(rbind(data$x, data$within$x))
  data$x <- data$x[, columns, drop = FALSE]
  if (!is.null(data$within)) data$within$x <- data$within$x[, columns, drop = FALSE]
  data
}

# A search from theta: by information_search(), or by search_from().
descend <- function(theta, target, control = target$how$control, search = information_search) {
  search(theta, target$evaluate, target$model, target$profile, control)
}

# Searches from all starts. If future::plan() has several processes, the searches run in these processes, each with a
# separate likelihood.
descend_all <- function(starts, target, search) {
  rows <- seq_len(nrow(starts))
  if (length(rows) == 1 || !many_workers()) {
    return(lapply(rows, function(k) descend(starts[k, ], target, search = search)))
  }
  lapply_future(rows, function(k) descend(starts[k, ], remade_target(target), search = search))
}

many_workers <- function() {
  is.null(the$alone) && has_future() && requireNamespace("future.apply", quietly = TRUE) && future::nbrOfWorkers() > 1
}

# Changes a target so that each evaluation reports the progress of the search, on the progress bar and on request by a
# line of text.
reporting_target <- function(target) {
  evaluate <- target$evaluate
  model <- target$model
  count <- 0
  target$evaluate <- function(theta) {
    say_progress(detail = paste0(", likelihood ", count + 1))
    state <- evaluate(theta)
    count <<- count + 1
    word <- if (length(model$prior)) ", log posterior density " else ", log-likelihood "
    value <- if (state$has_value) paste0(word, likelihood_text(-state$value / 2))
    # the fraction assumes 4 more likelihoods, because a search usually evaluates 3 to 7
    say_progress(step = paste0("likelihood ", count, value), fraction = count / (count + 4))
    if (target$how$control$progress == "steps") {
      # reports the variances at the profiled scale
      if (length(state$scale)) theta[model$scale] <- theta[model$scale] * state$scale
      theta <- reported(model, theta)
      cli::cat_line("likelihood ", count, value, ", at ",
                    paste(model$parameters$name, signif(theta, 4), sep = " = ", collapse = ", "))
    }
    state
  }
  target
}
