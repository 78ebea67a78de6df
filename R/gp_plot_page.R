# Pages of several panels, and overlays of maps.

# The matrix for layout(), which has the indices of the panels on a page. `shape` is the height of the page divided by
# its width. Panels are about square, and each row has the width of the page. More than twelve panels are drawn on
# several pages.
page_matrix <- function(count, shape = 1) {
  count <- min(count, 12)
  rows <- min(count, max(1, round(sqrt(count * shape))))
  last <- round(seq_len(rows) * count / rows)
  sizes <- diff(c(0, last))
  wide <- if (length(unique(sizes)) == 1) sizes[[1]] else prod(unique(sizes))
  numbers <- Map(function(last, size) rep(seq(to = last, length.out = size), each = wide / size), last, sizes)
  matrix(unlist(numbers), rows, byrow = TRUE)
}

page_shape <- function(size = grDevices::dev.size()) size[[2]] / size[[1]]

# The matrix for the panels of a fit. If a map and two diagrams are drawn, the map fills the left half of the page.
page_of_panels <- function(panels, panel_names, several) {
  if (several && identical(panel_names, "variogram")) return(triangle_of_pairs(length(panels)))
  maps <- vapply(panels, function(panel) panel$kind %in% c("map", "values"), NA)
  if (identical(maps, c(TRUE, FALSE, FALSE))) return(matrix(c(1, 1, 2, 3), 2))
  page_matrix(length(panels), page_shape())
}

# The matrix for panels of pairs of variables: the lower triangle, row by row.
triangle_of_pairs <- function(count) {
  p <- (sqrt(8 * count + 1) - 1) / 2
  numbers <- matrix(0, p, p)
  numbers[upper.tri(numbers, TRUE)] <- seq_len(count)
  t(numbers)
}

# Opens a page. As with par(mfrow = ), text is smaller if there are more panels in a row or column. Returns the previous
# graphical parameters.
open_page <- function(numbers) {
  if (length(numbers) == 1) return(NULL)
  before <- graphics::par("mfrow")
  graphics::layout(numbers)
  graphics::par(cex = page_cex(numbers))
  list(mfrow = before)
}

page_cex <- function(numbers) {
  most <- max(nrow(numbers), apply(numbers, 1, function(row) length(unique(row))))
  if (most > 2) 0.66 else if (nrow(numbers) == 2) 0.83 else 1
}

check_overlay <- function(add, call = caller_env()) {
  if (is.null(add) || is.function(add) || inherits(add, c("sf", "sfc", "SpatVector", "Spatial"))) return(invisible())
  stop_kernops("input", "{.arg add} must be an object of sf, terra or sp, or a function that draws.", call = call)
}

# Draws an overlay: lines, polygons or points of sf, terra or sp, or a function that draws.
draw_overlay <- function(add) {
  if (is.null(add)) return(invisible())
  if (is.function(add)) return(add())
  if (inherits(add, "SpatVector")) return(terra::plot(add, add = TRUE))
  if (inherits(add, "Spatial")) return(sp::plot(add, add = TRUE))
  plot(sf::st_geometry(add), add = TRUE, col = if (is_line_or_point(add)) "black" else NA, border = "black")
}

is_line_or_point <- function(add) !any(grepl("POLYGON", sf::st_geometry_type(add)))
