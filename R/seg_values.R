#' Data frames, dates, factors and other classes in segments
#'
#' [seg_reduce()], [reduce_by_key()], [seg_scan()], [seg_roll()] and [seg_transform()] accept data frames, with columns
#' of different kinds. These functions, and also [seg_sort()], [seg_order()], [seg_rank()] and [seg_top()], accept
#' factors, dates, times, time differences, 64-bit integers, complex numbers and strings, as vectors or matrices.
#'
#' @section Data frames: The argument `op` is one operation, or several such as `c("sum", "mean")`, which apply to all
#' columns that do not define groups; or a list with operations for some columns, such as `list(x = "sum", y = c("mean",
#' "sd"))`. A column with one operation keeps its name. With several operations, the names of results have the form
#' `column_operation`, for example `x_sum`; if an operation has a name, as in `c(total = "sum")`, the result is
#' `x_total`. Several quantiles, and the two ends of a range, are separate columns.
#'
#' The argument `g` is a formula with columns of `x`, such as `~ species + site`; a vector; or a data frame or list of
#' vectors. Without `g`, the groups of `dplyr::group_by()` are used. If there are several keys, each combination that
#' occurs is a group, in the order of the first key, then of the second. For a single factor, each level is a group,
#' including unused levels. Rows with a key `NA` are in no group.
#'
#' If a function has a result for each segment, the data frame has a row for each segment. Its first columns contain the
#' groups and keep their classes. The names of these columns are those of the formula or list, or `group` if there are
#' no names; without groups, there is no such column. If a function has a result for each value ([seg_scan()],
#' [seg_roll()] and [seg_transform()]), the data frame has the rows of `x`, and the columns in the formula `g` come
#' first. All other arguments, such as `na.rm` and `weights`, apply to each column.
#'
#' @section Classes:
#' | class | results of the class | numbers |
#' |---|---|---|
#' | factor | `first` `last` `mode`, sorted | `count` `n_distinct` |
#' | ordered, string | `min` `max` `range` `first` `last` `nth` `mode`, sorted | `count` `n_distinct` `argmin` `argmax` |
#' | `Date`, `POSIXct` | the same, `mean` `median` `quantile` | the same, `skewness` `kurtosis` `scale` |
#' | `difftime` | the same, `sum` `sd` `iqr` `mad` `center` `diff` | the same, `share` |
#' | integer64 | as strings, `sum` `diff` and bit operations | all others, as doubles |
#' | complex | `sum` `prod` `mean` `first` `last` `center` `diff` | `count` `n_distinct` |
#'
#' For dates and times, the results of `sd`, `iqr`, `mad`, `center` and `diff` are a `difftime`, in days or seconds.
#'
#' Results keep the units, time zones and levels of the data. The minimum or maximum of a segment without values is
#' `NA`, since a class may have no infinite value; `empty` must be a value of the class of the result. Strings are
#' compared as by [sort()]. `"lag"`, `"lead"`, `"fill_down"` and `"fill_up"` of [seg_transform()] accept all classes.
#'
#' Sums of integer64 are exact. If a sum exceeds 64 bits, all sums are returned as doubles, with a warning of class
#' `kernops_overflow_warning`. Package 'bit64' need not be installed. Weighted sums are doubles.
#'
#' Numbers of other classes, such as time series, are treated as plain numbers, and results have no class.
#'
#' @return For a data frame, a data frame; for a tibble, a tibble without groups. For a vector or matrix, see the help
#'   of each function.
#'
#' @section Errors: class `kernops_input_error` for an operation that a class does not allow; the message lists the
#'   operations that the class allows, and names the column.
#'
#' @seealso [seg_reduce()]; `aggregate()` in base R.
#' @examples
#' seg_reduce(iris, g = ~Species, op = list(Sepal.Length = c("mean", "sd"), Petal.Width = "max"))
#' seg_reduce(airquality, g = ~Month, op = "mean", na.rm = TRUE)
#' head(seg_scan(ChickWeight[c("Chick", "weight")], g = ~Chick, op = "max"))
#' days <- as.Date("2024-02-27") + 0:3
#' seg_reduce(days, g = c("a", "b", "a", "b"), op = "median")
#' # the rows of a data frame, sorted by a column within groups
#' head(warpbreaks[seg_order(warpbreaks$breaks, g = warpbreaks$tension), ])
#' @name seg_values
NULL

