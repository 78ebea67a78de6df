#' Posterior draws of covariance parameters
#'
#' `gp_posterior()` draws from the posterior distribution of the covariance parameters of a fit with a
#' [prior][gp_priors]. Predictions and simulations from these draws include the uncertainty of the parameters.
#'
#' @param fit a fit of [gp()] with `prior`, by the exact method or by `"vecchia"`.
#' @param n number of draws.
#' @param seed a seed for [set.seed()]; afterwards, the state of the generator is restored. With `NULL`, draws start
#'   from the present state of the generator.
#' @param object,x a result of `gp_posterior()`.
#' @param newdata,se.fit,interval,level,coords,nmax,maxdist,block,cov,probs,above,sums as in [predict()][predict.gp].
#' @param type for `predict()`: `"response"`, or `"link"` for the transformed scale of a fit with `transform`, or for
#'   the linear predictor of a fit with `family`. For `simulate()`: as for a fit with a `family`, see
#'   [simulate()][simulate.gp].
#' @param nsim,conditional,noise,features as in [simulate()][simulate.gp].
#' @param row.names,optional as in [as.data.frame()].
#' @param ... not used: further arguments are an error.
#'
#' @details The density of the posterior is the restricted likelihood, in which the coefficients of the trend are
#'   integrated out with a uniform prior, times the density of the priors, within the bounds of the search. With `known`
#'   coefficients of the trend, or without a trend, the unrestricted likelihood can be used instead. Variances, ranges
#'   and other parameters without a natural bound require a prior: otherwise the posterior may be improper. Without a
#'   prior, angles, ratios, powers and the smoothness `nu` (between 0.1 and 20) are uniform on the scale of the search.
#'
#'   Draws are obtained by importance sampling. First, n proposals are drawn from a multivariate t distribution with 5
#'   degrees of freedom around the mode (and around the other optima that `summary()` of the fit lists), scaled by the
#'   second derivatives at the mode. Then n further proposals are drawn from a multivariate t distribution with the
#'   weighted mean and covariance matrix of the first n proposals. The importance weights are for the mixture of all
#'   proposals (Cornuet et al. 2012), and n of the 2 n proposals are drawn by systematic resampling. For `"vecchia"`,
#'   the neighbours of the fit are used. The effective sample size of the weights is printed. If it is less than n / 2,
#'   a warning of class `kernops_low_ess` reports that the draws represent the posterior poorly.
#'
#'   `predict()` averages over the draws. The mean is the average of the means given the parameters. The variance is the
#'   mean of the variances plus the variance of the means (law of total variance); the joint covariances of `cov = TRUE`
#'   are computed in the same way. Limits of intervals, quantiles and probabilities refer to the mixture of the normal
#'   distributions given the parameters. `simulate()` uses the parameters of a different draw for each simulation.
#'   For each draw, predictions take the time of a factorisation of the covariance matrix or, with `"vecchia"`, of the
#'   predictions of one fit.
#'
#' For a fit with a [family][gp_families], the posterior density is the Laplace approximation of the likelihood
#' (Vecchia-Laplace for `method = "vecchia"`) times the prior density. The coefficients of the trend have a uniform
#' prior and are also drawn. Parameters of the family, such as the `shape` of `Gamma()`, keep their estimates. Quantiles
#' of new observations refer to the mixture of the distributions given the parameters. Quantiles of means over blocks,
#' and of a transformed response, use 4,000 draws of the field, shared among the draws of the parameters.
#'
#' @return `gp_posterior()`: an object of class `gp_posterior`. `as.data.frame()` has a row for each draw and a column
#'   for each estimated parameter, `summary()` a row for each parameter with its mean, standard deviation and quantiles;
#'   `ess` is the effective sample size. The results of `predict()` and `simulate()` have the form of the results for a
#'   fit.
#' @section Errors: class `kernops_input_error` for fits without the required priors, for ML fits with an estimated
#'   trend, and for fits by the iterative method, whose likelihood has a Monte Carlo error.
#' @references
#' Cornuet, J.-M., Marin, J.-M., Mira, A. and Robert, C. P. (2012) Adaptive multiple importance sampling. *Scandinavian
#' Journal of Statistics* 39(4), 798-812.
#'
#' Handcock, M. S. and Stein, M. L. (1993) A Bayesian analysis of kriging. *Technometrics* 35(4), 403-410.
#' @seealso [gp_priors]; [predict()][predict.gp] for given parameters.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(3/2) + nugget(),
#'           prior = list(range = pc_range(0.5), variance = pc_sd(3), nugget = pc_sd(1)))
#' draws <- gp_posterior(fit, n = 50)
#' draws
#' new <- data.frame(x = c(5, 12))
#' predict(draws, new, interval = "prediction")
#' predict(fit, new, interval = "prediction") # with the parameters at the mode
#' simulate(draws, nsim = 2, seed = 1, newdata = new)
#'
#' # a fit to counts
#' counts <- rpois(40, exp(1 + sin(x)))
#' fit <- gp(counts ~ 1, coords = ~ x, covariance = matern(3/2), family = poisson(),
#'           prior = list(range = pc_range(0.5), variance = pc_sd(3)))
#' predict(gp_posterior(fit, n = 50), new, interval = "prediction")
#' @export
gp_posterior <- function(fit, n = 200, seed = 1) {
  check_number(n, "n", least = 1, whole = TRUE)
  check_seed(seed)
  check_posterior(fit)
  fit$how$backend <- usable_backend(fit$how$backend)
  draw <- function() {
    pool <- posterior_pool(posterior_target(fit), n)
    c(pool, list(number = systematic_sample(pool$weight, n)))
  }
  sample <- with_bar("Sampling", if (is.null(seed)) draw() else with_seed(seed, draw()))
  warn_low_ess(sample$ess, n)
  theta <- sample$theta[sample$number, , drop = FALSE]
  structure(list(fit = fit, theta = theta, number = sample$number, ess = sample$ess), class = "gp_posterior")
}

