# Compiled kernels: the cache, and the catalogue of the package. No test here needs a GPU.

small_text <- "extern \"C\" __global__ void nothing() {}\n"
small_binary <- \(text = small_text) cuda_binary(text, "sm_80")
kernel_file <- \(cache) list.files(cache, "[.]kernel$", full.names = TRUE)
in_another_r <- function(code, wait = TRUE) {
  code <- c(sprintf(".libPaths(c(%s, .libPaths()))", deparse1(dirname(system.file(package = "kernops")))),
            "library(kernops)", deparse(code))
  file <- tempfile(fileext = ".R")
  writeLines(code, file)
  system2(file.path(R.home("bin"), "Rscript"), file, wait = wait, stdout = FALSE, stderr = FALSE)
}

test_that("a kernel is compiled once and stored with its source text", {
  skip_without_nvrtc()
  cache <- local_paths()
  code <- small_binary()
  expect_length(kernel_file(cache), 1)
  expect_equal(readLines(list.files(cache, "[.]cu$", full.names = TRUE)), trimws(small_text))
  written <- file.mtime(kernel_file(cache))
  expect_identical(small_binary(), code)
  expect_identical(file.mtime(kernel_file(cache)), written)
})

test_that("truncated files, garbage and files of other code are replaced by a new compilation", {
  skip_without_nvrtc()
  cache <- local_paths()
  code <- small_binary()
  file <- kernel_file(cache)
  whole <- readBin(file, "raw", 1e6)
  last_byte_changed <- replace(whole, length(whole) - 5, xor(whole[length(whole) - 5], as.raw(1)))
  huge_size <- charToRaw(sub("[0-9]+$", "99999999999999999", readLines(file, 1, warn = FALSE, skipNul = TRUE)))
  for (damaged in list(raw(), head(whole, 20), head(whole, 500), as.raw(1:255), last_byte_changed, huge_size)) {
    writeBin(damaged, file)
    expect_identical(small_binary(), code)
    expect_identical(readBin(file, "raw", 1e6), whole)
  }
})

test_that("files and folders that other users could have written are not used", {
  skip_without_nvrtc()
  skip_on_os("windows")
  mode <- \(path) format(file.info(path, extra_cols = FALSE)$mode)
  cache <- local_paths()
  code <- small_binary()
  file <- kernel_file(cache)
  Sys.chmod(file, "0666", use_umask = FALSE)
  expect_identical(small_binary(), code)
  expect_false(mode(file) == "666") # a new file replaced the file that others could write
  unlink(file)
  Sys.chmod(cache, "0777", use_umask = FALSE)
  expect_identical(small_binary(), code)
  expect_length(kernel_file(cache), 0)
})

test_that("kernels that another version of the package or of the compiler stored are not used", {
  skip_without_nvrtc()
  cache <- local_paths()
  code <- small_binary()
  use_paths(cache, version = "another")
  small_binary()
  expect_length(kernel_file(cache), 2)

  unlink(kernel_file(cache))
  small_binary()
  file <- kernel_file(cache)
  whole <- readBin(file, "raw", 1e6)
  line <- readLines(file, 1, warn = FALSE, skipNul = TRUE)
  older <- sub(paste0(" ", cuda_compiler(), " "), " 11.9 ", line, fixed = TRUE)
  writeBin(c(charToRaw(older), tail(whole, -nchar(line))), file)
  small_binary()
  expect_identical(readBin(file, "raw", 1e6), whole)
})

