#' Tables of a Gaussian process fit, for broom and emmeans
#'
#' Return the parameters, a summary and the observations of a fit as tables, by methods of the generic functions
#' `tidy()`, `glance()` and `augment()` of packages generics and broom. With package emmeans, `emmeans()` gives marginal
#' means of the trend on the scale of the linear predictor. With `type = "response"`, `emmeans()` gives marginal means
#' of the response, by the inverse of the link of a [family][gp_families] or of the transformation of [gp()].
#' Differences on the scale of the linear predictor are then shown as ratios, such as odds ratios. Packages insight and
#' performance accept fits as models. `insight::get_predicted()` and `insight::get_data()` include the coordinates.
#' `rmse()`, `mae()` and `r2()` of performance are on the scale of the residuals: for `log(y) ~ x`, the scale of the
#' logarithm. `insight::get_deviance()` is the deviance as defined for [lm()] and [glm()], while
#' [deviance()][gp_methods] is minus twice the log-likelihood. `DHARMa::simulateResiduals()` simulates new responses
#' given the field of the data or, with `conditional = FALSE`, given the model; `refit = TRUE` is an error.
#'
#' @param x a fit of [gp()].
#' @param conf.int,conf.level whether to add the confidence limits of `confint()`, and their level.
#' @param effects which parameters: `"trend"`, `"covariance"`, or both.
#' @param exponentiate whether to exponentiate the coefficients of the trend and their confidence limits: odds ratios
#'   for the logit link, ratios of means for the log link, with a warning for other links. As in broom, the standard
#'   errors of the coefficients are not transformed; parameters of the covariance are not exponentiated.
#' @param newdata new points and covariates, as in [predict()][predict.gp]; default: the data of the fit.
#' @param ... not used: further arguments are an error.
#'
#' @return Tibbles, or data frames if package tibble is not installed.
#'   * `tidy()` has a row for each parameter: its `effect` (`"trend"` or `"covariance"`), `term`, `estimate`,
#'     `std.error`, and `conf.low` and `conf.high` with `conf.int = TRUE`. Parameters that were not estimated have `NA`.
#'   * `glance()` has one row: `nobs`, `logLik`, `AIC`, `BIC`, `df` (the number of estimated parameters), `nugget` (its
#'     variance), `method` and `estimate`; the columns of `glance()` of [certify()], if the fit has a `certificate`; and
#'     with `method = "vecchia"` or `"vif"`, the number of `neighbours`, the verdict `approximation`, and the changes
#'     when the number of neighbours is doubled, see [gp_control()]: `change.logLik`, `change.estimate`,
#'     `change.prediction` and `change.se`.
#'   * `augment()` has a row for each observation, with the variables of the formula, the coordinates, `.fitted` (the
#'     field, trend included), `.se.fit` (its standard error, without the nugget) and `.resid`. With `newdata`, the
#'     columns are the columns of `newdata`, `.fitted` and `.se.fit`; for an object of sf, stars, terra or sp, the
#'     result has the class of this object.
#' @section Errors: the errors of [predict()][predict.gp], and class `kernops_input_error` for arguments that a method
#'   does not have. With `exponentiate = TRUE`, there is a warning of class `kernops_no_log_link` if the model has no
#'   log or logit link.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' augment(fit, data.frame(x = 1:3))
#' @seealso [gp_methods] for the usual methods of fits.
#' @aliases emm_basis.gp recover_data.gp check_heteroscedasticity.gp check_overdispersion.gp get_data.gp
#' @aliases get_deviance.gp find_formula.gp get_sigma.gp_family_fit get_df.gp get_loglikelihood.gp get_predicted.gp
#' @aliases get_statistic.gp model_performance.gp performance_mae.gp r2.gp getFitted.gp getObservedResponse.gp
#' @aliases getResiduals.gp getSimulations.gp model_info.gp_family_fit
#' @name gp_broom
NULL

#' @rdname gp_broom
#' @method tidy gp
#' @export
tidy.gp <- function(x, conf.int = FALSE, conf.level = 0.95, effects = c("trend", "covariance"), exponentiate = FALSE,
                    ...) {
  no_further("tidy", ...)
  check_flag(conf.int, "conf.int")
  check_flag(exponentiate, "exponentiate")
  effects <- check_tidied(effects)
  if (exponentiate) warn_about_exponents(x)
  table <- do.call(rbind, lapply(effects, function(effect) {
    estimate <- coef(x, effect)
    se <- if (effect == "trend") sqrt(diag(vcov(x))) else covariance_errors(x)
    part <- data.frame(effect = rep(effect, length(estimate)), term = names(estimate), estimate = unname(estimate),
                       std.error = unname(se))
    if (!conf.int) return(part)
    limits <- confint(x, level = conf.level, type = effect)
    rows <- match(part$term, rownames(limits))
    cbind(part, conf.low = limits[rows, 1], conf.high = limits[rows, 2], row.names = NULL)
  }))
  if (exponentiate) table <- exponentiated(table)
  as_table(table)
}

