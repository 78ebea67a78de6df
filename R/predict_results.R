# Results as spatial objects.

# The columns of a data frame at the points or cells of `like`, without the variables of `like`.
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
  like <- stars::st_as_stars(like)  # a proxy may have further dimensions
  stars::st_as_stars(lapply(table, array, unname(dim(like))), dimensions = stars::st_dimensions(like))
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
