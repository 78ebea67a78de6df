#' Reduce an array over any of its dimensions
#'
#' `axis_reduce(x, dims, op)` computes `apply(x, kept, op)`, where `kept` are the dimensions other than `dims`. The
#' function is as fast as `colSums()` for any choice of dimensions, because it neither permutes nor copies the array.
#'
#' @param x a vector, matrix or array of doubles, integers or logicals; a [gpu_matrix()]; or an array of complex
#'   numbers, dates or other [values with a class][seg_values].
#' @param dims the numbers of the dimensions to reduce, in any order; default: all. A vector has one dimension.
#' @param op the operation on each slice: `"sum"`, `"prod"`, `"min"`, `"max"`, `"mean"`, `"var"`, `"sd"`, `"count"`
#'   (number of values), `"any"`, `"all"` (nonzero values are `TRUE`), `"argmin"`, `"argmax"` (the first position in the
#'   slice, in R's order of array elements), `"range"`, `"first"`, `"last"`, `"logsumexp"`, `"softmax"`; for integers
#'   also `"bit_and"`, `"bit_or"`, `"bit_xor"`; `"median"`, `"quantile"`, `"iqr"`, `"mad"`, `"nth"`, `"mode"`,
#'   `"n_distinct"`, `"skewness"`, `"kurtosis"` as in [seg_reduce()]; or a [seg_op()].
#' @param probs,type,nth as in [seg_reduce()].
#' @param keepdims whether to keep the reduced dimensions, with size 1.
#' @param na.rm whether to remove `NA` and `NaN`.
#' @param plan an [axis_plan()] for arrays of this shape, instead of `dims`.
#' @param backend `"cpu"`; `"cuda"`, the GPU; `"auto"`, the CPU or GPU that stores the data.
#' @param output `"host"` for an R array; `"gpu"` for a [gpu_matrix()], if `x` is a matrix. In a `gpu_matrix` the
#'   reduced dimension is kept, with size 1 (2 for `"range"`), and results are doubles, with `NaN` for missing results.
#'   If there are several quantiles, the first quantile of all slices comes before the second quantile of all slices.
#'   For rows, the CPU computes order statistics, skewness and kurtosis, and the results are copied to the GPU.
#' @param axis another name of `dims`.
#'
#' @return As for `apply()`: a vector if one dimension is kept, one number if no dimension is kept, otherwise an array,
#'   with the names of the kept dimensions. `"range"` and several quantiles return several numbers for each slice, as a
#'   first dimension; `"softmax"` returns an array like `x`. For integers and logicals, `"sum"`, `"min"`, `"max"`,
#'   `"range"`, `"first"`, `"last"` and the bit operations return integers; `"any"` and `"all"` return logicals.
#'
#' @details
#' `NA` and `NaN` propagate: the result is `NA` if any value is `NA`, and otherwise `NaN` if any value is `NaN`.
#' `"argmin"` and `"argmax"` treat `NA` and `NaN` as the extreme and return the position of the first missing value;
#' with `na.rm = TRUE` these two operations work like [which.min()].
#'
#' An empty slice gives the identity of the operation: sum 0, product 1, minimum `Inf`, maximum `-Inf`, `"any"` `FALSE`,
#' `"all"` `TRUE`, log-sum-exp `-Inf`, mean `NaN`, and `NA` for operations without an identity.
#'
#' The GPU computes order statistics, skewness and kurtosis only for the columns of a matrix. In all other cases the CPU
#' computes these operations, and values on the GPU are first copied to the CPU. For these operations, and for a
#' [seg_op()], the CPU reads the array in place if the reduced dimensions are adjacent (apart from dimensions of size
#' 1); otherwise R first makes a rearranged copy of the array.
#'
#' Sums are compensated block by block, so that their error hardly grows with the number of values; sums of integers are
#' exact. Results are identical for any number of threads.
#'
#' @section Warnings: class `kernops_overflow_warning`, if a sum of integers exceeds the range of R's integers. In this
#'   case all sums are doubles.
#' @section Errors: class `kernops_dim_error` for dimensions that do not exist, are given twice, or differ from the
#'   dimensions of the plan; `kernops_input_error` for other arguments; `kernops_cuda_error` if no GPU can be used.
#'
#' @seealso [softmax()] and [logsumexp()]; [axis_plan()]; [axis_grad()] for gradients.
#' @examples
#' x <- array(1:24, c(2, 3, 4), list(sex = c("f", "m"), NULL, year = 2001:2004))
#' axis_reduce(x, 2, "sum")
#' axis_reduce(x, c(1, 3), "range")
#' x[1, 2, 3] <- NA
#' axis_reduce(x, 1:2, "mean", na.rm = TRUE)
#' axis_reduce(x, 1:2, "quantile", na.rm = TRUE, probs = c(0.25, 0.75))
#' @export
axis_reduce <- function(x, dims = axis, op = "sum", keepdims = FALSE, na.rm = FALSE, plan = NULL,
                        backend = c("auto", "cpu", "cuda"), output = c("host", "gpu"), axis = NULL,
                        probs = c(0, 0.25, 0.5, 0.75, 1), type = 7, nth = 1) {
  check_axis(axis, missing(dims))
  op <- complex_op(x, check_op(op, c(order_ops()$name, moment_ops)))
  if (has_fields(op)) {
    return(reduce_axis_fields(x, op, dims, check_flag(keepdims, "keepdims"), check_flag(na.rm, "na.rm"), plan))
  }
  if (is_classed(x)) {
    run <- \(x, ...) axis_reduce(x, dims, op, keepdims, na.rm, plan, backend, probs = probs, type = type, nth = nth)
    return(reduce_axes_encoded(x, dims, op, plan, run, check_output(output)))
  }
  details <- if (is_order_op(op)) order_details(op, probs, type, nth)
  if (inherits(op, "seg_op") && !is_for_gpu(x, check_backend(backend)) || is_order_op(op) || is_moment_op(op)) {
    return(reduce_slices(x, dims, op, details, keepdims, na.rm, plan, backend, output))
  }
  reduce_axes(x, dims, op, keepdims, na.rm, plan, 1, backend, output)
}

