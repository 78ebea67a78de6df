# Methods for fits of many responses: summaries, printing and extraction of parts.

#' @rdname gp_responses
#' @export
summary.gp_responses <- function(object, adjust = "BH", ...) {
  refuse_arguments("summary.gp_responses", list(...))
  table <- as.data.frame(object, adjust = adjust)
  numbers <- coef(object)
  quantiles <- apply(numbers, 2, stats::quantile, c(0, 0.25, 0.5, 0.75, 1), na.rm = TRUE)
  structure(list(fit = object, table = table, adjust = adjust, quantiles = t(quantiles),
                 found = sum(table$p.adjusted < 0.05, na.rm = TRUE)), class = "summary.gp_responses")
}

#' @rdname gp_responses
#' @export
print.gp_responses <- function(x, n = 6, ...) {
  refuse_arguments("print.gp_responses", list(...))
  check_number(n, "n", least = 0, whole = TRUE)
  cat_responses(x)
  table <- as.data.frame(x)
  first <- utils::head(order(table$p.value, -table$logLik), n)
  if (length(first)) print(format(table[first, ], digits = 4), row.names = FALSE)
  if (nrow(table) > length(first)) cli::cat_line("  ... and ", nrow(table) - length(first), " more")
  invisible(x)
}

#' @export
print.summary.gp_responses <- function(x, ...) {
  cat_responses(x$fit)
  if (x$fit$kind == "independent") {
    cli::cat_line("  with a field    ", x$found, " (p-values adjusted by ", x$adjust, " below 0.05)")
  }
  print(signif(x$quantiles, 4))
  invisible(x)
}

cat_responses <- function(x) {
  cli::cat_line("<gp_responses> ", counted(length(x$loglik), "response"), " at ", counted(nrow(x$data$u), "point"),
                ", ", if (x$kind == "common") "common parameters" else "each with its own parameters")
  cat_labelled("covariance", unique(leaf_labels(x$model$covariance)), " +")
  cli::cat_line("  neighbours      ", min(x$how$neighbours, nrow(x$data$u) - 1), " (", x$how$control$ordering, ")")
  missing <- sum(!is.na(x$problem))
  if (missing) cli::cat_line("  without a fit   ", missing)
}

#' @rdname gp_responses
#' @export
`[.gp_responses` <- function(x, i) {
  numbers <- response_numbers(x$responses, i)
  for (name in c("theta", "beta")) x[[name]] <- x[[name]][, numbers, drop = FALSE]
  each <- c("loglik", "statistic", "n_used", "evaluations", "converged", "problem")
  for (name in each) x[[name]] <- x[[name]][numbers]
  x$responses$names <- x$responses$names[numbers]
  values <- x$responses$values
  x$responses$values <- if (x$responses$by_row) values[numbers, , drop = FALSE] else values[, numbers, drop = FALSE]
  x
}

#' @rdname gp_responses
#' @export
fitted.gp_responses <- function(object, ...) {
  refuse_arguments("fitted.gp_responses", list(...))
  predict.gp_responses(object)
}

#' @rdname gp_responses
#' @export
residuals.gp_responses <- function(object, ...) {
  refuse_arguments("residuals.gp_responses", list(...))
  used <- replace(object, "na.action", list(NULL))
  off <- response_block(object$responses, seq_along(object$loglik), object$parts$rows) - predict.gp_responses(used)
  stats::naresid(object$na.action, off)
}

#' @rdname gp_responses
#' @export
nobs.gp_responses <- function(object, ...) {
  refuse_arguments("nobs.gp_responses", list(...), ignored = "use.fallback")
  stats::setNames(object$n_used, object$responses$names)
}

#' @export
vcov.gp_responses <- function(object, ...) {
  stop_kernops("input", c("A fit of many responses has no standard errors of its parameters.",
                          i = "{.fn gp} of one response with the same covariance has them."))
}

#' @export
confint.gp_responses <- function(object, ...) vcov.gp_responses(object)

#' @export
AIC.gp_responses <- function(object, ..., k = 2) {
  refuse_arguments("AIC.gp_responses", list(...))
  k * parameters_of_each(object) - 2 * logLik.gp_responses(object)
}

#' @export
BIC.gp_responses <- function(object, ...) {
  refuse_arguments("BIC.gp_responses", list(...))
  log(object$n_used) * parameters_of_each(object) - 2 * logLik.gp_responses(object)
}

# The number of estimated parameters of each response.
parameters_of_each <- function(object, call = caller_env()) {
  if (object$kind == "independent") return(sum(!object$model$parameters$fixed) + nrow(object$beta))
  stop_kernops("input", c("Responses with common parameters have no number of parameters each.",
                          i = "{.code responses = \"independent\"} estimates those of each response."), call = call)
}
