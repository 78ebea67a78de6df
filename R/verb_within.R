#' Points within a radius
#'
#' Finds all pairs of points of `x` and `y` whose Euclidean distance is at most `radius`, or counts them.
#'
#' @param x the n x d points that are searched: a matrix or data frame of finite numbers, or a vector of n numbers.
#' @param radius the largest distance: one non-negative number.
#' @param y the m x d points whose neighbours are searched. By default, the points of `x` are used, and no point is a
#'   neighbour of itself.
#' @param count if `TRUE`, only the number of points of `x` within the radius of each point of `y` is returned, and no
#'   memory is used for the pairs.
#'
#' @details The search uses a kd-tree of `x`; its time is proportional to the number of pairs for a few coordinates. For
#' a large radius, counts are faster than lists of pairs, since all points of a node of the tree that lies inside the
#' radius are counted at once.
#'
#' @return An n x m sparse matrix of class `dgCMatrix` of the package Matrix: entry (i, j) is the distance of point i of
#'   `x` from point j of `y` if this distance is at most `radius`. Distances of 0 are stored as explicit zeros. With
#'   `count`, a vector of m numbers.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, and for more than 2^31 -
#'   1 pairs; `kernops_dim_error` if the number of coordinates of `y` differs from that of `x`; `kernops_memory_error`
#'   if the result is too large.
#'
#' @seealso [knn()] for a fixed number of neighbours.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(2000), 1000)
#' neighbours_within(x, 0.05, count = TRUE)[1:10]
#' if (requireNamespace("Matrix", quietly = TRUE)) neighbours_within(x, 0.05)[1:10, 1:10]
#' @export
neighbours_within <- function(x, radius, y = NULL, count = FALSE) {
  x <- verb_points(x, "x")
  if (!is.null(y)) y <- verb_points(y, "y", ncol(x))
  check_radius(radius, "radius")
  check_flag(count, "count")
  if (!count) rlang::check_installed("Matrix", "for sparse matrices.")
  radius <- min(radius, .Machine$double.xmax)
  parts <- points_within(search_tree(unname(x)), if (!is.null(y)) unname(y), radius, count, threads())
  if (count) return(parts)
  columns <- if (is.null(y)) rownames(x) else rownames(y)
  names <- list(rownames(x), columns)
  Matrix::sparseMatrix(i = parts$i, p = parts$p, x = parts$x, dims = c(nrow(x), nrow(y %||% x)), index1 = FALSE,
                       dimnames = if (is.null(unlist(names))) list(NULL, NULL) else names)
}