test_that("a change of any header that device code includes makes the stored kernels stale", {
  skip_without_nvrtc()
  cache <- local_paths()
  include <- withr::local_tempdir()
  file.copy(system.file("include", "kernops", package = "kernops"), include, recursive = TRUE)
  of_headers <- function() {
    # the headers of a folder are read only once, so that changed headers must be copied to a new folder
    moved <- withr::local_tempdir()
    file.copy(include, moved, recursive = TRUE)
    kernops:::cuda_set_paths(file.path(moved, basename(include)), "", cache, "test")
    small_binary()
    basename(list.files(cache, "[.]kernel$"))
  }
  of_headers()
  expect_length(of_headers(), 1)
  headers <- file.path(include, "kernops", c("ops.def", "jobs/device.h", "cuda/values.cuh", "cuda/segments/reduce.cuh",
                                             "cuda/axes/walk.cuh", "cuda/dense/solve.cuh", "cuda/wide/tiles.cuh"))
  for (n in seq_along(headers)) {
    cat("// changed\n", file = headers[[n]], append = TRUE)
    expect_length(of_headers(), n + 1)
  }
})

test_that("a cache that cannot be written does not prevent computations", {
  skip_without_nvrtc()
  local_paths(cache = file.path(withr::local_tempfile(lines = "a file, not a folder"), "cache"))
  expect_gt(length(small_binary()), 0)
  expect_equal(kernops_cache_info()$files, 0)
  expect_equal(kernops_cache_clear(), 0)
})

test_that("processes that compile the same text at the same time write complete files", {
  skip_without_nvrtc()
  skip_on_cran()
  cache <- local_paths()
  results <- file.path(cache, c("1.rds", "2.rds"))
  for (result in results) in_another_r(wait = FALSE, bquote({
    kernops:::cuda_set_paths(system.file("include", package = "kernops"), "", .(cache), "test")
    code <- kernops:::cuda_binary(.(small_text), "sm_80")
    saveRDS(code, .(paste0(result, ".tmp")))
    file.rename(.(paste0(result, ".tmp")), .(result))
  }))
  deadline <- Sys.time() + 60
  while (!all(file.exists(results)) && Sys.time() < deadline) Sys.sleep(0.1)
  expect_length(kernel_file(cache), 1)
  expect_length(cuda_cache_files(), 2)
  for (result in results) expect_identical(readRDS(result), small_binary())
})

test_that("processes that share a cache load correct code while another process damages the files", {
  skip_without_nvrtc()
  skip_on_cran()
  skip_if_not_in_library()
  withr::local_seed(1)
  cache <- local_paths()
  texts <- sprintf("extern \"C\" __global__ void nothing_%d() {}\n", 1:3)
  code <- lapply(texts, small_binary)
  whole <- lapply(kernel_file(cache), readBin, "raw", 1e6)
  results <- file.path(withr::local_tempdir(), c("1.rds", "2.rds"))
  for (result in results) in_another_r(wait = FALSE, bquote({
    kernops:::cuda_set_paths(system.file("include", package = "kernops"), "", .(cache), "test")
    right <- replicate(15, identical(lapply(.(texts), kernops:::cuda_binary, "sm_80"), .(code)))
    saveRDS(right, .(paste0(result, ".tmp")))
    file.rename(.(paste0(result, ".tmp")), .(result))
  }))
  # the file is damaged in place, as by an unfinished copy or a failing disk, so that readers see all intermediate
  # states
  damages <- list(
    cut = \(file) writeBin(head(sample(whole, 1)[[1]], sample(2000, 1)), file),
    changed = \(file) writeBin(replace(sample(whole, 1)[[1]], sample(500, 9), as.raw(sample(255, 9))), file),
    of_another_text = \(file) writeBin(sample(whole, 1)[[1]], file),
    gone = unlink,
    a_folder = \(file) {unlink(file); dir.create(file)},
    as_it_was = \(file) unlink(file, recursive = TRUE)
  )
  file <- basename(kernel_file(cache))
  deadline <- Sys.time() + 120
  while (!all(file.exists(results)) && Sys.time() < deadline) {
    suppressWarnings(try(sample(damages, 1)[[1]](file.path(cache, sample(file, 1))), silent = TRUE))
    Sys.sleep(0.005)
  }
  for (result in results) expect_identical(readRDS(result), rep(TRUE, 15))
})

