#' Responses that are not Gaussian: families of gp()
#'
#' With `family`, [gp()] fits a generalised linear model with a latent Gaussian process (a generalised linear
#' geostatistical model): given the linear predictor \eqn{\eta = X\beta + f(u) + offset}, observations are independent
#' with mean \eqn{g^{-1}(\eta)}. The process is integrated out of the likelihood by the Laplace approximation.
#'
#' @param theta the size of the negative binomial distribution: its variance is \eqn{\mu + \mu^2 / \theta}. Default:
#'   estimated.
#' @param df the degrees of freedom of Student's t distribution, at least 1; `NULL`: estimated.
#' @param scale the scale of Student's t distribution, in units of the response. Default: estimated.
#' @param power,dispersion the parameters of the Tweedie distribution, whose variance is
#'   \eqn{dispersion \mu^{power}}; `power` is between 1 and 2. Default: both are estimated.
#' @param x a family.
#' @param ... not used.
#'
#' @section Families:
#'   * `binomial()`, with the links `"logit"`, `"probit"`, `"cloglog"` and `"cauchit"`: the response is 0 and 1, or
#'     `FALSE` and `TRUE`, a factor with two levels of which the first is a failure, `cbind(successes, failures)`, or
#'     proportions with the numbers of trials as `weights`.
#'   * `poisson()`, with the link `"log"`: counts.
#'   * `negative_binomial()`, with the link `"log"`: counts. Its parameter is `theta`.
#'   * `Gamma(link = "log")`: positive numbers. Its parameter is `shape`; the variance is \eqn{\mu^2 / shape}.
#'   * `student()`, with the link `"identity"`: numbers with outliers. Its parameters are `df` and `scale`.
#'   * `tweedie()`, with the link `"log"`: non-negative numbers, some of which are 0, such as catches and rainfall. Its
#'     parameters are `power` and `dispersion`.
#'
#' [gp_family()] offers more families by their names: other counts, counts with more zeros, times with censoring,
#' shares, ordered classes. [likelihood()] makes a family from a formula. `binomial()`, `poisson()` and `Gamma()` are
#' the functions of package stats; `MASS::negative.binomial(theta)` and `mgcv::nb()` are the same as
#' `negative_binomial(theta)`, and `gaussian()` is the same as no family. A family may also be given as a function or by
#' its name. Parameters of a family without a value are estimated together with the parameters of the covariance.
#'
#' `weights` are prior weights as in [glm()]: an observation of weight w counts as w observations. For counts, weights
#' multiply the log-likelihood; for `Gamma()`, weights multiply the parameter `shape`, as for a response that is a mean
#' of w observations; with `student()` the scale of an observation is divided by the square root of its weight. An
#' `offset()` in the formula is added to the linear predictor, such as `offset(log(area))` of counts.
#'
#' Groups of [gp()], random effects such as `(1 | site)` and smooths such as `s(x)` are available: see [random_effect()]
#' and [smooth_effect()]. For a generalised linear mixed model without a field, the effect is the covariance: `gp(count
#' ~ x, d, covariance = random_effect(~ 1 | site), family = poisson())`.
#'
#' A [nugget()] of the covariance is independent variation of the linear predictor from observation to observation
#' (overdispersion). The default covariance of a family has no nugget, since binary data do not determine the variance
#' of a nugget.
#'
#' @section Method:
#' Newton's method finds the mode of the process given the data, and the likelihood is the likelihood of the normal
#' approximation at the mode (Rasmussen and Williams 2006, sections 3.4 and 5.5). The matrix that is factorised is K +
#' \eqn{W^{-1}}, with the covariance matrix K of the process and the diagonal matrix W of the negative second
#' derivatives of the log density. Up to a scaling of its rows, the factor is the factor of \eqn{I + W^{1/2} K W^{1/2}},
#' so both factors are equally stable. The coefficients of the trend are estimated by maximum likelihood with all other
#' parameters, so that [logLik()], [AIC()] and [anova()] compare trends as well as covariances. All gradients are exact,
#' including the change of the mode with the parameters. The log densities of Student's t distribution, of the link
#' `"cauchit"` and of some families of [gp_family()] are not concave, so that some of their second derivatives are
#' positive. The likelihood, its gradient, standard errors and predictions use these second derivatives; the steps of
#' Newton's method use the expected information instead (for Student's t distribution see Hartmann and Vanhatalo 2019).
#' The joint density of process and data may have several modes. For example, at one mode the process follows an
#' outlier, and at another mode the neighbours of the outlier. At a saddle between two modes, the matrix of the negative
#' second derivatives of the log density is not positive definite. At such a saddle, the likelihood uses the expected
#' information as well; a warning of class `kernops_expected_weights` reports this, and `summary()` states it.
#'
#' `method = "exact"` factorises covariance matrices, in some ten steps of Newton's method for each likelihood. The next
#' section describes the method for larger numbers of observations.
#'
#' The Laplace approximation is accurate if the data determine the linear predictor well, by counts that are not small
#' or by many neighbours. For binary data with a field of large variance, the variance is underestimated. The posterior
#' of the process given low counts is skewed, and the approximation uses its mode as the mean: in simulated fields with
#' about three counts at a location, the true linear predictor was on average about a seventh of a standard deviation
#' below the predicted mean. With [student()], posterior ranges tend to be short: in 400 simulated data sets, the true
#' range was on average at the 0.58-quantile of posterior draws instead of the median.
#'
#' @section Many observations:
#' `method = "vecchia"` is the Vecchia-Laplace approximation of Zilber and Katzfuss (2021). `method = "auto"` uses this
#' approximation for more than a quarter of `exact_limit` observations, because each likelihood of the exact method
#' factorises some ten matrices. The Laplace approximation is the same, but the process has the density of Vecchia's
#' approximation: the value at each location is conditioned on the values at its nearest earlier locations in the
#' ordering, 20 by default (`neighbours` of [gp_control()]). The conditional distributions of the process contain
#' neither its nugget nor the noise of the observations; therefore, few neighbours are enough. Observations at the same
#' location share one value. The variances at the locations are multiplied by 1 + 1e-9, so that matrices of smooth
#' covariances can be factorised.
#'
#' The posterior precision of the process is a sparse matrix. Its Cholesky factor, which begins with the last locations
#' of the ordering, is computed without fill-in: the factor has no entries where the matrix is zero. This omission does
#' not change the mode, which is computed by conjugate gradients with the factor as preconditioner. The omission changes
#' the determinant, but by less than the choice of the number of neighbours does. With all other locations as
#' neighbours, all results equal the results of the exact method. The gradient is the gradient of the approximation,
#' including the change of the mode and of the factor; it is exact up to rounding, since the derivatives of the
#' covariance are symbolic. For up to 20,000 observations, `print()` shows by how much the log-likelihood would change
#' if the number of neighbours were doubled. For 20,000 and 100,000 counts and a [matern()] of smoothness 3/2 in the
#' plane, ranges estimated with 20 neighbours were 0.2 to 0.4 standard errors below ranges estimated with more
#' neighbours. With 40 neighbours a likelihood takes three to four times as long, and the difference is below a tenth of
#' a standard error. Smooth covariances, such as [squared_exponential()], and more than three coordinates need more
#' neighbours. Like all estimates by maximum likelihood, variance and range tend to be low if the region is only a few
#' ranges wide.
#'
#' If there are at least 20,000 observations, the search first finds the optimum for a tenth of the observations. Then
#' it finds the optimum for all observations with 10 neighbours, and finally with all neighbours. Predictions condition
#' a new point on the nearest 30 locations, and add the posterior variance of the weighted mean of the values at these
#' locations.
#'
#' With a GPU (`backend`), the conditional distributions of the locations given their neighbours, and the derivatives of
#' these distributions, are computed on the GPU in `float64`; computations with the sparse posterior precision run on
#' all cores of the CPU. With 20 neighbours, a million observations take about 7 GB of memory.
#'
#' @section Methods of the fits:
#' The methods of [gp_methods] apply, with these differences.
#'   * `coef()`, `vcov()`, `confint()` and `summary()` list the parameters of the family after the covariance
#'     parameters.
#'   * `fitted()` is on the scale of the response. `residuals(type = )` are `"deviance"`, `"pearson"`, `"response"` or
#'     `"quantile"` residuals, given the fitted process. Quantile residuals are the standard normal quantiles of the
#'     distribution function of the family at the observation, randomised for discrete responses (Dunn and Smyth 1996)
#'     by the `seed` of [gp_control()].
#'   * `predict(type = "response")`, the default, returns the mean of the response, the average over the latent normal
#'     distribution, with its standard error; `type = "link"` returns the linear predictor. `interval = "confidence"` is
#'     the transformed interval of the linear predictor; `"prediction"` is the interval of a new observation. With
#'     `"prediction"`, the quantiles `probs` and the probabilities `above` refer to a new observation; otherwise they
#'     refer to the mean given the field, such as a prevalence above 0.2. `block`, `cov`, `nmax` and `maxdist` are
#'     available on both scales, see [predict()][predict.gp].
#'   * [simulate()][simulate.gp] draws new responses of the observations and returns a data frame, as
#'     [stats::simulate()] does. With `newdata`, it draws the linear predictor at new points; with `type = "response"`,
#'     the inverse link of the linear predictor; and with `noise = TRUE`, new observations.
#'   * `family()` returns the link functions, the variance and the deviance, as a family of [glm()].
#'   * [gp_cv()] predicts each observation from all others, by the cavity distribution of the Laplace approximation.
#'
#' @section Errors: class `kernops_input_error` for a response that does not fit the family, such as negative counts,
#'   proportions without numbers of trials or factors with three levels; for other families and links; for `estimate =
#'   "REML"`, `method = "iterative"` and `known$noise`, which are not available for families; and for `backend = "cuda"`
#'   with the exact method. A warning of class `kernops_not_converged` if the mode is not found.
#'
#' @return `negative_binomial()` and `student()`: a family for [gp()], an object of class `gp_family`.
#'
#' @references
#' Dunn, P. K. and Smyth, G. K. (1996) Randomized quantile residuals. *Journal of Computational and Graphical
#' Statistics* 5, 236-244.
#'
#' Hartmann, M. and Vanhatalo, J. (2019) Laplace approximation and natural gradient for Gaussian process regression with
#' heteroscedastic Student-t model. *Statistics and Computing* 29, 753-773.
#'
#' Rasmussen, C. E. and Williams, C. K. I. (2006) *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' Schaefer, F., Katzfuss, M. and Owhadi, H. (2021) Sparse Cholesky factorization by Kullback-Leibler minimization.
#' *SIAM Journal on Scientific Computing* 43(3), A2019-A2046.
#'
#' Zilber, D. and Katzfuss, M. (2021) Vecchia-Laplace approximations of generalized Gaussian processes for big
#' non-Gaussian spatial data. *Computational Statistics & Data Analysis* 153, 107081.
#'
#' @seealso [gp()], [gp_family()], [gp_methods], [gp_cv()]; `vignette("beyond-gaussian", "kernops")`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(80, 0, 10))
#' d$count <- rpois(80, exp(1 + sin(d$x)))
#' fit <- gp(count ~ 1, d, ~ x, matern(5/2), family = poisson())
#' fit
#' predict(fit, data.frame(x = c(1.5, 4.5)), se.fit = TRUE, interval = "prediction")
#'
#' # presence and absence
#' d$present <- rbinom(80, 1, plogis(2 * sin(d$x)))
#' seen <- gp(present ~ 1, d, ~ x, matern(5/2), family = binomial())
#' predict(seen, data.frame(x = c(1.5, 4.5)), type = "response")
#' summary(gp_cv(seen))
#' # the probability that the prevalence is above a half
#' predict(seen, data.frame(x = c(1.5, 4.5)), interval = "confidence", above = 0.5)
#' # the same for the mean of the prevalence over intervals
#' predict(seen, data.frame(x = c(1.5, 4.5)), block = 2, se.fit = TRUE, above = 0.5)
#'
#' # an approximation for many observations
#' update(fit, method = "vecchia", neighbours = 10)
#'
#' # counts from observations of different length, with more variance than a Poisson distribution
#' d$hours <- runif(80, 1, 5)
#' d$seen <- rnbinom(80, mu = d$hours * exp(sin(d$x)), size = 5)
#' rate <- gp(seen ~ 1 + offset(log(hours)), d, ~ x, matern(5/2), family = negative_binomial())
#' sum(residuals(rate, "deviance")^2)
#' predict(rate, data.frame(x = 1.5, hours = c(1, 10)))
#'
#' # positive numbers
#' d$size <- rgamma(80, 4, rate = 4 * exp(-sin(d$x)))
#' size <- gp(size ~ 1, d, ~ x, matern(5/2), family = Gamma("log"))
#' predict(size, data.frame(x = c(1.5, 4.5)), se.fit = TRUE, interval = "prediction")
#'
#' # outliers
#' d$y <- sin(d$x) + 0.1 * rt(80, df = 2)
#' coef(gp(y ~ 1, d, ~ x, matern(5/2), family = student(df = 4)), "covariance")
#' @name gp_families
NULL

