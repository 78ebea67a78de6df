# Methods of packages loo and posterior, which are registered when these packages are loaded.

#' Leave-one-out cross-validation and draws for packages loo and posterior
#'
#' `loo()` estimates the expected log predictive density of new observations by leave-one-out cross-validation, for
#' comparisons by `loo::loo_compare()`. `as_draws()` converts posterior draws to the formats of package posterior.
#'
#' @param x a fit of [gp()], or a result of [gp_posterior()].
#' @param ... `loo()`: for posterior draws, further arguments of `loo::loo()`, such as `cores`; otherwise not used.
#'
#' @details The density of an observation is its predictive density given all other observations, as in [gp_cv()], since
#'   the observations of a Gaussian process are not independent given the parameters (Bürkner et al. 2021). For a fit,
#'   the parameters of the covariance are the estimates. For posterior draws, the densities given the parameters of each
#'   draw are averaged by Pareto smoothed importance sampling, with the diagnostics of package loo. For a fit with
#'   `transform` the density refers to the response before the transformation.
#'
#' @return `loo()`: an object of class `loo`, with a row of `pointwise` for each observation. `as_draws()`: an object of
#'   class `draws_df`, with a column for each parameter.
#' @section Errors: class `kernops_input_error` for unknown arguments, and for `as_draws()` of a fit.
#' @references
#' Bürkner, P.-C., Gabry, J. and Vehtari, A. (2021) Efficient leave-one-out cross-validation for Bayesian non-factorized
#' normal and Student-t models. *Computational Statistics* 36, 1243-1261.
#' @seealso [gp_cv()], [gp_posterior()].
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' smooth <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' rough <- update(smooth, covariance = exponential() + nugget())
#' loo::loo_compare(list(smooth = loo::loo(smooth), rough = loo::loo(rough)))
#' @name gp_loo
NULL

#' @rdname gp_loo
#' @exportS3Method loo::loo
loo.gp <- function(x, ...) {
  refuse_arguments("loo.gp", list(...))
  x$how$backend <- usable_backend(x$how$backend)
  loo::elpd(matrix(left_out_density(x), 1))
}

#' @rdname gp_loo
#' @exportS3Method loo::loo
loo.gp_posterior <- function(x, ...) {
  x$fit$how$backend <- usable_backend(x$fit$how$backend)
  density <- matrix(0, nrow(x$theta), nobs.gp(x$fit))
  for_draws(x, function(fit, draws) density[draws, ] <<- rep(left_out_density(fit), each = length(draws)))
  loo::loo(density, r_eff = rep(1, ncol(density)), ...)
}

#' @rdname gp_loo
#' @exportS3Method posterior::as_draws
as_draws.gp_posterior <- function(x, ...) {
  refuse_arguments("as_draws.gp_posterior", list(...))
  posterior::as_draws_df(as.data.frame.gp_posterior(x))
}

#' @rdname gp_loo
#' @exportS3Method posterior::as_draws
as_draws.gp <- function(x, ...) {
  stop_kernops("input", c("A fit of {.fn gp} has estimates, not draws from the posterior distribution.",
                          i = "{.code posterior::as_draws(gp_posterior(fit))} draws the parameters of a fit with a
                               {.arg prior}."), call = NULL)
}

# The log density of each observation given all other observations; for an infinite standard error, the density is 0.
left_out_density <- function(object) UseMethod("left_out_density")

left_out_density.gp <- function(object) {
  density <- log_density(leave_one_out(object), object$parts$y)
  if (is.null(object$transform)) return(density)
  density + (object$transform$lambda - 1) * log(object$parts$response)
}

left_out_density.gp_family_fit <- function(object) score_columns(object, leave_one_out(object))$log_density
