# R_LIBS=.lib Rscript bench/verbs_gpu.R [columns] [kmeans] [sinkhorn] [kernel_sum]
#
# Tasks of bench/verbs.R on a GPU: milliseconds of a step. The time of a step is computed from the difference between a
# call with many steps and a call with few steps, so that uploads and the compilation of kernels do not count. A whole
# call of kernel_sum() is measured, with data on the host.

library(kernops)
options(kernops.backend = "cuda")
chosen <- commandArgs(TRUE)
wanted <- \(part) !length(chosen) || part %in% chosen
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
show <- function(rows) print(do.call(rbind, rows), digits = 3, row.names = FALSE)
cloud <- \(n, d) withr::with_seed(1, matrix(rnorm(n * d), n))
elapsed <- \(code) min(replicate(3, system.time(code())[["elapsed"]]))
per_step <- function(code, few, many) 1e3 * (elapsed(\() code(many)) - elapsed(\() code(few))) / (many - few)

if (wanted("columns")) {
  title("1e7 rows of 3 coordinates on the GPU and 10 columns: milliseconds, and the speed of the rows read and written")
  show(lapply(c("float32", "float64"), \(precision) {
    x <- gpu_matrix(cloud(1e7, 3), precision)
    y <- gpu_matrix(cloud(10, 3), precision)
    b <- gpu_matrix(cloud(10, 1), precision)
    bytes <- 1e7 * 4 * (if (precision == "float32") 4 else 8)
    copied <- gpu_matrix(cloud(1e7, 1), precision)
    time_of <- function(op, input) {
      op(input, output = "gpu")
      per_step(\(n) { for (k in seq_len(n)) out <- op(input, output = "gpu"); as.matrix(out[1, ]) }, 10, 110)
    }
    sums <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)"),
                         precision = precision)
    nearest <- keops_kernel("ArgMin_Reduction(SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(3)"), precision = precision)
    row <- function(formula, ms) data.frame(formula, precision, ms, "TB/s" = bytes / ms / 1e9, check.names = FALSE)
    rbind(row("Gaussian sum", time_of(sums, list(x, y, b))), row("ArgMin", time_of(nearest, list(x, y))))
  }))
}

if (wanted("kmeans")) {
  title("k-means: milliseconds of an iteration, and of its two parts")
  show(Map(\(n, k, d) {
    x <- cloud(n, d)
    start <- x[seq_len(k), ]
    code <- \(steps) suppressWarnings(kmeans_large(x, start, iter.max = steps))
    label <- code(2)$cluster
    problem <- list(x = x, nearest = kernops:::nearest_centre_operator(d, "cuda"))
    problem$resident <- kernops:::resident_points(problem$nearest, x)
    sums <- kernops:::sums_by_cluster(problem)
    data.frame(n, k, d, iteration = per_step(code, 5, 45),
               nearest = per_step(\(m) for (s in seq_len(m)) kernops:::nearest_centre(problem, start), 5, 45),
               sums = per_step(\(m) for (s in seq_len(m)) sums(label, k), 5, 45))
  }, c(65536, 1e6), c(1024, 100), c(128, 10)))
}

if (wanted("sinkhorn")) {
  title("Sinkhorn's algorithm between two samples of 50,000 points in 64 coordinates: milliseconds of an iteration")
  x <- cloud(5e4, 64)
  y <- cloud(5e4, 64)[, 64:1] + 0.2
  show(lapply(c("float32", "float64"), \(precision) {
    code <- \(steps) suppressWarnings(sinkhorn(x, y, 20, scaling = 0, tol = 0, iter.max = steps, precision = precision))
    data.frame(precision, iteration = per_step(code, 5, if (precision == "float32") 55 else 15))
  }))
}

if (wanted("kernel_sum")) {
  title("kernel_sum() of n x n points to 1e-6, points and result on the host: seconds of a call, and the error")
  clouds <- list(
    uniform = \(n, d) matrix(runif(n * d), n), line = \(n, d) runif(n) %o% seq_len(d) / d,
    clustered = \(n, d) matrix(rnorm(n * d, sd = 1e-3), n) + matrix(runif(20 * d), 20)[sample(20, n, TRUE), ],
    offset = \(n, d) matrix(runif(n * d), n) + 1e6
  )
  row <- function(cloud, n, d, kernel, name) {
    x <- withr::with_seed(1, clouds[[cloud]](n, d))
    b <- withr::with_seed(2, rnorm(n))
    sums <- kernel_sum(kernel, x, b = b, tol = 1e-6)
    exact <- system.time(kernel_sum(kernel, x, b = b, tol = NULL))[["elapsed"]]
    data.frame(kernel = name, cloud, n, d, seconds = elapsed(\() kernel_sum(kernel, x, b = b, tol = 1e-6)),
               "all pairs" = exact, error = attr(sums, "error"), modes = toString(attr(sums, "modes")),
               check.names = FALSE)
  }
  smooth <- squared_exponential(1, 0.05)
  rough <- "Exp(-Norm2(x - y) / 0.1)"
  show(c(lapply(names(clouds), row, 1e6, 2, smooth, "smooth"), list(row("uniform", 1e6, 3, smooth, "smooth")),
         list(row("uniform", 1e6, 2, rough, "not smooth"))))
  x <- withr::with_seed(1, matrix(runif(2e7), ncol = 2))
  b <- withr::with_seed(2, rnorm(1e7))
  for (kernel in list(smooth, squared_exponential(1, 0.005))) {
    sums <- kernel_sum(kernel, x, b = b, tol = 1e-6)
    cat(sprintf("1e7 x 1e7 in 2-D: %.3f s, error %.1e, modes %s\n",
                elapsed(\() kernel_sum(kernel, x, b = b, tol = 1e-6)), attr(sums, "error"),
                toString(attr(sums, "modes"))))
  }
}
