#' Nearest neighbours
#'
#' Finds the k nearest points of `x` for each point of `y`, by Euclidean distance. The search is exact.
#'
#' @param x the points that are searched: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param y the points whose neighbours are searched, m x d. Default: the points of `x`; then no point is a neighbour of
#'   itself, but duplicates of a point are neighbours at distance 0.
#' @param k the number of neighbours: at most n, or n - 1 without `y`.
#' @param radius the largest distance of a neighbour: if a point has fewer than `k` neighbours within this distance, the
#'   remaining indices and distances are `NA`.
#' @param method `"tree"` searches a kd-tree; `"panels"` computes the distances of all pairs on `backend`; `"auto"` uses
#'   the faster method for this number of points and coordinates.
#' @param backend the backend of `"panels"`, and of `"tree"` for large searches: `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details The time of a search by a kd-tree is proportional to n log n for few coordinates. For many coordinates, the
#' search takes longer than computing the distances of all pairs. `"auto"` uses the tree for up to 5 coordinates, and
#' for up to 10 coordinates if there are enough points; bench/verbs.R has the measurements. The methods give the same
#' neighbours, except that rounding may change the order of neighbours whose distances differ by a few units in the last
#' place.
#'
#' @return `knn()`: a list of class `kernops_knn` with two m x k matrices: `index`, the row numbers of the neighbours in
#'   `x`, sorted by distance and, at equal distances, by row number; and `distance`.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values or a `k` that is larger
#'   than the number of points; `kernops_dim_error` if the number of coordinates of `y` differs from that of `x`;
#'   `kernops_memory_error` if the result is too large.
#'
#' @references
#' Friedman, J. H., Bentley, J. L. and Finkel, R. A. (1977) An algorithm for finding best matches in logarithmic
#' expected time. *ACM Transactions on Mathematical Software* 3(3), 209-226.
#'
#' @seealso [neighbours_within()] for all points within a radius; [argKmin()] for other distances.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(2000), 1000)
#' near <- knn(x, k = 5)
#' near$index[1, ]
#' near$distance[1, ]
#' # classes of new points by a majority of 5 neighbours
#' train <- iris[c(TRUE, FALSE), ]
#' test <- iris[c(FALSE, TRUE), ]
#' votes <- matrix(train$Species[knn(train[1:4], test[1:4], k = 5)$index], ncol = 5)
#' table(apply(votes, 1, function(v) names(which.max(table(v)))), test$Species)
#' # the graph of mutual neighbours, as a sparse matrix
#' if (requireNamespace("Matrix", quietly = TRUE)) knn_graph(near, mutual = TRUE)[1:5, 1:5]
#' @export
knn <- function(x, y = NULL, k, radius = Inf, method = c("auto", "tree", "panels"),
                backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  if (!is.null(y)) y <- verb_points(y, "y", ncol(x))
  most <- nrow(x) - is.null(y)
  check_number(k, "k", least = 1, whole = TRUE)
  if (k > most) {
    stop_kernops("input", "{.arg k} must be at most {most}, the number of {if (is.null(y)) 'other '}points, not {k}.")
  }
  check_radius(radius, "radius")
  method <- check_choice(method, "method", c("auto", "tree", "panels"))
  backend <- check_backend(backend)
  if (method == "auto") method <- faster_search(nrow(x), ncol(x), nrow(y %||% x))
  search <- switch(method, tree = tree_neighbours, panels = panel_neighbours)
  near <- search(unname(x), if (!is.null(y)) unname(y), as.integer(k), backend)
  if (radius < Inf) {
    far <- near$distance > radius
    near$index[far] <- NA
    near$distance[far] <- NA
  }
  structure(near, class = "kernops_knn", points = nrow(x), self = is.null(y))
}

tree_neighbours <- function(x, y, k, backend) {
  points_knn(search_tree(x), y, k, neighbour_settings(threads(), backend))
}

