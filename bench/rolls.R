# R_LIBS=.lib Rscript bench/rolls.R [values]
#
# Rolling windows on the GPU, with values and results on the GPU, compared with a copy of the values (goal: rolling sums
# reach 0.8 of the copy's speed or more). The time of a call includes the time in R. The results are recorded in
# HISTORY.md.

library(kernops)

args <- commandArgs(TRUE)
n <- if (length(args)) as.numeric(args[1]) else 2^28
options(width = 150)
x <- tryCatch(gpu_matrix(rep_len(stats::rnorm(2^20), n), "float32"), kernops_cuda_error = \(e) NULL)
if (is.null(x)) stop("This table needs a GPU; bench/segments.R has the windows of the CPU.")

# Results stay on the GPU; the time ends when the last result is available.
gpu_ms <- function(call, runs = 5, calls = 10) {
  once <- function() system.time({for (k in seq_len(calls)) result <- call(); as.matrix(result[1, ])})[["elapsed"]]
  once()
  1e3 * min(replicate(runs, once())) / calls
}
# Writes each row as soon as it is measured, so that an interrupted run shows the rows measured until then.
write_row <- function(row, header) {
  width <- as.integer(pmax(nchar(names(row)), 9))
  if (header) cat(sprintf("%*s", width, names(row)), "\n")
  cat(sprintf("%*s", width, vapply(row, \(cell) format(signif(cell, 3), scientific = FALSE), "")), "\n")
  flush(stdout())
}

for (precision in c("float32", "float64")) {
  if (precision == "float64") x <- gpu_matrix(rep_len(stats::rnorm(2^20), n / 2))
  values <- nrow(x)
  plan <- seg_plan(lengths = values)
  copy <- gpu_ms(\() kernops:::gpu_move(x, 0L))
  roll <- \(...) gpu_ms(\() seg_roll(x, ..., plan = plan, output = "gpu"))
  cat(sprintf("\n%g values of %s on %s: a copy takes %.3f ms; milliseconds, and the speed of sums / that of the copy\n",
              values, precision, kernops:::gpu_describe(x)$name, copy))
  for (width in c(1, 8, 31, 100, 1000, 2500, 5000, 10000, 30000)) {
    sum <- roll(width)
    row <- list(width = width, sum = sum, "sum / copy" = copy / sum, mean = roll(width, op = "mean"),
                max = roll(width, op = "max"), logsumexp = roll(width, op = "logsumexp"),
                var = roll(width, op = "var"), formula = roll(width, op = seg_op("a + b")))
    write_row(row, header = width == 1)
  }
  cat("\nWithin segments of 65,536 values, cut (partial) or not; and of 100 values beside a multiple of 7 (adaptive)\n")
  plan <- seg_plan(lengths = rep(65536, values / 65536))
  wide <- rep_len(94:106, values)
  write_row(list(copy = copy, sum = roll(100), partial = roll(100, partial = TRUE), mean = roll(100, op = "mean"),
                 adaptive = gpu_ms(\() seg_roll(x, wide, plan = plan, output = "gpu"), 1, 1)), header = TRUE)
}
