# Verbs are functions for tasks such as clustering or density estimation, unlike functions whose argument is a formula.
# The files verb_*.R follow these rules:
#
# - A verb checks its arguments with the functions of this file, so that all verbs refuse the same input: missing and
#   infinite coordinates, no points, different numbers of coordinates.
# - A verb has little code. Sums over pairs are formulas of recent_operator(), which keeps compiled operators and runs
#   on the given `backend`; neighbours are searched with search_tree().
# - A verb has no separate settings: threads, precision and device are the options of kernops.
# - Random numbers come from R's generator, as in stats, so that set.seed() repeats a result.

# An n x d matrix of doubles, from a matrix, a data frame, or a vector with one number for each point.
verb_points <- function(x, name, columns = NULL, call = caller_env()) {
  x <- plain_numbers(x, name, call)
  if (is.atomic(x) && !is.null(x) && is.null(dim(x))) x <- matrix(x, dimnames = list(names(x), NULL))
  if (!is.matrix(x) || !is.numeric(x)) {
    stop_kernops("input", "{.arg {name}} must be a matrix or data frame of numbers with a row for each point, or a
                           vector, not {.obj_type_friendly {x}}.", call = call)
  }
  if (nrow(x) == 0) stop_kernops("input", "{.arg {name}} must have at least one point.", call = call)
  if (ncol(x) == 0) stop_kernops("dim", "{.arg {name}} must have at least one coordinate.", call = call)
  if (!is.null(columns) && ncol(x) != columns) {
    stop_kernops("dim", "{.arg {name}} must have {columns} coordinate{?s} as {.arg x} has, not {ncol(x)}.",
                 call = call)
  }
  if (!is.double(x)) storage.mode(x) <- "double"
  if (length(columns_with_gaps(x))) {
    bad <- which(!is.finite(rowSums(abs(x))))
    stop_kernops("input", "The coordinates of {.arg {name}} must be finite: see {cli::qty(length(bad))}row{?s} {bad}.",
                 call = call)
  }
  x
}

# Checks weights: a finite non-negative number for each of n points, at least one of which is positive. NULL if there
# are no weights.
verb_weights <- function(weights, n, name = "weights", call = caller_env()) {
  if (is.null(weights)) return(NULL)
  if (!is_plain_numeric(weights) || length(weights) != n || !all(is.finite(weights)) || any(weights < 0)) {
    stop_kernops("input", "{.arg {name}} must have one finite non-negative number for each of the {n} point{?s}.",
                 call = call)
  }
  if (all(weights == 0)) stop_kernops("input", "One of the {.arg {name}} must be positive.", call = call)
  as.numeric(weights)
}

# An operator for a formula, with the `backend` that the user chose.
verb_operator <- function(formula, declared, backend, precision = "float64") {
  recent_operator(formula, declared, "auto", precision, backend)
}
