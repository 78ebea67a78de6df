#' Prior distributions of covariance parameters
#'
#' Prior distributions for the argument `prior` of [gp()]. With a prior, `gp()` finds the mode of the posterior density
#' instead of the maximum of the likelihood. [gp_posterior()] draws from the posterior and carries the uncertainty of
#' the parameters into predictions.
#'
#' @param lower,upper the bound of the tail that has the prior probability `p`: `lower` is a range (in the units of the
#'   coordinates), `upper` is a standard deviation (in the units of the response).
#' @param p the prior probability that the range is below `lower`, or the standard deviation above `upper`.
#' @param meanlog,sdlog mean and standard deviation of the logarithm of the parameter, as in [dlnorm()].
#' @param x a prior.
#' @param ... not used.
#'
#' @details `gp(prior = )` takes a list of priors. The names of the list are names of parameters as in `coef(fit, type =
#'   "covariance")`, such as `matern.range` or `nugget.variance`. The part of a name after the dot, such as `range`,
#'   stands for this parameter of all terms except the nugget; `nugget` stands for the variance of the nugget. The full
#'   name takes precedence. Parameters that are not estimated have no prior, and parameters without a prior have a
#'   uniform density on the scale of the search (the logarithm, except for angles). Different parameters are
#'   independent.
#'
#'   `pc_range()` and `pc_sd()` are penalised complexity priors, which shrink towards a simpler model: an infinite range
#'   and a variance of 0 (Simpson et al. 2017). Together, the two priors are the joint prior of the range and the
#'   marginal standard deviation of a Matern field by Fuglstad et al. (2019). In d dimensions, the density of a range r
#'   is \eqn{(d / 2) \lambda r^{-d / 2 - 1} \exp(-\lambda r^{-d / 2})} with \eqn{\lambda = -\log(p) lower^{d / 2}}. Here
#'   d is the number of coordinates of the term, or 1 for the range of a single coordinate. Any multiple of the range
#'   has a density of the same form, in which `lower` is multiplied by the same factor. `pc_sd()` is a prior of a
#'   variance: its square root, the standard deviation, has an exponential distribution with the rate \eqn{-\log(p) /
#'   upper}.
#'
#' @section The mode:
#'   With a prior, `gp()` maximises the log-likelihood plus the log prior density of the parameters on the scale of the
#'   search: the density of the logarithms of ranges and variances, with the Jacobian. This mode is the same if standard
#'   deviations instead of variances are the parameters. With a prior, the default of `estimate` is `"REML"`, in which
#'   the coefficients of the trend are integrated out with a uniform prior. `logLik()`, `AIC()` and `BIC()` refer to the
#'   likelihood alone, at the mode. `vcov()` and `confint()` come from the second derivatives of the log posterior
#'   density. `confint(method = "profile")` and `anova()`, which compare likelihoods, are errors.
#'
#' @return An object of class `kernops_prior`.
#' @section Errors: class `kernops_input_error` for invalid arguments; in [gp()], for names that do not match an
#'   estimated parameter, for `pc_range()` of a parameter other than a range and `pc_sd()` of a parameter other than a
#'   variance.
#' @references
#' Fuglstad, G.-A., Simpson, D., Lindgren, F. and Rue, H. (2019) Constructing priors that penalize the complexity of
#' Gaussian random fields. *Journal of the American Statistical Association* 114(525), 445-452.
#'
#' Simpson, D., Rue, H., Riebler, A., Martins, T. G. and Sorbye, S. H. (2017) Penalising model component complexity: a
#' principled, practical approach to constructing priors. *Statistical Science* 32(1), 1-28.
#' @seealso [gp()], [gp_posterior()].
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' prior <- list(range = pc_range(0.5, p = 0.05), variance = pc_sd(3, p = 0.05),
#'               nugget = lognormal(log(0.01), 1))
#' prior
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(3/2) + nugget(), prior = prior)
#' summary(fit)
#' @name gp_priors
NULL

#' @rdname gp_priors
#' @export
pc_range <- function(lower, p = 0.05) {
  check_number(lower, "lower", least = 0, above = TRUE)
  check_probability(p)
  new_prior("pc_range", lower = lower, p = p)
}

#' @rdname gp_priors
#' @export
pc_sd <- function(upper, p = 0.05) {
  check_number(upper, "upper", least = 0, above = TRUE)
  check_probability(p)
  new_prior("pc_sd", upper = upper, p = p, rate = -log(p) / upper)
}

#' @rdname gp_priors
#' @export
lognormal <- function(meanlog = 0, sdlog = 1) {
  check_number(meanlog, "meanlog", least = -Inf)
  check_number(sdlog, "sdlog", least = 0, above = TRUE)
  new_prior("lognormal", meanlog = meanlog, sdlog = sdlog)
}

new_prior <- function(kind, ...) structure(list(kind = kind, ...), class = "kernops_prior")

check_probability <- function(p, call = caller_env()) {
  if (is.numeric(p) && !is.object(p) && length(p) == 1 && isTRUE(p > 0 && p < 1)) return(invisible())
  stop_kernops("input", "{.arg p} must be one number above 0 and below 1.", call = call)
}

#' @export
format.kernops_prior <- function(x, ...) {
  switch(x$kind, pc_range = paste0("P(range < ", format(x$lower), ") = ", format(x$p)),
         pc_sd = paste0("P(sd > ", format(x$upper), ") = ", format(x$p)),
         lognormal = paste0("lognormal(", format(x$meanlog), ", ", format(x$sdlog), ")"))
}

#' @rdname gp_priors
#' @export
print.kernops_prior <- function(x, ...) {
  cli::cat_line("<prior> ", format(x))
  invisible(x)
}
