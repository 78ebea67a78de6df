# Speed on the GPU beside KeOps 2.3:  Rscript bench/gpu.R [float32|float64]
#
# Data stay on the device (gpu_matrix), results too, as with the peer. `ms` is the median wall time of repeated calls
# seen from R, after one that compiles; `C++ ms` that of repeated calls inside C++, each waited for; `device ms` what
# lies between two CUDA events around them, not waited for one by one, as the peer was measured: `ratio` and pairs per
# second are of that. The KeOps column was measured with PyKeOps 2.3 (Genred, torch tensors on the device, default
# options) on one NVIDIA H200, driver 580.159, CUDA 13.0; it holds for that card only.
library(kernops)
options(width = 160)

only <- commandArgs(TRUE)
gaussian <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
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
  list("latency of one call",   gaussian,                                            3,   1, 1e3, 1e3,  0.145, NA)
)

# Median milliseconds of a call, by repeating it for about half a second.
milliseconds <- function(call) {
  call()
  elapsed <- \(n) as.numeric(system.time(for (i in seq_len(n)) call(), gcFirst = FALSE)[["elapsed"]]) / n
  n <- max(1, min(2000, ceiling(0.1 / max(elapsed(3), 1e-5))))
  stats::median(replicate(5, elapsed(n))) * 1e3
}

measure <- function(case, precision) {
  names(case) <- c("name", "formula", "D", "b", "M", "N", "float32", "float64")
  declared <- c("g = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), case$D), sprintf("b = Vj(%d)", case$b), "e = Vi(1)")
  variables <- gsub("Exp|Grad|Sum|Max", "", case$formula)
  used <- vapply(c("\\bg\\b", "x", "\\by\\b", "\\bb\\b", "\\be\\b"), grepl, NA, variables)
  op <- keops_kernel(case$formula, declared[used], precision = precision, backend = "cuda")
  random <- \(n, d) gpu_matrix(matrix(stats::runif(n * d), n, d), precision)
  set.seed(1)
  data <- list(g = 0.5, x = random(case$M, case$D), y = random(case$N, case$D),
               b = if (case$b) random(case$N, case$b), e = random(case$M, 1))[used]
  ms <- milliseconds(\() op(data, output = "gpu"))
  from <- environment(op)
  calls <- max(3, min(500, ceiling(200 / ms)))
  inside <- kernops:::kernel_device_time(from$live_kernel(), data, from$single, from$scheme, from$device, calls)
  keops <- case[[precision]]
  data.frame(formula = case$name, D = case$D, `dim b` = case$b, M = case$M, N = case$N, precision = precision,
             ms = signif(ms, 3), `C++ ms` = signif(inside[["host"]], 3), `device ms` = signif(inside[["device"]], 3),
             `Tpairs/s` = signif(case$M * case$N / inside[["device"]] / 1e9, 3), `KeOps ms` = keops,
             ratio = signif(keops / inside[["device"]], 3),
             check.names = FALSE)
}

kernops_sitrep()
for (precision in c("float32", "float64")) {
  if (length(only) && !precision %in% only) next
  table <- do.call(rbind, lapply(cases, measure, precision))
  print(table, row.names = FALSE)
}
