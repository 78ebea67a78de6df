# R_LIBS=.lib Rscript bench/orders.R [log2 of the number of values]
#
# Order statistics of segments on the GPU, called from R: milliseconds, and TB/s of values and results, with data and
# results on the GPU. Goals: 6 ms for a sort of 2^28 floats; 1 TB/s for medians and for the 8 smallest values of
# segments of up to 1,024 values.

library(kernops)

args <- commandArgs(TRUE)
n <- 2^(if (length(args)) as.numeric(args[1]) else 28)
options(width = 160)
set.seed(1)
part <- runif(2^22)

# Random lengths with this mean, uniform from 1 to twice the mean. A mean of 0 selects Pareto's distribution with
# exponent 0.8.
lengths_of <- function(mean) {
  lengths <- numeric()
  while (sum(lengths) < n) {
    u <- runif(min(2^24, 2 * n / max(mean, 4)))
    lengths <- c(lengths, if (mean > 0) 1 + floor(u * (2 * mean - 1)) else pmin(floor(u^-1.25), n))
  }
  before <- cumsum(lengths) - lengths
  lengths <- lengths[before < n]
  lengths[length(lengths)] <- n - before[length(lengths)]
  lengths
}
# Times calls whose results stay on the GPU. The time ends when a row of the last result has been read, because this
# waits for all calls.
gpu_ms <- function(call, calls = 3, runs = 3) {
  wait <- \(result) as.matrix((if (is.list(result)) result[[1]] else result)[1, ])
  once <- function() system.time({for (k in seq_len(calls)) result <- call(); wait(result)})[["elapsed"]]
  wait(call())
  1e3 * min(replicate(runs, once())) / calls
}

calls <- list(
  sort = list(\(x, plan) seg_sort(x, plan = plan, output = "gpu"), by_value = 1),
  median = list(\(x, plan) seg_reduce(x, plan = plan, op = "median", output = "gpu"), by_segment = 8),
  deciles = list(\(x, plan) seg_reduce(x, plan = plan, op = "quantile", probs = 1:9 / 10, output = "gpu"),
                 by_segment = 72),
  mad = list(\(x, plan) seg_reduce(x, plan = plan, op = "mad", output = "gpu"), by_segment = 8),
  n_distinct = list(\(x, plan) seg_reduce(x, plan = plan, op = "n_distinct", output = "gpu"), by_segment = 8),
  mode = list(\(x, plan) seg_reduce(x, plan = plan, op = "mode", output = "gpu"), by_segment = 8),
  "top 8" = list(\(x, plan) seg_top(x, 8, plan = plan, output = "gpu"), by_segment = 192),
  order = list(\(x, plan) seg_order(x, plan = plan, output = "gpu"), by_value = 8),
  rank = list(\(x, plan) seg_rank(x, plan = plan, output = "gpu"), by_value = 8)
)

width <- c(9L, 10L, rep(16L, length(calls)))
for (precision in c("float32", "float64")) {
  bytes <- if (precision == "float32") 4 else 8
  x <- gpu_matrix(rep(part, length.out = n), precision)
  cat("\n", n, " numbers of ", precision, ": milliseconds (TB/s of values and results)\n", sep = "")
  cat(sprintf("%*s", width, c("length", "segments", names(calls))), "\n")
  for (mean in c(4, 16, 64, 256, 1024, 65536, 2^24, 0)) {
    if (mean > n) next
    lengths <- lengths_of(mean)
    plan <- seg_plan(lengths = lengths)
    cells <- c(if (mean) format(mean) else "Pareto", length(lengths))
    for (name in names(calls)) {
      call <- calls[[name]]
      result <- if (is.null(call$by_segment)) n * call$by_value else call$by_segment * length(lengths)
      if (name == "sort") result <- n * bytes
      time <- tryCatch(gpu_ms(\() call[[1]](x, plan)), kernops_memory_error = \(e) NA)
      cells <- c(cells, sprintf("%.2f (%.2f)", time, 1e-9 * (bytes * n + result) / time))
      gc()
    }
    cat(sprintf("%*s", width, cells), "\n")
    flush(stdout()) # an interrupted run then shows the rows measured so far
    rm(plan)
    gc()
  }
  rm(x)
  gc()
}
