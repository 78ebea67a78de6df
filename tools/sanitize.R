# One small case of each family of GPU kernels, large enough for several blocks of threads; called by tools/sanitize.
# Without an argument, prints the reason if there is no GPU. With --list, prints the families. With the name of a
# family, runs this family.
suppressPackageStartupMessages(library(kernops))

random <- \(n, d = 1) matrix(stats::runif(n * d), n, d)
options(kernops.backend = "cuda")

# Runs a formula on points of dimension D, with b of E columns. With `far`, the points are so far apart that
# squared distances are not expanded into inner products.
pairs <- function(formula, ..., precision = "float32", M = 700, N = 1500, D = 3, E = 1, far = FALSE, near = FALSE,
                  ranges = NULL) {
  data <- list(s = 0.5, x = random(M, D) * if (far) 1e3 else 1, y = random(N, D), b = random(N, E), g = random(M, E),
               h = random(M, D))
  if (near) data[c("x", "y")] <- lapply(data[c("x", "y")], \(of) of * 1e-3 + row(of) %% 5)
  declared <- c("s = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), sprintf(c("b = Vj(%d)", "g = Vi(%d)"), E),
                sprintf("h = Vi(%d)", D))
  used <- names(data) %in% all.vars(str2lang(gsub("|", "+", formula, fixed = TRUE)))
  keops_kernel(formula, declared[used], precision = precision, ...)(data[used], ranges = ranges)
}
gauss <- "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)"
slope <- "Grad(Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1), x, g)"
hessian <- "Grad(Grad(Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1), x, g), x, h)"

# Runs the kernels of conditioning sets, which compute sums and weights, with and without derivatives, for points in the
# sets and for new points.
point_sets <- function(precision, counts = c(12, 60), n = if (length(counts) > 1) 300 else 2000) {
  ns <- asNamespace("kernops")
  model <- ns$covariance_model(matern(3/2, 1, 0.3) + nugget(0.1), 2)
  theta <- model$parameters$value
  operators <- ns$set_operators(model, "cuda", precision)
  u <- random(n, 2)
  noise <- rep(0.1, n)
  for (m in counts) {
    sets <- ns$ordered_neighbours(u, m)
    held <- ns$hold_sets(u, noise, rep(1, n), random(n, 2), sets)
    for (derivatives in c(FALSE, TRUE)) ns$set_sums(operators, theta, model$nugget, held, derivatives)
    ns$set_weights(operators$values, theta, u, noise, sets)
    ns$set_slopes(operators, theta, u, noise, sets)
    new <- random(100, 2)
    ns$set_weights_at(operators$values, theta, ns$hold_sets(u, noise), new, ns$nearest_points(new, u, m))
  }
}
# Spreads values at points to a periodic grid and interpolates the grid; many points are in one tile of the grid.
fourier_series <- function(d) {
  ns <- asNamespace("kernops")
  size <- c(40L, 36L, 34L)[seq_len(d)]
  window <- ns$spreading_window(1e-7)$pieces
  grid <- list(origin = rep(0, d), scale = size, size = size, window = window)
  x <- rbind(random(300, d), 0.01 * random(5000, d))
  ns$sums_on_gpu(x, random(100, d), cbind(random(100), 1), grid, array(1 + 0i, size), list(backend = "cuda"))
  ns$sums_on_gpu(x, NULL, random(nrow(x)), grid, array(1 + 0i, size), list(backend = "cuda"))
}

limited <- function(kilobytes, code) {
  bytes <- 1e3 * kilobytes + sum(kernops:::cuda_describe()$used_bytes)
  withr::with_options(list(kernops.gpu_memory = bytes), code)
}
lengths <- c(0, 1, 5, 3000, 0, 40, rep(3:9, 300), 9000)
values <- stats::rnorm(sum(lengths))

