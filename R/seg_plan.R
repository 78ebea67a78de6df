#' Plan the reduction of segments
#'
#' `seg_plan()` analyses how values are divided into segments. [seg_reduce()] and related functions can then use the
#' plan for any values and any operation.
#'
#' @param offsets the positions where the segments begin, counted from 0 and not decreasing; values before the first
#'   offset are in no segment. If this argument is a factor or strings, it is used as `g`. An error is raised if the
#'   argument is passed without its name, has one number for each value, and could be meant as `g`. If the last element
#'   equals the number of values (as in `dgCMatrix@p`), it is the end of the last segment; otherwise it is the beginning
#'   of the last segment. Give numbers above 2^31 as doubles or as `bit64::integer64`.
#' @param lengths the number of values of each segment; the segments are adjacent.
#' @param g the group of each value, in any order: a factor or a vector of any type (numbers, `integer64`, strings,
#'   logicals, dates, times, complex numbers, raw bytes); a list or data frame of several such keys; or a result of
#'   `collapse::GRP()`, whose groups are used unchanged. There is a segment for each level of a factor, including unused
#'   levels, or for each distinct key in ascending order; for several keys, there is a segment for each combination that
#'   occurs, ordered by the first key, then the second, with a name such as `"a.b"`. Values with an `NA` key are in no
#'   segment, as in [tapply()]. Keys are matched by value, unlike in [tapply()]: numbers that differ only beyond 15
#'   significant digits, and times that differ by fractions of a second, are different keys. Strings marked as "bytes"
#'   are compared as bytes. If different keys would have the same name, results have names with more digits.
#' @param sources the position in the values where each segment begins, counted from 0: segment s has the values at
#'   `sources[s] + 0, 1, ...`. The number of values of each segment is given by `offsets` or `lengths`. Segments may
#'   overlap, repeat, and be in any order.
#' @param n the total number of values, if `offsets` or `sources` do not determine it.
#' @param sort whether groups are in ascending order; if `FALSE`, groups are in order of first appearance, without
#'   unused levels.
#' @param keys,same if `keys` are given, the segments are the runs of equal adjacent keys, as in [reduce_by_key()]. The
#'   plan stores the first key of each run, so that [reduce_by_key()] does not compare keys again.
#'
#' @return An object of class `seg_plan`. The class has a `print()` method. Plans can be saved.
#'
#' @section Errors: class `kernops_input_error`, with the first invalid element.
#'
#' @seealso [seg_reduce()], which accepts a plan; [axis_plan()] for arrays.
#' @examples
#' plan <- seg_plan(g = iris$Species)
#' plan
#' seg_reduce(iris$Sepal.Width, plan = plan, op = "mean")
#' seg_reduce(as.matrix(iris[1:4]), plan = plan, op = "max")
#'
#' # groups by two keys
#' seg_reduce(mtcars$mpg, plan = seg_plan(g = mtcars[c("cyl", "gear")]), op = "mean")
#' @export
seg_plan <- function(offsets = NULL, lengths = NULL, g = NULL, sources = NULL, n = NULL, sort = TRUE, keys = NULL,
                     same = NULL) {
  if (!is.null(keys)) {
    check_only_keys(list(offsets = offsets, lengths = lengths, g = g, sources = sources))
    return(plan_of_keys(keys, same, n))
  }
  make_plan(offsets, lengths, g, NULL, sources, n, sort, "`n`", keep = TRUE)
}

# Creates the plan from `offsets`, `lengths` or `g`, or checks `plan`; the user must give exactly one of these
# arguments. `n` is the number of values, if known. The memory of a new plan is freed at the end of the call, unless
# `keep` is TRUE.
make_plan <- function(offsets, lengths, g, plan, sources, n, sort, what, keep = FALSE, call = caller_env()) {
  if (is.null(g) && is_keys(offsets)) {
    g <- offsets
    offsets <- NULL
  }
  how <- c("offsets", "lengths", "g", "plan")[!c(is.null(offsets), is.null(lengths), is.null(g), is.null(plan))]
  if (length(how) != 1) {
    stop_kernops("input", c("Exactly one of {.arg offsets}, {.arg lengths}, {.arg g} and {.arg plan} must be given.",
                            x = if (length(how)) "Given: {.arg {how}}.",
                            i = if (is.character(lengths)) "Name the groups and the operation: {.code g = groups,
                                                            op = \"{lengths[[1]]}\"}."), call = call)
  }
  check_whole(offsets, "offsets", call)
  check_whole(lengths, "lengths", call)
  check_whole(sources, "sources", call)
  if (!is.null(n)) n <- check_number_of_values(n, call)
  check_flag(sort, "sort", call)
  if (!is.null(sources) && how %in% c("g", "plan")) {
    stop_kernops("input", "{.arg sources} requires {.arg offsets} or {.arg lengths}, not {.arg {how}}.", call = call)
  }
  made <- switch(how, offsets = list(input = offsets, sources = sources), g = group_numbers(g, sort, call),
                 lengths = list(input = lengths, sources = sources, names = names(lengths)),
                 plan = check_plan(plan, call))
  if (how != "plan") made <- new_plan(how, made, n)
  if (how != "plan" && !keep) temporary(made, call)
  values <- segments(made, counted = FALSE)$about$values
  if (!is.null(n) && values != n) {
    stop_kernops("dim",
                 "{.arg {how}} {if (how == 'plan') 'is for' else 'has'} {values} value{?s}, but {what} has {n}.",
                 call = call)
  }
  made
}

