# Polygons cut by the lines of a grid. Areas and centroids of the pieces are sums over the edges of the polygon (Green's
# theorem), and interior cells that no edge crosses are whole squares. Therefore the time depends only on the numbers of
# edges and pieces.

# About `n` pieces of a polygon, as a list of a matrix `centre` and a vector `area`. `parts` is a list of parts, which
# are lists of rings.
polygon_pieces <- function(parts, n, rounds = 8) {
  if (!length(parts)) return(list(centre = matrix(0, 0, 2), area = numeric()))
  shape <- polygon_edges(parts)
  tried <- data.frame(step = numeric(), count = numeric())
  for (round in seq_len(rounds)) {
    step <- next_step(shape, n, tried)
    pieces <- cut_by_grid(shape, step)
    count <- length(pieces$area)
    if (abs(count - n) <= n / 10) break
    tried[round, ] <- c(step, count)
  }
  pieces
}

# The step h of a grid with about `n` pieces, between the steps of a coarser and a finer grid that were already tried.
# If all previous grids were too coarse, h is the solution of n = area / h^2 + edge / h. In this equation, `edge` is the
# length that explains the number of pieces of the last grid; for the first grid, `edge` is twice the length of the
# rings, an upper bound.
next_step <- function(shape, n, tried) {
  coarse <- tried[tried$count < n, ]
  fine <- tried[tried$count > n, ]
  if (nrow(coarse) && nrow(fine)) {
    bounds <- rbind(coarse[which.min(coarse$step), ], fine[which.max(fine$step), ])
    return(exp(stats::approx(log(bounds$count), log(bounds$step), log(n))$y))
  }
  last <- tried[nrow(tried), ]
  edge <- if (nrow(last)) max(last$count - shape$area / last$step^2, 0) * last$step else 2 * shape$length
  (edge + sqrt(edge^2 + 4 * n * shape$area)) / (2 * n)
}

# A list with the `edges`, rows (x0, y0, x1, y1) relative to the `corner` of the bounding box, and the width and height
# of the box. The interior of the polygon is on the left of each edge.
polygon_edges <- function(parts) {
  rings <- unlist(parts, FALSE)
  inner <- unlist(lapply(parts, function(rings) seq_along(rings) > 1))
  vertices <- do.call(rbind, rings)
  corner <- apply(vertices, 2, min)
  edges <- do.call(rbind, Map(function(ring, inner) directed_edges(t(t(ring) - corner), inner), rings, inner))
  list(edges = edges, corner = corner, size = apply(vertices, 2, max) - corner, area = max(0, sum(enclosed(edges))),
       length = sum(sqrt((edges[, 3] - edges[, 1])^2 + (edges[, 4] - edges[, 2])^2)))
}

directed_edges <- function(ring, inner) {
  n <- nrow(ring)
  edges <- cbind(ring[-n, , drop = FALSE], ring[-1, , drop = FALSE])
  if ((sum(enclosed(edges)) < 0) == inner) edges else edges[, c(3, 4, 1, 2), drop = FALSE]
}

# The signed areas of the triangles between each edge and the origin.
enclosed <- function(edges) (edges[, 1] * edges[, 4] - edges[, 3] * edges[, 2]) / 2

# The pieces in the cells of a grid that divides the bounding box, with cells of side about `step`. Splinters of less
# than a millionth of the mean area are dropped.
cut_by_grid <- function(shape, step) {
  cells <- pmax(1, round(shape$size / step))
  side <- ifelse(shape$size > 0, shape$size / cells, 1)
  edges <- shape$edges / rep(side, 2, each = nrow(shape$edges))
  edges <- cut_at_lines(edges)
  edges <- cut_at_lines(edges[, c(2, 1, 4, 3), drop = FALSE])[, c(2, 1, 4, 3), drop = FALSE]
  inside <- cell_pieces(edges, cells)
  inside <- inside[inside[, "area"] > 1e-6 * mean(pmax(inside[, "area"], 0)), , drop = FALSE]
  within <- pmin(pmax(inside[, c("x", "y"), drop = FALSE] / inside[, "area"], 0), 1)
  centre <- (inside[, c("column", "row"), drop = FALSE] + within) * rep(side, each = nrow(inside))
  list(centre = unname(centre + rep(shape$corner, each = nrow(inside))), area = unname(inside[, "area"]) * prod(side))
}

