# Methods of fits whose family has predictors (gp_predictors.R).

# TRUE for the parameters of a family that are numbers, FALSE for coefficients of predictors.
is_constant_parameter <- function(family) {
  parameters <- family$parameters
  !(parameters$of %||% parameters$name) %in% names(family$predictors)
}

# The coefficients of a predictor, by the names of its covariates.
predictor_coefficients <- function(object, name) {
  column <- object$family$predictors[[name]]$column
  stats::setNames(object$dispersion[object$family$parameters$of == name], column$names)
}

# What the predictor is equal to, such as log(theta).
predictor_label <- function(family, name) paste0(parameter_link(family, name)$name, "(", name, ")")

predictor_words <- function(family) {
  vapply(names(family$predictors), function(name) paste(name, deparse1(family$predictors[[name]]$column$formula)), "")
}

# For each predictor its coefficients and their errors, among those of all parameters.
predictor_tables <- function(object, errors) {
  of <- object$family$parameters$of
  lapply(stats::setNames(nm = names(object$family$predictors)), function(name) {
    estimate <- object$dispersion[of == name]
    wald_table(estimate, errors[names(estimate)])
  })
}

print_predictors <- function(tables, fit, digits) {
  for (name in names(tables)) {
    cli::cat_line("\nPredictor of ", name, ", link ", parameter_link(fit$family, name)$name, ":")
    rownames(tables[[name]]) <- fit$family$predictors[[name]]$column$names
    stats::printCoefmat(tables[[name]], digits = digits)
  }
}

# TRUE if the predictor of `small` is one of `large`. A parameter without a predictor is constant.
spans_predictor <- function(name, large, small) {
  if (!name %in% names(large$family$density$parameters)) return(FALSE)
  covariates <- function(fit) {
    dims <- fit$family$predictors[[name]]$dims
    if (is.null(dims)) matrix(1, nrow(fit$data$u), 1) else fit$data$u[, dims, drop = FALSE]
  }
  qr(cbind(covariates(large), covariates(small)))$rank == qr(covariates(large))$rank
}
