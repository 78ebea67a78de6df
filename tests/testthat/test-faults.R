# Failures of the GPU: the emulator of tools/emulate makes every allocation, copy, launch, load and compilation fail
# once. Each failure must raise an error of kernops or leave the result unchanged, must leak nothing, and the next call
# must be right.

emulator <- file.path(Sys.getenv("CUDA_HOME"), "lib64", "libcuda.so.1")
skip_without_emulator <- \() skip_if_not(emulated(), "needs tools/emulate")
# the kinds of failures in tools/emulator/faults.h
kinds <- c("allocation", "copy", "launch", "loading", "compilation", "other")

fail <- function(kind = NULL, k = 1, times = 1) {
  if (!is.loaded("emulator_fail")) dyn.load(emulator)
  .C("emulator_fail", if (is.null(kind)) -1L else match(kind, kinds) - 1L, as.integer(k), as.integer(times))
}
calls_made <- \() stats::setNames(.C("emulator_calls", integer(length(kinds)))[[1]], kinds)

# Empties the memory pools of all devices. A pool returns its free blocks to the driver when an allocation fails. The
# function therefore makes one allocation fail, of a size for which the pool has no free block. Successive calls
# alternate between two sizes.
other_size <- c(`500` = 1000, `1000` = 500)
size <- 500
empty_pools <- function(full = FALSE) {
  size <<- other_size[[as.character(size)]]
  for (device in cuda_describe()$device) {
    gpu_matrix(diag(2), device = device) # opens the device
    gc(full = full)
    fail("allocation")
    gpu_matrix(matrix(0, size, 100), device = device)
    gc(full = full)
    fail()
  }
}
# The numbers of memory blocks and of events that are not yet freed.
held <- function() {
  empty_pools(full = TRUE)
  .C("emulator_held", integer(2))[[1]]
}

# Expects that call() returns `expected` or raises an error of kernops, for each call of the driver that may fail.
expect_survives <- function(label, call, expected, faults = c("allocation", "copy", "launch", "other")) {
  right <- \(result) is.numeric(result) && isTRUE(all.equal(as.numeric(result), as.numeric(expected), tolerance = 1e-9))
  fail()
  expect_true(right(call()), label = label)
  before <- held()
  fail()
  call()
  made <- calls_made()
  for (kind in faults) for (k in seq_len(made[[kind]])) for (times in c(1, if (kind == "allocation") 1e6)) {
    described <- paste0(label, ": ", kind, " ", k, if (times > 1) " and all after it")
    if (kind == "allocation") empty_pools()
    fail(kind, k, times)
    result <- tryCatch(call(), error = identity)
    fail()
    classed <- inherits(result, "kernops_error")
    expect(classed || kind %in% c("allocation", "other") && times == 1 && right(result),
           paste0(described, ": ", class(result)[[1]], if (is.list(result)) conditionMessage(result)))
    expect_true(right(call()), label = paste(described, "and the next call"))
  }
  expect_identical(held(), before, info = label)
}

withr::local_seed(4)
x <- matrix(runif(600), 300)
y <- matrix(runif(40), 20)
b <- runif(20)
gauss <- \(x, y) exp(-as.matrix(stats::dist(rbind(x, y)))[seq_len(nrow(x)), nrow(x) + seq_len(nrow(y))]^2)
on_gpu <- \(d, device = 0, formula = "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)") {
  keops_kernel(formula, c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "b = Vj(1)"), backend = "cuda", device = device)
}

test_that("GPU failures in reductions of pairs raise errors, or results are right", {
  skip_without_emulator()
  op <- on_gpu(2)
  expect_survives("many rows", \() op(list(x, y, b)), gauss(x, y) %*% b)
  expect_survives("few rows", \() op(list(y, x, x[, 1])), gauss(y, x) %*% x[, 1])
  wide <- matrix(runif(140 * 70), 140) / 8
  long <- on_gpu(70)
  expect_survives("wide rows", \() long(list(wide, wide, wide[, 1])), gauss(wide, wide) %*% wide[, 1])
  keep <- rbind(c(TRUE, FALSE, TRUE), c(FALSE, TRUE, TRUE))
  rows <- rbind(c(1, 100), c(101, 300))
  columns <- rbind(c(1, 5), c(6, 14), c(15, 20))
  ranges <- from_matrix(rows, columns, keep)
  some <- keep[rep(1:2, c(100, 200)), rep(1:3, c(5, 9, 6))]
  expect_survives("ranges", \() op(list(x, y, b), ranges = ranges), (gauss(x, y) * some) %*% b)
  two <- on_gpu(2, 0:1)
  expect_survives("two devices", \() two(list(x, y, b)), gauss(x, y) %*% b)
})