#' @rdname gp_families
#' @export
negative_binomial <- function(theta = NULL) {
  new_family("negative_binomial", list(theta = theta))
}

#' @rdname gp_families
#' @export
student <- function(df = 4, scale = NULL) {
  if (!is.null(df)) check_number(df, "df", least = 1)
  new_family("student", list(df = df, scale = scale))
}

#' @rdname gp_families
#' @export
tweedie <- function(power = NULL, dispersion = NULL) {
  new_family("tweedie", list(dispersion = dispersion, power = power))
}

#' @rdname gp_families
#' @export
print.gp_family <- function(x, ...) {
  cli::cat_line("<family> ", format(x))
  invisible(x)
}

#' @export
format.gp_family <- function(x, ...) {
  value <- x$parameters$value
  words <- paste0(x$parameters$name, " = ", signif(value, 4))[!is.na(value)]
  paste0(x$name, "(", toString(c(paste0("link = \"", x$link, "\""), words)), ")")
}

# Stops for settings that fits with a family do not support; the message names the alternative.
check_family_settings <- function(method, estimate, known, transform, call) {
  refuse <- function(wrong, rule, hint) if (wrong) stop_kernops("input", c(rule, i = hint), call = call)
  refuse(!is.null(transform), "{.arg transform} is for Gaussian observations.",
         "A {.arg family} has a link, such as the logarithm.")
  refuse(estimate == "REML", "Restricted likelihoods require Gaussian observations.",
         "{.code estimate = \"ML\"} fits a {.arg family}.")
  refuse(method == "iterative", "{.code method = \"iterative\"} is for Gaussian observations.",
         "{.code method = \"exact\"} or {.val vecchia} fits a {.arg family}.")
  refuse(!is.null(known$noise), "{.code known$noise} is the variance of Gaussian observations.",
         "Other families have {.arg weights}.")
}

# Checks the method, which `method = "auto"` may have chosen, because the iterative method does not support families.
check_family_method <- function(method, n, backend, call) {
  if (method == "exact" && backend == "cuda") {
    stop_kernops("input", c("The exact method fits a {.arg family} on the CPU.",
                            i = "{.code method = \"vecchia\"} uses the GPU, {.code backend = \"auto\"} or {.val cpu} the
                                 CPU."), call = call)
  }
  if (method != "iterative") return(invisible())
  stop_kernops("input", c("A {.arg family} with this covariance is fitted by the exact method, but there are {n}
                           observations.",
                          i = "{.code method = \"vecchia\"} is for covariances that decrease with the distance.",
                          i = "{.code gp_control(exact_limit = {n})} allows the exact method, in 8 n^2 bytes."),
               call = call)
}