check_tidied <- function(effects, call = caller_env()) {
  known <- c("trend", "covariance")
  if (is.character(effects) && length(effects) && all(effects %in% known)) return(unique(effects))
  stop_kernops("input", paste0("{.arg effects} must be {.val trend}, {.val covariance}, or both, not ",
                               shown(effects), "."), call = call)
}

# Exponentiates coefficients of the trend. As in broom, standard errors stay on the scale of the linear predictor.
exponentiated <- function(table) {
  trend <- table$effect == "trend"
  of <- intersect(c("estimate", "conf.low", "conf.high"), names(table))
  table[trend, of] <- exp(table[trend, of])
  table
}

warn_about_exponents <- function(x) {
  logarithmic <- family(x)$link %in% c("log", "logit") || identical(x$transform$lambda, 0)
  if (logarithmic) return(invisible())
  cli::cli_warn(c("The coefficients are exponentiated, but the model has no log or logit link.",
                  i = "Exponentials are ratios of means or odds with these links only."),
                class = c("kernops_no_log_link", "kernops_warning"))
}

#' @rdname gp_broom
#' @method glance gp
#' @export
glance.gp <- function(x, ...) {
  no_further("glance", ...)
  nugget <- nugget_of(x)
  table <- data.frame(nobs = nobs.gp(x), logLik = x$loglik, AIC = stats::AIC(x), BIC = stats::BIC(x), df = x$df,
                      nugget = if (length(nugget) == 1) nugget else NA_real_, method = x$method, estimate = x$estimate)
  if (has_neighbours(x)) table <- cbind(table, glanced_approximation(x))
  as_table(if (is.null(x$certificate)) table else cbind(table, glanced_certificate(x$certificate)))
}

#' @rdname gp_broom
#' @method augment gp
#' @export
augment.gp <- function(x, newdata = NULL, ...) {
  no_further("augment", ...)
  refuse_several(x, "{.fn augment} is", "{.fn predict} and {.fn residuals} have a column for each variable.")
  if (is.null(newdata) && inherits(x, "gp_blocks")) {
    stop_blocks("augment", "{.fn predict} and {.fn residuals} have values for all rows, or write them to a file by
                            {.arg filename}; {.arg newdata} takes rows in memory.")
  }
  if (is.null(newdata)) return(augment_fitted(x))
  if (is_spatial(newdata)) return(augment_spatial(x, newdata))
  table <- as.data.frame(predict(x, newdata, se.fit = TRUE, interval = "none", type = augment_scale(x)))
  if (is.numeric(newdata)) {
    newdata <- one_or_many_points(newdata, x$model$d)
    colnames(newdata) <- colnames(newdata) %||% colnames(x$parts$u)
    newdata <- as.data.frame(newdata)
  }
  newdata[[".fitted"]] <- table$fit
  newdata[[".se.fit"]] <- table$se.fit
  if (identical(class(newdata), "data.frame")) as_table(newdata) else newdata
}

# Adds columns to spatial data: for a map, layers; for points, variables.
augment_spatial <- function(x, newdata) {
  result <- predict(x, newdata, se.fit = TRUE, interval = "none", type = augment_scale(x))
  names(result)[1:2] <- c(".fitted", ".se.fit")
  if (inherits(newdata, "SpatRaster")) return(if (terra::hasValues(newdata)) c(newdata, result) else result)
  if (is_map(newdata)) return(c(newdata, result))
  if (inherits(newdata, "sfc") || (isS4(newdata) && !length(names(newdata)))) return(result)
  newdata$.fitted <- result$.fitted
  newdata$.se.fit <- result$.se.fit
  newdata
}

# The variables of the formula, with their names in the formula, and the coordinates that are not among these variables.
augment_fitted <- function(x) {
  points <- new_points(x, NULL, NULL)
  response <- predictive_at(x, points, replace(field_request, "type", augment_scale(x)))
  fit <- quantile(response, 0.5)
  frame <- x$parts$frame
  frame <- frame[setdiff(names(frame), c("(coords)", "(noise)", "(weights)"))]
  u <- as.data.frame(x$parts$u)
  as_table(data.frame(frame, u[setdiff(names(u), names(frame))], .fitted = fit,
                      .se.fit = sqrt(variance(response)), .resid = x$parts$y - fit, check.names = FALSE))
}

# Converts a table to a tibble, which broom also returns, if package tibble is installed.
as_table <- function(x) if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(x) else x

# The scale of augment(): means of the response for families, but no back-transformation of transformed responses.
augment_scale <- function(x) if (is.null(x$family)) "link" else "response"