# Cuts edges at the points where the first coordinate is a whole number.
cut_at_lines <- function(edges) {
  from <- edges[, 1]
  to <- edges[, 3]
  first <- ifelse(from < to, floor(from) + 1, ceiling(from) - 1)
  crossings <- pmax(0, ifelse(from < to, ceiling(to) - first, first - floor(to)))
  edge <- rep(seq_along(from), crossings + 1)
  number <- sequence(crossings + 1) - 1
  line <- first[edge] + (number - 1) * sign(to - from)[edge]
  other <- edges[edge, 2] + (line - from[edge]) / (to - from)[edge] * (edges[edge, 4] - edges[edge, 2])
  begins <- number == 0
  ends <- number == crossings[edge]
  start <- cbind(line, other)
  start[begins, ] <- edges[, 1:2]
  end <- start[c(seq_along(edge)[-1], 1), , drop = FALSE]
  end[ends, ] <- edges[, 3:4]
  unname(cbind(start, end))
}

# One row for each cell that has an edge or is inside: its column and row, and the integrals of 1, x and y over the
# piece, where x and y are relative to the corner of the cell. Each integral is a sum over edges of a function of x,
# integrated along y. The cell has the width 1. For an edge in the cell, x is the coordinate of the edge relative to the
# cell; for an edge in a cell further right, x is 1.
cell_pieces <- function(edges, cells) {
  column <- pmin(floor((edges[, 1] + edges[, 3]) / 2), cells[[1]] - 1)
  row <- pmin(floor((edges[, 2] + edges[, 4]) / 2), cells[[2]] - 1)
  order <- order(row, -column)
  column <- column[order]
  row <- row[order]
  edges <- edges[order, , drop = FALSE] - cbind(column, row, column, row)
  cell <- cumsum(c(TRUE, diff(column) != 0 | diff(row) != 0))
  sums <- rowsum(edge_integrals(edges[, 1], edges[, 2], edges[, 3], edges[, 4]), cell, reorder = FALSE)
  first <- which(!duplicated(cell))
  column <- column[first]
  row <- row[first]
  # cells are sorted by row and from right to left, and the heights of a row add up to 0, so a cumulative sum over all
  # cells is the sum over the cells further right in the row, including the cell itself
  height <- cumsum(sums[, "height"])
  right <- height - sums[, "height"]
  moment <- cumsum(sums[, "moment"]) - sums[, "moment"]
  met <- cbind(column = column, row = row, area = sums[, "area"] + right, x = sums[, "x"] + right / 2,
               y = sums[, "y"] + moment)
  gap <- ifelse(c(diff(row) == 0, FALSE) & height > 0.5, -c(diff(column), 0) - 1, 0)
  before <- rep(seq_along(gap), gap)
  one <- rep(1, length(before))
  rbind(met, cbind(column[before] - sequence(gap), row[before], one, one / 2, one / 2))
}

# Along straight edges from (x0, y0) to (x1, y1): the integrals over y of 1, y, x, x^2 / 2 and x y.
edge_integrals <- function(x0, y0, x1, y1) {
  height <- y1 - y0
  cbind(height = height, moment = height * (y0 + y1) / 2, area = height * (x0 + x1) / 2,
        x = height * (x0^2 + x0 * x1 + x1^2) / 6,
        y = height * (2 * x0 * y0 + x0 * y1 + x1 * y0 + 2 * x1 * y1) / 6)
}
