# R_LIBS=.lib ncu --clock-control none -k regex:kernops --csv --metrics ... Rscript bench/counters.R [axes|segments]
#
# Calls whose kernels Nsight Compute measures one by one on a GPU: reductions of axes of 2^27 numbers, and order
# statistics, windows, scans and sorts of 2^26 floats. The tables in HISTORY.md ("Axes by counters") have these metrics:
# gpu__time_duration.sum, dram__throughput.avg.pct_of_peak_sustained_elapsed,
# sm__throughput.avg.pct_of_peak_sustained_elapsed, sm__warps_active.avg.pct_of_peak_sustained_active,
# launch__registers_per_thread.

library(kernops)
set.seed(1)
part <- commandArgs(TRUE)

count_axes <- function() {
  x <- rep(rnorm(2^20), 2^7)
  formula <- seg_op("a + b")
  for (precision in c("float32", "float64")) for (rows in c(64, 1024, 2^20)) {
    there <- gpu_matrix(matrix(x, rows), precision)
    for (dims in 1:2) for (op in list("sum", formula)) axis_reduce(there, dims, op, output = "gpu")
    rm(there)
    gc()
  }
}

count_segments <- function(n = 2^26) {
  there <- gpu_matrix(rep(rnorm(2^20), n / 2^20) + rep(rnorm(n / 2^20), each = 2^20), "float32")
  plan <- function(length) seg_plan(lengths = rep(length, n / length))
  for (length in c(16, 64, 256, 1024)) {
    seg_reduce(there, plan = plan(length), op = "median", output = "gpu")
    seg_top(there, 8, plan = plan(length), output = "gpu")
  }
  for (width in c(8, 100, 5000)) seg_roll(there, width, op = "sum", output = "gpu")
  seg_scan(there, op = "sum", plan = plan(1024), output = "gpu")
  for (length in c(256, 1024, 2^20)) seg_sort(there, plan = plan(length), output = "gpu")
}

if (!"segments" %in% part) count_axes()
if (!"axes" %in% part) count_segments()
