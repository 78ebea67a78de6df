#' Softmax and log-sum-exp over dimensions of an array
#'
#' `softmax()` computes `alpha * exp(x) / sum(exp(x))` in each slice, and `logsumexp()` computes `log(sum(exp(x)))`. The
#' largest value of a slice is subtracted first, so that there is no overflow. Each value requires the computation of
#' one exponential.
#'
#' @inheritParams axis_reduce
#' @param dims the dimensions that form a slice, as in [axis_reduce()]; default: all.
#' @param ... for methods: see [lazy_reduction] for the method for symbolic matrices.
#' @param alpha the sum of the softmax of each slice, a number other than 0.
#'
#' @return `softmax()`: an array like `x`, of doubles. `logsumexp()`: as for [axis_reduce()].
#'
#'   If all values of a slice are `-Inf`, the log-sum-exp is `-Inf` and the softmax `NaN`; if a value is `Inf`, the
#'   log-sum-exp is `Inf` and the softmax `NaN`. With `NA` or `NaN` in a slice, all results of the slice are `NA` or
#'   `NaN`. With `na.rm = TRUE`, `softmax()` keeps the missing values, and all other results are computed without them.
#'
#' @section Errors: as for [axis_reduce()].
#'
#' @seealso [axis_grad()] for gradients, [seg_softmax()] and [seg_logsumexp()] for segments, `logsumexp()` of symbolic
#'   matrices in [lazy_reduction].
#'
#' @references Milakov, M. and Gimelshein, N. (2018) Online normalizer calculation for softmax.
#'   <https://arxiv.org/abs/1805.02867>
#'
#' @examples
#' x <- matrix(c(1, 2, 3, 1000, 1001, 1002), 2, byrow = TRUE)
#' softmax(x, 2)
#' logsumexp(x, 2)
#' @export
softmax <- function(x, dims = axis, alpha = 1, na.rm = FALSE, plan = NULL, backend = c("auto", "cpu", "cuda"),
                    output = c("host", "gpu"), axis = NULL) {
  check_axis(axis, missing(dims))
  reduce_axes(x, dims, "softmax", FALSE, na.rm, plan, check_alpha(alpha), backend, output)
}

#' @rdname softmax
#' @export
logsumexp <- function(x, ...) UseMethod("logsumexp")

#' @rdname softmax
#' @export
logsumexp.default <- function(x, dims = axis, keepdims = FALSE, na.rm = FALSE, plan = NULL,
                              backend = c("auto", "cpu", "cuda"), output = c("host", "gpu"), axis = NULL, ...) {
  if (...length()) stop_further_arguments("{.fn logsumexp} of arrays", list(...))
  check_axis(axis, missing(dims))
  reduce_axes(x, dims, "logsumexp", keepdims, na.rm, plan, 1, backend, output)
}

check_alpha <- function(alpha, call = caller_env()) {
  if (is_plain_numeric(alpha) && length(alpha) == 1 && is.finite(alpha) && alpha != 0) return(as.numeric(alpha))
  stop_kernops("input", paste0("{.arg alpha} must be a finite number other than 0, not ", shown(alpha), "."),
               call = call)
}
