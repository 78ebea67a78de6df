#' An operation of your own
#'
#' `seg_op()` makes an operation for [seg_reduce()] from any associative formula of two values `a` and `b`, in the
#' formula language of [keops_kernel()]: `"a + b"`, `"Max(Abs(a), Abs(b))"`, `"a * b - 3 * (a - b)^2"`.
#'
#' A segment is folded as a balanced tree: neighbours are joined, then the results, and so on; on the GPU in another
#' shape, always the same. The order of the values is kept, so that the operation need not be commutative.
#'
#' @param formula a string with the variables `a` and `b`, which gives one number.
#' @param identity the result of an empty segment.
#'
#' @return An object of class `seg_op`.
#'
#' @section Errors: class `kernops_formula_error` where the formula is wrong, with a caret under the place.
#'
#' @examples
#' largest_size <- seg_op("Max(Abs(a), Abs(b))", identity = 0)
#' seg_reduce(c(1, -3, 2, -1), lengths = c(2, 0, 2), op = largest_size)
#' @export
seg_op <- function(formula, identity = NA_real_) {
  check_text(formula, "formula", one = TRUE)
  if (!is.numeric(identity) && !is.na(identity) || length(identity) != 1) {
    stop_kernops("input", "{.arg identity} must be one number, not {.obj_type_friendly {identity}}.")
  }
  cell <- new.env(parent = emptyenv())
  cell$pointer <- seg_compile(formula)
  structure(list(formula = formula, identity = as.numeric(identity), cell = cell), class = "seg_op")
}

compiled_op <- function(op) {
  if (is_null_pointer(op$cell$pointer)) op$cell$pointer <- seg_compile(op$formula) # after readRDS()
  op$cell$pointer
}

#' @export
print.seg_op <- function(x, ...) {
  cli::cat_line("<seg_op> ", x$formula, ", ", x$identity, " where there is nothing")
  invisible(x)
}

# The rows of segments.def.
segment_ops <- function() the$segment_ops <- the$segment_ops %||% seg_ops_table()

# A row of segments.def, or one of `more`, or a seg_op.
check_op <- function(op, call = caller_env()) {
  if (inherits(op, "seg_op")) return(op)
  check_choice(op, "op", c(segment_ops()$name, "softmax"), call)
}
