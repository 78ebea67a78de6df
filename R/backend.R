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
  choices <- c("auto", "cpu", "cuda")
  if (identical(backend, choices)) backend <- kernops_option("backend", "auto")
  check_choice(backend, "backend", choices, call)
  if (backend == "cuda") check_gpu(call)
  backend
}

check_gpu <- function(call = caller_env()) {
  if (nzchar(problem <- cuda_problem())) {
    stop_kernops("cuda", c("The CUDA backend cannot be used: {problem}.",
                           i = "{.run kernops::kernops_sitrep()} says more; {.code backend = \"cpu\"} always works."),
                 call = call)
  }
}

check_precision <- function(precision, call = caller_env()) {
  choices <- c("float64", "float32")
  if (identical(precision, choices)) precision <- kernops_option("precision", "float64")
  check_choice(precision, "precision", choices, call)
}

.onLoad <- function(libname, pkgname) {
  the$cache <- kernops_option("cache_dir", default_cache())
  here <- file.path(libname, pkgname)
  cuda_set_paths(file.path(here, "include"), file.path(here, "cuda"), path.expand(the$cache),
                 as.character(utils::packageVersion("kernops", libname)))
  register_broom()
}

#' What this installation can use
#'
#' Prints the versions, instruction sets and GPUs that kernops finds, where it keeps compiled kernels, and what to do
#' about what is missing.
#'
#' @return Invisibly, a list of what is printed.
#' @examples
#' kernops_sitrep()
#' @export
kernops_sitrep <- function() {
  problem <- cuda_problem()
  found <- list(version = as.character(utils::packageVersion("kernops")), threads = threads(), isas = cpu_isas(),
                compiler = cuda_compiler(), cache = kernops_cache_info(), problem = problem,
                device = if (!nzchar(problem)) cuda_describe())
  cli::cat_line("kernops ", found$version, ", ", R.version.string)
  cli::cat_line("CPU    ", found$threads, " threads, instruction sets ", toString(found$isas))
  if (is.null(found$device)) {
    cli::cat_line("GPU    none: ", problem)
  } else {
    cli::cat_line("GPU    ", found$device$name, " (", found$device$architecture, "), ",
                  round(found$device$free_bytes / 2^30), " of ", round(found$device$total_bytes / 2^30), " GiB free")
  }
  cli::cat_line("NVRTC  ", if (nzchar(found$compiler)) found$compiler else
    "none: install the CUDA toolkit (12 or newer) and, unless it is in /usr/local/cuda, set CUDA_HOME")
  cli::cat_line(format(found$cache))
  invisible(found)
}

#' The CUDA text of an operator
#'
#' What is compiled for a GPU: names and order of the operations. What they mean stands in the headers under
#' `system.file("include", package = "kernops")`.
#'
#' @param op an operator of [keops_kernel()] or [keops_grad()].
#' @return A string, the text of the last reduction that `op` computes. No GPU is needed.
#' @examples
#' op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"))
#' cat(keops_source(op))
#' @export
keops_source <- function(op) {
  check_operator(op)
  from <- environment(op)
  kernel <- if (is_null_pointer(from$kernel)) kernel_compile(from$formula, from$args) else from$kernel
  cuda_source(kernel, from$precision == "float32", match(from$sum_scheme, sum_schemes) - 1L)
}
