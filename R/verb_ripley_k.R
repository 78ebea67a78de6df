#' Ripley's K function and the pair correlation function
#'
#' Estimates the second-order functions of a pattern of points in a rectangle of the plane, or of two patterns.
#' `ripley_k()` estimates the K function of Ripley (1977). `pair_correlation()` estimates the derivative of K divided by
#' the derivative of the K function of a Poisson process.
#'
#' @param x the points: an n x 2 matrix or data frame of finite numbers.
#' @param window the rectangle in which the points were observed: a 2 x 2 matrix with the ranges of the coordinates as
#'   its columns, such as `cbind(c(0, 100), c(0, 50))`. It must contain all points.
#' @param y the points of another pattern in the same rectangle, m x 2. With `y`, the functions are computed from pairs
#'   of a point of `x` and a point of `y`.
#' @param r the distances: ascending, non-negative numbers. Default: 513 equal steps from 0 to the smaller of a quarter
#'   of the shorter side and \eqn{\sqrt{1000 / (\pi \lambda)}}, where \eqn{\lambda} is the number of points of `y`, or
#'   of `x` without `y`, per unit of area.
#' @param correction the edge correction, for pairs that are not observed because one point is outside the rectangle.
#'   `"isotropic"`: for each pair, consider the circle around the first point through the second point; the weight is
#'   the inverse of the proportion of this circle that is inside the rectangle (Ripley 1977). `"translation"`: shift the
#'   rectangle by the difference of the two points; the weight is the inverse of the proportion of the rectangle that
#'   the shifted rectangle overlaps (Ohser 1983). `"none"`: weights of 1. Weights are at most 100.
#' @param bandwidth half the width of Epanechnikov's kernel, with which `pair_correlation()` smooths; default: \eqn{0.15
#'   / \sqrt{\lambda}} (Stoyan and Stoyan 1994).
#'
#' @details
#' With the area A of the rectangle and the weight \eqn{e_{ij}} of two points at distance \eqn{d_{ij}}, \deqn{K(r) =
#' \frac{A}{n (n - 1)} \sum_{i \ne j} e_{ij} 1(d_{ij} \le r), \quad g(r) = \frac{A}{n (n - 1)} \sum_{i \ne j}
#' \frac{e_{ij} k(r - d_{ij})}{2 \pi r};} for two patterns, n m replaces n (n - 1). For a Poisson process, K(r) is
#' \eqn{\pi r^2} and g(r) is 1; larger values indicate clusters, smaller values indicate repulsion. The pairs are found
#' by a kd-tree and not stored.
#'
#' @return A data frame of class `kernops_pattern`, with a row for each distance (`print()` shows a few of the rows):
#'   `r`; `poisson`, the function of a Poisson process; and `K` or `g`, the estimate. `g` is infinite or `NaN` at r = 0.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, points outside of the
#'   window, or fewer than two points; `kernops_dim_error` for points that do not have two coordinates.
#'
#' @references
#' Ohser, J. (1983) On estimators for the reduced second moment measure of point processes. *Mathematische
#' Operationsforschung und Statistik, Series Statistics* 14, 63-71.
#'
#' Ripley, B. D. (1977) Modelling spatial patterns. *Journal of the Royal Statistical Society, Series B* 39(2), 172-212.
#'
#' Stoyan, D. and Stoyan, H. (1994) *Fractals, random shapes and point fields.* Wiley.
#'
#' @seealso [neighbours_within()] for the pairs within a radius, [morans_i()] for values at points.
#' @examples
#' set.seed(1)
#' parents <- matrix(runif(100), 50)
#' x <- parents[rep(1:50, each = 10), ] + rnorm(1000, sd = 0.02)
#' x <- x[x[, 1] > 0 & x[, 1] < 1 & x[, 2] > 0 & x[, 2] < 1, ]
#' unit <- cbind(c(0, 1), c(0, 1))
#' k <- ripley_k(x, unit)
#' plot(k$r, sqrt(k$K / pi) - k$r, type = "l", xlab = "distance", ylab = "L(r) - r")
#' g <- pair_correlation(x, unit, r = c(0.01, 0.05, 0.2))
#' g
#' @export
ripley_k <- function(x, window, y = NULL, r = NULL, correction = c("isotropic", "translation", "none")) {
  pattern <- pattern_pairs(x, window, y, r, correction)
  sums <- pattern$sums(0)
  pattern_table(data.frame(r = pattern$r, poisson = pi * pattern$r^2, K = sums))
}

