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
#' @param n the approximate number of points at which the field is drawn; default: 200 for a curve, 100 x 100 for a map.
#' @param level the level of the band around a curve.
#' @param ... further arguments of [plot()][graphics::plot.default] or [image()][graphics::image]; for the variogram of
#'   a fit also `estimator`, `cutoff` and `width` of [gp_variogram()], which `autoplot()` takes, too.
#' @return `x`, invisibly; for `autoplot()` an object of ggplot2.
#' @details The field cannot be drawn between the observations if the trend has variables other than the coordinates (by
#'   name), if there are more than two coordinates, or if the points lie on a line along one of two coordinates. Then
#'   only the observations are drawn, over the first two coordinates, coloured by their fitted values.
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
plot.gp <- function(x, which = c("field", "residuals", "covariance"), n = NULL, level = 0.95, mask = TRUE, ...) {
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
    settings <- if (name == "variogram") list(settings = arguments$settings)
    do.call(draw[[name]], c(list(x, n, level, mask = mask), settings, arguments$graphics))
  }
  invisible(x)
}

panels <- function(count) if (count > 1) graphics::par(mfrow = c(ceiling(count / 2), 2))

# f(...), where arguments of the user replace the defaults.
draw_with <- function(f, ..., overrides) do.call(f, utils::modifyList(list(...), overrides))

viridis <- function(n) grDevices::hcl.colors(n, "viridis")

response_name <- function(x) deparse1(x$formula[[2]])

plot_field <- function(x, n, level, ..., mask) {
  switch(field_kind(x), curve = plot_curve(x, n %||% 200, level, ...),
         map = plot_map(x, map_of(x, n %||% 1e4, mask), paste("Field of", response_name(x)), ...),
         plot_observations(x, ...))
}

plot_errors <- function(x, n, level, ..., mask) {
  kind <- field_kind(x)
  if (kind == "map") {
    return(plot_map(x, map_of(x, n %||% 1e4, mask, "se.fit"), "Standard errors of the field", ...))
  }
  if (kind != "curve") stop_between_observations()
  curve <- errors_of_curve(x, n %||% 200)
  draw_with(graphics::plot, x = curve$x, y = curve$value, type = "l", las = 1, lwd = 2, col = viridis(3)[[1]],
            xlab = colnames(x$parts$u), ylab = "standard error", main = "Standard errors of the field",
            overrides = list(...))
  graphics::rug(x$parts$u[, 1])
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
  again <- tryCatch(new_points(x, coordinate_frame(x, x$parts$u), x$parts$u), kernops_error = function(e) NULL)
  isTRUE(all.equal(unname(again$x), unname(x$parts$x), check.attributes = FALSE)) &&
    isTRUE(all.equal(again$offset, x$parts$offset))
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
  points <- curve$points
  band <- curve$band
  draw_with(graphics::plot, x = u, y = x$parts$y, type = "n", xlab = colnames(x$parts$u), ylab = response_name(x),
            las = 1, ylim = range(band, x$parts$y), main = paste0("Field and ", 100 * level, "% band"),
            overrides = list(...))
  graphics::polygon(c(points, rev(points)), c(band$lwr, rev(band$upr)), border = NA,
                    col = grDevices::adjustcolor(viridis(3)[[2]], 0.35))
  graphics::lines(points, band$fit, col = viridis(3)[[1]], lwd = 2)
  graphics::points(u, x$parts$y, pch = 16, cex = 0.5, col = grDevices::adjustcolor("black", 0.6))
}

