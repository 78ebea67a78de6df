# Divides a kernel that is not smooth at 0 into two parts. The smooth part is 0 at distance 0, and equals the kernel at
# distances above a radius of near_radius() cells of the grid of modes. The difference between the kernel and its smooth
# part is summed over pairs of near points.

# The radius, in cells of the grid, within which the smooth part differs from the kernel. With this radius, the Fourier
# transform of smooth_step() is below `precision` at frequencies above those of the modes.
near_radius <- function(precision) {
  2 * sqrt(2 * log(1 / precision)) / pi * stats::qnorm(precision, lower.tail = FALSE)
}

# The series of the smooth part. The number of modes minimises the total time of the sums over modes and of the sums
# over near pairs. NULL if the total time exceeds `most_seconds`.
series_with_near <- function(kernel, torus, x, y, precision, most_seconds) {
  best <- list(seconds = most_seconds)
  for (fineness in 2^seq(-2, 12)) {
    modes <- torus_modes(torus, fineness)
    of_modes <- kernel$seconds$cells * prod(2 * modes)
    if (prod(2 * modes) > most_grid_cells || of_modes > best$seconds) break
    near <- near_pairs(torus, modes, x, y, precision)
    seconds <- kernel$seconds$near * near$pairs + of_modes
    if (seconds < best$seconds) best <- list(modes = modes, near = near, seconds = seconds)
  }
  if (is.null(best$near)) return(NULL)
  smooth <- divided_kernel(kernel, best$near, code_text("(1 - ", short_range, ")"))
  utils::modifyList(fourier_series(smooth, torus, best$modes, precision), best)
}

# The formula of the weight of the short-range part for a pair of points: smooth_step() of the distance divided by the
# radius.
short_range <- "(0.5 * Erfc(steep * (2 * Norm2((x - y) * scale) - 1)))"

# The kernel multiplied by `weight`, a formula with the variables `scale` and `steep`.
divided_kernel <- function(kernel, near, weight) {
  scale <- replace(numeric(kernel$d), near$wide, 1 / near$radius)
  kernel$text <- code_text("(", kernel$text, ") * ", weight)
  kernel$declared <- c(kernel$declared, sprintf("scale = Pm(%d)", kernel$d), "steep = Pm(1)")
  kernel$input <- c(kernel$input, list(scale, stats::qnorm(near$precision, lower.tail = FALSE) / sqrt(2)))
  kernel
}

near_sums <- function(kernel, near, x, y, b) {
  sums <- exact_sums(divided_kernel(kernel, near, short_range), x[near$rows_x, , drop = FALSE],
                     y[near$rows_y, , drop = FALSE], b[near$rows_y, , drop = FALSE], near$ranges)
  sums[order(near$rows_x), , drop = FALSE]
}

# Near pairs are pairs of points in the same cell or in adjacent cells, for cells whose size is the radius. Returns the
# sorted rows of x and y, the ranges of rows that form pairs, and the number of pairs.
near_pairs <- function(torus, modes, x, y, precision) {
  radius <- near_radius(precision) * torus$period / modes
  of_x <- sorted_cells(x, torus, radius)
  of_y <- if (identical(x, y)) of_x else sorted_cells(y, torus, radius)
  by_x <- adjacent_ranges(of_x, of_y)
  by_y <- if (identical(x, y)) by_x else adjacent_ranges(of_y, of_x)
  list(wide = torus$wide, radius = radius, precision = precision, rows_x = of_x$rows, rows_y = of_y$rows,
       pairs = by_x$pairs, ranges = new_ranges(c(by_x$ranges, by_y$ranges)))
}

# The rows of points in the order of their cells; and, for each cell that contains points, the number of the cell and
# the count of points. The numbers of two cells that are adjacent along the last coordinate differ by one; `strides` has
# the differences for the other coordinates. The grid of cells has an empty cell on each side of the box.
sorted_cells <- function(points, torus, radius) {
  count <- ceiling(torus$span / radius) + 3
  cell <- lapply(seq_along(torus$wide), \(k) floor((points[, torus$wide[k]] - torus$low[k]) / radius[k]) + 1)
  number <- Reduce(\(number, k) number * count[k] + cell[[k]], seq_along(cell)[-1], cell[[1]])
  rows <- order(number)
  runs <- rle(number[rows])
  list(rows = rows, number = runs$values, size = runs$lengths, last = cumsum(runs$lengths),
       strides = rev(cumprod(rev(count[-1]))))
}

# For each cell of `from`, the ranges of points of `to` in this cell and in adjacent cells, in the form of the argument
# `ranges` of an operator, which is a list of three arrays.
adjacent_ranges <- function(from, to) {
  steps <- as.matrix(expand.grid(rep(list(-1:1), length(from$strides))))
  steps <- if (length(from$strides)) sort(drop(steps %*% from$strides)) else 0
  middle <- outer(steps, from$number, `+`)
  last <- c(0, to$last)
  begin <- last[findInterval(middle - 1.5, to$number) + 1] + 1
  end <- last[findInterval(middle + 1.5, to$number) + 1]
  some <- matrix(begin <= end, length(steps))
  whole <- \(x) `storage.mode<-`(unname(x), "integer")
  list(pairs = sum(rep(from$size, each = length(steps)) * (end - begin + 1)),
       ranges = list(whole(cbind(from$last - from$size + 1, from$last)), whole(cumsum(colSums(some))),
                     whole(cbind(begin, end)[some, , drop = FALSE])))
}
