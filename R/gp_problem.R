# The numbers of a fit: what is to be estimated, checked before anything is computed.

# y without what is known of its mean, the trend that is left to estimate, centred coordinates, noise.
prepare_problem <- function(parts, model, known, estimate, call) {
  full <- parts$x
  beta <- known$beta
  if (!is.null(beta)) {
    if (ncol(full) == 0 && length(beta) == 1) full <- matrix(1, length(parts$y), 1)
    if (length(beta) != ncol(full)) {
      stop_kernops("dim", "{.code known$beta} must have {ncol(full)} number{?s}, one for each column of the trend.",
                   call = call)
    }
  }
  center <- if (model$movable) colMeans(parts$u) else rep(0, ncol(parts$u))
  data <- list(
    y = parts$y - parts$offset - if (is.null(beta)) 0 else as.vector(full %*% beta),
    x = if (is.null(beta)) full else full[, 0, drop = FALSE],
    u = sweep(parts$u, 2, center), noise = parts$noise, weights = parts$weights, rows = parts$rows
  )
  data$logdet_xx <- check_trend(data, estimate, call)
  residual <- if (ncol(data$x)) qr.resid(qr(data$x), data$y) else data$y
  if (estimate != "none" && sqrt(mean(residual^2)) <= 1e-12 * max(abs(parts$y), 1e-300)) {
    what <- if (all(data$y == data$y[[1]])) "constant" else "exactly the trend"
    stop_kernops("input", c("The response is {what}: its covariance cannot be estimated.",
                            i = "{.code estimate = \"none\"} takes the covariance as it is given."), call = call)
  }
  check_duplicates(data, model, call)
  list(data = data, model = with_bounds(model, data$u, residual), residual = residual, center = center)
}

check_trend <- function(data, estimate, call) {
  p <- ncol(data$x)
  n <- nrow(data$x)
  if (p == 0) return(0)
  q <- qr(data$x)
  if (q$rank < min(n, p)) {
    aliased <- colnames(data$x)[q$pivot[-seq_len(q$rank)]]
    stop_kernops("input", c("The columns of the trend are collinear: {.code {aliased}} follow{?s/} from the others.",
                            i = "Leave {cli::qty(aliased)}{?it/them} out of the formula."), call = call)
  }
  if (p > n || (p == n && estimate != "none")) {
    stop_kernops("input",
                 "The trend has {p} coefficient{?s} for {n} observation{?s}: nothing is left for the covariance.",
                 call = call)
  }
  2 * sum(log(abs(diag(qr.R(q)))))
}

# Points that occur twice have the same field: without noise its covariance matrix is singular.
check_duplicates <- function(data, model, call) {
  if (length(model$nugget)) return()
  key <- do.call(paste, c(as.data.frame(data$u), sep = "\r"))
  exact <- data$noise == 0
  again <- which(duplicated(key[exact]))
  if (!length(again)) return()
  second <- which(exact)[again]
  first <- which(exact)[match(key[second], key[exact])]
  pairs <- paste0("(", data$rows[first], ", ", data$rows[second], ")")
  shown <- toString(c(utils::head(pairs, 5), if (length(pairs) > 5) "..."))
  stop_kernops("input", c("Observations at the same point need a noise: rows {shown}.",
                          i = "Add {.fn nugget} to the covariance, or average them."), call = call)
}

likelihood_for <- function(data, model, how) {
  if (how$method == "exact") exact_likelihood(data, model, how$reml) else iterative_likelihood(data, model, how)
}

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
  profile <- length(problem$model$scale) > 0 && all(data$noise == 0)
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
  evaluate <- step_reporter(function(theta) likelihood$evaluate(theta, profile, search = TRUE), problem$model, how$control)
  runs <- lapply(seq_len(nrow(starts)), function(k) search(starts[k, ], evaluate, problem$model, profile, how$control))
  best <- if (how$method == "exact") runs[[which.min(vapply(runs, function(run) run$value, 0))]] else runs[[1]]
  if (identical(best$value, Inf)) stop_singular(problem, likelihood$evaluate(best$theta)$bad, call)
  best$starts <- nrow(starts)
  best$at_bound <- at_bound(problem$model, best$theta, profile)
  warn_about_search(best, how$control)
  best
}

