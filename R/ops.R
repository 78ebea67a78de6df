#' The operations of the formula language
#'
#' Lists the operations that a formula of [keops_kernel()] may contain.
#'
#' @return A data frame with one row for each operation: `name`, `group`, `arguments` (`a`, `b`, `c` are vectors of
#'   sizes `A`, `B`, `C`; `p` and `q` are integers), the `size` of the result (`same(A, B)` requires equal sizes, or
#'   size 1, which is recycled; 0 means that the sizes do not match; for an abbreviation, the definition of the
#'   abbreviation), its `meaning`, and its `gradient` for each vector argument, where `g` is the incoming gradient.
#' @seealso [keops_reductions()] for the reductions, [keops_kernel()] for operators, [lazy_op()] for the same operations
#'   on symbolic matrices.
#' @examples
#' ops <- keops_ops()
#' ops[ops$group == "vectors", c("name", "arguments", "meaning")]
#' @export
keops_ops <- function() ops_table()

#' The reductions of the formula language
#'
#' Lists the reductions that may be the outermost part of a formula of [keops_kernel()].
#'
#' @return A data frame with one row for each reduction: `name` (in a formula `<name>_Reduction`), `arguments` (`f` is
#'   the reduced vector, of size `F`; `w` are weights, of size `W`; `p` is an integer), the `size` of the result, its
#'   `meaning`, and its `gradient` for each vector argument, where `g` is the incoming gradient.
#' @seealso [keops_kernel()] for a description, [lazy_reduction] for reductions of symbolic matrices.
#' @examples
#' keops_reductions()[, c("name", "arguments", "meaning")]
#' @export
keops_reductions <- function() reductions_table()
