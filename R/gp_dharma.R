# Methods of package DHARMa, which are registered when DHARMa is loaded. The default methods of DHARMa would call
# predict() with arguments of lme4. simulateResiduals() passes `conditional = FALSE` to getSimulations(), which then
# draws new fields.

#' @exportS3Method DHARMa::getFitted
getFitted.gp <- function(object, ...) as.vector(stats::fitted(without_omitted(object)))

#' @exportS3Method DHARMa::getObservedResponse
getObservedResponse.gp <- function(object, ...) {
  refuse_several(object, "Package DHARMa is")
  numbers_of_response(object, stats::model.response(object$parts$frame))
}

#' @exportS3Method DHARMa::getResiduals
getResiduals.gp <- function(object, ...) as.vector(stats::residuals(without_omitted(object), "response"))

#' @exportS3Method DHARMa::getSimulations
getSimulations.gp <- function(object, nsim = 1, type = c("normal", "refit"), ...) {
  if (identical(type, "refit")) {
    stop_kernops("input", c("{.code refit = TRUE} is not available for a fit of {.fn gp}.",
                            i = "{.code conditional = FALSE} draws a new field for each simulation."), call = NULL)
  }
  draws <- stats::simulate(without_omitted(object), nsim, noise = TRUE, ...)
  matrix(vapply(draws, function(y) as.numeric(numbers_of_response(object, y)), numeric(nrow(draws))), nrow(draws))
}

# The fit without na.action, because rows that na.exclude() would add have no simulations.
without_omitted <- function(object) replace(object, "na.action", list(NULL))

# Converts factors to numbers from 0, and binomial responses to numbers of successes.
numbers_of_response <- function(object, y) {
  if (is.factor(y)) return(as.integer(y) - 1)
  if (NCOL(y) == 2) return(unname(y[, 1]))
  y <- unname(as.vector(y))
  if (identical(object$family$density$response, "binomial")) y * object$parts$weights else y
}