# The likelihood of a subset at all starts; from the best, a search there when the subset is smaller than the data.
best_starts <- function(starts, data, model, how, profile, smaller) {
  p <- ncol(data$x)
  if (length(data$y) <= p + 1) return(starts[1, , drop = FALSE])
  control <- how$control
  likelihood <- exact_likelihood(data, model, how$reml)
  evaluate <- function(theta) likelihood$evaluate(theta, profile)
  if (nrow(starts) > 1) {
    values <- apply(starts, 1, function(theta) evaluate(theta)$value)
    able <- max(1, min(control$starts, sum(is.finite(values))))
    starts <- starts[utils::head(order(values), able), , drop = FALSE]
  }
  if (!smaller) return(starts)
  control$tol <- max(control$tol, 1e-7)
  runs <- lapply(seq_len(nrow(starts)), function(k) search_from(starts[k, ], evaluate, model, profile, control))
  matrix(runs[[which.min(vapply(runs, function(run) run$value, 0))]]$theta, 1)
}

subset_data <- function(data, some) {
  small <- list(y = data$y[some], x = data$x[some, , drop = FALSE], u = data$u[some, , drop = FALSE],
                noise = data$noise[some], weights = data$weights[some], rows = data$rows[some], logdet_xx = 0)
  rank <- if (ncol(small$x)) qr(small$x)$rank else 0
  if (rank < ncol(small$x)) small$x <- small$x[, 0, drop = FALSE]
  small
}

step_reporter <- function(evaluate, model, control) {
  if (!control$progress) return(evaluate)
  function(theta) {
    state <- evaluate(theta)
    cli::cat_line(if (!is.na(state$value)) paste0("-2 log-likelihood ", format(state$value, digits = 10), "  "), "at  ",
                  paste(model$parameters$name, signif(theta, 4), sep = " = ", collapse = ", "))
    state
  }
}

at_bound <- function(model, theta, profile) {
  p <- model$parameters
  near <- function(a, b) is.finite(b) & abs(a - b) <= 1e-6 * abs(b)
  p$name[!p$fixed & p$kind != "variance" & (near(theta, p$lower) | near(theta, p$upper))]
}

warn_about_search <- function(search, control) {
  if (search$convergence != 0 && !grepl("singular|false", search$message)) {
    cli::cli_warn(c("The search for the covariance stopped after {search$iterations} step{?s}: {search$message}.",
                    i = "{.code gp_control(maxit = )} allows more than {control$maxit}."),
                  class = "kernops_not_converged")
  }
  if (length(search$at_bound)) {
    cli::cli_warn(c("{.code {search$at_bound}} ended at a bound of the search.",
                    i = "The data say little about {cli::qty(search$at_bound)}{?it/them}: simplify the covariance,
                         or give values."),
                  class = "kernops_at_bound")
  }
}

stop_singular <- function(problem, bad, call) {
  row <- problem$data$rows[[bad]]
  others <- problem$data$u[-bad, , drop = FALSE]
  here <- problem$data$u[bad, ]
  nearest <- if (nrow(others)) problem$data$rows[-bad][[which.min(colSums((t(others) - here)^2))]]
  stop_kernops("singular", c(
    "The covariance matrix of the observations is not positive definite, as is seen at row {row}.",
    x = if (length(nearest)) "The observation nearest to it is row {nearest}.",
    i = "Add {.fn nugget}, choose a rougher covariance such as {.code matern(3/2)}, or a shorter range."
  ), call = call)
}

# The state at the parameters found, which is all that prediction needs.
finish_fit <- function(problem, likelihood, search, how, call) {
  data <- problem$data
  model <- problem$model
  state <- likelihood$evaluate(search$theta)
  if (!is.finite(state$value)) stop_singular(problem, state$bad %||% 1L, call)
  if (how$method == "iterative") warn_unless_solved(state[c("converged", "residual", "iterations")], how$control$cg_tol)
  names(state$beta) <- colnames(data$x)
  list(
    theta = stats::setNames(search$theta, model$parameters$name), covariance = with_values(model, search$theta),
    beta = state$beta, loglik = -state$value / 2, state = state[c("alpha", "z", "root", "logdet", "logdet_error")],
    factor = likelihood$factor, data = data, model = model, center = problem$center,
    df = length(state$beta) + if (is.null(search$value)) 0 else sum(!model$parameters$fixed)
  )
}

# The covariance with the values that were found.
with_values <- function(model, theta) {
  number <- 0L
  visit <- function(x) {
    if (x$kind != "leaf") {
      for (n in seq_along(x$parts)) x$parts[[n]] <- visit(x$parts[[n]])
      return(x)
    }
    number <<- number + 1L
    rows <- which(model$parameters$leaf == number)
    at <- 0L
    for (name in names(x$parameters)) {
      spread <- name == "range" && x$ard
      size <- if (spread) sum(model$parameters$coordinate[rows] > 0) else max(1L, length(x$parameters[[name]]))
      x$parameters[[name]] <- theta[rows[at + seq_len(size)]]
      at <- at + size
    }
    x
  }
  visit(model$covariance)
}
