#' Methods of Gaussian process fits
#'
#' Return the estimates, standard errors, intervals, residuals and likelihood of a fit of [gp()], and compare fits.
#'
#' @param object a fit of [gp()].
#' @param type which parameters: `"trend"`, `"covariance"`, or both; for `coef()` also `"transform"`, the parameter
#'   `lambda` of the Box-Cox transformation, if any. For `residuals()`, the kind of residuals: `"response"` or
#'   `"pearson"`; for a fit with a [family][gp_families] also `"deviance"` (the default) and `"quantile"`.
#' @param parm names or numbers of parameters; default: all.
#' @param level the level of the intervals.
#' @param method `"wald"`: intervals from standard errors, symmetric for the trend and on the log scale of the
#'   covariance parameters; `"profile"`: from the profile likelihood, see the details.
#' @param filename for a fit of a table that is read in chunks, see [gp_table()]: the path of a CSV file to which
#'   `fitted()` and `residuals()` write a value for each row of the table. Default: the values are returned.
#' @param cost whether `summary()` includes a table of the time of each part of the fit, in seconds; see the details.
#' @param ... further fits for `AIC()`, `BIC()` and `anova()`; the other methods have no further arguments.
#'
#' @details `vcov()` of the trend is the covariance matrix of generalised least squares. `vcov()` of the covariance
#'   parameters is computed from the second derivatives of the log-likelihood with respect to the parameters of the
#'   search (logarithms, except for angles) and the delta method. For exact fits of up to 2000 observations, and
#'   approximate fits of up to 1000 observations, the second derivatives are the observed information, from differences
#'   of the gradient. For larger fits by `method = "vecchia"` they are the expected information (for REML, the expected
#'   information of the likelihood without a trend); for other larger fits and for iterative fits, the average
#'   information at the end of the search (Gilmour et al. 1995). Parameters on which the likelihood hardly depends, such
#'   as the range of a field whose variance is estimated as next to zero, have standard errors of `NA` and a warning of
#'   class `kernops_no_standard_error`; all other standard errors are then conditional on the values of these
#'   parameters. The standard errors of `summary()` and [`tidy()`][gp_broom] are the square roots of the diagonal of
#'   `vcov()`. Wald intervals of `confint()` are symmetric on the log scale. `residuals()` are the response minus the
#'   fitted field, which includes the trend; with `type = "pearson"`, residuals are divided by the standard deviation of
#'   the noise, and are `NA` if there is no noise. `summary()` names pairs of terms that the data can hardly
#'   distinguish, such as a smooth of a coordinate and a field along the same coordinate. The data determine the sum of
#'   the two terms of such a pair, but the errors of the two terms have a correlation below -0.9.
#'
#'   With `cost = TRUE`, `summary()` has a table `cost` of the `seconds` of the fit by part, their `share`, and the
#'   number of `calls`. The parts are the data with the bases of smooths; the search for neighbours; the field, its
#'   likelihood and derivatives; the mode of the process for a [family][gp_families], with the posterior of field and
#'   effects; random effects and smooths (for the methods `"vecchia"` and `"vif"`; other methods count this time as time
#'   of the field); the trend; and the rest, which consists of starting values and the steps of the search. The table
#'   shows which change would make the fit faster: fewer neighbours, a smaller basis, or a start from given parameters.
#'
#'   With `method = "profile"`, a limit of `confint()` is the value at which twice the profile log-likelihood, maximised
#'   over all other parameters, is below its maximum by the quantile of the chi-squared distribution with one degree of
#'   freedom. These intervals do not depend on the parametrisation and need not be symmetric. Each limit takes about six
#'   searches from nearby values. If the profile stays above this level up to a bound of the search, the limit is 0 or
#'   infinite (1 for a `ratio`, `NA` for an `angle`): the data do not bound the parameter. Profile intervals of the
#'   trend require a fit by ML. Given covariances (`estimate = "none"`) are kept, and the profile of the trend is then
#'   quadratic. If the profile finds a log-likelihood above the log-likelihood of the fit, a warning of class
#'   `kernops_not_converged` reports this.
#'
#'   `sigma()` is the standard deviation of the noise, the square root of the nugget (for an observation of weight 1): 0
#'   without a nugget, and `NA` if `known$noise` gives a variance for each observation. `deviance()` is minus twice the
#'   log-likelihood, restricted for a REML fit. `df.residual()` is the number of observations minus the number of
#'   estimated trend coefficients.
#'
#' @section Comparing fits: `AIC()`, `BIC()` and `anova()` compare several fits of the same response. `anova()` sorts
#'   the fits by their number of parameters and tests each fit against the previous fit by a likelihood ratio test. The
#'   test is `NA` if the trends are not nested. `anova()` does not check that the covariances are nested: the user must
#'   check this. If the larger fit has additional variances, these are 0 in the smaller fit, on the boundary of the
#'   parameter space: the test is then conservative, as a note in the output says. If the fits differ only by a single
#'   such variance, the p-value is half the given p-value (Self and Liang 1987). Restricted likelihoods are comparable
#'   if the trends span the same space, in any parametrisation. The log-likelihood of the iterative method has a Monte
#'   Carlo error, which `summary()` reports: differences smaller than this error are not meaningful.
#'
#' @section Errors: class `kernops_input_error` for comparisons of REML fits with different trends, of REML fits with
#'   other fits, and of fits with different responses; for profile intervals of a fit by the iterative method, whose
#'   likelihood is estimated, and of the trend of a REML fit; for `anova()` and profile intervals of fits with a
#'   [prior][gp_priors].
#'
#' @references
#' Gilmour, A. R., Thompson, R. and Cullis, B. R. (1995) Average information REML: an efficient algorithm for variance
#' parameter estimation in linear mixed models. *Biometrics* 51(4), 1440-1450.
#'
#' Self, S. G. and Liang, K.-Y. (1987) Asymptotic properties of maximum likelihood estimators and likelihood ratio tests
#' under nonstandard conditions. *Journal of the American Statistical Association* 82, 605-610.
#'
#' Venzon, D. J. and Moolgavkar, S. H. (1988) A method for computing profile-likelihood-based confidence intervals.
#' *Applied Statistics* 37, 87-94.
#'
#' @return As described for the generic functions. `summary()` returns a list of class `summary.gp`, which has a
#'   `print()` method.
#' @seealso [gp()]; [predict()][predict.gp], [simulate()][simulate.gp], [update()][update.gp] and [plot()][plot.gp]
#'   have separate pages;
#'   [gp_broom] for tables; [gp_cv()] for cross-validation.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' coef(fit)
#' confint(fit)
#' confint(fit, "nugget.variance", method = "profile")
#' anova(fit, update(fit, . ~ x))
#' @aliases fitted.gp residuals.gp formula.gp terms.gp model.frame.gp model.matrix.gp nobs.gp weights.gp
#' @aliases coef.gp_family_fit vcov.gp_family_fit confint.gp_family_fit fitted.gp_family_fit family.gp_family_fit
#' @aliases family.gp
#' @name gp_methods
NULL

