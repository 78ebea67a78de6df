#' Situation report of this installation
#'
#' Prints the versions, instruction sets and GPUs that kernops finds, the folder of compiled kernels, and how to install
#' missing components.
#'
#' @return A list with the printed information, invisibly.
#' @seealso [kernops-package] for all options, [kernops_cache_info()] for compiled kernels, [gpu_matrix()].
#' @examples
#' kernops_sitrep()
#' @export
kernops_sitrep <- function() {
  problem <- cuda_problem(integer())
  wrong <- wrong_options()
  if (!nzchar(problem) && length(wrong) == 0) problem <- cuda_problem(check_device(NULL))
  report <- list(version = as.character(utils::packageVersion("kernops")),
                 threads = tryCatch(threads(), kernops_input_error = \(e) NA), wrong = wrong, isas = cpu_isas(),
                 driver = cuda_driver(), compiler = cuda_compiler(), solver = cuda_solver(), fft = cuda_fft(),
                 cache = kernops_cache_info(), problem = problem,
                 devices = if (nzchar(cuda_driver())) cuda_describe())
  cli::cat_line("kernops ", report$version, ", ", R.version.string)
  if (length(wrong)) cli::cat_line(wrong)
  cli::cat_line("CPU    ", report$threads, " threads, instruction sets ", toString(report$isas))
  cli::cat_line("GPU    ", if (is.null(report$devices)) "none: " else describe_devices(report$devices),
                if (nzchar(problem) && !is.null(report$devices)) "\n       not usable: ", problem)
  if (nzchar(report$driver)) cli::cat_line("Driver of CUDA ", report$driver)
  cli::cat_line("NVRTC  ", if (nzchar(report$compiler)) report$compiler else
    paste("none: install the CUDA toolkit (12 or newer) and, unless it is in /usr/local/cuda,",
          "set CUDA_HOME (an absolute path)"))
  cli::cat_line("Solver ", if (nzchar(report$solver)) paste("cuSOLVER", report$solver) else
    "none: gp(method = \"exact\") runs on the CPU; cuSOLVER and cuBLAS are part of the CUDA toolkit")
  cli::cat_line("FFT    ", if (nzchar(report$fft)) paste("cuFFT", report$fft) else
    "none: kernel_sum(tol = ) runs on the CPU; cuFFT is part of the CUDA toolkit")
  cli::cat_line(format(report$cache))
  invisible(report)
}

# The options with invalid values.
wrong_options <- function() {
  unique(unlist(lapply(setting_checks, \(check) tryCatch({check(); NULL}, kernops_input_error = rlang::cnd_header))))
}

# A line of text for each device.
describe_devices <- function(devices) {
  gib <- \(bytes) round(bytes / 2^30)
  memory <- ifelse(is.na(devices$free_bytes), paste(gib(devices$total_bytes), "GiB"),
                   paste(gib(devices$free_bytes), "of", gib(devices$total_bytes), "GiB free"))
  paste0(devices$device, ": ", devices$name, " (", devices$architecture, "), ", memory, collapse = "\n       ")
}
