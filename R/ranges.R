#' Block-sparse computation: ranges of rows that meet ranges of columns
#'
#' Where far points contribute nothing that matters, an operator of [keops_kernel()] need not look at them: points are
#' put into clusters, sorted so that each cluster is a range of rows, and `op(input, ranges = ranges)` computes the
#' pairs of those clusters alone that meet.
#'
#' | function | what it gives |
#' |---|---|
#' | `grid_cluster(x, size)` | a label from 1 for each point: that of its cell in a grid of cubes |
#' | `sort_clusters(x, labels)` | the points, cluster by cluster: a list of `x`, `labels` and `order`, so that the new `x` is `x[order, ]` |
#' | `cluster_ranges_centroids(x, labels, weights)` | of sorted points: a list of `ranges` (first and last point of each cluster), `centroids` and `weights` |
#' | `from_matrix(ranges_i, ranges_j, keep)` | a `kernops_ranges`: cluster a of i meets cluster b of j where `keep[a, b]` |
#' | `swap_axes(ranges)` | the same pairs with i and j exchanged |
#'
#' @details
#' A `kernops_ranges` is a list of six integer arrays, those of 'KeOps', but **counted from 1 with inclusive ends**, as
#' R's indices are (a 'KeOps' range `(a, b)` is `c(a + 1, b)` here). A plain list of these six arrays will do as well:
#' * `ranges_i`, one row for each cluster of i: its first and its last point;
#' * `redranges_j`, the ranges of j that the clusters meet, cluster after cluster;
#' * `slices_i`, for each cluster the number of the last row of `redranges_j` that is its own;
#' * `ranges_j`, `redranges_i`, `slices_j`: the same pairs as j sees them.
#'
#' Ranges are ascending and do not overlap. Rows in no range get the neutral element: the sum of nothing is 0, the
#' smallest of nothing `Inf`. Positions, as of `ArgMin`, are positions among all points. The first three arrays
#' serve reductions over j, the others those over i; gradients of [keops_grad()] use both, and batches share them.
#'
#' On the CPU, clusters of ten points do well, and neighbours that stand side by side are joined; a GPU, whose threads
#' share the columns of a cluster, wants a hundred points in each.
#'
#' @param x points, a matrix or data frame with one row per point, or a vector. `sort_clusters()` takes a list of such
#'   as well, which it sorts all alike.
#' @param size the edge of the cells: a positive number, or one for each column of `x`.
#' @param labels the cluster of each point: whole numbers, a factor or text; the clusters are sorted by it.
#' @param weights positive weights of the points, 1 by default: a centroid is a weighted mean, and the weight of a
#'   cluster their sum.
#' @param ranges_i,ranges_j matrices of two columns: the first and the last point of each cluster.
#' @param keep a logical matrix, a row for each of `ranges_i`, a column for each of `ranges_j`.
#' @param ranges a `kernops_ranges`, or a list of the six arrays.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error` for ranges that overlap, decrease, leave the
#'   points or do not fit together, with the array and the first row that is wrong.
#'
#' @references
#' Feydy, J., Glaunes, J. A., Charlier, B. and Bronstein, M. (2020) Fast geometric learning with symbolic matrices.
#' *Advances in Neural Information Processing Systems* 33.
#'
#' @examples
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
  if (ncol(x) == 0) stop_kernops("input", "{.arg x} must have a column at least.")
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
    stop_kernops("input", "{.arg labels} must be ascending, as {.fn sort_clusters} gives them.")
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
  half <- function(lanes, keep) {
    met <- which(t(keep), arr.ind = TRUE)[, 1]
    list(slices = as.integer(cumsum(rowSums(keep))), redranges = lanes[met, , drop = FALSE])
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

# What users hand over, as six arrays of integers; C++ looks at the numbers.
as_ranges <- function(ranges, call = caller_env()) {
  named <- identical(sort(names(ranges)), sort(ranges_names))
  if (!is.list(ranges) || length(ranges) != 6 || !(named || is.null(names(ranges)))) {
    stop_kernops("input", call = call, c(
      "{.arg ranges} must be a {.cls kernops_ranges}, as of {.fn from_matrix}, or a list of six arrays.",
      i = "These are {.code {ranges_names}}."
    ))
  }
  ranges <- if (named) ranges[ranges_names] else stats::setNames(ranges, ranges_names)
  new_ranges(Map(\(x, name) whole_numbers(x, name, call), ranges, ranges_names))
}

# Slices are a vector, ranges a matrix of two columns.
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
  last <- \(ranges) max(0L, ranges[, 2])
  lengths <- \(ranges) as.numeric(ranges[, 2] - ranges[, 1] + 1L)
  met <- c(0, cumsum(lengths(x$redranges_j)))[x$slices_i + 1]
  pairs <- sum(lengths(x$ranges_i) * diff(c(0, met)))
  all <- as.numeric(last(x$ranges_i)) * last(x$ranges_j)
  cli::cat_line("<kernops_ranges> ", nrow(x$ranges_i), " x ", nrow(x$ranges_j), " clusters of ",
                last(x$ranges_i), " x ", last(x$ranges_j), " points, ", signif(100 * pairs / max(all, 1), 3),
                " % of the pairs kept")
  invisible(x)
}