test_that("GPU failures in reductions of segments and arrays, or in copies, raise errors, or results are right", {
  skip_without_emulator()
  v <- x[, 1]
  g <- rep(1:30, each = 10)
  by <- \(f, ...) vapply(split(v, g), f, 0)
  expect_survives("sums of segments", \() seg_reduce(v, g = g, op = "sum", backend = "cuda"), by(sum))
  expect_survives("variances", \() seg_reduce(v, g = g, op = "var", backend = "cuda"), by(stats::var))
  expect_survives("softmax", \() seg_softmax(v, g = g, backend = "cuda"), exp(v) / rep(by(\(u) sum(exp(u))), each = 10))
  expect_survives("medians", \() seg_reduce(v, g = g, op = "median", backend = "cuda"), by(stats::median))
  expect_survives("ranks", \() seg_rank(x[, 1], backend = "cuda"), rank(x[, 1]))
  expect_survives("keys", \() reduce_by_key(g, v, "max", backend = "cuda")[[2]], by(max))
  a <- array(v, c(5, 6, 10))
  expect_survives("axes", \() axis_reduce(a, 2, "sum", backend = "cuda"), apply(a, c(1, 3), sum))
  expect_survives("a matrix there and back", \() as.matrix(gpu_matrix(x)), x)
})

test_that("GPU failures in linear systems and conditioning sets raise errors, or results are right", {
  skip_without_emulator()
  op <- on_gpu(2)
  z <- y[1:4, ] # the solver needs few steps
  solved <- \() kernel_solve(op, "b", list(z, z, b[1:4]), 1, tol = 1e-12)$solution
  expect_survives("a system", solved, solve(gauss(z, z) + diag(4), b[1:4]))
  d <- data.frame(u = y[, 1], v = y[, 2], b = b)
  fit <- \() stats::logLik(gp(b ~ 0, d, ~ u + v, squared_exponential(1, 1 / sqrt(2)) + nugget(0.5), "vecchia", "none",
                              backend = "cuda", control = gp_control(neighbours = 19)))
  factor <- chol(gauss(y, y) + diag(0.5, 20))
  expected <- -sum(log(diag(factor))) - sum(backsolve(factor, b, transpose = TRUE)^2) / 2 - 10 * log(2 * pi)
  expect_survives("sets", \() as.numeric(fit()), expected)
})

test_that("failures to compile or load a kernel raise errors, or results are right", {
  skip_without_emulator()
  n <- 0
  call <- function() { # each call has a new formula, which no cache contains
    n <<- n + 1
    on_gpu(2, formula = sprintf("Sum_Reduction(Exp(-SqDist(x, y)) * b + %d * 0, 1)", n))(list(x, y, b))
  }
  expect_survives("a new formula", call, gauss(x, y) %*% b, c("loading", "compilation"))
})

test_that("a device that fails to open can be opened by the next call", {
  skip_without_emulator()
  skip_if_not_in_library()
  result <- withr::local_tempfile()
  script <- bquote({
    .libPaths(.(.libPaths()))
    library(kernops)
    dyn.load(.(emulator))
    held <- \() .C("emulator_held", integer(2))[[1]]
    ended <- NULL
    for (kind in c(5L, 0L, 1L)) for (k in 1:8) {
      .C("emulator_fail", kind, k, 1L)
      gc()
      ended <- c(ended, tryCatch({gpu_matrix(diag(3)); "opened"}, error = \(e) class(e)[[1]]))
      .C("emulator_fail", -1L, 1L, 1L)
      if (utils::tail(ended, 1) == "opened") break
    }
    saveRDS(list(ended = ended, held = held()), .(result))
  })
  file <- withr::local_tempfile(lines = deparse(script))
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = FALSE, stderr = FALSE)
  found <- readRDS(result)
  expect_setequal(found$ended, c("kernops_cuda_error", "opened"))
  expect_gte(sum(found$ended != "opened"), 5)
  expect_lte(found$held[[1]], 2) # at most a block of zeros and the matrix are still allocated
  expect_identical(found$held[[2]], 1L)
})
