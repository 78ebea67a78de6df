# Variation of the field at distances shorter than those of the observations: a nugget that is no noise.

#' @rdname covariance_functions
#' @export
microscale <- function(variance = NULL, fixed = character()) {
  new_leaf("microscale", "variance * Equal(SqDist({x}, {y}), 0)", list(variance = variance), fixed = fixed)
}

is_white <- function(labels) labels %in% c("nugget", "microscale")

# The variances of what is uncorrelated at any distance.
white_rows <- function(model) which(is_white(model$parameters$label))

# The variance of the microscale variation, which means over blocks do not have.
microscale_of <- function(object) sum(object$theta[object$model$parameters$label == "microscale"])

# Only several observations at one location tell the one from the other.
check_white <- function(model, u, call) {
  free <- white_rows(model)[!model$parameters$fixed[white_rows(model)]]
  if (length(free) < 2 || anyDuplicated(place_keys(model, u))) return(invisible())
  stop_kernops("input", c("{.fn microscale} and {.fn nugget} cannot be told apart: no location has several
                           observations.",
                          i = "Give one of the variances and keep it: {.code nugget(0.1, fixed = \"variance\")}."),
               call = call)
}
