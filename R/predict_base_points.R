# The base points of joint predictions: observations, or values of the field at the observations.

# The points that new points are conditioned on, and what is known there. A list:
#   u, near, noise, diagonal, posterior  as joint_sets() takes them
#   m              how many of these and of earlier new points a new point is conditioned on
#   process, trend the process there, and if standard errors are wanted, the columns of the trend as the data explain
#                  them
#   system         of base points whose values have a posterior, the latent_system() of it; else NULL
#   row(k)         the observation of base point k
# The field itself screens distant points off, which noisy observations do not: where all observations have noise and
# their number allows, base points are values of the field.
joint_base <- function(object, uncertain) {
  if (is_latent(object)) {
    system <- if (uncertain) posterior_with_factor(object) else fitted_system(object)
    return(field_base(object, system, object$vecchia$new %||% max(60L, object$vecchia$local), uncertain))
  }
  system <- if (has_latent_field(object)) gaussian_system(object)
  if (is.null(system)) return(observed_base(object))
  field_base(object, system, object$vecchia$new %||% (2L * object$vecchia$m), uncertain)
}

observed_base <- function(object) {
  data <- object$data
  list(u = data$u, near = neighbour_coordinates(object$model, object$theta, data$u), diagonal = 1,
       noise = noise_variance(data, object$model, object$theta), m = object$vecchia$new %||% local_count_of(object),
       process = process_of_data(object), trend = data$x, row = identity)
}

field_base <- function(object, system, m, uncertain) {
  sets <- system$sets
  list(u = sets$points, near = neighbour_coordinates(object$model, object$theta, sets$points, object$data$u),
       diagonal = latent_diagonal, noise = numeric(nrow(sets$points)), m = m, process = system$field,
       trend = if (uncertain && ncol(object$data$x)) smoothed(system, object$data$x) else
         matrix(0, nrow(sets$points), 0),
       system = system, posterior = if (uncertain) system$posterior$held(), row = function(k) match(k, sets$of))
}

has_latent_field <- function(object, most = 2e4) {
  noise <- noise_variance(object$data, object$model, object$theta)
  !is_lmc(object$model$covariance) && length(noise) <= most && all(noise > 0)
}

# As fitted_system(), of Gaussian observations; NULL where the field has no factor.
gaussian_system <- function(object) {
  data <- object$data
  field <- replace(object$model, "nugget", list(integer()))
  places <- field_places(data$u, field)
  most <- max(1L, nrow(places$u) - 1L)
  sets <- latent_sets(places, field, object$theta, min(object$vecchia$m, most), object$how)
  system <- latent_system(sets, field, object$theta)
  if (is.null(system)) return(NULL)
  weight <- 1 / noise_variance(data, object$model, object$theta)
  if (is.nan(system$logdet(weight))) return(NULL)
  system <- c(system, list(sets = sets, weight = weight))
  c(system, list(field = smoothed(system, process_of_data(object))))
}

# Draws of the values of base points with precision Q + D: (Q + D)^-1 (U' e + D^(1/2) e') with standard normal e, e'.
base_draws <- function(base, nsim) {
  if (is.null(base$system)) return(matrix(base$process, length(base$process), nsim))
  system <- base$system
  normal <- function() normal_numbers(nrow(base$u), nsim)
  precision <- as.vector(system$gather(system$share(system$weight)))
  factor <- c(system$factor, list(neighbours = system$sets$neighbours))
  errors <- sparse_multiply(factor, normal(), transposed = TRUE) + sqrt(precision) * normal()
  as.vector(base$process) + system$mean(system$weight, errors)
}
