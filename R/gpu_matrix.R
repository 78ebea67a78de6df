#' A matrix that stays on the GPU
#'
#' `gpu_matrix()` copies a matrix to an NVIDIA GPU, where operators of [keops_kernel()] and [kernel_solve()] use the
#' matrix without further copies. A `gpu_matrix` can be given wherever these functions accept a matrix, and `op(input,
#' output = "gpu")` returns a `gpu_matrix`.
#'
#' @details
#' Rows and columns are selected by `x[i, j]`, with positions, negative positions or logicals, as for a matrix; the
#' result is always a `gpu_matrix`, never a vector. `as.matrix()` copies the matrix to the host. Names are not kept.
#'
#' If an operator runs on a GPU other than the GPU that stores a matrix, the required data are copied between the GPUs.
#'
#' The option `kernops.gpu_memory` (or the environment variable `KERNOPS_GPU_MEMORY`) limits the number of bytes that
#' kernops uses on each GPU. Operators then process larger data piece by piece, as they do with data larger than the
#' GPU's memory.
#'
#' The memory is freed when R collects the object, and at the end of the R session at the latest: a `gpu_matrix`
#' restored by `readRDS()` is empty, and using it is an error.
#'
#' @param x a matrix, data frame or vector (one column) of numbers or logicals, or a `gpu_matrix`.
#' @param precision `"float64"`, or `"float32"` for half the memory: numbers are rounded to about 7 digits. `"bfloat16"`
#'   and `"float16"` round to about 2 or 3 digits and need a quarter of the memory; operators of [keops_kernel()] of any
#'   precision accept such matrices, but other functions do not. The default is the option `kernops.precision` or, if
#'   the option is not set, `"float64"`.
#' @param device the number of the GPU, counted from 0. The default is the (first) number in the option `kernops.device`
#'   or, if the option is not set, 0.
#'
#' @return An object of class `gpu_matrix`, with methods for `print()`, `dim()`, `length()`, `as.matrix()` and `[`.
#'
#' @section Errors: class `kernops_cuda_error` if no GPU can be used, `kernops_memory_error` if the memory of the GPU is
#'   full, `kernops_input_error` for invalid data.
#'
#' @seealso [keops_kernel()], [kernel_solve()] and [seg_reduce()], which accept a `gpu_matrix`; [kernops_sitrep()] for
#'   the GPUs of this machine; [with_kernops()] for the options.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(3000), 1000)
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"))
#' on_gpu <- try(gpu_matrix(x)) # an error without a GPU
#' if (inherits(on_gpu, "gpu_matrix")) {
#'   print(on_gpu[1:10, ])
#'   density <- op(list(on_gpu, on_gpu), output = "gpu")
#'   head(as.matrix(density))
#' }
#' @aliases [.gpu_matrix as.matrix.gpu_matrix dim.gpu_matrix length.gpu_matrix
#' @export
gpu_matrix <- function(x, precision = c("float64", "float32", "bfloat16", "float16"), device = NULL) {
  precision <- check_precision(precision, precisions)
  device <- check_one_device(device)
  if (is.data.frame(x)) x <- check_numeric_columns(x, "x", call = NULL)
  if (is.data.frame(x) || is_gpu_matrix(x)) x <- as.matrix(x)
  if (!is_plain(x)) {
    what <- if (is.object(x)) class(x)[[1]] else typeof(x)
    stop_kernops("input", "{.arg x} must be a numeric matrix or vector, not {what}.")
  }
  if (length(dim(x)) > 2) {
    sizes <- dim(x)
    stop_kernops("input", "{.arg x} must be a matrix or vector, not an array of {length(sizes)} dimensions.")
  }
  if (length(dim(x)) < 2 && length(x) > .Machine$integer.max) {
    stop_kernops("dim", "{.arg x} must have fewer than 2^31 rows, like every R matrix, not {length(x)}.")
  }
  check_gpu(device)
  gpu_upload(`storage.mode<-`(as.matrix(x), "double"), precision, device)
}

check_one_device <- function(device, call = caller_env()) {
  numbers <- check_device(device, call)
  if (is.null(device) || length(numbers) == 1) return(numbers[[1]])
  stop_kernops("input", "{.arg device} must be one GPU number: a matrix is stored on a single GPU.", call = call)
}

is_gpu_matrix <- function(x) inherits(x, "gpu_matrix")

# Checks `output`. TRUE if a result stays on the GPU, which requires a computation on the GPU.
check_output <- function(output, call = caller_env()) {
  check_choice(output, "output", c("host", "gpu"), call) == "gpu"
}

stop_gpu_output <- function(call = caller_env()) {
  stop_kernops("input", "{.code output = \"gpu\"} requires a GPU matrix or the backend \"cuda\".", call = call)
}

# A variant of check_output() that also accepts a gpu_matrix other than x as `output`, the matrix that receives the
# result. For such a matrix the value is TRUE, with the matrix as the attribute "into".
check_target <- function(output, x, call = caller_env()) {
  if (!is_gpu_matrix(output)) return(check_output(output, call))
  if (identical(output, x)) {
    stop_kernops("input", "{.arg output} must be another {.cls gpu_matrix} than the values.", call = call)
  }
  structure(TRUE, into = output)
}

# Copies a result of the CPU to the GPU: to the gpu_matrix in the attribute "into" of `stay`, or to a new gpu_matrix.
to_gpu <- function(result, stay) {
  if (is.null(attr(stay, "into"))) return(gpu_matrix(result, "float64"))
  gpu_fill(attr(stay, "into"), `storage.mode<-`(result, "double"))
}

#' @export
dim.gpu_matrix <- function(x) gpu_describe(x)$dim

#' @export
length.gpu_matrix <- function(x) prod(dim(x))

#' @export
as.matrix.gpu_matrix <- function(x, ...) gpu_download(x)

#' @export
`[.gpu_matrix` <- function(x, i, j, ..., drop = FALSE) {
  if (nargs() - (!missing(drop)) != 3) {
    stop_kernops("input", "A {.cls gpu_matrix} is indexed by rows and columns, as in {.code x[i, ]}.")
  }
  size <- dim(x)
  rows <- if (!missing(i)) positions(i, size[[1]], "row")
  columns <- if (missing(j)) seq_len(size[[2]]) else positions(j, size[[2]], "column")
  gpu_gather(x, rows, columns)
}

# The positions of the rows or columns that an index selects; n is the total number of rows or columns.
positions <- function(index, n, what, names = NULL, call = caller_env()) {
  chosen <- tryCatch(unname(stats::setNames(seq_len(n), names)[index]), error = function(e) NA)
  if (!anyNA(chosen)) return(chosen)
  stop_kernops("input", "The index is out of range: there {cli::qty(n)}{?is/are} {n} {what}{cli::qty(n)}{?s}.",
               call = call)
}

#' @export
print.gpu_matrix <- function(x, ...) {
  about <- gpu_describe(x)
  cli::cat_line("<gpu_matrix> ", paste(about$dim, collapse = " x "), ", ", about$precision, ", ",
                in_digits(about$bytes), " bytes on GPU ", about$device, ", ",
                about$name)
  invisible(x)
}
