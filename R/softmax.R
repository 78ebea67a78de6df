#' Softmax and log-sum-exp over dimensions of an array
#'
#' `softmax()` is `alpha * exp(x) / sum(exp(x))` in each slice, and `logsumexp()` is `log(sum(exp(x)))`. Neither
#' overflows: the largest value of a slice is taken out of it first. Each value costs one exponential.
#'
#' @inheritParams axis_reduce
#' @param dims the dimensions that a slice extends over, as in [axis_reduce()]; default: all.
#' @param ... for methods: see [lazy_reduction] for that of symbolic matrices.
#' @param alpha what the softmax of each slice sums to, a number other than 0.
#'
#' @return `softmax()`: an array like `x`, of doubles. `logsumexp()`: as [axis_reduce()].
#'
#'   In a slice where all is `-Inf`, the log-sum-exp is `-Inf` and the softmax `NaN`; with `Inf`, they are `Inf` and
#'   `NaN`. A slice with `NA` or `NaN` is all that, unless `na.rm = TRUE`: then these values stay and the others are
#'   taken without them.
#'
#' @section Errors: as [axis_reduce()].
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
softmax <- function(x, dims = NULL, alpha = 1, na.rm = FALSE, plan = NULL, backend = c("auto", "cpu", "cuda"),
                    output = c("host", "gpu")) {
  reduce_axes(x, dims, "softmax", FALSE, na.rm, plan, check_alpha(alpha), backend, output)
}

#' @rdname softmax
#' @export
logsumexp <- function(x, ...) UseMethod("logsumexp")

#' @rdname softmax
#' @export
logsumexp.default <- function(x, dims = NULL, keepdims = FALSE, na.rm = FALSE, plan = NULL,
                              backend = c("auto", "cpu", "cuda"), output = c("host", "gpu"), ...) {
  if (...length()) stop_further_arguments("{.fn logsumexp} of arrays", list(...))
  reduce_axes(x, dims, "logsumexp", keepdims, na.rm, plan, 1, backend, output)
}

check_alpha <- function(alpha, call = caller_env()) {
  if (is_plain_numeric(alpha) && length(alpha) == 1 && is.finite(alpha) && alpha != 0) return(as.numeric(alpha))
  stop_kernops("input", paste0("{.arg alpha} must be a finite number other than 0, not ", shown(alpha), "."),
               call = call)
}
