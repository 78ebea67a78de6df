# Symbolic matrices restricted to some of the pairs.

#' Symbolic matrices with ranges
#'
#' `with_ranges(K, ranges)` is the symbolic matrix `K` restricted to the pairs of `ranges`, a block-sparse matrix. No
#' reduction, `K %*% b`, `solve(K, b)` or gradient computes other pairs.
#'
#' * In products, sums, `K[i, j]`, `as.matrix(K)` and `diag(K)`, entries of pairs outside of the ranges are 0. All other
#'   reductions omit pairs outside of the ranges: `min(K, "j")` and `mean(K, "j")` are the minimum and the mean of the
#'   pairs of each row that are in the ranges.
#' * Arithmetic keeps the ranges: `exp(K)` has the ranges of `K`, and entries of other pairs are again 0. If `K` or `L`
#'   has ranges, `K * L` has the same ranges. If both have ranges, the ranges must be equal.
#' * `t(K)` has the ranges of [swap_axes()].
#' * [solve()][solve.LazyTensor] requires ranges that contain the pair (j, i) with each pair (i, j). The restricted
#'   matrix may have negative eigenvalues even if `K` has none: use `method = "minres"`, or a larger `lambda`.
#'
#' @param x a [LazyTensor] whose variables have data.
#' @param ranges a `kernops_ranges`, as from [from_matrix()], or a list of its six arrays; `NULL` for all pairs.
#' @return A [LazyTensor].
#' @section Errors: class `kernops_input_error` or `kernops_dim_error` if `ranges` are invalid, or do not match the
#'   points of `x`.
#' @seealso [ranges] for making ranges; [lazy_reduction] and [keops_kernel()] for ranges of a single reduction.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(4000), 2000)
#' x <- sort_clusters(x, grid_cluster(x, 0.1))$x
#' clusters <- cluster_ranges_centroids(x, grid_cluster(x, 0.1))
#' near <- as.matrix(dist(clusters$centroids)) < 0.3
#' K <- exp(-sqdist(Vi(x), Vj(x)) / (2 * 0.05^2))
#' sparse <- with_ranges(K, from_matrix(clusters$ranges, clusters$ranges, near))
#' sparse
#' max(abs(sparse %*% x - K %*% x))
#' a <- solve(sparse, x[, 1], lambda = 0.1)
#' @export
with_ranges <- function(x, ranges) {
  check_lazy(x)
  check_has_data(x)
  if (!is.null(ranges)) {
    ranges <- as_ranges(ranges)
    ranges_symmetric(ranges, i_j_points(x, "i"), i_j_points(x, "j")) # stops if ranges exceed these numbers
  }
  x@ranges <- ranges
  x
}

# The common ranges of several matrices. A matrix without ranges has NULL.
common_ranges <- function(ranges, call = caller_env()) {
  ranges <- unique(Filter(Negate(is.null), ranges))
  if (length(ranges) < 2) return(if (length(ranges)) ranges[[1]])
  stop_kernops("input", c("Symbolic matrices of different ranges cannot be combined.",
                          i = "{.code with_ranges(K, NULL)} has no ranges."), call = call)
}

# The values of pairs (i, j), in which 0 replaces the values of pairs outside the ranges. The entries of a vector are
# contiguous.
without_others <- function(values, ranges, i, j) {
  if (!is.null(ranges)) values[!in_ranges(ranges, i, j)] <- 0
  values
}
