# Methods of packages insight and performance, which are registered when these packages are loaded. The default methods
# of these packages take the response and predictions from variables of the data, before the transformations of the
# formula, and ignore coordinates.

# The default method of model_info() detects Bernoulli responses only in fits of glm(); this method also detects them in
# fits of gp().
#' @exportS3Method insight::model_info
model_info.gp_family_fit <- function(x, ...) {
  info <- NextMethod()
  info$is_bernoulli <- isTRUE(info$is_binomial) && all(x$parts$weights == 1)
  info
}

#' @exportS3Method insight::find_formula
find_formula.gp <- function(x, verbose = TRUE, ...) {
  terms <- if (inherits(x$formula, "formula")) split_effects(x$formula[[3]])$effects
  groups <- Filter(function(term) is.call(term) && identical(term[[1]], quote(`|`)), lapply(terms, without_brackets))
  random <- lapply(groups, function(term) stats::as.formula(call("~", term), environment(x$formula)))
  formulas <- list(conditional = stats::formula(x$parts$terms))
  if (length(random)) formulas$random <- if (length(random) == 1) random[[1]] else random
  structure(formulas, class = c("insight_formula", "list"))
}

without_brackets <- function(term) {
  while (is.call(term) && identical(term[[1]], quote(`(`))) term <- term[[2]]
  term
}

# The variables of the formula, and the coordinates, which predictions require.
#' @exportS3Method insight::get_data
get_data.gp <- function(x, verbose = TRUE, ...) {
  data <- NextMethod(verbose = FALSE)
  u <- as.data.frame(x$parts$u)
  lacking <- setdiff(names(u), names(data))
  if (is.null(data) || nrow(data) != nrow(u)) data else cbind(data, u[lacking])
}

#' @exportS3Method insight::get_statistic
get_statistic.gp <- function(x, ...) {
  estimate <- coef(x)
  structure(data.frame(Parameter = names(estimate), Statistic = unname(estimate / sqrt(diag(vcov(x))))),
            statistic = "z")
}

#' @exportS3Method insight::get_df
get_df.gp <- function(x, type = "residual", ...) {
  switch(tolower(type), model = x$df, wald = , normal = Inf, stats::df.residual(x))
}

# The deviance as defined for lm() and glm(), from which packages insight and performance compute the scale of
# residuals. In contrast, deviance() of a fit is minus twice its log-likelihood.
#' @exportS3Method insight::get_deviance
get_deviance.gp <- function(x, ...) {
  refuse_several(x, "{.fn get_deviance} is")
  if (!is.null(x$family)) return(sum(stats::residuals(x, "deviance")^2, na.rm = TRUE))
  sum(x$parts$weights * stats::residuals(without_omitted(x))^2)
}

# The residual standard deviation sigma(). For families without a parameter sigma, the result is the standard deviation
# of deviance residuals, as for glm().
#' @exportS3Method insight::get_sigma
get_sigma.gp_family_fit <- function(x, ...) {
  sigma <- stats::sigma(x)
  structure(if (is.na(sigma)) sqrt(get_deviance.gp(x) / stats::df.residual(x)) else sigma,
            class = c("insight_aux", "numeric"))
}

#' @exportS3Method insight::get_loglikelihood
get_loglikelihood.gp <- function(x, ...) stats::logLik(x)

#' @exportS3Method insight::get_predicted
get_predicted.gp <- function(x, data = NULL, predict = "expectation", ci = NULL, ...) {
  type <- if (identical(predict, "link")) "link" else "response"
  if (is.null(data) && is.null(ci) && type == "response") {
    return(structure(as.vector(stats::fitted(x)), class = c("get_predicted", "numeric")))
  }
  interval <- if (is.null(ci)) "none" else if (identical(predict, "prediction")) "prediction" else "confidence"
  table <- stats::predict(x, data, se.fit = !is.null(ci), interval = interval, level = ci %||% 0.95, type = type)
  if (is.null(ci)) return(structure(as.vector(table), class = c("get_predicted", "numeric")))
  limits <- data.frame(Row = seq_along(table$fit), SE = table$se.fit, CI_low = table$lwr, CI_high = table$upr)
  structure(table$fit, ci_data = limits, ci = ci, class = c("get_predicted", "numeric"))
}

# The mean absolute error on the scale of the residuals, which is the scale of the left side of the formula: if the left
# side is log(y), the logarithmic scale.
#' @exportS3Method performance::performance_mae
performance_mae.gp <- function(model, ...) mean(abs(stats::residuals(model, "response")), na.rm = TRUE)

#' @exportS3Method performance::r2
r2.gp <- function(model, ...) {
  y <- observed_numbers(model)
  off <- stats::residuals(without_omitted(model), "response")
  share <- sum(off^2, na.rm = TRUE) / sum((y - mean(y, na.rm = TRUE))^2, na.rm = TRUE)
  structure(list(R2 = c(R2 = 1 - share)), class = c("r2_generic", "list"))
}

observed_numbers <- function(model) {
  refuse_several(model, "{.fn r2} is")
  # the result is NA for rows of a table that the fit does not use
  if (inherits(model, "gp_blocks")) return(stats::fitted(model) + stats::residuals(model))
  if (is.null(model$family)) model$parts$y else model$response$y
}

# Pearson's chi-squared statistic. The degrees of freedom of the field and the trend are the sum of the leverages.
#' @exportS3Method performance::check_overdispersion
check_overdispersion.gp <- function(x, ...) {
  info <- insight::model_info(x)
  if (!isTRUE(info$is_count) && !isTRUE(info$is_binomial) || isTRUE(info$is_bernoulli)) {
    stop_kernops("input", "{.fn check_overdispersion} is for counts and for numbers of successes.")
  }
  chisq <- sum(stats::residuals(x, "pearson")^2, na.rm = TRUE)
  df <- stats::nobs(x) - sum(stats::hatvalues(x), na.rm = TRUE)
  structure(list(chisq_statistic = chisq, dispersion_ratio = chisq / df, residual_df = df,
                 p_value = stats::pchisq(chisq, df, lower.tail = FALSE)),
            class = c("check_overdisp", "see_check_overdisp"), object_name = "fit")
}

# The test of Breusch and Pagan. This method is needed because the default method of performance would divide residuals
# by their standard deviation twice.
#' @exportS3Method performance::check_heteroscedasticity
check_heteroscedasticity.gp <- function(x, ...) {
  if (!is.null(x$family)) stop_kernops("input", "{.fn check_heteroscedasticity} is for fits without a family.")
  squared <- stats::residuals(without_omitted(x), "pearson")^2
  fitted <- stats::fitted(without_omitted(x))
  explained <- stats::lm.fit(cbind(1, fitted), squared / mean(squared))$fitted.values - 1
  structure(stats::pchisq(sum(explained^2) / 2, df = 1, lower.tail = FALSE), data = x, object_name = "fit",
            class = c("check_heteroscedasticity", "see_check_heteroscedasticity", "numeric"))
}

#' @exportS3Method performance::model_performance
model_performance.gp <- function(model, ...) {
  table <- data.frame(AIC = stats::AIC(model), BIC = stats::BIC(model), R2 = unname(r2.gp(model)$R2),
                      RMSE = sqrt(mean(stats::residuals(model, "response")^2, na.rm = TRUE)))
  if (is.null(model$family)) table$Sigma <- stats::sigma(model)
  structure(table, class = c("performance_model", "data.frame"))
}
