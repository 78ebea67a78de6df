# Methods that fits of tables do not have: those that need all observations at once.

# Stops unless `object` is a fit whose observations are in memory, for the function `what`.
check_fit <- function(object, name, what, call = caller_env()) {
  if (!inherits(object, "gp")) stop_kernops("input", "{.arg {name}} must be a fit of {.fn gp}.", call = call)
  if (inherits(object, "gp_blocks")) stop_blocks(what, call)
}

stop_blocks <- function(what, call = caller_env()) {
  stop_kernops("input", c("{.fn {what}} is not available for a fit of a table that is read in chunks.",
                          i = "{.fn predict} takes the rows of a table as {.arg newdata}."), call = call)
}

#' @export
fitted.gp_blocks <- function(object, ...) stop_blocks("fitted")

#' @export
residuals.gp_blocks <- function(object, ...) stop_blocks("residuals")

#' @export
plot.gp_blocks <- function(x, ...) stop_blocks("plot")

#' @export
model.frame.gp_blocks <- function(formula, ...) stop_blocks("model.frame")

#' @export
model.matrix.gp_blocks <- function(object, ...) stop_blocks("model.matrix")

#' @export
weights.gp_blocks <- function(object, ...) stop_blocks("weights")

# Residuals of some of the first observations of the ordering, which cover the region evenly.
residuals_of_heads <- function(object, max_rows = 5000) {
  rows <- some_positions(nrow(object$blocks$heads), max_rows)
  if (!is.null(object$known$beta)) object["known"] <- list(NULL) # the response is without the known mean
  object$vecchia$joint <- FALSE # the field of all cells takes as long as a fit
  predicted <- predicted_columns(object, points_of_heads(object, rows), field_request)$fit
  object$blocks$heads[rows, "y"] - predicted
}

#' @export
hatvalues.gp_blocks <- function(model, ...) stop_blocks("hatvalues")

#' @export
rstandard.gp_blocks <- function(model, ...) stop_blocks("rstandard")

#' @export
cooks.distance.gp_blocks <- function(model, ...) stop_blocks("cooks.distance")
