# What the computation runs on: options, with environment variables as twins.

kernops_option <- function(name, default = NULL) {
  value <- getOption(paste0("kernops.", name))
  if (!is.null(value)) return(value)
  value <- Sys.getenv(paste0("KERNOPS_", toupper(name)))
  if (nzchar(value)) value else default
}

threads <- function() {
  asked <- kernops_option("threads")
  if (is.null(asked)) return(default_threads())
  n <- suppressWarnings(as.numeric(asked))
  if (length(n) != 1 || is.na(n) || n < 1 || n != floor(n)) {
    stop_kernops("input", "The option {.code kernops.threads} must be a whole number from 1, not {.val {asked}}")
  }
  as.integer(min(n, 1024))
}

# All cores, but no more than two where R CMD check or OpenMP's limit says so.
default_threads <- function() {
  if (is.null(the$cores)) {
    cores <- parallel::detectCores()
    the$cores <- if (is.na(cores)) 1L else as.integer(cores)
  }
  limit <- suppressWarnings(as.integer(Sys.getenv("OMP_THREAD_LIMIT", "")))
  checking <- tolower(Sys.getenv("_R_CHECK_LIMIT_CORES_", "false")) %in% c("true", "warn")
  max(1L, min(the$cores, limit, if (checking) 2L, na.rm = TRUE))
}

the <- new.env(parent = emptyenv())

check_backend <- function(backend, call = caller_env()) {
  backend <- arg_match0(backend, c("auto", "cpu", "cuda"), error_call = call)
  if (backend == "cuda") {
    stop_kernops("cuda", c("This installation of kernops has no CUDA backend.",
                           i = "Use {.code backend = \"cpu\"} or {.code \"auto\"}."), call = call)
  }
  backend
}

check_precision <- function(precision, call = caller_env()) {
  choices <- c("float64", "float32")
  if (identical(precision, choices)) precision <- kernops_option("precision", "float64")
  arg_match0(precision, choices, arg_nm = "precision", error_call = call)
}