plot_map <- function(x, map, title, ...) {
  u <- x$parts$u
  axes <- map$axes
  z <- map$z
  levels <- pretty(z, 8)
  before <- graphics::par(mar = replace(graphics::par("mar"), 4, 5))
  on.exit(graphics::par(before))
  draw_with(graphics::image, x = axes[[1]], y = axes[[2]], z = z, col = viridis(length(levels) - 1),
            breaks = levels, useRaster = TRUE, asp = map_aspect(x), las = 1, xlab = colnames(u)[[1]],
            ylab = colnames(u)[[2]], main = title, overrides = list(...))
  graphics::contour(axes[[1]], axes[[2]], z, levels = levels, add = TRUE, drawlabels = FALSE,
                    col = grDevices::adjustcolor("white", 0.7), lwd = 0.7)
  graphics::points(u, pch = 16, cex = 0.3)
  classes <- paste(format(levels[-length(levels)]), format(levels[-1]), sep = " to ")
  corner <- graphics::par("usr")[c(2, 4)]
  graphics::legend(corner[[1]], corner[[2]], rev(classes), fill = rev(viridis(length(classes))), bty = "n", cex = 0.75,
                   xpd = NA)
}

# Degrees of longitude are shorter than those of latitude.
map_aspect <- function(x) if (x$parts$long_lat) 1 / cos(mean(x$parts$u[, 2]) * pi / 180) else 1

# The observations over their first two coordinates, or over the only one, with their fitted values.
observations_of <- function(x) {
  u <- x$parts$u
  value <- fitted(x)
  value <- value[!is.na(value)]
  list(table = data.frame(x = u[, 1], y = if (ncol(u) > 1) u[, 2] else value, value = value, row.names = NULL),
       names = c(colnames(u), response_name(x))[1:2], aspect = if (x$model$d == 2) map_aspect(x) else NA)
}

plot_observations <- function(x, ...) {
  observed <- observations_of(x)
  breaks <- pretty(observed$table$value, 6)
  classes <- cut(observed$table$value, breaks, include.lowest = TRUE)
  colours <- viridis(nlevels(classes))
  draw_with(graphics::plot, x = observed$table$x, y = observed$table$y, pch = 16, col = colours[classes], las = 1,
            asp = observed$aspect, xlab = observed$names[[1]], ylab = observed$names[[2]],
            main = paste("Fitted", response_name(x)), overrides = list(...))
  graphics::legend("topleft", levels(classes), pch = 16, col = colours, bty = "n", cex = 0.8)
}

plot_residuals <- function(x, n, level, ..., mask) {
  draw_with(graphics::plot, x = fitted(x), y = residuals(x), pch = 16, cex = 0.6, las = 1, xlab = "fitted",
            ylab = "residual", main = "Residuals", col = grDevices::adjustcolor(viridis(3)[[1]], 0.6),
            overrides = list(...))
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
    list(h = h, k = as.vector(product(list(theta = x$theta, x = shifted, y = origin, b = 1))))
  })
  # one curve is enough if all are the same
  longest <- which.max(reach)
  same <- vapply(curves, function(curve) {
    isTRUE(all.equal(stats::approx(curves[[longest]]$h, curves[[longest]]$k, curve$h)$y, curve$k, tolerance = 1e-2))
  }, NA)
  list(curves = curves, reach = reach, shown = if (all(same)) longest else seq_len(d))
}

plot_covariance <- function(x, n, level, ..., mask) {
  result <- covariance_curves(x)
  curves <- result$curves
  reach <- result$reach
  shown <- result$shown
  colours <- viridis(length(curves) + 1)
  draw_with(graphics::plot, x = range(0, reach), type = "n", las = 1, ylab = "covariance",
            xlab = if (measures_degrees(x)) "distance in degrees" else "distance",
            y = range(0, lapply(curves, `[[`, "k"), nugget_of(x) + curves[[1]]$k[[1]]), main = "Covariance",
            overrides = list(...))
  for (k in shown) graphics::lines(curves[[k]]$h, curves[[k]]$k, col = colours[[k]], lty = match(k, shown), lwd = 2)
  if (nugget_of(x) > 0) graphics::points(0, nugget_of(x) + curves[[1]]$k[[1]], pch = 1, col = colours[[1]])
  if (length(shown) > 1) {
    graphics::legend("topright", paste("along", colnames(x$parts$u)), lty = shown, col = colours[shown], lwd = 2,
                     bty = "n")
  }
}
