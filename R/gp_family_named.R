#' Families of gp() by their names
#'
#' `gp_family()` makes a family for [gp()] from its name, with values of its parameters if these are known. The linear
#' predictor \eqn{\eta} determines the mean \eqn{\mu} by the link. Parameters of a family without a value are estimated
#' together with the parameters of the covariance.
#'
#' @param name the name of a family, see the table.
#' @param ... values of parameters, such as `theta = 2`. For `"tobit"` also the limits `left` and `right`.
#' @param link the name of the link. Default: the first link of the family.
#'
#' @section Families:
#' | name | response and parameters | variance |
#' |---|---|---|
#' | `"gaussian"` | numbers: `sigma`, the standard deviation; the model of `gp()` with `sigma^2` as nugget | \eqn{sigma^2} |
#' | `"binomial"` | successes among w trials, see [gp_families]; links logit, probit, cloglog, cauchit | \eqn{\mu (1 - \mu) / w} |
#' | `"beta_binomial"` | likewise, with overdispersion: `precision`; link logit | \eqn{\mu (1 - \mu) (precision + w) / (precision + 1) / w} |
#' | `"poisson"` | counts | \eqn{\mu} |
#' | `"negative_binomial"` | counts: `theta` | \eqn{\mu + \mu^2 / theta} |
#' | `"negative_binomial_1"` | counts: `alpha` | \eqn{\mu (1 + alpha)} |
#' | `"generalised_poisson"` | counts, Consul's distribution: `delta` between 0 and 1 | \eqn{\mu / (1 - delta)^2} |
#' | `"truncated_poisson"`, `"truncated_negative_binomial"` | counts of at least 1: the distribution given that it is not 0 | |
#' | `"zero_inflated_poisson"`, `"zero_inflated_negative_binomial"`, or `"zip"`, `"zinb"` | counts with additional zeros, of probability `zi` | |
#' | `"hurdle_poisson"`, `"hurdle_negative_binomial"` | counts: 0 with the probability `zero`, else of a truncated distribution | |
#' | `"Gamma"` | positive numbers: `shape` | \eqn{\mu^2 / shape} |
#' | `"inverse_gaussian"` | positive numbers: `shape` | \eqn{\mu^3 / shape} |
#' | `"lognormal"` | positive numbers: `sigma`, the standard deviation of the logarithm | \eqn{\mu^2 (exp(sigma^2) - 1)} |
#' | `"weibull"`, `"exponential"` | times, which may be censored on the right: `shape` | |
#' | `"tweedie"` | numbers of at least 0, with a probability of 0: `dispersion`, and `power` between 1 and 2 | \eqn{dispersion \mu^{power}} |
#' | `"delta_gamma"`, `"delta_lognormal"` | numbers of at least 0: 0 with the probability `zero`, else Gamma or lognormal | |
#' | `"beta"` | numbers between 0 and 1: `precision`; link logit | \eqn{\mu (1 - \mu) / (1 + precision)} |
#' | `"ordered"` | classes, an ordered factor or whole numbers: `gap2`, `gap3`, ...; links logit, probit | |
#' | `"student"` | numbers with outliers: `df`, `scale` | |
#' | `"tobit"` | numbers that are censored at `left` or `right`: `sigma` | \eqn{sigma^2} |
#'
#' The link is the logarithm for counts, times and other positive numbers; the link of `"gaussian"`, `"student"` and
#' `"tobit"` is the identity.
#'
#' \eqn{\mu = g^{-1}(\eta)} is the mean of the response, with these exceptions. For truncated counts, \eqn{\mu} is the
#' mean before truncation. For the zero-inflated families, \eqn{\mu} is the mean of the counts without the additional
#' zeros. For the hurdle and delta families, \eqn{\mu} is the mean of the distribution of the values that are not 0,
#' before truncation. The mean of the response is \eqn{(1 - zero)} times the mean of this distribution, which for hurdle
#' families is the mean after truncation. For times and `"tobit"`, \eqn{\mu} is the mean of the variable without
#' censoring. Predictions on the scale of the response are means and quantiles of the response; for times and `"tobit"`,
#' of the variable without censoring; for `"ordered"`, of the numbers 1, 2, ... of the classes.
#'
#' A response of times is a vector of positive numbers, or `cbind(time, status)` or `survival::Surv(time, status)` with
#' a status of 1 for an event and 0 for a censored time. A response of `"tobit"` at a limit or beyond is censored.
#'
#' For `"ordered"`, with K classes, the class is at most k if \eqn{\eta + e} is below the cut point k, where e has a
#' logistic or a normal distribution. The first cut point is 0, and the cut point k is gap2 + ... + gapk. Therefore the
#' constant of the trend is minus the first cut point of `MASS::polr()`.
#'
#' `weights` multiply the log density; for `"inverse_gaussian"` and `"tweedie"` the dispersion of an observation is
#' divided by its weight, and for `"beta_binomial"` weights are numbers of trials.
#'
#' Log densities are accurate to 10 digits for counts up to 1e9.
#'
#' @section Linear predictors of parameters:
#' By default, the parameters of a family are numbers. The arguments `zi`, `dispersion` and `predictors` of [gp()] give
#' a parameter \eqn{\phi} a separate linear predictor: for observation i, \eqn{g(\phi_i) = z_i'\gamma}, where \eqn{z_i}
#' is row i of the model matrix of a one-sided formula. The link g is the logarithm; for probabilities, `delta` and
#' `power`, it is the logit of the position between the limits of the parameter. `zi` is the predictor of the parameter
#' `zi` or `zero`. `dispersion` is the predictor of the parameter `dispersion`, `theta`, `alpha`, `delta`, `shape`,
#' `sigma`, `precision` or `scale`, whichever the family has. `predictors = list(name = ~ x)` is the predictor of any
#' parameter, also of a [likelihood()]. These predictors have only fixed coefficients: random effects, smooths and
#' offsets are available for the trend only, except in noise fields (see below).
#'
#' The coefficients \eqn{\gamma} and all other parameters are estimated jointly by maximum likelihood, with exact
#' gradients. The search starts from a constant parameter \eqn{\phi}. `coef()`, `vcov()`, `confint()` and `tidy()`
#' include the coefficients \eqn{\gamma} among the parameters of the covariance, by names such as `zi x`; `summary()`
#' has a table for each predictor, and [anova()] tests the coefficients. Predictions of responses and residuals use the
#' parameter \eqn{\phi_i} of each observation: new data need the covariates of all predictors. The functions that
#' [family()] returns for such a fit apply only to the observations of the fit.
#'
#' A Gaussian response with `dispersion = ~ z` has noise with the standard deviation \eqn{\exp(z'\gamma)}. In this case,
#' a [nugget()] without a value is left out of the covariance. The Laplace approximation is exact for this model, so
#' that the likelihood equals the likelihood of [gp()] with `known = list(noise = )`. The model is fitted by the methods
#' `"exact"` and `"vecchia"`, by maximum likelihood.
#'
#' `dispersion = ~ s(x, y)` is a noise field: the logarithm of the standard deviation of the noise is a smooth function
#' of package mgcv in any variables, including coordinates; `s(x, y, bs = "gp")` is a Gaussian process with a Matern
#' covariance of smoothness 3/2 and a given range. The penalised coefficients of the smooth are independent normal
#' variables. Their variance is estimated by maximising the marginal likelihood, in which these coefficients are
#' integrated out by the Laplace approximation (Wood and Fasiolo 2017). `logLik()` is this marginal likelihood;
#' `summary()` shows the variance and the effective degrees of freedom of each smooth. At this variance, all other
#' parameters and the coefficients maximise the penalised likelihood jointly. A smooth of a noise field has numeric
#' variables and one penalty: `te()` is an error. Predictions of new observations use the estimated noise at the new
#' points, without the uncertainty of the noise field.
#'
#' @section The Laplace approximation:
#' The weight of an observation is the negative second derivative of its log density at the mode. The weight may be
#' negative where the log density is not concave in \eqn{\eta}: a quarter of the weights of `"inverse_gaussian"` with
#' `shape` 3 are negative. Newton's method then uses substitute weights for its steps, and the approximation uses the
#' substitute weights where the posterior precision is not positive definite (see [gp_families]). The substitute weights
#' are the expected information for `"student"`, `"inverse_gaussian"`, `"beta"`, the zero-inflated families and the link
#' `"cauchit"`. For `"beta_binomial"`, `"negative_binomial_1"` and `"generalised_poisson"` they are \eqn{(d\mu /
#' d\eta)^2} divided by the variance, a lower bound of the expected information. Gradients are exact.
#'
#' With the substitute weights everywhere, estimates would be biased. In 100 simulated data sets of 400 observations
#' with a field, 30 groups and a slope, estimates by one step of Newton's method from the true parameters were too small
#' by 11 % for `df` of `"student"`, too large by 8 % for `delta` of `"generalised_poisson"`, and too large by 0.10 for
#' the intercept of `"inverse_gaussian"` (`shape` 3). The standard errors of these biases are 2 %, 1 % and 0.02. With
#' the second derivatives, the three biases are 3 %, 0 % and -0.03. With the substitute weights, `zi` of the
#' zero-inflated families would be too large by 0.1 to 0.3 on the scale of the logit for counts of about 3.
#'
#' @section Families of other packages:
#' `inverse.gaussian(link = "log")` of package stats, and `nb()`, `tw()` and `betar()` of package mgcv are accepted;
#' values of their parameters are kept. `nbinom1()`, `nbinom2()`, `betabinomial()`, `beta_family()`, `Beta()`,
#' `tweedie()`, `student()`, `lognormal()`, `truncated_poisson()` and `truncated_nbinom2()` of packages glmmTMB and
#' sdmTMB are accepted, too. The families `quasipoisson()`, `quasibinomial()` and `quasi()` have no likelihood and are
#' errors; the message names the family to use instead.
#'
#' @section Errors: class `kernops_input_error` for names, links and parameters that do not exist, values beyond the
#'   range of a parameter, and responses that are impossible in the family; for predictors of parameters that have a
#'   given value or do not exist; and for predictors with effects, with offsets or with collinear columns.
#'
#' @return A family for [gp()], an object of class `gp_family`.
#'
#' @references
#' Consul, P. C. and Famoye, F. (1992) Generalized Poisson regression model. *Communications in Statistics - Theory and
#' Methods* 21(1), 89-109.
#'
#' Dunn, P. K. and Smyth, G. K. (2005) Series evaluation of Tweedie exponential dispersion model densities. *Statistics
#' and Computing* 15(4), 267-280.
#'
#' Wood, S. N. and Fasiolo, M. (2017) A generalized Fellner-Schall method for smoothing parameter optimization.
#' *Biometrics* 73(4), 1071-1081.
#'
#' @seealso [gp_families] for the approximation and the methods of fits; [gp()].
#' @examples
#' gp_family("tweedie", power = 1.6)
#' set.seed(1)
#' d <- data.frame(x = runif(60, 0, 10))
#' # counts with zeros of two kinds
#' d$count <- rpois(60, exp(1 + sin(d$x))) * rbinom(60, 1, 0.7)
#' gp(count ~ 1, d, ~ x, matern(5/2), family = gp_family("zero_inflated_poisson"))
#' # zeros that depend on a covariate
#' d$z <- rnorm(60)
#' d$seen <- rpois(60, exp(1 + sin(d$x))) * rbinom(60, 1, plogis(d$z))
#' zeros <- gp(seen ~ 1, d, ~ x, matern(5/2), family = gp_family("zero_inflated_poisson"), zi = ~ z)
#' zeros
#' predict(zeros, data.frame(x = 1.5, z = c(-1, 1)))
#' # times, some of which are known to be longer than 3
#' d$time <- rexp(60, exp(-sin(d$x)))
#' d$event <- d$time < 3
#' fit <- gp(cbind(pmin(time, 3), event) ~ 1, d, ~ x, matern(5/2), family = gp_family("weibull"))
#' predict(fit, data.frame(x = c(1.5, 4.5)), interval = "prediction")
#' # ordered classes
#' d$class <- cut(sin(d$x) + rlogis(60, 0, 0.3), c(-Inf, -0.5, 0.5, Inf), c("low", "middle", "high"))
#' gp(class ~ 1, d, ~ x, matern(5/2), family = gp_family("ordered"))
#' @export
gp_family <- function(name, ..., link = NULL) {
  table <- family_table()
  if (is_string(name) && name %in% names(short_family_names)) name <- short_family_names[[name]]
  name <- check_choice(name, "name", names(table))
  values <- list(...)
  entry <- table[[name]]
  row <- family_row_of(name, values)
  known <- c(if (is.function(entry)) names(formals(entry)), names(row$parameters))
  unknown <- setdiff(names(values) %||% rep("", length(values)), known)
  if (length(unknown)) {
    stop_kernops("input", c("{.code {family_label(name)}} has no parameter {.val {unknown}}.",
                            i = if (length(known)) "Its parameters are {.val {known}}."))
  }
  if (!is.null(link)) check_text(link, "link", one = TRUE)
  new_family(name, values, link, row)
}

short_family_names <- list(zip = "zero_inflated_poisson", zinb = "zero_inflated_negative_binomial")
