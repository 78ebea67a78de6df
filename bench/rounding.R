# Rscript bench/rounding.R [rows] [columns]
#
# The error of float32 relative to float64 for long vectors: the largest difference of a row, relative to the largest
# entry of this row, for values and gradients of Gaussians and for softmax-weighted sums. The points of the rows are
# some of the points of the columns; all coordinates are float32 numbers, so that only the arithmetic differs.
library(kernops)
arguments <- as.numeric(commandArgs(TRUE))
rows <- c(arguments, 4000)[[1]]
columns <- c(arguments[-1], 2e4)[[1]]
set.seed(1)

floats <- \(n, D) matrix(readBin(writeBin(stats::runif(n * D), raw(), size = 4), "double", n * D, size = 4), n)
difference <- function(formula, declarations, data) {
  by <- \(precision) as.matrix(keops_kernel(formula, declarations, precision = precision)(data))
  single <- by("float32")
  double <- by("float64")
  max(apply(abs(single - double), 1, max) / apply(abs(double), 1, max))
}

gauss <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
for (D in c(64, 256, 1024)) for (g in c(5, 50)) {
  x <- floats(rows, D)
  data <- list(g = g / D, x = x, y = rbind(x, floats(columns - rows, D)), b = floats(columns, 1))
  points <- sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D)
  declared <- c("g = Pm(1)", points, "b = Vj(1)")
  value <- difference(gauss, declared, data)
  slope <- difference(sprintf("Grad(%s, x, e)", gauss), c(declared, "e = Vi(1)"), c(data, list(e = floats(rows, 1))))
  weighted <- list(s = g, x = data$x - 0.5, y = data$y - 0.5, b = floats(columns, 64))
  softmax <- difference("SumSoftMaxWeight_Reduction(s * (x | y), b, 1)", c("s = Pm(1)", points, "b = Vj(64)"), weighted)
  cat(sprintf("D = %4d, g = %2d / D: value %.1e, gradient %.1e, softmax %.1e\n", D, g, value, slope, softmax))
}
