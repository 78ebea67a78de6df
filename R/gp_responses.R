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
#' @param n the number of responses that are printed: the responses with the smallest p-values, or with the largest
#'   log-likelihoods.
#' @param i the responses to extract: names or numbers.
#' @param newdata,coords new points and covariates, as in [predict()][predict.gp].
#' @param responses the responses to predict: names or numbers; default: all.
#' @param se.fit whether to compute standard errors.
#' @param interval the kind of standard errors: of the field (`"confidence"`), or of a new observation with its noise
#'   (`"prediction"`).
#' @param nmax the number of nearest observations that a prediction is conditioned on. The default is chosen as in
#'   [gp()], for the median over the responses of each parameter.
#'
#' @section Responses: `Y` is a matrix with a row for each point and a column for each response: a variable of `data` or
#'   of the workspace, `cbind(a, b)`, or a sparse matrix of package Matrix, of which a few columns at a time are
#'   converted to dense columns. `data` may also be a SummarizedExperiment or SpatialExperiment, or a list with elements
#'   `assays` and `colData` (and `spatialCoords`, if there are any). In this case the response of the formula is the
#'   name of an assay, whose rows are the responses; all other variables are columns of `colData` and spatial
#'   coordinates.
#'
#'   Values may be missing. For a response with missing values, the ordering and the neighbours are computed from the
#'   rows with values alone: the fit equals the fit of [gp()] to these rows. A response that is constant or has too few
#'   values has a row of `NA` in the result, and a message of class `kernops_no_fit` lists such responses.
#'
#' @section Model: each response has the likelihood of Vecchia's approximation with `neighbours` (default 10), see
#'   [gp()]. The trend and the common factor of all variances are profiled out; the search is over the share of the
#'   nugget, ranges and other parameters. The profile likelihood of all responses is computed at the same 300 values of
#'   the parameters (more than 300 for more than two parameters), so that all responses share the factors of the
#'   conditioning sets. For each response, up to three local maxima among these values are the starting values of
#'   quasi-Newton steps. The steps end when a step would increase the log-likelihood by less than 1e-6. The
#'   log-likelihood equals the log-likelihood of a fit of one response with the same neighbours. Neighbours are nearest
#'   in the given coordinates, which are scaled by typical ranges if there are several ranges. These neighbours do not
#'   depend on the estimated ranges, unlike the neighbours of a fit of one response.
#'
#'   With `responses = "common"` all responses share ranges, other parameters of the correlation, and the ratio of
#'   nugget and variances; each response has a separate scale. The common parameters maximise the sum of the
#'   log-likelihoods. With `"common"` there is no test, and all values are stored in memory as doubles.
#'
#'   The covariance is a sum or product of [covariance_functions] and a [nugget()], with all variances free. Known noise
#'   or coefficients, a `prior`, `group`, `transform`, `family`, random effects, smooths, periodic, linear, intrinsic
#'   and user-defined terms are errors of class `kernops_input_error`. `weights`, `subset`, offsets and
#'   `estimate = "REML"` are as in [gp()]. Computations are on the CPU.
#'
#' @section Test: `statistic` is twice the difference of the log-likelihoods with a field and without a field. Under the
#'   null hypothesis, the variance of the field is on the boundary of the parameter space, and its range has no meaning.
#'   For one known range the statistic would be 0 with probability one half, and otherwise chi-squared with one degree
#'   of freedom (Self and Liang 1987). With an estimated range the statistic is the maximum over ranges, and p-values
#'   from this distribution are too small. The distribution under the null hypothesis depends neither on the
#'   coefficients of the trend nor on the variance. Therefore it is simulated: `null_draws` responses of noise at the
#'   same points (default 400, see [gp_control()]) are fitted. A p-value is the share of simulated statistics that are
#'   at least as large as the statistic of the response. For statistics above the 0.9-quantile of the simulated
#'   statistics, the p-value follows the tail of the maximum of a Gaussian process (Davies 1977), \eqn{P(Z > c) + v / (2
#'   \pi) \exp(-c^2 / 2)}, where c is the square root of the statistic, and v is estimated from the simulated statistics
#'   above the quantile. Very small p-values are approximate: the relative error of v is about \eqn{(10 / draws)^{1/2}}.
#'   With `null_draws = 0`, p-values come from the half chi-squared distribution. Responses with missing values are
#'   compared with the same draws. For responses that are not normal, permute the rows of `Y` and repeat the call: the
#'   permuted responses have no field, and their statistics can replace the statistics of simulated noise.
#'
#' @return `gp()` returns a list of class `gp_responses`. `as.data.frame()` (and `tidy()`, as a tibble) has a row for
#'   each response: `response`, the number of values `n`, the parameters of the covariance (`NA` for parameters that
#'   have no meaning without a field), the coefficients of the trend, `logLik`, `statistic`, `p.value`, `p.adjusted`,
#'   and whether the search `converged`. `coef()` returns a matrix of the parameters and coefficients, with a row for
#'   each response; `logLik()`, `AIC()`, `BIC()` and `nobs()` return vectors; `fitted()` and `residuals()` return
#'   matrices with a column for each response. `summary()` contains the number of responses with an adjusted p-value
#'   below 0.05 and quantiles of the parameters. `fit[i]` is the fit of the responses `i`.
#'
#'   `predict()` returns a matrix with a row for each new point and a column for each response or, with `se.fit = TRUE`,
#'   a list of two such matrices, `fit` and `se.fit`. For an object of sf, stars, terra or sp, it returns an object of
#'   the same class, with an attribute or layer for each response; the names of standard errors end in `.se.fit`.
#'   Predictions are conditioned on the nearest observations of the response, like the predictions of a single fit with
#'   `joint = FALSE`.
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
#' # 50 genes; every fifth gene has a field
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
  # for responses without a field, all parameters of the field are undetermined except its variances, which are 0
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
