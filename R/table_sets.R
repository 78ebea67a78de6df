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

# Writes the files of units that do not exist yet.
write_units <- function(blocks) {
  over_units(which(!file.exists(unit_path(blocks, seq_along(blocks$units)))), write_unit, blocks)
}

write_unit <- function(k, blocks) {
  unit <- blocks$units[[k]]
  write_object(unit_path(blocks, k), if (is.null(unit$cell)) sets_of_heads(blocks, unit) else {
    sets_of_cell(blocks, unit$cell)
  })
}

sets_of_heads <- function(blocks, unit) {
  some <- unit$first:unit$last
  compact_sets(blocks$heads, some, search_of_records(blocks, blocks$heads)(some))
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

heads_near_cell <- function(blocks, k) {
  box <- box_of_cell(blocks, k)
  near <- blocks$head_near()
  close <- distance_to_box(near, box) <= max(box[2, ] - box[1, ])
  blocks$heads[close | seq_len(nrow(near)) <= max(blocks$first), , drop = FALSE]
}

# The sets of the records `rows`. The result contains only these records and the records that are neighbours in these
# sets.
compact_sets <- function(records, rows, neighbours) {
  used <- renumbered_neighbours(neighbours, rows, nrow(records))
  list(records = records[used$rows, , drop = FALSE], neighbours = used$neighbours)
}
