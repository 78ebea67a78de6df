# R_LIBS=.lib Rscript bench/segments.R [values]
#
# Sums of segments on one core, beside base R and, where installed, collapse and data.table. The machine may be shared,
# so what counts is the ratio of two times of one run. With a GPU, the same there: beside CUB, by segments.cu, where
# nvcc is found too, and as R sees it, with data on the GPU. Results go into RESULTS.md.

library(kernops)

args <- commandArgs(TRUE)
n <- if (length(args)) as.numeric(args[1]) else 1e7
has <- \(package) requireNamespace(package, quietly = TRUE)
options(kernops.threads = 1)
if (has("collapse")) collapse::set_collapse(nthreads = 1)
if (has("data.table")) data.table::setDTthreads(1)

set.seed(1)
x <- runif(n)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
# median time of the processor, which a shared machine disturbs less than that of the clock
ms <- function(expr, runs = 7) {
  expr <- substitute(expr)
  frame <- parent.frame()
  once <- function() sum(system.time(eval(expr, frame), gcFirst = FALSE)[1:2])
  if (runs > 1) once()
  1e3 * median(replicate(runs, once()))
}
lengths_of <- function(mean) { # random lengths with this mean, at least 1
  lengths <- 1 + rpois(2 * n / mean, mean - 1)
  lengths <- lengths[cumsum(lengths) < n]
  c(lengths, n - sum(lengths))
}

# g: the group of each value; sorted groups are reduced as segments
compare <- function(name, g, lengths = NULL, goal, slow = TRUE) {
  make <- \() if (is.null(lengths)) seg_plan(g = g) else seg_plan(lengths = lengths)
  plan <- make()
  row <- data.frame(name, goal = goal, plan = ms(seg_reduce(x, plan = plan)),
                    "one call" = ms(seg_reduce(x, plan = make()), 3), check.names = FALSE)
  row$collapse <- row$data.table <- NA
  if (has("collapse")) {
    grp <- collapse::GRP(g, sort = FALSE)
    stopifnot(all.equal(sum(collapse::fsum(x, grp)), sum(seg_reduce(x, plan = plan))))
    row$collapse <- ms(collapse::fsum(x, grp, use.g.names = FALSE))
  }
  if (has("data.table")) {
    table <- data.table::data.table(x, g)
    row$data.table <- ms(table[, sum(x), by = g], 1)
  }
  row$rowsum <- if (slow) ms(rowsum(x, g, reorder = FALSE), 1) else NA
  row$tapply <- if (slow) ms(tapply(x, g, sum), 1) else NA
  row$"collapse / plan" <- row$collapse / row$plan
  row$"rowsum / one call" <- row$rowsum / row$"one call"
  row
}
show <- function(rows) print(do.call(rbind, rows), digits = 3, row.names = FALSE)
owner <- \(lengths) rep(seq_along(lengths), lengths)

cat(R.version.string, ", kernops ", format(packageVersion("kernops")), ", one core\n", sep = "")
title("Sum of %g doubles by segments, milliseconds; collapse with its groups made before, as our plan", n)
sorted <- c(100000, 1000, 100, 10, 2)
goals <- c(9, 9, 9, 17, 30)
rows <- Map(function(length, goal) {
  lengths <- lengths_of(length)
  compare(paste("sorted, mean length", format(length)), owner(lengths), lengths, goal, slow = length <= 100)
}, sorted, goals)
zipf <- c(0.3 * n, lengths_of(100))
zipf <- c(zipf[cumsum(zipf) < n], n - sum(zipf[cumsum(zipf) < n]))
rows <- c(rows, list(compare("sorted, one holds 30 %, else 100", owner(zipf), zipf, NA, slow = FALSE)))
equal <- rep(2, n / 2)
rows <- c(rows, list(compare("sorted, all lengths 2", owner(equal), equal, 30, slow = FALSE)))
rows <- c(rows, Map(function(groups, goal) {
  compare(paste(format(groups, scientific = FALSE), "random groups"), sample.int(groups, n, TRUE), NULL, goal,
          groups >= 1e5)
}, c(1000, 1e5, 1e6), c(NA, 17, 54)))
show(rows)

