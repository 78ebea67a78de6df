# New points for a fit: their coordinates, trend and offset, from variables with the same names and types as in the fit.

# Returns the centred coordinates, the trend and the offset of complete rows; `complete` is TRUE for complete rows. With
# `weights`, returns the trend and the offset of weighted sums of the rows.
new_points <- function(object, newdata, coords, block = NULL, weights = NULL, call = caller_env()) {
  points <- rows_as_points(object, newdata, coords, block, call)
  if (!is.null(weights)) points <- with_sums(points, weights, call)
  expand(object$parts$layout, points)
}

rows_as_points <- function(object, newdata, coords, block, call) {
  d <- object$model$d
  if (is.null(newdata) && is.null(coords)) {
    points <- fitted_points(object)
    if (!is.null(block)) points <- with_blocks(points, in_blocks_unit(block, object), NULL, d, call)
    return(points)
  }
  if (is.character(newdata) || is.factor(newdata) || is.function(newdata)) {
    stop_kernops("input", "{.arg newdata} must be a data frame, a matrix, or an object of sf, stars, terra or sp.",
                 call = call)
  }
  if (is.null(coords) && is.numeric(newdata) && length(all.vars(stats::delete.response(object$parts$terms))) == 0) {
    coords <- one_or_many_points(newdata, d)
    newdata <- data.frame(row.names = seq_len(nrow(coords)))
  }
  areas <- if (is_spatial(newdata) && is_area(newdata)) area_points(newdata, block, call)
  source <- data_source(if (is.null(areas)) spatial_parts(newdata) else area_parts(newdata, areas))
  # the nodes in polygons have coordinates but no variables
  rule <- "Means over polygons require a fit whose coordinates are plain variables"
  if (!is.null(areas)) check_plain_coordinates(object$parts$coords, rule, call, advice = NULL)
  points <- points_of_source(object, source, coords, call)
  if (!is_map(newdata)) points$names <- source_names(source)
  if (is.null(areas)) block <- in_blocks_unit(block, object) else {
    areas$u <- lapply(areas$u, centred, object$center)
  }
  if (!is.null(block) || !is.null(areas)) points <- with_blocks(points, block, areas, d, call)
  points
}

source_names <- function(source) if (is.data.frame(source$data) && ncol(source$data)) rownames(source$data)

# The new points whose variables and coordinates are in `source`, a result of data_source().
points_of_source <- function(object, source, coords, call) {
  parts <- object$parts
  d <- object$model$d
  used <- c(parts$classes, do.call(c, lapply(parts$columns, `[[`, "classes")))
  check_distinct_names(names(used), source$data, "newdata", call)
  original <- source$data # grouping variables are converted separately, with exact = TRUE
  source$data <- as_fitted_variables(source$data, parts$classes, call)
  u <- new_coordinates(object, coords, source, call)
  if (ncol(u) != d) {
    stop_kernops("dim", c("{.arg newdata} must have {d} coordinate{?s}, not {ncol(u)}.",
                          i = if (ncol(u) == 3 && "Z" %in% colnames(u)) "{.fn sf::st_zm} drops heights."), call = call)
  }
  covariates <- new_covariates(parts, source$data, original, nrow(u), call)
  complete <- rowSums(!is.finite(cbind(u, covariates$z, covariates$x, covariates$offset))) == 0
  check_far_points(centred(u, object$center)[complete, , drop = FALSE], call)
  list(u = points_of(unname_rows(u), object$center, covariates$z)[complete, , drop = FALSE],
       x = covariates$x[complete, , drop = FALSE], offset = covariates$offset[complete], complete = complete,
       fitted = FALSE)
}

# The trend, the offset and the columns other than coordinates of n new points. `original` is the data before the
# conversion of variables to the classes of the fit.
new_covariates <- function(parts, data, original, n, call) {
  terms <- stats::delete.response(parts$terms)
  frame <- data %||% data.frame(row.names = seq_len(n))
  if (length(all.vars(terms)) == 0 && !length(attr(terms, "offset"))) frame <- data.frame(row.names = seq_len(n))
  check_variables(terms, parts$needed$trend, frame, "trend", call)
  trend <- new_trend(parts, terms, frame, call)
  columns <- new_columns(parts, original, n, call)
  names <- setdiff(colnames((parts$whole %||% parts)$x), colnames(columns$trend))
  x <- trend$x %||% matrix(1, n, length(names), dimnames = list(NULL, names))
  if (nrow(x) != n) {
    stop_kernops("dim", "The variables of the trend have {nrow(x)} row{?s} for {n} point{?s}.", call = call)
  }
  list(x = if (ncol(columns$trend)) cbind(x, columns$trend) else x, z = columns$values,
       offset = trend$offset %||% rep(0, n))
}

fitted_points <- function(object) {
  whole <- object$parts$whole
  u <- if (is.null(whole)) object$data$u else points_of(whole$u, object$center, whole$z)
  if (!is.null(object$data$location)) u <- u[object$data$location, , drop = FALSE]
  whole <- whole %||% object$parts
  nodes <- object$data$nodes
  total <- if (!is.null(nodes)) as.vector(mean_columns(object$parts$layout, nodes$n))
  list(u = u, blocks = nodes, total = total, x = whole$x, offset = whole$offset, complete = rep(TRUE, nrow(u)),
       names = rownames(object$parts$frame), fitted = TRUE)
}

