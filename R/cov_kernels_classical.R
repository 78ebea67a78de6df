# Further models of geostatistics: models with bounded variograms, and intrinsic models.

# The formula q^(power / 2), with a gradient that is 0 at q = 0.
distance_power <- function(q, power) sprintf("(1 - (%1$s == 0)) * Powf(%1$s + (%1$s == 0), 0.5 * %2$s)", q, power)

powered_exponential_kernel <- kernel("powered_exponential", function(variance, q, power) {
  sprintf("%s * Exp(-%s)", variance, distance_power(q, power))
}, frequencies = stable_frequencies)

#' @rdname covariance_functions
#' @export
powered_exponential <- function(variance = NULL, range = NULL, power = NULL, ...) {
  check_power(power, 2)
  stationary(powered_exponential_kernel, list(variance = variance, range = range, power = power), ...)
}

circular_kernel <- ball_kernel("circular", 2, "1 - 0.6366197723675814 * (%1$s * Sqrt(1 - Square(%1$s)) + Asin(%1$s))")

#' @rdname covariance_functions
#' @export
circular <- function(variance = NULL, range = NULL, ...) ranged(circular_kernel, variance, range, ...)

pentaspherical_kernel <- ball_kernel("pentaspherical", 5,
                                     "1 - 1.875 * %1$s + 1.25 * Pow(%1$s, 3) - 0.375 * Pow(%1$s, 5)")

#' @rdname covariance_functions
#' @export
pentaspherical <- function(variance = NULL, range = NULL, ...) ranged(pentaspherical_kernel, variance, range, ...)

triangular_kernel <- ball_kernel("triangular", 1, "1 - %1$s")

#' @rdname covariance_functions
#' @export
triangular <- function(variance = NULL, range = NULL, ...) ranged(triangular_kernel, variance, range, ...)

# The derivatives follow from j_(n - 1)(r) + j_(n + 1)(r) = (2 n + 1) j_n(r) / r (DLMF 10.51).
wave_derivatives <- function(variance, q) {
  j <- sprintf("SphericalBesselJ(Sqrt(%s), %d)", q, 0:4)
  c(sprintf("%s * (%s + %s) / (-6)", variance, j[[1]], j[[3]]),
    sprintf("%s * ((%s + %s) / 60 + (%s + %s) / 140)", variance, j[[1]], j[[3]], j[[3]], j[[5]]))
}

wave_kernel <- kernel("wave", function(variance, q) sprintf("%s * SinXDivX(Sqrt(%s))", variance, q),
                      frequencies = wave_frequencies, most_dims = 3, screens = FALSE, derivatives = wave_derivatives)

#' @rdname covariance_functions
#' @export
wave <- function(variance = NULL, range = NULL, ...) ranged(wave_kernel, variance, range, ...)

cosine_kernel <- kernel("cosine", function(variance, x, y, period) {
  sprintf("%s * Cos(6.283185307179586 * (%s - %s) / %s)", variance, x, y, period)
}, frequencies = cosine_frequencies, most_dims = 1, geometry = circle_geometry, derivatives = "symbolic")

#' @rdname covariance_functions
#' @export
cosine <- function(variance = NULL, period = NULL, dims = NULL, fixed = character()) {
  stationary(cosine_kernel, list(variance = variance, period = period), dims = dims, fixed = fixed)
}

power_law_kernel <- kernel("power_law", function(variance, q, power) paste(variance, "*", distance_power(q, power)),
                           screens = FALSE, intrinsic = TRUE, mean_square = function(leaf, u) {
                             typical_distance(leaf, u)^(leaf$parameters$power %||% 1)
                           })

#' @rdname covariance_functions
#' @export
power_law <- function(variance = NULL, power = NULL, ...) {
  check_power(power, 2, FALSE)
  stationary(power_law_kernel, list(variance = variance, power = power), ...)
}

logarithmic_kernel <- kernel("logarithmic", function(variance, q) sprintf("%s * Log(1 + Sqrt(%s))", variance, q),
                             screens = FALSE, intrinsic = TRUE)

#' @rdname covariance_functions
#' @export
logarithmic <- function(variance = NULL, range = NULL, ...) ranged(logarithmic_kernel, variance, range, ...)

check_power <- function(power, most, included = TRUE, call = caller_env()) {
  if (is.null(power) || !is.numeric(power) || length(power) != 1 || !is.finite(power)) return(invisible())
  if (power < most || (included && power == most)) return(invisible())
  stop_kernops("input", "{.arg power} must be {if (included) 'at most' else 'below'} {most}, not {.val {power}}.",
               call = call)
}