# Searches neighbours among all pairs. If there is no `y`, each point is removed from the list of its neighbours. A
# point with more than k duplicates may be missing from its list; in this case, the last neighbour is removed.
panel_neighbours <- function(x, y, k, backend) {
  size <- max(column_sizes(x), if (!is.null(y)) column_sizes(y))
  if (size > 0 && abs(log2(size)) > 300) { # without scaling, squares would be 0 or infinite
    unit <- 2^min(-floor(log2(size)), 1000)
    near <- panel_neighbours(unit * x, if (!is.null(y)) unit * y, k, backend)
    return(list(index = near$index, distance = near$distance / unit))
  }
  listed <- k + is.null(y)
  op <- verb_operator(sprintf("KMin_ArgKMin_Reduction(SqDist(y, x), %d, 1)", listed),
                      sprintf(c("y = Vi(%d)", "x = Vj(%d)"), ncol(x)), backend)
  found <- op(list(y %||% x, x))
  square <- found[, seq_len(listed), drop = FALSE]
  index <- found[, -seq_len(listed), drop = FALSE]
  if (is.null(y)) {
    self <- max.col(cbind(index == seq_len(nrow(x)), TRUE), "first")
    kept <- t(vapply(pmin(self, listed), function(own) seq_len(listed)[-own], integer(k)))
    places <- cbind(rep(seq_len(nrow(x)), k), as.vector(if (k == 1) t(kept) else kept))
    square <- matrix(square[places], ncol = k)
    index <- matrix(index[places], ncol = k)
  }
  storage.mode(index) <- "integer"
  list(index = index, distance = sqrt(square))
}

# The faster method for m queries among n points with d coordinates (bench/verbs.R): a tree is faster if there are at
# least 100 queries and if the number of points exceeds a limit that depends on d. The limits were measured with
# normally distributed points; trees are faster for points near a line or a surface.
faster_search <- function(n, d, m) {
  least <- c(0, 0, 0, 0, 0, 2e4, 5e4, 1e5, 4e5, 2e6)
  if (m >= 100 && d <= length(least) && n >= least[[d]]) "tree" else "panels"
}

check_radius <- function(radius, name, call = caller_env()) {
  if (is_plain_numeric(radius) && length(radius) == 1 && !is.na(radius) && radius >= 0) return(invisible())
  stop_kernops("input", "{.arg {name}} must be one non-negative number.", call = call)
}

#' @rdname knn
#' @param near a result of `knn()` without `y`.
#' @param mutual if `TRUE`, an edge joins two points only if each of the two is a neighbour of the other; if `FALSE`, an
#'   edge goes from each point to each of its neighbours.
#' @param weights the weights of the edges: `"one"` or `"distance"`.
#' @return `knn_graph()`: an n x n sparse matrix of class `dgCMatrix` of the package Matrix. Entry (i, j) is the weight
#'   of the edge from i to j; with `"distance"`, edges between duplicates are stored as explicit zeros.
#' @export
knn_graph <- function(near, mutual = FALSE, weights = c("one", "distance")) {
  if (!inherits(near, "kernops_knn") || !attr(near, "self")) {
    stop_kernops("input", "{.arg near} must be a result of {.fn knn} without {.arg y}.")
  }
  check_flag(mutual, "mutual")
  weights <- check_choice(weights, "weights", c("one", "distance"))
  rlang::check_installed("Matrix", "for sparse matrices.")
  n <- attr(near, "points")
  from <- rep(seq_len(n), ncol(near$index))
  to <- as.vector(near$index)
  kept <- !is.na(to)
  if (mutual) kept <- kept & ((from - 1) * n + to) %in% ((to - 1) * n + from)[kept]
  value <- if (weights == "one") rep(1, length(to)) else as.vector(near$distance)
  Matrix::sparseMatrix(i = from[kept], j = to[kept], x = value[kept], dims = c(n, n))
}

#' @export
print.kernops_knn <- function(x, ...) {
  cli::cat_line("<kernops_knn> ", ncol(x$index), " nearest of ", attr(x, "points"), " points for ", nrow(x$index),
                " queries")
  invisible(x)
}
