# Plots of cross-validation.

#' @rdname plot.gp
#' @export
plot.gp_cv <- function(x, which = c("observed", "qq", "map"), ...) {
  if (missing(which) && !has_map(x)) which <- c("observed", "qq")
  check_subset(which, "which", c("observed", "qq", "map"))
  check_drawn(list(...), plot.gp_cv)
  places <- if ("map" %in% which) map_places(x)
  before <- open_page(page_matrix(length(which), page_shape()))
  on.exit(graphics::par(before))
  sampled <- drawn_rows(nrow(x))
  colour <- grDevices::adjustcolor(viridis(3)[[1]], 0.6)
  drawn <- function(x, y) graphics::points(x, y, pch = 16, cex = 0.6, col = colour)
  inner <- graphics::par("mar", "mgp")
  on.exit(graphics::par(inner), add = TRUE, after = FALSE)
  if ("observed" %in% which) {
    open_panel(x$fit, x$observed, "predicted without it", "observed", "Cross-validation", list(...))
    drawn(x$fit[sampled], x$observed[sampled])
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("qq" %in% which) {
    quantiles <- normal_quantiles(x$zscore)
    open_panel(quantiles$x, quantiles$y, "normal quantile", "standardised error", "Standardised errors", list())
    drawn(quantiles$x, quantiles$y)
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("map" %in% which) plot_errors_of_cv(x, places, sampled, list(...))
  invisible(x)
}

# Up to `most_drawn` sorted values and the corresponding quantiles of the normal distribution.
normal_quantiles <- function(z) {
  z <- sort(z[is.finite(z)])
  some <- drawn_rows(length(z))
  data.frame(x = stats::qnorm(stats::ppoints(length(z)))[some], y = z[some])
}

# Draws the errors as triangles, which point up where an observation is above its prediction.
plot_errors_of_cv <- function(x, places, rows, arguments) {
  colours <- class_colours(2)
  words <- c("above", "below", "prediction")
  axes <- attr(x, "axes")
  open_panel(places$x, places$y, axes[[1]], axes[[2]], "Standardised errors", arguments, words,
             attr(x, "aspect") %||% 1)
  above <- x$zscore[rows] >= 0
  graphics::points(places$x[rows], places$y[rows], pch = ifelse(above, 24, 25), cex = pmin(abs(x$zscore[rows]), 4) / 2,
                   bg = colours[ifelse(above, 1, 2)])
  margin_legend(words, pch = c(24, 25, NA), pt.bg = c(colours, NA))
}

has_map <- function(cv) {
  u <- attr(cv, "coords")
  is.matrix(u) && nrow(u) == nrow(cv) && ncol(u) == 2
}

# The coordinates x and y of a map, which may be dates.
map_places <- function(cv) {
  if (!has_map(cv)) stop_kernops("input", "A map needs all observations of a fit with two coordinates.")
  u <- attr(cv, "coords")
  attr(cv, "places") %||% data.frame(x = u[, 1], y = u[, 2])
}
