# R_LIBS=.lib Rscript bench/spmv.R [entries]
#
# Sparse matrices times a vector, compared with a copy of as many bytes as the product reads and writes: entries, their
# columns, offsets of the rows, the vector and the result, each once (goal on a GPU: 0.85 of the copy's speed or more).
# The matrices are simulated like those of Williams et al. (2009, Parallel Computing 35): with the same numbers of rows,
# columns and entries, distributions of row lengths, and distances of columns from the diagonal. Copies of each matrix
# are blocks on the diagonal of a larger matrix with `entries` entries. The larger matrix is measured twice: without
# empty rows, and with additional empty rows, which are a fifth of all rows. The results are recorded in HISTORY.md.

library(kernops)
options(kernops.threads = 1, width = 150)

args <- commandArgs(TRUE)
on_gpu <- !is.null(tryCatch(gpu_matrix(0), kernops_cuda_error = \(e) NULL))
entries <- if (length(args)) as.numeric(args[1]) else if (on_gpu) 2^26 else 2^21

# Distributions of row lengths with a given mean: a normal distribution within limits, or Pareto's distribution, which
# has a heavy tail, up to a limit.
normal <- \(mean, sd, least, most) \(n) pmin(pmax(round(stats::rnorm(n, mean, sd)), least), most)
heavy <- \(mean, shape, most) \(n) {
  lengths <- stats::runif(n)^(-1 / shape)
  pmin(pmax(round(lengths * mean * (shape - 1) / shape), 1), most)
}
matrices <- list( # rows, columns, row lengths, reach, run: columns lie within `reach` of the diagonal, in runs of `run`
  Dense = list(2000, 2000, \(n) rep(2000, n), Inf, 2000),
  Protein = list(36417, 36417, normal(119.3, 31.9, 18, 204), 3000, 6),
  "FEM/Spheres" = list(83334, 83334, normal(72.1, 19.1, 1, 81), 4000, 3),
  "FEM/Cantilever" = list(62451, 62451, normal(64.2, 14.1, 1, 78), 1500, 3),
  "Wind Tunnel" = list(217918, 217918, normal(53.4, 4.7, 2, 180), 4000, 6),
  "FEM/Harbor" = list(46835, 46835, normal(50.7, 27.8, 4, 145), 3000, 3),
  QCD = list(49152, 49152, \(n) rep(39, n), 5000, 3),
  "FEM/Ship" = list(140874, 140874, normal(55.5, 11.1, 24, 102), 4000, 6),
  Economics = list(206500, 206500, normal(6.2, 4.4, 1, 44), Inf, 1),
  Epidemiology = list(525825, 525825, \(n) rep(4, n), 1000, 1),
  "FEM/Accelerator" = list(121192, 121192, normal(21.7, 13.8, 1, 81), Inf, 1),
  Circuit = list(170998, 170998, heavy(5.6, 3, 353), Inf, 1),
  Webbase = list(1000005, 1000005, heavy(3.1, 1.8, 4700), Inf, 1),
  LP = list(4284, 1092610, heavy(2633, 1.6, 56181), Inf, 1)
)

# Simulates a block as the lengths of its rows and the 0-based columns of its entries.
simulate_block <- function(law, share) {
  rows <- max(1, round(law[[1]] * share))
  lengths <- law[[3]](rows)
  row <- rep(seq_len(rows), lengths)
  size <- law[[2]]
  run <- law[[5]]
  k <- sequence(lengths) - 1
  runs <- cumsum(k %% run == 0)
  first <- if (is.finite(law[[4]])) {
    at <- row[k %% run == 0] * (size / rows)
    at + round(stats::runif(length(at), -law[[4]], law[[4]]))
  } else {
    sample.int(size, runs[length(runs)], replace = TRUE)
  }
  list(lengths = lengths, columns = (first[runs] + k %% run) %% size, size = size)
}

simulate_matrix <- function(law, empty) {
  nnz <- sum(law[[3]](law[[1]]))
  block <- simulate_block(law, min(1, entries / nnz))
  times <- max(1, round(entries / length(block$columns)))
  lengths <- rep(block$lengths, times)
  if (empty) {
    rows <- ceiling(1.25 * length(lengths))
    lengths <- replace(numeric(rows), sort(sample.int(rows, length(lengths))), lengths)
  }
  columns <- rep(block$columns, times) + rep((seq_len(times) - 1) * block$size, each = length(block$columns))
  list(offsets = c(0, cumsum(lengths)), columns = as.integer(columns),
       values = rep_len(stats::rnorm(1e5), length(columns)), size = block$size * times)
}

seconds <- function(call, calls, wait = identity) {
  once <- function() {
    from <- as.numeric(Sys.time())
    for (k in seq_len(calls)) result <- call()
    wait(result)
    as.numeric(Sys.time()) - from
  }
  once()
  min(replicate(5, once())) / calls
}

measure <- function(name, A, precision, empty) {
  bytes_of_value <- if (precision == "float32") 4 else 8
  v <- stats::rnorm(A$size)
  rows <- length(A$offsets) - 1
  bytes <- (bytes_of_value + 4) * length(A$columns) + 8 * rows + bytes_of_value * A$size + 8 * rows
  plan <- spmv_plan(A[1:3])
  if (on_gpu) {
    there <- gpu_matrix(v, precision)
    time <- seconds(\() spmv(plan, there, output = "gpu"), 20, \(result) as.matrix(result[1, ]))
    room <- gpu_matrix(numeric(bytes / 16)) # a copy reads and writes this memory
    copy <- seconds(\() kernops:::gpu_move(room, 0L), 20, \(result) as.matrix(result[1, ]))
  } else {
    time <- seconds(\() spmv(plan, v), 5)
    room <- numeric(bytes / 16)
    copy <- seconds(\() room + 0, 5)
  }
  data.frame(matrix = name, precision, "empty rows" = empty, rows = rows, entries = length(A$columns),
             "mean length" = length(A$columns) / rows, ms = 1e3 * time, "GB/s" = 1e-9 * bytes / time,
             "/ copy" = copy / time, check.names = FALSE)
}

# Writes each row as soon as it is measured, so that an interrupted run shows the rows measured until then.
write_row <- function(row, header) {
  shown <- \(cell) if (is.numeric(cell)) format(signif(cell, 3), scientific = FALSE) else as.character(cell)
  cells <- vapply(row, shown, "")
  width <- as.integer(pmax(nchar(names(row)), c(15, rep(8, length(row) - 1))))
  if (header) cat(sprintf("%*s", width, names(row)), "\n")
  cat(sprintf("%*s", width, cells), "\n")
  flush(stdout())
}

set.seed(1)
cat(if (on_gpu) kernops:::gpu_describe(gpu_matrix(0))$name else "one core of a CPU", "\n", sep = "")
least <- Inf
first <- TRUE
for (empty in c(FALSE, TRUE)) for (name in names(matrices)) {
  A <- simulate_matrix(matrices[[name]], empty)
  for (precision in if (on_gpu) c("float32", "float64") else "float64") {
    row <- measure(name, A, precision, empty)
    write_row(row, header = first)
    first <- FALSE
    least <- min(least, row[["/ copy"]])
  }
}
cat(sprintf("\nThe least ratio: %.2f\n", least))
