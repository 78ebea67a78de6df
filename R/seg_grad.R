#' Gradients of segmented reductions
#'
#' `seg_grad(op)` returns the vector-Jacobian product of `seg_reduce(x, op = op, ...)`: a function of `x` and of the
#' incoming gradient `eta`, which has the shape of the result. This function computes the gradient of `sum(eta *
#' seg_reduce(x, op = op, ...))` with respect to `x`.
#'
#' `"min"` and `"max"` are differentiated at the first extreme in case of ties. The derivative of a product with respect
#' to a value is the product of the other values, even if values are 0 or if the product of all values overflows or
#' underflows. If a value is 0, or if the product overflows or underflows, the CPU computes the gradient, even for data
#' on the GPU. The variance of a segment with one value is missing, and its gradient is also missing. Values in no
#' segment have gradient 0; the gradient of a value in several segments (`sources`) is the sum over these segments.
#'
#' `seg_grad(op, scan = TRUE)` returns the vector-Jacobian product of [seg_scan()], computed in linear time; here, `eta`
#' has the shape of `x`. Results that are missing because there are too few values do not contribute to the gradient.
#'
#' `seg_grad(op, roll = TRUE)` returns the vector-Jacobian product of [seg_roll()], for sums, means and extrema. If no
#' window begins or ends before the previous window does, the time does not depend on the width.
#'
#' @param op `"sum"`, `"prod"`, `"min"`, `"max"`, `"mean"`, `"var"`, `"logsumexp"`, or, without `scan`,
#'   `"softmax"`, `"median"`, `"quantile"`, `"iqr"`, `"nth"` or `"top"`.
#' @param scan,roll whether to differentiate [seg_scan()] or [seg_roll()] instead of [seg_reduce()].
#'
#' @return A function `grad(x, eta, ...)`. The arguments `...` are `offsets`, `lengths`, `g`, `plan`, `output`, and:
#'   `sources` and `sort` of [seg_reduce()]; with `scan = TRUE`, `exclusive` and `reverse` of [seg_scan()]; with `roll =
#'   TRUE`, `width`, `by`, `align` and `partial` of [seg_roll()]; for order statistics, `na.rm`, `probs`, `type` and
#'   `nth` instead of `sources` and `sort`; for `"top"`, `k` and `decreasing` of [seg_top()] instead of `sources` and
#'   `sort`. The gradient has the shape of `x`. The computation runs on the GPU if `x` is a [gpu_matrix()] or if the
#'   option `kernops.backend` is `"cuda"`; `eta` may also be on the GPU. The CPU computes the gradient of `"prod"` with
#'   `scan`.
#'
#' @section Errors: class `kernops_input_error` if `op` has no gradient, `kernops_dim_error` if the shape of `eta`
#'   differs from the shape of the result.
#'
#' @seealso [seg_reduce()]; [axis_grad()] for dimensions of an array.
#' @examples
#' x <- c(1, 2, 3, 4)
#' seg_grad("var")(x, eta = c(1, 1), lengths = c(2, 2))
#' seg_grad("softmax")(x, eta = c(1, 0, 0, 0), lengths = c(2, 2))
#' seg_grad("median")(x, eta = c(1, 1), lengths = c(1, 3))
#' seg_grad("prod", scan = TRUE)(x, eta = c(0, 1, 0, 1), lengths = c(2, 2))
#' seg_grad("mean", roll = TRUE)(x, eta = c(0, 1, 0, 0), width = 2)
#' @export
seg_grad <- function(op, scan = FALSE, roll = FALSE) {
  if (check_flag(roll, "roll")) {
    if (check_flag(scan, "scan")) stop_kernops("input", "Only one of {.arg scan} and {.arg roll} can be TRUE.")
    return(roll_gradient(check_choice(op, "op", names(roll_gradients))))
  }
  if (check_flag(scan, "scan")) return(scan_gradient(check_choice(op, "op", names(scan_gradients))))
  in_order <- c(with(order_ops(), name[gradient]), "top")
  op <- check_choice(op, "op", c(smooth_ops(), in_order))
  if (op %in% in_order) return(order_gradient(op))
  function(x, eta, offsets = NULL, lengths = NULL, g = NULL, sources = NULL, plan = NULL, sort = TRUE,
           output = c("host", "gpu")) report_shortage({
    backend <- check_backend(c("auto", "cpu", "cuda"))
    x <- check_values(x, backend)
    stay <- check_output(output)
    if (is.null(lengths)) check_no_groups(offsets, value_count(x), sys.call())
    plan <- make_plan(offsets, lengths, g, plan, sources, value_count(x), sort, "`x`")
    if (op == "softmax") refuse_sources(plan)
    columns <- if (is.null(dim(x))) 1 else dim(x)[[2]]
    check_eta(eta, if (op == "softmax") dim(x) %||% length(x) else c(segments(plan)$about$segments, dim(x)[2]))
    pointer <- segments(plan)$pointer
    gradient <- seg_gradient(pointer, x, as_numbers(eta), segment_operation(op), is.null(plan$sources),
                             segment_settings(backend, stay))
    # if a value is in several segments, its gradients are added
    if (!is.null(plan$sources)) gradient <- sum_by_value(gradient, pointer, value_count(x), columns, stay)
    if (stay) gradient else shape_like(c(gradient), x)
  })
}

# The names of the operations on segments and axes that have a gradient.
smooth_ops <- function() c(with(segment_ops(), name[gradient]), "softmax")

as_numbers <- function(x) if (is_gpu_matrix(x)) x else as.numeric(x)

sum_by_value <- function(gradient, pointer, count, columns, stay) {
  of_value <- temporary(numbered_plan(as.integer(seg_values(pointer)$row), count))
  run_plan(if (stay) gradient else matrix(gradient, ncol = columns), of_value, "sum", stay = stay)
}

# Checks that `eta` has the dimensions of the result, apart from dimensions of size 1, or is a vector of the same
# length.
check_eta <- function(eta, size, call = caller_env()) {
  if (!is_plain(eta) && !is_gpu_matrix(eta)) {
    stop_kernops("input", "{.arg eta} must be numeric, not {.obj_type_friendly {eta}}.", call = call)
  }
  if (is_gpu_matrix(eta)) size <- c(size[1], prod(size[-1])) # on the GPU, results are columns
  dims <- dim(eta) %||% length(eta)
  wide <- \(size) as.numeric(size[size != 1])
  flat <- length(wide(dims)) <= 1
  if (length(eta) == prod(size) && (flat || identical(wide(dims), wide(size)))) return(invisible())
  words <- \(size) paste(if (length(size)) size else 1, collapse = " x ")
  stop_kernops("dim", c("{.arg eta} must have the size of the result, {words(size)}.",
                        x = "Its size is {words(dims)}."), call = call)
}
