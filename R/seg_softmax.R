#' Softmax and log-sum-exp of segments
#'
#' `seg_softmax()` divides `exp(alpha * x)` by its sum over the segment that the value is in; `seg_logsumexp()` is the
#' logarithm of the sum of `exp(alpha * x)`, divided by `alpha`. Both take the largest value away first, so that nothing
#' overflows.
#'
#' @inheritParams seg_reduce
#' @param alpha a number by which `x` is multiplied.
#' @param ... where the segments are, and more: arguments of [seg_reduce()] other than `op`.
#'
#' @return `seg_softmax()`: an array like `x`. A segment that is all `-Inf` gives `NaN`; values in no segment give `NA`.
#'   `seg_logsumexp()`: a result for each segment, `-Inf` where it is empty or all `-Inf`.
#'
#' @section Errors: as of [seg_reduce()]. `seg_softmax()` does not take `sources`, by which a value could be in several
#'   segments.
#'
#' @examples
#' seg_softmax(c(1, 2, 3, 1000, 1001), lengths = c(3, 2))
#' seg_logsumexp(c(1, 2, 3, 1000, 1001), lengths = c(3, 2))
#' @export
seg_softmax <- function(x, offsets = NULL, lengths = NULL, g = NULL, alpha = 1, na.rm = FALSE, plan = NULL, sort = TRUE,
                        backend = c("auto", "cpu", "cuda")) {
  backend <- check_backend(backend)
  x <- check_values(x, backend)
  plan <- make_plan(offsets, lengths, g, plan, NULL, value_count(x), sort, "`x`")
  refuse_sources(plan)
  result <- run_plan(if (is_gpu_matrix(x)) x else unclass(x), plan, "softmax", check_flag(na.rm, "na.rm"), NULL,
                     backend,
                     alpha = check_alpha(alpha))
  shape_like(result, x)
}

#' @rdname seg_softmax
#' @export
seg_logsumexp <- function(x, ..., alpha = 1) {
  x <- check_values(x)
  check_alpha(alpha)
  if (alpha == 1) return(seg_reduce(x, ..., op = "logsumexp"))
  seg_reduce(alpha * (if (is_gpu_matrix(x)) as.matrix(x) else x), ..., op = "logsumexp") / alpha
}

check_alpha <- function(alpha, call = caller_env()) {
  if (is.numeric(alpha) && length(alpha) == 1 && is.finite(alpha) && alpha != 0) return(as.numeric(alpha))
  stop_kernops("input", "{.arg alpha} must be a finite number other than 0, not {.val {alpha}}.", call = call)
}

refuse_sources <- function(plan, call = caller_env()) {
  if (is.null(plan$sources)) return(invisible())
  stop_kernops("input", "{.arg sources} does not work here: each value must be in one segment at most.", call = call)
}
