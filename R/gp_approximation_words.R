# Texts about the quality of an approximation by neighbours, for print(), summary(), glance() and a warning.

approximation_words <- function(object) {
  verdict <- approximation_verdict(object)
  if (verdict == "exact") return("none: all observations are neighbours")
  if (verdict == "unknown") return("not compared with that of more neighbours")
  largest <- which.max(relative_changes_of(object))
  c(paste0(verdict, ": ", change_words(object)[[largest]], " ", twice_words(object),
           if (verdict != "good") paste0(" (tolerable: ", tolerable_words(object)[[largest]], ")")),
    approximation_advice(object))
}

# The tolerable changes as text, in the units of change_words().
tolerable_words <- function(object) {
  changes <- tolerable_changes(nobs.gp(object), object$how$control$neighbour_tol)
  sprintf(c("%.2g", "%.2g", "%.2g", "%.2g %%"), changes * c(1, 1, 1, 100))
}

# The advice for a poor approximation if the number of neighbours is fixed, by the user or by default; otherwise NULL.
approximation_advice <- function(object, verdict = approximation_verdict(object)) {
  if (verdict == "poor" && !identical(object$how$control$neighbours, "auto")) {
    "`neighbours = \"auto\"` increases the number of neighbours until results change little"
  }
}

twice_words <- function(object) {
  paste0("with twice as many neighbours", if (length(object$vecchia$inducing)) " and inducing points")
}

change_words <- function(object) {
  changes <- as.list(object$vecchia$changes)
  c(loglik = sprintf("log-likelihood %+.2g", changes$loglik),
    estimates = sprintf("estimates move by %.2g standard errors", changes$estimates),
    predictions = sprintf("predictions move by %.2g standard errors", changes$predictions),
    se = sprintf("standard errors change by %.2g %%", 100 * changes$se))
}

# All changes as text, for summary().
approximation_table <- function(object) {
  known <- !is.na(object$vecchia$changes)
  if (object$vecchia$all || !any(known)) return(approximation_words(object))
  words <- change_words(object)[known]
  c(paste0(approximation_verdict(object), ": ", words[[1]]), words[-1],
    paste(c(twice_words(object), approximation_advice(object)), collapse = "; "))
}

neighbour_words <- function(about) {
  c(paste0(about$m, " (", about$ordering, ")"), paste(about$new %||% about$local, "for predictions"),
    if (length(about$inducing)) counted(about$inducing, "inducing point"))
}

# The columns that describe the approximation in glance().
glanced_approximation <- function(object) {
  changes <- as.list(object$vecchia$changes)
  data.frame(neighbours = object$vecchia$m, approximation = approximation_verdict(object),
             change.logLik = changes$loglik, change.estimate = changes$estimates,
             change.prediction = changes$predictions, change.se = changes$se)
}

# Warns if `neighbours = "auto"` reached its limit before the changes were tolerable. For many observations, the
# function also warns if the approximation with the default number of neighbours is poor.
warn_about_neighbours <- function(fit) {
  control <- fit$how$control
  if (!has_neighbours(fit)) return(invisible())
  if (is.null(control$neighbours) && nobs.gp(fit) > 2e4) warn_about_poor(fit)
  if (!identical(control$neighbours, "auto")) return(invisible())
  verdict <- approximation_verdict(fit)
  if (verdict %in% c("exact", "good", "unknown")) return(invisible())
  m <- fit$vecchia$m
  n <- nobs.gp(fit)
  change <- change_words(fit)[[which.max(relative_changes_of(fit))]]
  exact <- n <= 2 * control$exact_limit && (is.null(fit$family) || n <= 5000)
  other <- if (exact) "exact" else if (is.null(fit$family) && !is_lmc(fit$model$covariance)) "iterative"
  cli::cli_warn(c("{m} neighbours are not enough for {.code neighbour_tol = {control$neighbour_tol}}: {change} with
                   twice as many neighbours{if (length(fit$vecchia$inducing)) ' and inducing points'}.",
                  i = if (length(other)) "{.code method = {.val {other}}} has no neighbours.",
                  i = "{.code neighbour_limit = {2 * m}} of {.fn gp_control} allows more than
                       {control$neighbour_limit}."),
                class = c("kernops_neighbours", "kernops_warning"))
}

warn_about_poor <- function(fit) {
  if (approximation_verdict(fit) != "poor") return(invisible())
  cli::cli_warn(c("The approximation by {fit$vecchia$m} neighbours is {approximation_words(fit)[[1]]}.",
                  i = "{approximation_advice(fit)}."),
                class = c("kernops_neighbours", "kernops_warning"))
}
