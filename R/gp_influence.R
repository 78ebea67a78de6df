# Leverages, standardised residuals and Cook's distances of the observations of a fit.

#' Influence of observations
#'
#' Compute leverages, standardised residuals and Cook's distances of the observations of a fit by [gp()], for given
#' parameters of the covariance. Without a field, the results equal the results of [lm()] and [glm()] for the same
#' variance.
#'
#' @param model a fit by [gp()].
#' @param ... not used: further arguments are an error.
#'
#' @details With the covariance matrix \eqn{K = C + D} of the observations, where D is the covariance matrix of the
#'   noise, the fitted values are \eqn{y - D P y} for \eqn{P = K^{-1} - K^{-1} X (X' K^{-1} X)^{-1} X' K^{-1}}.
#'   * `hatvalues()` are the derivatives of the fitted values with respect to their observations, \eqn{1 - D_{ii}
#'     P_{ii}}. The sum of these leverages is the effective number of parameters of field and trend. The leverage of an
#'     observation without noise is 1.
#'   * `rstandard()` returns the residuals divided by their standard errors. These ratios are also the standardised
#'     errors of leave-one-out predictions: \eqn{(P y)_i / \sqrt{P_{ii}}}{(P y)_i / sqrt(P_ii)}. For a fit with a
#'     [family][gp_families], the results are deviance residuals divided by the square root of one minus the leverage,
#'     as for [glm()].
#'   * `cooks.distance()` returns the squared change of the trend coefficients when an observation is omitted, in the
#'     norm of the inverse of their covariance matrix, divided by the number of coefficients. Without estimated
#'     coefficients, Cook's distances are `NA`.
#'
#'   For a fit with a family, K, D and P are the matrices of the last step towards the mode of the process (iteratively
#'   reweighted least squares), as for [glm()]. Approximate methods use the inverse of their approximation of K, as in
#'   [gp_cv()].
#' @return A number for each observation, in the order of [residuals()]; for several variables, a matrix.
#' @references
#' Cook, R. D. (1977) Detection of influential observations in linear regression. *Technometrics* 19(1), 15-18.
#'
#' Dubrule, O. (1983) Cross validation of kriging in a unique neighborhood. *Journal of the International Association
#' for Mathematical Geology* 15, 687-699.
#' @seealso [gp_cv()], [residuals()][gp_methods].
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ x, coords = ~ x, covariance = matern(5/2) + nugget())
#' sum(hatvalues(fit))
#' range(rstandard(fit))
#' which.max(cooks.distance(fit))
#' @name gp_influence
NULL

#' @rdname gp_influence
#' @importFrom stats hatvalues
#' @export
hatvalues.gp <- function(model, ...) {
  refuse_arguments("hatvalues.gp", list(...))
  as_residuals(model, influence_parts(model)$leverage)
}

#' @rdname gp_influence
#' @importFrom stats rstandard
#' @export
rstandard.gp <- function(model, ...) {
  refuse_arguments("rstandard.gp", list(...))
  parts <- influence_parts(model)
  if (is.null(model$family)) return(as_residuals(model, parts$product / sqrt(parts$precision)))
  off <- stats::residuals(replace(model, "na.action", list(NULL)), "deviance")
  as_residuals(model, unname(off) / sqrt(1 - parts$leverage))
}

#' @rdname gp_influence
#' @importFrom stats cooks.distance
#' @export
cooks.distance.gp <- function(model, ...) {
  refuse_arguments("cooks.distance.gp", list(...))
  parts <- influence_parts(model)
  count <- ncol(parts$z)
  change <- (parts$product / parts$precision)^2 * rowSums(parts$z^2)
  as_residuals(model, if (count) change / count else rep(NA_real_, length(change)))
}

# A list for the matrix P of the help page: `precision`, the diagonal of P; `product`, P y; `z` = K^-1 X R^-1 with R' R
# = X' K^-1 X; and `leverage`.
influence_parts <- function(model) {
  model$how$backend <- usable_backend(model$how$backend)
  inverse <- conditioning_for(model)$inverse()
  precision <- inverse$diagonal - rowSums(inverse$z^2)
  list(precision = precision, product = inverse$alpha, z = inverse$z,
       leverage = pmin(pmax(1 - precision * working_noise(model), 0), 1))
}

# The variance of the noise of each observation; for a family, the variance of the noise of the working response.
working_noise <- function(model) UseMethod("working_noise")

working_noise.gp <- function(model) {
  data <- observed_data(model)
  if (!is_lmc(model$model$covariance)) return(noise_variance(data, model$model, model$theta))
  nugget_of(model)[model$parts$layout$variable] / model$parts$weights + model$parts$noise
}

working_noise.gp_family_fit <- function(model) 1 / model$latent$terms$weight

# Converts `values`, one value for each observation, to the shape and the names of residuals.
as_residuals <- function(model, values) {
  layout <- model$parts$layout
  labels <- rownames(model$parts$frame)
  if (is.null(layout$names)) return(stats::naresid(model$na.action, stats::setNames(values, labels)))
  table <- matrix(NA_real_, length(labels), length(layout$names), dimnames = list(labels, layout$names))
  table[cbind(layout$row, layout$variable)] <- values
  stats::naresid(model$na.action, table)
}
