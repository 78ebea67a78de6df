# Variation of the field at distances shorter than those between observations: a nugget that is not noise.

microscale_kernel <- kernel("microscale", function(variance, x, y) {
  sprintf("%s * Equal(SqDist(%s, %s), 0)", variance, x, y)
})

#' @rdname covariance_functions
#' @export
microscale <- function(variance = NULL, fixed = character()) {
  new_leaf(microscale_kernel, list(variance = variance), fixed)
}

is_white <- function(labels) labels %in% c("nugget", "microscale")

# The rows of the variances of uncorrelated terms (nugget and microscale) in the table of parameters.
white_rows <- function(model) which(is_white(model$parameters$label))

# The rows of the parameters of microscale() in the table of parameters: variances or, for lmc(), the roots of sills.
microscale_rows <- function(model) {
  blocks <- Filter(function(block) startsWith(block$name, "microscale"), coregions(model))
  c(which(model$parameters$label == "microscale"), unlist(lapply(blocks, `[[`, "rows")))
}

# The parameters theta for prediction at `targets`. For means over blocks, the variances of microscale() are 0, because
# the microscale variation averages out.
theta_of_targets <- function(object, targets) {
  if (are_points(targets)) return(object$theta)
  replace(object$theta, microscale_rows(object$model), 0)
}

# Stops if the variances of both nugget and microscale are estimated and no location has several observations. Only
# several observations at one location distinguish the two variances.
check_white <- function(model, u, call) {
  several <- is_lmc(model$covariance)
  free <- white_rows(model)[!model$parameters$fixed[white_rows(model)]]
  open <- if (several) open_whites(model) else free
  if (length(open) < 2 || anyDuplicated(if (several) u[, seq_len(model$d + 1)] else place_keys(model, u))) {
    return(invisible())
  }
  keep <- if (several) "Give the sills of one of them and fix them: {.code sills = list(nugget = c(0.1, 0.2)), fixed =
                        TRUE}." else "Give one of the variances and fix it: {.code nugget(0.1, fixed = \"variance\")}."
  stop_kernops("input", c("{.fn microscale} and {.fn nugget} cannot be told apart: no location has several
                           observations.", i = keep), call = call)
}
