# The folder of the kernel cache: code is run from this folder only if no other user can change the code. No test here
# needs a GPU.

mode_of <- \(path) format(file.info(path, extra_cols = FALSE)$mode)
# Nested folders that only the user can write, below the temporary folder of the session.
private_folders <- function(..., env = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = env)
  for (name in c(".", ...)) {
    folder <- if (name == ".") folder else file.path(folder, name)
    dir.create(folder, showWarnings = FALSE)
    Sys.chmod(folder, "0755", use_umask = FALSE)
  }
  folder
}
open_to <- \(path, mode) Sys.chmod(path, mode, use_umask = FALSE)

test_that("a folder is trusted if only its owner can write in the folder and in its parents", {
  skip_on_os("windows")
  folder <- private_folders("above", "cache")
  expect_true(cuda_is_trusted(folder))
  for (path in c(folder, dirname(folder))) for (mode in c("0775", "0757", "0777", "0722")) {
    open_to(path, mode)
    expect_false(cuda_is_trusted(folder), label = paste(basename(path), mode))
    expect_false(cuda_is_trusted(file.path(folder, "later", "deeper")), label = paste("below", basename(path), mode))
    open_to(path, "0755")
  }
  expect_true(cuda_is_trusted(file.path(folder, "later", "deeper")))
})

test_that("a parent with the sticky bit is trusted, but a cache with the sticky bit is not", {
  skip_on_os("windows")
  folder <- private_folders("sticky", "cache")
  open_to(dirname(folder), "1777")
  expect_true(cuda_is_trusted(folder))
  open_to(folder, "1777")
  expect_false(cuda_is_trusted(folder))
  expect_true(cuda_is_trusted(tempdir()))
})

test_that("links to folders are followed, and the folders that contain the links are checked", {
  skip_on_os("windows")
  folder <- private_folders("real")
  link <- private_folders("links")
  expect_true(file.symlink(folder, file.path(link, "direct")))
  expect_true(file.symlink("direct", file.path(link, "relative")))
  expect_true(file.symlink("loop", file.path(link, "loop")))
  expect_true(cuda_is_trusted(file.path(link, "direct")))
  expect_true(cuda_is_trusted(file.path(link, "relative", "..", "real", "new")))
  expect_false(cuda_is_trusted(file.path(link, "loop")))
  open_to(link, "0777") # other users could redirect the link
  expect_false(cuda_is_trusted(file.path(link, "direct")))
  open_to(link, "0755")
  open_to(folder, "0770")
  expect_false(cuda_is_trusted(file.path(link, "relative")))
})

test_that("a file is trusted if it is a regular file that only its owner can write", {
  skip_on_os("windows")
  folder <- private_folders("cache")
  file <- file.path(folder, paste0(strrep("0a", 16), ".kernel"))
  writeLines("x", file)
  trusted <- vapply(c("0600", "0644", "0664", "0646", "0620"), \(mode) {open_to(file, mode); cuda_is_trusted(file)}, NA)
  expect_equal(unname(trusted), c(TRUE, TRUE, FALSE, FALSE, FALSE))
  open_to(file, "0600")
  expect_true(file.symlink(file, file.path(folder, "link.kernel")))
  expect_false(cuda_is_trusted(file.path(folder, "link.kernel")))
  skip_if_not(nzchar(Sys.which("mkfifo")))
  system2("mkfifo", file.path(folder, "pipe.kernel")) # opening the pipe would block
  expect_false(cuda_is_trusted(file.path(folder, "pipe.kernel")))
})

test_that("the reason for a refusal names the folder that other users can change", {
  skip_on_os("windows")
  folder <- private_folders("above", "cache")
  reason <- \(path = folder) cuda_folder_state(path)[["reason"]]
  open_to(dirname(folder), "0775")
  expect_equal(reason(), sprintf("`%s` can be written by its group", normalizePath(dirname(folder))))
  open_to(dirname(folder), "0757")
  expect_equal(reason(), sprintf("`%s` can be written by all users", normalizePath(dirname(folder))))
  open_to(dirname(folder), "0755")
  file.create(file <- file.path(folder, "file"))
  expect_equal(reason(file.path(file, "cache")), sprintf("`%s` is not a folder", normalizePath(file)))
  expect_match(reason(file.path(folder, strrep("a", 300))), "too long")
  expect_match(reason(strrep("/abc", 3000)), "more than [0-9]+ bytes")
})