# Stops if a call of the generic `name` has arguments that its method for fits does not have. Some packages, such as
# car, pass `complete` to coef() and vcov(), as for lm(); this argument is ignored.
no_further <- function(name, ..., call = caller_env()) {
  refuse_arguments(paste0(name, ".gp"), list(...), ignored = "complete", call = call)
}

#' @rdname gp_methods
#' @export
coef.gp <- function(object, type = c("trend", "covariance", "both", "transform"), ...) {
  no_further("coef", ...)
  type <- check_choice(type, "type", c("trend", "covariance", "both", "transform"))
  if (type == "transform") return(unlist(object$transform["lambda"]) %||% numeric())
  c(if (type != "covariance") object$beta, if (type != "trend") reported(object$model, object$theta))
}

#' @rdname gp_methods
#' @export
logLik.gp <- function(object, ...) {
  no_further("logLik", ...)
  structure(object$loglik, df = object$df, nobs = nobs.gp(object), class = "logLik")
}

#' @importFrom stats nobs coef confint fitted formula logLik model.frame model.matrix predict residuals terms
#' @importFrom stats vcov weights
#' @export
nobs.gp <- function(object, ...) {
  refuse_arguments("nobs.gp", list(...), ignored = "use.fallback") # step() and drop1() pass this argument
  object$data[["n"]] %||% length(object$data$location %||% object$data$y)
}

#' @export
formula.gp <- function(x, ...) {
  # as.formula() passes `env`; update.formula() and add1() call as.formula()
  refuse_arguments("formula.gp", list(...), ignored = "env")
  # random effects and smooths are not terms of the trend
  if (inherits(x$formula, "formula") && length(split_effects(x$formula[[3]])$effects)) return(x$formula)
  stats::formula(x$parts$terms)
}

#' @export
terms.gp <- function(x, ...) {
  no_further("terms", ...)
  x$parts$terms
}

#' @export
model.frame.gp <- function(formula, ...) {
  no_further("model.frame", ...)
  formula$parts$frame
}

#' @export
model.matrix.gp <- function(object, ...) {
  no_further("model.matrix", ...)
  x <- stats::model.matrix(object$parts$terms, object$parts$frame, contrasts.arg = object$parts$contrasts)
  smooth <- setdiff(colnames(object$parts$x), colnames(x))
  if (has_smooths(object)) cbind(x, object$parts$x[, smooth, drop = FALSE]) else x
}

#' @export
weights.gp <- function(object, ...) {
  no_further("weights", ...)
  stats::naresid(object$na.action, stats::model.weights(object$parts$frame))
}

#' @export
fitted.gp <- function(object, ...) {
  no_further("fitted", ...)
  fitted <- predict.gp(object, type = "link")
  if (is.data.frame(fitted)) as.matrix(fitted) else fitted
}

