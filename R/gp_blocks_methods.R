# Methods of fits of tables: plots and summaries read a sample of the observations. Methods that need all observations
# at once raise errors that name an alternative.

# Stops if `object` is not a fit with its observations in memory, which the function `what` requires.
check_fit <- function(object, name, what, instead = NULL, call = caller_env()) {
  if (!inherits(object, "gp")) stop_kernops("input", "{.arg {name}} must be a fit of {.fn gp}.", call = call)
  if (inherits(object, "gp_blocks")) stop_blocks(what, instead, call)
}

stop_blocks <- function(what, instead = NULL, call = caller_env()) {
  instead <- instead %||% "It takes a fit to a data frame, such as a sample of the rows."
  stop_kernops("input", c("{.fn {what}} is not available for a fit of a table that is read in chunks.", i = instead),
               call = call)
}

#' @export
model.frame.gp_blocks <- function(formula, ...) stop_blocks("model.frame", "The table has the variables of its rows.")

#' @export
model.matrix.gp_blocks <- function(object, ...) stop_blocks("model.matrix", "The table has the variables of its rows.")

#' @export
weights.gp_blocks <- function(object, ...) stop_blocks("weights", "The table has the variables of its rows.")

# The residuals of the heads, the first observations of the ordering, which cover the region evenly.
residuals_of_heads <- function(object, max_rows = 5000) {
  records <- object$blocks$heads
  residuals_of_some(object, records[some_positions(nrow(records), max_rows), , drop = FALSE])
}

residuals_of_some <- function(object, records) {
  points <- c(points_of_records(records, names(object$beta)), list(complete = rep(TRUE, nrow(records)), fitted = FALSE))
  object <- with_mean_as_offset(object)
  object$vecchia$joint <- FALSE # computing the field of all cells takes as long as a fit
  residuals_of_records(object, records, predicted_columns(object, points, mean_request)$fit, "response")
}

# The fit with the observations of typical_records() in memory, for plots.
with_observations <- function(object) {
  if (!inherits(object, "gp_blocks")) return(object)
  records <- typical_records(object$blocks)
  data <- data_of_records(records)
  points <- points_of_records(records, names(object$beta))
  d <- object$model$d
  center <- rep(as.numeric(object$center), each = nrow(records))
  u <- data$u[, seq_len(d), drop = FALSE] * unit_of(object$center) + center
  colnames(u) <- colnames(object$parts$u)
  object$parts[c("u", "x", "y", "offset", "noise", "weights")] <-
    list(u, points$x, data$y + points$offset, points$offset, data$noise, data$weights)
  object$data <- c(list(n = object$blocks$n), data)
  object$records <- records
  object
}

#' @export
hatvalues.gp_blocks <- function(model, ...) stop_blocks("hatvalues")

#' @export
rstandard.gp_blocks <- function(model, ...) {
  stop_blocks("rstandard", "{.code residuals(type = \"pearson\")} divides by the standard deviation of the noise.")
}

#' @export
cooks.distance.gp_blocks <- function(model, ...) stop_blocks("cooks.distance")
