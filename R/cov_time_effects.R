# Effects of a time index: autoregressive processes and random walks. The effects are added to the field and have the
# same value at all locations.

#' Effects of time
#'
#' Make terms of the covariance of [gp()] that depend on a time index alone, such as the year of a survey, and are the
#' same at all locations: `matern(3/2) + ar1(~ year) + nugget()`.
#'
#' @param effect a one-sided formula of a numeric variable, a date or a time, such as `~ year`. Dates and times are in
#'   days. With several variables, `zinc ~ year` is an effect on the variable zinc alone, see [lmc()].
#' @param variance for `ar1()`, the variance of the effect at each time; for `random_walk()`, the variance of the change
#'   of the effect in one unit of time.
#' @param range the range of the correlation in units of time: effects one unit apart have the correlation
#'   exp(-1 / range).
#' @param fixed as in [covariance_functions].
#'
#' @details With the variance v and the distance h of two times, `ar1()` has the covariance v exp(-h / range): the
#'   autoregressive process of order 1 with positive correlation, for equally or unequally spaced times. The random walk
#'   is 0 at the first time of the observations, so that the intercept of the trend is the level at this time; the
#'   covariance between the effects t and s units after the first time is v min(t, s).
#'
#'   The time need not be one of the coordinates. Predictions at other times, including times after the last time of the
#'   observations, are forecasts with standard errors. Forecasts by `ar1()` return to the trend; forecasts by
#'   `random_walk()` stay at the last level, with a variance that grows by v for each unit of time. With `method =
#'   "vecchia"`, only the field is approximated, and the effects have a coefficient for each time. `ranef()` returns the
#'   predicted effects of all times, see [ranef.gp()].
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for effects of another form, and for variables that are not numbers,
#'   dates or times.
#' @references
#' Brockwell, P. J. and Davis, R. A. (2016) *Introduction to Time Series and Forecasting*. 3rd edition, Springer.
#' @seealso [random_effect()], whose effects of different levels are independent; [gneiting()] and the space-time models
#'   of [covariance_functions] for fields that change in time.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(200), year = sample(2001:2020, 200, TRUE))
#' d$y <- cumsum(rnorm(20))[d$year - 2000] + sin(6 * d$x) + rnorm(200, sd = 0.3)
#' fit <- gp(y ~ 1, d, ~ x, matern(3/2) + random_walk(~ year) + nugget())
#' fit
#' predict(fit, data.frame(x = 0.5, year = 2018:2022), se.fit = TRUE, interval = "confidence")
#' update(fit, covariance = matern(3/2) + ar1(~ year) + nugget())
#' @name time_effects
NULL

# `process` returns the covariance of the effects at times a and b for variance 1. `slopes` returns the derivatives of
# this covariance with respect to the parameters that follow the variance. p contains the parameters of the leaf.
ar1_kernel <- replace(exponential_kernel, c("label", "process", "slopes"), list(
  "ar1", function(a, b, p) exp(-abs(outer(a, b, `-`)) / p$range),
  function(a, b, p) list(exp(-abs(outer(a, b, `-`)) / p$range) * abs(outer(a, b, `-`)) / p$range^2)
))

random_walk_kernel <- kernel(
  "random_walk", function(variance, x, y) {
    sprintf("%1$s / 2 * (Abs(%2$s) + Abs(%3$s) - Abs(%2$s - %3$s))", variance, x, y)
  }, screens = FALSE, stationary = FALSE,
  mean_square = function(leaf, u) max(mean(abs(u[, leaf$dims])), .Machine$double.xmin),
  process = function(a, b, p) (outer(abs(a), abs(b), `+`) - abs(outer(a, b, `-`))) / 2,
  slopes = function(a, b, p) list()
)

#' @rdname time_effects
#' @export
ar1 <- function(effect, variance = NULL, range = NULL, fixed = character()) {
  time_leaf(ar1_kernel, effect, list(variance = variance, range = range), fixed, euclidean_geometry)
}

#' @rdname time_effects
#' @export
random_walk <- function(effect, variance = NULL, fixed = character()) {
  time_leaf(random_walk_kernel, effect, list(variance = variance), fixed)
}

time_leaf <- function(kernel, effect, parameters, fixed, geometry = no_geometry, call = caller_env()) {
  sides <- sides_of_effect(effect)
  effect <- sides$formula
  if (!inherits(effect, "formula") || length(effect) != 2 || !length(all.vars(effect)) || is_bar(effect[[2]])) {
    stop_kernops("input", "{.arg effect} must be a formula such as {.code ~ year}.", call = call)
  }
  leaf <- new_leaf(kernel, parameters, fixed, geometry = geometry, call = call)
  leaf$sees <- list(new_column("time", effect, paste0("time of ", kernel$label, "()")))
  leaf$label <- sprintf("%s(%s)", kernel$label, deparse1(effect[[2]]))
  belonging_to(leaf, sides$variable)
}

is_process <- function(leaf) !is.null(leaf$kernel$process)

# The times of a process at points u, except points where the effect is identically 0.
process_times <- function(leaf, u) {
  times <- sort(unique(u[, leaf$dims]))
  times[diag(leaf$kernel$process(times, times, list(range = 1))) > 0]
}

settle_effect.effect_of_times <- function(effect, u) {
  effect$times <- process_times(effect$leaf, u)
  effect$size <- length(effect$times)
  effect
}

# The entries of a point are the row of L for the time of the point, where L is the Cholesky factor of the covariance
# matrix of the coefficients. L has a row for each time of the observations, followed by a row for each time that occurs
# only at the points u. Each of these additional times has a new coefficient.
effect_columns.effect_of_times <- function(effect, theta, u, known) {
  times <- c(effect$times, setdiff(process_times(effect$leaf, u), effect$times))
  root <- root_at_times(effect, theta, times)
  new <- seq_len(length(times) - effect$size)
  list(columns = matrix(c(effect$before + seq_len(effect$size), known + new), length(times), nrow(u)),
       values = rbind(root, 0)[match(u[, effect$leaf$dims], times, nrow(root) + 1), , drop = FALSE],
       known = known + length(new))
}

effect_root.effect_of_times <- function(effect, theta) root_at_times(effect, theta, effect$times)

root_at_times <- function(effect, theta, times) {
  p <- effect_parameters(effect, theta)
  sqrt(p$variance) * t(chol(effect$leaf$kernel$process(times, times, p)))
}

effect_slopes.effect_of_times <- function(effect, theta) {
  p <- effect_parameters(effect, theta)
  kernel <- effect$leaf$kernel
  c(list(kernel$process(effect$times, effect$times, p)),
    lapply(kernel$slopes(effect$times, effect$times, p), `*`, p$variance))
}
