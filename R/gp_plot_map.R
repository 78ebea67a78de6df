# Maps of fits, with observations and an overlay.

plot_map <- function(x, map, title, ..., add = NULL) {
  u <- x$parts$u
  levels <- pretty(map$z, 8)
  words <- class_words(levels)
  colours <- viridis(length(words))
  before <- open_panel(map$axes[[1]], map$axes[[2]], colnames(u)[[1]], colnames(u)[[2]], title, list(...), words,
                       map_aspect(x))
  on.exit(graphics::par(before))
  overrides <- list(...)[setdiff(names(list(...)), c("xlab", "ylab", "main", "xlim", "ylim", "asp", "las"))]
  draw_with(graphics::image, x = map$axes[[1]], y = map$axes[[2]], z = map$z, col = colours, breaks = levels,
            useRaster = is_even(map$axes), add = TRUE, overrides = overrides)
  graphics::contour(map$axes[[1]], map$axes[[2]], map$z, levels = levels, add = TRUE, drawlabels = FALSE,
                    col = grDevices::adjustcolor("white", 0.7), lwd = 0.7)
  if (nrow(u) <= most_drawn) graphics::points(u, pch = 21, cex = 0.5, bg = "white", col = "black", lwd = 0.5)
  draw_overlay(add)
  margin_legend(words, fill = rev(colours))
}

# Raster images need equal steps.
is_even <- function(axes) all(vapply(axes, function(v) {
  length(v) < 3 || diff(range(diff(v))) <= 1e-6 * diff(range(v))
}, NA))

# Lines, polygons or points of sf, terra or sp, or a function that draws.
draw_overlay <- function(add, call = caller_env()) {
  if (is.null(add)) return(invisible())
  if (is.function(add)) return(add())
  if (inherits(add, c("sf", "sfc"))) {
    return(plot(sf::st_geometry(add), add = TRUE, col = if (is_line_or_point(add)) "black" else NA, border = "black"))
  }
  if (inherits(add, "SpatVector")) return(terra::plot(add, add = TRUE))
  if (inherits(add, "Spatial")) return(sp::plot(add, add = TRUE))
  stop_kernops("input", "{.arg add} must be an object of sf, terra or sp, or a function that draws.", call = call)
}

is_line_or_point <- function(add) !any(grepl("POLYGON", sf::st_geometry_type(add)))

# The map of predictions at the rows of `newdata`, a data frame with coordinates or a spatial object: a list as of
# map_of() if the points are most of a grid, or the points and their values.
map_of_rows <- function(x, newdata, what, call = caller_env()) {
  source <- data_source(spatial_parts(newdata))
  u <- source$u %||% coordinates_of(x$parts$coords, source, environment(), call)
  if (is.null(u) || ncol(u) != 2 || x$model$d != 2) {
    stop_kernops("input", "{.arg newdata} of a map must have the two coordinates of the fit.", call = call)
  }
  values <- predict(x, source$data, coords = unname_rows(u), se.fit = what == "se.fit", interval = "none",
                    type = augment_scale(x))
  values <- unname(if (what == "se.fit") values$se.fit else values)
  axes <- lapply(1:2, function(k) sort(unique(u[, k])))
  if (prod(lengths(axes)) > 4 * nrow(u)) return(list(points = u, value = values))
  z <- matrix(NA_real_, length(axes[[1]]), length(axes[[2]]))
  z[cbind(match(u[, 1], axes[[1]]), match(u[, 2], axes[[2]]))] <- values
  list(axes = axes, z = z)
}

plot_map_of_rows <- function(x, newdata, what, title, ..., add = NULL, call = caller_env()) {
  refuse_several(x, "A map by {.fn plot} is", "{.fn predict} has a map for each variable.")
  map <- map_of_rows(x, newdata, what, call)
  if (is.null(map$points)) return(plot_map(x, map, title, ..., add = add))
  plot_values(map$points, map$value, colnames(x$parts$u), title, map_aspect(x), ..., add = add)
}

# Points, coloured by classes of their values.
plot_values <- function(u, value, names, title, asp, ..., add = NULL) {
  levels <- pretty(value, 6)
  words <- class_words(levels)
  colours <- viridis(length(words))
  before <- open_panel(u[, 1], u[, 2], names[[1]], names[[2]], title, list(...), words, asp)
  on.exit(graphics::par(before))
  some <- drawn_rows(nrow(u))
  graphics::points(u[some, , drop = FALSE], pch = 16, cex = 0.8,
                   col = colours[cut(value[some], levels, include.lowest = TRUE)])
  draw_overlay(add)
  margin_legend(words, fill = rev(colours))
}
