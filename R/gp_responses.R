#' Many responses at the same points
#'
#' `gp(Y ~ x, coords = ~ a + b, responses = "independent")` fits a Gaussian process to each of many responses that were
#' observed at the same points, such as the expression of thousands of genes at the spots of a tissue, or the members of
#' an ensemble. Ordering, neighbours and distances are computed once, and the search of all parameters runs in compiled
#' code, over several threads. Each response is tested against the model without a field.
#'
#' @param x,object a fit of [gp()] with `responses`.
#' @param row.names,optional,... not used; further arguments are an error.
#' @param adjust how p-values are adjusted for the number of responses: a method of [stats::p.adjust()].
#' @param n the number of responses that are printed: those of smallest p-value, or of largest log-likelihood.
#' @param i responses: names or numbers.
#' @param newdata,coords new points and covariates, as in [predict()][predict.gp].
#' @param responses the responses to be predicted: names or numbers; default: all.
#' @param se.fit whether to compute standard errors.
#' @param interval what standard errors are of: the field (`"confidence"`), or a new observation with its noise
#'   (`"prediction"`).
#' @param nmax the number of nearest observations that a prediction is conditioned on. The default is chosen for the
#'   median of the parameters, as in [gp()].
#'
#' @section Responses: `Y` is a matrix with a row for each point and a column for each response: a variable of `data` or
#'   of the workspace, `cbind(a, b)`, or a sparse matrix of package Matrix, of which some columns at a time are made
#'   dense. `data` may also be a SummarizedExperiment or SpatialExperiment, or a list with elements `assays` and
#'   `colData` (and `spatialCoords`, if there are any): then the response of the formula is the name of an assay, whose
#'   rows are the responses, and all variables are those of `colData` and the spatial coordinates.
#'
#'   Values may be missing. A response with missing values is fitted to its other values, whose ordering and neighbours
#'   are computed for them alone: the fit is that of [gp()] to these rows. A response that is constant, or without
#'   enough values, has a row of `NA`, and a message of class `kernops_no_fit` lists such responses.
#'
#' @section Model: each response has the likelihood of Vecchia's approximation with `neighbours` (default 10), see
#'   [gp()]. Trend and the common factor of all variances are profiled; the share of the nugget, ranges and other
#'   parameters are searched. The profile likelihood of all responses is computed at 300 (more for more than two
#'   parameters) common values of the parameters, which share the factors of the conditioning sets. From up to three
#'   local maxima of these, quasi-Newton steps lead to the optimum of each response, which ends when a step would
#'   increase the log-likelihood by less than 1e-6. The log-likelihood is that of a fit of one response with the same
#'   neighbours, which are found in the coordinates as they are, scaled by typical ranges if there are several: unlike
#'   those of a single fit, they do not follow the ranges.
#'
#'   With `responses = "common"` all responses share ranges, other parameters of the correlation, and the ratio of
#'   nugget and variances; each has its own scale. The common parameters maximise the sum of the log-likelihoods. There
#'   is no test then, and all values are in memory as doubles.
#'
#'   The covariance is a sum or product of [covariance_functions] and a [nugget()], with all variances free. Known noise
#'   or coefficients, a `prior`, `group`, `transform`, `family`, random effects, smooths, periodic, linear, intrinsic
#'   and user-defined terms are errors of class `kernops_input_error`. `weights`, `subset`, offsets and
#'   `estimate = "REML"` are as in [gp()]. Computations are on the CPU.
#'
#' @section Test: `statistic` is twice the difference of the log-likelihoods with a field and without one. Without a
#'   field, its variance is at the boundary of what is possible, and its range has no meaning. For one known range the
#'   statistic would be 0 or chi-squared with one degree of freedom, with probability one half each (Self and Liang
#'   1987); with an estimated range it is the maximum over ranges, and such p-values are too small. The
#'   distribution under the null hypothesis does not depend on the coefficients of the trend nor on the variance,
#'   so that responses of simulated noise at the same points have it: `null_draws` (default 400, see [gp_control()])
#'   of them are fitted. A p-value is the share of these statistics that are at least as large. Beyond the largest
#'   tenth of them, it follows the tail of the maximum of a Gaussian process (Davies 1977),
#'   \eqn{P(Z > c) + v / (2 \pi) \exp(-c^2 / 2)} with the root c of the statistic, and v estimated from that tenth.
#'   Very small p-values are approximate: the relative error of v is about \eqn{(10 / draws)^{1/2}}.
#'   With `null_draws = 0`, p-values are those of the half chi-squared distribution.
#'   Responses with missing values are compared with the same draws. For responses that are not normal, a permutation
#'   of the rows of `Y` gives responses without a field: those are fitted in place of noise by the same call.
#'
#' @return `gp()` returns a list of class `gp_responses`. `as.data.frame()` (and `tidy()`, as a tibble) has a row for
#'   each response: `response`, the number of values `n`, the parameters of the covariance (those that have no meaning
#'   without a field are `NA`), the coefficients of the trend, `logLik`, `statistic`, `p.value`, `p.adjusted`, and
#'   whether the search `converged`. `coef()` is a matrix of the parameters and coefficients, with a
#'   row for each response, `logLik()`, `AIC()`, `BIC()` and `nobs()` vectors; `fitted()` and `residuals()` are matrices
#'   with a column for each response. `summary()` has the number of responses with an adjusted p-value below
#'   0.05 and quantiles of the parameters. `fit[i]` has some of the responses.
#'
#'   `predict()` returns a matrix with a row for each new point and a column for each response, or with
#'   `se.fit = TRUE` a list of two such matrices, `fit` and `se.fit`. For an object of sf, stars, terra or sp it is one
#'   of the same class, with an attribute or layer for each response, and `.se.fit` behind the name for standard errors.
#'   Predictions are conditioned on the nearest observations of the response, as those of a single fit with
#'   `joint = FALSE` are.
#'
#' @references
#' Davies, R. B. (1977) Hypothesis testing when a nuisance parameter is present only under the alternative. *Biometrika*
#' 64, 247-254.
#'
#' Self, S. G. and Liang, K.-Y. (1987) Asymptotic properties of maximum likelihood estimators and likelihood ratio tests
#' under nonstandard conditions. *Journal of the American Statistical Association* 82, 605-610.
#'
#' @seealso [gp()] for one response, [lmc()] for cokriging of a few responses that depend on each other.
#' @examples
#' set.seed(1)
#' sites <- data.frame(a = runif(200), b = runif(200))
#' # 50 genes, of which every fifth has a field
#' waves <- sapply(1:50, function(gene) sin(6 * sites$a + gene) * cos(6 * sites$b) * (gene %% 5 == 0))
#' Y <- waves + rnorm(200 * 50)
#' colnames(Y) <- paste0("gene", 1:50)
#' fit <- gp(Y ~ 1, sites, ~ a + b, responses = "independent", null_draws = 100)
#' fit
#' head(as.data.frame(fit, adjust = "BH"), 3)
#' which(as.data.frame(fit)$p.adjusted < 0.05)
#' predict(fit, data.frame(a = c(0.2, 0.5), b = 0.5), responses = c("gene5", "gene10"), se.fit = TRUE)
#' # common range and ratio of nugget and variance
#' gp(Y[, 1:10 * 5] ~ 1, sites, ~ a + b, responses = "common")
#' @aliases vcov.gp_responses confint.gp_responses AIC.gp_responses BIC.gp_responses
#' @name gp_responses
NULL

