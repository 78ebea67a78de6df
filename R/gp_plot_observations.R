# Panels of observations, residuals and covariances.

# Up to `most_drawn` observations over their first two coordinates, or over the only one, with their fitted values.
observations_of <- function(x) {
  some <- fitted_sample(x)
  u <- x$parts$u[some$rows, , drop = FALSE]
  list(table = data.frame(x = u[, 1], y = if (ncol(u) > 1) u[, 2] else some$fitted, value = some$fitted,
                          row.names = NULL),
       names = c(colnames(u), response_name(x))[1:2], aspect = if (x$model$d == 2) map_aspect(x) else NA)
}

# Fitted values and residuals of up to `most_drawn` observations, and their numbers.
fitted_sample <- function(x, residuals = FALSE) {
  n <- nobs.gp(x)
  if (n <= most_drawn || is_lmc(x$model$covariance)) {
    all <- replace(x, "na.action", list(NULL))
    return(list(rows = seq_len(n), fitted = unname(stats::fitted(all)),
                residual = if (residuals) unname(stats::residuals(all))))
  }
  rows <- drawn_rows(n)
  points <- some_points(new_points(x, NULL, NULL), rows)
  mean <- predicted_mean(x, points)
  if (is.null(x$family)) return(list(rows = rows, fitted = mean, residual = x$parts$y[rows] - mean))
  x <- with_phi_of(x, points$u)
  fitted <- mean_of(x, mean)
  list(rows = rows, fitted = fitted,
       residual = family_residuals(x, x$response$y[rows], fitted, x$parts$weights[rows], "deviance"))
}

plot_observations <- function(x, ..., add = NULL) {
  observed <- observations_of(x)
  plot_values(as.matrix(observed$table[1:2]), observed$table$value, observed$names,
              paste("Fitted", response_name(x)), observed$aspect, ..., add = add)
}

plot_residuals <- function(x, n, level, ..., mask) {
  some <- fitted_sample(x, residuals = TRUE)
  title <- if (length(some$rows) < nobs.gp(x)) paste("Residuals of", length(some$rows), "observations") else "Residuals"
  before <- open_panel(some$fitted, some$residual, "fitted", "residual", title, list(...))
  on.exit(graphics::par(before))
  graphics::points(some$fitted, some$residual, pch = 16, cex = 0.6, col = grDevices::adjustcolor(viridis(3)[[1]], 0.6))
  graphics::abline(h = 0, col = "grey40", lty = 2)
}

measures_degrees <- function(x) {
  x$parts$long_lat || on_globe(x$model)
}

# Covariances along each coordinate from the first observation; `shown` are the coordinates whose curves differ.
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
  # one curve is enough if all are the same
  longest <- which.max(vapply(curves, function(curve) max(curve$km %||% curve$h), 0))
  same <- vapply(curves, function(curve) {
    along <- function(curve) curve$km %||% curve$h
    longest <- curves[[longest]]
    near <- along(curve) <= max(along(longest))
    isTRUE(all.equal(stats::approx(along(longest), longest$k, along(curve)[near])$y, curve$k[near], tolerance = 1e-2))
  }, NA)
  list(curves = curves, reach = reach, shown = if (all(same)) longest else seq_len(d))
}

plot_covariance <- function(x, n, level, ..., mask) {
  result <- covariance_curves(x)
  curves <- result$curves
  shown <- result$shown
  if (on_globe(x$model)) for (k in shown) curves[[k]]$h <- curves[[k]]$km
  colours <- class_colours(length(curves))
  total <- nugget_of(x) + curves[[1]]$k[[1]]
  before <- open_panel(c(0, unlist(lapply(curves[shown], `[[`, "h"))), c(0, unlist(lapply(curves, `[[`, "k")), total),
                       distance_label(x), "covariance", "Covariance", list(...))
  on.exit(graphics::par(before))
  for (k in shown) graphics::lines(curves[[k]]$h, curves[[k]]$k, col = colours[[k]], lty = match(k, shown), lwd = 2)
  if (nugget_of(x) > 0) graphics::points(0, total, pch = 1, col = colours[[1]])
  if (length(shown) > 1) {
    graphics::legend("topright", paste("along", colnames(x$parts$u)[shown]), lty = seq_along(shown),
                     col = colours[shown], lwd = 2, bty = "n")
  }
}
