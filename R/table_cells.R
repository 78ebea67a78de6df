# Cells of a table: boxes of a k-d tree over a sample of its rows, with about equal numbers of rows. Cells do not depend
# on memory or workers, so that sums over cells are bit-identical. Cells are numbered in the order of the leaves of the
# tree, so that cells with close numbers are near each other.

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

# The second pass over the table: writes the records of each cell to the file of the cell. Returns the number of used
# rows, the number of rows and the box of each cell, and the triangular factor of [X, y], the trend and the response of
# all rows. The factor of each chunk is merged into this factor by qr(), which loses no digits.
sort_into_cells <- function(source, columns, pilot, partition, near_of, store, size, call = caller_env()) {
  count <- cell_count(partition)
  path <- in_store(store, "rows-", seq_len(count))
  unlink(path)
  boxes <- NULL
  rows <- numeric(count)
  root <- NULL
  noise <- 0
  of_response <- 0
  first <- 1
  scan_source(source, columns, size, function(chunk) {
    records <- records_of_chunk(pilot, chunk, first, call)
    first <<- first + nrow(chunk)
    if (!nrow(records)) return(invisible())
    root <<- qr_root(rbind(root, trend_of_records(records)))
    noise <<- max(noise, records[, "noise"])
    of_response <<- of_response + sums_of_response(records, pilot$quosures$transform)
    near <- near_of(coordinates_of_records(records))
    of <- cells_of(partition, near)
    boxes <<- wider_boxes(boxes, near, of, count)
    ordered <- split(order(of), sort(of))
    for (k in names(ordered)) append_rows(path[[as.integer(k)]], records[ordered[[k]], , drop = FALSE])
    rows <<- rows + tabulate(of, count)
    say_progress(step = paste("sorted", sum(rows), "rows"))
  }, call)
  if (!sum(rows)) stop_kernops("input", "There are no observations without missing values.", call = call)
  list(n = sum(rows), read = first - 1, rows = rows, boxes = boxes, root = root, noise = noise,
       of_response = of_response,
       columns = record_columns(ncol(pilot$data$u), ncol(pilot$data$x), has_known_part(pilot)))
}

trend_of_records <- function(records) cbind(design_of_records(records), unname(records[, "y"]))

design_of_records <- function(records) unname(records[, grep("^x", colnames(records)), drop = FALSE])

coordinates_of_records <- function(records) unname(records[, grep("^u", colnames(records)), drop = FALSE])

# The triangular factor R of a matrix, without pivoting.
qr_root <- function(x) {
  unname(qr.R(qr(x, LAPACK = FALSE, tol = 0)))
}

# Enlarges the boxes of the cells `of` so that they contain the points `near`. `boxes` has the dimensions 2 (smallest
# and largest), coordinates, and cells.
wider_boxes <- function(boxes, near, of, count) {
  if (is.null(boxes)) boxes <- array(c(Inf, -Inf), c(2, ncol(near), count))
  for (k in seq_len(ncol(near))) {
    ordered <- order(of, near[, k])
    last <- cumsum(tabulate(of, count))
    some <- which(tabulate(of, count) > 0)
    first <- c(1, last[-count] + 1)
    boxes[1, k, some] <- pmin(boxes[1, k, some], near[ordered[first[some]], k])
    boxes[2, k, some] <- pmax(boxes[2, k, some], near[ordered[last[some]], k])
  }
  boxes
}
