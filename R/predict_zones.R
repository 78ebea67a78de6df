# Means and totals over zones of a map, and the areas of exceedance in zones, with standard errors.
#
# Expected values are sums over all cells, window by window. Standard errors depend on the joint distribution of cells.
# In a zone with more than `nodes` cells, standard errors are estimated from two random cells in each rectangle of
# cells. With the areas A of the rectangles in the zone, their numbers K of cells and the values f and g of the two
# cells, the variance of the total is
#
#   Cov(sum A f, sum A g) + Var(sum A (f - g) / sqrt(2 K)),
#
# on average over the draws of cells: the first term estimates the covariances of different cells, and the second term
# adds the rest of the variances of single cells. In zones with fewer cells, each cell is a rectangle, so f and g are
# equal.
#
# The state of sums over zones: a matrix `sums`, with a row for each zone and the columns area, total and one for each
# threshold; and `nodes`, a list of parts with u, x and offset of both cells of each rectangle, one after the other, and
# with the zone, area, count of cells, number and tile of each rectangle.

# The sizes of rectangles in each zone: `rows` and `columns`, powers of 2 named by zone; and the maximum of `rows`. A
# window whose height is a multiple of this maximum contains whole rectangles only.
rectangles_of_zones <- function(readers, templates, nodes, cells = 2e5) {
  counts <- Map(function(reader, template) {
    parts <- lapply(rows_in_windows(template, max(1, floor(cells / terra::ncol(template)))), function(rows) {
      table(reader(rows)$zone)
    })
    unlist(unname(lapply(parts, c)))
  }, readers, templates)
  counts <- unlist(unname(counts))
  counts <- c(tapply(counts, names(counts), sum))
  power <- ceiling(log2(pmax(1, 2 * counts / nodes))) * (counts > nodes)
  highest <- floor(log2(max(1, cells / max(vapply(templates, terra::ncol, 0)))))
  rows <- pmin(power %/% 2, highest)
  list(rows = 2^rows, columns = 2^(power - rows), most = 2^max(0, rows))
}

rows_in_windows <- function(template, height) {
  rows <- seq_len(terra::nrow(template))
  split(rows, (rows - 1) %/% height)
}

# The state after the `cells` of one more window are added; `cells` is a result of predict_window() for a window of a
# tile with `columns` columns.
add_to_zones <- function(state, cells, window, rows, columns, tile, rectangles) {
  complete <- window$points$complete
  row_of <- replace(rep(NA_integer_, length(complete)), complete, seq_len(sum(complete)))
  cells <- cells[!is.na(row_of[cells$cell]), ]
  point <- row_of[cells$cell]
  table <- window$table[point, c("fit", grep("^above", names(window$table), value = TRUE)), drop = FALSE]
  names(table)[[1]] <- "total"
  sums <- rowsum(cells$area * cbind(area = rep(1, length(point)), as.matrix(table)), cells$zone)
  number <- match(cells$zone, rownames(sums))
  size <- lapply(rectangles[c("rows", "columns")], function(x) unname(x[rownames(sums)])[number])
  row <- (rows[[1]] - 1 + (cells$cell - 1) %/% columns) %/% size$rows
  rectangle <- row * columns + (cells$cell - 1) %% columns %/% size$columns
  both <- two_of_each(rectangle * nrow(sums) + number, rectangle)
  nodes <- c(some_points(window$points, point[c(both$first, both$second)]),
             list(zone = cells$zone[both$first], area = both$sums_of(cells$area), count = both$count,
                  rectangle = rectangle[both$first], tile = rep(tile, length(both$count))))
  sums <- rbind(state$sums, sums)
  list(sums = rowsum(sums, rownames(sums)), nodes = c(state$nodes, list(nodes)))
}

# Two members of each group, selected by the `random` numbers of the group; they differ if the group has several
# members.
two_of_each <- function(group, random) {
  members <- split(seq_along(group), group)
  count <- unname(lengths(members))
  uniform <- function(factor) {
    x <- sin(factor * (random[vapply(members, `[[`, 0L, 1L)] + 1)) * 43758.5453
    x - floor(x)
  }
  first <- floor(uniform(12.9898) * count)
  second <- (first + 1 + floor(uniform(78.233) * (count - 1))) %% count
  chosen <- function(number) as.integer(unlist(Map(function(x, k) x[[k]], members, number + 1), use.names = FALSE))
  list(first = chosen(first), second = chosen(second), count = count,
       sums_of = function(x) as.vector(rowsum(x, group)))
}
