# Compiled CUDA kernels: the installed package contains the kernels of the catalogue, and a cache on disk contains all
# other kernels.

# The default folder of the cache. Under R CMD check the default is a temporary folder, because the check forbids files
# in the user's home.
default_cache <- function() {
  checking <- nzchar(Sys.getenv("_R_CHECK_PACKAGE_NAME_"))
  if (checking) tempdir() else tools::R_user_dir("kernops", "cache")
}

# The cache folder that the user chose or, if other users can write into that folder, a folder of the session. An
# invalid setting must not prevent the package from loading.
cache_folder <- function() {
  asked <- kernops_option("cache_dir")
  candidates <- c(if (!is.null(asked)) \() asked_folder(asked), default_cache, tempdir)
  reasons <- character()
  for (candidate in candidates) {
    folder <- tryCatch(folder_state(candidate()), error = \(e) list(state = "failed", reason = conditionMessage(e)))
    if (folder$state %in% c("usable", "missing")) break
    # the reason for another folder is reported if the user chose the folder or if other users can write into it, but
    # not if the home folder is read-only
    if (folder$state == "untrusted" || !is.null(asked)) reasons <- c(reasons, folder$reason)
  }
  used <- folder$path %||% NA_character_
  if (length(reasons)) warn_cache(reasons, used)
  used
}

folder_state <- function(path) {
  folder <- cuda_folder_state(path)
  if (folder$state %in% c("usable", "missing")) folder$path <- path
  folder
}

asked_folder <- function(asked) {
  rule <- "The option {.code kernops.cache_dir} (or {.envvar KERNOPS_CACHE_DIR}) must be the path of a folder"
  if (!is.character(asked) || length(asked) != 1 || is.na(asked) || !nzchar(asked)) {
    stop_kernops("input", paste0(rule, ", not ", shown(asked), "."))
  }
  native <- enc2native(asked)
  if (Encoding(asked) == "bytes" || !validEnc(asked) || enc2utf8(native) != enc2utf8(asked)) {
    stop_kernops("input", paste0(rule, " in the encoding of this session, not {.val {asked}}."))
  }
  # path.expand() truncates long paths
  if (startsWith(native, "~") && nchar(native, "bytes") < 1000) native <- path.expand(native)
  absolute_path(native)
}

# The absolute path of a folder, which need not exist yet. An absolute path has the same meaning after a call of
# setwd().
absolute_path <- function(path) {
  root <- if (.Platform$OS.type == "windows") "^([/\\\\]|[A-Za-z]:)" else "^/"
  if (grepl(root, path)) path else file.path(getwd(), path)
}

warn_cache <- function(reasons, used) {
  reasons <- short_text(reasons, 1000)
  cli::cli_warn(c("Compiled kernels cannot be kept in the folder that was chosen for them.",
                  stats::setNames(sprintf("{reasons[[%d]]}", seq_along(reasons)), rep("x", length(reasons))),
                  i = if (is.na(used)) "Each session compiles its own." else "They are kept in {.path {used}}.",
                  i = "{.help kernops::kernops_cache_info} describes which folders are safe."),
                class = "kernops_warning")
}

#' The cache of compiled GPU kernels
#'
#' On a GPU, a formula is compiled when it runs for the first time, which takes a fraction of a second. The compiled
#' kernel is kept on disk for other sessions. If the CUDA toolkit is found when kernops is installed, the installation
#' compiles the kernels of common formulas. These kernels are part of the package and require neither the
#' cache nor the toolkit.
#'
#' The cache is the folder `tools::R_user_dir("kernops", "cache")`, or the folder given by the option
#' `kernops.cache_dir`, which is read when kernops is loaded. kernops never uses cached kernels of another version of
#' kernops or of the compiler. If the cache exceeds 512 MiB, the oldest files are removed. The cache also contains the
#' CUDA source of each kernel.
#'
#' @section Safety: Cached kernels are programs, so other users must not be able to put files into the cache. Except on
#'   Windows, the folder and all its parents must belong to you or to root and must not be writable for their group or
#'   for all users; a parent may be writable if it has the sticky bit, like `/tmp`. Directories that contain symbolic
#'   links of the path are checked in the same way. kernops does not use a folder that fails the check: a warning of
#'   class `kernops_warning` gives the reason and names the folder that is used instead. The replacement is the default
#'   folder or, if the default folder fails as well, [tempdir()]. `chmod go-w` on the folder of the warning removes the
#'   permission of others to write. A file of the cache must be a regular file that belongs to you or to root and
#'   that only the owner can write; if a file fails this check, the kernel is compiled again. Folders and files that
#'   kernops creates have modes 0700 and 0600 for any `umask`. Files contain a checksum against damage, but a checksum
#'   does not protect against users who can write the files.
#'
#' @return `kernops_cache_info()`: a list of class `kernops_cache_info`, with the `path` of the folder in use (`NA` if
#'   there is no safe folder), the number of `files` in the cache and their size in `bytes`, and `precompiled`, a data
#'   frame with the number of `kernels` compiled at installation for each `architecture`, and the size of these kernels
#'   in `bytes`.
#'
#'   `kernops_cache_clear()` removes the files of the cache, but no other files in the folder, and returns the number of
#'   removed files, invisibly. Precompiled kernels are kept.
#' @seealso [kernops_sitrep()] for the GPUs and compilers found; [keops_source()] for the source that is compiled.
#' @examples
#' kernops_cache_info()
#' @export
kernops_cache_info <- function() {
  bytes <- cuda_cache_files()
  structure(list(path = the$cache, files = length(bytes), bytes = sum(bytes), precompiled = cuda_catalogue_files()),
            class = "kernops_cache_info")
}

#' @rdname kernops_cache_info
#' @export
kernops_cache_clear <- function() invisible(cuda_clear_cache())

#' @export
format.kernops_cache_info <- function(x, ...) {
  size <- \(bytes) paste(format(round(bytes / 2^20, 1), nsmall = 1), "MiB")
  known <- x$precompiled
  c(if (is.na(x$path)) "Cache  none: there is no folder where only you can write" else
      paste0("Cache  ", x$files, " files, ", size(x$bytes), ", in ", x$path),
    paste0("Kernels compiled at installation: ", if (nrow(known) == 0) "none" else
      paste0(toString(paste(known$kernels, "for", known$architecture)), " (", size(sum(known$bytes)), ")")))
}

#' @export
print.kernops_cache_info <- function(x, ...) {
  cli::cat_line(format(x))
  invisible(x)
}
