#' Bounds for the error of an approximate fit
#'
#' Computes bounds for the difference between a fit by an approximate `method` of [gp()] and the exact Gaussian process
#' with the same parameters: for the log-likelihood, and for predictions and standard errors at a sample of sites. The
#' certificate states whether the approximation is good enough or requires more neighbours.
#'
#' @param object a fit of [gp()].
#' @param newdata,coords new points, as in [predict()][predict.gp], from which a sample of `sites` points is compared.
#'   By default, half of the sites are between observations that are next to each other, and the other half are anywhere
#'   in the range of the coordinates. Default sites have the covariates, variable and group of the nearest observation.
#' @param sites the number of sites. Default: 40; for more than 5000 observations, 20.
#' @param level the probability that all bounds hold.
#' @param probes the number of random vectors for the log-determinant, at least 2. Default: 16; for more than 5000
#'   observations, 8. More vectors make the interval of the log-likelihood shorter.
#' @param seed the seed of the random vectors and of the sample of `newdata`: one whole number. The state of R's random
#'   number generator is not changed.
#' @param x a certificate.
#' @param ... not used.
#'
#' @details The covariance parameters are the parameters of the fit. The trend is estimated by generalised least squares
#'   with the exact covariance. Let S be the exact covariance matrix of the n observations y, and \eqn{P^{-1} = U'U} the
#'   sparse inverse of Vecchia's approximation, with at least 60 neighbours and at least twice as many neighbours as the
#'   fit has. If a few columns of the covariance matrix explain a smooth field, P is instead a pivoted Cholesky
#'   decomposition plus the noise (see [kernel_preconditioner()]).
#'
#' Conjugate gradients, preconditioned by P, solve systems with the matrix S. The right-hand sides are y, the columns of
#' the trend and the covariances of the observations with the sites. S is not stored. The errors of quadratic forms such
#' as \eqn{y'S^{-1}y}, and therefore of the sum of squares, of predictions and of variances, are at most \eqn{e'P^{-1}e
#' / a} for residuals e, where a is a bound below the smallest eigenvalue of \eqn{A = U S U'}.
#'
#' For Vecchia's approximation A has a unit diagonal, and \eqn{\log\det S = -2 \log\det U - \mathrm{tr}\,w(A)} with
#' \eqn{w(x) = x - 1 - \log x \ge 0}. The trace of w(A) is twice the Kullback-Leibler divergence of the approximation
#' from the exact distribution (Schaefer, Katzfuss and Owhadi 2021). This trace is of second order in A - I, and
#' stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017) estimates it from normal random vectors. For each random
#' vector, a Gauss rule gives a lower bound and a Gauss-Radau rule an upper bound (Golub and Meurant 2010). The interval
#' from the mean over the random vectors is conservative, since it is computed for the widest distribution with the same
#' trace and the same largest eigenvalue (Szekely and Bakirov 2003). Bounds for the eigenvalues of A come from the same
#' random vectors (Kuczynski and Wozniakowski 1992).
#'
#' The check takes the time of 6 to 20 products with S, which is proportional to n^2. On a CPU, this is about the time
#' of the fit for 10,000 observations, and less than the time of the fit for fewer observations. For 30,000
#' observations, the check takes 13 times as long as the fit (25 s on one core): in each of 10 products, the covariances
#' of all pairs alone take 1 s, half as long as the fit. On a GPU, the check is faster than the fit up to a larger
#' number of observations. Fits with up to 500 observations are compared with a dense factorisation. For an exact fit,
#' all differences are 0, and nothing is computed.
#'
#' For a fit with a [family][gp_families], "exact" means the Laplace approximation with the dense covariance of the
#' field, for the same parameters of the covariance and the family. This approximation requires dense factors of a
#' matrix with a row for each observation; the check is therefore limited to 2000 observations.
#'
#' `print()` shows the approximate results minus the exact results. The approximation is called good if predictions
#' differ from the exact predictions by at most 0.1 exact standard errors (the root of the mean square over the sites),
#' standard errors by at most 3 %, and the log-likelihood by at most 1, or 0.001 for each observation. The approximation
#' is called fair if the differences are at most five times these limits, otherwise poor.
#'
#' @return A list of class `gp_certificate`:
#'   * `loglik`, a data frame with one row: the log-likelihood of the fit, `approximate`, and the limits `low` and
#'     `high` of the exact log-likelihood;
#'   * `predictions`, a data frame with a row for each site: the coordinates and, if there are several, the `variable`;
#'     the prediction `fit` and its standard error `se.fit`, of the field, without noise; the `exact` prediction and
#'     `error`, a bound for its absolute error; and `se.low` and `se.high`, the limits of the exact standard error. With
#'     a `transform`, predictions are on the transformed scale;
#'   * `verdict`, `"exact"`, `"good"`, `"fair"` or `"poor"`;
#'   * `nobs`, `formula`, `method`, `neighbours` (`NA` for the iterative method), `level`, and `steps`, the number of
#'     steps of conjugate gradients.
#'
#'   `tidy()` has three rows, for the log-likelihood, the predictions and the standard errors, with the limits `low` and
#'   `high` of the approximate value minus the exact value. For predictions, these limits are in exact standard errors;
#'   for standard errors, they are relative to the exact standard errors. `glance()` has one row: `verdict`, the limits
#'   `exact.low` and `exact.high` of the exact log-likelihood, `prediction.rms` and `prediction.largest` (differences of
#'   predictions in exact standard errors), `se.low` and `se.high` (relative differences of standard errors), and
#'   `level`. If the certificate is stored in the fit, as `fit$certificate <- certify(fit)`, then `print(fit)` shows it
#'   and `glance(fit)` has these columns.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, and for fits with a [family][gp_families] of
#'   more than 2000 observations: no bound is known for the mode of a Laplace approximation.
#'   Class `kernops_singular_error` if the exact covariance matrix is not positive definite.
#'
#' @references
#' Golub, G. H. and Meurant, G. (2010) *Matrices, Moments and Quadrature with Applications*. Princeton University Press.
#'
#' Kuczynski, J. and Wozniakowski, H. (1992) Estimating the largest eigenvalue by the power and Lanczos algorithms with
#' a random start. *SIAM Journal on Matrix Analysis and Applications* 13(4), 1094-1122.
#'
#' Schaefer, F., Katzfuss, M. and Owhadi, H. (2021) Sparse Cholesky factorization by Kullback-Leibler minimization.
#'   *SIAM Journal on Scientific Computing* 43(3), A2019-A2046.
#'
#' Szekely, G. J. and Bakirov, N. K. (2003) Extremal probabilities for Gaussian quadratic forms. *Probability Theory and
#'   Related Fields* 126, 184-202.
#'
#' Ubaru, S., Chen, J. and Saad, Y. (2017) Fast estimation of tr(f(A)) via stochastic Lanczos quadrature. *SIAM Journal
#'   on Matrix Analysis and Applications* 38(4), 1075-1099.
#'
#' @seealso [gp()] for the methods, [gp_control()] for the number of neighbours.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(700), y = runif(700))
#' d$z <- sin(6 * d$x) * cos(4 * d$y) + rnorm(700, sd = 0.1)
#' fit <- gp(z ~ 1, d, ~ x + y, matern(3/2, 1, 0.5) + nugget(0.01),
#'           method = "vecchia", estimate = "none", control = gp_control(neighbours = 10))
#' certify(fit)
#' # stored in the fit
#' fit$certificate <- certify(fit, sites = 10)
#' fit
#' @export
certify <- function(object, newdata = NULL, coords = NULL, sites = NULL, level = 0.999, probes = NULL, seed = 1) {
  check_fit(object, "object", "certify")
  many <- nobs.gp(object) > 5000
  sites <- sites %||% if (many) 20 else 40
  probes <- probes %||% if (many) 8 else 16
  check_number(sites, "sites", least = 1, whole = TRUE)
  check_number(probes, "probes", least = 2, whole = TRUE)
  check_level(level)
  check_seed(seed)
  refuse_large_family(object)
  object$how$backend <- usable_backend(object$how$backend)
  places <- if (is.null(newdata) && is.null(coords)) certified_sites(object, sites) else
    chosen_sites(object, newdata, coords, sites, seed)
  exact <- conditioning_for(object)$exact || is_noise(object)
  result <- if (exact) exact_answer(object, places) else with_bar("Certifying", {
    if (!is.null(object$family)) dense_laplace_answer(object, places) else
      certified_answer(object, places, list(probes = probes, seed = seed, miss = 1 - level))
  })
  result$predictions <- cbind(coordinates_of_sites(object, places), result$predictions)
  new_certificate(object, result, level, exact)
}

