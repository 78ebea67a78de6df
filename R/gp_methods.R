#' Methods of Gaussian process fits
#'
#' @param object a fit of [gp()].
#' @param type which parameters: `"trend"`, `"covariance"`, or both; `coef()` has also `"transform"`, the parameter
#'   `lambda` of the Box-Cox transformation, if any. For `residuals()` of a fit with a
#'   [family][gp_families]: the kind of residuals.
#' @param parm names or numbers of parameters; default: all.
#' @param level the level of the intervals.
#' @param method `"wald"`: intervals from standard errors, symmetric for the trend and on the log scale of the
#'   covariance parameters; `"profile"`: from the profile likelihood, see the details.
#' @param formula.,evaluate,... as in [update()][stats::update]; further fits for `AIC()`, `BIC()` and `anova()`; the
#'   other methods have no further arguments.
#'
#' @details `vcov()` of the trend is the covariance matrix of generalised least squares. For the covariance parameters,
#'   it is computed from the second derivatives of the log-likelihood with respect to the parameters of the search
#'   (logarithms, except for angles) and the delta method. For exact fits of up to 2000 observations this is the
#'   observed information, from differences of the gradient; for larger fits and for iterative fits, it is the average
#'   information at the end of the search (Gilmour et al. 1995); for `method = "vecchia"`, the expected information (for
#'   REML, that of the likelihood without a trend). Parameters on which the likelihood hardly depends, such as those of
#'   a field whose variance is estimated as next to zero, have `NA` and a warning of class `kernops_no_standard_error`;
#'   all other standard errors are then those for given values of these parameters. The standard errors of `summary()`
#'   and [`tidy()`][gp_broom] are the
#'   square roots of its diagonal. Wald intervals of `confint()` are symmetric on the log scale. `residuals()` are the
#'   response minus the fitted field, which includes the trend.
#'
#'   With `method = "profile"`, a limit of `confint()` is the value at which twice the log-likelihood, maximised over
#'   all other parameters, is below its maximum by the quantile of the chi-squared distribution with one degree of
#'   freedom. These intervals do not depend on the parametrisation and need not be symmetric. Each limit takes about six
#'   searches from nearby values. If the profile stays above that up to a bound of the search, the limit is 0 or
#'   infinite (1 for a `ratio`, `NA` for an `angle`): the data do not bound the parameter. The trend requires ML;
#'   covariances as given (`estimate = "none"`) are kept, and the profile of the trend is then quadratic. If the profile
#'   finds a log-likelihood above that of the fit, a warning of class `kernops_not_converged` says so.
#'
#'   `sigma()` is the standard deviation of the noise, the square root of the nugget (for an observation of weight 1): 0
#'   without a nugget, and `NA` if `known$noise` gives a variance for each observation. `deviance()` is minus twice the
#'   log-likelihood, restricted for a REML fit. `df.residual()` is the number of observations minus the number of
#'   estimated trend coefficients.
#'
#' @section Comparing fits: `AIC()`, `BIC()` and `anova()` compare several fits of the same response. `anova()` sorts
#'   them by their number of parameters and tests each fit against the previous one by a likelihood ratio test. The test
#'   is `NA` if the trends are not nested. The user must check that the covariances are nested. If the larger fit has
#'   more variances, the smaller one has some of them at 0, which is the boundary of what is possible: the test is
#'   conservative then, as a note says. For one variance on the boundary, and nothing else that differs,
#'   the p-value is half the given one (Self and Liang 1987). Restricted likelihoods are comparable if the trends span
#'   the same space, in any parametrisation. The log-likelihood of the iterative method has a Monte Carlo error, which
#'   `summary()` reports: smaller differences are not meaningful.
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
#' @seealso [gp()]; [predict()][predict.gp], [simulate()][simulate.gp] and [plot()][plot.gp] have pages of their own;
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