#' @export
residuals.gp <- function(object, type = c("response", "pearson"), ...) {
  no_further("residuals", ...)
  type <- check_choice(type, "type", c("response", "pearson"))
  fitted <- predicted_mean(object, new_points(object, NULL, NULL))
  off <- (object$parts$whole %||% object$parts)$y - fitted
  if (type == "pearson") off <- off / noise_errors(object, off)
  labels <- rownames(object$parts$frame)
  if (is.matrix(off)) rownames(off) <- labels else names(off) <- labels
  stats::naresid(object$na.action, off)
}

# The standard deviations of the noise of the observations, with the shape of the residuals; NA for observations without
# noise.
noise_errors <- function(object, off) {
  variance <- if (is.matrix(off)) rep(nugget_of(object), each = nrow(off)) else {
    observation_noise(object)
  }
  off[] <- sqrt(ifelse(variance > 0, variance, NA))
  off
}

#' @rdname gp_methods
#' @export
vcov.gp <- function(object, type = c("trend", "covariance", "both"), ...) {
  no_further("vcov", ...)
  type <- check_choice(type, "type", c("trend", "covariance", "both"))
  trend <- chol2inv_named(object$state$root, names(object$beta))
  if (type == "trend") return(trend)
  covariance <- covariance_vcov(object)
  warn_no_errors(covariance)
  rows <- match(rownames(covariance), object$model$parameters$name)
  slope <- in_data_units(object$model, search_slope(object$model$parameters, object$theta))[rows]
  covariance <- covariance * tcrossprod(slope)
  if (is_lmc(object$model$covariance)) {
    slope <- report_slope(object$model, object$theta)[rows, rows, drop = FALSE]
    covariance[] <- slope %*% covariance %*% t(slope)
  }
  if (type == "covariance") covariance else block_diagonal(trend, covariance)
}

block_diagonal <- function(a, b) {
  first <- seq_len(nrow(a))
  last <- nrow(a) + seq_len(nrow(b))
  both <- matrix(0, length(first) + length(last), length(first) + length(last),
                 dimnames = rep(list(c(rownames(a), rownames(b))), 2))
  both[first, first] <- a
  both[last, last] <- b
  both
}

chol2inv_named <- function(root, names) {
  inverse <- if (length(root)) tcrossprod(backsolve(root, diag(nrow(root)))) else matrix(0, 0, 0)
  dimnames(inverse) <- list(names, names)
  inverse
}

# The standard errors of all parameters of the covariance; NA for values that the user gave.
covariance_errors <- function(object) {
  v <- vcov(object, "covariance")
  names <- names(coef(object, "covariance"))
  stats::setNames(sqrt(diag(v))[match(names, rownames(v))], names)
}

#' @rdname gp_methods
#' @export
confint.gp <- function(object, parm = NULL, level = 0.95, type = c("both", "trend", "covariance"),
                       method = c("wald", "profile"), ...) {
  no_further("confint", ...)
  type <- check_choice(type, "type", c("both", "trend", "covariance"))
  method <- check_choice(method, "method", c("wald", "profile"))
  check_level(level)
  if (method == "profile") return(profile_limits(object, parm, level, type))
  trend <- if (type != "covariance") diag(vcov.gp(object))
  covariance <- if (type != "trend") diag(vcov.gp(object, "covariance"))
  rows <- match(names(covariance), object$model$parameters$name)
  values <- c(if (length(trend)) object$beta, coef.gp(object, "covariance")[rows])
  # the rows of trend coefficients are NA, even if a covariance parameter has the name of a coefficient
  parameters <- object$model$parameters[c(rep(NA, length(trend)), rows), ]
  parameters$log <- parameters$log %in% TRUE | parameters$kind %in% "sill"
  parameters$unit[is.na(parameters$unit)] <- 1
  wald_limits(parameters, values, sqrt(c(trend, covariance)), level, parm)
}

# Wald limits for the requested parameters, symmetric about the value on the scale of the search.
wald_limits <- function(parameters, values, se, level, parm, call = caller_env()) {
  half <- se / search_slope(parameters, values)
  limits <- vapply(stats::qnorm((1 + c(-1, 1) * level) / 2), function(q) {
    from_search(parameters, to_search(parameters, values) + q * half)
  }, numeric(length(values)))
  limits <- matrix(limits, length(values), 2, dimnames = list(names(values), limit_names(level)))
  if (is.null(parm)) limits else limits[parameter_rows_of(parm, rownames(limits), call), , drop = FALSE]
}

limit_names <- function(level) paste0(format(100 * (1 + c(-1, 1) * level) / 2, trim = TRUE, digits = 3), " %")

parameter_rows_of <- function(parm, names, call = caller_env()) {
  known <- if (is.character(parm)) names else if (is.numeric(parm) && !is.object(parm)) seq_along(names)
  unfit <- if (is.null(known)) parm else parm[!parm %in% known]
  if (!is.null(known) && length(unfit) == 0) return(parm)
  stop_kernops("input", paste0("{.arg parm} must contain names among {.val {names}}, or positions, not ",
                               shown(unfit), "."), call = call)
}