test_that("for any umask, only the user can access the created folder and files", {
  skip_without_nvrtc()
  skip_on_os("windows")
  umask <- Sys.umask()
  withr::defer(Sys.umask(umask))
  for (mask in c("000", "002", "022", "077", "777")) {
    cache <- local_paths(file.path(private_folders(), "made", "cache"))
    Sys.umask(mask)
    cuda_binary("extern \"C\" __global__ void nothing() {}\n", "sm_80")
    Sys.umask(umask)
    files <- list.files(cache, full.names = TRUE)
    expect_length(files, 2)
    expect_setequal(mode_of(c(cache, dirname(cache))), "700")
    expect_setequal(mode_of(files), "600")
    expect_true(cuda_is_trusted(files[[1]]))
  }
})

test_that("a kernel file that other users could have written, or a link to a kernel file, is replaced", {
  skip_without_nvrtc()
  skip_on_os("windows")
  cache <- local_paths(private_folders("cache"))
  text <- "extern \"C\" __global__ void nothing() {}\n"
  code <- cuda_binary(text, "sm_80")
  file <- list.files(cache, "[.]kernel$", full.names = TRUE)
  elsewhere <- file.path(private_folders("elsewhere"), "kernel")
  file.copy(file, elsewhere)
  for (spoil in list(\() open_to(file, "0664"), \() open_to(file, "0646"),
                     \() file.remove(file) && file.symlink(elsewhere, file))) {
    spoil()
    expect_identical(cuda_binary(text, "sm_80"), code)
    expect_equal(mode_of(file), "600")
    expect_equal(unname(Sys.readlink(file)), "")
  }
  open_to(cache, "0770")
  unlink(file)
  expect_identical(cuda_binary(text, "sm_80"), code)
  expect_false(file.exists(file))
  expect_equal(kernops_cache_info()$files, 0)
})

# ---- the choice of the cache folder

odd_folders <- list(
  `no letters` = "a\x80b", bytes = `Encoding<-`("a\x80", "bytes"), empty = "", missing = NA_character_, number = 5,
  `a factor` = factor("a"), `two` = c("a", "b"), none = character(), `a list` = list("a"), `a function` = mean,
  `a long name` = strrep("a", 300), `a long path` = strrep("/abc", 3000), `a file` = "/dev/null",
  `below a file` = "/dev/null/cache", `for all` = "/tmp"
)

for (name in names(odd_folders)) test_that(paste("an unusable cache folder gives a warning and is replaced:", name), {
  skip_on_os("windows")
  withr::local_envvar(R_USER_CACHE_DIR = private_folders("home"))
  withr::local_options(kernops.cache_dir = odd_folders[[name]])
  warning <- expect_warning(folder <- cache_folder(), class = "kernops_warning")
  expect_identical(folder, default_cache())
  expect_match(conditionMessage(warning), basename(folder), fixed = TRUE)
  expect_match(conditionMessage(warning), "kernops.cache_dir|is not a folder|too long|more than|all users")
})

# The output of another R process: the class of a warning that occurs while kernops is loaded, preceded by the output of
# `before` and followed by the output of `after`.
loaded <- function(before, env = character(), after = "invisible()") {
  load <- "withCallingHandlers(loadNamespace('kernops'), warning = function(w) cat(class(w)[[1]], ''))"
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", shQuote(paste(before, load, after, sep = "; "))),
          env = c(sprintf("R_LIBS=%s", paste(.libPaths(), collapse = ":")), env), stdout = TRUE, stderr = FALSE)
}

test_that("the package is loaded with a warning if the path of the cache is not a folder", {
  skip_on_os("windows")
  skip_if_not_in_library()
  warned <- "^kernops_warning .*namespace"
  expect_match(paste(loaded("options(kernops.cache_dir = 'a\\x80b')"), collapse = " "), warned)
  expect_match(paste(loaded("options(kernops.cache_dir = 3)"), collapse = " "), warned)
  expect_match(paste(loaded("invisible()", "KERNOPS_CACHE_DIR=/dev/null"), collapse = " "), warned)
})

test_that("an unwritable home folder does not cause a warning", {
  skip_on_os("windows")
  withr::local_envvar(R_USER_CACHE_DIR = "/dev/null/home")
  withr::local_options(kernops.cache_dir = NULL)
  expect_identical(expect_silent(cache_folder()), tempdir())
})

test_that("without a safe folder there is no cache, and reports give the reason", {
  skip_on_os("windows")
  skip_if_not_in_library()
  open <- private_folders("open")
  open_to(open, "0777")
  folders <- sprintf("%s=%s", c("TMPDIR", "R_USER_CACHE_DIR"), open)
  said <- loaded("invisible()", folders, "print(kernops::kernops_cache_info())")
  expect_match(said, "kernops_warning", all = FALSE)
  expect_match(said, "^Cache +none", all = FALSE)
})
