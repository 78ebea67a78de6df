#' Reduce runs of equal keys
#'
#' `reduce_by_key()` reduces the values of each run of equal adjacent keys. If a key occurs again later, it begins a new
#' run; for groups of keys in any order see `g` of [seg_reduce()].
#'
#' @inheritParams seg_reduce
#' @param keys a vector of any type or a factor with one key for each value (row) of `x`; a list or data frame of
#'   several such vectors, all of which are constant in a run; or a [gpu_matrix()] with one column, whose runs are found
#'   on the GPU. `NA` is equal to `NA`, and on the GPU also to `NaN`. Give whole numbers of 2^31 or more as doubles,
#'   which are exact up to 2^53 (`float32` on the GPU: 2^24), or as `bit64::integer64`.
#' @param same the condition for two adjacent keys to belong to the same run. With `NULL`, the keys must be equal. With
#'   a function of the vector of keys, its results must be equal. With a string, a formula of two adjacent keys `a` and
#'   `b` in the language of [keops_kernel()], the formula must be nonzero; for example `"Abs(a - b) < 0.5"`.
#' @param ... `na.rm`, `weights`, `empty`, `probs`, `type` and `nth`, as in [seg_reduce()].
#' @param plan a [seg_plan()] of `keys` (and `same`), instead of `keys` and `same`: the runs are found once and can be
#'   used for any values and any operation.
#'
#' @return A list: `keys`, the first key of each run; `values`, the results of [seg_reduce()]; `lengths`, the number of
#'   values of each run. With `output = "gpu"` the values are a [gpu_matrix()]; if the keys are on the GPU, `keys` and
#'   `lengths` are also [gpu_matrix()] objects, and only the number of runs is copied to the host.
#'
#' @details A single pass finds the runs and reduces them, so that keys and values are read only once, under these
#' conditions: keys and values are `float32` and on the GPU, `x` has one column, and `op` has one result that is not a
#' position. Results are bit-identical to those of [seg_reduce()].
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, as for [seg_reduce()].
#'
#' @seealso [seg_reduce()] for segments and groups, [seg_op()] for user-defined operations.
#' @examples
#' reduce_by_key(c("a", "a", "b", "a"), c(1, 2, 3, 4))
#' # a new run begins where there is a gap of more than one
#' reduce_by_key(c(1, 1.5, 2, 7, 7.2), 1:5, same = "Abs(a - b) <= 1")
#' # runs of two keys
#' reduce_by_key(list(c(1, 1, 1, 2), c("a", "a", "b", "b")), 1:4)
#' # a plan: the runs are found once
#' plan <- seg_plan(keys = c("a", "a", "b", "a"))
#' reduce_by_key(x = c(1, 2, 3, 4), op = "max", plan = plan)
#' # runs of keys with equal whole-number parts
#' reduce_by_key(c(1.1, 1.9, 2.5, 2.6), 1:4, op = "max", same = floor)
#' @export
reduce_by_key <- function(keys = NULL, x, op = "sum", same = NULL, ..., plan = NULL,
                          backend = c("auto", "cpu", "cuda"), output = c("host", "gpu")) {
  backend <- check_backend(backend)
  check_further_arguments("{.fn reduce_by_key}", list(...), c("na.rm", "weights", "empty", "probs", "type", "nth"))
  if (!is.data.frame(x) && !has_fields(complex_op(x, op))) x <- check_reducible(x, op, backend)
  kept <- !is.null(plan)
  plan <- if (kept) check_plan_of_keys(plan, keys, same) else plan_of_keys(keys, same)
  count <- segments(plan)$about$values
  if (count != value_count(x)) {
    stop_kernops("dim", paste("{.arg {if (kept) 'plan' else 'keys'}} must have one key for each of the",
                              "{value_count(x)} value{?s}, not {count}."))
  }
  if (!kept) temporary(plan)
  stay <- check_target(output, x)
  values <- seg_reduce(x, plan = plan, op = op, ..., backend = backend, output = output)
  runs <- describe_runs(plan, stay)
  list(keys = runs$keys, values = values, lengths = runs$lengths)
}

