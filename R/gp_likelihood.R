#' Likelihoods of gp() as formulas
#'
#' `likelihood()` makes a family for [gp()] from a formula for the log density of an observation, in the language of
#' [keops_kernel()]. All derivatives are computed from the formula, and the formula is checked (see the section about
#' checks).
#'
#' @param formula a string: the log density of one observation, with all terms that depend on \eqn{\eta} or on
#'   parameters. Its variables are `y`, the response; `eta`, the linear predictor; `mu`, the inverse link of `eta`; and
#'   the parameters. The formula may also contain `w`, the prior weight; otherwise weights multiply the log density.
#'   [keops_ops()] lists the operations: `Softplus(eta)` is accurate where `Log(1 + Exp(eta))` overflows, and
#'   `LgammaDiff(a, y)` is accurate where differences of `Lgamma()` cancel.
#' @param parameters a named list of positive numbers: the starting values of the parameters, which are estimated on a
#'   log scale.
#' @param y the kind of responses that the density is for: `"real"`, `"positive"` or `"nonnegative"` numbers, `"count"`
#'   or `"positive_count"` (at least 1), `"share"` (between 0 and 1), or `"binomial"`. For `"binomial"`, `y` is the
#'   proportion of successes among `w` trials, and responses have the forms that `binomial()` accepts.
#' @param link the link: `"identity"` for real numbers; `"log"` for positive numbers and counts; `"logit"`, `"probit"`,
#'   `"cloglog"` or `"cauchit"` for shares and successes. Default: the first link in this list that is possible for `y`.
#' @param information a string with a formula that is required if the log density is not concave in `eta`. In the steps
#'   of the search for the mode, this formula replaces the negative second derivative with respect to `eta`, which may
#'   be negative. An example is the expectation of the negative second derivative. The values of the formula must be
#'   positive. See [gp_family()].
#' @param fixed names of parameters that keep their starting values.
#' @param mean,variance,draw,cdf functions for predictions: `mean(eta, phi)`, the mean, which must increase with `eta`
#'   (default: the inverse link); `variance(mu, phi)`, the variance of observations with mean `mu`; `draw(eta, phi)`,
#'   one new observation for each `eta`; `cdf(q, eta, phi)`, the probability of values up to `q`. `phi` is a named
#'   vector of the parameters, or a list with a vector for each parameter that has a predictor; `phi[["name"]]` works in
#'   both cases. For counts, the default of `cdf` is a sum of the density. If a method needs a function that is missing,
#'   the error names the function.
#'
#' @section Checks:
#' At some values of `y` and `eta`, and at the starting values of the parameters, the log density must be finite, its
#' derivative must agree with finite differences, and the `information` must be positive. Probabilities of counts should
#' sum to 1. If they do not, a warning reports that the formula, and therefore log-likelihoods, may lack terms without
#' parameters.
#'
#' @section Errors: class `kernops_formula_error` for a mistake in a formula, `kernops_input_error` for other invalid
#'   arguments and for a density that fails a check. A warning of class `kernops_not_normalised` for probabilities that
#'   do not sum to 1.
#'
#' @return A family for [gp()], an object of class `gp_family`.
#' @seealso [gp_family()] for families by name; [keops_ops()]; [covariance()] for covariances by formula.
#' @examples
#' # the Poisson distribution
#' counts <- likelihood("y * eta - Exp(eta) - Lgamma(y + 1)", y = "count")
#' counts
#' set.seed(1)
#' d <- data.frame(x = runif(60, 0, 10))
#' d$count <- rpois(60, exp(1 + sin(d$x)))
#' c(logLik(gp(count ~ 1, d, ~ x, matern(5/2), family = counts)),
#'   logLik(gp(count ~ 1, d, ~ x, matern(5/2), family = poisson())))
#' # a normal distribution whose standard deviation is proportional to the mean
#' d$y <- exp(sin(d$x)) * (1 + 0.1 * rnorm(60))
#' density <- "-Square((y - mu) / (cv * mu)) / 2 - Log(cv * mu) - Log(2 * pi) / 2"
#' relative <- likelihood(density, list(cv = 0.2), y = "positive", information = "1 / Square(cv) + 2",
#'                        cdf = function(q, eta, phi) pnorm(q, exp(eta), phi[["cv"]] * exp(eta)),
#'                        variance = function(mu, phi) (phi[["cv"]] * mu)^2)
#' fit <- gp(y ~ 1, d, ~ x, matern(5/2), family = relative)
#' predict(fit, data.frame(x = c(1.5, 4.5)), interval = "prediction")
#' @export
likelihood <- function(formula, parameters = list(),
                       y = c("real", "positive", "nonnegative", "count", "positive_count", "share", "binomial"),
                       link = NULL, information = NULL, fixed = NULL, mean = NULL, variance = NULL, draw = NULL,
                       cdf = NULL) {
  y <- check_choice(y, "y", eval(formals()$y))
  link <- check_choice(link %||% links_of[[y]][[1]], "link", links_of[[y]])
  check_parameters(parameters, fixed)
  texts <- list(formula = check_text(formula, "formula", one = TRUE),
                expected = if (!is.null(information)) check_text(information, "information", one = TRUE))
  for (text in texts) if (!is.null(text)) check_density_formula(text, parameters, link)
  check_mentioned(formula, names(parameters))
  if (!mentions(formula, "eta") && !mentions(formula, "mu")) {
    stop_kernops("input", "The formula must contain {.code eta} or {.code mu}.")
  }
  functions <- list(mean = mean, variance = variance, draw = draw, cdf = cdf)
  for (name in names(functions)) check_density_function(functions[[name]], name)
  row <- likelihood_row(lapply(texts, with_mean, link), parameters, y, link, functions)
  family <- new_family("likelihood", lapply(parameters[fixed], as.numeric), link, row)
  check_density(family, unlist(parameters))
  family
}

links_of <- list(real = "identity", positive = "log", nonnegative = "log", count = "log", positive_count = "log",
                 share = c("logit", "probit", "cloglog", "cauchit"),
                 binomial = c("logit", "probit", "cloglog", "cauchit"))

# The formula with the inverse link substituted for mu.
with_mean <- function(formula, link) {
  if (is.null(formula)) return(NULL)
  mean <- c(identity = "eta", log = "Exp(eta)", logit = "Sigmoid(eta)", probit = "Exp(LogNormalCdf(eta))",
            cloglog = "(-Expm1(-Exp(eta)))", cauchit = "(Atan2(1, -eta) / pi)")
  replace_names(formula, c(mu = mean[[link]]))
}

likelihood_row <- function(texts, parameters, y, link, functions) {
  adapted <- function(f, make) if (is.null(f)) NULL else make(f)
  family_row(
    formula = texts$formula, expected = texts$expected, links = link, response = y,
    discrete = y %in% c("count", "positive_count", "binomial"),
    parameters = lapply(parameters, function(value) function(y, spread) value * c(1, 1e-6, 1e6)),
    mean = adapted(functions$mean, function(f) function(eta, phi, link) f(eta, phi)),
    variance = adapted(functions$variance, function(f) function(mu, w, phi) f(mu, phi) / w),
    draw = adapted(functions$draw, function(f) function(eta, w, phi, link) f(eta, phi)),
    cdf = adapted(functions$cdf, function(f) function(q, eta, w, phi, link) f(q, eta, phi))
  )
}
