#' Set options temporarily
#'
#' `with_kernops()` evaluates code with other options of kernops. `local_kernops()` sets options until the end of the
#' calling function. Afterwards the options are restored. Arguments of functions, such as `precision` of
#' [keops_kernel()], take precedence over options.
#'
#' @param code an expression.
#' @param ... options, with names without the prefix `kernops.`: `backend`, `device`, `precision`, `threads`, `isa`,
#'   `dense_entries`, `progress`; see [kernops-package]. `NULL` means the default.
#' @param .local_envir the frame at whose end the options are restored; default: the frame of the calling function. At
#'   the top level of a script, the options are not restored.
#'
#' @return `with_kernops()`: the value of `code`. `local_kernops()`: the previous options, invisibly.
#' @section Errors: class `kernops_input_error` for an unknown option or an invalid value.
#'
#' @seealso [kernops-package] for all options; [kernops_sitrep()].
#' @examples
#' set.seed(1)
#' x <- Vi(matrix(runif(30), 10))
#' with_kernops(sum(exp(-sqdist(x, t(x))), "j"), precision = "float32", threads = 1)
#' @export
with_kernops <- function(code, ...) {
  local_kernops(...)
  force(code)
}

#' @rdname with_kernops
#' @export
local_kernops <- function(..., .local_envir = parent.frame()) {
  settings <- check_settings(list(...))
  # rlang::local_options() in the version of Debian 12 restores options when a frame ends, but no frame ends at the top
  # level
  top <- identical(.local_envir, globalenv())
  old <- if (top) options(settings) else rlang::local_options(!!!settings, .frame = .local_envir)
  tryCatch(
    for (check in setting_checks) check(),
    error = function(e) {options(old); rlang::cnd_signal(e)}
  )
  invisible(old)
}

# The settings of a computation, which src/settings.cpp reads by name: `devices` (the indices of GPUs), `single`
# (float32 arithmetic), `scheme` (of summation), `accumulate_double`, `stay` (the result stays on the GPU), `tile` (the
# size of a block of values) and `progress` (a function). The C++ code has defaults for settings that are absent. With
# `cpu = FALSE`, the computation uses only a GPU: options of the CPU are not read, because reading them would take
# longer than a small call on a GPU.
run_settings <- function(..., backend = "auto", cpu = TRUE) {
  list(backend = backend, threads = if (cpu) threads() else 1L, isa = if (cpu) isa() else "", ...)
}

# The settings for operations on segments and axes, whose data are on at most one GPU. `into` is a gpu_matrix that
# receives the result.
segment_settings <- function(backend, stay, ...) {
  run_settings(backend = backend, devices = first_device(), stay = !isFALSE(stay), into = attr(stay, "into"),
               tile = segment_tile(), ...)
}

# A list with a function for each setting. The function stops if the option or the environment variable is invalid.
setting_checks <- list(
  \() threads(), \() isa(), \() check_device(NULL), \() check_precision(precisions, precisions),
  \() check_backend(c("auto", "cpu", "cuda"))
)

check_settings <- function(settings, call = caller_env()) {
  known <- c("backend", "device", "precision", "threads", "isa", "dense_entries", "progress")
  labels <- names(settings) %||% character(length(settings))
  if (!all(labels %in% known)) {
    stop_kernops("input", c("The options must be named, with names among {.code {known}}.",
                            x = "Unknown: {.val {setdiff(labels, known)}}."), call = call)
  }
  if (anyDuplicated(labels)) {
    twice <- labels[[anyDuplicated(labels)]]
    stop_kernops("input", c("Each option must be given once.", x = "{.val {twice}} is given twice."), call = call)
  }
  stats::setNames(settings, sprintf("kernops.%s", labels))
}
