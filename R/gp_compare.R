# Methods for the residual variance of a fit, and comparisons of fits by their likelihoods.

#' @rdname gp_methods
#' @importFrom stats sigma deviance df.residual
#' @export
sigma.gp <- function(object, ...) {
  no_further("sigma", ...)
  # Student's t distribution has two parameters, the scale and the degrees of freedom; the function returns the scale
  if (!is.null(object$family)) {
    return(unname(object$dispersion[if (object$family$name == "gaussian") "sigma" else "scale"]))
  }
  if (!length(object$model$nugget) && any(object$data$noise > 0)) NA_real_ else sqrt(nugget_of(object))
}

#' @rdname gp_methods
#' @export
deviance.gp <- function(object, ...) {
  no_further("deviance", ...)
  -2 * object$loglik
}

#' @rdname gp_methods
#' @export
df.residual.gp <- function(object, ...) {
  no_further("df.residual", ...)
  nobs.gp(object) - length(object$beta)
}

#' @rdname gp_methods
#' @param k the penalty per parameter.
#' @importFrom stats AIC BIC anova
#' @export
AIC.gp <- function(object, ..., k = 2) {
  check_comparable(list(object, ...))
  NextMethod()
}

#' @rdname gp_methods
#' @export
BIC.gp <- function(object, ...) {
  check_comparable(list(object, ...))
  NextMethod()
}

#' @rdname gp_methods
#' @param fit,scale see [stats::extractAIC()], which [stats::drop1()], [stats::add1()] and [stats::step()] call.
#' @importFrom stats extractAIC
#' @export
extractAIC.gp <- function(fit, scale = 0, k = 2, ...) {
  no_further("extractAIC", ...)
  if (fit$estimate == "REML") {
    stop_kernops("input", c("Restricted likelihoods of different trends are not comparable.",
                            i = "{.code update(fit, estimate = \"ML\")} maximises the likelihood."))
  }
  c(fit$df, stats::AIC(fit, k = k))
}

#' @rdname gp_methods
#' @export
anova.gp <- function(object, ...) {
  fits <- list(object, ...)
  written <- as.list(match.call())[-1]
  names <- ifelse(vapply(written, is.language, NA), vapply(written, rlang::as_label, ""), paste("fit", seq_along(fits)))
  if (length(fits) < 2 || !all(vapply(fits, inherits, NA, "gp"))) {
    stop_kernops("input", c("{.fn anova} compares two or more fits of {.fn gp}.",
                            i = "{.fn summary} tests the coefficients of a single fit."))
  }
  if (any(vapply(fits, function(fit) length(fit$model$prior) > 0, NA))) {
    stop_kernops("input", c("Likelihood ratio tests need maxima of the likelihood, but these are fits with a
                             {.arg prior}.",
                            i = "{.code update(fit, prior = NULL, estimate = \"ML\")} maximises the likelihood."))
  }
  check_comparable(fits)
  order <- order(vapply(fits, function(fit) fit$df, 0))
  fits <- fits[order]
  of <- function(f) vapply(fits, function(fit) as.numeric(f(fit)), 0)
  table <- data.frame(npar = of(function(fit) fit$df), AIC = of(stats::AIC), BIC = of(stats::BIC),
                      logLik = of(stats::logLik), deviance = of(deviance.gp), row.names = make.unique(names[order]))
  nested <- c(FALSE, mapply(is_nested, fits[-length(fits)], fits[-1])) & c(NA, diff(table$npar)) > 0
  table$Chisq <- replace(c(NA, -diff(table$deviance)), !nested, NA)
  table$Df <- replace(c(NA, diff(table$npar)), !nested, NA)
  table$`Pr(>Chisq)` <- stats::pchisq(table$Chisq, table$Df, lower.tail = FALSE)
  formulas <- vapply(fits, function(fit) {
    paste(c(deparse1(fit$formula), "with", format(fit$model$covariance), predictor_words(fit$family)), collapse = " ")
  }, "")
  heading <- c(paste0("Likelihood ratio tests (", object$estimate, ")\n"),
               paste0(paste0(row.names(table), ": ", formulas, collapse = "\n"), "\n"),
               if (any(on_boundary(fits) & nested[-1], na.rm = TRUE)) boundary_note)
  structure(table, heading = heading, class = c("anova", "data.frame"))
}

# Checks that likelihoods are comparable. The responses must be equal; for restricted likelihoods, the trends must be
# equal, too.
check_comparable <- function(fits, call = caller_env()) {
  if (length(fits) < 2) return(invisible())
  ours <- Filter(function(fit) inherits(fit, "gp"), fits)
  # for a fit of a table, the number of observations and the norm of the response replace the response
  response <- function(fit) fit$blocks$response %||% fit$parts$response %||% fit$parts$y
  y <- response(ours[[1]])
  same <- vapply(ours, function(fit) isTRUE(all.equal(response(fit), y, tolerance = 1e-12)), NA)
  counts <- vapply(ours, function(fit) isTRUE(fit$family$density$discrete), NA)
  if (any(counts != counts[[1]])) {
    stop_kernops("input", "Densities of continuous responses and probabilities of counts cannot be compared.",
                 call = call)
  }
  if (!all(same) || any(vapply(fits, stats::nobs, 0) != (ours[[1]]$blocks$n %||% length(y)))) {
    stop_kernops("input", c("Likelihoods of fits to different data cannot be compared.",
                            i = "The responses must be the same, and so must the observations with missing values."),
                 call = call)
  }
  reml <- vapply(fits, function(fit) inherits(fit, "gp") && fit$estimate == "REML", NA)
  if (!any(reml)) return(invisible())
  alike <- vapply(ours, function(fit) spans(ours[[1]], fit) && spans(fit, ours[[1]]), NA)
  if (all(reml) && all(alike)) return(invisible())
  stop_kernops("input", c(
    if (all(reml)) "Restricted likelihoods of different trends cannot be compared." else
      "Restricted likelihoods cannot be compared with others.",
    i = "{.code update(fit, estimate = \"ML\")} refits by maximum likelihood, which can be compared."
  ), call = call)
}

# TRUE if the columns of the trend of `small`, and the vector `shift`, are linear combinations of the columns of
# `large`.
spans <- function(large, small, shift = NULL) {
  x <- observed_data(large)$x
  both <- cbind(x, observed_data(small)$x, if (any(shift != 0)) shift)
  qr(both)$rank == ncol(x)
}

# For each fit except the first, TRUE if the fit has more variances than the previous fit, in which the additional
# variances are 0.
on_boundary <- function(fits) {
  variances <- vapply(fits, function(fit) sum(fit$model$parameters$kind %in% c("variance", "sill")), 0)
  diff(variances) > 0
}

boundary_note <- paste0("Note: a variance that is 0 in the smaller fit is at its boundary: the test is conservative.\n",
                        "If one such variance is the only difference, halve the p-value.\n")

# TRUE if the trend and the predictors of `small` are nested in those of `large`. The user must decide whether the
# covariances are nested.
is_nested <- function(small, large) {
  shift <- if (!is.null(small$family)) large$response$offset - small$response$offset else
    observed_data(small)$y - observed_data(large)$y
  spans(large, small, shift) && all(vapply(names(small$family$predictors), spans_predictor, NA, large, small))
}