families <- alist(
  `sum, float32` = pairs(gauss),
  `sum, float64` = pairs(gauss, precision = "float64"),
  `sum, far apart` = pairs(gauss, far = TRUE),
  `sum, three columns` = pairs(gauss, E = 3),
  `sum, ten columns` = pairs(gauss, E = 10, M = 30000, N = 300),
  `sum, kahan` = pairs(gauss, sum_scheme = "kahan_scheme"),
  `sum, float64 accumulator` = pairs(gauss, accumulator = "float64"),
  `sum, merged by the last block` = pairs(gauss, M = 300, N = 5000),
  `sum, merged by a launch` = pairs(gauss, M = 5, N = 50000),
  `sum, few rows` = pairs(gauss, M = 100, N = 5000),
  `gradient` = pairs(slope),
  `exponential` = pairs("Sum_Reduction(Exp(-s * Norm2(x - y)) * b, 1)"),
  `exponential, far apart` = pairs("Sum_Reduction(Exp(-s * Norm2(x - y)) * b, 1)", far = TRUE),
  `Matern` = pairs("Sum_Reduction((1 + s * Norm2(x - y)) * Exp(-s * Norm2(x - y)) * b, 1)"),
  `weights of coordinates` = pairs("Sum_Reduction(Exp(-WeightedSqDist(SumT(s, 3), x, y)) * b, 1)"),
  `cosine` = pairs("Sum_Reduction(Cos((x | y)) * b, 1)"),
  `sine of many turns` = pairs("Sum_Reduction(Sin(1e6 * (x | y)) * b, 1)"),
  `LogSumExp` = pairs("LogSumExp_Reduction(-s * SqDist(x, y), 1)"),
  `Max_SumShiftExp` = pairs("Max_SumShiftExp_Reduction(s * (x | y), 1)"),
  `ArgMin` = pairs("ArgMin_Reduction(SqDist(x, y), 1)"),
  `ArgKMin` = pairs("ArgKMin_Reduction(SqDist(x, y), 10, 1)"),
  `sums of vectors` = pairs(gauss, E = 20),
  `sums of vectors, beside numbers that stay` = pairs("Sum_Reduction((x | y) * b, 1)", D = 8, E = 300,
                                                      precision = "float64"),
  `ranges` = {
    cells <- cbind(c(1, 101, 351), c(100, 350, 700))
    pairs(gauss, N = 700, ranges = from_matrix(cells, cells, matrix(c(TRUE, TRUE, FALSE), 3, 3)))
  },
  `batches` = {
    op <- keops_kernel(gauss, c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"))
    op(list(0.5, array(random(300, 9), c(300, 3, 3)), random(500, 3), random(500)))
  },
  `long vectors, float32` = pairs(gauss, D = 50, M = 300, N = 500),
  `long vectors, float64` = pairs(gauss, D = 50, M = 300, N = 500, precision = "float64"),
  `long vectors, absolute differences` = pairs("Sum_Reduction(Exp(-Sum(Abs(x - y))) * b, 1)", D = 50, M = 300, N = 500),
  `gradient of long vectors, float32` = pairs(slope, D = 50, M = 300, N = 500),
  `gradient of long vectors, float64` = pairs(slope, D = 50, M = 300, N = 500, precision = "float64"),
  `gradient of long vectors, far apart` = pairs(slope, D = 50, M = 300, N = 500, far = TRUE),
  `gradient of longer vectors, float32` = pairs(slope, D = 200, M = 300, N = 1500),
  `gradient of very long vectors, float32` = pairs(slope, D = 300, M = 300, N = 1500),
  `gradient of longer vectors, float64` = pairs(slope, D = 200, M = 300, N = 500, precision = "float64"),
  `gradient by panels` = pairs(slope, D = 150, M = 600, N = 1100, precision = "float64"),
  `softmax by panels` = pairs("SumSoftMaxWeight_Reduction(x | y, b, 1)", D = 160, E = 140, N = 1100,
                              precision = "float64"),
  `Hessian times vector by panels` = pairs(hessian, D = 40, M = 600, N = 1100, precision = "float64"),
  `Hessian times vector of long vectors` = pairs(hessian, D = 60, M = 300, N = 500),
  `nearest` = pairs("ArgKMin_Reduction(SqDist(x, y), 10, 1)", D = 20, M = 4100, N = 120000),
  `nearest of long vectors` = pairs("ArgKMin_Reduction(SqDist(x, y), 40, 1)", D = 300, M = 4100, N = 8000,
                                    precision = "float64"),
  `nearest that are hard to tell` = pairs("ArgKMin_Reduction(SqDist(x, y), 10, 1)", D = 300, M = 4100, N = 8000,
                                          near = TRUE),
  `gradient by panels of digits` = pairs(slope, D = 470, M = 600, N = 2100),
  `softmax by panels of digits` = pairs("SumSoftMaxWeight_Reduction(x | y, b, 1)", D = 190, E = 140, M = 600, N = 2100),
  `Hessian times vector by panels of digits` = pairs(hessian, D = 60, M = 600, N = 2100),
  `softmax of many weights` = pairs("SumSoftMaxWeight_Reduction(x | y, b, 1)", D = 40, E = 100, M = 300, N = 500),
  `entries of long vectors` = pairs("Min_ArgMin_Reduction(x * y, 1)", D = 100, M = 300, N = 500),
  `segments` = for (op in c("sum", "argmax", "var", "all")) seg_reduce(values, lengths = lengths, op = op),
  `segments of integers` = seg_reduce(rep_len(1:7, length(values)), lengths = lengths, op = "bit_xor"),
  `segments with weights` = for (op in c("var", "logsumexp")) {
    seg_reduce(values, lengths = lengths, op = op, w = values^2, na.rm = TRUE)
  },
  `segments by a plan` = seg_reduce(cbind(values, values), plan = seg_plan(lengths = lengths)),
  `segments by sources` = seg_reduce(values, lengths = lengths, sources = rep(3, length(lengths))),
  `segments by a formula` = seg_reduce(values, lengths = lengths, op = seg_op("a + b + a * b", 0)),
  `segments by key` = reduce_by_key(rep(seq_along(lengths), lengths), values),
  `segments by key, in one pass` =
    reduce_by_key(gpu_matrix(rep(seq_along(lengths), lengths), "float32"), gpu_matrix(values, "float32")),
  `scans of segments` = for (op in c("sum", "var", "last")) seg_scan(values, lengths = lengths, op = op),
  `rolling windows` = for (op in c("sum", "mean", "max", "argmax", "var")) {
    for (width in c(3, 40)) seg_roll(values, width, lengths = lengths, op = op, partial = TRUE)
  },
  `long rolling windows` = for (width in c(700, 6000)) {
    seg_roll(values, width, lengths = length(values), partial = TRUE)
  },
  `rolling windows of several widths` = seg_roll(values, rep_len(1:60, length(values)), lengths = lengths),
  `rolling windows by a formula` = seg_roll(values, 9, lengths = lengths, op = seg_op("a + b + a * b", 0)),
  `rolling quantiles` = for (width in c(3, 40)) {
    seg_roll(values, width, lengths = lengths, op = "median", partial = TRUE)
  },
  `sorts of segments` = {
    for (sort in list(seg_sort, seg_order, seg_rank)) sort(values, lengths = lengths)
    seg_top(values, 3, lengths = lengths)
  },
  `order statistics of segments` = for (op in c("median", "quantile", "mad", "mode", "n_distinct")) {
    seg_reduce(values, lengths = lengths, op = op)
  },
  `softmax of segments` = seg_softmax(values, lengths = lengths),
  `axes` = for (dims in list(1, 2, 3, 1:2, c(1, 3), 1:3)) axis_reduce(array(values[1:10500], c(30, 70, 5)), dims),
  `axes by a formula` = for (dims in list(1, 2, c(1, 3), 1:3)) {
    axis_reduce(array(values[1:10500], c(30, 70, 5)), dims, seg_op("a + b + a * b", 0))
  },
  `softmax of axes` = for (dims in 1:2) softmax(matrix(values[1:10000], 100), dims),
  `stored pairs` = for (precision in c("float32", "float64")) {
    x <- LazyTensor(random(700, 3), index = "i")
    y <- LazyTensor(random(150, 3), index = "j")
    K <- exp(-sqdist(x, y))
    with_kernops(list(as.matrix(K), K[c(1, 90, 7), 5:9]), precision = precision)
  },
  `covariances` =
    gp(stats::rnorm(700) ~ 1, coords = random(700, 2), covariance = exponential(1, 0.3) + nugget(1), estimate = "none"),
  `sets of points, float32` = point_sets("float32"),
  `sets of points, float64` = point_sets("float64"),
  `sets of points, float64, large` = point_sets("float64", 240, 260),
  `sets of points, float32, piece by piece` = limited(250, point_sets("float32", 20)),
  `sets of points, float64, piece by piece` = limited(250, point_sets("float64", 20)),
  `Fourier series` = for (d in 1:3) fourier_series(d),
  `systems` = {
    op <- keops_kernel(gauss, c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"))
    x <- gpu_matrix(random(300, 3))
    kernel_solve(op, "b", list(s = 0.5, x = x, y = x, b = gpu_matrix(random(300))), lambda = 1)
  }
)

asked <- commandArgs(TRUE)
if (length(asked) == 0) {
  refusal <- tryCatch({pairs("Sum_Reduction(x, 1)", M = 1); NULL}, error = conditionMessage)
  if (!is.null(refusal)) {
    cat("there is no GPU to check:", refusal, "\n")
    quit(status = 1)
  }
} else if (identical(asked, "--list")) {
  writeLines(names(families))
} else {
  set.seed(1)
  eval(families[[asked]])
  cat("done\n")
}
