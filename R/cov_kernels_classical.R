# The other models of geostatistics: those of bounded variograms, and intrinsic models.

#' @rdname covariance_functions
#' @export
powered_exponential <- function(variance = NULL, range = NULL, power = NULL, ...) {
  check_power(power, 2)
  stationary("powered_exponential", code_text("variance * Exp(-", distance_power(), ")"),
             list(variance = variance, range = range, power = power), ..., spectrum = stable_frequencies)
}

#' @rdname covariance_functions
#' @export
circular <- function(variance = NULL, range = NULL, ...) {
  overlap <- "1 - 0.6366197723675814 * ({b} * Sqrt(1 - Square({b})) + Asin({b}))"
  stationary("circular", within_ball(overlap), list(variance = variance, range = range), ..., most_dims = 2,
             spectrum = ball_frequencies, constants = list(balls = 2))
}

#' @rdname covariance_functions
#' @export
pentaspherical <- function(variance = NULL, range = NULL, ...) {
  stationary("pentaspherical", within_ball("1 - 1.875 * {b} + 1.25 * Pow({b}, 3) - 0.375 * Pow({b}, 5)"),
             list(variance = variance, range = range), ..., most_dims = 5, spectrum = ball_frequencies,
             constants = list(balls = 5))
}

#' @rdname covariance_functions
#' @export
triangular <- function(variance = NULL, range = NULL, ...) {
  stationary("triangular", within_ball("1 - {b}"), list(variance = variance, range = range), ..., most_dims = 1,
             spectrum = ball_frequencies, constants = list(balls = 1))
}

#' @rdname covariance_functions
#' @export
wave <- function(variance = NULL, range = NULL, ...) {
  stationary("wave", "variance * SinXDivX(Sqrt({q}))", list(variance = variance, range = range), ..., most_dims = 3,
             spectrum = wave_frequencies, screens = FALSE)
}

#' @rdname covariance_functions
#' @export
cosine <- function(variance = NULL, period = NULL, dims = NULL, fixed = character()) {
  stationary("cosine", "variance * Cos(6.283185307179586 * ({x} - {y}) / period)",
             list(variance = variance, period = period), dims = dims, fixed = fixed, most_dims = 1,
             spectrum = cosine_frequencies, unit_range = TRUE)
}

#' @rdname covariance_functions
#' @export
power_law <- function(variance = NULL, power = NULL, ...) {
  check_power(power, 2, FALSE)
  stationary("power_law", paste0("variance * ", distance_power()), list(variance = variance, power = power), ...,
             screens = FALSE, intrinsic = TRUE)
}

#' @rdname covariance_functions
#' @export
logarithmic <- function(variance = NULL, range = NULL, ...) {
  stationary("logarithmic", "variance * Log(1 + Sqrt({q}))", list(variance = variance, range = range), ...,
             screens = FALSE, intrinsic = TRUE)
}

# {q}^(power / 2), with a gradient that is 0 where {q} is.
distance_power <- function() "(1 - ({q} == 0)) * Powf({q} + ({q} == 0), 0.5 * power)"

check_power <- function(power, most, included = TRUE, call = caller_env()) {
  if (is.null(power) || !is.numeric(power) || length(power) != 1 || !is.finite(power)) return(invisible())
  if (power < most || (included && power == most)) return(invisible())
  stop_kernops("input", "{.arg power} must be {if (included) 'at most' else 'below'} {most}, not {.val {power}}.",
               call = call)
}
