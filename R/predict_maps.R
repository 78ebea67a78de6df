# Predictions of maps in windows, which are groups of rows: results in files, maps that do not fit into memory, maps
# that consist of tiles, and predictions for zones. predict_maps_options.R has the arguments and the help page.

# The counterpart of predicted() for a map or a list of tiles.
predict_map <- function(object, fit, map, request, options, call = caller_env()) {
  job <- map_job(object, fit, map, request, options, call)
  record <- record_of_file(job$file, digest_of(job), length(job$tiles), options, call)
  complete <- FALSE
  on.exit(if (!complete) leave_parts(job))
  if (job$joint) job$whole <- all_cells(job)
  record <- with_bar("Predicting", predict_tiles(job, record))
  result <- result_of_job(job)
  zones <- if (!is.null(options$zones)) zone_table(object, record$zones, request, options$nsim)
  unlink(part_files(job$file))
  complete <- TRUE
  if (is.null(zones)) result else list(fit = result, zones = zones)
}

# A list of the values that all windows share: the arguments of predict_map(), and
#   tiles       map_windows() of each tile
#   file, files the file of the result, and the files of the tiles
#   layers      the names of the layers
#   masks       map_windows() of the mask of each tile, or NULL
#   zones       zone_reader() of each tile, or NULL
#   rectangles  rectangles_of_zones()
#   height      for each tile, the number of rows of a window
#   next_values a result of values_by_cells() for a fit of a table, or NULL
map_job <- function(object, fit, map, request, options, call) {
  check_map_request(fit, request, options, call)
  several <- is_tiles(map)
  variables <- variables_of_fit(fit)
  tiles <- lapply(if (several) unname(map) else list(map), function(tile) map_windows(tile, variables, call))
  templates <- lapply(tiles, `[[`, "template")
  file <- options$filename %||% tempfile("map_", terra::terraOptions(print = FALSE)$tempdir, if (several) ".vrt" else
    ".tif")
  if (is_map_by_cells(object, request, options)) object <- with_cells(object)
  joint <- is.null(object$blocks) && is_joint_map(object, sum(vapply(templates, terra::ncell, 0)))
  if (is.null(object$blocks)) {
    if (has_neighbours(object)) object$vecchia$joint <- joint
    object$prepared <- conditioning_for(object, request$how)
  }
  quick <- if (is.null(object$blocks)) object else with_joint(object, FALSE)
  one <- rlang::with_options(predicted_table(quick, fit, one_point(object, fit, call), request),
                             kernops.progress = "none")
  of_tiles <- function(f) lapply(templates, f)
  zones <- if (!is.null(options$zones)) of_tiles(function(template) zone_reader(options$zones, template, call))
  rectangles <- if (!is.null(zones)) rectangles_of_zones(zones, templates, options$nodes)
  list(object = object, fit = fit, request = request, options = options, joint = joint, tiles = tiles, file = file,
       files = if (several) files_of_tiles(file, length(tiles), options, call) else file, layers = names(one),
       masks = if (!is.null(options$mask)) of_tiles(function(template) {
         windows_of_layer(options$mask, template, "mask", call)
       }),
       zones = zones, rectangles = rectangles, call = call,
       height = vapply(templates, rows_of_window, 0, options$window, max(1, rectangles$most)))
}

# The number of rows of a window: a multiple of `rows` such that the window has about `cells` cells.
rows_of_window <- function(template, cells, rows) rows * max(1, floor(cells / terra::ncol(template) / rows))

# One point of the data. A prediction at this point determines the names of the columns.
one_point <- function(object, fit, call) {
  all <- if (is.null(fit$blocks)) rows_as_points(fit, NULL, NULL, NULL, call) else points_of_heads(fit, 1)
  point <- c(some_points(all, 1), list(complete = TRUE, fitted = FALSE))
  points_of_parts(object, expand(fit$parts$layout, point))
}

predict_tiles <- function(job, record) {
  sizes <- vapply(job$tiles, function(tile) terra::ncell(tile$template), 0)
  done <- c(0, cumsum(sizes)) / sum(sizes)
  if (!is.null(job$object$blocks)) {
    store <- new_store(NULL, "map", job$call, dirname(job$object$blocks$store$path))
    on.exit(remove_store(store))
    job$next_values <- values_by_cells(job, record, store)
  }
  for (k in which(!record$complete)) {
    if (length(job$tiles) > 1) say_progress(step = paste("tile", k, "of", length(job$tiles)))
    record <- part_of_bar(done[[k]], done[[k + 1]], predict_tile(job, k, record))
    finish_map(job$files[[k]], job$tiles[[k]]$template, job$layers, job$options$wopt, job$call)
    record$complete[[k]] <- TRUE
    save_record(job$file, record, job$call)
  }
  record
}

# Predicts the windows of tile k and writes their rows to the part file of the tile. Returns the updated record.
predict_tile <- function(job, k, record) {
  template <- job$tiles[[k]]$template
  total <- terra::nrow(template)
  while ((done <- record$rows[[k]]) < total) {
    rows <- done + seq_len(min(job$height[[k]], total - done))
    say_progress(step = paste("row", done + 1, "of", total), fraction = done / total)
    window <- part_of_bar(done / total, max(rows) / total, predict_window(job, k, rows))
    append_map_rows(job$files[[k]], window$values, template, done, job$call)
    if (!is.null(job$zones) && !is.null(window$table)) {
      record$zones <- add_to_zones(record$zones, job$zones[[k]](rows), window, rows, terra::ncol(template), k,
                                   job$rectangles)
    }
    record$rows[[k]] <- max(rows)
    save_record(job$file, record, job$call)
  }
  record
}

result_of_job <- function(job) {
  if (length(job$files) == 1 && identical(job$files, job$file)) {
    return(job$tiles[[1]]$result(job$file))
  }
  terra::vrt(job$files, job$file, overwrite = TRUE)
  map <- terra::rast(job$file)
  names(map) <- job$layers
  map
}

# After an interruption, keeps the part files, so that the prediction can be resumed. If no rows are finished, or if the
# user gave no file name, the part files are removed.
leave_parts <- function(job) {
  name <- paste0(part_file(job$file), ".rds")
  if (!file.exists(name) || is.null(job$options$filename)) {
    unlink(unlist(lapply(c(job$file, job$files), part_files)))
    return(invisible())
  }
  rows <- sum(readRDS(name)$rows)
  total <- sum(vapply(job$tiles, function(tile) terra::nrow(tile$template), 0))
  cli::cli_inform(c(i = "{rows} of {total} rows of {.file {job$file}} are finished: {.code resume = TRUE} continues
                         there."), class = "kernops_resume")
}

# A digest of the fit, the map and the request. A prediction is resumed only if its digest equals the digest in the
# record.
digest_of <- function(job) {
  fit <- job$fit
  about_fit <- list(fit[c("theta", "beta", "method", "phi")], fit$data[c("u", "x", "y", "noise", "weights")],
                    as.vector(fit$center), deparse(fit$formula), fit$family$name, fit$blocks[c("n", "heads")])
  about_map <- list(lapply(job$tiles, `[[`, "about"), lapply(job$masks, `[[`, "about"))
  about_request <- list(job$request, job$object[c("left_out", "chosen")], job$object$vecchia$joint,
                        job$object$how$control, job$rectangles)
  c(fit = rlang::hash(about_fit), map = rlang::hash(about_map), request = rlang::hash(about_request))
}