title("Other operations, mean length 100, times the sum")
lengths <- lengths_of(100)
plan <- seg_plan(lengths = lengths)
sum_time <- ms(seg_reduce(x, plan = plan))
show(lapply(c("max", "mean", "var", "argmin", "logsumexp", "softmax"), function(op) {
  time <- ms(seg_reduce(x, plan = plan, op = op), 5)
  data.frame(op, ms = time, "/ sum" = time / sum_time, check.names = FALSE)
}))
custom <- seg_op("a + b")
cat("seg_op(\"a + b\"):", format(ms(seg_reduce(x, plan = plan, op = custom), 3), digits = 3), "ms; exp(x) alone:",
    format(ms(exp(x), 3), digits = 3), "ms\n")

title("Column sums of a 1000 x %g matrix, milliseconds", n / 1000)
m <- matrix(x, 1000)
whole <- seg_plan(lengths = 1000)
show(list(data.frame(kernops = ms(seg_reduce(m, plan = whole)), colSums = ms(colSums(m)))))

if (has("Matrix")) {
  size <- n / 10
  A <- Matrix::sparseMatrix(i = sample.int(size, n, TRUE), j = sample.int(size, n, TRUE), x = 1, dims = c(size, size))
  v <- runif(size)
  matrices <- list(dgCMatrix = A, dgRMatrix = methods::as(A, "RsparseMatrix"))
  title("Sparse %g x %g matrix of %g entries times a vector, milliseconds", size, size, length(A@x))
  show(lapply(names(matrices), function(class) {
    plan <- spmv_plan(matrices[[class]])
    data.frame(class, kernops = ms(spmv(matrices[[class]], v, plan = plan), 3), Matrix = ms(matrices[[class]] %*% v, 3))
  }))
}

on_gpu <- tryCatch(gpu_matrix(0), kernops_cuda_error = \(e) NULL)
nvcc <- Sys.which(c("nvcc", file.path(Sys.getenv("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")))
nvcc <- nvcc[nzchar(nvcc)][1]
if (!is.null(on_gpu) && !is.na(nvcc)) {
  title("On the GPU, beside CUB (segments.cu)")
  program <- tempfile()
  options <- c("-std=c++17 -O3 -arch=native -cudart static", paste0("-I", system.file("include", package = "kernops")))
  if (system2(nvcc, c(options, "bench/segments.cu", "-o", program)) == 0) system2(program)
}

if (!is.null(on_gpu)) {
  n <- 2^27
  values <- rep(runif(2^20), 2^7)
  # of results that stay there, the first one is waited for
  gpu_ms <- function(call, runs = 7) {
    calls <- 20
    once <- function() system.time({for (n in seq_len(calls)) result <- call(); as.matrix(result[1, ])})[["elapsed"]]
    as.matrix(call()[1, ])
    1e3 * median(replicate(runs, once())) / calls
  }
  title("On the GPU from R, %g numbers and results there: milliseconds, and TB/s of values, offsets and results", n)
  show(do.call(c, lapply(c("float32", "float64"), function(precision) {
    x <- gpu_matrix(values, precision)
    bytes <- if (precision == "float32") 4 else 8
    lapply(c(16, 256, 65536, 2^24), function(length) {
      lengths <- lengths_of(length)
      plan <- seg_plan(lengths = lengths)
      time <- gpu_ms(\() seg_reduce(x, plan = plan, output = "gpu"))
      data.frame(precision, "mean length" = length, sum = time,
                 "TB/s" = 1e-9 * (bytes * n + 12 * length(lengths)) / time,
                 logsumexp = gpu_ms(\() seg_reduce(x, plan = plan, op = "logsumexp", output = "gpu")),
                 softmax = gpu_ms(\() seg_softmax(x, plan = plan, output = "gpu")), check.names = FALSE)
    })
  })))

  rows <- 2^20
  each <- 16
  A <- list(offsets = each * (0:rows), columns = sample.int(rows, each * rows, TRUE) - 1, values = runif(each * rows))
  title("Sparse %g x %g matrix of %g entries times a vector on the GPU, milliseconds", rows, rows, each * rows)
  plan <- spmv_plan(A)
  show(lapply(c("float32", "float64"), function(precision) {
    v <- gpu_matrix(runif(rows), precision)
    time <- gpu_ms(\() spmv(A, v, plan = plan, output = "gpu"))
    data.frame(precision, "+ *" = time, "min +" = gpu_ms(\() spmv(A, v, "+", "min", plan, output = "gpu")),
               "entries / ns" = each * rows / time * 1e-6, check.names = FALSE)
  }))
}
