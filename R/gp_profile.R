# Limits of parameters by the profile likelihood. A limit is a value of the parameter at which the profile
# log-likelihood is below its maximum by half a quantile of the chi-squared distribution with one degree of freedom.

profile_limits <- function(object, parm, level, type, call = caller_env()) {
  if (inherits(object, "gp_blocks")) {
    stop_kernops("input", c("Profile intervals are not available for a fit of a table that is read in chunks.",
                            i = "{.code method = \"wald\"} has intervals from standard errors."), call = call)
  }
  check_profiled(object, type, call)
  parameters <- object$model$parameters
  free <- parameters$name[!parameters$fixed & object$estimate != "none"]
  rows <- c(if (type != "covariance") seq_along(object$beta), if (type != "trend") -match(free, parameters$name))
  names <- c(if (type != "covariance") names(object$beta), if (type != "trend") free)
  if (!is.null(parm)) {
    chosen <- match(parameter_rows_of(parm, names, call), if (is.character(parm)) names else seq_along(names))
    rows <- rows[chosen]
    names <- names[chosen]
  }
  object$how$backend <- usable_backend(object$how$backend)
  drop <- stats::qnorm((1 + level) / 2)^2
  # standard errors may be NA at a bound; they only determine the first steps
  se <- suppressWarnings(sqrt(c(diag(vcov.gp(object)), if (any(rows < 0)) diag(covariance_vcov(object)))))
  limits <- with_bar("Profiling", vapply(seq_along(rows), function(k) {
    say_progress(step = names[[k]], fraction = (k - 1) / length(rows))
    row <- rows[[k]]
    if (row > 0) return(trend_limits(object, row, drop, se[[row]]))
    covariance_limits(object, -row, drop, se[[length(object$beta) + match(names[[k]], free)]])
  }, numeric(2)))
  matrix(t(limits), length(rows), 2, dimnames = list(names, limit_names(level)))
}

check_profiled <- function(object, type, call) {
  refuse_several(object, "Profile intervals are", "{.code method = \"wald\"} gives intervals for this fit.", call)
  if (length(object$model$prior)) {
    stop_kernops("input", c("Profile intervals require a fit by maximum likelihood, but this fit has a {.arg prior}.",
                            i = "{.fn gp_posterior} gives intervals of its posterior."), call = call)
  }
  if (object$method == "iterative") {
    stop_kernops("input", c("Profile intervals require a likelihood without Monte Carlo error: use {.code method =
                             \"exact\"} or {.val vecchia}.",
                            i = "{.code method = \"wald\"} gives intervals for this fit."), call = call)
  }
  if (object$estimate == "REML" && type != "covariance" && length(object$beta)) {
    stop_kernops("input", c("A restricted likelihood has no profile of the trend.",
                            i = "{.code type = \"covariance\"} gives intervals of the covariance parameters,
                                 {.code update(fit, estimate = \"ML\")} refits by maximum likelihood."), call = call)
  }
}

# Minimises -2 log-likelihood over the free parameters, starting from theta. Returns a list of value and theta.
least_deviance <- function(likelihood, theta, model, profile, control) {
  evaluate <- function(theta) likelihood$evaluate(theta, profile, search = TRUE)
  if (all(model$parameters$fixed)) return(list(value = evaluate(theta)$value, theta = theta))
  information_search(theta, evaluate, model, profile, replace(control, "gain", 1e-8))
}

covariance_limits <- function(object, k, drop, se) {
  model <- object$model
  likelihood <- likelihood_for(object$data, model, object$how)
  least <- function(theta, model, profile) least_deviance(likelihood, theta, model, profile, object$how$control)
  best <- least(unname(object$theta), model, is_profiled(model, object$data))
  model$parameters$fixed[[k]] <- TRUE
  # with a fixed variance, the common factor of all variances is not free and cannot be profiled out
  profile <- !k %in% model$scale && is_profiled(model, object$data)
  row <- model$parameters[k, ]
  limits <- walked_limits(
    to_search(row, best$theta[[k]]), best, drop, se, row$name, to_search(row, row$lower), to_search(row, row$upper),
    function(s, theta) least(replace(theta, k, from_search(row, s)), model, profile)
  )
  values <- vapply(limits, from_search, 0, parameters = row) * (model$unit[k] %||% 1)
  ifelse(is.finite(limits), values, limits_of(row)) # an infinite limit becomes the bound of the search
}

# Limits of a coefficient of the trend. For a fixed value of the coefficient, its column times this value is subtracted
# from the response.
trend_limits <- function(object, k, drop, se) {
  data <- object$data
  model <- object$model
  if (object$estimate == "none") model$parameters$fixed[] <- TRUE
  profile <- is_profiled(model, data) && object$estimate != "none"
  least <- function(data, theta) {
    least_deviance(likelihood_for(data, model, object$how), theta, model, profile, object$how$control)
  }
  least_at_coefficient <- function(b, theta) {
    without <- function(data) replace(data, c("x", "y"), list(data$x[, -k, drop = FALSE], data$y - b * data$x[, k]))
    reduced <- without(data)
    if (!is.null(data$within)) reduced$within <- without(data$within)
    least(reduced, theta)
  }
  best <- least(data, unname(object$theta))
  walked_limits(object$beta[[k]], best, drop, se, names(object$beta)[[k]], -Inf, Inf,
                least_at_coefficient)
}

# The two values s, below and above `center`, at which least(s, theta)$value exceeds the optimum by `drop`. A limit is
# infinite if the excess is less than `drop` up to the bound. The root finder uses the square root of the excess,
# because this square root is nearly linear in s.
walked_limits <- function(center, best, drop, se, name, low, high, least) {
  if (!is.finite(se) || se <= 0) se <- max(0.1, abs(center) / 10)
  theta <- best$theta
  vapply(c(-1, 1), function(side) {
    current <- list(theta = theta)
    excess <- function(s) {
      fit <- least(s, current$theta)
      if (is.finite(fit$value)) current <<- fit
      warn_of_higher(fit$value, best$value, name)
      sqrt(max(fit$value - best$value, 0)) - sqrt(drop)
    }
    bound <- if (side < 0) low else high
    inner <- list(s = center, f = -sqrt(drop))
    step <- sqrt(drop) * se
    repeat {
      s <- inner$s + side * step
      if (side * (s - bound) >= 0) s <- bound
      f <- excess(s)
      if (f >= 0 || s == bound || step > 1e6 * se) break
      inner <- list(s = s, f = f)
      step <- 2 * step
    }
    if (f < 0) return(side * Inf)
    if (!is.finite(f)) f <- 10 * sqrt(drop) # the matrices are singular at this value
    ends <- if (side < 0) list(s, inner$s, f, inner$f) else list(inner$s, s, inner$f, f)
    stats::uniroot(function(s) min(excess(s), 10 * sqrt(drop)), c(ends[[1]], ends[[2]]), f.lower = ends[[3]],
                   f.upper = ends[[4]], tol = 1e-4 * se)$root
  }, 0)
}

# Warns if the profile found a likelihood that is higher than the likelihood of the fit.
warn_of_higher <- function(value, best, name) {
  if (!isTRUE(value < best - 2e-2)) return(invisible())
  cli::cli_warn(c("The profile of {.code {name}} found a log-likelihood that is higher by
                   {signif((best - value) / 2, 2)} than that of the fit: the fit is not at the maximum.",
                  i = "A larger number of {.arg starts} in {.fn gp_control} may find the maximum."),
                class = "kernops_not_converged")
}
