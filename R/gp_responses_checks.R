# Checks of the settings and covariances of fits of many responses, and their messages.

# Stops for settings of gp() that support one response only.
check_responses_settings <- function(settings, method, estimate, control, call) {
  set <- names(Filter(length, settings))
  if (length(set)) {
    stop_kernops("input", "{.arg {set[[1]]}} cannot be combined with {.arg responses}.", call = call)
  }
  if (!method %in% c("auto", "vecchia")) {
    stop_kernops("input", "{.arg responses} requires {.code method = \"vecchia\"}, not {.val {method}}.", call = call)
  }
  if (estimate == "none") {
    stop_kernops("input", "{.arg estimate} must be {.val ML} or {.val REML} for {.arg responses}.",
                 call = call)
  }
  if (identical(control$neighbours, "auto")) {
    stop_kernops("input", "{.arg neighbours} must be a number for {.arg responses}, or NULL for 10.", call = call)
  }
}

# Checks the covariance: all variances must be free, the covariance must have a nugget, and nearby observations must
# screen off distant observations.
check_responses_model <- function(model, call) {
  refuse <- function(what, instead = NULL) {
    stop_kernops("input", c(paste0("{.arg responses} does not take ", what, "."), i = instead), call = call)
  }
  table <- model$parameters
  if (is_lmc(model$covariance)) refuse("{.fn lmc}", "Each response has a field of its own.")
  if (has_effects(model)) refuse("random effects and smooths")
  if (model$intrinsic) refuse("intrinsic models")
  if (!is_local(model$covariance)) refuse("terms whose correlation does not decrease with the distance")
  if (any(table$kind %in% c("free", "period"))) refuse("user-defined formulas and periods")
  if (!length(model$nugget) || table$fixed[[model$nugget]]) {
    refuse("a covariance without a nugget that is estimated", "Add {.fn nugget}.")
  }
  if (sum(table$kind == "variance") == 1) refuse("the nugget alone", "Add a field such as {.fn matern}.")
  if (!length(setdiff(model$scale, model$nugget))) refuse("fixed variances", "Each response has variances of its own.")
}

tell_without_fit <- function(object) {
  reasons <- c(missing = "all values are missing", constant = "the response is constant, or fitted by the trend",
               few = "too few values are left for the trend")
  problem <- object$problem
  if (all(is.na(problem))) return(invisible())
  told <- lapply(names(reasons), function(reason) {
    names <- object$responses$names[problem %in% reason]
    if (length(names)) cli::format_inline("{.code {shortly(names)}}: ", reasons[[reason]], ".")
  })
  count <- sum(!is.na(problem))
  told <- unlist(told)
  cli::cli_inform(c("{count} response{?s} {?has/have} no fit.", stats::setNames(told, rep("*", length(told)))),
                  class = "kernops_no_fit")
}
