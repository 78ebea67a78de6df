#' Reduce segments
#'
#' `seg_reduce()` computes one result for each segment of a vector, or of the rows of a matrix, such as sums by group or
#' extremes of runs. The time depends on the number of values, but hardly on the sizes of the segments. Results are
#' bit-identical in every run, for any number of threads, with or without a plan.
#'
#' @details
#' | `op` | result |
#' |---|---|
#' | `"sum"` `"prod"` `"min"` `"max"` | as in base R, in double precision; 0, 1, `Inf` and `-Inf` for an empty segment |
#' | `"mean"` `"var"` `"sd"` | variance with denominator n - 1; for too few values `NaN` (mean) or `NA` |
#' | `"count"` | number of values |
#' | `"any"` `"all"` | as in base R, logical |
#' | `"argmin"` `"argmax"` | position in the segment counted from 1, the first one in case of ties; `NA` for an empty segment |
#' | `"range"` | the smallest and the largest value, in two columns |
#' | `"first"` `"last"` | the first and the last value; `NA` for an empty segment |
#' | `"logsumexp"` | log of the sum of `exp(x)` without overflow; `-Inf` for an empty segment |
#' | `"softmax"` | `exp(x)` divided by its sum: a result for each value |
#' | `"bit_and"` `"bit_or"` `"bit_xor"` | bit operations, for integers |
#' | `"median"` `"mad"` | median, and 1.4826 times the median distance to it, as in base R |
#' | `"quantile"` `"iqr"` | quantiles `probs` of any `type` of [quantile()]; the difference of the quartiles |
#' | `"skewness"` `"kurtosis"` | third (fourth) central moment divided by the second one to the power 3/2 (2) |
#' | `"nth"` | the `nth` smallest value; `NA` if there are fewer |
#' | `"mode"` | the most frequent value, the first one in case of ties |
#' | `"n_distinct"` | number of distinct values |
#' | a [seg_op()] | any associative formula of two values |
#'
#' Sums of integers are exact. If a sum exceeds the range of R's integers, all sums are returned as doubles, with a
#' warning of class `kernops_overflow_warning`. `"min"`, `"max"`, `"range"`, `"first"`, `"last"` and the bit operations
#' return integers for integers, unless a segment without values has an infinite result.
#'
#' Sums and products are computed in double precision, while base R uses extended precision on most machines:
#' `sum(c(1e16, 1, -1e16))` is 1 in base R and 0 here.
#'
#' `NA` and `NaN` propagate: the result is `NA` if any value is `NA`, else `NaN`. For `argmin` and `argmax`, `NaN`
#' counts as the extreme, and the position of the first `NaN` is returned. For `mode` and `n_distinct`, `NA` and `NaN`
#' count as two distinct values.
#'
#' For a segment without values, the statistics of the table from `"median"` on are `NA`, except for `"n_distinct"`,
#' which is 0. `"nth"` and `"mode"` return integers for integers; the other statistics return doubles. On a GPU, the
#' results are bit-identical to those of the CPU. The CPU computes these statistics for `sources`, for more than 2^28
#' values, and for values that do not fit in the memory of the GPU. `"skewness"` and `"kurtosis"` run on the CPU.
#'
#' @inheritParams seg_plan
#' @param x a vector of numbers or logicals; a matrix, whose columns are reduced separately; a [gpu_matrix()], which is
#'   reduced on the GPU; or dates, factors or other [values with a class][seg_values], or a data frame.
#' @param op the operation: a name from the table, or a [seg_op()]. For a data frame also several operations, or a list
#'   with the operations of each column, as in [data frames][seg_values].
#' @param na.rm whether to remove `NA` and `NaN`.
#' @param weights a weight for each value (row): a value of weight 2 counts twice, and a value of weight 0 is ignored,
#'   even if the value is `NA` or `Inf`. Weights are available for `"sum"`, `"mean"`, `"var"`, `"sd"`, `"logsumexp"`,
#'   `"skewness"` and `"kurtosis"`; for the last five of these operations, weights must not be negative. For `"median"`,
#'   `"quantile"`, `"iqr"` and `"mode"`, weights must be neither negative nor missing; if weights are whole numbers,
#'   results are those of `rep(x, weights)`. `"median"` and the quantiles of types 1 and 2 do not depend on the scale of
#'   the weights.
#' @param empty the result of segments without values, instead of the value in the table.
#' @param plan a [seg_plan()] instead of `offsets`, `lengths` or `g`.
#' @param backend `"cpu"`, `"cuda"` or `"auto"`. With `"auto"`, the GPU reduces a [gpu_matrix()], and the CPU reduces
#'   data on the host, since copying data to the GPU takes longer than the reduction.
#' @param output `"host"`: an R vector or array. `"gpu"`: a `float64` [gpu_matrix()] with a row for each segment, if the
#'   GPU computes the reduction. A result on the GPU has no names and has `NaN` for missing results; for a range, the
#'   smallest values of all columns come before the largest values; for several quantiles, the first quantile of all
#'   columns comes before the second quantile. If `output` is a [gpu_matrix()] other than `x`, it is overwritten with
#'   the result and returned; it must have the size, the precision and the GPU of the result that `"gpu"` gives.
#'   Repeated calls then allocate no memory for results.
#' @param probs probabilities of `"quantile"`.
#' @param type the type of quantiles, from 1 to 9, as in [quantile()].
#' @param nth which value `"nth"` returns: 1 for the smallest, 2 for the second smallest, -1 for the largest.
#'
#' @return If `x` is a vector, a vector named by the groups; if `x` is a matrix, a matrix with a row for each segment.
#'   Results of `"range"` have an additional dimension, `c("min", "max")`, and several quantiles also have an additional
#'   dimension. A softmax has the shape of `x`; values in no segment give `NA`. If `x` is a data frame, the result is a
#'   data frame with a row for each segment.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element.
#'
#' @references
#' Hyndman, R. J. and Fan, Y. (1996) Sample quantiles in statistical packages. *The American Statistician* 50(4),
#' 361-365.
#'
#' Baxter, S. (2013) Modern GPU: Segmented Reduction. \url{https://moderngpu.github.io/segreduce.html}
#'
#' Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983) Algorithms for computing the sample variance.
#' *The American Statistician* 37(3), 242-247.
#'
#' @seealso [seg_scan()] for running results, [seg_sort()] for sorted segments, [reduce_by_key()] for runs of equal
#'   keys, [spmv()] for sparse matrices, [seg_grad()] for gradients.
#'
#' @examples
#' seg_reduce(c(1, 2, 3, 4, 5), lengths = c(2, 0, 3))
#' seg_reduce(c(1, 2, 3, 4, 5), offsets = c(0, 2, 2, 5), op = "max")
#' # as tapply(chickwts$weight, chickwts$feed, mean)
#' seg_reduce(chickwts$weight, g = chickwts$feed, op = "mean")
#' seg_reduce(chickwts$weight, chickwts$feed, "mean") # the same
#' seg_reduce(as.matrix(iris[1:4]), g = iris$Species, op = "sd")
#' seg_reduce(chickwts$weight, g = chickwts$feed, op = "quantile", probs = c(0.1, 0.5, 0.9))
#' @export
seg_reduce <- function(x, offsets = NULL, lengths = NULL, g = NULL, op = "sum", sources = NULL, na.rm = FALSE,
                       weights = NULL, empty = NULL, plan = NULL, sort = TRUE, backend = c("auto", "cpu", "cuda"),
                       output = c("host", "gpu"), probs = c(0, 0.25, 0.5, 0.75, 1), type = 7, nth = 1) {
  if (is_keys(offsets) && missing(op) && is.character(lengths)) { # called like tapply(x, f, "mean")
    op <- lengths
    lengths <- NULL
  }
  segments <- list(offsets = offsets, lengths = lengths, g = g, plan = plan, sources = sources,
                   sort = check_flag(sort, "sort"))
  op <- complex_op(x, op)
  if (has_fields(op)) {
    refuse_with_fields(weights = weights, empty = empty)
    return(reduce_fields(x, op, segments, check_flag(na.rm, "na.rm")))
  }
  if (is.data.frame(x)) {
    run <- \(x, op, plan) seg_reduce(x, op = op, na.rm = na.rm, weights = weights, empty = empty, plan = plan,
                                     backend = backend, probs = probs, type = type, nth = nth)
    refuse_softmax(op)
    return(compute_columns(x, op, segments, run))
  }
  op <- check_op(op, c(order_ops()$name, moment_ops))
  if (is_order_op(op)) details <- order_details(op, probs, type, nth)
  backend <- check_backend(backend)
  x <- check_reducible(x, op, backend)
  check_bits(op, x)
  stay <- check_target(output, x)
  if (is.null(lengths)) check_no_groups(offsets, value_count(x), sys.call())
  plan <- make_plan(offsets, lengths, g, plan, sources, value_count(x), sort, "`x`")
  check_flag(na.rm, "na.rm")
  call <- environment()
  reduce <- function(x, empty) {
    if (is_order_op(op)) return(reduce_in_order(x, plan, op, details, na.rm, weights, empty, backend, stay, call))
    if (is_moment_op(op)) return(reduce_moments(x, plan, op, na.rm, weights, empty, stay, call))
    reduce_plan(x, plan, op, na.rm, weights, empty, backend, stay, call)
  }
  if (!is_classed(x)) return(reduce(x, empty))
  check_host_output(stay)
  weighted <- !is.null(weights) && op == "sum" # weighted sums are doubles, like means
  run_encoded(x, if (weighted) "mean" else op, reduce, empty, \(x) run_plan(x, plan, "count", na.rm, w = weights))
}

