#' Gradients of reductions over dimensions
#'
#' `axis_grad(op)` returns the vector-Jacobian product of `axis_reduce(x, dims, op)`, or of `softmax(x, dims, alpha)`: a
#' function of `x` and of the incoming gradient `eta` that computes the gradient of `sum(eta * axis_reduce(x, dims,
#' op))` with respect to `x`. Extremes and products are differentiated as described in [seg_grad()].
#'
#' @param op `"sum"`, `"prod"`, `"min"`, `"max"`, `"mean"`, `"var"`, `"logsumexp"`, `"softmax"`, `"median"`,
#'   `"quantile"`, `"iqr"` or `"nth"`.
#'
#' @return A function `grad(x, eta, dims = NULL, alpha = 1, plan = NULL)`; `dims` and `plan` as in [axis_reduce()],
#'   `alpha` as in [softmax()]; for order statistics, `grad()` also has the arguments `na.rm`, `probs`, `type` and `nth`
#'   of [axis_reduce()]. `eta` has the shape of the result; the reduced dimensions may be kept with size 1 or omitted.
#'   The gradient has the shape of `x`.
#'
#' @section Errors: class `kernops_input_error` if `op` has no gradient, `kernops_dim_error` if the shape of `eta`
#'   differs from that of the result, or if `dims` are not dimensions of `x`.
#'
#' @seealso [axis_reduce()], [softmax()]; [seg_grad()] for segments.
#' @examples
#' x <- matrix(c(1, 2, 3, 4), 2)
#' axis_grad("logsumexp")(x, eta = c(1, 1), dims = 1)
#' axis_grad("softmax")(x, eta = diag(2), dims = 2)
#' @export
axis_grad <- function(op) {
  op <- check_choice(op, "op", c(smooth_ops(), with(order_ops(), name[gradient])))
  by_segment <- seg_grad(op)
  function(x, eta, dims = NULL, alpha = 1, plan = NULL, na.rm = FALSE, probs = c(0, 0.25, 0.5, 0.75, 1), type = 7,
           nth = 1) report_shortage({
    check_array(x, caller_env())
    if (is_gpu_matrix(x)) x <- as.matrix(x)
    plan <- plan_for(x, dims, plan, caller_env())
    details <- if (is_order_op(op)) list(na.rm = na.rm, probs = probs, type = type, nth = nth)
    several <- if (op == "quantile" && length(probs) > 1) length(probs)
    check_eta(eta, if (op == "softmax") plan$dim else c(several, plan$dim[kept_dims(plan)]))
    eta <- as.vector(if (is_gpu_matrix(eta)) as.matrix(eta) else eta)
    if (op == "softmax") eta <- check_alpha(alpha) * slice_by_slice(array(eta, plan$dim), plan)
    if (!is.null(several)) eta <- t(matrix(eta, several))
    values <- list(slice_by_slice(x, plan), eta, plan = temporary(slices_of(plan)))
    gradient <- do.call(by_segment, c(values, details))
    order <- c(plan$dims, kept_dims(plan))
    result <- aperm(array(gradient, plan$dim[order]), order(order))
    `attributes<-`(as.vector(result), shape_of(x))
  })
}

kept_dims <- function(plan) setdiff(seq_along(plan$dim), plan$dims)

# The values of an array in the order of its slices, so that each slice is a segment of adjacent values.
slice_by_slice <- function(x, plan) {
  as.vector(if (is.null(dim(x))) x else aperm(x, c(plan$dims, kept_dims(plan))))
}
slices_of <- function(plan) seg_plan(lengths = rep(prod(plan$dim[plan$dims]), prod(plan$dim[kept_dims(plan)])))
