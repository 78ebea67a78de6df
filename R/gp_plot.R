#' Plot a Gaussian process fit
#'
#' Draws one panel for each element of `which`: the field (a curve with a confidence band for one coordinate, a map to
#' scale for two coordinates), its standard errors, the residuals against the fitted values, the covariance as a
#' function of distance or along each coordinate, and the empirical variogram with that of the model.
#'
#' @param x,object a fit of [gp()]; for `autoplot()` also a result of [gp_cv()] or [gp_variogram()].
#' @param which `"field"`, `"se"` (standard errors of the field, as a map or a curve), `"residuals"`, `"covariance"`,
#'   `"variogram"`; for [gp_cv()] `"observed"` (against predictions), `"qq"` (standardised errors against normal
#'   quantiles) and `"map"` (standardised errors at their points). `autoplot()` takes one of the first two or
#'   `"variogram"`, and one of those of [gp_cv()].
#' @param model a fit of [gp()], a covariance or a variogram model of gstat, whose variogram is drawn over the empirical
#'   one, along each of its directions. Clouds, directional and robust variograms are drawn in the same way.
#' @param mask whether to draw a map within the convex hull of the observations only.
#' @param newdata new points with covariates, such as a grid, to draw maps of a fit whose trend has covariates: a data
#'   frame, or points or a map of sf, stars, terra or sp. `which` is then `"field"` (the default), `"se"` or both.
#' @param add an overlay of maps: lines, polygons or points of sf, terra or sp, such as a coastline, or a function
#'   without arguments that draws.
#' @param n the approximate number of points at which the field is drawn; default: 200 for a curve, 100 x 100 for a map.
#' @param level the level of the band around a curve.
#' @param ... further arguments of [plot()][graphics::plot.default] or [image()][graphics::image]; for the variogram of
#'   a fit also `estimator`, `cutoff` and `width` of [gp_variogram()], which `autoplot()` takes, too.
#' @return `x`, invisibly; for `autoplot()` an object of ggplot2.
#' @details The field cannot be drawn between the observations if the trend has variables other than the coordinates (by
#'   name), if there are more than two coordinates, or if the points lie on a line along one of two coordinates. Then
#'   only the observations are drawn, over the first two coordinates, coloured by their fitted values.
#'
#'   If there are more than 5,000 observations, every n-th of them is drawn, 5,000 in all, and none over a map. Margins
#'   follow the labels. Coordinates that are dates have an axis of dates.
#'
#'   The empirical variogram is that of the response minus its trend, which is lower than that of the model at long
#'   distances if the trend has many coefficients. If there are more than 20,000 observations, a sample of 20,000 is
#'   used. Fits with `transform` are drawn on the transformed scale. The methods of `autoplot()` are found once ggplot2
#'   is loaded.
#'
#'   For a fit with several variables ([lmc()]), `plot()` draws the variograms and cross-variograms of the residuals
#'   with those of the model along each coordinate.
#' @seealso [gp()], [predict()][predict.gp], [gp_cv()], [gp_variogram()].
#' @examples
#' set.seed(1)
#' u <- seq(0, 10, length.out = 40)
#' y <- sin(u) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ u, covariance = matern(5/2) + nugget())
#' plot(fit)
#' plot(fit, c("se", "variogram"))
#' plot(fit, "variogram", estimator = "cressie", cutoff = 5)
#' plot(gp_cv(fit))
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   ggplot2::autoplot(fit)
#' }
#' # a robust variogram in two directions, and the model
#' set.seed(1)
#' d <- data.frame(a = runif(200), b = runif(200))
#' d$z <- sin(6 * d$a) + d$b + rnorm(200, sd = 0.1)
#' plot(gp_variogram(z ~ 1, d, coords = ~ a + b, alpha = c(0, 90), estimator = "cressie"),
#'      gp(z ~ 1, d, ~ a + b))
#' @aliases plot.gp_cv plot.gp_variogram autoplot.gp autoplot.gp_cv autoplot.gp_variogram
#' @export
plot.gp <- function(x, which = c("field", "residuals", "covariance"), n = NULL, level = 0.95, mask = TRUE,
                    newdata = NULL, add = NULL, ...) {
  if (!is.null(newdata)) return(plot_newdata(x, newdata, which, missing(which), ..., add = add))
  if (is_lmc(x$model$covariance)) return(plot_several(x, which, missing(which), ...))
  draw <- list(field = plot_field, se = plot_errors, residuals = plot_residuals, covariance = plot_covariance,
               variogram = plot_variogram)
  check_subset(which, "which", names(draw))
  check_flag(mask, "mask")
  if (!is.null(n)) check_number(n, "n", least = 2, whole = TRUE)
  arguments <- split_settings(list(...), "variogram" %in% which)
  before <- panels(length(which))
  on.exit(graphics::par(before))
  for (name in which) {
    settings <- if (name == "variogram") list(settings = arguments$settings) else
      if (name %in% c("field", "se")) list(add = add)
    do.call(draw[[name]], c(list(x, n, level, mask = mask), settings, arguments$graphics))
  }
  invisible(x)
}

