#' Plan the reduction of segments
#'
#' `seg_plan()` analyses how values are divided into segments. [seg_reduce()] and related functions can then use the
#' plan for any values and any operation.
#'
#' @param offsets where the segments begin, counted from 0 and not decreasing (a factor or strings here are `g`;
#'   without the argument's name, as many numbers as values are an error if they could be groups); values before the
#'   first offset are in no segment. If the last element equals the number of values (as in `dgCMatrix@p`), it is the
#'   end of the last segment, otherwise the beginning of the last segment. Give numbers above 2^31 as doubles or as
#'   `bit64::integer64`.
#' @param lengths the number of values of each segment; the segments are adjacent.
#' @param g the group of each value: a factor, integers, numbers (also `integer64`), strings, dates or logicals in any
#'   order, or a result of `collapse::GRP()`, whose groups are used unchanged. There is a segment for each level of a
#'   factor, including unused levels, or for each distinct key in ascending order. Values whose key is `NA` are in no
#'   segment, as in [tapply()]. Keys are matched by value, unlike in [tapply()]: numbers that differ only beyond 15
#'   significant digits, and times that differ by fractions of a second, are different keys. Strings marked as "bytes"
#'   are compared as bytes. Where keys print alike, names of results have more digits.
#' @param sources where each segment begins in the values, counted from 0: segment s has the values `sources[s] + 0, 1,
#'   ...`; their number is given by `offsets` or `lengths`. Segments may overlap, repeat, and be in any order.
#' @param n the number of values, if it does not follow from `offsets` or `sources`.
#' @param sort `FALSE`: groups are in order of first appearance, without unused levels.
#'
#' @return An object of class `seg_plan`. It has a `print()` method and may be saved.
#'
#' @section Errors: class `kernops_input_error`, with the first invalid element.
#'
#' @seealso [seg_reduce()], which takes the plan; [axis_plan()] for arrays.
#' @examples
#' plan <- seg_plan(g = iris$Species)
#' plan
#' seg_reduce(iris$Sepal.Width, plan = plan, op = "mean")
#' seg_reduce(as.matrix(iris[1:4]), plan = plan, op = "max")
#' @export
seg_plan <- function(offsets = NULL, lengths = NULL, g = NULL, sources = NULL, n = NULL, sort = TRUE) {
  make_plan(offsets, lengths, g, NULL, sources, n, sort, "`n`", keep = TRUE)
}

