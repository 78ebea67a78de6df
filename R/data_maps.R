# Maps of packages terra and stars are read as tables with a row for each cell, in the order of the dimensions of the
# map.

spatial_parts.SpatRaster <- function(data) {
  u <- terra::xyFromCell(data, seq_len(terra::ncell(data)))
  values <- if (terra::hasValues(data)) terra::as.data.frame(data, na.rm = FALSE) else
    data.frame(row.names = seq_len(nrow(u)))
  u <- without_masked(u, values)
  list(data = with_coordinates(values, u), u = u, long_lat = isTRUE(terra::is.lonlat(data)),
       crs = system_of(terra::crs(data)), kind = "SpatRaster")
}

# The coordinates are the values of the dimensions x and y, which may have any positions among the dimensions. The
# values of another dimension, such as time, become a variable.
spatial_parts.stars <- function(data) {
  need_package("stars", "data of class stars")
  data <- stars::st_as_stars(data)  # reads the data of a proxy
  check_raster(data, raster_axes(data))
  cells <- map_cells(data)
  values <- as.data.frame(lapply(data, function(x) `dim<-`(x, NULL)), optional = TRUE)
  cells <- without_masked(cells, values)
  u <- as.matrix(cells[raster_axes(data)])
  list(data = with_coordinates(values, cells), u = u, long_lat = isTRUE(sf::st_is_longlat(data)),
       crs = sf::st_crs(data), kind = "stars")
}

raster_axes <- function(map) attr(stars::st_dimensions(map), "raster")$dimensions

# The values of the dimensions in each cell, as a data frame. For rotated and curvilinear grids, package stars returns
# the cells in the order x, y, even if the map has another order of dimensions.
map_cells <- function(map) {
  axes <- raster_axes(map)
  order <- order_x_y(map)
  centres <- as.data.frame(sf::st_coordinates(aperm(map, order)))[axes]
  number <- aperm(array(seq_len(nrow(centres)), dim(map)[order]), order(order))
  further <- setdiff(names(stars::st_dimensions(map)), axes)
  values <- lapply(stats::setNames(nm = further), function(name) {
    rep(stars::st_get_dimension_values(map, name), nrow(centres))
  })
  list2DF(c(lapply(centres, `[`, as.vector(number)), values))
}

# The permutation of the dimensions that moves x and y to the front.
order_x_y <- function(map) {
  names <- names(stars::st_dimensions(map))
  match(c(raster_axes(map), setdiff(names, raster_axes(map))), names)
}

# Returns f(map), for a function f that, for example, draws random numbers for the cells. The dimensions of a stars map
# are sorted before f is called, so that the draws do not depend on the order of the dimensions.
in_order_x_y <- function(map, f) {
  if (!inherits(map, "stars")) return(f(map))
  need_package("stars", "data of class stars")
  map <- stars::st_as_stars(map)
  check_raster(map, raster_axes(map))
  order <- order_x_y(map)
  if (is.unsorted(order)) aperm(f(aperm(map, order)), order(order)) else f(map)
}

check_raster <- function(data, axes, call = caller_env()) {
  size <- dim(data)
  names(size) <- names(stars::st_dimensions(data))
  further <- size[!names(size) %in% axes]
  if (length(axes) == 2 && !anyNA(axes) && all(further == 1)) return(invisible())
  stop_kernops("input", c(
    "An object of class stars must be a raster of two dimensions, x and y.",
    x = if (any(further > 1)) "It has {length(size)} dimension{?s}: {.code {names(size)}}, of length {size}.",
    i = "{.fn split} makes attributes of a third dimension, {.code x[, , , 1]} selects one of its values, and
         {.fn sf::st_as_sf} makes points."
  ), call = call)
}

# Adds the coordinates of a map to the variables.
with_coordinates <- function(values, u) {
  u <- as.data.frame(u)
  cbind(values, u[setdiff(names(u), names(values))])
}

# Sets the coordinates of cells without any value to NA, so that these cells are not predicted.
without_masked <- function(u, values) {
  if (ncol(values)) u[rowSums(!is.na(values)) == 0, ] <- NA
  u
}