# Maps at the points of newdata.
plot_newdata <- function(x, newdata, which, default, ..., add, call = caller_env()) {
  if (default) which <- "field"
  check_subset(which, "which", c("field", "se"), call)
  before <- panels(length(which))
  on.exit(graphics::par(before))
  for (name in which) {
    plot_map_of_rows(x, newdata, if (name == "se") "se.fit" else "fit",
                     if (name == "se") "Standard errors of the field" else map_title(x), ..., add = add, call = call)
  }
  invisible(x)
}

map_title <- function(x) if (is.null(x$family)) paste("Field of", response_name(x)) else field_words(x)

# The first one of three panels takes the left half.
panels <- function(count) {
  if (count == 3) {
    before <- graphics::par("mfrow")
    graphics::layout(matrix(c(1, 1, 2, 3), 2))
    return(list(mfrow = before))
  }
  if (count > 1) graphics::par(mfrow = if (count == 2) c(1, 2) else c(ceiling(count / 2), 2))
}

# f(...), where arguments of the user replace the defaults.
draw_with <- function(f, ..., overrides) do.call(f, utils::modifyList(list(...), overrides))

viridis <- function(n) grDevices::hcl.colors(n, "viridis")

response_name <- function(x) deparse1(x$formula[[2]])

plot_field <- function(x, n, level, ..., mask, add = NULL) {
  switch(field_kind(x), curve = plot_curve(x, n %||% 200, level, ...),
         map = plot_map(x, map_of(x, n %||% 1e4, mask), map_title(x), ..., add = add),
         plot_observations(x, ..., add = add))
}

plot_errors <- function(x, n, level, ..., mask, add = NULL) {
  kind <- field_kind(x)
  if (kind == "map") {
    return(plot_map(x, map_of(x, n %||% 1e4, mask, "se.fit"), "Standard errors of the field", ..., add = add))
  }
  if (kind != "curve") stop_between_observations()
  curve <- errors_of_curve(x, n %||% 200)
  before <- open_panel(axis_values(x, 1, curve$x), curve$value, colnames(x$parts$u), "standard error",
                       "Standard errors of the field", list(...))
  on.exit(graphics::par(before))
  graphics::lines(curve$x, curve$value, lwd = 2, col = viridis(3)[[1]])
  graphics::rug(x$parts$u[drawn_rows(nrow(x$parts$u)), 1])
}

errors_of_curve <- function(x, n) {
  points <- seq(min(x$parts$u), max(x$parts$u), length.out = n)
  data.frame(x = points, value = predict_at(x, matrix(points), se.fit = TRUE, interval = "none")$se.fit)
}

stop_between_observations <- function() {
  stop_kernops("input", "Standard errors cannot be drawn between the observations of this fit: see {.fn plot.gp}.")
}

# The plot of the field: a curve, a map, or points if the field cannot be drawn between the observations.
field_kind <- function(x) {
  if (!follows_coordinates(x)) return("points")
  wide <- all(apply(x$parts$u, 2, max) > apply(x$parts$u, 2, min))
  if (x$model$d == 1) "curve" else if (x$model$d == 2 && wide) "map" else "points"
}

