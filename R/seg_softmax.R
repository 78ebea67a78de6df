#' Softmax and log-sum-exp of segments
#'
#' `seg_softmax()` divides each value of `exp(x)` by the sum of `exp(x)` over the segment; `seg_logsumexp()` returns the
#' logarithm of this sum for each segment. The functions subtract the largest value of each segment first, so that there
#' is no overflow.
#'
#' @inheritParams seg_reduce
#' @param ... the segments and further arguments of [seg_reduce()], except `op`.
#'
#' @param output as in [seg_reduce()]. With `"gpu"`, a softmax has the precision of `x`, and a [gpu_matrix()] that is
#'   overwritten must have this precision.
#'
#' @return `seg_softmax()`: an array like `x`. A segment whose values are all `-Inf` gives `NaN`; values in no segment
#'   give `NA`. `seg_logsumexp()`: a result for each segment; `-Inf` if the segment is empty or all its values are
#'   `-Inf`.
#'
#' @section Errors: as for [seg_reduce()]. `seg_softmax()` does not support `sources`, since with `sources` a value
#'   could be in several segments.
#'
#' @seealso [softmax()] and [logsumexp()] for dimensions of an array.
#'
#' @examples
#' seg_softmax(c(1, 2, 3, 1000, 1001), lengths = c(3, 2))
#' seg_logsumexp(c(1, 2, 3, 1000, 1001), lengths = c(3, 2))
#' @export
seg_softmax <- function(x, offsets = NULL, lengths = NULL, g = NULL, na.rm = FALSE, plan = NULL, sort = TRUE,
                        backend = c("auto", "cpu", "cuda"), output = c("host", "gpu")) {
  backend <- check_backend(backend)
  x <- check_values(x, backend)
  stay <- check_target(output, x)
  if (is.null(lengths)) check_no_groups(offsets, value_count(x), sys.call())
  plan <- make_plan(offsets, lengths, g, plan, NULL, value_count(x), sort, "`x`")
  refuse_sources(plan)
  result <- run_plan(if (is_gpu_matrix(x)) x else unclass(x), plan, "softmax", check_flag(na.rm, "na.rm"), NULL,
                     backend, stay = stay)
  if (stay) result else shape_like(result, x)
}

#' @rdname seg_softmax
#' @export
seg_logsumexp <- function(x, ...) {
  known <- setdiff(names(formals(seg_reduce)), c("x", "op", "probs", "type", "nth"))
  check_further_arguments("{.fn seg_logsumexp}", list(...), known)
  unnamed <- list(...)[!nzchar(...names() %||% character(...length()))]
  if (length(unnamed) == 1) check_no_groups(unnamed[[1]], value_count(x), sys.call())
  seg_reduce(x, ..., op = "logsumexp")
}

refuse_sources <- function(plan, call = caller_env()) {
  if (is.null(plan$sources)) return(invisible())
  stop_kernops("input", "{.arg sources} is not supported here: each value must be in at most one segment.", call = call)
}
