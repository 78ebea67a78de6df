# Gneiting's covariance of space and time. `d` is the number of spatial coordinates.

gneiting_kernel <- kernel("gneiting", function(variance, q, t, nu, power, interaction, d) {
  psi <- sprintf("(1 + %s)", distance_power(t, power))
  space <- matern_kernel$text("1", sprintf("(%s * Powf(%s, -%s))", q, psi, interaction), nu)
  sprintf("%s * Powf(%s, -%s) * (%s)", variance, psi, code_text(max(1, d / 2)), space)
}, derivatives = function(q, t, nu, power, interaction) {
  # the field is smooth in time only if the power is 2; for an estimated power, `power` is the name of the parameter
  if (is.numeric(power) && power != 2 || identical(power, "power")) return(NULL)
  matern_derivatives("1", sprintf("(%s * Powf(1 + %s, -%s))", q, t, interaction), nu)
}, apart = list(
  factor = function(variance, t, d) sprintf("%s * Powf(1 + %s, -%s)", variance, t, code_text(max(1, d / 2))),
  text = function(q, t, nu, interaction) {
    matern_kernel$text("1", sprintf("(%s * Powf(1 + %s, -%s))", q, t, interaction), nu)
  },
  distance = function(q, t, interaction) sprintf("(%s * Powf(1 + %s, -%s))", q, t, interaction)
))

#' A covariance of space and time that is not separable
#'
#' The covariance of Gneiting (2002) with a Matern covariance in space: the range in space grows with the distance in
#' time, as for a field that is transported or spreads.
#'
#' @param nu smoothness in space, a number above 0 and at most 50.
#' @param variance,range the variance, and the range in space.
#' @param speed the number of units of space that equal one unit of time: the range in time is `range / speed`.
#' @param power the smoothness in time: above 0 and at most 2. With power 2 the field is smooth in time; with power 1
#'   the field is as rough as with an exponential covariance.
#' @param interaction the interaction of space and time, between 0 and 1. With interaction 0, the covariance is the
#'   product of a covariance in space and a covariance in time.
#' @param time the number of the coordinate that is time; default: the last of `dims`, which must then be given.
#' @param dims,fixed as in [covariance_functions].
#'
#' @details With the distances h in space and s in time, and d coordinates in space, the covariance is \deqn{v
#'   \psi^{-\max(1, d/2)} M_\nu(h / (r \psi^{\beta/2})), \quad \psi = 1 + (s \cdot speed / r)^{power},}{ v psi^-max(1,
#'   d/2) M(h / (r psi^(beta/2))), psi = 1 + (s speed / r)^power,} where M is the correlation of Matern and beta the
#'   `interaction`. For up to two coordinates in space and nu = 1/2 this is equation 16 of Gneiting (2002). Parameters
#'   without a value are estimated. For a likelihood-ratio test of the interaction, use `anova()` with a fit with
#'   `interaction = 0, fixed = "interaction"`; since 0 is on the boundary of the parameter space, halve the p-value.
#'
#'   The field has derivatives if nu is above 1 and the power is fixed at 2:
#'   `gneiting(3/2, power = 2, fixed = "power")`. See the section about derivatives in [gp()].
#' @return A covariance, for [gp()].
#' @section Errors: class `kernops_input_error` for invalid parameters, and `kernops_dim_error` if `time` is not one of
#'   several coordinates.
#' @references
#' Gneiting, T. (2002) Nonseparable, stationary covariance functions for space-time data. *Journal of the American
#' Statistical Association* 97, 590-600.
#' @seealso [covariance_functions], whose section about space and time has separable, product-sum and metric models.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(200), y = runif(200), day = runif(200, 0, 5))
#' space <- as.matrix(dist(d[c("x", "y")]))
#' psi <- 1 + as.matrix(dist(d$day))
#' d$z <- drop(rnorm(200) %*% chol(exp(-space / 0.3 / sqrt(psi)) / psi)) + rnorm(200, sd = 0.2)
#' gp(z ~ 1, d, ~ x + y + day, gneiting(time = 3, power = 1, fixed = "power") + nugget(), starts = 1)
#' @export
gneiting <- function(nu = 1/2, variance = NULL, range = NULL, speed = NULL, power = NULL, interaction = NULL,
                     time = dims[length(dims)], dims = NULL, fixed = character()) {
  check_smoothness(nu)
  check_power(power, 2)
  check_number(time, "time", least = 1, whole = TRUE)
  kernel <- with_constants(gneiting_kernel, nu = nu)
  kernel$words <- paste0("nu = ", format(nu))
  parameters <- list(variance = variance, range = range, speed = speed, power = power, interaction = interaction)
  geometry <- replace(time_apart_geometry, c("time", "words"), list(time, paste0("time = ", time)))
  new_leaf(kernel, parameters, fixed, dims, geometry)
}

check_interaction <- function(x, call) {
  if (x >= 0 && x <= 1) return(invisible())
  stop_kernops("input", "{.arg interaction} must be from 0 to 1, not {.val {x}}.", call = call)
}