#' @rdname ripley_k
#' @export
pair_correlation <- function(x, window, y = NULL, r = NULL, correction = c("isotropic", "translation", "none"),
                             bandwidth = NULL) {
  if (!is.null(bandwidth)) check_number(bandwidth, "bandwidth", least = 0, above = TRUE)
  pattern <- pattern_pairs(x, window, y, r, correction)
  sums <- pattern$sums(bandwidth %||% (0.15 / sqrt(pattern$intensity)))
  pattern_table(data.frame(r = pattern$r, poisson = 1, g = sums / (2 * pi * pattern$r)))
}

pattern_table <- function(table) structure(table, class = c("kernops_pattern", "data.frame"))

#' @export
print.kernops_pattern <- function(x, ...) {
  shown <- x[spaced_rows(nrow(x), 10), , drop = FALSE]
  print(structure(shown, class = "data.frame"), ...)
  if (nrow(x) > nrow(shown)) cli::cat_line(nrow(shown), " of ", nrow(x), " rows")
  invisible(x)
}

# A list of the distances `r`, the number of points per unit of area, and sums(bandwidth), which computes the sums over
# pairs.
pattern_pairs <- function(x, window, y, r, correction, call = caller_env()) {
  x <- pattern_points(x, "x", call)
  if (!is.null(y)) y <- pattern_points(y, "y", call)
  window <- pattern_window(window, list(x = x, y = y), call)
  correction <- check_choice(correction, "correction", c("isotropic", "translation", "none"), call)
  pairs <- nrow(x) * if (is.null(y)) nrow(x) - 1 else nrow(y)
  if (pairs == 0) stop_kernops("input", "{.arg x} must have at least two points.", call = call)
  sides <- window[2, ] - window[1, ]
  intensity <- nrow(y %||% x) / prod(sides)
  r <- pattern_distances(r, min(sides / 4, sqrt(1000 / (pi * intensity))), call)
  stored <- search_tree(y %||% x)
  list(r = r, intensity = intensity, sums = function(bandwidth) {
    sums <- points_pattern(stored, if (!is.null(y)) x, r, window, correction, bandwidth, threads())
    prod(sides) / pairs * sums
  })
}

pattern_points <- function(x, name, call) {
  x <- unname(verb_points(x, name, call = call))
  if (ncol(x) == 2) return(x)
  stop_kernops("dim", "{.arg {name}} must have 2 coordinates, not {ncol(x)}.", call = call)
}

pattern_window <- function(window, patterns, call) {
  if (is.data.frame(window)) window <- as.matrix(window)
  fits <- is_plain_numeric(window) && identical(dim(window), c(2L, 2L)) && all(is.finite(window)) &&
    all(window[1, ] < window[2, ])
  if (!fits) {
    stop_kernops("input", "{.arg window} must be a 2 x 2 matrix with the range of each coordinate as a column, such as
                           {.code cbind(c(0, 1), c(0, 1))}.", call = call)
  }
  for (name in names(Filter(Negate(is.null), patterns))) {
    ranges <- column_ranges(patterns[[name]])
    if (any(ranges[1, ] < window[1, ] | ranges[2, ] > window[2, ])) {
      stop_kernops("input", "{.arg window} must contain all points of {.arg {name}}.", call = call)
    }
  }
  window <- unname(window)
  storage.mode(window) <- "double"
  window
}

pattern_distances <- function(r, largest, call) {
  if (is.null(r)) return(seq(0, largest, length.out = 513))
  fits <- is_plain_numeric(r) && length(r) > 0 && all(is.finite(r)) && all(r >= 0) && !is.unsorted(r)
  if (!fits) stop_kernops("input", "{.arg r} must be ascending, finite, non-negative numbers.", call = call)
  as.numeric(r)
}
