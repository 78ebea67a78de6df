#' Indicator kriging
#'
#' Predicts the distribution function of the response at some cut-offs, without assuming a distribution. For each
#' cut-off, the indicators of the observations (1 if an observation is at most the cut-off, else 0) are kriged.
#'
#' @param formula,data,coords,... arguments of [gp()], which makes a fit for each cut-off, such as `estimate = "none"`
#'   for a given covariance.
#' @param cuts the cut-offs, in ascending order, between the smallest and the largest observation.
#' @param covariance a covariance for all cut-offs, whose parameters are estimated for each cut-off (except with
#'   `estimate = "none"`), or a list with a covariance for each cut-off.
#' @param object a result of `gp_indicator()`.
#' @param newdata,nmax,maxdist as in [predict()][predict.gp].
#' @param probs probabilities of quantiles. Quantiles are interpolated linearly between cut-offs; beyond the cut-offs
#'   they are `NA`.
#'
#' @details Kriged probabilities may decrease from one cut-off to the next. The usual correction (Deutsch and Journel
#'   1998) limits the probabilities to the interval from 0 to 1 and replaces them by the mean of two ascending
#'   sequences: the smallest ascending sequence above the probabilities and the largest ascending sequence below the
#'   probabilities.
#' @return `gp_indicator()`: a list of class `gp_indicator` with the `fits` and the `cuts`. `predict()`: a data frame
#'   or, for a spatial object, an object of the same class. The result has a column for each cut-off, such as
#'   `below500`, the probability that the response is at most 500; with `probs`, also columns such as `q0.5`.
#' @section Errors: the errors of [gp()] and [predict()][predict.gp]; class `kernops_input_error` for a cut-off with all
#'   observations on one side.
#' @references Deutsch, C. V. and Journel, A. G. (1998) *GSLIB: Geostatistical Software Library and User's Guide*. 2nd
#' edition. Oxford University Press.
#'
#' Journel, A. G. (1983) Nonparametric estimation of spatial distributions. *Mathematical Geology* 15, 445-468.
#' @seealso [predict()][predict.gp] with `above` and `probs`, for probabilities from the normal distribution.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(80), y = runif(80))
#' d$z <- exp(sin(5 * d$x) + d$y + rnorm(80, sd = 0.3))
#' fits <- gp_indicator(z ~ 1, d, ~ x + y, cuts = c(1, 2, 4),
#'                      covariance = exponential(0.2, 0.3) + nugget(0.05), estimate = "none")
#' predict(fits, data.frame(x = c(0.2, 0.8), y = 0.5), probs = 0.5)
#' @aliases predict.gp_indicator
#' @export
gp_indicator <- function(formula, data = NULL, coords = NULL, cuts, covariance = matern(3/2) + nugget(), ...) {
  check_model_formula(formula, rlang::current_env())
  if (!is.numeric(cuts) || !length(cuts) || !all(is.finite(cuts)) || is.unsorted(cuts, strictly = TRUE)) {
    stop_kernops("input", "{.arg cuts} must be ascending numbers.")
  }
  if (is_covariance(covariance)) covariance <- rep(list(covariance), length(cuts))
  if (length(covariance) != length(cuts)) {
    stop_kernops("input", "{.arg covariance} must be a covariance, or a list of {length(cuts)} of them.")
  }
  fits <- Map(function(cut, covariance) {
    indicator <- formula
    indicator[[2]] <- bquote(as.numeric(.(formula[[2]]) <= .(cut)))
    fit <- gp(indicator, data, coords, covariance, ...)
    if (length(unique(fit$parts$y)) == 1) refuse_cut(cut)
    fit
  }, cuts, covariance)
  structure(list(fits = fits, cuts = cuts, formula = formula), class = "gp_indicator")
}

refuse_cut <- function(cut) {
  stop_kernops("input", "The cut-off {cut} does not divide the observations: all are on one side of it.", call = NULL)
}

#' @rdname gp_indicator
#' @export
predict.gp_indicator <- function(object, newdata = NULL, probs = NULL, coords = NULL, nmax = Inf, maxdist = Inf, ...) {
  refuse_arguments("predict.gp_indicator", list(...))
  how <- list(local = FALSE, nmax = nmax, maxdist = maxdist)
  check_local_limits(how)
  check_levels(probs, NULL)
  points <- new_points(object$fits[[1]], newdata, coords)
  kriged <- vapply(object$fits, function(fit) {
    fit$how$backend <- usable_backend(fit$how$backend)
    predicted_mean(fit, points, how)
  }, numeric(nrow(points$u)))
  below <- in_order(matrix(kriged, nrow(points$u)))
  table <- level_columns(list(), "below", object$cuts, function(cut) below[, match(cut, object$cuts)])
  table <- level_columns(table, "q", probs, function(p) apply(below, 1, interpolated_quantile, object$cuts, p))
  give_back_points(as.data.frame(table, optional = TRUE), points, newdata, object$fits[[1]])
}

# Makes each row of probabilities ascending, with values between 0 and 1.
in_order <- function(p) {
  p <- pmin(pmax(p, 0), 1)
  if (ncol(p) < 2 || !nrow(p)) return(p)
  last <- ncol(p)
  up <- down <- p
  for (k in 2:last) up[, k] <- pmax(up[, k], up[, k - 1])
  for (k in (last - 1):1) down[, k] <- pmin(down[, k], down[, k + 1])
  (up + down) / 2
}

interpolated_quantile <- function(below, cuts, p) {
  if (anyNA(below) || p < below[[1]] || p > below[[length(below)]]) return(NA_real_)
  interval <- findInterval(p, below, rightmost.closed = TRUE)
  if (length(cuts) == 1 || below[[interval]] == p) return(cuts[[match(TRUE, below >= p)]])
  share <- (p - below[[interval]]) / (below[[interval + 1]] - below[[interval]])
  cuts[[interval]] + share * (cuts[[interval + 1]] - cuts[[interval]])
}

#' @export
print.gp_indicator <- function(x, ...) {
  cli::cat_line("<gp_indicator> ", deparse1(x$formula), ", ", counted(nobs.gp(x$fits[[1]]), "observation"))
  for (k in seq_along(x$cuts)) cat_labelled(paste("up to", format(x$cuts[[k]])), format(x$fits[[k]]$covariance), "")
  invisible(x)
}
