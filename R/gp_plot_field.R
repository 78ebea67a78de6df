# Panels of the field and its standard errors: a curve, a map, or points where the trend needs other variables.

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
