#' Block-sparse reductions
#'
#' If pairs of distant points contribute almost nothing, an operator of [keops_kernel()] can skip these pairs. For this
#' purpose points are grouped into clusters and sorted so that each cluster is a range of rows, and `op(input, ranges =
#' ranges)` computes selected pairs of clusters only. [with_ranges()] restricts a symbolic matrix in the same way.
#'
#' | function | result |
#' |---|---|
#' | `grid_cluster(x, size)` | a label for each point, counted from 1: the cell that contains it in a grid of cubes |
#' | `sort_clusters(x, labels)` | the points sorted by cluster: a list of `x`, `labels` and `order`, where the new `x` is `x[order, ]` |
#' | `cluster_ranges_centroids(x, labels, weights)` | for sorted points: a list of `ranges` (first and last point of each cluster), `centroids` and `weights` |
#' | `from_matrix(ranges_i, ranges_j, keep)` | a `kernops_ranges`: cluster a of i is combined with cluster b of j if `keep[a, b]` |
#' | `swap_axes(ranges)` | the same pairs with i and j exchanged |
#'
#' @details
#' A `kernops_ranges` is a list of six integer arrays with the meaning that they have in 'KeOps', but **counted from 1
#' with inclusive ends**, like R's indices (a 'KeOps' range `(a, b)` is `c(a + 1, b)` in R). A plain list of these six
#' arrays is also accepted:
#' * `ranges_i`, one row for each cluster of i: its first and its last point;
#' * `redranges_j`, the ranges of j that are combined with the clusters of i, sorted by cluster;
#' * `slices_i`, for each cluster of i the number of the last row of `redranges_j` that belongs to the cluster;
#' * `ranges_j`, `redranges_i`, `slices_j`: the same pairs in terms of the clusters of j.
#'
#' Ranges must be ascending and must not overlap. Rows outside all ranges get the result of an empty reduction: 0 for a
#' sum, `Inf` for a minimum. Positions, such as the result of `ArgMin`, refer to all points. Reductions over j use the
#' first three arrays, reductions over i use the last three arrays; gradients of [keops_grad()] use all six arrays. All
#' batches use the same ranges.
#'
#' On the CPU, clusters of ten points are efficient, and adjacent ranges are joined; a GPU needs about a hundred points
#' in each cluster.
#'
#' @param x points, a matrix or data frame with one row for each point, or a vector. `sort_clusters()` also accepts a
#'   list of matrices, data frames and vectors, all of which are sorted in the same way.
#' @param size the edge length of the cells: a positive number, or one number for each column of `x`.
#' @param labels the cluster of each point: whole numbers, a factor or strings; the clusters are sorted by label.
#' @param weights positive weights of the points, default 1: centroids are weighted means, and the weight of a cluster
#'   is the sum of the weights of its points.
#' @param ranges_i,ranges_j matrices with two columns: the first and the last point of each cluster.
#' @param keep a logical matrix with a row for each row of `ranges_i` and a column for each row of `ranges_j`.
#' @param ranges a `kernops_ranges`, or a list of the six arrays.
#'
#' @return As in the table above: `grid_cluster()` an integer vector with a label for each point; `sort_clusters()` and
#'   `cluster_ranges_centroids()` a list; `from_matrix()` and `swap_axes()` a `kernops_ranges`, for the argument
#'   `ranges` of operators.
#' @section Errors: class `kernops_input_error` or `kernops_dim_error` for ranges that overlap, decrease, exceed the
#'   points or do not match; the message gives the array and the first wrong row.
#'
#' @references
#' Feydy, J., Glaunes, J. A., Charlier, B. and Bronstein, M. (2020) Fast geometric learning with symbolic matrices.
#' *Advances in Neural Information Processing Systems* 33.
#'
#' @seealso [keops_kernel()], whose operators take ranges; [gp()] with compactly supported [covariances][wendland].
#' @examples
#' set.seed(1)
#' x <- matrix(runif(4000), 2000)
#' sigma <- 0.05
#' sorted <- sort_clusters(x, grid_cluster(x, 0.05))
#' clusters <- cluster_ranges_centroids(sorted$x, sorted$labels)
#' near <- as.matrix(dist(clusters$centroids)) < 4 * sigma
#' ranges <- from_matrix(clusters$ranges, clusters$ranges, near)
#' ranges
#'
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y) / s), 1)",
#'                    c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)"))
#' input <- list(s = 2 * sigma^2, x = sorted$x, y = sorted$x)
#' sparse <- op(input, ranges = ranges)
#' max(abs(sparse - op(input)) / op(input))
#' in_old_order <- sparse[order(sorted$order), ]
#' @name ranges
NULL

