#' Transform values within segments
#'
#' `seg_transform()` returns a result for each value of `x`: the value centred or scaled within its segment, its share
#' of the segment's sum, an earlier or later value, a difference, the last value that is not missing, or a statistic of
#' the segment.
#'
#' @details
#' | `op` | result |
#' |---|---|
#' | `"center"` | x minus the mean of its segment |
#' | `"scale"` | x minus the mean of its segment, divided by the standard deviation |
#' | `"share"` | x divided by the sum of its segment |
#' | `"lag"` `"lead"` | the value `n` positions before (after) x in the segment, or `fill` |
#' | `"diff"` | x minus the value `n` positions before x, or `fill` |
#' | `"fill_down"` `"fill_up"` | x; if x is missing, the nearest value before (after) it that is not missing |
#' | a name of [seg_reduce()] with one result, or a [seg_op()] | the result of the segment, repeated for each of its values |
#'
#' `"lag"`, `"lead"`, `"fill_down"` and `"fill_up"` accept vectors of any kind, such as factors, dates and strings, and
#' keep the class.
#'
#' @inheritParams seg_reduce
#' @param x a vector or matrix, whose columns are transformed separately; dates, factors or other [values with a
#'   class][seg_values]; a data frame; or a [gpu_matrix()], which is transformed on its GPU in the precision of the
#'   matrix.
#' @param op the transformation, from the table.
#' @param n the number of positions by which `"lag"`, `"lead"` and `"diff"` shift the values.
#' @param fill the result of `"lag"`, `"lead"` and `"diff"` at values whose segment has no value `n` positions before
#'   (for `"lead"`, after) them.
#' @param na.rm whether statistics of segments omit missing values.
#' @param offsets,lengths,g,plan the segments, as in [seg_plan()]; if none of these is given, `x` is one segment.
#' @param ... further arguments of [seg_reduce()], for statistics of segments: `weights`, `empty`, `type`, `nth`, or a
#'   single probability `probs`.
#' @param output `"host"`: an R vector or matrix. `"gpu"`, if `x` is a [gpu_matrix()]: a [gpu_matrix()] with `NaN` for
#'   missing results.
#'
#' @return A vector or matrix like `x`, with its names; values in no segment give `NA`.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element.
#'
#' @seealso [seg_scan()] for cumulative results, [seg_roll()] for windows, [seg_softmax()].
#' @examples
#' x <- c(1, 2, 6, 10, NA)
#' g <- c("a", "b", "a", "b", "b")
#' seg_transform(x, "center", g = g, na.rm = TRUE)
#' seg_transform(x, "lag", g = g)
#' seg_transform(x, "fill_down", g = g)
#' seg_transform(x, "max", g = g, na.rm = TRUE)
#' @export
seg_transform <- function(x, op, offsets = NULL, lengths = NULL, g = NULL, n = 1, fill = NA, na.rm = FALSE,
                          plan = NULL, ..., output = c("host", "gpu")) {
  if (is.data.frame(x)) {
    by_column <- \(x, op, plan) seg_transform(x, op, n = n, fill = fill, na.rm = na.rm, plan = plan, ...)
    return(compute_columns(x, op, list(offsets = offsets, lengths = lengths, g = g, plan = plan), by_column,
                           by_value = TRUE))
  }
  op <- check_transformation(op)
  stay <- check_output(output)
  there <- is_gpu_matrix(x)
  if (stay && !there) stop_kernops("input", "{.code output = \"gpu\"} requires a GPU matrix {.arg x}.")
  moves <- !there && !inherits(op, "seg_op") && op %in% moving_ops && !inherits(x, "integer64")
  x <- if (there) x else if (moves) check_movable(x) else sortable(x, op)
  check_number(n, "n", least = 0, whole = TRUE, most = .Machine$integer.max)
  check_flag(na.rm, "na.rm")
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  known <- c("weights", "empty", "type", "nth", "probs")
  check_further_arguments("{.fn seg_transform}", list(...), known)
  if (identical(op, "quantile") && length(list(...)$probs) != 1) {
    stop_kernops("input", "{.arg op} {.val quantile} requires {.arg probs}, one number.")
  }
  transforms <- !inherits(op, "seg_op") && op %in% names(transformations)
  if (transforms && ...length()) stop_further_arguments("{.fn seg_transform}", list(...))
  if (there) return(device_result(device_transform(x, op, plan, n, fill, na.rm, ...), x, stay))
  run <- function(x, empty, op, fill = NA) {
    statistic <- \(op, ...) expand_results(seg_reduce(x, plan = plan, op = op, na.rm = na.rm, ...), x, plan)
    if (transforms) return(transformations[[op]](x, plan, n, fill, statistic))
    do.call(statistic, c(list(op), utils::modifyList(list(...), list(empty = empty))))
  }
  if (!is_classed(x) || moves) return(run(x, list(...)$empty, op, fill))
  if (!transforms) {
    return(run_encoded(x, op, \(x, empty) run(x, empty, op), list(...)$empty, \(x) run(x, NULL, "count")))
  }
  before <- \(...) ifelse(is.na(moved_rows(plan, if (op == "lead") -n else n, value_count(x))), 0, 1)
  filled <- op %in% c("lag", "lead", "diff") && !identical(fill, NA)
  run_encoded(x, op, \(x, ...) run(x, NULL, op), if (filled) fill, before, "fill")
}

