# R_LIBS=.lib Rscript bench/cpu.R [rows]
#
# The speed of the CPU engine, in pairs of rows per second: on one core compared with the scalar loop of scalar.cpp, on
# all cores, and compared with base R. The machine may be shared, so only the ratio of two times of one run is
# meaningful; each time is a median. The results are recorded in HISTORY.md.

library(kernops)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "scalar.R"))
scalar_compile(file.path(here, "scalar.cpp"))

args <- commandArgs(TRUE)
n <- if (length(args)) as.integer(args[1]) else 20000L
cores <- parallel::detectCores()

set.seed(1)
points <- function(n, d) matrix(runif(n * d), n, d)
data <- function(d) list(s = 0.5, x = points(n, d), y = points(n, d), b = matrix(rnorm(n)))
d3 <- data(3)
d10 <- data(10)

declare <- function(d, ...) c("s = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), ...)
gauss <- function(d, precision = "float64") {
  keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", declare(d, "b = Vj(1)"), precision = precision)
}
gpairs <- function(seconds, rows = n) rows * n / seconds / 1e9
table <- function(...) print(data.frame(..., check.names = FALSE), digits = 3, row.names = FALSE)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")

speed <- function(op, input, threads) {
  options(kernops.threads = threads)
  gpairs(seconds(op(input)))
}

cat(R.version.string, ", kernops ", format(packageVersion("kernops")), ", ", cores, " cores\n", sep = "")
if (file.exists("/proc/cpuinfo")) {
  cat(sub(".*: ", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1]), "\n")
}

title("Gaussian sum, D = 3, %d x %d rows, Gpairs/s", n, n)
# the loop is slow: it is timed on a tenth of the rows
tenth <- list(x = d3$x[seq_len(n %/% 10), ], y = d3$y, b = d3$b, s = d3$s)
rows <- lapply(c(float32 = "float32", float64 = "float64"), function(precision) {
  op <- gauss(3, precision)
  single <- precision == "float32"
  what <- if (single) "scalar_gauss_float" else "scalar_gauss"
  loop <- do.call(scalar_run, c(what, tenth))
  stopifnot(all.equal(op(d3)[seq_along(loop)], c(loop), tolerance = if (single) 1e-4 else 1e-10))
  scalar <- gpairs(seconds(do.call(scalar_run, c(what, tenth))), nrow(tenth$x))
  one <- speed(op, d3, 1)
  all <- speed(op, d3, cores)
  data.frame(
    precision, "scalar loop" = scalar, "one core" = one, "/ loop" = one / scalar,
    "all cores" = all, "/ one core" = all / one, check.names = FALSE
  )
})
table(do.call(rbind, rows))

title("Other operations, float64, %d x %d rows, Gpairs/s", n, n)
op3 <- gauss(3)
op10 <- gauss(10)
distance <- function(reduction) keops_kernel(reduction, declare(3)[-1])
cases <- list(
  "Gaussian sum, D = 10" = list(op10, d10),
  "gradient in x of the sum, D = 3" = list(keops_grad(op3, "x"), c(d3, list(eta = matrix(rnorm(n))))),
  "LogSumExp, D = 3" = list(
    keops_kernel("LogSumExp_Reduction(-s * SqDist(x, y), 1)", declare(3)), d3[c("s", "x", "y")]
  ),
  "ArgKMin, K = 10, D = 3" = list(distance("ArgKMin_Reduction(SqDist(x, y), 10, 1)"), d3[c("x", "y")]),
  "Min, D = 3" = list(distance("Min_Reduction(SqDist(x, y), 1)"), d3[c("x", "y")])
)
rows <- lapply(names(cases), function(name) {
  op <- cases[[name]][[1]]
  input <- cases[[name]][[2]]
  one <- speed(op, input, 1)
  all <- speed(op, input, cores)
  data.frame(name, "one core" = one, "all cores" = all, "/ one core" = all / one, check.names = FALSE)
})
table(do.call(rbind, rows))

m <- 3000L
title("Matern correlation by Bessel functions, D = 3, %d x %d rows, one core, seconds of user time", m, m)
options(kernops.threads = 1)
cpu_time <- \(call) median(replicate(3, sum(system.time(call())[1:2])))
tenth <- lapply(d3[c("x", "y")], \(z) z[rep_len(seq_len(n), m), ])
matern <- keops_kernel("Sum_Reduction(Matern(nu, Norm2(x - y)), 1)", declare(3, "nu = Pm(1)")[-1])
orders <- c(0.5, 1.3, 2.5, 7.2)
table(nu = orders, kernops = vapply(orders, \(nu) cpu_time(\() matern(c(tenth, nu = nu))), 1),
      "besselK() alone" = vapply(orders, \(nu) cpu_time(\() besselK(dist(tenth$x), nu)) * 2, 1))

title("Long vectors, %d x %d rows, one core: inner products in Gflop/s", m, m)
options(kernops.threads = 1)
long <- function(formula, D, precision) {
  op <- keops_kernel(formula, sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), precision = precision)
  input <- list(points(m, D), points(m, D))
  2 * D * m^2 / min(replicate(5, system.time(op(input))[["user.self"]])) / 1e9
}
sizes <- c(10, 30, 100, 300, 784, 2048, 4096)
of_sizes <- \(formula, precision) vapply(sizes, \(D) long(sprintf(formula, 1 / D), D, precision), 1)
gaussian <- "Sum_Reduction(Exp(-%g * SqDist(x, y)), 1)"
largest <- "Max_Reduction(%g * (x | y), 1)"
table(
  D = sizes, "Gaussian, float64" = of_sizes(gaussian, "float64"), "float32" = of_sizes(gaussian, "float32"),
  "largest product, float64" = of_sizes(largest, "float64"), "float32 " = of_sizes(largest, "float32")
)

m <- 2000L
title("The same product in base R, D = 3, %d x %d rows, one core, milliseconds", m, m)
few <- list(s = 1, x = d3$x[seq_len(m), ], y = d3$x[seq_len(m), ], b = d3$b[seq_len(m), , drop = FALSE])
options(kernops.threads = 1)
base <- seconds(exp(-as.matrix(dist(few$x))^2) %*% few$b)
ours <- seconds(for (run in 1:10) op3(few)) / 10
table("base R" = base * 1e3, kernops = ours * 1e3, ratio = base / ours)

sigma <- 0.05
title("Block-sparse Gaussian: 5000 points of the unit square, cells and sigma %g, centres within 4 sigma, one core",
      sigma)
square <- points(5000L, 2)
sorted <- sort_clusters(square, grid_cluster(square, sigma))
clusters <- cluster_ranges_centroids(sorted$x, sorted$labels)
near <- as.matrix(dist(clusters$centroids)) < 4 * sigma
ranges <- from_matrix(clusters$ranges, clusters$ranges, near)
input <- list(s = 1 / (2 * sigma^2), x = sorted$x, y = sorted$x, b = rep(1, 5000))
flat <- gauss(2)
dense <- seconds(for (run in 1:10) flat(input)) / 10
sparse <- seconds(for (run in 1:10) flat(input, ranges = ranges)) / 10
whole <- flat(input)
table(
  "pairs kept" = sum(outer(clusters$weights, clusters$weights) * near) / 5000^2, "dense, ms" = dense * 1e3,
  "sparse, ms" = sparse * 1e3, ratio = dense / sparse,
  "relative error" = sum(abs(flat(input, ranges = ranges) - whole)) / sum(whole)
)
