#' Reduce runs of equal keys
#'
#' `reduce_by_key()` reduces the values of each run of equal adjacent keys. If a key occurs again later, it begins a new
#' run; for groups of keys in any order see `g` of [seg_reduce()].
#'
#' @inheritParams seg_reduce
#' @param keys a vector or factor with one key for each value (row) of `x`, or a [gpu_matrix()] with one column, whose
#'   runs are found on the GPU. `NA` equals `NA`; on the GPU also `NaN`. Give whole numbers of 2^31 or more as doubles,
#'   which are exact up to 2^53 (`float32` on the GPU: 2^24), or as `bit64::integer64`.
#' @param same what must be equal within a run: `NULL`, the keys themselves; a function of the vector of keys; or a
#'   string, a formula of two adjacent keys `a` and `b` in the language of [keops_kernel()] that is nonzero if they
#'   belong to the same run, such as `"Abs(a - b) < 0.5"`.
#' @param ... `na.rm`, `weights`, `empty`, `probs`, `type` and `nth`, as in [seg_reduce()].
#'
#' @return A list: `keys`, the first key of each run; `values`, the results of [seg_reduce()]; `lengths`, the number of
#'   values of each run. With `output = "gpu"` the values are a [gpu_matrix()]; keys and lengths are too if the keys are
#'   on the GPU, and only the number of runs is then copied to the host.
#'
#' @details
#' If keys and values are both `float32` and on the GPU, they are read once: a single pass finds the runs and reduces
#' them, if `x` has one column and `op` has one result that is not a position. Results are bit-identical to those of
#' [seg_reduce()].
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, as for [seg_reduce()].
#'
#' @seealso [seg_reduce()] for segments and groups, [seg_op()] for operations of your own.
#' @examples
#' reduce_by_key(c("a", "a", "b", "a"), c(1, 2, 3, 4))
#' # a new run begins where there is a gap of more than one
#' reduce_by_key(c(1, 1.5, 2, 7, 7.2), 1:5, same = "Abs(a - b) <= 1")
#' # by whole numbers
#' reduce_by_key(c(1.1, 1.9, 2.5, 2.6), 1:4, op = "max", same = floor)
#' @export
reduce_by_key <- function(keys, x, op = "sum", same = NULL, ..., backend = c("auto", "cpu", "cuda"),
                          output = c("host", "gpu")) {
  backend <- check_backend(backend)
  check_further_arguments("{.fn reduce_by_key}", list(...), c("na.rm", "weights", "empty", "probs", "type", "nth"))
  if (!is.data.frame(x)) x <- check_reducible(x, op, backend)
  if (!is_gpu_matrix(keys) && (!is.atomic(keys) || length(dim(keys)) > 1 || is.null(keys))) {
    stop_kernops("input", "{.arg keys} must be a vector or a factor, not {.obj_type_friendly {keys}}.")
  }
  if (value_count(keys) != value_count(x)) {
    stop_kernops("dim", paste("{.arg keys} must have one key for each of the {value_count(x)} value{?s},",
                              "not {value_count(keys)}."))
  }
  stay <- check_output(output)
  reduce <- function(plan) seg_reduce(x, plan = plan, op = op, ..., backend = backend, output = output)
  if (is_gpu_matrix(keys)) return(reduce_runs_there(keys, same, reduce, stay))
  runs <- runs_of(keys, same)
  list(keys = runs$keys, values = reduce(temporary(runs$plan)), lengths = runs$lengths)
}

runs_of <- function(keys, same) {
  starts <- run_starts(keys, same, caller_env())
  offsets <- c(starts, length(keys))
  first <- keys[starts + 1]
  if (inherits(keys, "integer64")) oldClass(first) <- oldClass(keys) # also where 'bit64' is not loaded
  list(plan = plan_of_runs(offsets), keys = first, lengths = diff(offsets))
}

plan_of_runs <- function(offsets) seg_plan(offsets = offsets, n = offsets[[length(offsets)]])

# Keys of a GPU are compared there. Values may be reduced in the pass that finds the runs, so they come first.
reduce_runs_there <- function(keys, same, reduce, stay, call = caller_env()) {
  if (!is.null(same) || ncol(keys) != 1) {
    stop_kernops("input", c("{.arg keys} on the GPU must have one column, and {.arg same} must be {.code NULL}.",
                            x = "There {?is/are} {ncol(keys)} column{?s}."), call = call)
  }
  plan <- temporary(new_plan("keys", list(input = keys)))
  values <- reduce(plan)
  runs <- seg_describe_runs(segments(plan)$pointer)
  if (!stay) runs <- lapply(runs, \(column) c(as.matrix(column)))
  list(keys = runs$keys, values = values, lengths = runs$lengths)
}

run_starts <- function(keys, same, call = caller_env()) {
  if (is.null(same)) return(seg_runs(as_plain_keys(keys)))
  if (is.function(same)) {
    of_key <- same(keys)
    if (is.atomic(of_key) && length(of_key) == length(keys)) return(seg_runs(as_plain_keys(of_key)))
    stop_kernops("input", c("{.arg same} must return one value for each of the {length(keys)} key{?s}.",
                            x = "It returned {length(of_key)}."), call = call)
  }
  check_text(same, "same", one = TRUE, call = call)
  if (!is_plain(keys)) {
    stop_kernops("input", "A formula {.arg same} requires numeric keys, not {.obj_type_friendly {keys}}.", call = call)
  }
  if (length(keys) == 0) return(numeric())
  joined <- of_pairs(new_seg_op(same), keys[-length(keys)], keys[-1])
  c(0, which(is.na(joined) | joined == 0))
}

as_plain_keys <- function(keys) {
  if (inherits(keys, "integer64")) return(keys)
  if (is.character(keys)) return(enc2utf8(unclass(keys))) # equal strings of two encodings are the same key
  if (is.double(keys) || is.integer(keys) || is.logical(keys)) return(unclass(keys))
  if (is.factor(keys)) return(level_codes(keys))
  match(keys, unique(keys))
}

# A level that is NA is no other key than a missing one.
level_codes <- function(keys) {
  codes <- as.integer(keys)
  if (anyNA(levels(keys))) replace(codes, which(codes == match(NA, levels(keys))), NA) else codes
}