transformations <- list(
  center = function(x, plan, n, fill, statistic) x - statistic("mean"),
  scale = function(x, plan, n, fill, statistic) (x - statistic("mean")) / statistic("sd"),
  share = function(x, plan, n, fill, statistic) x / statistic("sum"),
  lag = function(x, plan, n, fill, statistic) move_values(x, plan, n, fill),
  lead = function(x, plan, n, fill, statistic) move_values(x, plan, -n, fill),
  diff = function(x, plan, n, fill, statistic) {
    rows <- moved_rows(plan, n, value_count(x))
    put_fill(x - select_rows(x, rows), is.na(rows) & !is.na(segment_numbers(plan)), fill)
  },
  fill_down = function(x, plan, n, fill, statistic) fill_gaps(x, plan, reverse = FALSE),
  fill_up = function(x, plan, n, fill, statistic) fill_gaps(x, plan, reverse = TRUE)
)

check_transformation <- function(op, call = caller_env()) {
  if (inherits(op, "seg_op")) return(op)
  statistics <- setdiff(c(segment_ops()$name, order_ops()$name, moment_ops), "range")
  check_choice(op, "op", c(names(transformations), statistics), call)
}

# Checks the values of operations that only move values, such as `"lag"`. The values may have any type.
check_movable <- function(x, call = caller_env()) {
  if (is.atomic(x) && !is.null(x) && length(dim(x)) %in% c(0, 2)) return(x)
  stop_kernops("input", "{.arg x} must be a vector or matrix, not {.obj_type_friendly {x}}.", call = call)
}

# For each value, the result of the segment that contains the value.
expand_results <- function(result, x, plan) {
  number <- segment_numbers(plan)
  shape_like(if (is.null(dim(x))) unname(result)[number] else result[number, , drop = FALSE], x)
}

select_rows <- function(x, rows) if (is.null(dim(x))) x[rows] else x[rows, , drop = FALSE]

# For each row, the row that is n positions earlier in the same segment; NA if there is no such row.
moved_rows <- function(plan, n, count) {
  from <- seg_values(segments(plan)$pointer)
  position <- sequence(from$lengths)
  length <- rep(from$lengths, from$lengths)
  there <- position - n >= 1 & position - n <= length
  rows <- rep(NA_real_, count)
  rows[from$row[there]] <- from$row[which(there) - n]
  rows
}

move_values <- function(x, plan, n, fill) {
  rows <- moved_rows(plan, n, value_count(x))
  moved <- select_rows(x, rows)
  if (is.null(dim(x))) names(moved) <- names(x) else dimnames(moved) <- dimnames(x)
  put_fill(moved, is.na(rows) & !is.na(segment_numbers(plan)), fill)
}

check_fill <- function(fill, x, call = caller_env(2)) {
  if (length(fill) != 1 || !is.atomic(fill)) {
    stop_kernops("input", "{.arg fill} must be one value, not {.obj_type_friendly {fill}} of length {length(fill)}.",
                 call = call)
  }
  if (is.na(fill) || mode(fill) == mode(x) || is.factor(x)) return(invisible())
  stop_kernops("input", "{.arg fill} must be of the same type as {.arg x}, not {.obj_type_friendly {fill}}.",
               call = call)
}

put_fill <- function(x, where, fill, call = caller_env(2)) {
  check_fill(fill, x, call)
  if (is.na(fill)) return(x)
  if (is.null(dim(x))) x[where] <- fill else x[where, ] <- fill
  x
}

# Replaces each missing value by the nearest earlier value in the segment that is not missing or, if `reverse` is TRUE,
# by the nearest later value that is not missing.
fill_gaps <- function(x, plan, reverse) {
  filled <- function(column) {
    rows <- replace(as.numeric(seq_along(column)), is.na(column), NA)
    last <- if (reverse) "first" else "last"
    column[scan_plan(rows, plan, last, list(exclusive = FALSE, reverse = reverse), TRUE)]
  }
  if (is.null(dim(x))) return(`names<-`(filled(x), names(x)))
  x[] <- vapply(seq_len(ncol(x)), \(k) filled(x[, k]), x[, 1])
  x
}
