# Prepares the observations of a table in a work directory, in several stages. A fit that resumes after an interruption
# does not repeat completed stages. The result, `blocks`, is a list of
#   store, columns          the work directory, and the columns of its records
#   n, read, rows, d        the number of observations, of rows of the table, of rows in each cell, and of coordinates
#   partition, boxes, level the cells (table_cells.R), the bounding box of each cell, and the maximum level
#                           (table_order.R) of the points of each cell that are not heads
#   heads, first            the records of the heads, which are the first points of the ordering, in this order; and the
#                           number of heads in each cell
#   typical                 records of groups of neighbouring points, see typical_records()
#   m, units, sizes         the number of neighbours; the units, which are groups of conditioning sets (table_sets.R);
#                           and the number of points of each unit
#   trend                   the coefficients and the factor that make the trend orthonormal
#   response                the number of observations and the norm of the response, by which data sets are compared
#   of_response             sums over the response, see sums_of_response()
#   noise                   0 if all noise variances are 0
#   model, theta, near_of   the model and the parameters that define near_of(), see near_by_reference()
#   limits                  the limits of workers and memory, see limits_of_fit()
#   head_near()             the coordinates of the heads, transformed by near_of()

table_blocks <- function(scan, columns, pilot, store, m, limits, call) {
  near_of <- near_function(pilot)
  near <- near_of(pilot$sample$u)
  partition <- partition_of(near, pilot$total)
  sorted <- stage_of(store, "sorted", function() {
    timed("sorting", sort_into_cells(scan, columns, pilot, partition, near_of, store, limits$workers, call))
  })
  unlink(in_store(store, "chunks-", seq_along(scan$first)))
  check_root(sorted$root, colnames(pilot$data$x), call)
  chosen <- typical_cells(sorted$rows, sorted$n)
  ordered <- stage_of(store, "ordered", function() {
    timed("ordering", order_cells(sorted, partition, near_of, store, chosen, limits$workers))
  })
  unlink(in_store(store, "rows-", seq_along(scan$first)))
  norm <- sqrt(if (is.null(pilot$quosures$transform)) sum(sorted$root[, ncol(sorted$root)]^2) else
    sorted$of_response[["squares"]])
  blocks <- c(sorted[c("n", "read", "rows", "boxes", "columns", "noise", "of_response")], ordered, list(
    store = store, partition = partition, d = ncol(pilot$data$u), m = min(m, sorted$n - 1),
    response = c(sorted$n, norm),
    trend = block_trend(sorted$root, colnames(pilot$data$x)), model = pilot$model, theta = pilot$theta,
    near_of = near_of, head_near = near_of_heads(near_of, ordered$heads), limits = limits,
    first = heads_of(sorted$rows, length(sorted$rows))
  ))
  blocks$units <- units_of(blocks)
  blocks$sizes <- sizes_of_units(blocks)
  blocks
}

# Returns a function without arguments that returns the coordinates of the heads, transformed by near_of(). The
# environment of this function contains only near_of() and the heads, because tasks in other processes receive it.
near_of_heads <- function(near_of, heads) {
  force(list(near_of, heads))
  once(function() near_of(coordinates_of_records(heads)))
}

# Returns a function of coordinates u, which transforms the coordinates so that the nearest points are the points with
# the highest correlation, under the covariance of the pilot fit, which is a fit to a sample of rows.
near_function <- function(pilot) {
  near_by_reference(pilot$model, pilot$theta, typical_sites(pilot$sample$u, 4096))
}

near_by_reference <- function(model, theta, reference) {
  # evaluates the arguments, so that a task in another process receives their values and not the frame of the caller
  force(list(model, theta, reference))
  function(u) neighbour_coordinates(model, theta, u, reference)
}

# Stops if columns of the trend are collinear over all rows.
check_root <- function(root, names, call) {
  p <- length(names)
  if (!p) return(invisible())
  sizes <- sqrt(colSums(root[, seq_len(p), drop = FALSE]^2))
  aliased <- names[abs(diag(root)[seq_len(p)]) <= 1e-7 * sizes]
  if (nrow(root) > p && !length(aliased)) return(invisible())
  stop_kernops("input", c("The columns of the trend are collinear: {.code {aliased}} {?is a linear combination/are
                           linear combinations} of the others."), call = call)
}

# The records of a few observations that represent all observations: the first heads, which cover the domain, and groups
# of neighbouring points, which have information on short distances.
typical_records <- function(blocks, heads = typical_heads) {
  chosen <- typical_cells(blocks$rows, blocks$n, heads)
  if (is.null(chosen)) {
    return(do.call(rbind, c(list(blocks$heads), lapply(which(blocks$rows > cell_heads), rest_of_cell, blocks))))
  }
  groups <- blocks$typical %||% do.call(rbind, lapply(chosen$cells, function(k) {
    typical_of_cell(rest_of_cell(k, blocks), chosen, blocks$near_of)
  }))
  rbind(blocks$heads[seq_len(min(heads, nrow(blocks$heads))), , drop = FALSE], groups)
}

typical_heads <- 6000

# The cells whose points are among the typical records, the number `each` of groups in each of these cells, and the
# `size` of a group; NULL if all n points are typical.
typical_cells <- function(rows, n, heads = typical_heads, groups = 60, size = 100) {
  if (n <= heads + groups * size) return(NULL)
  filled <- which(rows > cell_heads)
  cells <- if (length(filled)) filled[some_positions(length(filled), groups)]
  list(cells = cells, each = ceiling(groups / max(1, length(cells))), size = size)
}

# Groups of neighbouring points among the records `rest` of a cell.
typical_of_cell <- function(rest, chosen, near_of) {
  near <- near_of(coordinates_of_records(rest))
  centres <- near[some_positions(nrow(near), chosen$each), , drop = FALSE]
  rest[sort(unique(as.vector(nearest_points(centres, near, min(chosen$size, nrow(near)))))), , drop = FALSE]
}

rest_of_cell <- function(k, blocks) {
  read_rows(in_store(blocks$store, "cell-", k), blocks$columns, skip = heads_of(blocks$rows[[k]], length(blocks$rows)))
}
