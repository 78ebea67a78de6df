# The parameters of a covariance on the scale of the search: transformations, bounds, and typical values.

# The search uses log(value), or the value divided by a unit; angles are in radians. For parameters of a user-defined
# formula for which the search uses log(value), the unit determines only the distance between starting values
# (search_scales.R).
to_search <- function(parameters, theta) {
  ifelse(parameters$log, log(pmax(theta, .Machine$double.xmin)), theta / parameters$unit)
}
from_search <- function(parameters, s) ifelse(parameters$log, exp(s), s * parameters$unit)
search_slope <- function(parameters, theta) ifelse(parameters$log, theta, parameters$unit)

# TRUE for angles in the plane; adding 180 degrees to such an angle does not change the covariance. The names of angles
# in space end in a number.
is_direction <- function(parameters) parameters$kind == "angle" & grepl("angle$", parameters$name)

# The scale factor that nlminb() uses for a parameter. For a period, the factor converts a change of the period to the
# change of the phase, in radians, over the extent of the data.
search_scale <- function(parameters, theta) {
  ifelse(parameters$kind == "period", 2 * pi * parameters$extent / theta, 1)
}

# Adds bounds to the parameters, for detrended values `y` at the points u.
with_bounds <- function(model, u, y) {
  parameters <- model$parameters
  variance <- mean(y^2)
  model$sites <- typical_sites(u)
  if (is_lmc(model$covariance)) model$moments <- variable_moments(model, u, y)
  for (n in seq_len(nrow(parameters))) {
    row <- parameters[n, ]
    extent <- if (row$kind %in% c("range", "period")) leaf_extent(model, row, u) else 1
    spread <- if (row$variable > 0) model$moments$sd[[row$variable]]
    if (row$variable > 0) parameters$unit[[n]] <- spread / 4
    bounds <- switch(
      row$kind, variance = typical_variance(model, row, u, variance) * c(1e-8, 1e6),
      range = extent * c(1e-3, longest_range(model, row)),
      nu = if (length(model$functional)) replace(parameter_kinds$nu$search, 1, least_smoothness) else
        parameter_kinds$nu$search,
      period = extent * c(2e-3, 5), sill = , cross = spread * c(-1e3, 1e3),
      speed = typical_speed(model, row, u) * c(1e-3, 1e3),
      parameter_kinds[[row$kind]]$search %||% if (row$log) abs(row$value) * c(1e-6, 1e6) else c(-Inf, Inf)
    )
    parameters[n, c("lower", "upper")] <- range(bounds, if (row$kind != "free") row$value, prior_limits(model, n),
                                                na.rm = TRUE)
    parameters$extent[[n]] <- extent
  }
  model$parameters <- parameters
  with_free_parameters(model, variance)
}

# The maximum range of a search, in extents of the data. The maximum is large for two reasons. For a smooth field with
# little noise, the optimal variance is far above the variance of the data, and the optimal range is far above the
# extent of the data. The optimal range of a coordinate without an effect is infinite.
longest_range <- function(model, row) {
  if (!leaf_at(model$covariance, row$leaf)$geometry$lengths) 20 else if (row$coordinate > 0) 1e5 else 1e4
}

# The largest distance between points, in the units of a range. If a leaf has a range for each coordinate, the result is
# the largest distance along the coordinate to which the range belongs.
leaf_extent <- function(model, row, u) {
  leaf <- leaf_at(model$covariance, row$leaf)
  dims <- leaf_dims(leaf, model$d)
  if (!leaf$geometry$lengths && row$kind == "range") return(1)
  if (row$coordinate > 0) return(extent_of(u[, dims[[row$coordinate]]]))
  v <- leaf$geometry$place(chosen_columns(u, setdiff(dims, leaf$geometry$time)))
  extent_of(c(0, sqrt(sum(column_extents(v)^2))))
}

# The typical value of a speed: the ratio of the extent in space to the extent in time.
typical_speed <- function(model, row, u) {
  time <- u[, leaf_at(model$covariance, row$leaf)$geometry$time]
  leaf_extent(model, row, u) / extent_of(time)
}

# The typical value of a variance parameter if the variance of the whole field is `whole`.
typical_variance <- function(model, row, u, whole) {
  leaf <- leaf_at(model$covariance, row$leaf)
  if (!is.null(leaf$belongs)) whole <- model$moments$sd[[leaf$belongs$number]]^2
  sizes <- mean_square(leaf, u)
  if (length(sizes) > 1) sizes <- sizes[[match(row$row, leaf_rows(model, row$leaf, "variance"))]]
  leaf_variances(model$covariance, u, whole)[[row$leaf]] / sizes
}

# The typical variance of each leaf. In a product, one factor has the unit of the response, and the variances of the
# other factors are fixed.
leaf_variances <- function(x, u, whole, path = "1") {
  if (x$kind == "leaf") return(stats::setNames(whole, path))
  sizes <- rep(whole, length(x$parts))
  if (x$kind == "*") {
    free <- vapply(x$parts, has_own_scale, NA)
    sizes[!free] <- vapply(x$parts[!free], held_variance, 0, u)
    sizes[free] <- whole / prod(sizes[!free])
  }
  unlist(unname(Map(leaf_variances, x$parts, list(u), sizes, part_paths(x, path))))
}

held_variance <- function(x, u) {
  if (x$kind == "leaf" && !x$kernel$by_formula && is.null(x$parameters$variance)) return(mean_square(x, u))
  fixed_leaf <- Find(function(leaf) !leaf$kernel$by_formula && "variance" %in% leaf$fixed, leaves_of(x))
  if (is.null(fixed_leaf)) 1 else sum(fixed_leaf$parameters$variance * mean_square(fixed_leaf, u))
}

# For models with a free scale, in which the common factor of all variances is profiled at each step. Only the ratios of
# the user's variances matter in such a model. The variances are multiplied by a factor that makes them similar to the
# variance of the response.
with_free_scale <- function(model, u, y) {
  row <- model$parameters[model$scale[[1]], ]
  if (is_white(row$label) || is.na(row$value)) return(model)
  start <- 0.9 * typical_variance(model, row, u, mean(y^2))
  model$parameters$value[model$scale] <- model$parameters$value[model$scale] * start / row$value
  model
}
