#' Rolling windows within segments
#'
#' `seg_roll()` reduces a window that moves along the values of each segment. Such windows give rolling means, maxima,
#' medians, and other operations of [seg_reduce()]. A window has a fixed number of values, a separate number for each
#' value (adaptive windows), or a length in time, and never extends beyond its segment.
#'
#' @details Each result is `seg_reduce()` of the values in a window; positions (`"argmax"`) count from the first value
#' of the segment. For the operations in the table of [seg_reduce()] up to `"bit_xor"`, the time does not depend on the
#' width, because windows are updated with two stacks of partial results. No value is subtracted, so that sums are as
#' accurate as those of [seg_reduce()], and an infinite value has no effect on later windows. `"median"` and
#' `"quantile"` sort the values once, for any width. The time of a [seg_op()] is proportional to the logarithm of the
#' width. For all other order statistics, and if a window begins or ends before the previous window does, the time is
#' proportional to the width.
#'
#' @inheritParams seg_reduce
#' @param x a vector of numbers or logicals; a matrix, whose columns are reduced separately; a [gpu_matrix()]; or dates,
#'   factors or other [values with a class][seg_values], or a data frame.
#' @param width the number of values of a window, or one number for each value (row). With `by`, `width` is the length
#'   of windows in the units of `by`, and may be a `difftime`.
#' @param op the operation: a name from the table of [seg_reduce()] except `"softmax"`, `"skewness"`, `"kurtosis"`, or a
#'   [seg_op()].
#' @param offsets,lengths,g,plan the segments, as in [seg_plan()]; if none of these is given, `x` is one segment.
#' @param by the time or location of each value, as numbers, dates or times, which must not decrease within a segment.
#'   The window of a value at t is (t - width, t], for `align = "center"` (t - width/2, t + width/2], and for `align =
#'   "left"` \[t, t + width).
#' @param align the position of the value in its window: `"right"` (the window ends with the value), `"center"` (if the
#'   width is even, the window has one more value after than before), or `"left"` (the window begins with the value).
#' @param partial whether a window that would extend beyond its segment is shortened; if `FALSE`, the result of such a
#'   window is `NA`. Windows with `by` are always shortened.
#' @param empty the result of a window in which all values were removed.
#' @param backend `"cpu"`, `"cuda"` or `"auto"`, which uses the GPU for a [gpu_matrix()] and otherwise the CPU. The GPU
#'   reduces windows in double precision and adds values in blocks, without compensation. In the following cases, which
#'   the GPU does not support, values on a GPU are copied to the CPU, which reduces them: order statistics other than
#'   medians and quantiles, more than 2^28 values, and values that do not fit in the memory of the GPU together with
#'   their results.
#' @param output `"host"`: an R vector or array. `"gpu"`, if `x` is a [gpu_matrix()] or the backend is `"cuda"`: a
#'   [gpu_matrix()] in the precision of `x` (`float64` with `empty`, or if the CPU reduces), without names and with
#'   `NaN` for missing results. `output` may also be a [gpu_matrix()] that is overwritten with the result, as in
#'   [seg_reduce()].
#'
#' @return A vector or matrix like `x`, with its names; values in no segment give `NA`. Results of `"range"` and several
#'   quantiles have an additional dimension.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element.
#'
#' @references
#' Tangwongsan, K., Hirzel, M., Schneider, S. and Wu, K.-L. (2015) General incremental sliding-window aggregation.
#' *Proceedings of the VLDB Endowment* 8(7), 702-713.
#'
#' @seealso [seg_scan()] for windows that begin with the segment.
#' @examples
#' seg_roll(c(1, 2, 3, 4, 5), 3)
#' seg_roll(c(1, 2, 3, 4, 5), 3, lengths = c(2, 3), op = "max", partial = TRUE)
#' # the mean weight of each chick over the last week
#' with(ChickWeight, head(seg_roll(weight, 7, g = Chick, op = "mean", by = Time)))
#' @export
seg_roll <- function(x, width, offsets = NULL, lengths = NULL, g = NULL, op = "sum", by = NULL,
                     align = c("right", "center", "left"), partial = FALSE, na.rm = FALSE, empty = NULL, plan = NULL,
                     probs = c(0, 0.25, 0.5, 0.75, 1), type = 7, nth = 1, backend = c("auto", "cpu", "cuda"),
                     output = c("host", "gpu")) {
  if (is.data.frame(x)) {
    by_column <- \(x, op, plan) seg_roll(x, width, op = op, by = by, align = align, partial = partial, na.rm = na.rm,
                                         empty = empty, plan = plan, probs = probs, type = type, nth = nth,
                                         backend = backend)
    return(compute_columns(x, op, list(offsets = offsets, lengths = lengths, g = g, plan = plan), by_column,
                           by_value = TRUE))
  }
  op <- check_roll_op(op)
  backend <- check_backend(backend)
  stay <- check_target(output, x)
  align <- check_choice(align, "align", c("right", "center", "left"))
  details <- if (is_order_op(op)) order_details(op, probs, type, nth)
  x <- check_reducible(x, op, backend)
  if (!is_classed(x) && !is_gpu_matrix(x)) x <- unclass(x)
  check_bits(op, x)
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  windows <- windows_of(plan, width, by, align, check_flag(partial, "partial"), value_count(x))
  check_flag(na.rm, "na.rm")
  run <- function(x, empty, op) roll_anywhere(x, plan, windows, op, details, na.rm, empty, backend, stay)
  if (is_classed(x)) {
    check_host_output(stay)
    return(run_encoded(x, op, \(x, empty) run(x, empty, op), empty, \(x) run(x, NULL, "count")))
  }
  if (!is.null(empty)) empty <- check_one(empty, "empty")
  run(x, empty, op)
}