test_that("clearing the cache removes only kernel files", {
  cache <- local_paths()
  key <- strrep("0a", 16)
  ours <- paste0(key, c(".kernel", ".cu", ".kernel.123.tmp"))
  theirs <- c("notes.txt", paste0(key, ".txt"), paste0("z", key, ".cu"), "short.cu")
  file.create(file.path(cache, c(ours, theirs)))
  expect_equal(kernops_cache_info()[c("path", "files")], list(path = cache, files = 3L))
  expect_output(print(kernops_cache_info()), "3 files")
  expect_equal(expect_invisible(kernops_cache_clear()), 3)
  expect_setequal(list.files(cache), theirs)
})

test_that("a text that does not compile shows the compiler's whole log", {
  skip_without_nvrtc()
  local_paths()
  text <- "__global__ void f() { one_mistake; }\n__global__ void g() { another_mistake; }"
  error <- expect_error(small_binary(text), class = "kernops_compile_error")
  expect_s3_class(error, "kernops_error")
  expect_match(conditionMessage(error), "one_mistake")
  expect_match(conditionMessage(error), "another_mistake")
  expect_length(cuda_cache_files(), 0)
})

# ---- the catalogue of precompiled kernels

catalogue_file <- system.file("cuda", "catalogue.txt", package = "kernops")

test_that("a line of the catalogue is expanded to all combinations of the elements of the sets that it names", {
  lines <- c("# nothing", "{D} = 1", "{D} = 2", "{F} = Exp({G})", "{F} = x", "{G} = Sin(x)", "{G} = p",
             "x = Vi({D})", "p = Pm(1)", "Sum_Reduction({F}, 1)  # a formula")
  found <- catalogue(withr::local_tempfile(lines = lines))
  expect_setequal(found$formula, sprintf("Sum_Reduction(%s, 1)", c("Exp(Sin(x))", "Exp(p)", "x")))
  expect_setequal(vapply(found$args, paste, "", collapse = " "), c("x = Vi(1)", "x = Vi(2)", "p = Pm(1)"))
})

test_that("the catalogue contains the formula of the README and its gradient", {
  known <- catalogue_sources(catalogue(catalogue_file))
  sources <- \(op) unlist(lapply(c(TRUE, FALSE), \(single) cuda_sources(environment(op)$kernel, single, few = FALSE)))
  gauss <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)",
                        c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"))
  for (op in list(gauss, keops_grad(gauss, "x"), keops_grad(gauss, "s"))) expect_true(all(sources(op) %in% known))
})

test_that("the catalogue contains the kernels of a fit in the plane with a covariance and a nugget", {
  known <- catalogue_sources(catalogue(catalogue_file))
  for (field in list(squared_exponential(), exponential(), matern(3 / 2), matern(5 / 2))) {
    formula <- covariance_model(field + nugget(), 2)$formula
    takes <- list(list("Sum_Reduction(%s, 1)", NULL, TRUE),
                  list("Sum_Reduction((%s) * b, 1)", "b = Vj(1)", FALSE),
                  list("Sum_Reduction(Grad((%s) * (w | e), theta, 1), 1)", c("w = Vi(128)", "e = Vj(128)"), FALSE))
    for (of in takes) {
      args <- c("theta = Pm(3)", "x = Vi(2)", "y = Vj(2)", of[[2]])
      kernel <- kernel_compile(sprintf(of[[1]], formula), args, of[[3]])
      for (single in c(TRUE, FALSE)) expect_true(all(cuda_sources(kernel, single, few = FALSE) %in% known))
    }
  }
})

# The kernels of each formula of the catalogue in three dimensions, with the launch configuration that needs the most
# registers.
largest <- function(single) {
  entries <- catalogue(catalogue_file)
  entries <- entries[vapply(entries$args, \(args) any(grepl("V[ij][(]3[)]", args)), NA), ]
  first <- \(formula, args) cuda_sources(kernel_compile(formula, args), single)[1:2]
  unique(unlist(Map(first, entries$formula, entries$args)))
}

