# How the parameters of a covariance are estimated: starts, the search of a subset, the search, what is said of it.

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
  some <- round(seq(1, n, length.out = min(n, how$control$subset * if (n > 4000) 4 else 1)))
  starts <- starting_values(problem$model, data$u, problem$residual)
  if (nrow(starts) > 1 || n > length(some)) {
    starts <- best_starts(starts, subset_data(data, some), problem$model, how, profile, n > length(some))
  }
  if (how$method == "iterative") starts <- starts[1, , drop = FALSE]
  # near the optimum, as after a search in a subset, few steps of Newton's kind are enough
  search <- if (how$method == "exact" && n == length(some)) search_from else information_search
  if (how$method == "exact") how$control$gain <- 1e-5
  evaluate <- function(theta) likelihood$evaluate(theta, profile, search = TRUE)
  evaluate <- step_reporter(evaluate, problem$model, how$control)
  best <- best_search(starts, search, evaluate, data, problem$model, how, profile)
  if (identical(best$value, Inf)) stop_singular(problem, likelihood$evaluate(best$theta, search = TRUE)$bad, call)
  best$starts <- nrow(starts)
  best$at_bound <- at_bound(problem$model, best$theta)
  warn_about_search(best, how$control)
  best
}

# Whether the common factor of all variances is known in closed form.
is_profiled <- function(model, data) length(model$scale) > 0 && all(data$noise == 0)

# The likelihood of a subset at all starts; from the best, a search there when the subset is smaller than the data.
best_starts <- function(starts, data, model, how, profile, smaller) {
  p <- ncol(data$x)
  if (length(data$y) <= p + 1) return(starts[1, , drop = FALSE])
  control <- how$control
  backend <- if (how$backend == "cuda" && nzchar(gpu_solver_problem())) "cpu" else how$backend
  likelihood <- exact_likelihood(data, model, how$reml, backend)
  say_progress(step = paste("start from", length(data$y), "observations"))
  evaluate <- function(theta) likelihood$evaluate(theta, profile, search = TRUE)
  if (nrow(starts) > 1) {
    values <- apply(starts, 1, function(theta) evaluate(theta)$value)
    able <- max(1, min(control$starts, sum(is.finite(values))))
    starts <- starts[utils::head(order(values), able), , drop = FALSE]
  }
  if (!smaller) return(starts)
  control$tol <- max(control$tol, 1e-7)
  how$control <- control
  how$method <- "exact"
  matrix(best_search(starts, search_from, evaluate, data, model, how, profile)$theta, 1)
}

# The best of searches from all starts. Where future::plan() has other processes, each search makes its own likelihood
# there.
best_search <- function(starts, search, evaluate, data, model, how, profile) {
  runs <- if (nrow(starts) > 1 && many_workers()) search_elsewhere(starts, search, data, model, how, profile) else {
    apply(starts, 1, search, evaluate, model, profile, how$control, simplify = FALSE)
  }
  values <- vapply(runs, function(run) run$value, 0)
  runs[[if (all(is.na(values))) 1 else which.min(values)]]
}

search_elsewhere <- function(starts, search, data, model, how, profile) {
  lapply_future(seq_len(nrow(starts)), function(k) {
    likelihood <- likelihood_for(data, model, how)
    evaluate <- function(theta) likelihood$evaluate(theta, profile, search = TRUE)
    search(starts[k, ], evaluate, model, profile, how$control)
  })
}

many_workers <- function() {
  requireNamespace("future", quietly = TRUE) && requireNamespace("future.apply", quietly = TRUE) &&
    future::nbrOfWorkers() > 1
}

subset_data <- function(data, some) {
  small <- list(y = data$y[some], x = data$x[some, , drop = FALSE], u = data$u[some, , drop = FALSE],
                noise = data$noise[some], weights = data$weights[some], rows = data$rows[some], logdet_xx = 0)
  # a level of a factor may not occur in it
  small$x <- small$x[, independent_columns(small$x), drop = FALSE]
  small
}

# Says after each likelihood where the search is: on the bar, or by a line.
step_reporter <- function(evaluate, model, control) {
  force(evaluate)
  count <- 0
  function(theta) {
    say_progress(detail = paste0(", likelihood ", count + 1))
    state <- evaluate(theta)
    count <<- count + 1
    value <- if (!is.na(state$value)) paste0(", log-likelihood ", format(-state$value / 2, digits = 10))
    # a search takes 3 to 7 likelihoods, as a rule
    say_progress(step = paste0("likelihood ", count, value), fraction = count / (count + 4))
    if (control$progress == "steps") {
      cli::cat_line("likelihood ", count, value, ", at ",
                    paste(model$parameters$name, signif(theta, 4), sep = " = ", collapse = ", "))
    }
    state
  }
}

# A variance at a bound is an answer: it, or that which it is relative to, is next to nothing.
at_bound <- function(model, theta) {
  p <- model$parameters
  near <- function(a, b) is.finite(b) & abs(a - b) <= 1e-6 * abs(b)
  p$name[!p$fixed & p$kind != "variance" & (near(theta, p$lower) | near(theta, p$upper))]
}

warn_about_search <- function(search, control) {
  if (search$convergence != 0 && !grepl("singular|false", search$message)) {
    limited <- grepl("limit|as allowed", search$message)
    cli::cli_warn(c("The search for the covariance stopped after {search$iterations} step{?s}: {search$message}.",
                    i = if (limited) "{.code gp_control(maxit = )} allows more than {control$maxit}."),
                  class = "kernops_not_converged")
  }
  if (length(search$at_bound)) {
    cli::cli_warn(c("{.code {search$at_bound}} ended at a bound of the search.",
                    i = "The data say little about {cli::qty(search$at_bound)}{?it/them}: simplify the covariance,
                         or give values."),
                  class = "kernops_at_bound")
  }
}
