#' The operations of the formula language
#'
#' @return A data frame with one row per operation: `name`, `group`, `arguments` (`a`, `b`, `c` are vectors of sizes
#'   `A`, `B`, `C`, `p` and `q` integer numbers), the `size` of the result (`same(A, B)` means equal sizes, or size 1,
#'   which repeats; 0 that the sizes do not fit; for an abbreviation, what it stands for), its `meaning`, and its
#'   `gradient` for each vector argument, where `g` is the incoming gradient.
#' @examples
#' ops <- keops_ops()
#' ops[ops$group == "vectors", c("name", "arguments", "meaning")]
#' @export
keops_ops <- function() ops_table()

#' The reductions of the formula language
#'
#' @return A data frame with one row per reduction: `name` (in a formula `<name>_Reduction`), `arguments` (`f` is what
#'   is reduced, of size `F`; `w` weights, of size `W`; `p` an integer number), the `size` of the result, its `meaning`,
#'   and its `gradient` for each vector argument, where `g` is the incoming gradient.
#' @seealso [keops_kernel()] for what they do, [lazy_reduction] for their use with symbolic matrices.
#' @examples
#' keops_reductions()[, c("name", "arguments", "meaning")]
#' @export
keops_reductions <- function() reductions_table()
