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
