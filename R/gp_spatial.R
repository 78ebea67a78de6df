# Points and maps of sf, stars, terra and sp: what is taken from them, and results of the same class.

is_spatial <- function(x) inherits(x, c("sf", "sfc", "stars", "Spatial", "SpatVector", "SpatRaster"))

is_map <- function(x) inherits(x, c("stars", "SpatRaster"))

# A list of
#   data      the variables; a data frame, list or nothing stays as it is, the columns of a matrix are variables
#   u         the coordinates, a matrix; NULL where the class has none
#   long_lat  whether these are longitude and latitude
#   crs       their reference system, as package sf has it; NULL where there is none or sf is not installed
#   kind      "sf", or the name of another class
spatial_parts <- function(data) {
  home <- if (isS4(data)) attr(class(data), "package")
  # without its package, an object that was read from a file does not know its superclasses
  if (!is.null(home) && home %in% c("sp", "terra")) need_package(home, paste("data of class", class(data)))
  UseMethod("spatial_parts")
}

spatial_parts.default <- function(data) {
  if (is.matrix(data)) data <- as.data.frame(data)
  list(data = data, u = NULL, long_lat = FALSE)
}

spatial_parts.sfc <- function(data) {
  need_package("sf", "data of class sf")
  u <- sf::st_coordinates(sf::st_geometry(data))
  check_one_each(u, NROW(data))
  values <- if (inherits(data, "sf")) sf::st_drop_geometry(data) else data.frame(row.names = seq_along(data))
  list(data = values, u = u, long_lat = isTRUE(sf::st_is_longlat(data)), crs = sf::st_crs(data), kind = "sf")
}

spatial_parts.sf <- function(data) spatial_parts.sfc(data)

spatial_parts.Spatial <- function(data) {
  if (!inherits(data, c("SpatialPoints", "SpatialGrid"))) refuse_geometry()
  u <- sp::coordinates(data)
  values <- if ("data" %in% methods::slotNames(data)) data@data else data.frame(row.names = seq_len(nrow(u)))
  if (inherits(data, "SpatialGrid")) u <- without_masked(u, values)
  list(data = with_coordinates(values, u), u = u, long_lat = isFALSE(sp::is.projected(data)), crs = system_of(data),
       kind = "Spatial")
}

spatial_parts.SpatVector <- function(data) {
  if (terra::geomtype(data) != "points") refuse_geometry()
  u <- terra::crds(data)
  check_one_each(u, nrow(data))
  list(data = terra::as.data.frame(data), u = u, long_lat = isTRUE(terra::is.lonlat(data)),
       crs = system_of(terra::crs(data)), kind = "SpatVector")
}

spatial_parts.SpatRaster <- function(data) {
  u <- terra::xyFromCell(data, seq_len(terra::ncell(data)))
  values <- if (terra::hasValues(data)) terra::as.data.frame(data, na.rm = FALSE) else
    data.frame(row.names = seq_len(nrow(u)))
  u <- without_masked(u, values)
  list(data = with_coordinates(values, u), u = u, long_lat = isTRUE(terra::is.lonlat(data)),
       crs = system_of(terra::crs(data)), kind = "SpatRaster")
}

spatial_parts.stars <- function(data) {
  need_package("stars", "data of class stars")
  data <- stars::st_as_stars(data)  # reads a proxy
  if (length(dim(data)) != 2 || anyNA(attr(stars::st_dimensions(data), "raster")$dimensions)) {
    stop_kernops("input", c("An object of class stars must be a raster of two dimensions.",
                            i = "{.fn split} makes attributes of the bands of a third one, {.fn sf::st_as_sf} makes
                                 points."))
  }
  u <- as.matrix(sf::st_coordinates(data))
  values <- as.data.frame(lapply(data, as.vector_or_factor), optional = TRUE)
  u <- without_masked(u, values)
  list(data = with_coordinates(values, u), u = u, long_lat = isTRUE(sf::st_is_longlat(data)), crs = sf::st_crs(data),
       kind = "stars")
}

as.vector_or_factor <- function(x) if (is.factor(x)) `dim<-`(x, NULL) else as.vector(x)

# The coordinates of a map are variables, too.
with_coordinates <- function(values, u) cbind(values, as.data.frame(u)[setdiff(colnames(u), names(values))])

# Cells of a map without any value are not predicted.
without_masked <- function(u, values) {
  if (ncol(values)) u[rowSums(!is.na(values)) == 0, ] <- NA
  u
}

system_of <- function(x) {
  if (!identical(x, "") && requireNamespace("sf", quietly = TRUE)) sf::st_crs(x)
}

# Polygons: their coordinates are those of the centroids of area_points().
area_parts <- function(x, areas) {
  shapes <- if (inherits(x, c("sf", "sfc"))) x else sf::st_as_sf(x)
  values <- if (inherits(shapes, "sf")) sf::st_drop_geometry(shapes) else data.frame(row.names = seq_along(shapes))
  list(data = values, u = areas$centre, long_lat = isTRUE(sf::st_is_longlat(shapes)), crs = sf::st_crs(shapes),
       kind = "sf")
}

refuse_geometry <- function() stop_kernops("input", "The geometry of spatial data must be points.")

check_one_each <- function(u, n) if (nrow(u) != n || !ncol(u) %in% 2:3) refuse_geometry()

# The columns of a data frame at the points or cells of `like`, which keeps none of its own.
give_back <- function(like, table) UseMethod("give_back")

give_back.sfc <- function(like, table) sf::st_sf(table, geometry = sf::st_geometry(like))

give_back.sf <- function(like, table) give_back.sfc(like, table)

give_back.Spatial <- function(like, table) {
  rownames(table) <- NULL
  sp::addAttrToGeom(methods::as(like, sub("DataFrame$", "", class(like))), table, match.ID = FALSE)
}

give_back.SpatVector <- function(like, table) {
  rownames(table) <- NULL
  cbind(like[, 0], table)
}

give_back.SpatRaster <- function(like, table) {
  terra::rast(like, nlyrs = ncol(table), names = names(table), vals = as.matrix(table), keeptime = FALSE)
}

give_back.stars <- function(like, table) {
  stars::st_as_stars(lapply(table, array, dim(like)), dimensions = stars::st_dimensions(like))
}

# Cross-validated points and cells: of class sf, which may have other classes besides; where it is not installed, with
# their coordinates as columns.
at_points <- function(table, parts) {
  if (is.null(parts$kind)) return(table)
  u <- as.data.frame(parts$u)
  if (!requireNamespace("sf", quietly = TRUE)) return(cbind(table, u[setdiff(names(u), names(table))]))
  names(u) <- paste0("coordinate", seq_along(u))
  sf::st_as_sf(cbind(table, u), coords = names(u), crs = parts$crs %||% sf::NA_crs_)
}