some_points <- function(points, rows) {
  list(u = points$u[rows, , drop = FALSE], x = points$x[rows, , drop = FALSE], offset = points$offset[rows])
}

# Stops if the formula of the coordinates contains expressions. `rule` is the beginning of the message, such as "The
# coordinates must be plain variables".
check_plain_coordinates <- function(coords, rule, call,
                                    advice = c(i = "Add the expression to the data as a variable.")) {
  if (!inherits(coords, "formula") || setequal(attr(stats::terms(coords), "term.labels"), all.vars(coords))) {
    return(invisible())
  }
  stop_kernops("input", c(paste0(rule, ", not expressions such as
                                  {.code {attr(stats::terms(coords), 'term.labels')[[1]]}}."), advice), call = call)
}

# A vector is one point or, if the fit has one coordinate, several points.
one_or_many_points <- function(x, d) if (length(dim(x)) || d == 1) as.matrix(x) else t(x)

differ_in_crs <- function(a, b) !(is.null(a) || is.null(b) || is.na(a) || is.na(b) || a == b)

check_same_crs <- function(fitted, new, call) {
  if (!differ_in_crs(fitted, new)) return(invisible())
  stop_kernops(c("crs", "input"), c("{.arg newdata} has the reference system {.val {format(new)}}, but the fit has
                                     {.val {format(fitted)}}.",
                                    i = "{.fn sf::st_transform} converts points, {.fn terra::project} and
                                         {.fn stars::st_warp} convert maps."), call = call)
}

# Computes the coordinates of new points. If the fit computed its coordinates by a formula, the formula is evaluated
# with the variables of newdata. If newdata has points but lacks these variables, the points are used, provided that the
# formula used the coordinates unchanged and that the data of the fit had no points.
new_coordinates <- function(object, coords, source, call) {
  fitted <- object$parts$coords
  if (object$model$d == 0) return(matrix(0, NROW(source$data), 0))
  if (is.null(coords) && inherits(fitted, "formula")) {
    variables <- attr(stats::terms(fitted), "term.labels")
    as_they_are <- setequal(variables, all.vars(fitted)) && !any(variables %in% names(source$data))
    if (is.null(source$u) || isTRUE(object$parts$points) || !as_they_are) coords <- fitted
  } else if (!is.null(fitted) && isTRUE(object$parts$points)) source$u <- NULL
  if (is.null(coords) && is.null(source$u)) coords <- coordinates_by_name(object, source$data, call)
  if (is.null(coords)) check_same_crs(object$parts$crs, source$crs, call)
  if (inherits(coords, "formula") && !is.null(source$data)) {
    check_variables(stats::terms(coords), if (identical(coords, fitted)) object$parts$needed$coords, source$data,
                    "coordinates", call)
  }
  coords <- named_coordinates(coords, source$data)
  u <- coordinates_of(coords, source, environment(object$formula), call, object$parts$fitted_coords)
  names <- colnames(object$parts$u)
  # the columns of a matrix may be in another order
  if (ncol(u) == length(names) && setequal(colnames(u), names)) u[, names, drop = FALSE] else u
}

# Coordinates from the columns of a data frame, by name, if the coordinates of the fit were a matrix or points with
# names.
coordinates_by_name <- function(object, data, call) {
  names <- colnames(object$parts$u)
  if (isTRUE(object$parts$named) && all(names %in% names(data))) {
    return(as_fitted_variables(list2DF(as.list(data)[names]), object$parts$fitted_coords, call))
  }
  by <- if (is.null(object$parts$kind)) "by a matrix" else "by points of class {.cls {object$parts$kind}}"
  lacking <- if (isTRUE(object$parts$named)) setdiff(names, names(data))
  stop_kernops("input", c(
    paste0("{.arg newdata} has no coordinates: those of the fit were given ", by, "."),
    x = if (length(lacking)) "It lacks the column{?s} {.code {lacking}}.",
    i = "Give the coordinates by {.arg coords}, such as {.code ~ x + y} or a matrix."
  ), call = call)
}

# The columns of the trend at new data (NULL if newdata has no rows), and the offset. Values of expressions, such as the
# difference of two times, are also converted to the unit that these expressions had in the fit.
new_trend <- function(parts, terms, data, call, what = parts$what %||% "trend") {
  tryCatch({
    frame <- without_own_warnings(stats::model.frame(terms, data, na.action = stats::na.pass, xlev = parts$xlevels))
    refuse_integer64(frame, call)
    for (name in names(frame)) {
      fitted <- prototype(parts$frame[[name]])
      if (variable_kind(fitted) %in% c("time", "duration", "units")) {
        frame[[name]] <- as_fitted(frame[[name]], fitted, name, call)
      }
    }
    stats::.checkMFClasses(attr(terms, "dataClasses"), frame)
    list(x = if (nrow(frame)) stats::model.matrix(terms, frame, contrasts.arg = parts$contrasts),
         offset = trend_offset(frame, call))
  }, error = function(e) {
    if (inherits(e, "kernops_error")) rlang::cnd_signal(e)
    stop_kernops("input", "{.arg newdata} does not match the {what}: {conditionMessage(e)}.", call = call)
  })
}

# Suppresses the warnings of model.frame(): their causes, such as a number for a factor, raise errors later.
without_own_warnings <- function(frame) {
  withCallingHandlers(frame, warning = function(w) {
    by <- conditionCall(w)
    if (is.call(by) && identical(by[[1]], quote(model.frame.default))) invokeRestart("muffleWarning")
  })
}
