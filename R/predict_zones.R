# Means and totals over zones of a map, and the areas of exceedance in zones, with standard errors.
#
# Expected values are sums over all cells, which are added up one window of the map at a time. Standard errors depend on
# the joint distribution of cells. In a zone with more than `nodes` cells, standard errors are estimated from two random
# cells in each rectangle of cells. Let A be the area of a rectangle in the zone, K the number of its cells, and f and g
# the values of the two random cells. Sums are over the rectangles of the zone. The variance of the total is
#
#   Cov(sum A f, sum A g) + Var(sum A (f - g) / sqrt(2 K)),
#
# on average over the random choice of cells. The first term estimates the covariances of different cells, and the
# second term adds the missing part of the variances of single cells. In zones with at most `nodes` cells, each cell is
# a rectangle, so f and g are equal.
#
# The state, to which each window adds its cells, is a list of the matrix `sums` and of `nodes`. `sums` has a row for
# each zone, the columns `area` and `total`, and a column for each threshold. `nodes` has an element for each window:
# `u`, `x` and `offset` of the two cells, first for the first cells of all rectangles, then for the second cells; and
# the `zone`, the `area`, the `count` of cells, the number (`rectangle`) and the `tile` of each rectangle.

# The sizes of the rectangles in each zone: `rows` and `columns`, powers of 2 named by zone; and `most`, the maximum of
# `rows`. If the height of windows is a multiple of `most`, no rectangle is divided between windows.
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

# Adds the cells of one more window to the state. `cells` has the index, the zone and the area of each cell in a zone,
# `window` is a result of predict_window(), and `columns` is the number of columns of the tile.
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

# Selects two members of each group. The selection depends on the element of `random` for the first member of the group.
# The two members differ if the group has several members.
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
