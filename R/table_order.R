# The ordering of a table for Vecchia's approximation. The ordering depends only on the cells of the table
# (table_cells.R).
#
# Within each cell, points are in their maximum-minimum distance ordering; the level of a point is its distance from the
# nearest earlier point. The first `cell_heads` points of all cells are the heads of the table. The heads come first, in
# their own maximum-minimum distance ordering. All other points follow by decreasing level; ties are sorted by row. The
# first part of this ordering is a maximum-minimum distance ordering of the whole table, and the remaining part is a
# maximum-minimum distance ordering of each cell. The ordering differs from the maximum-minimum distance ordering of all
# points only along the borders of cells.

# Writes a file with the records of each cell, sorted by level. Returns the records of the heads in their order, and the
# maximum level of the other points of each cell. The distance of every location within a cell from an earlier point is
# below this maximum. The levels of the heads are those in the ordering of all heads. `typical` are records of the cells
# in `chosen`, a result of typical_cells().
order_cells <- function(sorted, partition, near_of, store, chosen = NULL, workers = Inf) {
  count <- cell_count(partition)
  cells <- which(sorted$rows > 0)
  heads <- heads_of(sorted$rows, count)
  before <- sorted$counts # becomes the number of rows before each cell, for each file
  for (file in seq_len(nrow(before))) before[file, ] <- cumsum(before[file, ]) - before[file, ]
  files <- list(counts = sorted$counts, before = before, columns = sorted$columns)
  parts <- over_units(cells, order_cell, heads, files, near_of, list(path = store$path), chosen, workers = workers)
  level <- numeric(count)
  level[cells] <- vapply(parts, function(part) part$level, 0)
  list(heads = in_maxmin_order(do.call(rbind, lapply(parts, function(part) part$heads)), near_of), level = level,
       typical = do.call(rbind, lapply(parts, function(part) part$typical)))
}

# Sorts the records of cell k. Returns the first heads[[k]] points of the cell, an upper bound of the levels of its
# other points, and typical points among the other points.
order_cell <- function(k, heads, files, near_of, store, chosen) {
  say_progress(step = paste("ordered", k, "of", length(heads), "cells"))
  records <- records_by_level(sorted_rows(k, files, store), near_of)
  path <- in_store(store, "cell-", k)
  write_rows(partial_path(path), records)
  finish_file(path)
  size <- heads[[k]]
  first <- seq_len(size)
  list(heads = records[first, , drop = FALSE], level = if (size < nrow(records)) records[[size, "level"]] else 0,
       typical = if (k %in% chosen$cells) typical_of_cell(records[-first, , drop = FALSE], chosen, near_of))
}

# The records of cell k, in the order of the table, from the files that sort_file() writes.
sorted_rows <- function(k, files, store) {
  do.call(rbind, lapply(which(files$counts[, k] > 0), function(file) {
    read_rows(in_store(store, "rows-", file), files$columns, files$before[[file, k]], files$counts[[file, k]])
  }))
}

# Sorts records by the maximum-minimum distance ordering, and adds their levels.
in_maxmin_order <- function(records, near_of) {
  near <- near_of(coordinates_of_records(records))
  tree <- search_tree(near)
  order <- vecchia_order(near, tree = tree)
  records <- records[order, , drop = FALSE]
  records[, "level"] <- levels_of(near[order, , drop = FALSE], ordered_neighbours(tree, 1L, order = order))
  records
}

# The number of heads of a cell with n points. If the table has a single cell (`count`), all points are heads.
heads_of <- function(n, count) if (count == 1) n else pmin(n, cell_heads)

records_by_level <- function(records, near_of) {
  records <- in_maxmin_order(records, near_of)
  records[order(-records[, "level"], seq_len(nrow(records))), , drop = FALSE]
}

# The distance of each point from the nearest earlier point; infinite for the first point.
levels_of <- function(near, before) {
  if (nrow(near) == 1) return(Inf)
  from <- as.vector(before)
  c(Inf, sqrt(rowSums((near[-1, , drop = FALSE] - near[from[-1], , drop = FALSE])^2)))
}

# The distance within which a point of level `level` has m earlier points; it is a multiple of the level.
halo_reach <- function(level, m, d) level * 0.8 * (2 * m)^(1 / d)

# The distance of each of the points `near` from a box. `box` is a matrix whose two rows have the smallest and the
# largest coordinates of the box.
distance_to_box <- function(near, box) {
  gaps <- lapply(seq_len(ncol(near)), function(k) pmax(box[1, k] - near[, k], near[, k] - box[2, k], 0)^2)
  sqrt(Reduce(`+`, gaps))
}

# The distance of each of the boxes from `box`. `boxes` is an array with the dimensions 2 (smallest and largest),
# coordinates, and boxes.
distance_of_boxes <- function(boxes, box) {
  gap <- pmax(boxes[1, , , drop = FALSE] - as.vector(box[2, ]), as.vector(box[1, ]) - boxes[2, , , drop = FALSE], 0)
  sqrt(colSums(matrix(gap, ncol(box))^2))
}
