# Predictions of a map that are written to a file. Until all rows of a map `map.tif` are finished, the finished rows are
# in the file `map.tif.part` in the same folder. The part file contains doubles, and the values of all layers of a cell
# are adjacent. An ENVI header makes the part file readable by terra. An interrupted prediction resumes after the
# finished rows.

part_file <- function(file) paste0(file, ".part")

part_files <- function(file) paste0(part_file(file), c("", ".hdr", ".aux.xml", ".rds"))

# Writes `values`, a matrix with a row for each cell, after the first `done` rows of the map.
append_map_rows <- function(file, values, template, done, call) {
  size <- 8 * done * terra::ncol(template) * ncol(values)
  name <- part_file(file)
  while_writing(file, call, {
    connection <- file(name, if (done) "r+b" else "wb")
    on.exit(close(connection))
    if (done) seek(connection, size, rw = "write")
    writeBin(as.vector(t(values)), connection)
    on.exit()
    close(connection)
    if (file.size(name) < size + 8 * length(values)) stop("the disk is full, or files may not be larger")
  })
}

# Writes the map to its file after all rows are finished. `options` are arguments of terra::writeRaster().
finish_map <- function(file, template, layers, options, call) {
  header <- c("ENVI", paste("samples =", terra::ncol(template)), paste("lines =", terra::nrow(template)),
              paste("bands =", length(layers)), "header offset = 0", "file type = ENVI Standard", "data type = 5",
              "interleave = bip", paste("byte order =", as.integer(.Platform$endian == "big")))
  while_writing(file, call, {
    writeLines(header, paste0(part_file(file), ".hdr"))
    map <- suppressWarnings(terra::rast(part_file(file))) # terra warns that the file has no extent
    terra::ext(map) <- terra::ext(template)
    terra::crs(map, warn = FALSE) <- terra::crs(template)
    names(map) <- layers
    on.exit(unlink(c(file, paste0(part_file(file), ".hdr"))))
    do.call(terra::writeRaster, c(list(map, file, overwrite = TRUE), utils::modifyList(list(datatype = "FLT8S"),
                                                                                       options)))
    if (!identical(missing_in_last_row(terra::rast(file)), missing_in_last_row(map))) stop("the disk is full")
    on.exit()
  })
  unlink(part_files(file))
}

# TRUE if values are missing in the last row, because GDAL may notice a full disk only when the file is read again.
missing_in_last_row <- function(map) {
  terra::readStart(map)
  on.exit(terra::readStop(map))
  is.na(terra::readValues(map, terra::nrow(map), 1, mat = TRUE))
}

while_writing <- function(file, call, code) {
  tryCatch(suppressWarnings(code), error = function(e) {
    stop_kernops("file", "{.file {file}} cannot be written: {conditionMessage(e)}.", call = call)
  })
}

# The record from which an interrupted prediction resumes: the number of finished `rows` of each tile of the map,
# `complete`, which is TRUE for finished tiles, and the state of sums over `zones`. `digest` identifies the fit, the map
# and the request of the prediction.
new_record <- function(digest, tiles) {
  list(digest = digest, rows = numeric(tiles), complete = logical(tiles), zones = NULL)
}

save_record <- function(file, record, call) {
  name <- paste0(part_file(file), ".rds")
  while_writing(file, call, {
    on.exit(unlink(paste0(name, "+")))
    saveRDS(record, paste0(name, "+"), compress = FALSE)
    readRDS(paste0(name, "+")) # fails if the disk is full, which saveRDS() does not report
    file.rename(paste0(name, "+"), name)
  })
}

# The record of the earlier call if an interrupted prediction is resumed; otherwise a new record.
record_of_file <- function(file, digest, tiles, options, call) {
  name <- paste0(part_file(file), ".rds")
  begun <- file.exists(name)
  if (begun && options$resume) {
    record <- tryCatch(readRDS(name), error = function(e) NULL)
    if (identical(record$digest, digest)) return(record)
    changed <- names(digest)[digest != (record$digest %||% "")]
    stop_kernops(c("file", "input"), c(
      "The interrupted prediction in {.file {name}} cannot be resumed: it is of another {changed}.",
      i = "{.code overwrite = TRUE} without {.arg resume} begins again."
    ), call = call)
  }
  if (begun && !options$overwrite) {
    stop_kernops(c("file", "input"), c("{.file {name}} has an interrupted prediction of {.file {file}}.",
                                       i = "{.code resume = TRUE} continues it, {.code overwrite = TRUE} begins
                                            again."), call = call)
  }
  if (file.exists(file) && !options$overwrite) {
    stop_kernops(c("file", "input"), c("{.file {file}} exists.", i = "{.code overwrite = TRUE} replaces it."),
                 call = call)
  }
  new_record(digest, tiles)
}

# Checks that the folder exists and is writable, before predictions that may take hours.
check_map_file <- function(file, call) {
  if (!is.character(file) || length(file) != 1 || is.na(file) || !nzchar(file)) {
    stop_kernops("input", paste0("{.arg filename} must be the name of a file, not ", shown(file), "."), call = call)
  }
  file <- path.expand(file)
  if (file.access(dirname(file), 2) == 0 && !dir.exists(file)) return(file)
  stop_kernops("file", "{.file {file}} cannot be written: {.file {dirname(file)}} is not a folder that can be written
                        to, or the file is a folder.", call = call)
}
