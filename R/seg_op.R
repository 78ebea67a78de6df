#' User-defined operations on segments
#'
#' `seg_op()` creates an operation for [seg_reduce()] from any associative formula of two values `a` and `b`, in the
#' formula language of [keops_kernel()]: `"a + b"`, `"Max(Abs(a), Abs(b))"`, `"a + b - a * b"`.
#'
#' A segment is reduced by a balanced tree: pairs of adjacent values are combined, then pairs of adjacent results, and
#' so on. On the GPU the tree has a different shape, which is the same in every run. The order of the values is
#' preserved, so that the operation need not be commutative. The operation must be associative, up to rounding:
#' combining (a, b) with c must give the same result as combining a with (b, c). `seg_op()` tests associativity with
#' whole numbers from -2 to 2 and with 200 random triples of numbers of both signs; the triples are the same in every
#' session.
#'
#' Several formulas with names define an operation on values of several fields, such as a count with a mean. The formula
#' of each field may contain fields of both values: `a_mean` is the field `mean` of the first value, and `b_n` is the
#' field `n` of the second value. [seg_reduce()] and [reduce_by_key()] apply the operation to a data frame with these
#' columns, [seg_reduce()] also to a list of vectors, and [axis_reduce()] to a list of arrays; the result has the same
#' fields. The fields of complex numbers are `re` and `im`. These operations run on the CPU.
#'
#' @param formula a string with the variables `a` and `b` that gives one number; or a named vector of strings, a formula
#'   for each field.
#' @param identity the result of an empty segment: a number or, for several fields, a vector with a number for each
#'   field, named by the fields.
#' @param values for an operation that is associative only for some numbers: a vector of numbers for which it is
#'   associative (for several fields, a data frame). The test draws its triples from these numbers. For example, `"a !=
#'   b"` is associative for `values = 0:1`.
#'
#' @return An object of class `seg_op`.
#'
#' @section Errors: class `kernops_formula_error` for a mistake in the formula, with a caret under the position of the
#'   mistake; `kernops_input_error` if the formula is not associative, with three numbers as a counterexample.
#'
#' @seealso [seg_reduce()] and [reduce_by_key()], which accept such operations; [keops_ops()] for the language.
#' @examples
#' largest_size <- seg_op("Max(Abs(a), Abs(b))", identity = 0)
#' seg_reduce(c(1, -3, 2, -1), lengths = c(2, 0, 2), op = largest_size)
#' # means of values that are means of groups
#' pool <- seg_op(c(n = "a_n + b_n", mean = "(a_n * a_mean + b_n * b_mean) / (a_n + b_n)"), c(n = 0, mean = NA))
#' studies <- data.frame(site = c("u", "v", "u"), n = c(10, 20, 30), mean = c(1.5, 2, 1.7))
#' seg_reduce(studies, g = ~site, op = pool)
#' @export
seg_op <- function(formula, identity = NA_real_, values = NULL) {
  if (is.character(formula) && length(formula) > 1) {
    op <- new_field_op(formula, identity)
    check_field_associative(op, values)
    return(op)
  }
  formula <- check_text(formula, "formula", one = TRUE)
  op <- new_seg_op(formula, check_one(identity, "identity"))
  check_associative(op, triples_of(values))
  op
}

# Creates an operation from a formula without testing that the formula is associative.
new_seg_op <- function(formula, identity = NA_real_) {
  cell <- new.env(parent = emptyenv())
  cell$pointer <- seg_compile(formula)
  structure(list(formula = formula, identity = identity, cell = cell), class = "seg_op")
}

# The results of the operation for the pairs (a[k], b[k]).
of_pairs <- function(op, a, b) {
  run_plan(as.numeric(rbind(a, b)), temporary(seg_plan(lengths = rep(2, length(a)))), op)
}

# Triples of numbers for the test of associativity. The random numbers have few significant bits, so that their sums and
# products are exact.
triples_of <- function(values, call = caller_env()) {
  if (is.null(values)) {
    whole <- as.matrix(expand.grid(-2:2, -2:2, -2:2))
    return(list(whole[order(rowSums(abs(whole))), ], with_seed(1, matrix(round(2048 * stats::rnorm(600)) / 1024, 200))))
  }
  if (!is_plain(values) || !length(values)) {
    stop_kernops("input", "{.arg values} must be numeric, not {.obj_type_friendly {values}}.", call = call)
  }
  list(with_seed(1, matrix(values[sample.int(length(values), 600, replace = TRUE)], 200)))
}

# Tests associativity with triples; results that are not finite are ignored. The two results may differ for up to 2 % of
# the triples: if numbers nearly cancel, as in a * b / (a + b), rounding may change the result of an associative
# operation by any amount.
check_associative <- function(op, tries, call = caller_env()) {
  for (of in tries) {
    a_b <- of_pairs(op, of[, 1], of[, 2])
    b_c <- of_pairs(op, of[, 2], of[, 3])
    first <- of_pairs(op, a_b, of[, 3])
    last <- of_pairs(op, of[, 1], b_c)
    size <- do.call(pmax, lapply(list(of[, 1], of[, 2], of[, 3], a_b, b_c, first, last), abs))
    told <- is.finite(first) & is.finite(last)
    off <- which(told & abs(first - last) > 1e-6 * size)
    if (length(off) <= sum(told) / 50) next
    k <- off[[1]]
    stop_kernops("input", call = call, c(
      "{.arg formula} must be associative: adjacent values are combined in any order.",
      x = "For {of[k, ]}, combining the first two first gives {signif(first[[k]], 6)}, combining the last two
           first gives {signif(last[[k]], 6)}.",
      i = "If it is associative for the numbers in your data, give some of them as {.arg values}."
    ))
  }
}

compiled_op <- function(op, call = NULL) {
  if (has_fields(op)) {
    stop_kernops("input", "An operation on several fields is available for {.fn seg_reduce}, {.fn reduce_by_key} and
                           {.fn axis_reduce} of values with these fields.", call = call)
  }
  if (is_null_pointer(op$cell$pointer)) op$cell$pointer <- seg_compile(op$formula) # the pointer is null after readRDS()
  op$cell$pointer
}

#' @export
print.seg_op <- function(x, ...) {
  if (has_fields(x)) cli::cat_line("<seg_op> of ", length(x$fields), " fields")
  cli::cat_line(if (has_fields(x)) paste0("  ", x$fields, " = ") else "<seg_op> ", x$formula, ", ", x$identity,
                " for an empty segment")
  invisible(x)
}

# The table of operations, which is in inst/include/kernops/segments.def.
segment_ops <- function() the$segment_ops <- the$segment_ops %||% seg_ops_table()

# The row of segments.def for an operation, as a list. The rows are kept, because this function is called often.
statistic <- function(op) {
  if (is.null(the$statistics)) the$statistics <- lapply(split(segment_ops(), segment_ops()$name), as.list)
  the$statistics[[op]]
}

# Checks that an operation is the name of a row of segments.def, "softmax", one of the names `more`, or an object of
# class `seg_op`.
check_op <- function(op, more = character(), call = caller_env()) {
  if (inherits(op, "seg_op")) return(op)
  if (is.character(op) && length(op) > 1) {
    stop_kernops("input", c("{.arg op} must be one operation, not {length(op)}.",
                            i = "The columns of a data frame take several, such as those of {.code data.frame(x)}."),
                 call = call)
  }
  check_choice(op, "op", c(segment_ops()$name, "softmax", more), call)
}
