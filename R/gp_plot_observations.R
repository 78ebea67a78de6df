# Panels of observations, residuals and covariances.

# A panel of the observations of fitted_sample() and their fitted values, over the first two coordinates or, if there is
# one coordinate, over this coordinate.
observations_panel <- function(x) {
  some <- fitted_sample(x)
  u <- x$parts$u[some$rows, , drop = FALSE]
  plane <- ncol(u) > 1
  table <- data.frame(x = axis_values(x, 1, u[, 1]), y = if (plane) axis_values(x, 2, u[, 2]) else some$fitted,
                      value = some$fitted)
  new_panel("values", paste("Fitted", response_name(x)), axis_label(x, 1),
            if (plane) axis_label(x, 2) else response_name(x), table = table,
            aspect = if (x$model$d == 2) map_aspect(x) else NA, legend = "fitted")
}

# The fitted values and residuals of observations, with the row numbers of these observations: all observations or, if
# there are more than `most_drawn`, a sample.
fitted_sample <- function(x, residuals = FALSE) {
  if (inherits(x, "gp_blocks")) return(sample_of_table(x))
  n <- nobs.gp(x)
  if (n <= most_drawn || is_lmc(x$model$covariance)) {
    all <- replace(x, "na.action", list(NULL))
    return(list(rows = seq_len(n), fitted = unname(stats::fitted(all)),
                residual = if (residuals) unname(stats::residuals(all))))
  }
  rows <- spaced_rows(n, most_predicted)
  points <- some_points(new_points(x, NULL, NULL), rows)
  mean <- predicted_mean(x, points)
  if (is.null(x$family)) return(list(rows = rows, fitted = mean, residual = x$parts$y[rows] - mean))
  x <- with_phi_of(x, points$u)
  fitted <- mean_of(x, mean)
  list(rows = rows, fitted = fitted,
       residual = family_residuals(x, x$response$y[rows], fitted, x$parts$weights[rows], "deviance"))
}

# The counterpart of fitted_sample() for a fit that with_observations() returned.
sample_of_table <- function(x) {
  rows <- drawn_rows(nrow(x$records))
  residual <- residuals_of_some(x, x$records[rows, , drop = FALSE])
  list(rows = rows, fitted = x$parts$y[rows] - residual, residual = residual)
}

residual_panel <- function(x) {
  some <- fitted_sample(x, residuals = TRUE)
  title <- if (length(some$rows) < nobs.gp(x)) paste("Residuals of", length(some$rows), "observations") else "Residuals"
  new_panel("curves", title, "fitted", "residual", points = data.frame(x = some$fitted, y = some$residual),
            line = c(0, 0))
}

measures_degrees <- function(x) {
  x$parts$long_lat || on_globe(x$model)
}

# Covariances along each coordinate from the first observation. `shown` are the coordinates whose curves are drawn: all
# coordinates, or one coordinate if all curves are equal.
covariance_curves <- function(x) {
  u <- x$data$u
  d <- x$model$d
  reach <- apply(u[, seq_len(d), drop = FALSE], 2, function(v) diff(range(v))) / 2
  reach[reach == 0] <- if (any(reach > 0)) max(reach) else 1
  product <- covariance_product(x$model)
  origin <- u[1, , drop = FALSE]
  curves <- lapply(seq_len(d), function(k) {
    h <- seq(0, reach[[k]], length.out = 200)
    shifted <- origin[rep(1, 200), , drop = FALSE]
    shifted[, k] <- shifted[, k] + h
    km <- if (on_globe(x$model)) sqrt(rowSums((on_sphere(shifted) - on_sphere(origin[rep(1, 200), , drop = FALSE]))^2))
    list(h = h, km = km, k = as.vector(product(list(theta = x$theta, x = shifted, y = origin, b = 1))))
  })
  # one curve is enough if all curves are equal
  longest <- which.max(vapply(curves, function(curve) max(curve$km %||% curve$h), 0))
  same <- vapply(curves, function(curve) {
    along <- function(curve) curve$km %||% curve$h
    longest <- curves[[longest]]
    near <- along(curve) <= max(along(longest))
    isTRUE(all.equal(stats::approx(along(longest), longest$k, along(curve)[near])$y, curve$k[near], tolerance = 1e-2))
  }, NA)
  list(curves = curves, reach = reach, shown = if (all(same)) longest else seq_len(d))
}

# A panel with curves of the covariance; the point at distance 0 is the variance including the nugget.
covariance_panel <- function(x) {
  result <- covariance_curves(x)
  names <- colnames(x$parts$u)
  tables <- lapply(result$shown, function(k) {
    curve <- result$curves[[k]]
    data.frame(x = curve$km %||% curve$h, fit = curve$k, along = names[[k]])
  })
  total <- nugget_of(x) + result$curves[[1]]$k[[1]]
  new_panel("curves", "Covariance", distance_label(x), "covariance", curves = do.call(rbind, tables), legend = "along",
            points = if (nugget_of(x) > 0) data.frame(x = 0, y = total), zero = TRUE)
}