# TRUE if the trend can be computed from the coordinates alone, by their names.
follows_coordinates <- function(x) {
  if (length(x$parts$columns) || !all(x$parts$needed$trend %in% colnames(x$parts$u))) return(FALSE)
  some <- drawn_rows(nrow(x$parts$u))
  u <- x$parts$u[some, , drop = FALSE]
  again <- tryCatch(new_points(x, coordinate_frame(x, u), u), kernops_error = function(e) NULL)
  isTRUE(all.equal(unname(again$x), unname(x$parts$x[some, , drop = FALSE]), check.attributes = FALSE)) &&
    isTRUE(all.equal(again$offset, x$parts$offset[some]))
}

# Predictions at a matrix of points, for trends without other variables than coordinates.
predict_at <- function(x, points, ...) {
  colnames(points) <- colnames(x$parts$u)
  predict(x, coordinate_frame(x, points), coords = points, type = augment_scale(x), ...)
}

# Coordinates as variables of the classes that the variables had in the data.
coordinate_frame <- function(x, u) {
  frame <- as.data.frame(u)
  classes <- x$parts$classes
  for (name in intersect(names(frame), names(classes))) frame[[name]] <- from_days(frame[[name]], classes[[name]])
  frame
}

curve_of <- function(x, n, level) {
  points <- seq(min(x$parts$u), max(x$parts$u), length.out = n)
  list(points = points, band = predict_at(x, matrix(points), interval = "confidence", level = level))
}

# With `mask`, NA outside of the convex hull of the observations.
map_of <- function(x, n, mask = FALSE, what = "fit") {
  u <- x$parts$u
  spans <- apply(u, 2, function(v) diff(range(v)))
  steps <- pmax(2, round(sqrt(n * spans / rev(spans))))
  axes <- lapply(1:2, function(k) seq(min(u[, k]), max(u[, k]), length.out = steps[[k]]))
  grid <- as.matrix(expand.grid(axes))
  shown <- if (mask) in_hull(grid, u, max(spans / steps)) else rep(TRUE, nrow(grid))
  z <- rep(NA_real_, nrow(grid))
  some <- grid[shown, , drop = FALSE]
  z[shown] <- if (what == "fit") predict_at(x, some) else predict_at(x, some, se.fit = TRUE, interval = "none")$se.fit
  list(axes = axes, z = matrix(z, steps[[1]]))
}

# TRUE for points in the convex hull of u, or at most `margin` outside.
in_hull <- function(points, u, margin = 0) {
  corner <- u[rev(grDevices::chull(u)), , drop = FALSE]  # counter-clockwise
  along <- corner[c(seq_len(nrow(corner))[-1], 1), , drop = FALSE] - corner
  inside <- rep(TRUE, nrow(points))
  for (k in seq_len(nrow(corner))) {
    across <- along[k, 1] * (points[, 2] - corner[k, 2]) - along[k, 2] * (points[, 1] - corner[k, 1])
    inside <- inside & across >= -margin * sqrt(sum(along[k, ]^2))
  }
  inside
}

plot_curve <- function(x, n, level, ...) {
  u <- x$parts$u[, 1]
  curve <- curve_of(x, n, level)
  points <- axis_values(x, 1, curve$points)
  band <- curve$band
  before <- open_panel(points, c(unlist(band), x$parts$y), colnames(x$parts$u), response_name(x),
                       paste0("Field and ", 100 * level, "% band"), list(...))
  on.exit(graphics::par(before))
  graphics::polygon(c(points, rev(points)), c(band$lwr, rev(band$upr)), border = NA,
                    col = grDevices::adjustcolor(viridis(3)[[2]], 0.35))
  graphics::lines(points, band$fit, col = viridis(3)[[1]], lwd = 2)
  some <- drawn_rows(length(u))
  graphics::points(u[some], x$parts$y[some], pch = 16, cex = 0.5, col = grDevices::adjustcolor("black", 0.6))
}

# Degrees of longitude are shorter than those of latitude.
map_aspect <- function(x) if (x$parts$long_lat) 1 / cos(mean(x$parts$u[, 2]) * pi / 180) else 1

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
