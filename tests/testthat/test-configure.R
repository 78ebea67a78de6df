# configure quotes paths that make and its shell would split. In these tests, stubs replace the compiler and R.

skip_on_os("windows")
root <- normalizePath(test_path("..", ".."))
skip_if_not(file.exists(file.path(root, "configure")), "the sources are not here")

stub <- function(file, ...) {
  dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)
  writeLines(c("#!/bin/sh", ...), file)
  Sys.chmod(file, "755")
}

# Writes a CUDA toolkit in `folder`, whose nvcc reports the folder `top`.
toolkit <- function(folder, top = folder) {
  stub(file.path(folder, "bin", "nvcc"), 'case $1 in --version) echo "release 13.0, V13" ;;',
       paste0("--dryrun) cat <<'END' >&2\n#$ _HERE_=", top, "/bin\n#$ TOP=", top, "\nEND\n;; esac"))
  folder
}

# Runs configure in a copy of the files that configure reads. Returns the exit status, the output and the Makevars file.
configured <- function(dir, ..., env = character()) {
  for (folder in c("src", "inst/cuda")) dir.create(file.path(dir, folder), recursive = TRUE, showWarnings = FALSE)
  file.copy(file.path(root, c("configure", "src/Makevars.in")), file.path(dir, c("configure", "src/Makevars.in")))
  stub(file.path(dir, "R", "bin", "R"), '[ "$3" != CXX17 ] || echo true')
  withr::local_dir(dir)
  withr::local_envvar(c(R_HOME = file.path(dir, "R"), PATH = "/usr/bin:/bin"))
  withr::local_envvar(c(NVCC = NA, CUDA_HOME = NA, CUDA_PATH = NA))
  withr::local_envvar(env)
  said <- suppressWarnings(system2("sh", c("configure", shQuote(c(...))), stdout = TRUE, stderr = TRUE))
  makevars <- "src/Makevars"
  result <- list(status = max(0, attr(said, "status")), said = paste(said, collapse = "\n"),
                 makevars = if (file.exists(makevars)) readLines(makevars))
  unlink(makevars)
  result
}

odd <- c("it's", 'a "quote"', "a blank", "$HOME", "$(touch hacked)", "`touch hacked`", "a;touch hacked;", "a&b", "a|b",
         "a\\b", "line\nline", "a#b", "a%b", "a*")

test_that("a toolkit path with special characters is refused", {
  dir <- withr::local_tempdir()
  for (name in odd) {
    folder <- toolkit(file.path(dir, "kits", name))
    for (env in list(c(CUDA_HOME = folder), c(NVCC = file.path(folder, "bin", "nvcc")),
                     c(PATH = paste0(folder, "/bin:/usr/bin:/bin")))) {
      result <- configured(dir, env = env)
      expect_identical(result$status, 0, info = name)
      expect_match(result$said, "letters, digits and _./+:,@~- only", fixed = TRUE, info = name)
      expect_false(any(grepl("kernels", result$makevars, fixed = TRUE)), info = name)
    }
    expect_identical(configured(dir, "--without-cuda", env = c(CUDA_HOME = folder))$status, 0, info = name)
    result <- configured(dir, paste0("--with-cuda=", folder))
    expect_identical(result$status, 1, info = name)
    expect_match(result$said, "configure: error: --with-cuda: the path '", fixed = TRUE, info = name)
    expect_null(result$makevars, info = name)
  }
  expect_length(list.files(dir, "hacked", recursive = TRUE), 0)
})

test_that("a toolkit path is refused if it is relative, or if nvcc reports a path with special characters", {
  dir <- withr::local_tempdir()
  expect_match(configured(dir, "--with-cuda=cuda")$said, "must begin with /", fixed = TRUE)
  for (name in setdiff(odd, "line\nline")) {
    folder <- toolkit(file.path(dir, "plain"), top = file.path(dir, name))
    result <- configured(dir, paste0("--with-cuda=", folder))
    expect_identical(result$status, 1, info = name)
    expect_match(result$said, "configure: error: --with-cuda: the path '", fixed = TRUE, info = name)
  }
})

test_that("an unknown option is an error that lists the known options", {
  result <- configured(withr::local_tempdir(), "--with-coda")
  expect_identical(result$status, 1)
  expect_match(result$said, "unknown option '--with-coda'", fixed = TRUE)
})