# Computes seg_reduce() with a plan. The caller has checked all arguments except `w` and `empty`.
reduce_plan <- function(x, plan, op, na.rm = FALSE, w = NULL, empty = NULL, backend = "auto", stay = FALSE,
                        call = caller_env()) {
  if (!is.null(empty)) empty <- check_one(empty, "empty", call)
  if (identical(op, "softmax")) refuse_sources(plan, call)
  if (is.object(x) && !is_gpu_matrix(x)) x <- unclass(x)
  if (!is.null(w)) w <- check_weights(w, x, op, call)
  result <- run_plan(x, plan, op, na.rm, empty, backend, w, stay)
  if (stay) return(result)
  if (identical(op, "softmax")) return(shape_like(result, x))
  # `left` is the number of values of each segment that are not omitted and whose weight is not 0; R counts these values
  # when `left` is first used
  delayedAssign("left", run_plan(x, plan, "count", na.rm, NULL, backend, w))
  if (!inherits(op, "seg_op")) result <- settle_kind(result, x, op, left, empty, w)
  shape_by_segment(result, x, plan, op)
}

run_plan <- function(x, plan, op, na.rm = FALSE, empty = NULL, backend = "auto", w = NULL, stay = FALSE) {
  seg_run(segments(plan, counted = FALSE)$pointer, x, segment_operation(op, empty), na.rm, w,
          segment_settings(backend, stay, progress = progress_bar()))
}

