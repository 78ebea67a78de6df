third <- \(...) drop(keops_kernel("Sum_Reduction(x / 3, 1)", "x = Vi(1)", ...)(list(1)))
single <- 11184811 / 2^25 # about one third, exact in float32

test_that("with_kernops() sets options for its code, and local_kernops() until the end of a function", {
  withr::local_options(kernops.precision = NULL, kernops.threads = 3)
  expect_identical(with_kernops(third(), precision = "float32"), single)
  expect_identical(third(), 1 / 3)
  inside <- function() {
    local_kernops(precision = "float32", threads = 1)
    c(third(), threads())
  }
  expect_identical(inside(), c(single, 1))
  expect_identical(c(third(), threads()), c(1 / 3, 3))
})

test_that("arguments override options, NULL is the default, and errors restore the options", {
  withr::local_options(kernops.precision = NULL)
  expect_identical(with_kernops(third(precision = "float64"), precision = "float32"), 1 / 3)
  expect_identical(with_kernops(with_kernops(third(), precision = NULL), precision = "float32"), 1 / 3)
  expect_error(with_kernops(stop("no"), precision = "float32"), "no")
  expect_error(local_kernops(precision = "float8"), class = "kernops_input_error")
  expect_identical(third(), 1 / 3)
})

test_that("the report names an invalid option and continues", {
  withr::local_options(kernops.threads = -1, kernops.device = "foo")
  report <- capture.output(found <- kernops_sitrep())
  expect_match(report, "kernops.threads.*-1", all = FALSE)
  expect_match(report, "kernops.device", all = FALSE)
  expect_match(report, "^Cache", all = FALSE)
  expect_length(found$wrong, 2)
})

test_that("a call that uses an invalid option raises an error that names the option", {
  for (unfit in list("gpu", NA, mean, 1:2)) {
    withr::with_options(list(kernops.backend = unfit), {
      expect_error(axis_reduce(1, 1), "The option `kernops.backend` must be one of", class = "kernops_input_error")
    })
    withr::with_options(list(kernops.precision = unfit), {
      expect_error(third(), "The option `kernops.precision` must be one of", class = "kernops_input_error")
    })
    withr::with_options(list(kernops.threads = unfit), {
      expect_error(third(backend = "cpu"), "The option `kernops.threads` must be a positive whole number",
                   class = "kernops_input_error")
    })
  }
})

test_that("an invalid cache folder gives a warning, and the default is used", {
  for (asked in list(NA, 3, c("a", "b"), NA_character_)) {
    withr::local_options(kernops.cache_dir = asked)
    expect_warning(folder <- cache_folder(), "kernops.cache_dir", class = "kernops_warning")
    expect_identical(folder, default_cache())
  }
})

test_that("a cache folder in which others can write gives a warning, and the default is used", {
  skip_on_os("windows")
  open <- withr::local_tempdir()
  Sys.chmod(open, "0777", use_umask = FALSE)
  withr::local_options(kernops.cache_dir = open)
  withr::local_envvar(R_USER_CACHE_DIR = home <- withr::local_tempdir())
  Sys.chmod(home, "0755", use_umask = FALSE)
  expect_warning(folder <- cache_folder(), "can be written by all users", class = "kernops_warning")
  expect_identical(folder, default_cache())
  withr::local_envvar(R_USER_CACHE_DIR = open)
  expect_warning(folder <- cache_folder(), "can be written by all users", class = "kernops_warning")
  expect_identical(folder, tempdir())
  withr::local_options(kernops.cache_dir = NULL)
  withr::local_envvar(KERNOPS_CACHE_DIR = NA)
  expect_warning(cache_folder(), "can be written by all users", class = "kernops_warning")
  Sys.chmod(open, "0755", use_umask = FALSE)
  expect_identical(expect_silent(cache_folder()), default_cache())
})

