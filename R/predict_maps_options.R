# Checks the arguments of predict() for maps that are predicted in windows.

#' Maps larger than memory, in files, and means over zones
#'
#' For a large map, or with one of the arguments below, [predict()][predict.gp] reads the map in windows of successive
#' rows, predicts one window at a time and writes the predictions to a file. The map and its predictions are never in
#' memory as a whole. An interrupted prediction can be resumed.
#'
#' @section Usage:
#' \preformatted{predict(object, newdata, ..., filename = NULL, overwrite = FALSE, resume = FALSE, mask = NULL,
#'         zones = NULL, nodes = 1e4, nsim = 1000, window = 2e5, wopt = list())}
#'
#' @section Arguments:
#' * `object`: a fit of [gp()], including fits of tables that are read in chunks, see [gp_table()].
#' * `newdata`: a `SpatRaster` of terra, which may have several files; a map of stars, such as the proxy of
#'   `stars::read_stars(proxy = TRUE)`, on a regular grid; or a list of such maps, which are tiles of one map.
#' * `...`: arguments of [predict()][predict.gp], such as `what = c("fit", "se.fit")` for the layers.
#' * `filename`: the file of the result, in a format that terra writes. The file of tiles is a virtual raster,
#'   `map.vrt`, with the files `map_1.tif`, `map_2.tif`, ... of the tiles. By default, the result is in a temporary file
#'   of terra.
#' * `overwrite`: whether to replace an existing file, or the parts of an interrupted prediction.
#' * `resume`: whether to continue the interrupted prediction of the file.
#' * `mask`: a map with the geometry of `newdata`. Cells that are missing in `mask` are not predicted. For tiles, one
#'   map with the geometry of all tiles together.
#' * `zones`: parts of the map whose means and totals are also predicted. Either a map of terra or stars with one layer
#'   and the geometry of `newdata` (of all tiles together), whose values are the numbers or names of the zones; or
#'   polygons of sf or terra: the zone of a polygon consists of the cells whose centres are in the polygon.
#' * `nodes`: in a zone with more cells than this number, standard errors are estimated from a random sample of this
#'   number of cells.
#' * `nsim`: the number of draws for the standard errors of areas of exceedance.
#' * `window`: the approximate number of cells of a window. Results do not depend on `window`.
#' * `wopt`: a list of arguments of [terra::writeRaster()], such as `list(datatype = "FLT4S")`, which halves the size of
#'   the file. By default numbers have double precision.
#'
#' @section Method: The results equal those of `predict()` for the whole map in memory, for any windows. Factors, and
#'   the trees for the search for neighbours, are computed once for all windows. Maps with more than 2e7 cells, lists of
#'   tiles, and maps with one of the arguments above are predicted by windows.
#'
#'   In joint predictions of fits by `method = "vecchia"`, a cell depends on other cells, see [predict()][predict.gp].
#'   For joint predictions, the coordinates and the search tree of all cells are in memory, about 100 bytes for each
#'   cell. With `joint = FALSE`, which is the default for more than 2e7 cells, each cell is conditioned on its nearest
#'   observations, and memory does not grow with the map.
#'
#'   Cells with missing values in the layers that the fit uses are missing in the result. If the fit uses none of the
#'   layers, cells without any value are missing.
#'
#' @section Interrupted predictions: After each window, the finished rows are in `filename` with the ending `.part`, in
#'   double precision. After an error or an interrupt, a message of class `kernops_resume` reports the number of
#'   finished rows, and the same call with `resume = TRUE` continues. If the fit, the map or the request differs from
#'   that of the interrupted call, an error is raised. Once all rows are predicted, they are copied to `filename`, and
#'   the parts are removed.
#'
#' @section Means and totals over zones: With `zones`, the result is a list of the map, `fit`, and of a data frame,
#'   `zones`, with the columns `zone` (the value or label of the layer, or the number of the polygon), `quantity`,
#'   `area`, `fit`, `se.fit`, `lwr` and `upr`. Each zone has a row for the `"mean"` of the field over its predicted
#'   cells, a row for the `"total"`, which is the mean times the area, and a row for the area above each threshold of
#'   `above`, such as `"above500"`. Areas are in square kilometres for longitude and latitude, otherwise in squared
#'   units of the coordinates. `lwr` and `upr` are the limits of intervals of probability `level`.
#'
#'   Means, totals and expected areas are sums over all cells. Standard errors follow from the joint distribution of the
#'   cells: for totals as with `sums` of [predict()][predict.gp], for areas of exceedance from `nsim` joint draws of the
#'   field, as in [gp_exceedance()]. In zones with more than `nodes` cells, variances are estimated from two random
#'   cells in each of up to `nodes / 2` rectangles of cells. Let \eqn{A_r}{A} be the area of rectangle r, \eqn{K_r}{K}
#'   the number of its cells, and \eqn{f_r}{f} and \eqn{g_r}{g} the values of the two random cells. The variance of a
#'   total is estimated by \deqn{Cov(\sum_r A_r f_r, \sum_r A_r g_r) + Var(\sum_r A_r (f_r - g_r) / \sqrt{2
#'   K_r}),}{Cov(sum A f, sum A g) + Var(sum A (f - g) / sqrt(2 K)),} whose expectation over the choice of cells is the
#'   variance of the total, even if the correlation of errors vanishes within a rectangle. In tests with 200 nodes,
#'   standard errors were within 5 % of the standard errors from all cells.
#'
#' @section Errors: class `kernops_file_error` if a file exists, if a file cannot be read or written, if the disk is
#'   full, or if an interrupted prediction cannot be resumed; `kernops_input_error` for invalid arguments and for `cov`,
#'   `sums` and `coords`, which are not available for windows; `kernops_crs_error` if the reference system of the map
#'   differs from that of the fit.
#' @return A map of the class of `newdata`: a `SpatRaster`, or a proxy of stars, with a layer for each column.
#'   With `zones`, a list of this map, `fit`, and of the data frame `zones`.
#' @seealso [predict()][predict.gp] for all other arguments; [gp_exceedance()].
#' @examples
#' if (requireNamespace("terra", quietly = TRUE)) {
#'   set.seed(1)
#'   d <- data.frame(x = runif(200), y = runif(200))
#'   d$z <- sin(5 * d$x) + d$y + rnorm(200, sd = 0.1)
#'   fit <- gp(z ~ x, d, ~ x + y, matern(3/2, 0.5, 0.3) + nugget(0.01), estimate = "none")
#'   map <- terra::rast(nrows = 60, ncols = 80, xmin = 0, xmax = 1, ymin = 0, ymax = 1, crs = "")
#'   file <- tempfile(fileext = ".tif")
#'   print(predict(fit, map, filename = file, what = c("fit", "se.fit", "above1"), window = 1000))
#'
#'   # means, totals and areas above 1 in the west and the east, with standard errors
#'   halves <- terra::rast(map, vals = ifelse(terra::xFromCell(map, 1:4800) < 0.5, 1, 2))
#'   predict(fit, map, zones = halves, above = 1)$zones
#' }
#' @name predict_maps
NULL