# An operation in the form that C++ reads: the name of a statistic or a compiled formula, and the result for an empty
# segment.
segment_operation <- function(op, empty = NULL) {
  if (!inherits(op, "seg_op")) return(list(op = op, formula = NULL, empty = empty))
  list(op = "", formula = compiled_op(op), empty = as.numeric(empty %||% op$identity))
}

segment_count <- function(plan) {
  made <- segments(plan, counted = FALSE)
  made$about$segments %||% seg_count_runs(made$pointer)
}
value_count <- function(x) if (is.null(dim(x))) length(x) else dim(x)[[1]]

# Converts results to the type that base R returns.
settle_kind <- function(result, x, op, left, empty, w) {
  row <- statistic(op)
  kind <- row$kind
  if (row$least > 0 && kind != "position" && any(is.nan(result))) {
    result[left < row$least & is.nan(result) & (is.null(empty) | left > 0)] <- NA
  }
  truth <- kind == "truth" || is.logical(x) && op %in% c("first", "last")
  if (truth) return(if (is.null(empty) || empty %in% c(0, 1, NA)) result != 0 else replace(result, is.na(result), NA))
  if (kind == "position") {
    if (row$least > 0 && is.null(empty)) result[is.nan(result) | result == 0] <- NA
  } else if (kind == "number" || !is.null(w) || !(is.integer(x) || is.logical(x))) {
    return(result)
  }
  as_integers(result, op, if (is.null(empty)) FALSE else left == 0)
}

# Converts results to integers if all are within the range of integers; otherwise to doubles, with NA in place of NaN.
# There is no warning about overflow for `exempt` results, which the user gave for empty segments.
as_integers <- function(result, op, exempt = FALSE) {
  whole <- seg_as_integers(result)
  if (!is.null(whole)) return(whole)
  beyond <- which(abs(result) > .Machine$integer.max & is.finite(result) & !exempt)
  if (op == "sum" && length(beyond)) warn_overflow(beyond[[1]])
  replace(result, is.na(result), NA)
}

warn_overflow <- function(position, limit = "{.code .Machine$integer.max}") {
  cli::cli_warn(c(paste0("A sum of integers exceeds ", limit, ": the sums are returned as doubles."),
                  i = "The first such sum is result {position}."),
                class = c("kernops_overflow_warning", "kernops_warning"))
}

# Gives results the shape of x, with a row for each segment in place of the rows of x. If a segment has several results,
# `outputs` has their names or numbers.
shape_by_segment <- function(result, x, plan, op, outputs = if (identical(op, "range")) c("min", "max")) {
  shape_results(result, segment_count(plan), plan$names, x, outputs)
}

shape_results <- function(result, count, groups, x, outputs) {
  size <- c(count, dim(x)[2], if (!is.null(outputs)) length(outputs))
  if (length(size) == 1) return(stats::setNames(result, groups))
  columns <- if (!is.null(dim(x)) && !is_gpu_matrix(x)) colnames(x)
  named <- if (is.character(outputs)) outputs
  names <- c(list(groups), if (!is.null(dim(x))) list(columns), if (!is.null(outputs)) list(named))
  array(result, size, if (!all(vapply(names, is.null, NA))) names)
}

shape_like <- function(result, x) {
  if (is_gpu_matrix(x)) return(matrix(result, nrow(x)))
  if (!is.null(dim(x))) return(array(result, dim(x), dimnames(x)))
  if (is.null(attributes(result)) && is.null(names(x))) return(result) # avoids a copy
  stats::setNames(c(result), names(x))
}
