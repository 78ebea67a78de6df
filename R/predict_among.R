# Windows of a map in joint predictions. A window is a group of rows of the map; predictions are computed for one window
# at a time. The order of the cells, and the cells on which each window depends, are determined for the whole map.
# Memory holds the coordinates and the search tree of all cells, but not their predictions.

# TRUE for joint predictions of up to `most_joint_cells` cells, or if the user requested joint predictions.
is_joint_map <- function(object, cells) {
  object$method == "vecchia" && is_joint(object) && (isTRUE(object$vecchia$joint) || cells <= most_joint_cells)
}

most_joint_cells <- 2e7

# TRUE if predictions of a map are computed for one cell of the observations at a time. The observations are divided
# into such cells, boxes of the domain, as in a fit of a table (table_cells.R).
is_map_by_cells <- function(object, request, options) {
  plain <- is.null(options$zones) && is.null(request$block) && !is_local_trend(request$how)
  plain && inherits(object, "gp") && object$method == "vecchia" && !has_effects(object$model) && is_joint(object) &&
    predicts_by_cells(object)
}

# An environment with the points of all windows: the coordinates `u` of these points; for each row of each tile, the
# number of complete cells of the map `before` this row; the number of `variables`; the number of `nodes` of a cell;
# and, after the first window, the results of places_of_targets(), which all windows share.
all_cells <- function(job) {
  parts <- counts <- list()
  with_bar("Reading", for (k in seq_along(job$tiles)) {
    template <- job$tiles[[k]]$template
    count <- numeric(terra::nrow(template))
    for (rows in rows_in_windows(template, job$height[[k]])) {
      points <- points_of_window(job, window_of_tile(job, k, rows))
      parts <- c(parts, list(targets_of(job$object, points)$u))
      count[rows] <- colSums(matrix(points$complete, terra::ncol(template)))
    }
    counts <- c(counts, list(count))
  })
  variables <- max(1, length(response_names(job$object)))
  u <- lapply(seq_len(variables), function(variable) do.call(rbind, lapply(parts, function(u) {
    u[(variable - 1) * nrow(u) / variables + seq_len(nrow(u) / variables), , drop = FALSE]
  })))
  before <- c(0, cumsum(unlist(counts)))
  cells <- before[[length(before)]]
  list2env(list(u = if (variables == 1) u[[1]] else do.call(rbind, u), cells = cells, variables = variables,
                nodes = if (cells) sum(vapply(parts, nrow, 0L)) / cells / variables else 1,
                before = split(before[-length(before)], rep(seq_along(counts), lengths(counts)))))
}

# For targets in `rows` of tile k with `count` complete cells: the indices of the targets' points among the points of
# all cells.
among_cells <- function(whole, k, rows, count) {
  first <- whole$before[[k]][[rows[[1]]]] * whole$nodes
  of_variables <- (seq_len(whole$variables) - 1) * whole$cells * whole$nodes
  list(whole = whole, numbers = rep(of_variables, each = count * whole$nodes) + first + seq_len(count * whole$nodes))
}

# The list `cells` for another fit: f transforms the points of all cells to the columns that this fit reads.
moved_among <- function(cells, f) {
  if (is.null(cells)) return(NULL)
  whole <- cells$whole
  whole$moved <- whole$moved %||% list2env(list(u = f(whole$u)))
  replace(cells, "whole", list(whole$moved))
}

# The result of joint_places() for the targets or, if the targets are cells of a map, for all cells of the map.
places_of_targets <- function(object, base, targets, given) {
  posterior <- function() if (given) base$posterior()
  whole <- targets$among$whole
  if (is.null(whole)) return(joint_places(object, base, targets$u, posterior()))
  name <- if (given) "places_given_data" else "places"
  whole[[name]] <- whole[[name]] %||% joint_places(object, base, whole$u, posterior())
  whole[[name]]
}
