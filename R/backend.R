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
    stop_kernops("input", "The option {.code kernops.threads} must be a whole number from 1, not {.val {asked}}.")
  }
  as.integer(min(n, 1024))
}

# The instruction set of the CPU, "" for the best one.
isa <- function() {
  asked <- kernops_option("isa", "")
  if (identical(asked, "") || is.character(asked) && length(asked) == 1 && asked %in% cpu_isas()) return(asked)
  stop_kernops("input", c(paste("The option {.code kernops.isa} must be an instruction set of this machine,",
                                "not {.val {asked}}."),
                          i = "{.run kernops::kernops_sitrep()} lists them."))
}

# All cores, but no more than two where R CMD check or OpenMP's limit says so.
default_threads <- function() {
  if (is.null(the$cores)) {
    cores <- parallel::detectCores()
    the$cores <- if (is.na(cores)) 1L else as.integer(cores)
  }
  set <- Sys.getenv(c("OMP_THREAD_LIMIT", "_R_CHECK_LIMIT_CORES_"), names = FALSE)
  limit <- if (nzchar(set[[1]])) suppressWarnings(as.integer(set[[1]])) else NA
  checking <- tolower(set[[2]]) %in% c("true", "warn")
  max(1L, min(the$cores, limit, if (checking) 2L, na.rm = TRUE))
}

the <- new.env(parent = emptyenv())

# `device`: the GPUs that "cuda" or "auto" would use.
check_backend <- function(backend, device = check_device(NULL), call = caller_env()) {
  choices <- c("auto", "cpu", "cuda")
  if (identical(backend, choices)) backend <- kernops_option("backend", "auto")
  check_choice(backend, "backend", choices, call)
  named <- backend == "auto" && !identical(device, 0L) && !nzchar(cuda_problem(integer()))
  if (backend == "cuda" || named) check_gpu(device, call)
  backend
}

check_gpu <- function(device = 0L, call = caller_env()) {
  if (nzchar(problem <- cuda_problem(device))) {
    stop_kernops("cuda", c("The CUDA backend cannot be used: {problem}.",
                           i = "{.run kernops::kernops_sitrep()} says more; {.code backend = \"cpu\"} always works."),
                 call = call)
  }
}

# GPUs as the driver numbers them, from 0; of the option, or the environment variable ("0:3", "0,2"), if not given.
check_device <- function(device, call = caller_env()) {
  if (is.null(device)) device <- kernops_option("device", 0L)
  numbers <- if (is.character(device)) device_numbers(device) else device
  whole <- is.numeric(numbers) && length(numbers) > 0 && all(is.finite(numbers)) &&
    all(numbers == floor(numbers) & numbers >= 0 & numbers < 1e6)
  if (whole && !anyDuplicated(numbers)) return(as.integer(numbers))
  stop_kernops("input", c("{.arg device} must be numbers of GPUs, from 0, each once, as in {.code 0:3}.",
                          x = if (length(device)) "It is {.val {device}}."), call = call)
}

device_numbers <- function(text) {
  if (length(text) != 1 || !grepl("^ *[0-9]+( *[,:] *[0-9]+)* *$", text)) return(NA)
  bounds <- strsplit(strsplit(text, ",")[[1]], ":")
  unlist(lapply(bounds, function(bound) as.numeric(bound[[1]]):as.numeric(bound[[length(bound)]])))
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
  problem <- cuda_problem(integer())
  if (!nzchar(problem)) problem <- cuda_problem(check_device(NULL))
  found <- list(version = as.character(utils::packageVersion("kernops")), threads = threads(), isas = cpu_isas(),
                driver = cuda_driver(), compiler = cuda_compiler(), solver = cuda_solver(),
                cache = kernops_cache_info(), problem = problem,
                devices = if (nzchar(cuda_driver())) cuda_describe())
  cli::cat_line("kernops ", found$version, ", ", R.version.string)
  cli::cat_line("CPU    ", found$threads, " threads, instruction sets ", toString(found$isas))
  cli::cat_line("GPU    ", if (is.null(found$devices)) "none: " else describe_devices(found$devices),
                if (nzchar(problem) && !is.null(found$devices)) "\n       not usable: ", problem)
  if (nzchar(found$driver)) cli::cat_line("Driver of CUDA ", found$driver)
  cli::cat_line("NVRTC  ", if (nzchar(found$compiler)) found$compiler else
    "none: install the CUDA toolkit (12 or newer) and, unless it is in /usr/local/cuda, set CUDA_HOME")
  cli::cat_line("Solver ", if (nzchar(found$solver)) paste("cuSOLVER", found$solver) else
    "none: gp(method = \"exact\") stays on the CPU; cuSOLVER and cuBLAS are parts of the CUDA toolkit")
  cli::cat_line(format(found$cache))
  invisible(found)
}

# One line for each.
describe_devices <- function(devices) {
  gib <- \(bytes) round(bytes / 2^30)
  memory <- ifelse(is.na(devices$free_bytes), paste(gib(devices$total_bytes), "GiB"),
                   paste(gib(devices$free_bytes), "of", gib(devices$total_bytes), "GiB free"))
  paste0(devices$device, ": ", devices$name, " (", devices$architecture, "), ", memory, collapse = "\n       ")
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
  cuda_source(kernel, from$precision == "float32", match(from$sum_scheme, sum_schemes) - 1L, from$wide)
}
