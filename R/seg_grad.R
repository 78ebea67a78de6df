#' Gradients of segmented reductions
#'
#' `seg_grad(op)` returns the vector-Jacobian product of `seg_reduce(x, op = op, ...)`: a function of `x` and of the
#' incoming gradient `eta`, which has the shape of the result, that computes the gradient of `sum(eta * seg_reduce(x, op
#' = op, ...))` with respect to `x`.
#'
#' `"min"` and `"max"` are differentiated at the first extreme in case of ties. The gradient of a product is the product
#' of the other values, also if values are 0 or if the product of all values overflows or underflows (a computation on
#' the GPU then moves to the CPU). The variance of one value is missing, and so is its gradient. Values in no segment
#' have gradient 0; the gradient of a value in several segments (`sources`) is the sum.
#'
#' @param op `"sum"`, `"prod"`, `"min"`, `"max"`, `"mean"`, `"var"`, `"logsumexp"` or `"softmax"`.
#'
#' @return A function `grad(x, eta, ...)`; `...` are arguments of [seg_reduce()]: `offsets`, `lengths`, `g`, `plan`,
#'   `sources`, `sort`, `output`. The gradient has the shape of `x`. The computation runs on the GPU if `x` is a
#'   [gpu_matrix()] or if the option `kernops.backend` is `"cuda"`; `eta` may also be on the GPU.
#'
#' @section Errors: class `kernops_input_error` if `op` has no gradient, `kernops_dim_error` if the shape of `eta` is
#'   not that of the result.
#'
#' @examples
#' x <- c(1, 2, 3, 4)
#' seg_grad("var")(x, eta = c(1, 1), lengths = c(2, 2))
#' seg_grad("softmax")(x, eta = c(1, 0, 0, 0), lengths = c(2, 2))
#' @export
seg_grad <- function(op) {
  op <- check_choice(op, "op", names(seg_gradients))
  function(x, eta, offsets = NULL, lengths = NULL, g = NULL, sources = NULL, plan = NULL, sort = TRUE,
           output = c("host", "gpu")) {
    backend <- check_backend(c("auto", "cpu", "cuda"))
    x <- check_values(x, backend)
    stay <- check_output(output, uses_gpu(x, backend))
    plan <- make_plan(offsets, lengths, g, plan, sources, value_count(x), sort, "`x`")
    if (op == "softmax") refuse_sources(plan)
    columns <- if (is.null(dim(x))) 1 else dim(x)[[2]]
    check_eta(eta, if (op == "softmax") dim(x) %||% length(x) else c(segments(plan)$about$segments, dim(x)[2]))
    if (uses_gpu(x, backend)) return(gradient_on_gpu(x, eta, plan, op, columns, stay))
    if (is_gpu_matrix(eta)) eta <- as.matrix(eta)
    shape_like(by_value(as.numeric(x), as.numeric(eta), plan, value_count(x), op), x)
  }
}

# Of one or more columns at once.
by_value <- function(x, eta, plan, rows, op) {
  if (length(x) == 0) return(numeric())
  in_place <- is.null(plan$sources) && !op %in% c("min", "max", "prod")
  gradient <- if (in_place) gradient_in_place else gradient_laid_out
  gradient(matrix(x, rows), eta, plan, op)
}

# Where each value is in one segment at most.
gradient_in_place <- function(x, eta, plan, op) {
  owner <- segment_of(plan)
  n <- tabulate(owner, segment_count(plan))
  g <- if (op == "softmax") eta else spread_out(eta, owner, length(n), ncol(x))
  gradient <- gradient_of_values(x, g, plan, op, owner, n)
  if (anyNA(owner)) gradient[is.na(owner), ] <- 0
  gradient
}

# Values taken out of x in the order of the segments, their gradients, and these put back and summed.
gradient_laid_out <- function(x, eta, plan, op) {
  value <- seg_values(segments(plan)$pointer)
  n <- value$lengths
  owner <- rep(seq_along(n), n)
  g <- spread_out(eta, owner, length(n), ncol(x))
  part <- gradient_of_values(x[value$row, , drop = FALSE], g, seg_plan(lengths = n), op, owner, n)
  if (!is.null(plan$sources)) return(run_plan(part, numbered_plan(as.integer(value$row), nrow(x)), "sum"))
  gradient <- matrix(0, nrow(x), ncol(x))
  gradient[value$row, ] <- part
  gradient
}

