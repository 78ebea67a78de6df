#' Sort, rank and choose values within segments
#'
#' `seg_sort()` sorts the values of each segment, `seg_order()` gives the row numbers of the sorted values, `seg_rank()`
#' gives the rank of each value in its segment, and `seg_top()` gives the `k` largest or smallest values of each segment
#' with their positions.
#'
#' @inheritParams seg_reduce
#' @param x a vector of numbers or logicals; a matrix, whose columns are sorted separately; a [gpu_matrix()], whose
#'   values are sorted on its GPU; or dates, factors or other [values with a class][seg_values].
#' @param offsets,lengths,g,plan the segments, as in [seg_plan()]; if none of these is given, `x` is one segment.
#' @param decreasing whether the largest value comes first.
#' @param na.last `TRUE`: `NA` and `NaN` come last; `FALSE`: they come first. For `seg_rank()` also `"keep"`: the rank
#'   of missing values is `NA`.
#' @param ties the rank of equal values: `"average"`, `"first"` or `"last"` (in the order of the values), `"min"` or
#'   `"max"`, or `"random"`, as in [rank()]; `"random"` uses R's random numbers (see [set.seed()]).
#' @param backend `"cpu"`, `"cuda"` or `"auto"`, which uses the GPU for a [gpu_matrix()] and otherwise the CPU. The CPU
#'   always sorts more than 2^28 values, and values that do not fit in the memory of the GPU together with their
#'   results.
#' @param output `"host"`: an R vector or matrix. `"gpu"`, if `x` is a [gpu_matrix()] or the backend is `"cuda"`: a
#'   [gpu_matrix()], which has the precision of `x` for `seg_sort()` and `float64` for the other functions. The matrices
#'   of `seg_top()` on the GPU have a row for each segment, and the first values of all columns of `x` come before the
#'   second values. All functions except `seg_top()` also accept a [gpu_matrix()] that is overwritten, as in
#'   [seg_reduce()].
#' @param k the number of values of each segment that `seg_top()` returns.
#'
#' @return `seg_sort()`: a vector or matrix with the size of `x`, without names of values: the rows of a segment contain
#'   its values in sorted order. `seg_order()`: row numbers, first for segment 1, then for segment 2, and so on, as
#'   `order(g, x)` gives; for a matrix, a column of row numbers for each column. `seg_rank()`: ranks in the shape of
#'   `x`. Values in no segment give `NA`, and are absent from `seg_order()`.
#'
#'   `seg_top()`: a list of `values`, `positions` in the segment, and `rows` of `x`; each of these is a matrix with a
#'   row for each segment and `k` columns. If `x` is a matrix, each of the three results is an array whose second
#'   dimension corresponds to the columns of `x`. Missing values are never chosen; if a segment has fewer than `k`
#'   values, the remaining results are `NA`.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`, with the first invalid element;
#'   `kernops_memory_error` if the memory of the GPU is too small for the sort.
#'
#' @seealso [seg_reduce()] for medians, quantiles and the `nth` value; `seg_grad("top")` for gradients.
#' @examples
#' x <- c(3, 1, 2, 5, 4)
#' seg_sort(x, lengths = c(3, 2))
#' seg_order(x, g = c("b", "a", "b", "a", "b"))
#' seg_rank(x, lengths = c(3, 2))
#' # the two heaviest chicks of each diet
#' top <- seg_top(ChickWeight$weight, k = 2, g = ChickWeight$Diet)
#' top$values
#' ChickWeight$Chick[top$rows]
#' @export
seg_sort <- function(x, offsets = NULL, lengths = NULL, g = NULL, decreasing = FALSE, na.last = TRUE, plan = NULL,
                     backend = c("auto", "cpu", "cuda"), output = c("host", "gpu")) {
  place <- sort_place(backend, output, x)
  x <- check_reducible(x, "sort", place$backend)
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  how <- sort_settings("values", decreasing, check_flag(na.last, "na.last"))
  run <- function(x, ...) {
    result <- run_sort(x, plan, how, place)
    if (place$stay) result else array_of(as_type_of(result, x), x)
  }
  if (!is_classed(x)) return(run(x))
  check_host_output(place$stay)
  run_encoded(x, "sort", run)
}

#' @rdname seg_sort
#' @export
seg_order <- function(x, offsets = NULL, lengths = NULL, g = NULL, decreasing = FALSE, na.last = TRUE, plan = NULL,
                      backend = c("auto", "cpu", "cuda"), output = c("host", "gpu")) {
  place <- sort_place(backend, output, x)
  x <- in_order_of(check_reducible(x, "order", place$backend), "order")
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  rows <- run_sort(x, plan, sort_settings("rows", decreasing, check_flag(na.last, "na.last")), place)
  if (place$stay) rows else array_of(as_integers(rows, "order"), x)
}

