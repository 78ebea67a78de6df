# Gaussians of long vectors, and their gradients in x, D = 16 to 1024:
# Rscript bench/long_vectors.R [float32] [cpu]
#
# The function is exp(-g |x - y|^2) with g = 25 / D on the unit cube, for n x n points. On the GPU, times are
# milliseconds between two CUDA events around repeated calls, with data on the device, scaled to 1e10 pairs. On the CPU,
# times are milliseconds of user time of one thread for 3000 x 3000 pairs, and weighted distances are measured, too.
library(kernops)

args <- commandArgs(TRUE)
backend <- if ("cpu" %in% args) "cpu" else "cuda"
precision <- if ("float32" %in% args) "float32" else "float64"
n <- if (backend == "cpu") 3000 else 4e4
options(kernops.threads = 1)
gradient <- \(formula) sprintf("Grad(%s, x, e)", formula)
formulas <- c(value = "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)")
if (backend == "cpu") formulas["weighted"] <- "Sum_Reduction(Exp(-WeightedSqDist(w, x, y)) * b, 1)"
formulas[paste("gradient", names(formulas))] <- gradient(formulas)

on_device <- function(op, data) {
  from <- environment(op)
  time <- \() kernops:::kernel_device_time(from$live_kernel(), data, from$settings(), 5)
  stats::median(replicate(3, time()[["device"]])) / n^2 * 1e10
}
on_host <- \(op, data) 1e3 * stats::median(replicate(5, sum(system.time(op(data))[1:2])))

milliseconds <- function(formula, D) {
  sizes <- c(g = "Pm(1)", w = sprintf("Pm(%d)", D), x = sprintf("Vi(%d)", D), y = sprintf("Vj(%d)", D), b = "Vj(1)",
             e = "Vi(1)")
  used <- names(sizes) %in% all.vars(str2lang(formula))
  op <- keops_kernel(formula, paste(names(sizes), "=", sizes)[used], precision = precision, backend = backend)
  random <- function(d) {
    values <- matrix(stats::runif(n * d), n, d)
    if (backend == "cpu") values else gpu_matrix(values, precision)
  }
  set.seed(1)
  data <- list(g = 25 / D, w = rep(25 / D, D), x = random(D), y = random(D), b = random(1), e = random(1))[used]
  op(data) # this call compiles
  if (backend == "cpu") on_host(op, data) else on_device(op, data)
}

sizes <- c(16, 32, 50, 64, 100, 128, 160, 200, 256, 513, 1024)
print(signif(vapply(formulas, \(formula) vapply(sizes, \(D) milliseconds(formula, D), 1), sizes), 3) |>
        `rownames<-`(paste("D =", sizes)))