# TRUE if the argument `offsets` contains groups: unlike groups, offsets are always plain numbers.
is_keys <- function(x) is.factor(x) || is.character(x) || inherits(x, c("GRP", "formula"))

# Raises an error if `offsets` may be groups, because offsets divide the values into different segments than groups do.
# `made` is the user's call. If the call names the argument `offsets`, all values are accepted; if the call passes on
# `...`, the values were already checked. Distinct numbers below n are accepted, because they define the same segments
# as groups and as offsets. Vectors that begin with 0 and end with n are accepted, because they have the form of
# offsets.
check_no_groups <- function(offsets, n, made, call = caller_env()) {
  if (!is.numeric(offsets) || length(offsets) != n) return(invisible())
  named <- any(grepl("^of", names(made)))
  passed_on <- any(vapply(as.list(made), identical, NA, quote(...)))
  if (named || passed_on) return(invisible())
  positions <- as.numeric(offsets)
  if (all(positions %in% (seq_len(n) - 1)) && !anyDuplicated(positions)) return(invisible())
  if (isTRUE(positions[[1]] == 0 && positions[[n]] == n)) return(invisible())
  stop_kernops("input", c("Unnamed {.arg offsets} have one number for each of the {n} value{?s}, like groups.",
                          i = "Write {.code g = } for groups, or {.code offsets = } for the first positions of
                               segments."), call = call)
}

# Checks that x is numeric, or of class integer64. is.numeric() is FALSE for factors, dates and time differences. The
# C++ code checks that the values are whole numbers.
check_whole <- function(x, name, call) {
  if (is.null(x) || is.numeric(x)) return(invisible())
  stop_kernops("input", c("{.arg {name}} must be whole numbers, not {.obj_type_friendly {x}}.",
                          i = if (is.factor(x)) "Give groups as {.arg g}.",
                          i = if (is.character(x)) "Give groups as {.arg g}, the operation as {.arg op}."), call = call)
}

new_plan <- function(how, about, n = NULL) {
  structure(c(about, list(how = how, n = n, cell = new.env(parent = emptyenv()))), class = "seg_plan")
}

# The plan if `numbers` are already indices of groups, counted from 1.
numbered_plan <- function(numbers, count) new_plan("g", numbered_groups(numbers, count))

check_number_of_values <- function(n, call) {
  if (is_plain_numeric(n) && length(n) == 1 && !is.na(n) && n >= 0 && n == floor(n)) return(as.numeric(n))
  stop_kernops("input", paste0("{.arg n} must be a non-negative whole number, not ", shown(n), "."), call = call)
}

check_plan <- function(plan, call) {
  if (inherits(plan, "seg_plan")) return(plan)
  stop_kernops("input", "{.arg plan} must be made by {.fn seg_plan}, not {.obj_type_friendly {plan}}.", call = call)
}

# The segments of a plan as a C++ object, which is created on first use, and again after readRDS(). If `counted` is
# TRUE, the values of each group are also counted.
segments <- function(plan, counted = TRUE) {
  cell <- plan$cell
  if (is.null(cell$made) || is_null_pointer(cell$made$pointer)) {
    n <- plan$n %||% -1
    cell$made <- switch(plan$how, offsets = seg_from_offsets(plan$input, plan$sources, n),
                        lengths = seg_from_lengths(plan$input, plan$sources, n),
                        g = seg_from_groups(plan$input, plan$base, plan$span, plan$rows, plan$count,
                                            !isTRUE(cell$temporary), threads()),
                        keys = seg_from_keys(plan$input))
  }
  if (counted && plan$how == "g" && is.null(cell$made$about$longest)) {
    cell$made$about <- seg_count_groups(cell$made$pointer)
  }
  cell$made
}

# Marks a plan as temporary: its memory is freed when the function whose environment is `frame` ends, even by an error
# or interrupt. R's garbage collector might free this memory late, because it does not count memory that C++ allocates.
temporary <- function(plan, frame = caller_env()) {
  plan$cell$temporary <- TRUE
  do.call(on.exit, list(as.call(list(free_plan, plan)), add = TRUE), envir = frame)
  plan
}

free_plan <- function(plan) {
  cell <- plan$cell
  if (!is.null(cell$made)) seg_free(cell$made$pointer)
  cell$made <- NULL
}

#' @export
print.seg_plan <- function(x, ...) {
  about <- segments(x)$about
  if (x$how == "keys") {
    cli::cat_line("<seg_plan> ", in_digits(segment_count(x)), " runs of ", in_digits(about$values), " keys on the GPU")
    return(invisible(x))
  }
  cli::cat_line("<seg_plan> ", in_digits(about$segments), " segments of ", in_digits(about$values), " values")
  mean <- about$covered / max(about$segments, 1)
  cli::cat_line("  lengths    ", in_digits(about$shortest), " to ", in_digits(about$longest), ", ",
                format(mean, digits = 3, scientific = FALSE), " on average")
  cli::cat_line("  empty      ", in_digits(about$empty))
  order <- if (x$how == "g") if (about$sorted) "sorted groups" else "unsorted groups"
  cli::cat_line("  values     ", order %||% if (is.null(x$sources)) "in order" else "given by sources")
  invisible(x)
}

# A count with all digits, even if it is large.
in_digits <- function(n) format(n, big.mark = ",", decimal.mark = ".", scientific = FALSE, trim = TRUE)
