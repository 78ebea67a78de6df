# Panels of maps: over the observations, and at new data.

# The cells of a map over the observations: two axes, and the points of the grid that are `shown`. With `mask`, only
# points within the convex hull of the observations are shown.
observed_cells <- function(x, n, mask = FALSE) {
  u <- parts_by_row(x)$u
  spans <- apply(u, 2, function(v) diff(range(v)))
  # cells are square, except if the coordinates have no common scale
  steps <- if (is.na(map_aspect(x))) rep(round(sqrt(n)), 2) else round(sqrt(n * spans / rev(spans)))
  steps <- pmax(2, steps)
  axes <- lapply(1:2, function(k) seq(min(u[, k]), max(u[, k]), length.out = steps[[k]]))
  grid <- as.matrix(expand.grid(axes))
  colnames(grid) <- colnames(u)
  shown <- if (mask) in_hull(t(t(grid) / spans), t(t(u) / spans), 1 / min(steps)) else rep(TRUE, nrow(grid))
  list(axes = axes, grid = grid, shown = shown)
}

# TRUE for points in the convex hull of u or at most `margin` away from the hull.
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

# The panels `panel_names` with predictions at the cells of a map.
map_panels <- function(x, panel_names, cells) {
  points <- cells$grid[cells$shown, , drop = FALSE]
  tables <- prediction_tables(x, panel_names, coordinate_frame(x, points), points)
  panels_by_variable(panel_names, tables, function(what, table, variable) {
    z <- matrix(NA_real_, length(cells$axes[[1]]), length(cells$axes[[2]]))
    z[cells$shown] <- table[[what]]
    map_panel(x, cells$axes, z, what, variable)
  })
}

map_panel <- function(x, axes, z, what, variable) {
  new_panel("map", field_title(x, what, variable), axis_label(x, 1), axis_label(x, 2),
            axes = lapply(1:2, function(k) axis_values(x, k, axes[[k]])), z = z, aspect = map_aspect(x),
            points = observed_points(x, variable), legend = field_legend(x, what, variable))
}

# A table of the coordinates x and y of the observations (of one variable). NULL if there are too many points to
# distinguish them in a plot.
observed_points <- function(x, variable = NULL) {
  data <- parts_by_row(x)
  u <- if (is.null(variable)) data$u else data$u[!is.na(data$y[, variable]), , drop = FALSE]
  if (max(nrow(u), x$blocks$n) <= most_drawn) place_table(x, u)
}

place_table <- function(x, u) data.frame(x = axis_values(x, 1, u[, 1]), y = axis_values(x, 2, u[, 2]))

# The aspect ratio of a map: a degree of longitude is shorter than a degree of latitude; a time and a length have no
# common scale (NA).
map_aspect <- function(x) {
  if (x$parts$long_lat) return(1 / cos(mean(x$parts$u[, 2]) * pi / 180))
  timed <- vapply(x$parts$classes[colnames(x$parts$u)], inherits, NA, c("Date", "POSIXct", "difftime"))
  if (any(timed)) NA else 1
}

# Panels at the rows of `newdata`, a data frame with coordinates or a spatial object. If the points fill most of a grid,
# the panels show maps; otherwise the panels show points with colours for their values.
panels_at_rows <- function(x, panel_names, newdata, call) {
  source <- data_source(spatial_parts(newdata))
  u <- source$u %||% coordinates_of(x$parts$coords, source, environment(), call)
  if (is.null(u) || ncol(u) != 2 || x$model$d != 2) {
    stop_kernops("input", "{.arg newdata} of a map must have the two coordinates of the fit.", call = call)
  }
  tables <- prediction_tables(x, panel_names, source$data, unname_rows(u))
  axes <- lapply(1:2, function(k) sort(unique(u[, k])))
  gridded <- prod(lengths(axes)) <= 4 * nrow(u)
  panels_by_variable(panel_names, tables, function(what, table, variable) {
    if (!gridded) return(values_panel(x, u, table[[what]], what, variable))
    z <- matrix(NA_real_, length(axes[[1]]), length(axes[[2]]))
    z[cbind(match(u[, 1], axes[[1]]), match(u[, 2], axes[[2]]))] <- table[[what]]
    map_panel(x, axes, z, what, variable)
  })
}

values_panel <- function(x, u, value, what, variable) {
  some <- drawn_rows(nrow(u))
  new_panel("values", field_title(x, what, variable), axis_label(x, 1), axis_label(x, 2), aspect = map_aspect(x),
            table = cbind(place_table(x, u[some, , drop = FALSE]), value = value[some]),
            legend = field_legend(x, what, variable))
}
