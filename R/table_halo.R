# The observations that determine the field in a cell of a table: those of the cell, of a halo around its box, and a
# small number of all others. They depend on the cell alone, so that predictions do not depend on how new points are
# split.
#
# A fine observation matters near itself: its effect falls to 1 / e over a third of the radius of the disc of as many
# observations as a prediction needs (local_count()). The halo has all observations within six times their area. A
# coarse one, of a large level, is a neighbour of points farther away: it is kept within the distance at which points
# of its level have neighbours (halo_reach()) behind the halo. Both distances are those of the cell of the observation,
# so that dense cells beside a sparse one do not enter it as a whole.

# The observations of the halo in units of those of a prediction, and the number of rows of a cell with its halo, about.
halo_share <- 6
halo_rows <- 2e5

# The distance from the box of another cell within which all observations of a cell are used for the field there.
halo_widths <- function(blocks, count) {
  d <- blocks$d
  side <- blocks$rows^(1 / d)
  extent <- apply(blocks$boxes, 3, function(box) max(box[2, ] - box[1, ]))
  spacing <- ifelse(blocks$level > 0, blocks$level * (cell_heads / blocks$rows)^(1 / d), extent / side)
  width <- pmin(halo_reach(spacing, halo_share * count, d), spacing * pmax(0, halo_rows^(1 / d) - side) / 2)
  ifelse(blocks$rows > 0, width, 0)
}

# The records for the field in cell k, in the order of the table; points have about m neighbours. `blocks` are those of
# fit_for_tasks().
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

# The heads, also in tasks, whose `blocks` do not contain them.
heads_of_blocks <- function(blocks) blocks$heads %||% read_object(in_store(blocks$store, "ordered"))$heads

# The cell of each new point: the one whose box has it, or the nearest box. The cells of the partition have points on
# their side of a gap, which may be nearer to the observations on the other side.
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
