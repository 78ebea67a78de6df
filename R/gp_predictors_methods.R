# Methods of fits whose family has predictors (gp_predictors.R).

# TRUE for the parameters of a family that are single numbers, FALSE for coefficients of predictors.
is_constant_parameter <- function(family) {
  parameters <- family$parameters
  !(parameters$of %||% parameters$name) %in% names(family$predictors)
}

# The fixed coefficients of a predictor, named by its covariates.
predictor_coefficients <- function(object, name) {
  predictor <- object$family$predictors[[name]]
  all <- stats::setNames(object$dispersion[object$family$parameters$of == name], predictor$column$names)
  all[fixed_coefficients(predictor)]
}

# A text such as log(theta): the link function of a parameter, applied to the parameter, equals the linear predictor.
predictor_label <- function(family, name) paste0(parameter_link(family, name)$name, "(", name, ")")

predictor_words <- function(family) {
  vapply(names(family$predictors), function(name) {
    paste(name, "= ~", deparse1(family$predictors[[name]]$column$formula[[2]]))
  }, "")
}

# A table of coefficients and their standard errors for each predictor. The standard errors are selected from the
# `errors` of all parameters.
predictor_tables <- function(object, errors) {
  of <- object$family$parameters$of
  lapply(stats::setNames(nm = names(object$family$predictors)), function(name) {
    estimate <- object$dispersion[of == name][fixed_coefficients(object$family$predictors[[name]])]
    wald_table(estimate, errors[names(estimate)])
  })
}

print_predictors <- function(tables, fit, digits) {
  for (name in names(tables)) {
    cli::cat_line("\nPredictor of ", name, ", link ", parameter_link(fit$family, name)$name, ":")
    predictor <- fit$family$predictors[[name]]
    rownames(tables[[name]]) <- predictor$column$names[fixed_coefficients(predictor)]
    stats::printCoefmat(tables[[name]], digits = digits)
    if (length(smooths <- smooth_words(predictor))) cli::cat_line("Smooths: ", paste(smooths, collapse = ", "))
  }
}

# Warns about parameters with implausible values. The likelihood hardly depends on a parameter at such a value, so that
# coefficients may be arbitrarily large.
warn_about_predictors <- function(fit) {
  family <- fit$family
  for (name in names(family$predictors)) {
    limits <- family$density$parameters[[name]](fit$response$y, fit$spread)
    beyond <- which(fit$phi[[name]] < limits[[2]] | fit$phi[[name]] > limits[[3]])
    if (!length(beyond)) next
    ends <- vapply(limits[2:3], format, "", digits = 6)
    rows <- fit$response$rows[beyond]
    cli::cli_warn(c("The fitted {.code {name}} is below {ends[[1]]} or above {ends[[2]]} for some observations: the
                     likelihood hardly depends on it there.",
                    x = "See {cli::qty(length(rows))}row{?s} {rows}.",
                    i = "Coefficients of its predictor may be arbitrary large numbers, for example if a covariate
                         separates all zeros: remove covariates, or merge levels."),
                  class = c("kernops_separation", "kernops_warning"))
  }
}

# TRUE if the predictor of the parameter `name` in the fit `small` is a special case of the predictor in the fit
# `large`. A parameter without a predictor is constant.
spans_predictor <- function(name, large, small) {
  if (!name %in% names(large$family$density$parameters)) return(FALSE)
  covariates <- function(fit) {
    dims <- fit$family$predictors[[name]]$dims
    if (is.null(dims)) matrix(1, nrow(fit$data$u), 1) else fit$data$u[, dims, drop = FALSE]
  }
  qr(cbind(covariates(large), covariates(small)))$rank == qr(covariates(large))$rank
}