gradient_of_values <- function(x, g, plan, op, owner, n) {
  reduce <- \(v, op) run_plan(`dim<-`(v, dim(x)), plan, op)
  `dim<-`(seg_gradients[[op]](x, g, reduce, owner, n), dim(x))
}

# Of values x, incoming gradients g per value; s(v, op) reduces v, owner is the segment of each row, n the lengths.
# Extremes and products need values in the order of the segments.
seg_gradients <- list(
  sum = \(x, g, s, owner, n) g,
  mean = \(x, g, s, owner, n) g / n[owner],
  var = \(x, g, s, owner, n) 2 * (x - spread_out(s(x, "mean"), owner, length(n), ncol(x))) / (n[owner] - 1) * g,
  min = \(x, g, s, owner, n) at_position(s(x, "argmin"), g, rep(n, ncol(x))),
  max = \(x, g, s, owner, n) at_position(s(x, "argmax"), g, rep(n, ncol(x))),
  prod = \(x, g, s, owner, n) seg_other_products(x, rep(n, ncol(x))) * g,
  logsumexp = \(x, g, s, owner, n) s(x, "softmax") * g,
  softmax = \(x, g, s, owner, n) {
    y <- s(x, "softmax")
    y * (g - spread_out(s(y * g, "sum"), owner, length(n), ncol(x)))
  }
)

at_position <- function(position, g, lengths) {
  there <- (cumsum(lengths) - lengths + position)[lengths > 0]
  replace(numeric(length(g)), there, g[there])
}

# `eta` has the dimensions of the result, apart from some of size 1, or is a vector.
check_eta <- function(eta, size, call = caller_env()) {
  if (!is_plain(eta) && !is_gpu_matrix(eta)) {
    stop_kernops("input", "{.arg eta} must be numeric, not {.obj_type_friendly {eta}}.", call = call)
  }
  given <- dim(eta) %||% length(eta)
  wide <- \(size) as.numeric(size[size != 1])
  flat <- length(wide(given)) <= 1
  if (length(eta) == prod(size) && (flat || identical(wide(given), wide(size)))) return(invisible())
  words <- \(size) paste(if (length(size)) size else 1, collapse = " x ")
  stop_kernops("dim", c("{.arg eta} must have the size of the result, {words(size)}.",
                        x = "Its size is {words(given)}."), call = call)
}

gradient_on_gpu <- function(x, eta, plan, op, columns, stay) {
  there <- if (is_gpu_matrix(x)) x else gpu_matrix(unclass(x), "float64")
  device <- gpu_describe(there)$device
  if (!is_gpu_matrix(eta) || gpu_describe(eta)$device != device || gpu_describe(eta)$precision != "float64") {
    eta <- gpu_matrix(if (is_gpu_matrix(eta)) eta else c(unclass(eta)), "float64", device)
  }
  at <- segments(plan)$pointer
  gradient <- seg_gradient_gpu(at, there, eta, columns, op, is.null(plan$sources), kernops_option("tile", 0))
  if (is.null(gradient)) { # products beyond the range of numbers cannot be divided by a value
    gradient <- by_value(c(as.matrix(there)), c(as.matrix(eta)), plan, value_count(x), op)
    precision <- if (is.null(plan$sources)) gpu_describe(there)$precision else "float64"
    if (stay) gradient <- gpu_matrix(matrix(gradient, ncol = columns), precision, device)
  } else if (!is.null(plan$sources)) { # a value in several segments receives from all
    of_value <- numbered_plan(as.integer(seg_values(at)$row), value_count(x))
    gradient <- run_plan(gradient, of_value, "sum", stay = TRUE)
  }
  if (stay) gradient else shape_like(c(if (is_gpu_matrix(gradient)) as.matrix(gradient) else gradient), x)
}
