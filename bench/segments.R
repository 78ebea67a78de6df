# R_LIBS=.lib Rscript bench/segments.R [values]
#
# Sums of segments on one core, compared with base R and, if installed, collapse and data.table. The machine may be
# shared, so only the ratio of two times of one run is meaningful. With a GPU, the script also measures sums of data on
# the GPU, called from R. If nvcc is found, segments.cu, scans.cu and sorts.cu compare the kernels with CUB. The results
# are recorded in HISTORY.md.

library(kernops)

args <- commandArgs(TRUE)
n <- if (length(args)) as.numeric(args[1]) else 1e7
has <- \(package) requireNamespace(package, quietly = TRUE)
options(kernops.threads = 1, width = 150)
if (has("collapse")) collapse::set_collapse(nthreads = 1)
if (has("data.table")) data.table::setDTthreads(1)

set.seed(1)
x <- runif(n)
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
once <- function(call) {
  from <- as.numeric(Sys.time())
  call()
  1e3 * (as.numeric(Sys.time()) - from)
}
# Calls functions in turn, each for `seconds` in total, and returns the lower quartile of the milliseconds of each
# function. Other processes increase the times, and so does the operating system when it clears the memory of new
# results; both affect all functions alike.
race <- function(..., seconds = 0.6) {
  calls <- Filter(Negate(is.null), list(...))
  for (call in calls) call()
  times <- NULL
  while (NROW(times) < 3 || NROW(times) < 40 && sum(times) < 1e3 * seconds * length(calls)) {
    times <- rbind(times, vapply(calls, once, 0))
  }
  apply(times, 2, stats::quantile, 0.25)
}
lengths_of <- function(mean) { # random lengths with this mean, at least 1
  lengths <- 1 + rpois(2 * n / mean, mean - 1)
  lengths <- lengths[cumsum(lengths) < n]
  c(lengths, n - sum(lengths))
}

# g is the group of each value; sorted groups are reduced as segments. Functions that take many times as long as the
# others (`slow`) run only once.
compare <- function(name, g, lengths = NULL, goal, slow = TRUE) {
  make <- \() if (is.null(lengths)) seg_plan(g = g) else seg_plan(lengths = lengths)
  plan <- make()
  grp <- if (has("collapse")) collapse::GRP(g, sort = FALSE)
  if (has("collapse")) stopifnot(all.equal(sum(collapse::fsum(x, grp)), sum(seg_reduce(x, plan = plan))))
  quick <- race(plan = \() seg_reduce(x, plan = plan),
                collapse = if (has("collapse")) \() collapse::fsum(x, grp, use.g.names = FALSE))
  row <- data.frame(name, goal = goal, plan = quick[["plan"]],
                    "one call" = race(\() seg_reduce(x, plan = make()), seconds = 0.3), check.names = FALSE)
  table <- if (has("data.table")) data.table::data.table(x, g)
  row$collapse <- quick["collapse"]
  row$data.table <- if (slow && has("data.table")) once(\() table[, sum(x), by = g]) else NA
  row$rowsum <- if (slow) once(\() rowsum(x, g, reorder = FALSE)) else NA
  row$tapply <- if (slow) once(\() tapply(x, g, sum)) else NA
  row$"collapse / plan" <- row$collapse / row$plan
  row$"rowsum / one call" <- row$rowsum / row$"one call"
  row
}
show <- function(rows) print(do.call(rbind, rows), digits = 3, row.names = FALSE)
owner <- \(lengths) rep(seq_along(lengths), lengths)

