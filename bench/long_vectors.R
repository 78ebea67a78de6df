# Gaussians of long vectors on the GPU, and their gradients in x, D = 16 to 1024:
# Rscript bench/long_vectors.R [float32]
#
# exp(-g |x - y|^2) with g = 25 / D on the unit cube, n x n points; milliseconds between two CUDA events around repeated
# calls, data on the device, scaled to 1e10 pairs.
library(kernops)

precision <- c(commandArgs(TRUE), "float64")[[1]]
n <- 4e4
formulas <- c(value = "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)")
formulas["gradient"] <- sprintf("Grad(%s, x, e)", formulas[["value"]])

milliseconds <- function(formula, D) {
  declared <- c("g = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)",
                if (grepl("Grad", formula)) "e = Vi(1)")
  op <- keops_kernel(formula, declared, precision = precision, backend = "cuda")
  random <- \(d) gpu_matrix(matrix(stats::runif(n * d), n, d), precision)
  set.seed(1)
  data <- list(g = 25 / D, x = random(D), y = random(D), b = random(1), e = random(1))[seq_along(declared)]
  op(data) # compiles
  from <- environment(op)
  time <- \() kernops:::kernel_device_time(from$live_kernel(), data, from$single, from$scheme, from$device, 5)
  stats::median(replicate(3, time()[["device"]])) / n^2 * 1e10
}

sizes <- c(16, 32, 50, 64, 100, 128, 160, 200, 256, 513, 1024)
print(signif(vapply(formulas, \(formula) vapply(sizes, \(D) milliseconds(formula, D), 1), sizes), 3) |>
        `rownames<-`(paste("D =", sizes)))
