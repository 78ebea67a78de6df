# Predictions of the derivative of the field and its trend with respect to a coordinate.

# The fit after its points get columns that mark each point as a value or a derivative of the field. If no derivatives
# were observed, all observations are values.
with_derivative <- function(object, derivative, call = caller_env()) {
  if (is.null(derivative)) return(object)
  names <- colnames(object$parts$u) %||% paste0("x", seq_len(object$model$d))
  check_choice(derivative, "derivative", names, call)
  plain <- is.null(object$family) && object$method == "exact" && is.null(object$transform) &&
    !is_lmc(object$model$covariance) && !has_effects(object$model) && !inherits(object, "gp_blocks")
  if (!plain) {
    stop_kernops("input", "{.arg derivative} is for fits of one Gaussian response by {.code method = \"exact\"}, without
                           {.arg transform} and effects.", call = call)
  }
  check_derivable_coordinates(object$parts$coords, call)
  check_estimated_smoothness(object, call)
  if (length(object$model$functional)) return(object)
  object$model <- with_functionals(object$model, call)
  as_values <- function(u) cbind(u, functional_columns(nrow(u), object$model$d))
  object$data$u <- as_values(object$data$u)
  if (!is.null(object$data$nodes)) object$data$nodes$u <- as_values(object$data$nodes$u)
  object
}

# New points, at which the derivative of the field is predicted in place of its value.
points_of_derivative <- function(object, fit, points, newdata, derivative, call = caller_env()) {
  if (is.null(derivative)) return(points)
  d <- object$model$d
  names <- colnames(object$parts$u) %||% paste0("x", seq_len(d))
  direction <- matrix(1 * (names == derivative), nrow(points$u), d, byrow = TRUE) / unit_of(object$center)
  columns <- object$model$functional - 1 + seq_len(d + 1)
  points$u <- cbind(points$u[, seq_len(object$model$functional - 1), drop = FALSE],
                    functional_columns(nrow(points$u), d, direction))
  stopifnot(ncol(points$u) == max(columns))
  data <- if (is.null(newdata)) rows_of_fit(fit, derivative, call) else as.data.frame(newdata)
  slope <- trend_derivative(object$parts, data[points$complete, , drop = FALSE], derivative, nrow(points$u), call)
  points[c("x", "offset")] <- slope[c("x", "offset")]
  if (!is.null(object$known$beta) && !ncol(points$x)) points$total <- 0
  points
}

# The variables of the trend at the observations, for predictions without newdata.
rows_of_fit <- function(fit, derivative, call) {
  if (is_averages(fit$parts$layout)) {
    stop_kernops("input", "{.arg derivative} of a fit to averages needs {.arg newdata}.", call = call)
  }
  if (!derivative %in% all.vars(stats::delete.response(fit$parts$terms))) return(fit$parts$frame)
  stop_kernops("input", "{.arg derivative} of a trend in {.code {derivative}} needs {.arg newdata}.", call = call)
}
