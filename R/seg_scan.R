#' Running results within segments
#'
#' `seg_scan()` computes a result for each value: the reduction of the values of its segment up to and including this
#' value. For example, `seg_scan(x, g = g)` computes cumulative sums by group, for rows in any order. The operation can
#' be any operation of [seg_reduce()] except `"softmax"`.
#'
#' @details Result k of a segment is `seg_reduce()` of the first k values of the segment: with `op = "mean"` the running
#' mean, with `"argmax"` the position of the largest value so far, with `"first"` the first value of the segment.
#' Missing values therefore make all later results missing; with `na.rm = TRUE`, the result at a missing value equals
#' the result at the previous value.
#'
#' Sums and means use compensated summation (Neumaier 1974), so that the error does not grow with the length of a
#' segment, and running sums of non-negative numbers do not decrease. Results do not depend on the number of threads.
#'
#' @inheritParams seg_reduce
#' @param op the operation: a name from the table of [seg_reduce()], or a [seg_op()].
#' @param exclusive whether the result at a value excludes this value. The first result of a segment is then the result
#'   of an empty segment, such as 0 for `"sum"`.
#' @param reverse whether the scan runs from the last value of a segment to the first value. Positions always count from
#'   the first value.
#' @param empty the result at positions where all values so far were omitted or excluded, instead of the value in the
#'   table of [seg_reduce()].
#' @param offsets,lengths,g,plan the segments, as in [seg_plan()]; if none of these is given, `x` is one segment.
#' @param backend `"cpu"`, `"cuda"` or `"auto"`, which uses the GPU for a [gpu_matrix()] and otherwise the CPU. The GPU
#'   computes running sums in double precision, without compensation. More than 2^28 values, or values that do not fit
#'   in the memory of the GPU together with their results, are processed by the CPU.
#' @param output `"host"`: an R vector or array. `"gpu"`, if `x` is a [gpu_matrix()] or the backend is `"cuda"`: a
#'   [gpu_matrix()] in the precision of `x` (`float64` with `empty`), without names and with `NaN` for missing results.
#'   `output` may also be a [gpu_matrix()] that is overwritten with the result, as in [seg_reduce()].
#'
#' @return A vector or matrix like `x`, with its names; values in no segment give `NA`. Results of `"range"` have an
#'   additional dimension, `c("min", "max")`.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element.
#'
#' @references
#' Blelloch, G. E. (1990) Prefix sums and their applications. Technical report CMU-CS-90-190, Carnegie Mellon.
#'
#' Neumaier, A. (1974) Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen. *ZAMM* 54(1), 39-51.
#'
#' @seealso [seg_reduce()] for one result for each segment; `seg_grad(op, scan = TRUE)` for gradients.
#'
#' @examples
#' seg_scan(c(1, 2, 3, 4, 5), lengths = c(2, 3))
#' seg_scan(c(1, 2, 3, 4, 5), lengths = c(2, 3), exclusive = TRUE)
#' # the largest weight of each chick from each day on
#' seg_scan(ChickWeight$weight, g = ChickWeight$Chick, op = "max", reverse = TRUE)[1:12]
#' # the previous weight of each chick
#' head(seg_scan(ChickWeight$weight, g = ChickWeight$Chick, op = "last", exclusive = TRUE))
#' @export
seg_scan <- function(x, offsets = NULL, lengths = NULL, g = NULL, op = "sum", exclusive = FALSE, reverse = FALSE,
                     na.rm = FALSE, empty = NULL, plan = NULL, backend = c("auto", "cpu", "cuda"),
                     output = c("host", "gpu")) {
  if (is.data.frame(x)) {
    by_column <- \(x, op, plan) seg_scan(x, op = op, exclusive = exclusive, reverse = reverse, na.rm = na.rm,
                                         empty = empty, plan = plan, backend = backend)
    return(compute_columns(x, op, list(offsets = offsets, lengths = lengths, g = g, plan = plan), by_column,
                           by_value = TRUE))
  }
  op <- check_scan_op(op)
  backend <- check_backend(backend)
  x <- check_reducible(x, op, backend)
  check_bits(op, x)
  stay <- check_target(output, x)
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  scan <- list(exclusive = check_flag(exclusive, "exclusive"), reverse = check_flag(reverse, "reverse"))
  check_flag(na.rm, "na.rm")
  call <- environment()
  run <- function(x, empty) scan_plan(x, plan, op, scan, na.rm, empty, backend, stay, call)
  if (!is_classed(x)) return(run(x, empty))
  check_host_output(stay)
  run_encoded(x, op, run, empty, \(x) scan_plan(x, plan, "count", scan, na.rm))
}

check_scan_op <- function(op, call = caller_env()) {
  if (!inherits(op, "seg_op")) op <- check_choice(op, "op", segment_ops()$name, call)
  op
}

# Computes seg_scan() with a plan. The caller has checked all arguments except `empty`.
scan_plan <- function(x, plan, op, scan, na.rm = FALSE, empty = NULL, backend = "auto", stay = FALSE,
                      call = caller_env()) {
  if (!is.null(empty)) empty <- check_one(empty, "empty", call)
  if (is.object(x) && !is_gpu_matrix(x)) x <- unclass(x)
  run <- function(op, stay = FALSE) {
    operation <- segment_operation(op, if (inherits(op, "seg_op")) empty)
    seg_run(segments(plan)$pointer, x, c(operation, scan), na.rm, NULL,
            segment_settings(backend, stay, progress = progress_bar()))
  }
  if (stay && is.null(empty)) return(run(op, stay))
  result <- run(op)
  if (!inherits(op, "seg_op")) {
    delayedAssign("left", run("count"))
    if (!is.null(empty)) result[rep_len(left == 0, length(result)) %in% TRUE] <- empty
    result <- settle_kind(result, x, op, left, empty, NULL)
  }
  if (stay) to_gpu(matrix(as.numeric(result), value_count(x)), stay) else shape_by_value(result, x, op)
}

shape_by_value <- function(result, x, op) {
  if (!identical(op, "range")) return(shape_like(result, x))
  size <- dim(x) %||% length(x)
  names <- if (is.null(dim(x))) list(names(x)) else if (is.matrix(x)) dimnames(x)
  array(result, c(size, 2), c(names %||% vector("list", length(size)), list(c("min", "max"))))
}