#' @export
print.gp <- function(x, ...) {
  cli::cat_line("<gp> ", deparse1(x$formula), ", ", counted(nobs.gp(x), "observation"), variable_words(x),
                if (x$model$d > 0) paste(" at points of", counted(x$model$d, "coordinate")))
  cat_labelled("covariance", strsplit(format(x$covariance), " + ", fixed = TRUE)[[1]], " +")
  if (is_lmc(x$model$covariance)) cat_labelled("sills", sill_words(x), ",")
  if (!is.null(group_of(x$model))) cli::cat_line("  groups          ", group_words(x))
  if (length(x$beta)) cat_labelled("trend", paste(names(x$beta), signif(x$beta, 4), sep = " = "), ",")
  if (!is.null(x$transform)) cli::cat_line("  transform       ", transform_words(x$transform))
  cli::cat_line("  log-likelihood  ", likelihood_text(x$loglik), " (", x$estimate, ", ", x$method, ")")
  if (x$method == "vecchia") cat_labelled("neighbours", neighbour_words(x$vecchia), ",")
  if (!is.null(x$certificate)) cat_labelled("approximation", certificate_words(x$certificate), ",")
  invisible(x)
}

variable_words <- function(x) if (is_lmc(x$model$covariance)) paste0(" of ", length(response_names(x)), " variables")

group_words <- function(x) {
  group <- x$parts$columns[[group_of(x$model) - x$model$d]]
  paste0(length(group$levels), " (", deparse1(group$formula[[2]]), "), independent fields")
}

counted <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

# Items behind a label, on as many lines as the console needs.
cat_labelled <- function(label, items, between) {
  ends <- rep(c(between, ""), c(length(items) - 1, 1))
  cat(paste0(items, ends), fill = TRUE, labels = c(format(paste0("  ", label), width = 17), rep(strrep(" ", 17), 99)))
}

# Arguments that the method of gp for the generic `name` does not have are errors. Some packages, such as car, pass
# `complete` to coef() and vcov(), as for lm().
no_further <- function(name, ..., call = caller_env()) {
  given <- list(...)
  given <- given[!(names(given) %||% character(length(given))) %in% "complete"]
  takes <- setdiff(names(formals(get(paste0(name, ".gp")))), c("object", "x", "..."))
  if (length(given)) stop_further_arguments(paste0("{.fn ", name, "}"), given, takes, call)
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
nobs.gp <- function(object, ...) length(object$data$location %||% object$data$y)

#' @export
formula.gp <- function(x, ...) {
  # random effects and smooths are no terms of the trend
  if (inherits(x$formula, "formula") && length(split_effects(x$formula[[3]])$effects)) return(x$formula)
  stats::formula(x$parts$terms)
}

#' @export
terms.gp <- function(x, ...) x$parts$terms

#' @export
model.frame.gp <- function(formula, ...) formula$parts$frame

#' @export
model.matrix.gp <- function(object, ...) {
  x <- stats::model.matrix(object$parts$terms, object$parts$frame, contrasts.arg = object$parts$contrasts)
  smooth <- setdiff(colnames(object$parts$x), colnames(x))
  if (has_smooths(object)) cbind(x, object$parts$x[, smooth, drop = FALSE]) else x
}

#' @export
weights.gp <- function(object, ...) stats::naresid(object$na.action, stats::model.weights(object$parts$frame))

#' @export
fitted.gp <- function(object, ...) {
  no_further("fitted", ...)
  found <- predict.gp(object, type = "link")
  if (is.data.frame(found)) as.matrix(found) else found
}

#' @export
residuals.gp <- function(object, ...) {
  no_further("residuals", ...)
  fitted <- with(predicted_terms(object, new_points(object, NULL, NULL)), trend + process)
  off <- (object$parts$whole %||% object$parts)$y - fitted
  labels <- rownames(object$parts$frame)
  if (is.matrix(off)) rownames(off) <- labels else names(off) <- labels
  stats::naresid(object$na.action, off)
}

#' @rdname gp_methods
#' @export
vcov.gp <- function(object, type = c("trend", "covariance", "both"), ...) {
  no_further("vcov", ...)
  type <- check_choice(type, "type", c("trend", "covariance", "both"))
  trend <- chol2inv_named(object$state$root, names(object$beta))
  if (type == "trend") return(trend)
  own <- covariance_vcov(object)
  warn_no_errors(own)
  at <- match(rownames(own), object$model$parameters$name)
  own <- own * tcrossprod(in_data_units(object$model, search_slope(object$model$parameters, object$theta))[at])
  if (is_lmc(object$model$covariance)) {
    slope <- report_slope(object$model, object$theta)[at, at, drop = FALSE]
    own[] <- slope %*% own %*% t(slope)
  }
  if (type == "covariance") return(own)
  p <- nrow(trend)
  both <- matrix(0, p + nrow(own), p + nrow(own), dimnames = rep(list(c(rownames(trend), rownames(own))), 2))
  both[seq_len(p), seq_len(p)] <- trend
  both[p + seq_len(nrow(own)), p + seq_len(nrow(own))] <- own
  both
}

chol2inv_named <- function(root, names) {
  inverse <- if (length(root)) tcrossprod(backsolve(root, diag(nrow(root)))) else matrix(0, 0, 0)
  dimnames(inverse) <- list(names, names)
  inverse
}

# Standard errors of all parameters of the covariance, NA of what was given.
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
  own <- if (type != "trend") diag(vcov.gp(object, "covariance"))
  at <- match(names(own), object$model$parameters$name)
  all <- c(if (length(trend)) object$beta, coef.gp(object, "covariance")[at])
  # a coefficient of the trend is none of the parameters, whatever its name
  parameters <- object$model$parameters[c(rep(NA, length(trend)), at), ]
  parameters$log <- parameters$log %in% TRUE | parameters$kind %in% "sill"
  parameters$unit[is.na(parameters$unit)] <- 1
  wald_limits(parameters, all, sqrt(c(trend, own)), level, parm)
}

