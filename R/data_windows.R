# Maps that are read in windows. A window is a block of whole rows; only one window is in memory at a time.

# map_windows() reads the layers `variables`, or all layers if the map has none of these layers. It returns a list of
#   template     a SpatRaster with the geometry of the map, without values
#   read(rows)   the cells of adjacent rows, counted from the top, in the order of terra: an object of class map_window
#                with the elements of spatial_parts()
#   about        text and numbers that identify the map
#   result(file) predictions that were written to a file, as an object of the class of the map
map_windows <- function(map, variables = NULL, call = caller_env()) UseMethod("map_windows")

map_windows.default <- function(map, variables = NULL, call = caller_env()) {
  stop_kernops("input", "Predictions to a file, by parts or by zones require a map: a SpatRaster, an object of class
                         stars, or a list of these, not {.obj_type_friendly {map}}.", call = call)
}

map_windows.SpatRaster <- function(map, variables = NULL, call = caller_env()) {
  need_package("terra", "data of class SpatRaster", call)
  template <- terra::rast(map, nlyrs = 1)
  map <- map[[numbers_of_layers(names(map), variables)]]
  known <- list(long_lat = isTRUE(terra::is.lonlat(map)), crs = system_of(terra::crs(map)), kind = "SpatRaster")
  has_values <- terra::hasValues(map)
  new_windows(template, function(rows) {
    u <- terra::xyFromCell(template, cells_of_rows(template, rows))
    values <- if (has_values) values_of_rows(map, rows, call) else data.frame(row.names = seq_len(nrow(u)))
    u <- without_masked(u, values)
    c(list(data = with_coordinates(values, u), u = u), known)
  }, list(names(map), if (has_values && any(terra::inMemory(map))) terra::values(map)), terra::sources(map),
  terra::rast)
}

map_windows.stars <- function(map, variables = NULL, call = caller_env()) {
  for (package in c("stars", "terra")) need_package(package, "a map of class stars that is predicted by parts", call)
  axes <- raster_axes(map)
  check_raster(map, axes, call)
  template <- template_of_stars(map, axes, call)
  map <- map[numbers_of_layers(names(map), variables)]
  upwards <- stars::st_dimensions(map)[[axes[[2]]]]$delta > 0
  new_windows(template, function(rows) {
    if (upwards) rows <- terra::nrow(template) + 1 - rev(rows)
    part <- stars::st_as_stars(slice_of_stars(map, axes[[2]], rows))
    downwards <- order(terra::cellFromXY(template, as.matrix(map_cells(part)[axes])))
    parts <- spatial_parts(part)
    replace(parts, c("data", "u"), list(parts$data[downwards, , drop = FALSE], parts$u[downwards, , drop = FALSE]))
  }, rlang::hash(unclass(map)), if (inherits(map, "stars_proxy")) unlist(unclass(map)),
  function(file) stars::read_stars(file, proxy = TRUE))
}

new_windows <- function(template, read, values, files, result) {
  files <- as.character(Filter(file.exists, files))
  list(template = template, result = result, read = function(rows) structure(read(rows), class = "map_window"),
       about = list(dim(template), as.vector(terra::ext(template)), terra::crs(template), values, files,
                    file.size(files), as.numeric(file.mtime(files))))
}

# A window is read like other spatial data; the predictions for a window are tables with a row for each cell.
spatial_parts.map_window <- function(data) unclass(data)

give_back.map_window <- function(like, table) table

# The indices of the layers that the fit reads; the indices of all layers if the fit reads none. A cell is masked if its
# values in all these layers are missing.
numbers_of_layers <- function(names, variables) {
  used <- which(names %in% variables)
  if (length(used)) used else seq_along(names)
}

cells_of_rows <- function(template, rows) {
  (rows[[1]] - 1) * terra::ncol(template) + seq_len(length(rows) * terra::ncol(template))
}

values_of_rows <- function(map, rows, call) {
  tryCatch({
    terra::readStart(map)
    on.exit(terra::readStop(map))
    terra::readValues(map, rows[[1]], length(rows), dataframe = TRUE)
  }, error = function(e) {
    stop_kernops(c("file", "input"), "{.arg newdata} cannot be read: {conditionMessage(e)}.", call = call)
  })
}

# Some values along one dimension of a map; for a proxy object, only these values are read.
slice_of_stars <- function(map, axis, numbers) {
  among <- rep(list(rlang::missing_arg()), length(dim(map)) + 1)
  among[[1 + match(axis, names(stars::st_dimensions(map)))]] <- numbers
  eval(as.call(c(quote(`[`), quote(map), among)))
}

template_of_stars <- function(map, axes, call) {
  along <- stars::st_dimensions(map)[axes]
  regular <- vapply(along, function(axis) is.numeric(axis$delta) && isTRUE(is.finite(axis$delta)), NA)
  affine <- attr(stars::st_dimensions(map), "raster")$affine
  if (!all(regular) || any(affine != 0, na.rm = TRUE) || along[[1]]$delta < 0) {
    stop_kernops("input", c("A map of class stars must be a regular grid along x and y to be predicted by parts.",
                            i = "{.fn stars::st_warp} converts other grids."), call = call)
  }
  box <- sf::st_bbox(map)
  size <- dim(map)[match(axes, names(stars::st_dimensions(map)))]
  crs <- sf::st_crs(map)
  terra::rast(nrows = size[[2]], ncols = size[[1]], extent = terra::ext(box[c("xmin", "xmax", "ymin", "ymax")]),
              crs = if (is.na(crs)) "" else crs$wkt)
}