test_that("the catalogue's kernels compile, and do not spill registers", {
  skip_without_nvrtc()
  skip_on_cran()
  for (single in c(TRUE, FALSE)) for (text in largest(single)) {
    expect_compiles(text, "compute_80")
    bytes <- cuda_compile(text, "sm_90")
    expect_gt(bytes, 0)
    spills <- grep("spill", strsplit(attr(bytes, "log"), "\n")[[1]], value = TRUE)
    # if a driver is installed, NVRTC reports nothing for code that it has compiled before, such as the kernels that
    # fill levels (KERNOPS_LEVELS)
    reported <- length(spills) > 0 || grepl("KERNOPS_LEVELS", text)
    expect(reported && all(grepl("0 bytes spill stores, 0 bytes spill loads", spills)),
           paste(c("spills, or no report:", attr(bytes, "log"), text), collapse = "\n"))
  }
})

# The size of the code indicates the compile time. Unrolled code would be several times as long.
test_that("long vectors and expensive operations are compiled to short code", {
  skip_without_nvrtc()
  skip_on_cran()
  xy <- sprintf(c("x = Vi(%d)", "y = Vj(%d)"), c(96L, 288L))
  tensors <- "Sum_Reduction(TensorDot(x, y, [2,3,2,2,4], [2,4,2,3,2,3], [4,0,2], [1,4,2]), 1)"
  bessel <- "Sum_Reduction(Matern(s, Norm2(x - y)) * b, 1)"
  most_bytes <- function(formula, args, single) {
    max(vapply(cuda_sources(kernel_compile(formula, args), single), cuda_compile, 0L, "sm_90"))
  }
  expect_lt(most_bytes(tensors, xy, TRUE), 5e5)
  expect_lt(most_bytes(bessel, c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"), TRUE), 2e5)
})

skip_without_catalogue <- function() {
  skip_if(nrow(cuda_catalogue_files()) == 0, "no kernels were compiled when kernops was installed")
}

test_that("every kernel of the catalogue is shipped, and used by this version only", {
  skip_without_catalogue()
  texts <- \(architecture) catalogue_texts(catalogue_file, architecture)
  shipped <- cuda_catalogue_files()
  for (n in seq_len(nrow(shipped))) {
    expect_equal(anyDuplicated(texts(shipped$architecture[[n]])), 0)
    expect_equal(shipped$kernels[[n]], length(texts(shipped$architecture[[n]])))
  }
  found <- \(architecture) lengths(lapply(texts(architecture), cuda_binary, architecture, TRUE))
  for (architecture in shipped$architecture) expect_gt(min(found(architecture)), 0)
  # code runs on later GPUs of the same major version, but not on GPUs of other major versions
  expect_equal(max(found("sm_89")) > 0, any(shipped$architecture %in% paste0("sm_", 80:89)))
  expect_equal(max(found("sm_999")), 0)

  local_paths(catalogue = dirname(catalogue_file), version = "another")
  for (architecture in shipped$architecture) expect_equal(max(found(architecture)), 0)
  expect_equal(nrow(cuda_catalogue_files()), 0)
})

test_that("a shipped kernel is used without the compiler and without the cache", {
  skip_without_catalogue()
  skip_on_cran()
  skip_if_not(dir.exists("/proc/self"), "this system does not list the libraries of a process")
  cache <- withr::local_tempdir()
  result <- file.path(cache, "result.rds")
  withr::local_envvar(KERNOPS_CACHE_DIR = cache)
  text <- catalogue_sources(catalogue(catalogue_file))[[1]]
  in_another_r(bquote({
    code <- kernops:::cuda_binary(.(text), .(cuda_catalogue_files()$architecture[[1]]))
    saveRDS(list(code = code, nvrtc = any(grepl("nvrtc", readLines("/proc/self/maps")))), .(result))
  }))
  expect_gt(length(readRDS(result)$code), 0)
  expect_false(readRDS(result)$nvrtc)
  expect_equal(list.files(cache), "result.rds")
})