# Limits of values with standard errors, symmetric on the scale of the search, for the parameters that are asked for.
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
                               shown(unfit), "."),
               call = call)
}

#' @rdname gp_methods
#' @export
summary.gp <- function(object, ...) {
  no_further("summary", ...)
  se <- sqrt(diag(vcov(object)))
  trend <- cbind(Estimate = object$beta, `Std. Error` = se, `z value` = object$beta / se,
                 `Pr(>|z|)` = 2 * stats::pnorm(-abs(object$beta / se)))
  off <- some_residuals(object)
  # a row for each of several variables
  quantiles <- if (is.matrix(off)) t(apply(off, 2, stats::quantile, na.rm = TRUE, names = FALSE)) else {
    stats::quantile(off, na.rm = TRUE, names = FALSE)
  }
  structure(list(fit = object, coefficients = trend, errors = covariance_errors(object), number = sum(!is.na(off)),
                 residuals = quantiles, edf = smooth_edf(object)), class = "summary.gp")
}

# Local kriging of a million observations would take minutes: it is done for some of them, evenly spaced.
some_residuals <- function(object, most = 20000) {
  n <- nobs.gp(object)
  if (object$method != "vecchia" || n <= most || is_lmc(object$model$covariance)) return(residuals(object))
  some <- round(seq(1, n, length.out = most))
  points <- some_points(new_points(object, NULL, NULL), some)
  mean <- with(predicted_terms(object, points), trend + process)
  if (is.null(object$family)) return(object$parts$y[some] - mean)
  family_residuals(object, object$parts$y[some], mean_of(object, mean), object$parts$weights[some], "deviance")
}

