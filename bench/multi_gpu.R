# Scaling of a reduction over the GPUs of one machine:  Rscript bench/multi_gpu.R [M]
#
# The reductions are a Gaussian sum over M x M pairs of points in three dimensions (default: 1e6 x 1e6), and reductions
# of long vectors over 4e4 x 4e4 pairs (2e4 x 2e4 in float64). They run on 1, 2, ... all GPUs, with data and result on
# the first card. Each time is the median wall time of five calls measured in R. Before the timed calls, untimed calls
# run for two seconds, so that kernels are compiled and idle cards reach their full clock rate. `per card` is the
# speed-up divided by the number of cards.
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

gaussian <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
gradient <- sprintf("Grad(%s, x, e)", gaussian)
cases <- list(list("Gaussian", gaussian, 3, M), list("gradient", gradient, 512), list("gradient", gradient, 1024),
              list("Hessian times x", sprintf("Grad(%s, x, x)", gradient), 100),
              list("10 nearest", "ArgKMin_Reduction(SqDist(x, y), 10, 1)", 16),
              list("10 nearest", "ArgKMin_Reduction(SqDist(x, y), 10, 1)", 784))

measure <- function(case, precision) {
  set.seed(1)
  D <- case[[3]]
  M <- if (length(case) > 3) case[[4]] else if (precision == "float32") 4e4 else 2e4
  random <- \(d) gpu_matrix(matrix(stats::runif(M * d), M), precision, devices[[1]])
  args <- c(g = "g = Pm(1)", x = sprintf("x = Vi(%d)", D), y = sprintf("y = Vj(%d)", D), b = "b = Vj(1)",
            e = "e = Vi(1)")
  used <- intersect(names(args), all.vars(str2lang(case[[2]])))
  data <- list(g = 1.5 / D, x = random(D), y = random(D), b = random(1), e = random(1))[used]
  time <- function(count) {
    op <- keops_kernel(case[[2]], args[used], precision = precision, backend = "cuda", device = devices[seq_len(count)])
    milliseconds(\() op(data, output = "gpu"))
  }
  ms <- vapply(cards, time, 0)
  data.frame(case = case[[1]], D = D, precision = precision, M = M, cards = cards, ms = signif(ms, 4),
             `Tpairs/s` = signif(M^2 / ms / 1e9, 3), `per card` = signif(ms[[1]] / ms / cards, 3), check.names = FALSE)
}

kernops_sitrep()
for (precision in c("float32", "float64"))
  print(do.call(rbind, lapply(cases, measure, precision)), row.names = FALSE)