# TRUE for independent observations, for which every method is exact.
is_noise <- function(object) {
  all(covariance_diagonal(object$model)(list(theta = object$theta, x = object$data$u)) == 0)
}

# The certificate of an exact fit, in which all errors are 0.
exact_answer <- function(object, places) {
  moments <- predicted_moments(object, places, field_request$how, variance = TRUE)
  fit <- moments$trend + moments$process
  se <- sqrt(moments$variance)
  list(loglik = rep(object$loglik, 2), steps = 0L,
       predictions = data.frame(fit = fit, se.fit = se, exact = fit, error = 0, se.low = se, se.high = se))
}

certified_answer <- function(object, places, settings) {
  problem <- certified_problem(object, places)
  bounds <- certified_bounds(object, problem, settings)
  list(loglik = loglik_interval(object, bounds, problem), steps = bounds$steps,
       predictions = certified_predictions(object, places, bounds, problem))
}

# The Laplace approximation with the dense covariance of the field. The parameters of the covariance and the family are
# the parameters of the fit; the trend is estimated again.
dense_laplace_answer <- function(object, places) {
  model <- object$model
  model$parameters$value <- unname(object$theta)
  model$prior <- NULL
  family <- object$family
  family$parameters$value <- unname(object$dispersion)
  dense <- fit_family(object$parts, model, object$known, dense_settings(object$how), "none", family,
                      caller_env())
  answer <- exact_answer(dense, places)
  moments <- field_moments(object, places)
  answer$predictions[c("fit", "se.fit")] <- moments[c("mean", "se")]
  answer
}