#' @rdname ranges
#' @export
grid_cluster <- function(x, size) {
  x <- as_points(x)
  if (ncol(x) == 0) stop_kernops("input", "{.arg x} must have at least one column.")
  if (!is_plain_numeric(size) || !length(size) %in% c(1, ncol(x)) || !all(is.finite(size) & size > 0)) {
    stop_kernops("input", paste("{.arg size} must be a positive number, or one for each of the {ncol(x)} columns",
                                "of {.arg x}."))
  }
  if (nrow(x) == 0) return(integer())
  cells <- floor(sweep(x, 2, rep_len(size, ncol(x)), "/"))
  order <- do.call(order, lapply(seq_len(ncol(cells)), \(k) cells[, k]))
  sorted <- cells[order, , drop = FALSE]
  begins <- c(TRUE, rowSums(sorted[-1, , drop = FALSE] != sorted[-nrow(sorted), , drop = FALSE]) > 0)
  replace(integer(nrow(x)), order, cumsum(begins))
}

#' @rdname ranges
#' @export
sort_clusters <- function(x, labels) {
  several <- is.list(x) && !is.data.frame(x)
  check_labels(labels)
  for (part in if (several) x else list(x)) check_length(labels, "labels", NROW(part))
  order <- order(labels)
  sort_one <- \(x) if (is.null(dim(x))) x[order] else x[order, , drop = FALSE]
  list(x = if (several) lapply(x, sort_one) else sort_one(x), labels = labels[order], order = order)
}

#' @rdname ranges
#' @export
cluster_ranges_centroids <- function(x, labels, weights = NULL) {
  x <- as_points(x)
  check_labels(labels)
  check_length(labels, "labels", nrow(x))
  weights <- weights %||% rep(1, nrow(x))
  check_length(weights, "weights", nrow(x))
  if (!is_plain_numeric(weights) || !all(is.finite(weights) & weights > 0)) {
    stop_kernops("input", "{.arg weights} must be positive numbers.")
  }
  if (is.unsorted(labels)) {
    stop_kernops("input", "{.arg labels} must be in ascending order, as {.fn sort_clusters} returns them.")
  }
  begins <- which(c(rep(TRUE, nrow(x) > 0), labels[-1] != labels[-length(labels)]))
  ends <- c(begins[-1] - 1L, if (nrow(x) > 0) nrow(x))
  cluster <- rep(seq_along(begins), ends - begins + 1L)
  mass <- rowsum(weights, cluster, reorder = FALSE)
  centroids <- rowsum(x * as.vector(weights), cluster, reorder = FALSE) / as.vector(mass)
  list(ranges = cbind(begins, ends, deparse.level = 0), centroids = unname(centroids), weights = as.vector(mass))
}

#' @rdname ranges
#' @export
from_matrix <- function(ranges_i, ranges_j, keep) {
  ranges_i <- whole_numbers(ranges_i, "ranges_i")
  ranges_j <- whole_numbers(ranges_j, "ranges_j")
  expected <- c(nrow(ranges_i), nrow(ranges_j))
  if (!is.logical(keep) || !identical(dim(keep), expected) || anyNA(keep)) {
    stop_kernops("input", "{.arg keep} must be a logical matrix of {expected[1]} x {expected[2]} clusters, without NA.")
  }
  half <- function(columns, keep) {
    met <- which(t(keep), arr.ind = TRUE)[, 1]
    list(slices = as.integer(cumsum(rowSums(keep))), redranges = columns[met, , drop = FALSE])
  }
  by_i <- half(ranges_j, unname(keep))
  by_j <- half(ranges_i, t(unname(keep)))
  new_ranges(list(ranges_i, by_i$slices, by_i$redranges, ranges_j, by_j$slices, by_j$redranges))
}

#' @rdname ranges
#' @export
swap_axes <- function(ranges) new_ranges(as_ranges(ranges)[c(4:6, 1:3)])

ranges_names <- c("ranges_i", "slices_i", "redranges_j", "ranges_j", "slices_j", "redranges_i")