#' @rdname seg_sort
#' @export
seg_rank <- function(x, offsets = NULL, lengths = NULL, g = NULL, ties = c("average", "first", "last", "min", "max",
                     "random"), decreasing = FALSE, na.last = "keep", plan = NULL, backend = c("auto", "cpu", "cuda"),
                     output = c("host", "gpu")) {
  place <- sort_place(backend, output, x)
  x <- in_order_of(check_reducible(x, "rank", place$backend), "rank")
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  kinds <- c("average", "first", "last", "min", "max", "random")
  ties <- check_choice(ties, "ties", kinds)
  if (!identical(na.last, "keep")) check_flag(na.last, "na.last")
  rank <- function(x, ties, decreasing = FALSE, to = place) {
    run_sort(x, plan, sort_settings("ranks", decreasing, na.last, match(ties, kinds) - 1L), to)
  }
  if (ties == "random") {
    least <- rank(x, "min", decreasing, replace(place, "stay", FALSE))
    there <- which(!is.na(if (is_gpu_matrix(x)) as.matrix(x) else x))
    least[there] <- least[there] + stats::runif(length(there)) # below 1, so only ties are reordered
    if (is_gpu_matrix(x)) place$backend <- "cuda"
    ranks <- rank(array(least, dim(x) %||% length(x)), "first")
  } else {
    ranks <- rank(x, ties, decreasing)
  }
  if (place$stay) return(ranks)
  shape_like(if (ties == "average") ranks else as_integers(ranks, "rank"), x)
}

#' @rdname seg_sort
#' @export
seg_top <- function(x, k, offsets = NULL, lengths = NULL, g = NULL, decreasing = TRUE, plan = NULL,
                    backend = c("auto", "cpu", "cuda"), output = c("host", "gpu")) {
  check_number(k, "k", least = 1, whole = TRUE, most = .Machine$integer.max)
  place <- sort_place(backend, output)
  values <- check_reducible(x, "top", place$backend)
  if (is_classed(values)) check_host_output(place$stay)
  x <- in_order_of(values, "rank")
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  columns <- dim(x)[2] %||% 1
  check_memory(40 * k * columns * segment_count(plan))
  all <- run_sort(x, plan, sort_settings("first", decreasing, TRUE, top = k), place)
  top <- split_top(all, k * columns, segment_count(plan))
  if (place$stay) return(top)
  top$values <- as_type_of(top$values, x)
  top$positions <- as_integers(top$positions, "top")
  top$rows <- as_integers(top$rows, "rows")
  top <- lapply(top, shape_by_segment, x, plan, "top", seq_len(k))
  if (is_classed(values)) top$values <- run_encoded(values, "top", \(...) top$values)
  top
}

# Splits the result of C++ for seg_top() into values, positions and rows, each for `columns` columns.
split_top <- function(all, columns, segments) {
  part <- \(n) {
    if (is_gpu_matrix(all)) return(all[, n * columns + seq_len(columns)])
    all[n * columns * segments + seq_len(columns * segments)]
  }
  list(values = part(0), positions = part(1), rows = part(2))
}

# Converts values of a class, such as dates or strings, to numbers that sort in the same order; plain numbers are
# unchanged.
in_order_of <- function(x, op) if (is_classed(x)) run_encoded(x, op, \(x, ...) x) else x

# Checks that x is a vector or matrix of numbers, or that it has a class (seg_values.R) that allows the operation.
sortable <- function(x, op = NULL, call = caller_env()) {
  x <- if (is.null(op)) check_values(x, "auto", call) else check_reducible(x, op, "auto", call)
  if (is_gpu_matrix(x)) as.matrix(x) else if (is_classed(x)) x else unclass(x)
}

# The plan of segments for functions that do not support overlapping segments. If the user gives no segments, all values
# are one segment.
disjoint_plan <- function(offsets, lengths, g, plan, n, call = caller_env()) {
  if (is.null(lengths)) check_no_groups(offsets, n, rlang::frame_call(call), call)
  if (is.null(offsets) && is.null(lengths) && is.null(g) && is.null(plan)) lengths <- n
  plan <- make_plan(offsets, lengths, g, plan, NULL, n, TRUE, "`x`", call = call)
  refuse_sources(plan, call)
  plan
}

# The list of settings that the C++ function seg_sorted() reads. `result` determines what seg_sorted() returns: the
# sorted values, their rows, the ranks, or the first values.
sort_settings <- function(result, decreasing, na.last, ties = 0L, top = 1, call = caller_env()) {
  check_flag(decreasing, "decreasing", call)
  missing <- if (identical(na.last, "keep")) "keep" else if (na.last) "last" else "first"
  list(result = match(result, c("values", "rows", "ranks", "first")) - 1L, decreasing = decreasing, missing = missing,
       ties = ties, top = top)
}

# The backend of the computation, and `stay`, which is TRUE if results stay on the GPU.
sort_place <- function(backend, output, x = NULL, call = caller_env()) {
  stay <- if (is.null(x)) check_output(output, call) else check_target(output, x, call)
  list(backend = check_backend(backend, call = call), stay = stay)
}

run_sort <- function(x, plan, how, place) {
  if (!is_gpu_matrix(x)) x <- unclass(x)
  settings <- segment_settings(place$backend, place$stay, progress = progress_bar())
  seg_sorted(segments(plan)$pointer, x, how, settings)
}

# Converts values to the type of x, because C++ returns doubles.
as_type_of <- function(values, x) {
  if (is.double(x) || is_gpu_matrix(x)) return(values)
  if (is.logical(x)) values != 0 else as_integers(values, "sort")
}

# Gives values the shape of x, without the names of rows, because the order of the rows has changed.
array_of <- function(values, x) {
  if (is.null(dim(x))) return(values)
  matrix(values, ncol = ncol(x), dimnames = if (!is.null(colnames(x))) list(NULL, colnames(x)))
}
