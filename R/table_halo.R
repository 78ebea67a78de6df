# The observations that determine the field in a cell of a table: the observations in the cell, the observations in a
# halo around the box of the cell, and a small number of the remaining observations. These observations depend only on
# the cell, so that predictions do not depend on how new points are divided into calls.
#
# The level of an observation is its distance from the nearest earlier observation in the ordering (table_order.R). An
# observation of a small level is relevant only for near points: its effect falls to 1 / e over a third of the radius of
# the disc that contains as many observations as a prediction needs (local_count()). The halo contains all observations
# within six times the area of this disc. An observation of a large level is a neighbour of points farther away: outside
# the halo, the observation is used up to the distance at which points of its level have neighbours (halo_reach()). The
# width of the halo and this distance depend on the cell of the observation, so that a sparse cell does not need all
# observations of a dense cell next to it.

# `halo_share` is the number of observations in the halo divided by the number that a prediction needs. `halo_rows` is
# the maximum number of rows, approximately, of a cell with its halo.
halo_share <- 6
halo_rows <- 2e5

# The width of the halo for the observations of each cell: an observation is used for the field in another cell if its
# distance from the box of the other cell is at most this width.
halo_widths <- function(blocks, count) {
  d <- blocks$d
  side <- blocks$rows^(1 / d)
  extent <- apply(blocks$boxes, 3, function(box) max(box[2, ] - box[1, ]))
  spacing <- ifelse(blocks$level > 0, blocks$level * (cell_heads / blocks$rows)^(1 / d), extent / side)
  width <- pmin(halo_reach(spacing, halo_share * count, d), spacing * pmax(0, halo_rows^(1 / d) - side) / 2)
  ifelse(blocks$rows > 0, width, 0)
}

# The records of the observations that determine the field in cell k, in the order of the table. Points have about m
# neighbours. `blocks` is the element `blocks` of a result of fit_for_tasks().
records_of_field <- function(blocks, k, m) {
  box <- box_of_cell(blocks, k)
  width <- blocks$halo
  tell_cell <- function(records, cell = cells_of(blocks$partition, near)) {
    near <- blocks$near_of(coordinates_of_records(records))
    distance_to_box(near, box) <= width[cell] + halo_reach(records[, "level"], m, blocks$d)
  }
  heads <- heads_of_blocks(blocks)
  heads <- heads[tell_cell(heads), , drop = FALSE]
  reach <- width + halo_reach(blocks$level, m, blocks$d)
  others <- which(blocks$rows > blocks$first & distance_of_boxes(blocks$boxes, box) <= reach)
  rest <- do.call(rbind, c(list(heads[0, , drop = FALSE]), lapply(others, function(other) {
    records <- read_rows(in_store(blocks$store, "cell-", other), blocks$columns, skip = blocks$first[[other]])
    if (other == k) records else records[tell_cell(records, other), , drop = FALSE]
  })))
  rbind(heads, rest[order(-rest[, "level"], rest[, "row"]), , drop = FALSE])
}

# The records of the heads, which tasks read from a file because their `blocks` do not contain them.
heads_of_blocks <- function(blocks) blocks$heads %||% read_object(in_store(blocks$store, "ordered"))$heads

# The cell of each new point: the cell whose box contains it, or the nearest box. The partition alone would assign a
# point between two boxes to the cell on its side of the border, although the observations of the other cell may be
# nearer.
cells_near <- function(blocks, near) {
  of <- cells_of(blocks$partition, near)
  from <- lapply(seq_len(ncol(near)), function(k) {
    pmax(blocks$boxes[1, k, of] - near[, k], near[, k] - blocks$boxes[2, k, of], 0)
  })
  outside <- which(Reduce(`+`, from) > 0)
  least <- rep(Inf, length(outside))
  for (k in which(blocks$rows > 0)) {
    distance <- distance_to_box(near[outside, , drop = FALSE], box_of_cell(blocks, k))
    of[outside[distance < least]] <- k
    least <- pmin(least, distance)
  }
  of
}