test_that("libraries are not searched in the working directory", {
  skip_without_nvrtc()
  skip_on_os(c("windows", "mac"))
  dir.create(file.path(home <- withr::local_tempdir(), "toolkit", "lib64"), recursive = TRUE)
  # if NVRTC were searched in the working directory, the search would end at this empty library
  withr::local_dir(home)
  source <- file.path("toolkit", "empty.c")
  writeLines("int nothing;", source)
  names <- file.path("toolkit", "lib64", c("libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"))
  system2("cc", c("-shared", "-fPIC", "-o", names[1], source))
  skip_if_not(file.exists(names[1]))
  file.copy(rep(names[1], 2), names[-1])
  code <- shQuote("cat(nzchar(kernops:::cuda_compiler()))")
  found <- \(home) system2(file.path(R.home("bin"), "Rscript"), c("-e", code), env = paste0("CUDA_HOME=", home),
                          stdout = TRUE, stderr = FALSE)
  expect_identical(found("toolkit"), "TRUE")
  expect_identical(found(file.path(home, "toolkit")), "FALSE")
})

test_that("the cache folder does not change when the working directory changes", {
  for (asked in c("here", "here/and there", "/there", "C:/there", "~/there")) {
    withr::local_options(kernops.cache_dir = asked)
    relative <- startsWith(asked, "here") || asked == "C:/there" && .Platform$OS.type != "windows"
    expect_identical(expect_silent(cache_folder()), if (relative) file.path(getwd(), asked) else path.expand(asked))
  }
})

test_mistakes("kernops_input_error", alist(
  `a setting given twice` = with_kernops(1, threads = 1, threads = 2),
  `an unknown setting` = with_kernops(1, presicion = "float32"),
  `a setting without a name` = local_kernops("float32"),
  `a precision that is none` = with_kernops(1, precision = "float8"),
  `an instruction set that is none` = with_kernops(1, isa = "abacus"),
  `two instruction sets` = with_kernops(1, isa = c("avx2", "baseline")),
  `no number of threads` = with_kernops(1, threads = 0),
  `as many GPUs as fill the memory` = with_kernops(1, device = "0:99999999999"),
  `a tile that is a word` = withr::with_options(list(kernops.tile = "large"), seg_reduce(1:4, g = c(1, 1, 2, 2))),
  `entries that are a function` = withr::with_options(list(kernops.dense_entries = sum), svd(Vi(1:3) - Vj(1:2)))
))

test_that("options set at top level persist; options set in a function end with the function", {
  withr::local_options(kernops.threads = NULL)
  old <- eval(quote(kernops::local_kernops(threads = 1)), globalenv())
  expect_identical(getOption("kernops.threads"), 1)
  expect_null(old$kernops.threads)
  (\() local_kernops(threads = 2))()
  expect_identical(getOption("kernops.threads"), 1)
})

test_that("the names of settings in C++ agree with those in R", {
  a <- matrix(c(3, 4))
  unknown <- \(name) stats::setNames(list(1L), name)
  for (name in c("thread", "backends", "Threads", "")) {
    error <- expect_error(block_inner(a, a, unknown(name)), class = "kernops_input_error")
    expect_match(conditionMessage(error), sprintf("no computation has the setting `%s`", name), fixed = TRUE)
  }
  all <- run_settings(devices = 0L, single = FALSE, scheme = 0L, accumulate_double = FALSE, stay = FALSE, tile = 0,
                      progress = NULL)
  expect_identical(block_inner(a, a, all), matrix(25))
  expect_identical(block_inner(a, a, list()), matrix(25))
})

test_that("calls take their settings from the options, and operators from the arguments that created them", {
  withr::local_options(kernops.threads = 3, kernops.isa = "baseline", kernops.tile = 7)
  expect_identical(run_settings(), list(backend = "auto", threads = 3L, isa = "baseline"))
  expect_identical(segment_settings("cpu", FALSE)$tile, 7)
  op <- keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", "kahan_scheme", "float32", "cpu", accumulator = "float64")
  found <- settings_of(op)[c("single", "scheme", "accumulate_double", "stay")]
  expect_identical(found, list(single = TRUE, scheme = 3L, accumulate_double = TRUE, stay = FALSE))
  # Sums over conditioning sets may run on the CPU instead of the GPU. Therefore settings_of() also returns the options
  # of the CPU, which a call of an operator on a GPU ignores.
  environment(op)$backend <- "cuda"
  expect_identical(settings_of(op)[c("backend", "threads", "isa")],
                   list(backend = "cuda", threads = 3L, isa = "baseline"))
  withr::local_options(kernops.isa = "none")
  expect_identical(environment(op)$settings()[c("threads", "isa")], list(threads = 1L, isa = ""))
})
