# Speed on the GPU compared with KeOps 2.3:  Rscript bench/gpu.R [float32|float64 [names]]
#
# `names`, a regular expression, selects formulas by name. `first s` is the time of the first call. This call compiles
# the kernels that are neither in the catalogue of precompiled kernels nor in the cache; the cache is empty if
# KERNOPS_CACHE_DIR is a new folder. Data and results stay on the device (gpu_matrix), as in the measurements of KeOps.
# `ms` is the median wall time of repeated calls measured in R, after a call that compiles. `C++ ms` is the time of
# repeated calls inside C++, each of which waits for its result. `device ms` is the time between two CUDA events around
# calls that do not wait, the same measure as for KeOps; `ratio` and pairs per second are computed from `device ms`. The
# KeOps column was measured with PyKeOps 2.3 (Genred, torch tensors on the device, default options) on one NVIDIA H200,
# driver 580.159, CUDA 13.0, and is valid for this card only. KeOps computes cosines with fast-math, whose error grows
# to 1e-4 at arguments of 1000. `torch ms` is the time of code for torch that computes squared distances for blocks of
# 8192 rows by addmm, and then calls topk or argmin.
library(kernops)
options(width = 160)

only <- commandArgs(TRUE)
gaussian <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
matern <- paste("Sum_Reduction((1 + Sqrt(5) * g * Norm2(x - y) + (5 / 3) * g^2 * SqDist(x, y)) *",
                "Exp(-Sqrt(5) * g * Norm2(x - y)) * b, 1)")
hessian <- "Grad(Grad(Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1), x, e), x, u)"
slope_by <- \(w) sprintf("Grad(Sum_Reduction(Exp(-WeightedSqDist(%s, x, y)) * b, 1), x, e)", w)
half <- c(float32 = 1e5, float64 = 5e4)
cases <- list(
  #    name                     formula                                              D  dim b  M    N    KeOps ms
  list("Gaussian",              gaussian,                                            3,   1, 1e4, 1e4,  0.525, NA),
  list("Gaussian",              gaussian,                                            3,   1, 1e5, 1e5,  5.66,  28.4),
  list("Gaussian",              gaussian,                                            3,   1, 1e6, 1e6,  473.8, NA),
  list("Gaussian",              gaussian,                                           10,   1, 1e5, 1e5,  13.0,  45.1),
  list("Gaussian",              gaussian,                                           50,   1, 1e5, 1e5,  66.9,  138),
  list("Gaussian",              gaussian,                                          100,   1, 1e5, 1e5,  231.7, 487),
  list("Gaussian, wide b",      gaussian,                                            3,  10, 1e5, 1e5,  12.2,  43.3),
  list("ArgKMin, K = 10",       "ArgKMin_Reduction(SqDist(x, y), 10, 1)",            3,   0, 1e5, 1e5,  10.7,  NA),
  list("Min",                   "Min_Reduction(SqDist(x, y), 1)",                    3,   0, 1e5, 1e5,  5.34,  NA),
  list("LogSumExp",             "LogSumExp_Reduction(-g * SqDist(x, y), 1)",         3,   0, 1e5, 1e5,  9.38,  NA),
  list("exponential",           "Sum_Reduction(Exp(-g * Norm2(x - y)) * b, 1)",      3,   1, 1e5, 1e5,  7.51,  NA),
  list("gradient of Gaussian",  paste0("Grad(", gaussian, ", x, e)"),                3,   1, 1e5, 1e5,  9.15,  NA),
  list("Gaussian, few rows",    gaussian,                                            3,   1, 100, 1e7,  332,   NA),
  list("latency of one call",   gaussian,                                            3,   1, 1e3, 1e3,  0.145, NA),
  list("Gaussian",              gaussian,                                            8,   1, half, half, NA,   NA),
  list("Gaussian, ARD",         "Sum_Reduction(Exp(-WeightedSqDist(s, x, y)) * b, 1)", 8, 1, half, half, 13.0, 9.84),
  list("Gaussian, matrix",      "Sum_Reduction(Exp(-WeightedSqDist(A, x, y)) * b, 1)", 3, 1, half, half, NA, NA),
  list("Gaussian, matrix",      "Sum_Reduction(Exp(-WeightedSqDist(A, x, y)) * b, 1)", 8, 1, half, half, NA, NA),
  list("gradient, ARD",         slope_by("s"),                                       8,   1, half, half, NA,   NA),
  list("gradient, matrix",      slope_by("A"),                                       8,   1, half, half, NA,   NA),
  list("cosine",                "Sum_Reduction(Cos((x | y)) * b, 1)",                3,   1, half, half, 3.81, 8.59),
  list("Matern 5/2",            matern,                                              3,   1, half, half, 8.78, 11.8),
  list("gradient of Matern",    paste0("Grad(", matern, ", x, e)"),                  3,   1, half, half, 22.4, 21.2),
  list("Cauchy",                "Sum_Reduction(b / (1 + g * SqDist(x, y)), 1)",      5,   1, half, half, 7.09, 5.51),
  list("LogSumExp",             "LogSumExp_Reduction(-g * SqDist(x, y), 1)",         2,   0, half, half, 8.34, 12.2),
  list("distance",              "Sum_Reduction(Norm2(x - y) * b, 1)",                2,   1, half, half, 3.66, 4.62),
  list("Gaussian, wide b",      gaussian,                                            3,   3, half, half, 6.80, 8.53),
  list("Gaussian, wide b",      gaussian,                                            3,  50, half, half, 71.1, 36.0),
  list("Hessian times vector",  hessian,                                             3,   1, half, half, 15.9, 11.1),
  list("ArgKMin, K = 10",       "ArgKMin_Reduction(SqDist(x, y), 10, 1)",           16,   0, half, half, 21.8, 9.66,
       torch = c(float32 = 168, float64 = 78)),
  list("ArgMin",                "ArgMin_Reduction(SqDist(x, y), 1)",               100,   0, 1e6, 1e3,  17.7,  29.7,
       torch = c(float32 = 42.9, float64 = 74))
)

