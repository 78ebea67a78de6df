# Terms of pairs that are entries of a table: data for pair variables, which have a value for each pair (keops_pairs.R).

#' Terms of pairs from a table
#'
#' Operators of [keops_kernel()] may have variables with a value for each pair of points, declared as `"A = Vij(1)"`:
#' the input of such a variable is a matrix with a row for each i and a column for each j. `lookup_terms()` makes an
#' input whose values are entries of a smaller table, `table[i, j]`, without storing the values of all pairs. For
#' example, the table contains a score for each pair of classes of points.
#'
#' @param table a matrix of numbers.
#' @param i,j the rows and columns of the table: `i` contains the number of a row of the table for each point i, `j` the
#'   number of a column of the table for each point j.
#'
#' @return An object for the input of an operator.
#' @section Errors: class `kernops_input_error` if the table is not a numeric matrix, or if `i` or `j` contain a number
#'   that is not a row or column of the table.
#'
#' @seealso [keops_kernel()].
#' @aliases dim.kernops_lookup
#' @examples
#' set.seed(1)
#' x <- matrix(runif(20), 10)
#' y <- matrix(runif(16), 8)
#' # stored weights for all pairs
#' w <- matrix(runif(80), 10)
#' op <- keops_kernel("Sum_Reduction(w * Exp(-SqDist(x, y)), 1)",
#'                    c("x = Vi(2)", "y = Vj(2)", "w = Vij(1)"))
#' op(list(x, y, w))
#' # weights that depend on the classes of both points
#' score <- matrix(c(1, 0.2, 0.2, 1), 2)
#' op(list(x, y, lookup_terms(score, rep(1:2, 5), rep(1:2, 4))))
#' @export
lookup_terms <- function(table, i, j) {
  if (!is.matrix(table) || !is.numeric(table)) {
    stop_kernops("input", "{.arg table} must be a matrix of numbers.")
  }
  check_numbers_of(i, "i", nrow(table))
  check_numbers_of(j, "j", ncol(table))
  structure(list(table = table, i = as.integer(i), j = as.integer(j)), class = "kernops_lookup")
}

check_numbers_of <- function(x, name, most, call = caller_env()) {
  if (is.numeric(x) && length(x) && !anyNA(x) && all(x == round(x) & x >= 1 & x <= most)) return(invisible())
  stop_kernops("input", "{.arg {name}} must be whole numbers from 1 to {most}.", call = call)
}

#' @export
dim.kernops_lookup <- function(x) c(length(x$i), length(x$j))

#' @export
print.kernops_lookup <- function(x, ...) {
  cli::cat_line("<lookup> ", length(x$i), " x ", length(x$j), " terms from a table ", nrow(x$table), " x ",
                ncol(x$table))
  invisible(x)
}
