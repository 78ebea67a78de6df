# Panels drawn by ggplot2.

ggplot_of_panel <- function(panel, overlay = NULL) {
  draw <- list(map = ggplot_map, values = ggplot_values, curves = ggplot_curves, levels = ggplot_levels)[[panel$kind]]
  draw(panel, overlay) + ggplot2::labs(x = panel$xlab, y = panel$ylab, title = panel$title) + wide_margin()
}

# A margin for the last label of the horizontal axis; half of this label may extend beyond the panel.
wide_margin <- function() ggplot2::theme(plot.margin = ggplot2::margin(5.5, 16, 5.5, 5.5))

ggplot_map <- function(panel, overlay) {
  cells <- data.frame(expand.grid(x = panel$axes[[1]], y = panel$axes[[2]]), value = as.vector(panel$z))
  layer <- if (is_even(lapply(panel$axes, as.numeric))) ggplot2::geom_raster() else ggplot2::geom_tile()
  points <- if (!is.null(panel$points)) {
    ggplot2::geom_point(ggplot2::aes(x, y), panel$points, shape = 21, size = 1, fill = "white", stroke = 0.3,
                        inherit.aes = FALSE)
  }
  ggplot2::ggplot(cells[!is.na(cells$value), ], ggplot2::aes(x, y, fill = value)) + layer + points + overlay +
    ggplot2::scale_fill_viridis_c() + ggplot_scale(panel) + ggplot2::labs(fill = panel$legend)
}

ggplot_scale <- function(panel) if (!is.na(panel$aspect)) ggplot2::coord_fixed(panel$aspect)

ggplot_values <- function(panel, overlay) {
  ggplot2::ggplot(panel$table, ggplot2::aes(x, y, fill = value)) +
    ggplot2::geom_point(shape = 21, size = 2, stroke = 0.2) + overlay + ggplot2::scale_fill_viridis_c() +
    ggplot_scale(panel) + ggplot2::labs(fill = panel$legend)
}

ggplot_curves <- function(panel, overlay) {
  curves <- panel$curves %||% data.frame(x = numeric(), fit = numeric())
  curves$along <- factor(curves$along %||% rep("", nrow(curves)), unique(curves$along %||% ""))
  one <- nlevels(curves$along) <= 1
  mapping <- if (one) ggplot2::aes() else ggplot2::aes(colour = along, linetype = along)
  band <- if (!is.null(curves$lwr) && nlevels(curves$along) <= most_bands) {
    filled <- if (one) ggplot2::aes() else ggplot2::aes(fill = along)
    ggplot2::geom_ribbon(utils::modifyList(ggplot2::aes(x, ymin = lwr, ymax = upr), filled), curves,
                         alpha = if (one) 0.3 else 0.15)
  }
  lines <- if (nrow(curves)) ggplot2::geom_line(utils::modifyList(ggplot2::aes(x, fit), mapping), curves)
  points <- if (NROW(panel$points)) ggplot2::geom_point(ggplot2::aes(x, y), panel$points, size = 0.8, alpha = 0.6)
  rug <- if (!is.null(panel$rug)) {
    ggplot2::geom_rug(ggplot2::aes(x), data.frame(x = panel$rug), sides = "b", alpha = 0.3)
  }
  line <- if (!is.null(panel$line)) {
    ggplot2::geom_abline(intercept = panel$line[[1]], slope = panel$line[[2]], linetype = 2, colour = "grey40")
  }
  origin <- if (isTRUE(panel$zero)) ggplot2::expand_limits(x = 0, y = 0)
  ggplot2::ggplot(curves) + band + line + lines + points + rug + origin + if (!one) class_scales(panel$legend, curves)
}

# Scales with the colours and line types of plot(), without a legend if there are many levels.
class_scales <- function(title, curves) {
  count <- nlevels(curves$along)
  colours <- class_colours(count)
  guide <- if (count <= most_words) "legend" else "none"
  list(ggplot2::scale_colour_manual(values = colours, guide = guide),
       ggplot2::scale_fill_manual(values = colours, guide = guide),
       ggplot2::scale_linetype_manual(values = 1 + (seq_len(count) - 1) %% 6, guide = guide),
       ggplot2::labs(colour = title, fill = title, linetype = title))
}

# A plot of levels from the smallest to the largest effect, with their names if there are few levels.
ggplot_levels <- function(panel, overlay, most = 40) {
  table <- panel$table
  table$level <- factor(table$level, table$level[order(table$fit)])
  ggplot2::ggplot(table, ggplot2::aes(fit, level, xmin = lwr, xmax = upr)) +
    ggplot2::geom_vline(xintercept = 0, linetype = 2, colour = "grey40") + ggplot2::geom_pointrange(size = 0.3) +
    if (nrow(table) > most) {
      ggplot2::theme(axis.text.y = ggplot2::element_blank(), axis.ticks.y = ggplot2::element_blank())
    }
}

# The layer of an overlay: paths or points in the coordinates of the map.
overlay_layer <- function(add) {
  if (is.null(add)) return(NULL)
  if (is.function(add)) return(add())
  table <- overlay_table(add)
  if (is.null(table$part)) return(ggplot2::geom_point(ggplot2::aes(x, y), table, inherit.aes = FALSE))
  ggplot2::geom_path(ggplot2::aes(x, y, group = part), table, inherit.aes = FALSE)
}

# The vertices of an overlay, and for each vertex its `part`, which is the number of a line or a ring; points have no
# part.
overlay_table <- function(add) {
  if (inherits(add, "SpatVector")) {
    vertices <- terra::geom(add)
    parts <- if (terra::geomtype(add) != "points") vertices[, c("geom", "part", "hole"), drop = FALSE]
  } else {
    add <- sf::st_geometry(if (inherits(add, "Spatial")) sf::st_as_sf(add) else add)
    vertices <- sf::st_coordinates(add)
    points <- all(grepl("POINT", sf::st_geometry_type(add)))
    parts <- if (!points) vertices[, grep("^L[0-9]", colnames(vertices)), drop = FALSE]
  }
  table <- data.frame(x = vertices[, match("x", tolower(colnames(vertices)))],
                      y = vertices[, match("y", tolower(colnames(vertices)))])
  if (!is.null(parts)) table$part <- do.call(paste, as.data.frame(parts))
  table
}
