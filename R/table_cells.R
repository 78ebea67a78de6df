# Cells of a table: boxes of a k-d tree over a sample of its rows, with about equal numbers of rows. Cells do not depend
# on memory or workers, so that sums over cells are bit-identical for any memory and any number of workers. Cells are
# numbered in the order of the leaves of the tree, so that cells with close numbers are near each other.

# The approximate number of rows of a cell, and the number of heads of a cell. The heads are the first points in the
# ordering of the cell; they may be neighbours of points in any cell.
cell_rows <- 65536
cell_heads <- 1024

# The k-d tree of a sample `near` of n points. For each node, `along` is the coordinate along which the node is divided,
# and `at` is the value of this coordinate at the division. The children of node k are nodes 2 k and 2 k + 1.
partition_of <- function(near, n) {
  depth <- max(0, min(ceiling(log2(n / cell_rows)), floor(log2(nrow(near) / 8))))
  nodes <- 2^depth - 1
  along <- integer(nodes)
  at <- numeric(nodes)
  rows <- list(seq_len(nrow(near)))
  for (k in seq_len(nodes)) {
    some <- rows[[k]]
    column <- which.max(column_extents(near[some, , drop = FALSE]))
    values <- near[some, column]
    along[[k]] <- column
    at[[k]] <- stats::median(values)
    rows[[2 * k]] <- some[values <= at[[k]]]
    rows[[2 * k + 1]] <- some[values > at[[k]]]
  }
  list(depth = depth, along = along, at = at)
}

# The index of the cell of each point.
cells_of <- function(partition, near) {
  node <- rep(1, nrow(near))
  for (level in seq_len(partition$depth)) {
    values <- near[cbind(seq_along(node), partition$along[node])]
    node <- 2 * node + (values > partition$at[node])
  }
  as.integer(node - 2^partition$depth + 1)
}

cell_count <- function(partition) 2^partition$depth

# Sorts the records of all saved chunks by cell (table_chunks.R). Returns the number of used rows, the number of rows of
# each cell in each file, the box of each cell, and the triangular factor of [X, y]. The factors of chunks are merged by
# qr(), which loses no digits.
sort_into_cells <- function(scan, columns, pilot, partition, near_of, store, workers = Inf, call = caller_env()) {
  first <- scan$first
  portable <- has_portable_records(pilot, columns)
  parts <- over_units(seq_along(first), sort_file_or_null, first, if (portable) pilot_for_tasks(pilot) else pilot,
                      partition, near_of, list(path = store$path), workers = if (portable) workers else 1)
  for (k in which(vapply(parts, is.null, NA))) {
    parts[[k]] <- sort_file(k, first, pilot, partition, near_of, store, call)
  }
  counts <- do.call(rbind, lapply(parts, `[[`, "rows"))
  if (!sum(counts)) stop_kernops("input", "There are no observations without missing values.", call = call)
  parts <- parts[rowSums(counts) > 0]
  of_chunks <- function(name) do.call(c, lapply(parts, `[[`, name))
  sums <- Reduce(`+`, of_chunks("of_response"), 0)
  rows <- colSums(counts)
  list(n = sum(rows), read = scan$n, rows = rows, counts = counts,
       boxes = Reduce(joined_boxes, lapply(parts, `[[`, "boxes")),
       root = Reduce(function(a, b) qr_root(rbind(a, b)), of_chunks("roots")),
       noise = max(vapply(parts, `[[`, 0, "noise")), of_response = if (length(sums)) sums,
       columns = record_columns(ncol(pilot$data$u), ncol(pilot$data$x), has_known_part(pilot)))
}

trend_of_records <- function(records) cbind(design_of_records(records), unname(records[, "y"]))

design_of_records <- function(records) unname(records[, grep("^x", colnames(records)), drop = FALSE])

coordinates_of_records <- function(records) unname(records[, grep("^u", colnames(records)), drop = FALSE])

# The triangular factor R of a matrix, without pivoting.
qr_root <- function(x) {
  unname(qr.R(qr(x, LAPACK = FALSE, tol = 0)))
}

# The smallest and largest coordinates of each cell, an array (2, coordinates, cells).
boxes_of_cells <- function(near, of, count) {
  boxes <- array(c(Inf, -Inf), c(2, ncol(near), count))
  rows <- tabulate(of, count)
  some <- which(rows > 0)
  last <- cumsum(rows)[some]
  first <- last - rows[some] + 1
  for (k in seq_len(ncol(near))) {
    ordered <- near[order(of, near[, k]), k]
    boxes[1, k, some] <- ordered[first]
    boxes[2, k, some] <- ordered[last]
  }
  boxes
}

joined_boxes <- function(a, b) {
  a[1, , ] <- pmin(a[1, , ], b[1, , ])
  a[2, , ] <- pmax(a[2, , ], b[2, , ])
  a
}