# The classes of values that operations on segments support. `value_rules` has an element for each class: for each
# operation that the class allows, the function of seg_encodings.R that converts values to numbers for this operation.
# The functions that reduce, scan, roll, sort and transform read numbers.

moving_ops <- c("lag", "lead", "fill_down", "fill_up")
chosen_ops <- c("first", "last", "mode", "min", "max", "range", "nth", "sort", "top")
counted_ops <- c("count", "n_distinct", "argmin", "argmax", "order", "rank")
central_ops <- c("mean", "median", "quantile")
spread_ops <- c("sd", "iqr", "mad", "center", "diff")
shape_ops <- c("skewness", "kurtosis", "scale")

rule <- function(encode, ...) {
  ops <- c(...)
  stats::setNames(rep(list(encode), length(ops)), ops)
}

value_rules <- list(
  ordered = c(rule(as_stored, chosen_ops), rule(as_number, counted_ops)),
  factor = c(rule(as_stored, "first", "last", "mode", "sort"), rule(as_number, "count", "n_distinct", "order", "rank")),
  Date = c(rule(as_stored, chosen_ops, central_ops), rule(as_number, counted_ops, shape_ops),
           rule(as_difference, spread_ops)),
  POSIXct = c(rule(as_stored, chosen_ops, central_ops), rule(as_number, counted_ops, shape_ops),
              rule(as_difference, spread_ops)),
  difftime = c(rule(as_stored, chosen_ops, central_ops, spread_ops, "sum"),
               rule(as_number, counted_ops, shape_ops, "share")),
  integer64 = integer64_rules(),
  complex = c(rule(as_complex_parts, "sum", "mean", "first", "last", "center", "diff"),
              rule(as_complex_equal, "count", "n_distinct")),
  character = c(rule(as_codes, chosen_ops), rule(as_code_numbers, counted_ops))
)

# The name of the element of `value_rules` for the class of x; NULL for plain numbers, and for classes that no function
# supports.
class_of_values <- function(x) {
  if (is.complex(x)) return("complex")
  if (is.character(x)) return("character")
  class <- Find(\(class) inherits(x, class), setdiff(names(value_rules), c("complex", "character")))
  stored <- switch(class %||% "", factor = , ordered = "integer", integer64 = "double", c("integer", "double"))
  if (typeof(x) %in% stored) class
}

# TRUE for values whose class is in `value_rules`. The first three tests are fast, and all three are FALSE for plain
# vectors of numbers.
is_classed <- function(x) (is.object(x) || is.complex(x) || is.character(x)) && !is.null(class_of_values(x))

# Checks that x is a vector or matrix of plain numbers, or that its class allows the operation.
check_reducible <- function(x, op, backend = "auto", call = caller_env()) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (!is_classed(x)) return(check_values(x, backend, call))
  check_rule(x, op, call)
  check_two_dims(x, "x", call)
  if (length(dim(x)) == 1) dim(x) <- NULL
  x
}

check_rule <- function(x, op, call) {
  class <- class_of_values(x)
  allowed <- setdiff(names(value_rules[[class]]), c("sort", "order", "rank", "top"))
  allowed <- cli::cli_vec(allowed, list("vec-trunc" = Inf))
  if (!inherits(op, "seg_op") && all(op %in% names(value_rules[[class]]))) return(invisible())
  name <- if (inherits(op, "seg_op")) "a {.cls seg_op}" else "the operation {.val {op}}"
  stop_kernops("input", c(paste0("Values of class {.cls {class}} do not allow ", name, "."),
                          i = "Allowed: {.val {allowed}}."), call = call)
}