check_posterior <- function(fit, call = caller_env()) {
  check_fit(fit, "fit", "gp_posterior", call = call)
  if (!length(fit$model$prior)) {
    stop_kernops("input", "{.fn gp_posterior} needs a fit with a {.arg prior} of {.fn gp}.", call = call)
  }
  if (fit$method == "iterative") {
    stop_kernops("input", "Posterior draws require a likelihood without Monte Carlo error: use {.code method =
                           \"exact\"} or {.val vecchia}.", call = call)
  }
  if (fit$estimate == "ML" && length(fit$beta) && is.null(fit$family)) {
    stop_kernops("input", c("Posterior draws require a likelihood that integrates over the coefficients of the trend.",
                            i = "Use {.code update(fit, estimate = \"REML\")}."), call = call)
  }
  parameters <- fit$model$parameters
  bounded <- parameters$fixed | parameters$kind %in% kinds_with_limits()
  lacking <- setdiff(parameters$name[!bounded], parameters$name[vapply(fit$model$prior, function(each) each$row, 0L)])
  if (!length(lacking)) return(invisible())
  stop_kernops("input", c("{.code {lacking}} {?needs/need} a prior: the posterior may be improper otherwise.",
                          i = "See {.fn pc_range}, {.fn pc_sd} and {.fn lognormal}."), call = call)
}

warn_low_ess <- function(ess, n) {
  if (ess >= n / 2) return(invisible())
  cli::cli_warn(c("The effective sample size is {signif(ess, 3)} for {n} draw{?s}: they represent the posterior
                   poorly.",
                  i = "More informative priors or a larger {.arg n} may help; {.fn summary} of the fit shows the
                       parameters that the data hardly determine."), class = "kernops_low_ess")
}

#' @rdname gp_posterior
#' @export
print.gp_posterior <- function(x, ...) {
  cli::cat_line("<gp_posterior> ", counted(nrow(x$theta), "draw"), ", effective sample size of the proposals ",
                round(x$ess))
  print(signif(summary(x), 4))
  invisible(x)
}

#' @rdname gp_posterior
#' @export
summary.gp_posterior <- function(object, ...) {
  refuse_arguments("summary.gp_posterior", list(...))
  draws <- as.data.frame.gp_posterior(object)
  quantiles <- t(vapply(draws, stats::quantile, numeric(3), c(0.025, 0.5, 0.975)))
  data.frame(mean = colMeans(draws), sd = vapply(draws, stats::sd, 0), quantiles, check.names = FALSE)
}

#' @rdname gp_posterior
#' @export
as.data.frame.gp_posterior <- function(x, row.names = NULL, optional = FALSE, ...) {
  refuse_arguments("as.data.frame.gp_posterior", list(...))
  as.data.frame(reported_draws(x), row.names = row.names)
}