# The maximum number of observations for a dense Laplace approximation: Newton's method for the mode factors a dense
# matrix several times.
most_dense_laplace <- 2000

refuse_large_family <- function(object, call = caller_env()) {
  n <- nobs.gp(object)
  if (is.null(object$family) || object$method == "exact" || n <= most_dense_laplace) return(invisible())
  stop_kernops("input", call = call, c(
    "{.fn certify} requires a fit with a {.arg family} to have at most {most_dense_laplace} observations, not {n}: the
     exact answer takes dense factors.",
    i = "{.fn glance} reports the changes with twice as many neighbours."
  ))
}

new_certificate <- function(object, result, level, exact) {
  certificate <- list(
    loglik = data.frame(approximate = object$loglik, low = result$loglik[[1]], high = result$loglik[[2]]),
    predictions = result$predictions, nobs = nobs.gp(object), formula = object$formula, method = object$method,
    neighbours = object$vecchia$m %||% NA_integer_, level = level, steps = result$steps
  )
  certificate$verdict <- if (exact) "exact" else verdict_of(certificate)
  structure(certificate, class = "gp_certificate")
}

# Bounds for differences between exact and approximate results: the interval of the exact minus the approximate
# log-likelihood; the root mean square and the maximum of the differences of predictions, divided by the exact standard
# errors; and the interval of the relative differences of the approximate standard errors from the exact standard
# errors. Sites with standard error 0, which are at observations without noise, are omitted.
largest_differences <- function(x) {
  p <- x$predictions[is.finite(x$predictions$se.fit) & x$predictions$se.high > 1e-8 * max(x$predictions$se.high, 0), ]
  off <- (abs(p$fit - p$exact) + p$error) / p$se.low
  ratio <- c(p$se.fit / p$se.high, p$se.fit / p$se.low) - 1
  list(loglik = c(x$loglik$low, x$loglik$high) - x$loglik$approximate,
       predictions = c(rms = sqrt(mean(off^2)), largest = max(off, 0)),
       se = if (length(ratio)) range(ratio) else c(0, 0))
}

# The verdict: "good" within the tolerable changes, "fair" within five times these changes, otherwise "poor".
verdict_of <- function(x) {
  off <- largest_differences(x)
  tolerable <- tolerable_changes(x$nobs, 1e-3)[c("loglik", "predictions", "se")]
  times <- max(c(max(abs(off$loglik)), off$predictions[["rms"]], max(abs(off$se))) / tolerable, na.rm = TRUE)
  verdict_by(times)
}

#' @export
print.gp_certificate <- function(x, ...) {
  method <- paste0(x$method, if (!is.na(x$neighbours)) paste0(" with ", counted(x$neighbours, "neighbour")))
  cli::cat_line("<gp_certificate> ", deparse1(x$formula), ", ", counted(x$nobs, "observation"), ", ", method)
  cat_labelled("approximation", certificate_words(x), ",")
  invisible(x)
}

# The verdict on an approximation, and its largest differences from the exact answer.
certificate_words <- function(x) {
  if (x$verdict == "exact") return("none: the fit is exact")
  off <- largest_differences(x)
  between <- function(limits, unit = "") {
    limits <- trimws(formatC(round(signif(sort(limits), 3), 3), digits = 3, format = "fg", flag = "+"))
    paste0(paste(unique(limits), collapse = " to "), unit)
  }
  c(x$verdict, paste("log-likelihood", between(-off$loglik)),
    paste("predictions within", signif(off$predictions[["largest"]], 2), "standard errors"),
    paste("standard errors", between(100 * off$se, " %")))
}

#' @rdname certify
#' @method tidy gp_certificate
#' @export
tidy.gp_certificate <- function(x, ...) {
  refuse_arguments("tidy.gp_certificate", list(...))
  off <- largest_differences(x)
  largest <- off$predictions[["largest"]]
  as_table(data.frame(quantity = c("logLik", "prediction", "std.error"),
                      low = c(-off$loglik[[2]], -largest, off$se[[1]]),
                      high = c(-off$loglik[[1]], largest, off$se[[2]])))
}

#' @rdname certify
#' @method glance gp_certificate
#' @export
glance.gp_certificate <- function(x, ...) {
  refuse_arguments("glance.gp_certificate", list(...))
  as_table(glanced_certificate(x))
}

# The columns that describe a certificate in glance().
glanced_certificate <- function(x) {
  off <- largest_differences(x)
  data.frame(verdict = x$verdict, exact.low = x$loglik$low, exact.high = x$loglik$high,
             prediction.rms = off$predictions[["rms"]], prediction.largest = off$predictions[["largest"]],
             se.low = off$se[[1]], se.high = off$se[[2]], level = x$level)
}
