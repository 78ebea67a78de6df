# How a reduction scales over the GPUs of one machine:  Rscript bench/multi_gpu.R [M]
#
# A Gaussian sum of M x M pairs (1e6 x 1e6) in three dimensions, data and result on the first card, on 1, 2, ... all
# GPUs. Each figure is the median wall time of five calls seen from R, after two seconds of them, in which kernels are
# compiled and idle cards wake up. `per card` is the speed-up divided by the number of cards.
library(kernops)

given <- commandArgs(TRUE)
M <- if (length(given)) as.numeric(given[[1]]) else 1e6
devices <- kernops:::cuda_describe()$device
cards <- unique(c(2^(0:10)[2^(0:10) <= length(devices)], length(devices)))

milliseconds <- function(call) {
  began <- proc.time()[["elapsed"]]
  while (proc.time()[["elapsed"]] - began < 2) call()
  stats::median(replicate(5, system.time(call(), gcFirst = FALSE)[["elapsed"]])) * 1e3
}

measure <- function(precision) {
  set.seed(1)
  random <- \(d) gpu_matrix(matrix(stats::runif(M * d), M), precision, devices[[1]])
  data <- list(g = 0.5, x = random(3), y = random(3), b = random(1))
  time <- function(count) {
    op <- keops_kernel("Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)",
                       c("g = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"), precision = precision, backend = "cuda",
                       device = devices[seq_len(count)])
    milliseconds(\() op(data, output = "gpu"))
  }
  ms <- vapply(cards, time, 0)
  data.frame(precision = precision, M = M, cards = cards, ms = signif(ms, 4),
             `Tpairs/s` = signif(M^2 / ms / 1e9, 3), `per card` = signif(ms[[1]] / ms / cards, 3), check.names = FALSE)
}

kernops_sitrep()
print(rbind(measure("float32"), measure("float64")), row.names = FALSE)
