# R_LIBS=.lib Rscript bench/axis.R [gpu]
#
# Reductions over dimensions of an array on one core, compared with apply(), colSums() and rowSums(). A softmax is
# compared with exp() alone. The machine may be shared, so only the ratio of two times of one run is meaningful; each
# time is the smallest of a few measurements. With a GPU, the script also measures reductions of data on the GPU; the
# argument `gpu` omits the CPU.

library(kernops)
options(kernops.threads = 1)
set.seed(1)

ms <- function(code, runs = 7) {
  code <- substitute(code)
  frame <- parent.frame()
  min(vapply(seq_len(runs), \(run) system.time(eval(code, frame))[["elapsed"]], 0)) * 1e3
}
table <- function(...) print(data.frame(..., check.names = FALSE), digits = 3, row.names = FALSE)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
subsets <- list(1, 2, 3, 1:2, c(1, 3), 2:3, 1:3)

on_one_core <- function() {
  x <- array(rnorm(1e7), c(200, 250, 200))
  title("Sum of a 200 x 250 x 200 array, one core, ms")
  col_sums <- ms(colSums(x))
  rows <- lapply(subsets, function(dims) {
    ours <- ms(axis_reduce(x, dims, "sum"))
    kept <- setdiff(1:3, dims)
    base <- if (length(kept)) ms(apply(x, kept, sum), 1) else ms(sum(x))
    data.frame(dims = toString(dims), kernops = ours, "/ colSums" = ours / ms(colSums(x)), apply = base,
               "apply / kernops" = base / ours, check.names = FALSE)
  })
  table(do.call(rbind, rows))
  title("colSums %.3g ms, rowSums %.3g ms (sums of dimensions 2 and 3 of the same array)", col_sums, ms(rowSums(x)))

  title("Other operations on the same array, one core, ms")
  rows <- lapply(c("prod", "max", "mean", "var", "argmin", "any", "logsumexp"), function(op) {
    data.frame(op, "dims 1" = ms(axis_reduce(x, 1, op)), "dims 2" = ms(axis_reduce(x, 2, op)),
               "dims 2, na.rm" = ms(axis_reduce(x, 2, op, na.rm = TRUE)), check.names = FALSE)
  })
  table(do.call(rbind, rows))

  m <- matrix(rnorm(1e7), 2000)
  base_softmax <- function(m) {
    e <- exp(m - apply(m, 1, max))
    e / rowSums(e)
  }
  title("Softmax of a 2000 x 5000 matrix, one core, ms")
  rows <- lapply(list(1, 2, 1:2), function(dims) {
    ours <- ms(softmax(m, dims))
    data.frame(dims = toString(dims), kernops = ours, "/ exp(x)" = ours / ms(exp(m)), check.names = FALSE)
  })
  table(do.call(rbind, rows))
  title("exp(x) alone %.3g ms, softmax of rows in base R %.3g ms", ms(exp(m)), ms(base_softmax(m), 3))
  stopifnot(all.equal(softmax(m, 2), base_softmax(m), tolerance = 1e-12))
}
if (!identical(commandArgs(TRUE), "gpu")) on_one_core()

on_gpu <- tryCatch(gpu_matrix(matrix(0, 1, 1)), kernops_cuda_error = \(e) NULL)
if (!is.null(on_gpu)) {
  title("Data on the GPU, 2^27 numbers: values read (and written) per second, TB/s")
  values <- rep(rnorm(2^20), 2^7)
  a_plus_b <- seg_op("a + b") # outside the timed calls, because seg_op() itself takes 3 ms
  rows <- lapply(c("float32", "float64"), function(precision) {
    do.call(rbind, lapply(c(2^6, 2^10, 2^14, 2^20, 2^27), function(height) {
      dim(values) <- c(height, 2^27 / height)
      there <- gpu_matrix(values, precision)
      bytes <- 2^27 * if (precision == "float32") 4 else 8
      speed <- function(run, passes) {
        # reading a row waits until all calls are finished
        time <- ms({for (call in 1:20) result <- run(); as.matrix(result[1, ])}) / 20
        passes * bytes / (time / 1e3) / 1e12
      }
      data.frame(precision, rows = height, check.names = FALSE,
                 "sum of columns" = speed(\() axis_reduce(there, 1, "sum", output = "gpu"), 1),
                 "sum of rows" = speed(\() axis_reduce(there, 2, "sum", output = "gpu"), 1),
                 "a + b of columns" = speed(\() axis_reduce(there, 1, a_plus_b, output = "gpu"), 1),
                 "a + b of rows" = speed(\() axis_reduce(there, 2, a_plus_b, output = "gpu"), 1),
                 "softmax of columns" = speed(\() softmax(there, 1, output = "gpu"), 2),
                 "softmax of rows" = speed(\() softmax(there, 2, output = "gpu"), 2))
    }))
  })
  table(do.call(rbind, rows))
}