new_ranges <- function(arrays) structure(stats::setNames(unclass(arrays), ranges_names), class = "kernops_ranges")

# Converts the user's ranges to six arrays of integers; C++ checks the numbers.
as_ranges <- function(ranges, call = caller_env()) {
  named <- identical(sort(names(ranges)), sort(ranges_names))
  if (!is.list(ranges) || length(ranges) != 6 || !(named || is.null(names(ranges)))) {
    stop_kernops("input", call = call, c(
      "{.arg ranges} must be a {.cls kernops_ranges}, such as {.fn from_matrix} returns, or a list of six arrays.",
      i = "The arrays are {.code {ranges_names}}."
    ))
  }
  ranges <- if (named) ranges[ranges_names] else stats::setNames(ranges, ranges_names)
  new_ranges(Map(\(x, name) whole_numbers(x, name, call), ranges, ranges_names))
}

# Checks that x contains whole numbers. Slices must be a vector, ranges a matrix of two columns.
whole_numbers <- function(x, name, call = caller_env()) {
  slices <- startsWith(name, "slices")
  fits <- if (slices) is.null(dim(x)) || length(dim(x)) == 1 else is.matrix(x) && ncol(x) == 2
  if (!is_plain_numeric(x) || !fits || !isTRUE(all(x == as_integer(x)))) {
    what <- if (slices) "a vector of whole numbers" else
      "a matrix of whole numbers with 2 columns, first and last point"
    stop_kernops("input", "{.arg {name}} must be {what}.", call = call)
  }
  if (slices) as_integer(x) else array(as_integer(x), dim(x))
}

as_integer <- function(x) suppressWarnings(as.integer(x))

as_points <- function(x, call = caller_env()) {
  if (is.data.frame(x) || is.numeric(x) && is.null(dim(x))) x <- as.matrix(x)
  if (!is.matrix(x) || !is.numeric(x) || !all(is.finite(x))) {
    stop_kernops("input", "{.arg x} must be a matrix of finite numbers, one row per point.", call = call)
  }
  x
}

check_labels <- function(labels, call = caller_env()) {
  if (is.atomic(labels) && is.null(dim(labels)) && !anyNA(labels)) return(invisible())
  stop_kernops("input", "{.arg labels} must be a vector without NA, one label for each point.", call = call)
}

check_length <- function(x, name, n, call = caller_env()) {
  if (length(x) == n) return(invisible())
  stop_kernops("dim", "{.arg {name}} must have one entry for each of the {n} points, not {length(x)}.", call = call)
}

#' @export
print.kernops_ranges <- function(x, ...) {
  cli::cat_line("<kernops_ranges> ", about_ranges(x))
  invisible(x)
}

about_ranges <- function(ranges) {
  last <- \(ends) max(0L, ends[, 2])
  all <- as.numeric(last(ranges$ranges_i)) * last(ranges$ranges_j)
  paste0(nrow(ranges$ranges_i), " x ", nrow(ranges$ranges_j), " clusters of ", last(ranges$ranges_i), " x ",
         last(ranges$ranges_j), " points, ", signif(100 * pair_count(ranges) / max(all, 1), 3), " % of the pairs kept")
}

pair_count <- function(ranges) {
  lengths <- \(ends) as.numeric(ends[, 2] - ends[, 1] + 1L)
  met <- c(0, cumsum(lengths(ranges$redranges_j)))[ranges$slices_i + 1]
  sum(lengths(ranges$ranges_i) * diff(c(0, met)))
}

# TRUE for pairs (i[k], j[k]) that the ranges contain.
in_ranges <- function(ranges, i, j) {
  block <- findInterval(i, ranges$ranges_i[, 1])
  clustered <- block > 0 & i <= c(0, ranges$ranges_i[, 2])[block + 1]
  # the ranges of j of a cluster ascend, so the code finds the last range of the cluster that begins at or before j
  cluster <- rep(seq_along(ranges$slices_i), diff(c(0L, ranges$slices_i)))
  far <- max(0, ranges$redranges_j, j) + 1
  met <- findInterval(block * far + j, cluster * far + ranges$redranges_j[, 1])
  clustered & c(0, cluster)[met + 1] == block & j <= c(0, ranges$redranges_j[, 2])[met + 1]
}
