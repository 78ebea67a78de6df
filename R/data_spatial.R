# Variables and coordinates of points of sf, terra and sp. Maps are read by data_maps.R; give_back() of
# predict_columns.R returns results of the same class.

is_spatial <- function(x) inherits(x, c("sf", "sfc", "Spatial", "SpatVector")) || is_map(x)

is_map <- function(x) inherits(x, c("stars", "SpatRaster", "map_window"))

# spatial_parts() returns a list of
#   data      the variables; a data frame, a list or NULL is unchanged; for a matrix, the columns are variables
#   added     the names of the variables that are coordinates, which a dot in a formula excludes
#   u         the coordinates, a matrix; NULL if the class has no coordinates
#   long_lat  whether the coordinates are longitude and latitude
#   crs       the coordinate reference system, an object of package sf; NULL if there is none or sf is not installed
#   kind      "sf", or the name of another class
spatial_parts <- function(data) {
  home <- if (isS4(data)) attr(class(data), "package")
  # the superclasses of an object that was read from a file are unknown until the package of its class is loaded
  if (!is.null(home) && home %in% c("sp", "terra")) need_package(home, paste("data of class", class(data)))
  UseMethod("spatial_parts")
}

spatial_parts.default <- function(data) {
  if (is.matrix(data)) data <- as.data.frame(data)
  list(data = data, u = NULL, long_lat = FALSE)
}

spatial_parts.sfc <- function(data) {
  need_package("sf", "data of class sf")
  u <- feature_points(sf::st_geometry(data))
  values <- if (inherits(data, "sf")) sf::st_drop_geometry(data) else data.frame(row.names = seq_along(data))
  long_lat <- isTRUE(sf::st_is_longlat(data))
  if (long_lat) check_no_heights(u)
  list(data = with_coordinates(values, u), added = setdiff(colnames(u), names(values)), u = u, long_lat = long_lat,
       crs = sf::st_crs(data), kind = "sf")
}

spatial_parts.sf <- function(data) spatial_parts.sfc(data)

spatial_parts.Spatial <- function(data) {
  if (inherits(data, "SpatialMultiPoints")) {
    check_single_points(vapply(data@coords, nrow, 0L), "methods::as(x, \"SpatialPointsDataFrame\")")
  } else if (!inherits(data, c("SpatialPoints", "SpatialGrid"))) refuse_geometry(class(data))
  u <- sp::coordinates(data)
  values <- if ("data" %in% methods::slotNames(data)) data@data else data.frame(row.names = seq_len(nrow(u)))
  if (inherits(data, "SpatialGrid")) u <- without_masked(u, values)
  long_lat <- isFALSE(sp::is.projected(data))
  if (long_lat) check_no_heights(u)
  list(data = with_coordinates(values, u), u = u, long_lat = long_lat, crs = system_of(data), kind = "Spatial")
}

spatial_parts.SpatVector <- function(data) {
  if (terra::geomtype(data) != "points") refuse_geometry(terra::geomtype(data))
  points <- terra::geom(data)
  check_single_points(tabulate(points[, "geom"], nrow(data)), "terra::disagg(x)")
  u <- matrix(NA_real_, nrow(data), 2, dimnames = list(NULL, c("x", "y")))
  u[points[, "geom"], ] <- points[, c("x", "y")]
  values <- terra::as.data.frame(data)
  if (!ncol(values)) values <- data.frame(row.names = seq_len(nrow(u)))
  list(data = with_coordinates(values, u), added = setdiff(colnames(u), names(values)), u = u,
       long_lat = isTRUE(terra::is.lonlat(data)),
       crs = system_of(terra::crs(data)), kind = "SpatVector")
}

# The coordinates X, Y and, if it exists, Z of the point of each feature. A measure M is not a coordinate.
feature_points <- function(geometry) {
  check_points(geometry)
  u <- if (inherits(geometry, "sfc_POINT")) sf::st_coordinates(geometry) else single_points(geometry)
  u[, colnames(u) %in% c("X", "Y", "Z"), drop = FALSE]
}

single_points <- function(geometry) {
  points <- lapply(geometry, function(point) if (is.matrix(point)) unclass(point) else t(unclass(point)))
  count <- vapply(points, nrow, 0L)
  check_single_points(count, "sf::st_cast(x, \"POINT\")")
  axes <- if (length(geometry)) strsplit(class(geometry[[1]])[[1]], "")[[1]] else c("X", "Y")
  u <- matrix(NA_real_, length(points), length(axes), dimnames = list(NULL, axes))
  u[count > 0, ] <- do.call(rbind, points)
  u
}

system_of <- function(x) {
  if (!identical(x, "") && requireNamespace("sf", quietly = TRUE)) sf::st_crs(x)
}

check_points <- function(geometry) {
  if (inherits(geometry, "sfc_POINT")) return(invisible())
  types <- geometry_types(geometry)
  others <- which(!types %in% c("POINT", "MULTIPOINT"))
  if (length(others)) refuse_geometry(unique(types[others]), others)
}

refuse_geometry <- function(types, rows = NULL) {
  where <- if (length(rows)) ": see {cli::qty(length(rows))}row{?s} {rows}"
  stop_kernops("input", c(paste0("The geometry of spatial data must be points, not {types}", where, "."),
                          i = "{.fn sf::st_centroid} or {.fn sf::st_cast} makes points. Polygons can be the
                               {.arg newdata} of {.fn predict}."))
}

check_single_points <- function(count, remedy) {
  several <- which(count > 1)
  if (!length(several)) return(invisible())
  stop_kernops("input", c("Each feature must have one point: see {cli::qty(length(several))}row{?s} {several}.",
                          i = "{.code {remedy}} makes a feature of each point."))
}

# Stops for points with heights, because heights are in metres and longitude and latitude in degrees.
check_no_heights <- function(u) {
  if (ncol(u) <= 2) return(invisible())
  stop_kernops("input", c("Points with longitude and latitude must not have a height: the unit of Z is not degrees.",
                          i = "{.fn sf::st_zm} drops it; {.fn sf::st_transform} to a projected reference system makes it
                               a third coordinate."))
}
