# Shortage of memory, and memory of C++ that R's garbage collector does not count.

# Replaces a function of the package for the rest of a test.
local_function <- function(name, f, env = parent.frame()) {
  kept <- get(name, asNamespace("kernops"))
  withr::defer(utils::assignInNamespace(name, kept, "kernops"), env)
  utils::assignInNamespace(name, f, "kernops")
}

test_that("R's messages about a shortage become a kernops_memory_error that states the size", {
  short <- function(message) report_shortage(stop(message))
  expect_error(short("cannot allocate vector of size 512.0 Mb"), "could not allocate 536.9 MB",
               class = "kernops_memory_error")
  expect_error(short("cannot allocate vector of size 3.5 Gb"), "3.8 GB", class = "kernops_memory_error")
  expect_error(short("cannot allocate memory block of size 134217728 Tb"), "not enough memory for this computation$",
               class = "kernops_memory_error")
  expect_error(short("vector memory exhausted (limit reached?)"), class = "kernops_memory_error")
  expect_error(short("vector memory limit of 16.0 Gb reached, see mem.maxVSize()"), class = "kernops_memory_error")
})

test_that("R's messages about a shortage are recognised in the language of the session", {
  skip_if_not("de" %in% list.files(file.path(R.home(), "library", "translations")))
  skip_if(Sys.getlocale("LC_MESSAGES") %in% c("C", "POSIX"), "messages of this locale are not translated")
  for (language in c("de", "fr", "ja", "ru")) {
    withr::local_language(language)
    said <- sprintf(gettext("cannot allocate vector of size %0.1f Mb", domain = "R"), 512)
    expect_error(report_shortage(stop(said)), class = "kernops_memory_error", label = language)
  }
})

test_that("other errors, results and the visibility of results are unchanged", {
  expect_error(report_shortage(stop("another")), "^another$", class = "simpleError")
  plain <- function() stop("cannot open file 'x'")
  expect_identical(conditionCall(tryCatch(report_shortage(plain()), error = identity)), quote(plain()))
  expect_invisible(report_shortage(invisible(1)))
  expect_visible(report_shortage(1))
  returns <- function() report_shortage({
    if (TRUE) return("early")
    "late"
  })
  expect_identical(returns(), "early")
  expect_warning(report_shortage(warning("heard")), "heard")
  expect_error(report_shortage(tryCatch(stop("cannot allocate vector of size 1.0 Gb"), error = \(e) stop("inner"))),
               "inner")
})

test_that("the memory error names the function that the user called", {
  local_function("check_values", function(...) stop("cannot allocate vector of size 512.0 Mb"))
  users <- list2env(mget(c("seg_softmax", "seg_logsumexp"), asNamespace("kernops")), parent = globalenv())
  for (call in expression(seg_softmax(1:3, lengths = 3), seg_logsumexp(1:3, lengths = 3))) {
    error <- expect_error(eval(call, users), class = "kernops_memory_error")
    expect_identical(conditionCall(error)[[1]], call[[1]])
  }
})

test_that("every export and every method reports a shortage of memory", {
  reports <- \(f) any(c("report_shortage", "UseMethod") %in% all.names(body(f)))
  namespace <- asNamespace("kernops")
  exported <- mget(getNamespaceExports(namespace), namespace, mode = "any", inherits = TRUE, ifnotfound = list(NULL))
  ours <- Filter(\(f) typeof(f) == "closure" && identical(environment(f), namespace) && !isS4(f), exported)
  expect_gt(length(ours), 100)
  expect_identical(names(Filter(Negate(reports), ours)), character())
  for (name in c("predict.gp", "simulate.gp", "as.matrix.LazyTensor")) expect_true(reports(get(name, namespace)))
  expect_true(reports(methods::getMethod("%*%", c("LazyTensor", "ANY"))))
  expect_true(reports(methods::getMethod("Ops", c("LazyTensor", "ANY"))))
  expect_identical(rowSums(diag(2)), c(1, 1)) # the method of other classes is unchanged
})

# ---- plans

test_that("plans of single calls are freed when the calls end, also after errors", {
  freed <- 0
  local_function("seg_free", function(pointer) {
    freed <<- freed + 1
    .Call(`_kernops_seg_free`, pointer)
  })
  after <- function(code) {
    freed <<- 0
    try(code, silent = TRUE)
    freed
  }
  g <- c(2, 1, 2, 5)
  expect_equal(after(seg_reduce(1:4, g = g)), 1)
  expect_equal(after(seg_reduce(1:4, g = letters[g], op = "mean")), 1)
  expect_equal(after(seg_softmax(1:4, lengths = c(1, 3))), 1)
  expect_equal(after(seg_logsumexp(1:4, offsets = c(0, 2))), 1)
  expect_equal(after(seg_grad("sum")(1:4, c(1, 1, 1), g = g)), 1)
  expect_equal(after(seg_grad("sum")(1:4, 1:2, lengths = c(2, 2), sources = c(0, 1))), 2)
  expect_equal(after(reduce_by_key(g, 1:4)), 1)
  expect_equal(after(seg_op("a + b")), 8)
  expect_equal(after(spmv(list(offsets = c(0, 2), columns = 0:1, values = 1:2), 1:2)), 1)
  expect_equal(after(axis_grad("sum")(matrix(1:4, 2), 1:2, dims = 1)), 1)
  expect_equal(after(seg_reduce(1:4, g = g, weights = "none")), 1)
  expect_equal(after(seg_reduce(1:4, g = 1:3)), 1)
  plan <- seg_plan(g = g)
  expect_equal(after(seg_reduce(1:4, plan = plan)), 0)
  expect_equal(after(seg_softmax(1:4, plan = plan)), 0)
})

test_that("a plan that was freed is analysed again", {
  plan <- seg_plan(g = c(2, 1, 2, 5))
  result <- seg_reduce(1:4, plan = plan)
  free_plan(plan)
  free_plan(plan)
  expect_identical(seg_reduce(1:4, plan = plan), result)
  expect_error(seg_free(plan), class = "error")
})

# The growth of the process in MB during some calls, after a first call and a garbage collection.
growth <- function(call, times = 30) {
  skip_if_not(file.exists("/proc/self/statm"))
  skip_if(nzchar(Sys.getenv("ASAN_OPTIONS")), "AddressSanitizer keeps freed memory")
  resident <- \() scan("/proc/self/statm", quiet = TRUE)[[2]] * 4096 / 1e6
  call()
  gc()
  before <- resident()
  for (k in seq_len(times)) call()
  resident() - before
}

test_that("calls do not leak the memory of plans", {
  skip_on_cran()
  n <- 2e6
  v <- as.numeric(seq_len(n))
  g <- rep(c(3L, 1L, 2L), length.out = n) # a plan has 16 MB
  expect_lt(growth(\() seg_reduce(v, g = g)), 150)
  expect_lt(growth(\() try(seg_reduce(v, g = g, weights = -v, op = "var"), silent = TRUE)), 250)
  expect_lt(growth(\() seg_reduce(v[1:1e6], lengths = rep(1, 1e6), op = "max")), 400)
})

test_that("R's garbage collector frees dropped plans, although their memory is outside of R", {
  skip_on_cran()
  n <- 4e6
  g <- rep(c(3L, 1L, 2L), length.out = n)
  expect_lt(growth(\() segments(seg_plan(g = g)), 40), 700) # 40 plans of 32 MB
})