check_roll_op <- function(op, call = caller_env()) {
  if (inherits(op, "seg_op")) return(op)
  check_choice(op, "op", c(segment_ops()$name, order_ops()$name), call)
}

# The number of values to the left and to the right of the current value in its window: two numbers for all windows, or
# two numbers for each position in the segments.
windows_of <- function(plan, width, by, align, partial, n, call = caller_env()) {
  if (!is.null(by)) return(c(windows_in_time(plan, width, by, align, n, call), partial = TRUE))
  by_row <- is_plain_numeric(width) && length(width) == n && n > 1
  windows <- if (by_row) seg_windows_by_row(segments(plan)$pointer, width, align_number(align))
  if (!is.null(windows)) return(c(windows, partial = partial))
  width <- check_width(width, n, whole = TRUE, call)
  left <- switch(align, right = width - 1, center = (width - 1) %/% 2, left = 0)
  list(left = left, right = width - 1 - left, partial = partial)
}

align_number <- function(align) match(align, c("right", "center", "left")) - 1L

windows_in_time <- function(plan, width, by, align, n, call) {
  if (inherits(by, c("Date", "POSIXct", "difftime")) && inherits(width, "difftime")) {
    unit <- if (inherits(by, "Date")) "days" else if (inherits(by, "POSIXct")) "secs" else units(by)
    units(width) <- unit
    width <- as.numeric(width)
  }
  if (inherits(by, "POSIXlt")) by <- as.POSIXct(by)
  if (!is.numeric(by) && !inherits(by, c("Date", "POSIXct", "difftime")) || length(by) != n) {
    stop_kernops("input", c("{.arg by} must have one number, date or time for each of the {n} value{?s}.",
                            x = "It is {.obj_type_friendly {by}} of length {length(by)}."), call = call)
  }
  width <- check_width(width, n, whole = FALSE, call)
  seg_windows_by(segments(plan)$pointer, as.numeric(by), width, align_number(align))
}

check_width <- function(width, n, whole, call) {
  if (!is_plain_numeric(width) || !length(width) %in% c(1, n)) {
    stop_kernops("input", c("{.arg width} must be one number or one for each of the {n} value{?s}.",
                            x = "It is {.obj_type_friendly {width}} of length {length(width)}."), call = call)
  }
  fits <- !is.na(width) & width > 0 & width < if (whole) 2^31 else Inf
  if (whole) fits <- fits & width == floor(width)
  if (all(fits)) return(as.numeric(width))
  wrong <- which(!fits)[[1]]
  what <- if (whole) "a positive whole number" else "positive and finite"
  stop_kernops("input", "{.arg width} must be {what}; element {wrong} is {width[[wrong]]}.", call = call)
}
