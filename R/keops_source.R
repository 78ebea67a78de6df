#' CUDA source of an operator
#'
#' Returns the CUDA source that is compiled for a GPU, with the name of the kernel and the reason for its choice. The
#' source contains the names of the operations in the order of their evaluation; the headers under
#' `system.file("include", package = "kernops")` define the operations.
#'
#' @param op an operator made by [keops_kernel()] or [keops_grad()].
#' @param rows,columns the numbers of rows i and columns j that the GPU processes at a time. The choice of the kernel
#'   depends on these numbers: for example, if there are few rows, a block of threads processes all rows.
#' @param device a GPU of this machine by its number, or any NVIDIA GPU by its compute capability, such as `"sm_90"`
#'   (H100, H200) or `"sm_80"` (A100). The default is the GPU of `op`, or `"sm_80"` on a machine without GPUs.
#' @return A string: two lines of comment with the name of the kernel and the reason for its choice, then the source of
#'   the last reduction that `op` computes. `print(op)` shows the same information for an operator with `backend =
#'   "cuda"`, for 1e5 rows and columns. No GPU is needed. A computation with [ranges] uses another kernel.
#' @seealso [keops_kernel()], [keops_formula()]; [kernops_cache_info()] for compiled kernels.
#' @examples
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"))
#' cat(keops_source(op))
#' long <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(100)", "y = Vj(100)"))
#' substr(keops_source(long, rows = 1000, columns = 1e6, device = "sm_90"), 1, 200)
#' @export
keops_source <- function(op, rows = 1e5, columns = 1e5, device = NULL) {
  check_operator(op)
  extent <- gpu_extent(check_extent(rows, "rows"), check_extent(columns, "columns"))
  gpu <- if (is.null(device)) gpu_of(environment(op)) else describe_gpu(device)
  recipe <- utils::tail(choose_kernels(environment(op), gpu, extent), 1)[[1]]
  text <- cuda_source(live(op), settings_of(op), gpu, extent)
  paste0("// ", recipe$words, "\n// ", recipe$reason, "\n", text)
}

# The kernels for all reductions of an operator, with the reason for each choice.
choose_kernels <- function(from, gpu = gpu_of(from), extent = gpu_extent(1e5, 1e5)) {
  cuda_recipes(from$live_kernel(), from$settings(), gpu, extent)
}

# The properties of a computation that determine the choice of a kernel. `attempt` is the number of kernels that have
# already failed for lack of memory or accuracy.
gpu_extent <- function(rows, columns, ranges = FALSE, attempt = 0L) {
  list(rows = rows, columns = columns, ranges = ranges, attempt = attempt)
}

check_extent <- function(n, name) {
  if (is.numeric(n) && length(n) == 1 && is.finite(n) && n >= 1 && n == round(n)) return(n)
  stop_kernops("input", paste0("{.arg {name}} must be a whole number, at least 1, not ", shown(n, "n"), "."))
}

# The properties of a GPU that determine the choice of a kernel. `device` is the number of a GPU, or a compute
# capability.
describe_gpu <- function(device) {
  if (is.numeric(device)) {
    number <- check_device(device)[[1]]
    check_gpu(number)
    here <- cuda_describe()
    here <- here[here$device == number, ]
    return(typical_gpu(here$architecture, here$multiprocessors))
  }
  if (is.character(device) && length(device) == 1 && grepl("^sm_[1-9][0-9]{1,2}$", device)) return(typical_gpu(device))
  stop_kernops("input", paste0("{.arg device} must be the number of a GPU or a compute capability such as ",
                               "{.val sm_90}, not ", shown(device), "."))
}

typical_gpu <- function(architecture, multiprocessors = typical[[architecture]]) {
  typical <- c(sm_70 = 80L, sm_80 = 108L, sm_86 = 82L, sm_89 = 128L, sm_90 = 132L, sm_100 = 148L, sm_120 = 170L)
  if (!architecture %in% names(typical)) typical[[architecture]] <- 80L
  list(architecture = architecture, multiprocessors = multiprocessors,
       fast_doubles = architecture %in% c("sm_60", "sm_70", "sm_80", "sm_90", "sm_100"))
}

# The first GPU of an operator, or a typical GPU if there is none.
gpu_of <- function(from) if (nzchar(cuda_problem(from$device))) typical_gpu("sm_80") else describe_gpu(from$device)