cat(R.version.string, ", kernops ", format(packageVersion("kernops")), ", one core\n", sep = "")
title("Sum of %g doubles by segments, milliseconds; collapse with its groups made before, as our plan", n)
sorted <- c(100000, 1000, 100, 10, 2)
goals <- c(9, 9, 9, 17, 30)
rows <- Map(function(length, goal) {
  lengths <- lengths_of(length)
  compare(paste("sorted, mean length", format(length)), owner(lengths), lengths, goal, slow = length %in% c(100, 10))
}, sorted, goals)
equal <- rep(2, n / 2)
rows <- c(rows, list(compare("sorted, all lengths 2", owner(equal), equal, 30, slow = FALSE)))
rows <- c(rows, Map(function(groups, goal) {
  compare(paste(format(groups, scientific = FALSE), "random groups"), sample.int(groups, n, TRUE), NULL, goal,
          groups == 1e5)
}, c(1000, 1e5, 1e6), c(NA, 17, 54)))
show(rows)

zipf <- c(0.3 * n, lengths_of(100))
zipf <- c(zipf[cumsum(zipf) < n], n - sum(zipf[cumsum(zipf) < n]))
plans <- list(zipf = seg_plan(lengths = zipf), even = seg_plan(lengths = lengths_of(n / length(zipf))))
title("%d segments, one of them with 30 %% of the values (goal: 1.25 x even lengths), milliseconds", length(zipf))
times <- race(zipf = \() seg_reduce(x, plan = plans$zipf), even = \() seg_reduce(x, plan = plans$even), seconds = 1)
show(list(data.frame(t(times), "zipf / even" = times[["zipf"]] / times[["even"]], check.names = FALSE)))

title("Other operations, mean length 100, times the sum")
plan <- seg_plan(lengths = lengths_of(100))
custom <- seg_op("a + b")
show(lapply(list("max", "mean", "var", "argmin", "logsumexp", "softmax", custom), function(op) {
  times <- race(ms = \() seg_reduce(x, plan = plan, op = op), sum = \() seg_reduce(x, plan = plan))
  data.frame(op = if (is.character(op)) op else paste0("seg_op(\"", op$formula, "\")"), ms = times[["ms"]],
             "/ sum" = times[["ms"]] / times[["sum"]], check.names = FALSE)
}))
cat("exp(x) alone:", format(race(\() exp(x)), digits = 3), "ms\n")

title("By group, milliseconds, beside collapse (groups made before, as our plan) and data.table; x + 0 is a copy")
beside <- \(package, call) if (has(package)) call
show(lapply(c(100, 1e5, 1e6), function(groups) {
  g <- sample.int(groups, n, TRUE)
  plan <- seg_plan(g = g)
  grp <- if (has("collapse")) collapse::GRP(g, sort = FALSE)
  seg_reduce(x, plan = plan, op = "first") # this call computes the order of the plan
  times <- race(
    copy = \() x + 0, scan = \() seg_scan(x, plan = plan), fcumsum = beside("collapse", \() collapse::fcumsum(x, grp)),
    median = \() seg_reduce(x, plan = plan, op = "median"),
    fmedian = beside("collapse", \() collapse::fmedian(x, grp)),
    "quantile 0.9" = \() seg_reduce(x, plan = plan, op = "quantile", probs = 0.9),
    "fnth 0.9" = beside("collapse", \() collapse::fnth(x, 0.9, grp)), order = \() seg_order(x, plan = plan),
    sort = \() seg_sort(x, plan = plan), data.table = beside("data.table", \() data.table:::forderv(list(g, x))),
    seconds = 0.2
  )
  data.frame(groups, t(times), check.names = FALSE)
}))

title("Rolling windows over %g values, milliseconds; medians of a tenth of the values", n)
tenth <- x[seq_len(n / 10)]
show(lapply(c(11, 101, 1001), function(width) {
  times <- race(
    mean = \() seg_roll(x, width, op = "mean"),
    "frollmean fast" = beside("data.table", \() data.table::frollmean(x, width)),
    "frollmean exact" = beside("data.table", \() data.table::frollmean(x, width, algo = "exact")),
    max = \() seg_roll(x, width, op = "max"), median = \() seg_roll(tenth, width, op = "median"),
    runmed = \() stats::runmed(tenth, width), seconds = 0.2
  )
  data.frame(width, t(times), check.names = FALSE)
}))