#' @rdname gp_responses
#' @export
as.data.frame.gp_responses <- function(x, row.names = NULL, optional = FALSE, adjust = "BH", ...) {
  refuse_arguments("as.data.frame.gp_responses", list(...))
  adjust <- check_choice(adjust, "adjust", stats::p.adjust.methods)
  p <- if (x$kind == "independent") null_p_values(x$statistic, x$null) else rep(NA_real_, length(x$loglik))
  table <- data.frame(response = x$responses$names, n = x$n_used)
  numbers <- cbind(coef(x), logLik = x$loglik, statistic = x$statistic, p.value = p,
                   p.adjusted = stats::p.adjust(p, adjust))
  data.frame(table, numbers, converged = x$converged, row.names = NULL, check.names = FALSE)
}

#' @rdname gp_responses
#' @export
tidy.gp_responses <- function(x, adjust = "BH", ...) {
  refuse_arguments("tidy.gp_responses", list(...))
  as_table(as.data.frame(x, adjust = adjust))
}

#' @rdname gp_responses
#' @export
coef.gp_responses <- function(object, ...) {
  refuse_arguments("coef.gp_responses", list(...))
  theta <- object$theta
  table <- object$model$parameters
  if (!is.null(object$model$unit)) theta <- theta * object$model$unit
  # for responses without a field, the other parameters of the field are undetermined
  field <- setdiff(object$model$scale, object$model$nugget)
  none <- which(colSums(theta[field, , drop = FALSE]) == 0)
  theta[!table$fixed & !seq_len(nrow(table)) %in% object$model$scale, none] <- NA
  cbind(t(theta), t(object$beta))
}

#' @rdname gp_responses
#' @export
logLik.gp_responses <- function(object, ...) {
  refuse_arguments("logLik.gp_responses", list(...))
  stats::setNames(object$loglik, object$responses$names)
}