# The plan of the one argument that is given. The number of values is `n`, if it is known. A plan that the user did not
# make is for the calling function alone, unless it is to `keep`.
make_plan <- function(offsets, lengths, g, plan, sources, n, sort, what, keep = FALSE, call = caller_env()) {
  if (is.null(g) && is_keys(offsets)) {
    g <- offsets
    offsets <- NULL
  }
  how <- c("offsets", "lengths", "g", "plan")[!c(is.null(offsets), is.null(lengths), is.null(g), is.null(plan))]
  if (length(how) != 1) {
    stop_kernops("input", c("Exactly one of {.arg offsets}, {.arg lengths}, {.arg g} and {.arg plan} must be given.",
                            x = if (length(how)) "Given: {.arg {how}}.",
                            i = if (is.character(lengths)) "Groups and an operation have names: {.code g = groups,
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
  values <- segments(made)$about$values
  if (!is.null(n) && values != n) {
    stop_kernops("dim",
                 "{.arg {how}} {if (how == 'plan') 'is for' else 'has'} {values} value{?s}, but {what} has {n}.",
                 call = call)
  }
  made
}

# Groups in the place of offsets, which are numbers.
is_keys <- function(x) is.factor(x) || is.character(x) || inherits(x, c("GRP", "formula"))

# Numbers of groups in the place of offsets would divide the values into other segments. `made` is the call: who names
# the offsets means them, and what comes by `...` was looked at before. Distinct numbers below n are the same as either,
# and what ends with n is no group.
check_no_groups <- function(offsets, n, made, call = caller_env()) {
  if (!is.numeric(offsets) || length(offsets) != n) return(invisible())
  named <- any(grepl("^of", names(made)))
  passed_on <- any(vapply(as.list(made), identical, NA, quote(...)))
  if (named || passed_on) return(invisible())
  positions <- as.numeric(offsets)
  if (all(positions %in% (seq_len(n) - 1)) && !anyDuplicated(positions)) return(invisible())
  if (isTRUE(positions[[1]] == 0 && positions[[n]] == n)) return(invisible())
  stop_kernops("input", c("{.arg offsets} without its name has one number for each of the {n} value{?s}, as groups do.",
                          i = "{.code g = } is for groups, {.code offsets = } for where segments begin."), call = call)
}

# Also of class integer64. Factors, dates and time differences are not numeric in R. The C++ code checks the values.
check_whole <- function(x, name, call) {
  if (is.null(x) || is.numeric(x)) return(invisible())
  stop_kernops("input", c("{.arg {name}} must be whole numbers, not {.obj_type_friendly {x}}.",
                          i = if (is.factor(x)) "Give groups as {.arg g}.",
                          i = if (is.character(x)) "Give groups as {.arg g}, the operation as {.arg op}."), call = call)
}

new_plan <- function(how, about, n = NULL) {
  structure(c(about, list(how = how, n = n, cell = new.env(parent = emptyenv()))), class = "seg_plan")
}

# The plan of groups that have numbers from 1 already.
numbered_plan <- function(numbers, count) new_plan("g", list(input = numbers, count = count))

check_number_of_values <- function(n, call) {
  if (is_plain_numeric(n) && length(n) == 1 && !is.na(n) && n >= 0 && n == floor(n)) return(as.numeric(n))
  stop_kernops("input", paste0("{.arg n} must be a non-negative whole number, not ", shown(n), "."), call = call)
}

check_plan <- function(plan, call) {
  if (inherits(plan, "seg_plan")) return(plan)
  stop_kernops("input", "{.arg plan} must be made by {.fn seg_plan}, not {.obj_type_friendly {plan}}.", call = call)
}

# The analysed segments, made when they are first used, and again after readRDS().
segments <- function(plan) {
  cell <- plan$cell
  if (is.null(cell$made) || is_null_pointer(cell$made$pointer)) {
    n <- plan$n %||% -1
    cell$made <- switch(plan$how, offsets = seg_from_offsets(plan$input, plan$sources, n),
                        lengths = seg_from_lengths(plan$input, plan$sources, n),
                        g = seg_from_groups(plan$input, plan$count, threads(), plan$sizes),
                        keys = seg_from_keys(plan$input))
  }
  cell$made
}

# A plan for one call of the function whose environment is `frame`: when that ends, also by an error or interrupt, the
# plan's memory is freed. It is memory of C++, which R's collector does not see.
temporary <- function(plan, frame = caller_env()) {
  do.call(on.exit, list(as.call(list(free_plan, plan)), add = TRUE), envir = frame)
  plan
}

free_plan <- function(plan) {
  cell <- plan$cell
  if (!is.null(cell$made)) seg_free(cell$made$pointer)
  cell$made <- NULL
}

# Numbers from 1 of the groups in order, and their names.
group_numbers <- function(g, sort, call) {
  if (inherits(g, "GRP")) {
    keys <- lapply(as.list(g$groups), as.character)
    names <- if (length(keys)) Reduce(\(a, b) paste(a, b, sep = "."), keys)
    return(list(input = as.integer(g$group.id), count = g$N.groups, names = names))
  }
  if (length(dim(g)) == 1 || length(dim(g)) == 2 && ncol(g) == 1) g <- c(g) # as of argmin()
  if (!is.atomic(g) || is.raw(g) || length(dim(g)) > 1) {
    stop_kernops("input", c("{.arg g} must be a vector or a factor, not {.obj_type_friendly {g}}.",
                            i = "{.fn interaction} combines several factors into one."), call = call)
  }
  if (is.factor(g)) return(level_numbers(g, sort))
  near <- if (sort && is.numeric(g) && !is.object(g)) seg_number_groups(g, threads())
  if (!is.null(near)) {
    storage.mode(near$levels) <- typeof(g)
    return(list(input = near$codes, count = length(near$levels), names = key_names(near$levels), sizes = near$lengths))
  }
  plain <- level_key(g)
  keys <- g[!duplicated(plain)] # in their class, which unique() drops
  there <- !is.na(keys) | is.double(keys) & is.nan(keys) # NaN is a group, as factor() has it
  keys <- if (sort) sort_keys(keys[there]) else keys[there]
  list(input = match(plain, level_key(keys)), count = length(keys), names = key_names(keys))
}

level_numbers <- function(g, sort) {
  codes <- as.integer(g)
  if (sort) return(list(input = codes, count = nlevels(g), names = levels(g)))
  seen <- unique(codes[!is.na(codes)])
  list(input = match(codes, seen), count = length(seen), names = levels(g)[seen])
}

is_bytes <- function(keys) is.character(keys) && any(Encoding(keys) == "bytes")

# R does not sort strings of bytes.
sort_keys <- function(keys) if (is_bytes(keys)) keys[order(readable_text(keys))] else sort(keys, na.last = TRUE)

# Names as tapply() has them, unless keys that differ would have the same.
key_names <- function(keys) {
  names <- if (!is_bytes(keys)) as.character(keys)
  if (is.null(names) || anyDuplicated(names)) value_labels(keys) else names
}

#' @export
print.seg_plan <- function(x, ...) {
  about <- segments(x)$about
  cli::cat_line("<seg_plan> ", in_digits(about$segments), " segments of ", in_digits(about$values), " values")
  mean <- about$covered / max(about$segments, 1)
  cli::cat_line("  lengths    ", in_digits(about$shortest), " to ", in_digits(about$longest), ", ",
                format(mean, digits = 3, scientific = FALSE), " on average")
  cli::cat_line("  empty      ", in_digits(about$empty))
  order <- if (x$how == "g") if (about$sorted) "sorted groups" else "unsorted groups"
  cli::cat_line("  values     ", order %||% if (is.null(x$sources)) "in order" else "given by sources")
  invisible(x)
}

# A count, also a large one.
in_digits <- function(n) format(n, big.mark = ",", decimal.mark = ".", scientific = FALSE, trim = TRUE)
