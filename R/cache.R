# Compiled CUDA kernels: those of the catalogue, which are part of the installed package, and the cache of all others.

# R CMD check must find nothing of ours in the user's home.
default_cache <- function() {
  checking <- nzchar(Sys.getenv("_R_CHECK_PACKAGE_NAME_"))
  if (checking) tempdir() else tools::R_user_dir("kernops", "cache")
}

# What cannot be a folder, or where others could put code, must not keep the package from being loaded.
cache_folder <- function() {
  asked <- kernops_option("cache_dir")
  if (is.null(asked)) return(trusted_folder(default_cache(), tempdir()))
  if (is.character(asked) && length(asked) == 1 && !is.na(asked)) {
    return(trusted_folder(absolute_path(path.expand(asked)), default_cache()))
  }
  cli::cli_warn(c(paste("The option {.code kernops.cache_dir} must be the path of a folder,",
                        "not {.obj_type_friendly {asked}}."),
                  i = "Kernels are kept in {.path {default_cache()}}."), class = "kernops_warning")
  default_cache()
}

trusted_folder <- function(folder, other) {
  if (cuda_is_trusted(folder)) return(folder)
  if (!cuda_is_trusted(other)) other <- tempdir()
  cli::cli_warn(c(paste("{.path {folder}} belongs to another user, or others can write there:",
                        "kernels are not loaded from it."),
                  i = "They are kept in {.path {other}}."), class = "kernops_warning")
  other
}

# Of a folder that need not exist yet: setwd() must not move it.
absolute_path <- function(path) if (grepl("^([/\\\\]|[A-Za-z]:)", path)) path else file.path(getwd(), path)

#' The cache of compiled GPU kernels
#'
#' On a GPU, a formula is compiled when it runs for the first time, which takes a fraction of a second. The compiled
#' kernel is kept on disk for other sessions. If the CUDA toolkit is found when kernops is installed, the kernels of
#' common formulas are compiled then: they are part of the package and require neither the cache nor the toolkit.
#'
#' The cache is the folder `tools::R_user_dir("kernops", "cache")`, or the folder given by the option
#' `kernops.cache_dir`, which is read when kernops is loaded. A folder that belongs to another user, or where others can
#' write, is not used, with a warning; nor is such a file. Kernels of another version of kernops or of the compiler are
#' never used. If there are more than 512 MiB, the oldest files are removed. The CUDA source of each kernel is
#' stored beside it.
#'
#' @return `kernops_cache_info()`: a list of class `kernops_cache_info`, with the `path`, the number of `files` of the
#'   cache and their size in `bytes`, and `precompiled`, a data frame with the number of `kernels` compiled at
#'   installation for each `architecture`, and their `bytes`.
#'
#'   `kernops_cache_clear()` removes the files of the cache and no other files of the folder; it returns their number,
#'   invisibly. Precompiled kernels are kept.
#' @seealso [kernops_sitrep()] for the GPUs and compilers found; [keops_source()] for what is compiled.
#' @examples
#' kernops_cache_info()
#' @export
kernops_cache_info <- function() {
  files <- file.path(the$cache, cuda_cache_files())
  structure(list(path = the$cache, files = length(files), bytes = sum(file.size(files), na.rm = TRUE),
                 precompiled = cuda_catalogue_files()), class = "kernops_cache_info")
}

#' @rdname kernops_cache_info
#' @export
kernops_cache_clear <- function() {
  files <- file.path(the$cache, cuda_cache_files())
  invisible(sum(file.remove(files[file.exists(files)])))
}

#' @export
format.kernops_cache_info <- function(x, ...) {
  size <- \(bytes) paste(format(round(bytes / 2^20, 1), nsmall = 1), "MiB")
  known <- x$precompiled
  c(paste0("Cache  ", x$files, " files, ", size(x$bytes), ", in ", x$path),
    paste0("Kernels compiled at installation: ", if (nrow(known) == 0) "none" else
      paste0(toString(paste(known$kernels, "for", known$architecture)), " (", size(sum(known$bytes)), ")")))
}

#' @export
print.kernops_cache_info <- function(x, ...) {
  cli::cat_line(format(x))
  invisible(x)
}