map_options <- function(filename = NULL, overwrite = FALSE, resume = FALSE, mask = NULL, zones = NULL, nodes = 1e4,
                        nsim = 1000, window = 2e5, wopt = list()) {
  mget(names(formals()))
}

# The options for windows among the arguments of predict() in `...`; NULL if all of newdata is predicted at once.
options_of_map <- function(newdata, arguments, call = caller_env()) {
  known <- names(formals(map_options))
  if (is.null(arguments$re.form)) arguments$re.form <- NULL # performance::r2_tjur() passes `re.form = NULL`
  unknown <- !names(arguments) %in% known
  if (any(unknown) || length(arguments) != length(names(arguments))) {
    takes <- c(setdiff(names(formals(predict.gp)), c("object", "...")), known)
    stop_further_arguments("{.fn predict}", arguments[if (length(unknown)) unknown else TRUE], takes, call)
  }
  if (!length(arguments) && !is_large_map(newdata)) return(NULL)
  options <- do.call(map_options, arguments)
  for (name in c("overwrite", "resume")) check_flag(options[[name]], name, call)
  check_number(options$nodes, "nodes", least = 1, whole = TRUE, call = call)
  check_number(options$nsim, "nsim", least = 2, whole = TRUE, call = call)
  check_number(options$window, "window", least = 1, call = call)
  if (!is.list(options$wopt)) {
    stop_kernops("input", "{.arg wopt} must be a list of arguments of {.fn terra::writeRaster}.", call = call)
  }
  if (options$resume && is.null(options$filename)) {
    stop_kernops("input", "{.code resume = TRUE} needs the {.arg filename} of the interrupted prediction.", call = call)
  }
  if (!is.null(options$filename)) options$filename <- check_map_file(options$filename, call)
  options
}

# TRUE for a list of tiles, and for maps with more than `most_cells` cells, which are predicted in windows.
is_large_map <- function(map) {
  if (is_tiles(map)) return(TRUE)
  if (inherits(map, "stars_proxy")) return(prod(dim(map)) > most_cells)
  inherits(map, "SpatRaster") && requireNamespace("terra", quietly = TRUE) && terra::ncell(map) > most_cells
}

most_cells <- 2e7

is_tiles <- function(map) inherits(map, "list") && length(map) > 0 && all(vapply(map, is_map, NA))

check_map_request <- function(fit, request, options, call) {
  refused <- c(cov = !isFALSE(request$cov), sums = !is.null(request$sums), coords = !is.null(request$coords))
  if (any(refused)) {
    stop_kernops("input", c("{.arg {names(which(refused))}} cannot be used for a map that is predicted by windows.",
                            i = if (refused[["sums"]]) "{.arg zones} gives means and totals over parts of a map."),
                 call = call)
  }
  if (is.null(options$zones)) return(invisible())
  refuse_several(fit, "{.arg zones} is", call = call)
  refused <- c('type = "terms"' = request$type == "terms", 'interval = "prediction"' = is_noisy(request),
               block = !is.null(request$block))
  if (any(refused)) {
    stop_kernops("input", "Means and totals over {.arg zones} are those of the field at cells:
                           {.code {names(which(refused))}} cannot be used.", call = call)
  }
}

# The names of the files of tiles, which the virtual raster `file` combines.
files_of_tiles <- function(file, count, options, call) {
  if (!grepl("[.]vrt$", file)) {
    stop_kernops("input", c("The {.arg filename} of tiles must end in {.val .vrt}, not {.file {file}}.",
                            i = "Each tile has a file beside this one: {.file map_1.tif} for {.file map.vrt}."),
                 call = call)
  }
  files <- sub("[.]vrt$", "_", file)
  files <- paste0(files, seq_len(count), ".tif")
  existing <- files[file.exists(files)]
  if (length(existing) && !file.exists(file) && !options$overwrite && !options$resume) {
    stop_kernops(c("file", "input"), c("{.file {existing}} exist{?s/}.", i = "{.code overwrite = TRUE} replaces
                                        {cli::qty(existing)}{?it/them}."), call = call)
  }
  files
}

# The names of all variables of a fit.
variables_of_fit <- function(fit) {
  parts <- fit$parts
  formulas <- c(list(stats::delete.response(parts$terms)), lapply(parts$columns, `[[`, "formula"),
                if (inherits(parts$coords, "formula")) list(parts$coords))
  unique(unlist(c(lapply(formulas, all.vars), parts$needed)))
}
