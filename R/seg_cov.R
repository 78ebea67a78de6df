#' Covariances, correlations and regression lines of segments
#'
#' `seg_cov()` and `seg_cor()` compute the covariance and the correlation of `x` and `y` in each segment; `seg_slope()`
#' fits the line `y = intercept + slope * x` to each segment by (weighted) least squares. These functions sum products
#' of deviations from the means of each segment, so that no digits are lost if means are large.
#'
#' @inheritParams seg_reduce
#' @param x,y numeric vectors, or matrices of the same size, whose columns are paired. If `x` is a [gpu_matrix()], the
#'   computation runs on its GPU and in its precision.
#' @param offsets,lengths,g,plan the segments, as in [seg_plan()]; if none of these is given, `x` is one segment.
#' @param na.rm whether to omit pairs with a missing value; otherwise the result of a segment with such a pair is
#'   missing.
#' @param weights a weight for each pair, as in [seg_reduce()] with `op = "var"`: a pair of weight 2 counts twice.
#'
#' @return `seg_cov()`, `seg_cor()`: a vector with a result for each segment, named by the groups; if `x` and `y` are
#'   matrices, a matrix with a row for each segment. The denominator of covariances is n - 1; results of fewer than two
#'   pairs are `NA`, and the correlation is `NaN` if `x` or `y` is constant. `seg_slope()`: a result of the same form
#'   with an additional dimension, `c("intercept", "slope")`.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element.
#'
#' @seealso [seg_reduce()] with `op = "var"`.
#' @examples
#' seg_cor(iris$Sepal.Length, iris$Sepal.Width, g = iris$Species)
#' seg_slope(iris$Sepal.Length, iris$Sepal.Width, g = iris$Species)
#' @export
seg_cov <- function(x, y, offsets = NULL, lengths = NULL, g = NULL, na.rm = FALSE, weights = NULL, plan = NULL) {
  sums <- pair_sums(x, y, offsets, lengths, g, plan, na.rm, weights)
  shape_pairs(of_several(sums$xy / (sums$n - 1), sums), sums)
}

#' @rdname seg_cov
#' @export
seg_cor <- function(x, y, offsets = NULL, lengths = NULL, g = NULL, na.rm = FALSE, weights = NULL, plan = NULL) {
  sums <- pair_sums(x, y, offsets, lengths, g, plan, na.rm, weights)
  correlation <- sums$xy / (sqrt(sums$xx) * sqrt(sums$yy))
  correlation <- pmax(pmin(correlation, 1), -1)
  shape_pairs(of_several(correlation, sums), sums)
}

#' @rdname seg_cov
#' @export
seg_slope <- function(x, y, offsets = NULL, lengths = NULL, g = NULL, na.rm = FALSE, weights = NULL, plan = NULL) {
  sums <- pair_sums(x, y, offsets, lengths, g, plan, na.rm, weights)
  slope <- of_several(sums$xy / sums$xx, sums)
  shape_pairs(c(sums$mean_y - slope * sums$mean_x, slope), sums, c("intercept", "slope"))
}

# Sets results to NA if there are fewer than two pairs.
of_several <- function(result, sums) replace(result, !is.na(sums$n) & sums$n <= 1, NA)

# For each segment and column, the sums of products of deviations from the means, the means, and the number of pairs.
pair_sums <- function(x, y, offsets, lengths, g, plan, na.rm, w, call = caller_env()) {
  x <- check_values(x, "auto", call)
  if (!is_gpu_matrix(x)) x <- unclass(x)
  y <- check_second(y, x, call)
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x), call)
  if (!is.null(w)) w <- check_weights(w, x, "var", call)
  check_flag(na.rm, "na.rm", call)
  about <- list(x = x, segments = segment_count(plan), names = plan$names)
  if (is_gpu_matrix(x)) return(c(device_pair_sums(x, device_operand(y, x), plan, na.rm, w), about))
  if (anyNA(x) || anyNA(y)) {
    gap <- is.na(x) | is.na(y)
    x[gap] <- y[gap] <- (x + y)[gap] # x + y is NA, or NaN if neither x nor y is NA
  }
  sum_of <- function(v, op = "sum") c(run_plan(v, plan, op, na.rm, NULL, "cpu", w))
  mean_x <- sum_of(x, "mean")
  mean_y <- sum_of(y, "mean")
  dx <- from_centre(x, mean_x, plan)
  dy <- from_centre(y, mean_y, plan)
  one <- replace(dx, !is.na(dx), 1)
  c(list(xy = sum_of(dx * dy), xx = sum_of(dx * dx), yy = sum_of(dy * dy), n = sum_of(one), mean_x = mean_x,
         mean_y = mean_y), about)
}

check_second <- function(y, x, call) {
  y <- check_values(y, "auto", call, "y")
  if (!is_gpu_matrix(y)) y <- unclass(y) else if (!is_gpu_matrix(x)) y <- as.matrix(y)
  if (identical(dim(y) %||% length(y), dim(x) %||% length(x))) return(y)
  words <- \(v) paste(dim(v) %||% length(v), collapse = " x ")
  stop_kernops("dim", "{.arg y} must have the size of {.arg x}, {words(x)}, not {words(y)}.", call = call)
}

shape_pairs <- function(result, sums, outputs = NULL) {
  shape_results(result, sums$segments, sums$names, sums$x, outputs)
}

# The index of the segment of each value; NA for a value outside all segments.
segment_numbers <- function(plan) {
  if (plan$how == "g") return(group_rows(plan))
  from <- seg_values(segments(plan)$pointer)
  replace(rep(NA_integer_, segments(plan)$about$values), from$row, rep(seq_along(from$lengths), from$lengths))
}

# Subtracts from each value the centre of its segment and column. Values outside all segments are unchanged.
from_centre <- function(x, centre, plan) {
  number <- segment_numbers(plan)
  columns <- dim(x)[2] %||% 1
  shift <- matrix(centre, ncol = columns)[number, , drop = FALSE]
  shift[is.na(number), ] <- 0
  x - c(shift)
}