# Median milliseconds of a call that is repeated for about half a second.
milliseconds <- function(call) {
  call()
  elapsed <- \(n) as.numeric(system.time(for (i in seq_len(n)) call(), gcFirst = FALSE)[["elapsed"]]) / n
  n <- max(1, min(2000, ceiling(0.1 / max(elapsed(3), 1e-5))))
  stats::median(replicate(5, elapsed(n))) * 1e3
}

measure <- function(case, precision) {
  names(case)[1:8] <- c("name", "formula", "D", "b", "M", "N", "float32", "float64")
  if (length(case$M) > 1) case$M <- case$N <- half[[precision]]
  declared <- c(g = "g = Pm(1)", s = sprintf("s = Pm(%d)", case$D), A = sprintf("A = Pm(%d)", case$D^2),
                x = sprintf("x = Vi(%d)", case$D),
                y = sprintf("y = Vj(%d)", case$D), b = sprintf("b = Vj(%d)", case$b), e = "e = Vi(1)",
                u = sprintf("u = Vi(%d)", case$D))
  used <- intersect(names(declared), all.vars(parse(text = case$formula)))
  op <- keops_kernel(case$formula, declared[used], precision = precision, backend = "cuda")
  random <- \(n, d) gpu_matrix(matrix(stats::runif(n * d), n, d), precision)
  set.seed(1)
  s <- seq(0.3, 0.7, length.out = case$D)
  data <- list(g = 0.5, s = s, A = diag(s) + tcrossprod(s) / case$D, x = random(case$M, case$D),
               y = random(case$N, case$D), b = if (case$b) random(case$N, case$b), e = random(case$M, 1),
               u = random(case$M, case$D))[used]
  first <- system.time(op(data, output = "gpu"), gcFirst = FALSE)[["elapsed"]]
  ms <- milliseconds(\() op(data, output = "gpu"))
  from <- environment(op)
  calls <- max(3, min(500, ceiling(200 / ms)))
  inside <- kernops:::kernel_device_time(from$live_kernel(), data, from$settings(), calls)
  keops <- case[[precision]]
  three <- \(x) signif(x, 3)
  data.frame(formula = case$name, D = case$D, `dim b` = case$b, M = case$M, N = case$N, precision = precision,
             `first s` = signif(first, 2), ms = three(ms), `C++ ms` = three(inside[["host"]]),
             `device ms` = three(inside[["device"]]),
             `Tpairs/s` = three(case$M * case$N / inside[["device"]] / 1e9), `KeOps ms` = keops,
             ratio = three(keops / inside[["device"]]), `torch ms` = c(case$torch[precision], NA)[[1]],
             check.names = FALSE)
}

kernops_sitrep()
for (precision in c("float32", "float64")) {
  if (length(only) && precision != only[[1]]) next
  wanted <- if (length(only) > 1) grepl(only[[2]], vapply(cases, `[[`, "", 1)) else TRUE
  table <- do.call(rbind, lapply(cases[wanted], measure, precision))
  print(table, row.names = FALSE)
}
