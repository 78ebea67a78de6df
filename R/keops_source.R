#' CUDA source of an operator
#'
#' Returns the CUDA source that is compiled for a GPU: the names and the order of the operations. The operations are
#' defined in the headers under `system.file("include", package = "kernops")`.
#'
#' @param op an operator made by [keops_kernel()] or [keops_grad()].
#' @return A string, the source of the last reduction that `op` computes, for GPUs of compute capability 8.0. For 9.0, a
#'   kernel for long vectors in float32 may begin with other numbers of threads and rows. No GPU is needed.
#' @seealso [keops_kernel()], [keops_formula()]; [kernops_cache_info()] for compiled kernels.
#' @examples
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"))
#' cat(keops_source(op))
#' @export
keops_source <- function(op) {
  check_operator(op)
  from <- environment(op)
  kernel <- if (is_null_pointer(from$kernel)) kernel_compile(from$formula, from$args) else from$kernel
  cuda_source(kernel, from$precision == "float32", match(from$sum_scheme, sum_schemes) - 1L, from$wide)
}