# The plan of the runs of keys, with the first key of each run. Keys on the GPU are compared on the GPU when the plan is
# first used, because the same pass may reduce the values.
plan_of_keys <- function(keys, same = NULL, n = NULL, call = caller_env()) {
  if (inherits(keys, "POSIXlt")) keys <- as.POSIXct(keys)
  if (!is_gpu_matrix(keys)) {
    size <- key_count(check_keys(keys, "keys", call))
    starts <- run_starts(keys, same, call)
    plan <- new_plan("offsets", list(input = c(starts, size), first_keys = list(take_keys(keys, starts + 1))), size)
  } else if (!is.null(same) || ncol(keys) != 1) {
    stop_kernops("input", c("{.arg keys} on the GPU must have one column, and {.arg same} must be {.code NULL}.",
                            x = "There {?is/are} {ncol(keys)} column{?s}."), call = call)
  } else {
    size <- nrow(keys)
    plan <- new_plan("keys", list(input = keys))
  }
  if (is.null(n) || n == size) return(plan)
  stop_kernops("dim", "{.arg keys} has {size} key{?s}, but {.arg n} is {n}.", call = call)
}

check_plan_of_keys <- function(plan, keys, same, call = caller_env()) {
  check_plan(plan, call)
  if (!is.null(keys) || !is.null(same)) {
    stop_kernops("input", "{.arg plan} replaces {.arg keys} and {.arg same}: give one or the other.", call = call)
  }
  if (plan$how == "keys" || !is.null(plan$first_keys)) return(plan)
  stop_kernops("input", c("{.arg plan} must be a plan of keys.", i = "Make it by {.code seg_plan(keys = )}."),
               call = call)
}

check_only_keys <- function(others, call = caller_env()) {
  others <- names(Filter(Negate(is.null), others))
  if (length(others)) {
    stop_kernops("input", "{.arg keys} makes a plan without {.arg {others}}: give one or the other.", call = call)
  }
}

# The first key and the length of each run of a plan, a list of `keys` and `lengths`.
describe_runs <- function(plan, stay) {
  if (plan$how == "offsets") return(list(keys = plan$first_keys[[1]], lengths = diff(plan$input)))
  cell <- plan$cell
  cell$runs <- cell$runs %||% seg_describe_runs(segments(plan)$pointer)
  if (stay) cell$runs else lapply(cell$runs, \(column) c(as.matrix(column)))
}

# The positions where runs begin, from 0; with several keys, a run ends where any key changes.
run_starts <- function(keys, same = NULL, call = caller_env()) {
  if (is.null(same)) {
    if (is.complex(keys)) keys <- list(Re(keys), Im(keys))
    if (!is.list(keys)) return(seg_runs(as_plain_keys(keys)))
    return(sort(unique(unlist(lapply(keys, run_starts)))))
  }
  if (is.function(same)) {
    of_key <- same(keys)
    size <- key_count(keys)
    if (is.atomic(of_key) && length(of_key) == size) return(run_starts(of_key))
    stop_kernops("input", c("{.arg same} must return one value for each of the {size} key{?s}.",
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

key_count <- function(keys) length(if (is.list(keys)) keys[[1]] else keys)

as_plain_keys <- function(keys) {
  if (inherits(keys, "integer64")) return(keys)
  if (is.character(keys)) return(enc2utf8(unclass(keys))) # equal strings may have different encodings
  if (is.double(keys) || is.integer(keys) || is.logical(keys)) return(unclass(keys))
  if (is.factor(keys)) return(level_codes(keys))
  as.integer(keys) # raw vectors
}

# The codes of a factor. If the factor has a level NA, this level is the same key as a missing value.
level_codes <- function(keys) {
  codes <- as.integer(keys)
  if (anyNA(levels(keys))) replace(codes, which(codes == match(NA, levels(keys))), NA) else codes
}