#' @export
print.summary.gp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  fit <- x$fit
  cli::cat_line("Gaussian process: ", deparse1(fit$formula))
  cli::cat_line(counted(nobs.gp(fit), "observation"), variable_words(fit),
                if (fit$model$d > 0) paste0(", ", counted(fit$model$d, "coordinate")),
                if (length(fit$na.action)) paste0(", ", length(fit$na.action), " with missing values removed"))
  if (!is.null(fit$transform)) cli::cat_line("Transformation of the response: ", transform_words(fit$transform))
  if (!is.null(fit$family)) cli::cat_line("\nFamily: ", fit$family$name, ", link ", fit$family$link)
  cli::cat_line("\nCovariance: ", format(fit$model$covariance))
  if (!is.null(group_of(fit$model))) cli::cat_line("Groups: ", group_words(fit))
  p <- if (is.null(fit$family)) fit$model$parameters else subset(fit$outer$parameters, kind != "trend")
  table <- data.frame(value = signif(coef(fit, "covariance"), digits), row.names = p$name)
  if (!all(is.na(x$errors))) table$`Std. Error` <- signif(x$errors, digits)
  table$` ` <- ifelse(p$fixed, "fixed", ifelse(p$name %in% fit$search$at_bound, "at bound", ""))
  print(table)
  print_priors(fit)
  cli::cat_line("\nTrend:")
  if (nrow(x$coefficients)) stats::printCoefmat(x$coefficients, digits = digits) else {
    cli::cat_line(if (is.null(fit$known$beta)) "none" else paste("known, beta =", toString(fit$known$beta)))
  }
  if (length(x$edf)) {
    edf <- paste(names(x$edf), signif(x$edf, digits), sep = " = ", collapse = ", ")
    cli::cat_line("\nEffective degrees of freedom: ", edf)
  }
  some <- if (x$number < nobs.gp(fit)) paste0(" (", x$number, " of them)")
  kind <- if (is.null(fit$family)) "Residuals" else "Deviance residuals"
  cli::cat_line("\n", kind, " of the fitted field", some, ":")
  words <- c("Min", "1Q", "Median", "3Q", "Max")
  shown <- signif(x$residuals, digits)
  print(if (is.matrix(shown)) `colnames<-`(shown, words) else stats::setNames(shown, words))
  cli::cat_line("\n", if (fit$estimate == "REML") "REML log" else "Log", "-likelihood ", likelihood_text(fit$loglik),
                " on ", counted(fit$df, "parameter"), ", AIC ", likelihood_text(stats::AIC(fit)))
  cat(strwrap(paste0("Method: ", fit$method, search_words(fit$search)), exdent = 2), sep = "\n")
  if (!is.null(error <- likelihood_words(fit))) cli::cat_line(error)
  if (fit$method == "vecchia") cat_labelled("Neighbours", neighbour_words(fit$vecchia), ",")
  print_rivals(fit)
  invisible(x)
}

print_priors <- function(fit) {
  if (!length(priors <- fit$model$prior)) return(invisible())
  cli::cat_line("Mode of the posterior, with the priors")
  names <- fit$model$parameters$name[vapply(priors, function(each) each$row, 0L)]
  cli::cat_line("  ", format(names), "  ", vapply(priors, function(each) format(each$prior), ""))
}

search_words <- function(search) {
  if (is.null(search$iterations)) return(", covariance as given")
  likelihoods <- counted(search$evaluations[[1]], "likelihood")
  paste0(", ", counted(search$iterations, "step"), " (", likelihoods, ") after a search over starting values: ",
         search$message)
}

# Other optima whose log-likelihood is within two units.
print_rivals <- function(fit) {
  for (rival in fit$search$rivals) {
    what <- if (length(fit$model$prior)) "log posterior density" else "log-likelihood"
    cat_labelled("Other optimum", c(paste(what, likelihood_text(-rival$value / 2)), paste(
      fit$model$parameters$name, "=", signif(reported(fit$model, rival$theta), 4))[!fit$model$parameters$fixed]), ",")
  }
}

likelihood_text <- function(x) formatC(x, digits = 3, format = "f")

likelihood_words <- function(fit) {
  error <- fit$state$logdet_error
  if (is.null(error)) return(NULL)
  paste0("Monte Carlo error of the log-likelihood: ", format(error / 2, digits = 2))
}

#' @rdname gp_methods
#' @importFrom stats update
#' @export
update.gp <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!missing(formula.)) call$formula <- stats::update(stats::formula(object), formula.)
  changed <- match.call(expand.dots = FALSE)$...
  for (name in names(changed)) call[[name]] <- changed[[name]]
  if (evaluate) eval(call, parent.frame()) else call
}
