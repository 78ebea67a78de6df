# Spatially varying coefficients: products of a covariate and a field.

#' Coefficients that vary in space
#'
#' `svc(~ z)` is a term of the covariance of [gp()]: z times a field of mean 0, so that the coefficient of z varies in
#' space (Gelfand et al. 2003). The mean of this coefficient is the coefficient of z in the trend, `y ~ z`.
#'
#' @param effect a one-sided formula of numeric variables of the data, such as `~ z`; with several variables, as in `~
#'   z + log(w)`, each variable has a separate field. For a field without covariate, add another term to the covariance.
#' @param covariance the covariance of each field, such as `matern(3/2)`. Its parameters describe the varying
#'   coefficient: the unit of its standard deviation is the unit of the response divided by the unit of z.
#'
#' @details The covariance of two observations with covariates z, z' and coordinates u, u' is z z' k(u, u'), where k is
#'   the covariance of the field. `svc(~ z, k)` can be added to other terms: `matern(3/2) + svc(~ z) + nugget()`.
#'   Coordinates and covariates are given by different formulas: z need not be a coordinate. If z is 0 in all
#'   observations near a location, the data contain no information on the coefficient at this location. If the values of
#'   a covariate are far from 0, the data can hardly distinguish its coefficient from a field without covariate: centre
#'   the covariate.
#'
#'   All methods and families of [gp()] are available, for one response. [predict()][predict.gp] needs the covariates in
#'   `newdata`.
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for another form of `effect`, for covariates that are not numeric, and
#'   for a `covariance` with a nugget.
#' @references
#' Gelfand, A. E., Kim, H.-J., Sirmans, C. F. and Banerjee, S. (2003) Spatial modeling with spatially varying
#' coefficient processes. *Journal of the American Statistical Association* 98, 387-396.
#' @seealso [random_effect()], for coefficients that vary between the levels of a factor; [covariance_functions].
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(150), z = rnorm(150))
#' d$y <- 1 + sin(6 * d$x) * d$z + rnorm(150, sd = 0.1)
#' fit <- gp(y ~ z, d, ~ x, svc(~ z, matern(5/2)) + nugget())
#' fit
#' # the coefficient, as the difference of two predictions
#' predict(fit, data.frame(x = 0.25, z = 1)) - predict(fit, data.frame(x = 0.25, z = 0))
#' @export
svc <- function(effect, covariance = matern(3/2)) {
  terms <- if (inherits(effect, "formula") && length(effect) == 2) {
    tryCatch(stats::terms(effect), error = function(e) NULL)
  }
  labels <- attr(terms, "term.labels")
  if (!length(labels)) stop_kernops("input", "{.arg effect} must be a formula such as {.code ~ z}.")
  if (is_lmc(covariance) || !is_covariance(covariance)) {
    stop_kernops("input", "{.arg covariance} must be a covariance such as {.code matern(3/2)}.")
  }
  fields <- lapply(labels, function(label) join("*", covariate_leaf(label, environment(effect)), covariance))
  Reduce(function(a, b) join("+", a, b), fields)
}

covariate_kernel <- kernel("svc", function(x, y) sprintf("(%s * %s)", x, y), screens = FALSE, stationary = FALSE,
                           mean_square = mean_square_of_covariates)

covariate_leaf <- function(label, env) {
  leaf <- new_leaf(covariate_kernel, list())
  leaf$sees <- list(new_column("number", stats::as.formula(call("~", str2lang(label)), env), "variable of svc()"))
  leaf$label <- sprintf("svc(%s)", label)
  leaf
}
