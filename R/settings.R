#' Options for some calls only
#'
#' `with_kernops()` evaluates code, and `local_kernops()` lets the rest of a function run, with other options of
#' kernops; then they are what they were. Arguments of the functions that are called, such as `precision` of
#' [keops_kernel()], win over options.
#'
#' @param code what to evaluate.
#' @param ... options by their names without `kernops.`: `backend`, `device`, `precision`, `threads`, `isa`; see
#'   [kernops-package]. `NULL` stands for the default.
#' @param .local_envir the frame at whose end the options are reset: by default, that of the calling function.
#'
#' @return `with_kernops()`: the value of `code`. `local_kernops()`: the options as they were, invisibly.
#' @section Errors: class `kernops_input_error` for an unknown or unfit option.
#'
#' @examples
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
  old <- rlang::local_options(!!!settings, .frame = .local_envir)
  tryCatch(
    for (check in setting_checks) check(),
    error = function(e) {options(old); rlang::cnd_signal(e)}
  )
  invisible(old)
}

# Each stops where an option, or its environment variable, does not fit.
setting_checks <- list(
  \() threads(), \() isa(), \() check_device(NULL), \() check_precision(c("float64", "float32")),
  \() check_backend(c("auto", "cpu", "cuda"))
)

check_settings <- function(settings, call = caller_env()) {
  known <- c("backend", "device", "precision", "threads", "isa")
  given <- names(settings) %||% character(length(settings))
  if (!all(given %in% known)) {
    stop_kernops("input", c("The options must be some of {.code {known}}, by name.",
                            x = "{.val {setdiff(given, known)}} is none of them."), call = call)
  }
  if (anyDuplicated(given)) {
    twice <- given[[anyDuplicated(given)]]
    stop_kernops("input", c("Each option must be given once.", x = "{.val {twice}} is given twice."), call = call)
  }
  stats::setNames(settings, sprintf("kernops.%s", given))
}
