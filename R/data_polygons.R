# Nodes for integrals over polygons. data_polygon_pieces.R cuts each polygon into pieces of similar size; the nodes are
# the centroids of the pieces, and the weights are the areas of the pieces. This quadrature rule is exact for linear
# functions on any polygon.

is_area <- function(x) {
  if (inherits(x, "SpatVector")) return(terra::geomtype(x) == "polygons")
  if (inherits(x, "Spatial")) return(inherits(x, "SpatialPolygons"))
  inherits(x, c("sf", "sfc")) && any(has_area(sf::st_geometry(x)))
}

# TRUE for geometries with an area. In sf, the dimension of empty polygons is NA.
has_area <- function(shapes) sf::st_dimension(shapes) %in% 2 | geometry_types(shapes) %in% c("POLYGON", "MULTIPOLYGON")

geometry_types <- function(shapes) as.character(sf::st_geometry_type(shapes))

# About `n` nodes of each polygon. area_points() returns a list of
#   u, weight  for each polygon, a matrix of nodes and a vector of weights whose sum is 1; an empty polygon has one node
#              with NA
#   centre     a matrix of the centroids
# If sf computes on the sphere, edges are great circles, and the polygons are cut in an equal-area projection.
area_points <- function(x, n, call = caller_env()) {
  need_package("sf", "newdata with polygons", call)
  n <- n %||% 400
  if (!is.numeric(n) || length(n) != 1 || !is.finite(n) || n < 1) {
    stop_kernops("input", "For polygons, {.arg block} must be one whole number, the number of points that represent
                           each polygon.",
                 call = call)
  }
  shapes <- sf::st_geometry(if (inherits(x, c("sf", "sfc"))) x else sf::st_as_sf(x))
  check_areas(shapes, call)
  polygons <- lapply(shapes, polygons_of)
  long_lat <- isTRUE(sf::st_is_longlat(shapes))
  check_vertices(polygons, long_lat, call)
  rows <- which(lengths(polygons) > 0)
  chart <- if (!long_lat) plane_chart else if (sf::sf_use_s2()) sphere_chart else degrees_chart
  charts <- lapply(polygons[rows], chart)
  flat <- Map(project_polygons, polygons[rows], charts)
  check_projected(flat, rows, call)
  pieces <- lapply(valid_polygons(flat), polygon_pieces, n)
  check_have_area(rows[lengths(lapply(pieces, `[[`, "area")) == 0], call)
  nodes <- rep(list(list(u = matrix(NA_real_, 1, 2), weight = 1, centre = matrix(NA_real_, 1, 2))), length(polygons))
  nodes[rows] <- Map(nodes_of_pieces, pieces, charts)
  list(u = lapply(nodes, `[[`, "u"), weight = lapply(nodes, `[[`, "weight"),
       centre = do.call(rbind, c(list(matrix(0, 0, 2)), lapply(nodes, `[[`, "centre"))))
}

nodes_of_pieces <- function(pieces, chart) {
  weight <- pieces$area * chart$density(pieces$centre)
  weight <- weight / sum(weight)
  list(u = chart$from_plane(pieces$centre), weight = weight,
       centre = chart$from_plane(t(colSums(pieces$centre * weight))))
}

# Polygons as spatial data, with the centroids of area_points() as coordinates.
area_parts <- function(x, areas) {
  shapes <- if (inherits(x, c("sf", "sfc"))) x else sf::st_as_sf(x)
  values <- if (inherits(shapes, "sf")) sf::st_drop_geometry(shapes) else data.frame(row.names = seq_along(shapes))
  list(data = values, u = areas$centre, long_lat = isTRUE(sf::st_is_longlat(shapes)), crs = sf::st_crs(shapes),
       kind = "sf")
}

# The polygons of a geometry, a list of lists of rings, which are matrices of x and y.
polygons_of <- function(shape) {
  type <- class(shape)[[2]]
  if (type == "GEOMETRYCOLLECTION") return(do.call(c, lapply(unclass(shape), polygons_of)))
  polygons <- switch(type, POLYGON = list(unclass(shape)), MULTIPOLYGON = unclass(shape), list())
  lapply(Filter(length, polygons), lapply, function(ring) unname(ring[, 1:2, drop = FALSE]))
}

# Makes polygons in the plane valid: a polygon must not overlap itself, and its holes must be inside. Invalid polygons
# are converted by sf::st_make_valid().
valid_polygons <- function(polygons) {
  shapes <- sf::st_sfc(lapply(polygons, sf::st_multipolygon))
  bad <- !sf::st_is_valid(shapes) %in% TRUE
  polygons[bad] <- lapply(sf::st_make_valid(shapes[bad]), polygons_of)
  polygons
}

project_polygons <- function(polygons, chart) lapply(polygons, lapply, chart$to_plane)

check_areas <- function(shapes, call) {
  types <- geometry_types(shapes)
  area <- has_area(shapes)
  curved <- which(area & !types %in% c("POLYGON", "MULTIPOLYGON", "GEOMETRYCOLLECTION"))
  if (length(curved)) {
    stop_kernops("input", c("Areas must be polygons, not {unique(types[curved])}: see {cli::qty(length(curved))}row{?s}
                             {curved}.", i = "{.code sf::st_cast(x, \"MULTIPOLYGON\")} converts them."), call = call)
  }
  others <- which(!area & !is.na(sf::st_dimension(shapes)))
  if (length(others)) {
    stop_kernops("input", c("{.arg newdata} must be all points or all polygons: see {cli::qty(length(others))}row{?s}
                             {others}, of type {unique(types[others])}.",
                            i = "Predict points and polygons by two calls."), call = call)
  }
}

check_vertices <- function(polygons, long_lat, call) {
  wrong <- function(ring) any(!is.finite(ring)) || long_lat && any(abs(ring[, 2]) > 90 + 1e-9)
  bad <- which(vapply(polygons, function(parts) any(unlist(lapply(parts, lapply, wrong))), NA))
  if (!length(bad)) return(invisible())
  stop_kernops("input", "The vertices of polygons must be finite{if (long_lat) ', with latitudes from -90 to 90'}: see
                         {cli::qty(length(bad))}row{?s} {bad}.", call = call)
}

check_projected <- function(polygons, rows, call) {
  bad <- rows[vapply(polygons, function(parts) anyNA(unlist(parts)), NA)]
  if (!length(bad)) return(invisible())
  stop_kernops("input", c("Edges of polygons must not join antipodes: see {cli::qty(length(bad))}row{?s} {bad}.",
                          i = "{.fn sf::sf_use_s2} with {.code FALSE} makes edges straight in longitude and latitude."),
               call = call)
}

check_have_area <- function(rows, call) {
  if (!length(rows)) return(invisible())
  stop_kernops("input", c("Polygons must have an area: see {cli::qty(length(rows))}row{?s} {rows}.",
                          i = "{.fn sf::st_make_valid} converts such polygons to lines and points; {.fn sf::st_buffer}
                               gives lines and points an area."), call = call)
}
