# Predictions of a fit of a table, whose observations are divided into cells, boxes of the domain (table_cells.R). The
# new points of a cell are predicted together, from values of the field in the cell (predict_cells.R), or from the
# observations around the points. Predictions from observations are those of a fit to these observations, but with the
# parameters and the coefficients of the whole fit, and with the standard errors of these coefficients.

# The columns of the predictions at `points`, a result of new_points(); the rows are in the order of the points.
predicted_columns.gp_blocks <- function(object, points, request) {
  blocks <- object$blocks
  if (!nrow(points$u)) return(columns_from_data(object, points, blocks$heads, request))
  near <- blocks$near_of(points$u)
  groups <- split(seq_len(nrow(near)), cells_near(blocks, near))
  units <- Map(function(rows, cell, fraction) {
    list(points = some_points(points, rows), near = near[rows, , drop = FALSE], cell = as.integer(cell),
         fraction = fraction)
  }, groups, names(groups), (seq_along(groups) - 1) / length(groups))
  columns <- over_units(unname(units), columns_of_unit, fit_for_tasks(object), request,
                        workers = workers_for_cells(object, as.integer(names(groups)), request))
  do.call(rbind, columns)[order(unlist(groups)), , drop = FALSE]
}

columns_of_unit <- function(unit, object, request) {
  say_progress(fraction = unit$fraction)
  predictor_of_cell(object, unit$cell, request)(unit$points, unit$near)
}

# The parts of a fit that predictions in a worker process need: a small object without connections and without
# environments of formulas. Its element `blocks` also has `first`, the number of heads of each cell, that is, of the
# first points of the cell's ordering; and `halo`, the widths of the halos around cells (table_halo.R).
fit_for_tasks <- function(object) {
  blocks <- object$blocks[c("columns", "n", "rows", "d", "m", "partition", "boxes", "level", "near_of")]
  blocks$store <- list(path = object$blocks$store$path)
  blocks$first <- heads_of(blocks$rows, length(blocks$rows))
  blocks$halo <- halo_widths(blocks, object$vecchia$halo %||% object$vecchia$local)
  object$parts <- object$parts["layout"]
  object[c("formula", "call", "search", "blocks")] <- list(NULL, NULL, NULL, blocks)
  object
}

# New points at the locations of some heads of the table; `rows` are the rows of these heads in the records of all
# heads.
points_of_heads <- function(object, rows) {
  data <- data_of_records(object$blocks$heads[rows, , drop = FALSE])
  list(u = data$u, x = data$x, offset = 0 * data$y, complete = rep(TRUE, length(rows)), fitted = FALSE)
}

# A distance within which a point of a cell usually has `count` observations.
first_reach <- function(blocks, k, count) {
  if (length(blocks$rows) == 1) return(Inf)
  box <- box_of_cell(blocks, k)
  reach <- halo_reach(blocks$level[[k]], count, blocks$d)
  if (reach > 0) reach else if (blocks$rows[[k]]) max(box[2, ] - box[1, ]) else 0
}

# Predictions at points of cell k, conditioned on the nearest observations of each point.
columns_by_nearest <- function(object, points, near, request, k) {
  with_trees(columns_of_group(object, points, near, request, first_reach(object$blocks, k, object$vecchia$local)))
}

# Reads the observations within the distance `reach` of the box around all points, and predicts the points. If a point
# has at least `count` observations within `reach`, the observations that were read include the nearest `count`
# observations of this point. The remaining points are predicted again, with a larger reach.
columns_of_group <- function(object, points, near, request, reach) {
  count <- object$vecchia$local
  base <- observations_around(object$blocks, near, reach, count)
  from <- base$near_of(base$records)
  radius <- distance_to_last(near, from, count)
  columns <- columns_from_data(object, points, base$records, request)
  far <- which(radius > base$reach)
  for (some in split(far, (seq_along(far) - 1) %/% 1000)) {
    further <- observations_around(object$blocks, near[some, , drop = FALSE], max(radius[some]) * (1 + 1e-9), count)
    columns[some, ] <- columns_from_data(object, some_points(points, some), further$records, request)
  }
  columns
}

columns_from_data <- function(object, points, records, request) {
  object[c("data", "cell", "blocks")] <- list(data_of_records(records), new_cell(), NULL)
  object$vecchia$joint <- FALSE
  class(object) <- "gp"
  object <- with_chosen(object)
  as.data.frame(predicted_columns(object, points_of_parts(object, points), request), optional = TRUE)
}

# The records of the observations within the distance `reach` of the box around the points `near`, and the final
# `reach`, which is doubled until there are `count` records.
observations_around <- function(blocks, near, reach, count) {
  box <- column_ranges(near)
  distance <- distance_of_boxes(blocks$boxes, box)
  distance[blocks$rows == 0] <- Inf
  repeat {
    records <- do.call(rbind, lapply(which(distance <= reach), function(k) {
      records <- read_rows(in_store(blocks$store, "cell-", k), blocks$columns)
      if (is.infinite(reach)) return(records)
      records[distance_to_box(blocks$near_of(coordinates_of_records(records)), box) <= reach, , drop = FALSE]
    }))
    if (NROW(records) >= min(count, blocks$n) || is.infinite(reach)) break
    reach <- 2 * max(reach, min(distance))
  }
  list(records = records, reach = reach, near_of = function(records) blocks$near_of(coordinates_of_records(records)))
}

# The distance of each point from its `count`-th nearest point of `from`.
distance_to_last <- function(near, from, count) {
  last <- nearest_points(near, from, min(count, nrow(from)))
  last <- last[nrow(last), ]
  sqrt(rowSums((near - from[last, , drop = FALSE])^2))
}
