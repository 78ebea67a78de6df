# Checks the arguments of predict().

# Converts the `arguments` of a method of predict() to a request, a list of checked arguments. A request has two
# additional elements. `unbiased` is TRUE if means of transformed responses should be unbiased on average over
# realisations of the field, and FALSE for means given the data. `draws` is the number of draws for quantiles over
# blocks.
prediction_request <- function(arguments, fit, types, unnamed, call = caller_env()) {
  arguments <- with_what(arguments, unnamed, call)
  local <- check_choice(arguments[["se"]] %||% "exact", "se", c("exact", "local"), call) == "local"
  request <- c(list(how = c(list(local = local), arguments[c("nmax", "maxdist")]), unbiased = TRUE, draws = 4000),
               arguments[c("se.fit", "interval", "level", "type", "coords", "block", "cov", "probs", "above", "sums",
                           "what")])
  check_local_limits(request$how, call)
  check_local_observations(fit, request$how, call)
  request$interval <- check_choice(arguments$interval, "interval", c("none", "confidence", "prediction"), call)
  request$type <- check_choice(arguments$type, "type", types, call)
  check_flag(arguments$se.fit, "se.fit", call)
  gaussian <- is.null(fit$family)
  by_variables <- identical(arguments$cov, "variables") && gaussian && "terms" %in% types
  if (!by_variables) check_flag(arguments$cov, "cov", call)
  check_levels(arguments$probs, arguments$above, call)
  uncertain <- arguments$se.fit || length(c(arguments$probs, arguments$above))
  if (uncertain && unnamed && gaussian && request$type != "terms") tell_field_se(fit)
  check_level(arguments$level, call)
  if (by_variables && !is_lmc(fit$model$covariance)) {
    stop_kernops("input", "{.code cov = \"variables\"} is for fits of several variables: see {.fn lmc}.", call = call)
  }
  request
}

# The request for the mean and the standard error of the field.
field_request <- list(how = list(local = FALSE, nmax = Inf, maxdist = Inf), se.fit = TRUE, interval = "none",
                      type = "link", unbiased = TRUE)

# The request for the mean without standard errors.
mean_request <- replace(field_request, "se.fit", FALSE)

is_noisy <- function(request) request$interval == "prediction"

needs_variance <- function(request) request$se.fit || needs_quantiles(request)

needs_quantiles <- function(request) request$interval != "none" || length(c(request$probs, request$above)) > 0

check_prediction <- function(points, request, call = caller_env()) {
  if (is.null(points$blocks) || !is_noisy(request)) return(invisible())
  what <- if (is.null(points$total)) "The mean over a block" else "A weighted sum"
  stop_kernops("input", c(paste(what, "has no noise of observations."),
                          i = "{.code interval = \"confidence\"} gives its interval."), call = call)
}

check_local_limits <- function(how, call = caller_env()) {
  if (!identical(how$nmax, Inf)) check_number(how$nmax, "nmax", least = 1, whole = TRUE, call = call)
  if (!identical(how$maxdist, Inf)) check_number(how$maxdist, "maxdist", least = 0, above = TRUE, call = call)
}

check_local_observations <- function(fit, how, call = caller_env()) {
  if (!is_averages(fit$parts$layout) || !(how$local || is_local_trend(how))) return(invisible())
  stop_kernops("input", "Predictions of a fit to {.arg averages} use all observations: {.code se = \"local\"},
                         {.arg nmax} and {.arg maxdist} are not available.", call = call)
}

check_levels <- function(probs, above, call = caller_env()) {
  if (!(is.null(probs) || is.numeric(probs) && all(is.finite(probs) & probs > 0 & probs < 1))) {
    stop_kernops("input", "{.arg probs} must be numbers between 0 and 1.", call = call)
  }
  if (!(is.null(above) || is.numeric(above) && all(is.finite(above)))) {
    stop_kernops("input", "{.arg above} must be finite numbers.", call = call)
  }
}

check_level <- function(level, call = caller_env()) {
  if (is.numeric(level) && length(level) == 1 && !is.na(level) && level > 0 && level < 1) return(invisible())
  stop_kernops("input", "{.arg level} must be between 0 and 1.", call = call)
}

# Informs users, once per session, that standard errors of the field are too small for new observations.
tell_field_se <- function(object) {
  nugget <- any(nugget_of(object) > 0)
  if (!nugget && all(object$data$noise == 0)) return(invisible())
  cli::cli_inform(
    c(i = "These are standard errors of the field, without {if (nugget) 'the nugget' else 'the known noise'}.",
      i = if (nugget) "{.code interval = \"prediction\"} gives standard errors of new observations." else
        "For a new observation, add the variance of its noise.",
      i = "{.code interval = \"confidence\"} or {.val none} suppresses this message."),
    class = "kernops_field_se", .frequency = "once", .frequency_id = "kernops_field_se"
  )
}
