# Zones of a map: a layer of terra or stars, or polygons; a cell belongs to the zone that contains its centre.

# Returns a function of rows of a map: f(rows) is a data frame of the cells that belong to zones, with the columns
# `cell` (counted from the first cell of these rows), `zone` and `area`.
zone_reader <- function(zones, template, call) {
  cells_of <- if (is_map(zones)) cells_of_layer(zones, template, call) else cells_of_polygons(zones, template, call)
  function(rows) {
    window <- window_template(template, rows)
    cells <- cells_of(rows, window)
    area <- if (isTRUE(terra::is.lonlat(template))) {
      as.vector(terra::values(terra::cellSize(window, unit = "km")))[cells$cell]
    } else prod(terra::res(template))
    cbind(cells, area = rep_len(area, nrow(cells)))
  }
}

cells_of_layer <- function(zones, template, call) {
  windows <- windows_of_layer(zones, template, "zones", call)
  count <- length(names(zones))
  if (count != 1) stop_kernops("input", "{.arg zones} must have one layer, not {count}.", call = call)
  function(rows, window) {
    zone <- windows$read(rows)$data[[1]]
    cell <- which(!is.na(zone))
    data.frame(cell = cell, zone = as.character(zone[cell]))
  }
}

cells_of_polygons <- function(zones, template, call) {
  if (!inherits(zones, c("sf", "sfc", "SpatVector")) || !is_area(zones)) {
    stop_kernops("input", "{.arg zones} must be a map of terra or stars, or polygons of sf or terra, not
                           {.obj_type_friendly {zones}}.", call = call)
  }
  if (!inherits(zones, "SpatVector")) zones <- terra::vect(if (inherits(zones, "sf")) sf::st_geometry(zones) else zones)
  if (differ_in_crs(system_of(terra::crs(zones)), system_of(terra::crs(template)))) {
    stop_kernops(c("crs", "input"), c("{.arg zones} and {.arg newdata} must have the same reference system.",
                                      i = "{.fn sf::st_transform} and {.fn terra::project} convert polygons."),
                 call = call)
  }
  function(rows, window) {
    cells <- terra::cells(window, zones)
    cells <- cells[!is.na(cells[, "cell"]), , drop = FALSE]
    data.frame(cell = unname(cells[, "cell"]), zone = as.character(cells[, "ID"]))
  }
}

window_template <- function(template, rows) {
  box <- as.vector(terra::ext(template))
  top <- box[["ymax"]] - (rows[[1]] - 1) * terra::yres(template)
  terra::rast(nrows = length(rows), ncols = terra::ncol(template), crs = terra::crs(template),
              extent = terra::ext(box[["xmin"]], box[["xmax"]], top - length(rows) * terra::yres(template), top))
}

# The windows of a layer (a mask or zones). The cells of the layer must be the cells of the map `template`.
windows_of_layer <- function(layer, template, name, call) {
  windows <- if (is_map(layer)) map_windows(layer_of_tile(layer, template), call = call)
  if (!is.null(windows) && has_geometry(windows$template, template)) return(windows)
  stop_kernops("input", "{.arg {name}} must be a map of terra or stars with the rows, columns, extent and reference
                         system of {.arg newdata}.", call = call)
}

# Returns a layer for one tile of a map: a layer that covers several tiles is cropped to the cells of this tile, and any
# other layer is returned unchanged.
layer_of_tile <- function(x, template) {
  if (!inherits(x, "SpatRaster")) return(x)
  beyond <- as.vector(terra::ext(template)) - as.vector(terra::ext(x))
  cells <- beyond / rep(terra::res(x), each = 2)
  within <- all(abs(cells - round(cells)) < 1e-6) && all(round(cells) * c(1, -1, 1, -1) >= 0)
  alike <- has_geometry(x, template, rowcol = FALSE, ext = FALSE, res = TRUE)
  if (!alike || !within || all(round(cells) == 0)) return(x)
  x <- x[[seq_len(terra::nlyr(x))]] # a copy, because window() changes its argument
  terra::window(x) <- terra::ext(template)
  x
}

# TRUE for maps with the same cells. A missing reference system matches every reference system, because packages read
# files without a reference system differently: terra assumes longitude and latitude if the extent allows this, and
# stars assumes no reference system.
has_geometry <- function(x, template, ...) {
  same <- function(crs) isTRUE(terra::compareGeom(x, template, crs = crs, ..., stopOnError = FALSE))
  same(TRUE) || same(FALSE) && !differ_in_crs(system_of(terra::crs(x)), system_of(terra::crs(template)))
}