title("Column sums of a 1000 x %g matrix, milliseconds", n / 1000)
m <- matrix(x, 1000)
whole <- seg_plan(lengths = 1000)
show(list(data.frame(t(race(kernops = \() seg_reduce(m, plan = whole), colSums = \() colSums(m))))))

if (has("Matrix")) {
  size <- n / 10
  A <- Matrix::sparseMatrix(i = sample.int(size, n, TRUE), j = sample.int(size, n, TRUE), x = 1, dims = c(size, size))
  v <- runif(size)
  matrices <- list(dgCMatrix = A, dgRMatrix = methods::as(A, "RsparseMatrix"))
  title("Sparse %g x %g matrix of %g entries times a vector, milliseconds", size, size, length(A@x))
  show(lapply(names(matrices), function(class) {
    A <- matrices[[class]]
    plan <- spmv_plan(A)
    data.frame(class, t(race(kernops = \() spmv(A, v, plan = plan), Matrix = \() A %*% v)))
  }))
}

on_gpu <- tryCatch(gpu_matrix(0), kernops_cuda_error = \(e) NULL)
nvcc <- Sys.which(c("nvcc", file.path(Sys.getenv("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")))
nvcc <- nvcc[nzchar(nvcc)][1]
if (!is.null(on_gpu) && !is.na(nvcc)) {
  options <- c("-std=c++17 -O3 -arch=native -cudart static", paste0("-I", system.file("include", package = "kernops")))
  for (source in c("segments.cu", "scans.cu", "sorts.cu")) {
    title("On the GPU, beside CUB (%s)", source)
    program <- tempfile()
    if (system2(nvcc, c(options, file.path("bench", source), "-o", program)) == 0) system2(program)
  }
}

if (!is.null(on_gpu)) {
  n <- 2^27
  values <- rep(runif(2^20), 2^7)
  # results stay on the GPU; reading the first row waits for the call
  gpu_ms <- function(call, runs = 7) {
    calls <- 20
    once <- function() system.time({for (n in seq_len(calls)) result <- call(); as.matrix(result[1, ])})[["elapsed"]]
    as.matrix(call()[1, ])
    1e3 * median(replicate(runs, once())) / calls
  }
  title("On the GPU from R, %g numbers and results there: milliseconds, and TB/s of values, offsets and results", n)
  show(do.call(c, lapply(c("float32", "float64"), function(precision) {
    x <- gpu_matrix(values, precision)
    bytes <- if (precision == "float32") 4 else 8
    lapply(c(16, 256, 65536, 2^24), function(length) {
      lengths <- lengths_of(length)
      plan <- seg_plan(lengths = lengths)
      time <- gpu_ms(\() seg_reduce(x, plan = plan, output = "gpu"))
      data.frame(precision, "mean length" = length, sum = time,
                 "TB/s" = 1e-9 * (bytes * n + 12 * length(lengths)) / time,
                 logsumexp = gpu_ms(\() seg_reduce(x, plan = plan, op = "logsumexp", output = "gpu")),
                 softmax = gpu_ms(\() seg_softmax(x, plan = plan, output = "gpu")),
                 scan = gpu_ms(\() seg_scan(x, plan = plan, output = "gpu")),
                 sort = gpu_ms(\() seg_sort(x, plan = plan, output = "gpu"), 3), check.names = FALSE)
    })
  })))

  rows <- 2^20
  each <- 16
  A <- list(offsets = each * (0:rows), columns = sample.int(rows, each * rows, TRUE) - 1, values = runif(each * rows))
  title("Sparse %g x %g matrix of %g entries times a vector on the GPU, milliseconds", rows, rows, each * rows)
  plan <- spmv_plan(A)
  show(lapply(c("float32", "float64"), function(precision) {
    v <- gpu_matrix(runif(rows), precision)
    time <- gpu_ms(\() spmv(A, v, plan = plan, output = "gpu"))
    data.frame(precision, "+ *" = time, "min +" = gpu_ms(\() spmv(A, v, "+", "min", plan, output = "gpu")),
               "entries / ns" = each * rows / time * 1e-6, check.names = FALSE)
  }))
}