# Reduces arrays of values with a class, such as dates. A slice without values has no minimum or maximum.
reduce_axes_encoded <- function(x, dims, op, plan, run, stay, call = caller_env()) {
  check_rule(x, op, call)
  check_host_output(stay, call)
  plan <- plan_for(x, dims, plan, call)
  no_values <- op %in% c("min", "max", "range") && prod(plan$dim[plan$dims]) == 0
  run_encoded(x, op, if (no_values) \(x, ...) replace(run(x), TRUE, NA) else run, call = call)
}

reduce_axes <- function(x, dims, op, keepdims, na.rm, plan, alpha, backend, output, call = caller_env()) {
  check_array(x, call)
  check_bits(op, x, call)
  check_flag(keepdims, "keepdims", call)
  check_flag(na.rm, "na.rm", call)
  backend <- check_backend(backend, call = call)
  stay <- check_output(output, call)
  matrix_rows <- function(op) if (length(dim(x)) == 2) stayed_rows(plan, op) else -1
  plan <- plan_for(x, dims, plan, call)
  run <- function(x, op) {
    axis_run(x, plan$runs, segment_operation(op), na.rm, alpha, matrix_rows(op), segment_settings(backend, stay))
  }
  result <- run(x, op)
  if (stay) return(result)
  if (inherits(op, "seg_op")) return(shaped(result, x, plan, keepdims))
  if (op == "softmax") return(`attributes<-`(result, shape_of(x)))
  shaped(typed(settled(result, op, x, run), op, x), x, plan, keepdims, if (op == "range") 2L)
}

is_for_gpu <- function(x, backend) backend == "cuda" || backend == "auto" && is_gpu_matrix(x)

check_array <- function(x, call) {
  if (is_plain(x) || is_gpu_matrix(x)) return(invisible())
  stop_kernops("input", "{.arg x} must be an array of numbers or logicals, not {.obj_type_friendly {x}}.", call = call)
}

check_axis <- function(axis, alone, call = caller_env()) {
  if (!alone && !is.null(axis)) stop_kernops("input", "{.arg axis} is another name of {.arg dims}: give one of them.",
                                             call = call)
}

plan_for <- function(x, dims, plan, call) {
  size <- sizes_of(x)
  if (is.null(plan)) return(plan_axes(size, dims %||% seq_along(size), call))
  if (!inherits(plan, "axis_plan")) stop_kernops("input", "{.arg plan} must be made by {.fn axis_plan}.", call = call)
  if (!is.null(dims)) stop_kernops("input", "Only one of {.arg dims} and {.arg plan} can be given.", call = call)
  if (!identical(plan$dim, size)) {
    stop_kernops("dim", c("{.arg x} must have the dimensions of the plan, {paste(plan$dim, collapse = ' x ')}.",
                          x = "It has {paste(size, collapse = ' x ')}."), call = call)
  }
  plan
}

sizes_of <- function(x) as.numeric(dim(x) %||% length(x))
shape_of <- function(x) if (is_gpu_matrix(x)) list(dim = dim(x)) else attributes(x)[c("dim", "dimnames", "names")]

# The number of rows of a result of axis_reduce() that is stored on the GPU.
stayed_rows <- function(plan, op) {
  if (identical(op, "softmax")) return(plan$dim[[1]])
  if (identical(op, "range")) 2 else if (1 %in% plan$dims) 1 else plan$dim[[1]]
}

# Sets missing results to NA. C++ returns NaN for a statistic of too few values. If a slice has no value, the position
# of its minimum or maximum is 0 on the CPU and NaN on the GPU.
settled <- function(result, op, x, run) {
  row <- statistic(op)
  if (row$least == 0) return(result)
  if (row$kind == "position") return(replace(result, is.nan(result) | result == 0, NA))
  if (anyNA(result)) result[is.nan(result) & run(x, "count") < row$least] <- NA
  result
}

# Converts results, which C++ returns as doubles, to the type of base R.
typed <- function(result, op, x) {
  kind <- statistic(op)$kind
  if (kind == "truth" || is.logical(x) && op %in% c("first", "last")) return(as.logical(result))
  if (kind == "number" || kind == "same" && (is_gpu_matrix(x) || is.double(x))) return(result)
  as_integers(result, op)
}

# Sets the shape and the names of the kept dimensions. If a slice has several results, these results are along an
# additional first dimension, and `before` is their number or their names.
shaped <- function(result, x, plan, keepdims, before = NULL) {
  first <- if (!is.null(before)) list(if (is.character(before)) before)
  before <- if (is.character(before)) length(before) else before
  names <- if (is_gpu_matrix(x)) NULL else if (is.null(dim(x))) list(names(x)) else dimnames(x)
  kept <- kept_dims(plan)
  size <- if (keepdims) replace(plan$dim, plan$dims, 1) else plan$dim[kept]
  if (!is.null(names) && keepdims) names[plan$dims] <- list(NULL)
  if (!is.null(names) && !keepdims) names <- names[kept]
  if (length(c(before, size)) >= 2 || keepdims) {
    dim(result) <- c(before, size)
    if (!all(lengths(c(first, names)) == 0)) dimnames(result) <- c(first, names %||% rep(list(NULL), length(size)))
  } else if (length(kept) == 1) {
    names(result) <- names[[1]]
  } else if (!is.null(first[[1]])) {
    names(result) <- first[[1]]
  }
  result
}
