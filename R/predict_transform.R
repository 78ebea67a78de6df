# Trans-Gaussian kriging: a Gaussian process of the response after a Box-Cox transformation.

boxcox <- function(y, lambda) if (lambda == 0) log(y) else expm1(lambda * log(y)) / lambda

# The inverse transformation; 0 or infinite for t beyond the range of the transformation.
boxcox_back <- function(t, lambda) {
  if (lambda == 0) exp(t) else exp(log1p(pmax(lambda * t, -1)) / lambda)
}

# The logarithm of the Jacobian, which is added to log-likelihoods of the transformed response to obtain log-likelihoods
# of the response.
boxcox_jacobian <- function(y, lambda) (lambda - 1) * sum(log(y))

# Converts the argument `transform` of gp() to NULL, or to a list with the elements `lambda` and `estimated`. If lambda
# is to be estimated, `lambda` is NA and `estimated` is TRUE.
as_transform <- function(x, estimate, method, parts, prior, call = caller_env()) {
  if (is.null(x)) return(NULL)
  lambda <- lambda_of(x, call)
  if (is.na(lambda) && (estimate == "none" || method == "iterative")) {
    stop_kernops("input", c("The parameter of {.code transform = \"boxcox\"} is estimated with {.code method =
                             \"exact\"} or {.val vecchia}, together with the covariance.",
                            i = "Give the parameter: {.code transform = 0.5}."), call = call)
  }
  if (is.na(lambda) && length(prior)) {
    stop_kernops("input", c("The parameter of {.code transform = \"boxcox\"} cannot be estimated with a {.arg prior}.",
                            i = "Give the parameter: {.code transform = 0.5}."), call = call)
  }
  check_positive_response(parts, call)
  list(lambda = lambda, estimated = is.na(lambda))
}

# The parameter lambda of the transformation; NA if lambda is to be estimated.
lambda_of <- function(x, call) {
  lambda <- if (identical(x, "log")) 0 else if (identical(x, "boxcox")) NA_real_ else x
  known <- is.numeric(lambda) && length(lambda) == 1 && (identical(x, "boxcox") || isTRUE(abs(lambda) <= 5))
  if (known) return(lambda)
  stop_kernops("input", "{.arg transform} must be {.val log}, {.val boxcox}, or the parameter of a Box-Cox
                         transformation, between -5 and 5.", call = call)
}

check_positive_response <- function(parts, call) {
  bad <- parts$rows[parts$y <= 0]
  if (!length(bad)) return(invisible())
  stop_kernops("input", "{.arg transform} needs a positive response: see {cli::qty(length(bad))}row{?s} {bad}.",
               call = call)
}

transformed <- function(parts, lambda) {
  jacobian <- boxcox_jacobian(parts$y, lambda)
  c(replace(parts, "y", list(boxcox(parts$y, lambda))), list(response = parts$y, jacobian = jacobian))
}

# The unbiased mean of the response at new points. Let v be the variance of the transformed response minus the variance
# of its prediction; both are unconditional variances, over realisations of the field. The mean of boxcox_back(fit +
# sqrt(v) Z) over a standard normal Z is unbiased for the response (for lambda = 0: Cressie 1993, 3.2.2). The difference
# v equals the kriging variance minus twice the Lagrange multiplier.
back_mean <- function(fit, variance, lagrange, lambda) {
  v <- variance - 2 * lagrange
  if (lambda == 0) return(exp(fit + v / 2))
  if (lambda == 1) return(fit + 1)
  by_rule <- average(fit, sqrt(pmax(v, 0)), function(t) boxcox_back(t, lambda))
  # for lambda < 0 the mean does not exist; an expansion of second order around the fit replaces the mean
  base <- pmax(1 + lambda * fit, 0)
  expanded <- base^(1 / lambda) + (1 - lambda) * base^(1 / lambda - 2) * v / 2
  ifelse(v >= 0 & lambda > 0, by_rule, expanded)
}

# The standard deviation of the response given the data.
back_error <- function(fit, variance, lambda) {
  if (lambda == 0) return(exp(fit + variance / 2) * sqrt(expm1(variance)))
  if (lambda == 1) return(sqrt(variance))
  if (lambda < 0) return(pmax(1 + lambda * fit, 0)^(1 / lambda - 1) * sqrt(variance))
  sd <- sqrt(variance)
  first <- average(fit, sd, function(t) boxcox_back(t, lambda))
  sqrt(pmax(average(fit, sd, function(t) (boxcox_back(t, lambda) - first)^2), 0))
}

transform_words <- function(transform) {
  if (transform$lambda == 0) return("log")
  paste0("Box-Cox, lambda = ", signif(transform$lambda, 4), if (transform$estimated) " (estimated)")
}
