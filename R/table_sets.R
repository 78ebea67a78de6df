# The conditioning sets of a table. A set is a point with its neighbours among earlier points. Sets are divided into
# units. The first units are slices of the heads (table_order.R); then each cell has a unit with its other points. The
# sums over a unit are computed separately from other units, from a file with all data of the unit.

# The units of a table, as a list: a slice of the heads has its `first` and `last` position, and any other unit has the
# index of its `cell`.
units_of <- function(blocks) {
  heads <- nrow(blocks$heads)
  first <- seq(1, heads, by = cell_rows)
  cells <- which(blocks$rows > blocks$first)
  slices <- lapply(first, function(k) list(first = k, last = min(heads, k + cell_rows - 1)))
  c(slices, lapply(cells, function(k) list(cell = k)))
}

# The number of points of each unit.
sizes_of_units <- function(blocks) {
  vapply(blocks$units, function(unit) {
    if (is.null(unit$cell)) unit$last - unit$first + 1 else blocks$rows[[unit$cell]] - blocks$first[[unit$cell]]
  }, 0)
}

unit_path <- function(blocks, k) in_store(blocks$store, "unit-", k)

# Writes the units that do not exist yet. If there are workers, the workers write these units while this process
# evaluates `code`, which must not use workers. Returns the value of `code`.
while_units_are_written <- function(blocks, code) {
  lacking <- which(!file.exists(unit_path(blocks, seq_along(blocks$units))))
  if (!length(lacking)) return(code)
  wait <- begin_units(lacking, write_unit, blocks_for_units(blocks), workers = blocks$limits$workers)
  # waits after an error, too: no worker may write to a store that is removed
  if (running_workers(blocks$limits$workers) > 1) on.exit(try(wait(), silent = TRUE))
  value <- code
  on.exit()
  timed("neighbours", wait())
  unlink(in_store(blocks$store, "heads"))
  value
}

# The parts of `blocks` that tasks of write_unit() need, with `first_heads`, the first heads of the table. Tasks read
# other heads from the file "heads", where all heads with their positions are sorted by cell. `of_cell` is the number of
# heads of each cell.
blocks_for_units <- function(blocks) {
  heads <- blocks$heads
  of <- cells_of(blocks$partition, blocks$head_near())
  positions <- order(of)
  write_rows(in_store(blocks$store, "heads"), cbind(positions, heads[positions, , drop = FALSE]))
  needed <- c("columns", "rows", "boxes", "level", "first", "d", "m", "units", "model", "theta", "near_of")
  first <- heads[seq_len(max(blocks$first)), , drop = FALSE]
  c(blocks[needed], list(store = list(path = blocks$store$path), first_heads = first,
                         of_cell = tabulate(of, length(blocks$rows))))
}

write_unit <- function(k, blocks) {
  unit <- blocks$units[[k]]
  write_object(unit_path(blocks, k), if (is.null(unit$cell)) sets_of_heads(heads_of_blocks(blocks), blocks, unit) else {
    sets_of_cell(blocks, unit$cell)
  })
}

sets_of_heads <- function(heads, blocks, unit) {
  some <- unit$first:unit$last
  compact_sets(heads, some, search_of_records(blocks, heads)(some))
}

# Returns a function f(some): the neighbours of the records with the indices `some`. `records` are in the order of the
# approximation.
search_of_records <- function(blocks, records) {
  u <- coordinates_of_records(records)
  tree <- search_tree(blocks$near_of(u))
  search <- correlated_search(function(m, of) ordered_neighbours(tree, m, of = of), blocks$model, blocks$theta, u)
  function(some) search(min(blocks$m, nrow(records) - 1L), some)
}

# The sets of the points of a cell that are not heads. The neighbours of these points are points of the cell, points in
# a halo around the cell (table_halo.R), heads near the cell, or the first heads of the table.
sets_of_cell <- function(blocks, k) {
  halo <- halo_of_cell(blocks, k, halo_reach(blocks$level[[k]], blocks$m, blocks$d), skip = blocks$first)
  order <- order(-halo$records[, "level"], halo$records[, "row"])
  heads <- heads_near_cell(blocks, k)
  records <- rbind(heads, halo$records[order, , drop = FALSE])
  some <- nrow(heads) + which(halo$inside[order])
  compact_sets(records, some, search_of_records(blocks, records)(some))
}

box_of_cell <- function(blocks, k) matrix(blocks$boxes[, , k], 2)

# The `records` of a cell and of the points of other cells whose distance from its box is at most `reach`; `inside` is
# TRUE for records of the cell itself. In each cell, the first points are omitted; `skip` has the number of omitted
# points for each cell.
halo_of_cell <- function(blocks, k, reach, skip = 0 * blocks$rows) {
  box <- box_of_cell(blocks, k)
  others <- which(distance_of_boxes(blocks$boxes, box) <= reach & blocks$rows > skip)
  parts <- lapply(others, function(other) {
    records <- read_rows(in_store(blocks$store, "cell-", other), blocks$columns, skip = skip[[other]])
    if (other == k) return(records)
    near <- blocks$near_of(coordinates_of_records(records))
    records[distance_to_box(near, box) <= reach, , drop = FALSE]
  })
  list(records = do.call(rbind, parts), inside = rep(others == k, vapply(parts, nrow, 0L)))
}

# The first heads of the table, and the heads whose distance from the box of a cell is at most the extent of the cell,
# in their order. Only the heads of cells whose boxes are near are read.
heads_near_cell <- function(blocks, k) {
  box <- box_of_cell(blocks, k)
  reach <- max(box[2, ] - box[1, ])
  last <- cumsum(blocks$of_cell)
  read <- function(from, to) {
    read_rows(in_store(blocks$store, "heads"), c("position", blocks$columns), from, to - from)
  }
  others <- which(distance_of_boxes(blocks$boxes, box) <= reach * (1 + 1e-9) & blocks$of_cell > 0)
  runs <- split(others, cumsum(c(TRUE, diff(others) > 1)))
  heads <- do.call(rbind, lapply(runs, function(run) {
    read(last[[run[[1]]]] - blocks$of_cell[[run[[1]]]], last[[run[[length(run)]]]])
  }))
  near <- blocks$near_of(coordinates_of_records(heads))
  close <- heads[distance_to_box(near, box) <= reach & heads[, "position"] > nrow(blocks$first_heads), , drop = FALSE]
  rbind(blocks$first_heads, close[order(close[, "position"]), -1, drop = FALSE])
}

# The conditioning sets of the records with the indices `rows`. The result contains only these records and their
# neighbours.
compact_sets <- function(records, rows, neighbours) {
  used <- renumbered_neighbours(neighbours, rows, nrow(records))
  list(records = records[used$rows, , drop = FALSE], neighbours = used$neighbours)
}
