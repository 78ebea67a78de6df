# Sums over pairs of long vectors, compared with torch; bench/torch_rows.py has the code that a user of torch would
# write:
#   Rscript bench/beside_torch.R [float32] [nearest] [products] [distances] [hessians]
# If some of the last four arguments are given, only the rows of the table with these names are measured.
#
# `distances`: sums of Gaussians exp(-g |x - y|^2) b with g = 5 / D, for 2e4 x 2e4 pairs of points in the unit cube in
# float64, and 4e4 x 4e4 pairs in float32. The rows have the sums, their gradients in x, and sums for 64 columns of b.
# `products`: sums of functions of the inner product x | y, the gradient of one of these sums, and softmax-weighted
# sums. `nearest`: nearest neighbours. `hessians`: Hessians of the Gaussians times a vector. Times are milliseconds
# between two CUDA events around repeated calls, with data on the device.
library(kernops)

precision <- if ("float32" %in% commandArgs(TRUE)) "float32" else "float64"
n <- if (precision == "float32") 4e4 else 2e4
random <- \(rows, columns) gpu_matrix(matrix(stats::runif(rows * columns), rows), precision)

milliseconds <- function(formula, declarations, data) {
  op <- keops_kernel(formula, declarations, precision = precision, backend = "cuda")
  first <- system.time(op(data))[["elapsed"]]  # this call compiles
  from <- environment(op)
  time <- \() kernops:::kernel_device_time(from$live_kernel(), data, from$settings(), 5)
  c(ms = stats::median(replicate(3, time()[["device"]])), first = 1e3 * first)
}
show <- \(name, t) cat(sprintf("%-36s %8.3g ms, the first call %6.0f\n", name, t[["ms"]], t[["first"]]))

named <- intersect(c("nearest", "products", "distances", "hessians"), commandArgs(TRUE))
wants <- \(rows) rows %in% named || length(named) == 0
if (wants("nearest")) for (D in c(64, 128, 256, 784, 2048)) {
  data <- list(x = random(1e4, D), y = random(6e4, D))
  show(paste("11 nearest, D =", D),
       milliseconds("ArgKMin_Reduction(SqDist(x, y), 11, 1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), data))
}

gauss <- "Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1)"
if (wants("distances")) for (D in c(64, 128, 160, 200, 256, 257, 320, 400, 448, 512, 784, 1024, 2048)) {
  points <- sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D)
  data <- list(g = 5 / D, x = random(n, D), y = random(n, D), b = random(n, 1))
  args <- c("g = Pm(1)", points, "b = Vj(1)")
  show(paste("value D =", D), milliseconds(gauss, args, data))
  gradient <- sprintf("Grad(%s, x, e)", gauss)
  show(paste("gradient D =", D), milliseconds(gradient, c(args, "e = Vi(1)"), c(data, e = random(n, 1))))
}
if (wants("distances")) for (D in c(64, 256, 512)) {
  data <- list(g = 5 / D, x = random(n, D), y = random(n, D), b = random(n, 64))
  show(paste("64 columns, D =", D),
       milliseconds(gauss, c("g = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(64)"), data))
}
hessian <- sprintf("Grad(Grad(%s, x, e), x, h)", gauss)
if (wants("hessians")) for (D in c(20, 32, 47, 48, 65, 100, 200, 300, 512, 1024)) {
  data <- list(g = 5 / D, x = random(n, D), y = random(n, D), b = random(n, 1), e = random(n, 1), h = random(n, D))
  args <- c("g = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)", "e = Vi(1)", sprintf("h = Vi(%d)", D))
  show(paste("Hessian times vector, D =", D), milliseconds(hessian, args, data))
}
products <- c("exp of products" = "Sum_Reduction(Exp(x | y) * b, 1)",
              "cosines of products" = "Sum_Reduction(Cos(x | y) * b, 1)",
              "LogSumExp of products" = "LogSumExp_Reduction(x | y, 1)",
              "gradient of exp of products" = "Grad(Sum_Reduction(Exp(x | y) * b, 1), x, e)")
if (wants("products")) for (D in c(16, 32, 64, 128, 256, 512)) {
  args <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)", "e = Vi(1)")
  short <- gpu_matrix(matrix(stats::runif(n * D), n) / D, precision)
  data <- list(x = random(n, D), y = short, b = random(n, 1), e = random(n, 1))
  for (name in names(products)) {
    used <- vapply(names(data), \(v) grepl(paste0("\\b", v, "\\b"), products[[name]]), NA)
    show(paste0(name, ", D = ", D), milliseconds(products[[name]], args[used], data[used]))
  }
}
weighted <- "SumSoftMaxWeight_Reduction(x | y, b, 1)"
if (wants("products")) for (D in c(64, 128, 300)) {
  data <- list(x = random(3e4, D), y = random(3e4, D), b = random(3e4, D))
  show(paste("softmax, D =", D), milliseconds(weighted, sprintf(c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(%d)"), D), data))
}
