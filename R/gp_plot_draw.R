# Draws panels with package graphics. The user's `arguments` replace defaults of plot.default() and default colours.

draw_panel <- function(panel, arguments, add = NULL) {
  draw <- list(map = draw_map, values = draw_values, curves = draw_curves, levels = draw_levels)[[panel$kind]]
  draw(panel, arguments, add)
}

ink <- function() viridis(3)[[1]]
faint <- function(colour, alpha = 0.35) grDevices::adjustcolor(colour, alpha)

# The size of point symbols, relative to the default size. The size decreases with the number of points, so that points
# do not hide each other.
point_size <- function(count) if (count <= 100) 1 else if (count <= 1000) 0.7 else 0.45

# The borders of about `count` classes into which a legend divides values; there is at least one class.
value_levels <- function(values, count) {
  levels <- pretty(values, count)
  if (length(levels) > 1) levels else levels + c(-0.5, 0.5) * max(abs(levels), 1) * 1e-3
}

# The borders, names and colours of about `count` classes of values; `breaks` of the user replace the borders.
colour_classes <- function(values, count, arguments) {
  levels <- arguments$breaks %||% value_levels(arguments$zlim %||% values[is.finite(values)], count)
  if (!is.numeric(levels) || length(levels) < 2 || is.unsorted(levels, strictly = TRUE)) {
    stop_kernops("input", "{.arg breaks} must be at least two ascending numbers.", call = NULL)
  }
  words <- class_words(levels)
  colours <- arguments$col %||% viridis(length(words))
  if (length(colours) != length(words)) {
    stop_kernops("input", "{.arg col} must have a colour for each of {length(words)} classes, not {length(colours)}.",
                 call = NULL)
  }
  list(levels = levels, words = words, colours = colours)
}

draw_map <- function(panel, arguments, add) {
  axes <- lapply(panel$axes, as.numeric)
  classes <- colour_classes(panel$z, 8, arguments)
  before <- open_panel(panel$axes[[1]], panel$axes[[2]], panel$xlab, panel$ylab, panel$title, arguments, classes$words,
                       panel$aspect)
  on.exit(graphics::par(before))
  graphics::image(axes[[1]], axes[[2]], panel$z, col = classes$colours, breaks = classes$levels,
                  useRaster = arguments$useRaster %||% is_even(axes), add = TRUE)
  # contours are drawn for small cells only, because contours do not follow the borders of large cells
  if (min(dim(panel$z)) >= 40 && length(classes$words) > 1) {
    graphics::contour(axes[[1]], axes[[2]], panel$z, levels = classes$levels, add = TRUE, drawlabels = FALSE,
                      col = faint("white", 0.7), lwd = 0.7)
  }
  if (!is.null(panel$points)) {
    graphics::points(panel$points$x, panel$points$y, pch = 21, cex = 0.7 * point_size(nrow(panel$points)), bg = "white",
                     col = "black", lwd = 0.7)
  }
  draw_overlay(add)
  margin_legend(classes$words, fill = rev(classes$colours))
}

# Points, coloured by classes of their values.
draw_values <- function(panel, arguments, add) {
  table <- panel$table
  classes <- colour_classes(table$value, 6, arguments)
  before <- open_panel(table$x, table$y, panel$xlab, panel$ylab, panel$title, arguments, classes$words, panel$aspect)
  on.exit(graphics::par(before))
  # a grey edge makes points with pale colours visible on white paper
  graphics::points(table$x, table$y, pch = 21, cex = 0.9, col = faint("grey20", 0.5), lwd = 0.4,
                   bg = classes$colours[cut(table$value, classes$levels, include.lowest = TRUE)])
  draw_overlay(add)
  margin_legend(classes$words, fill = rev(classes$colours))
}

# TRUE if axes have equal steps, which raster images require.
is_even <- function(axes) all(vapply(axes, function(v) {
  length(v) < 3 || diff(range(diff(v))) <= 1e-6 * diff(range(v))
}, NA))

# The maximum number of levels for which curves have bands, and the maximum number of lines in the legend.
most_bands <- 6
most_words <- 12

draw_curves <- function(panel, arguments, add) {
  curves <- panel$curves
  along <- factor(curves$along, unique(curves$along))
  words <- if (nlevels(along) > 1 && nlevels(along) <= most_words) levels(along)
  joined <- function(...) do.call(c, Filter(length, list(...)))
  before <- open_panel(joined(curves$x, panel$points$x, panel$rug, if (isTRUE(panel$zero)) c(0, panel$reach)),
                       joined(curves$fit, curves$lwr, curves$upr, panel$points$y, if (isTRUE(panel$zero)) 0),
                       panel$xlab, panel$ylab, panel$title, arguments, words)
  on.exit(graphics::par(before))
  if (!is.null(panel$line)) graphics::abline(panel$line, lty = 2, col = "grey40")
  one <- nlevels(along) <= 1
  colours <- if (one) ink() else class_colours(nlevels(along))
  tables <- if (is.null(curves)) list() else if (one) list(curves) else unname(split(curves, along))
  if (!is.null(curves$lwr) && length(tables) <= most_bands) for (k in seq_along(tables)) {
    graphics::polygon(c(tables[[k]]$x, rev(tables[[k]]$x)), c(tables[[k]]$lwr, rev(tables[[k]]$upr)), border = NA,
                      col = faint(if (one) viridis(3)[[2]] else colours[[k]], if (one) 0.35 else 0.2))
  }
  for (k in seq_along(tables)) {
    graphics::lines(tables[[k]]$x, tables[[k]]$fit, col = colours[[k]], lwd = 2, lty = if (one) 1 else 1 + (k - 1) %% 6)
  }
  graphics::points(panel$points$x, panel$points$y, pch = 16, cex = point_size(NROW(panel$points)),
                   col = faint(if (length(tables)) "black" else ink(), 0.6))
  if (!is.null(panel$rug)) graphics::rug(as.numeric(panel$rug), quiet = TRUE)
  if (length(words)) margin_legend(words, lty = 1 + (seq_along(words) - 1) %% 6, col = colours, lwd = 2)
}

# Draws the levels from the smallest to the largest effect, with their names if there is enough space.
draw_levels <- function(panel, arguments, add) {
  table <- panel$table[order(panel$table$fit), ]
  n <- nrow(table)
  before <- open_panel(c(table$lwr, table$upr), c(0.5, n + 0.5), panel$xlab, panel$ylab, panel$title,
                       c(arguments, list(yaxs = "i")), ticks = table$level)
  on.exit(graphics::par(before))
  graphics::abline(v = 0, lty = 2, col = "grey40")
  graphics::segments(table$lwr, seq_len(n), table$upr, seq_len(n), col = ink())
  graphics::points(table$fit, seq_len(n), pch = 16, cex = 0.8, col = ink())
}
