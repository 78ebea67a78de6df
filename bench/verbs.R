# R_LIBS=.lib Rscript bench/verbs.R [columns]
#
# The verbs beside the packages that users have for these tasks, on one core: CPU seconds, in pairs that take turns, and
# how many times ours. `columns`: nanoseconds of one row that meets few columns.

library(kernops)
options(kernops.threads = 1, kernops.backend = "cpu")
chosen <- commandArgs(TRUE)
wanted <- \(part) !length(chosen) || part %in% chosen
title <- function(...) cat("\n", sprintf(...), "\n", sep = "")
show <- function(rows) print(do.call(rbind, rows), digits = 3, row.names = FALSE)
cpu <- function(code) sum(system.time(code())[1:2])

# The smallest CPU times of functions that take turns.
turns <- function(..., runs = 3) {
  codes <- list(...)
  apply(matrix(replicate(runs, vapply(codes, cpu, 0)), length(codes)), 1, min)
}
cloud <- \(n, d) withr::with_seed(1, matrix(rnorm(n * d), n))
row <- \(...) data.frame(..., check.names = FALSE)

if (wanted("columns")) {
  title("1e6 rows and few columns, nanoseconds a row")
  formulas <- c(ArgMin = "ArgMin_Reduction(SqDist(x, y), 1)", Gauss = "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
                gradient = "Grad(Sum_Reduction(Exp(-SqDist(x, y)) * b, 1), x, e)",
                LogSumExp = "LogSumExp_Reduction(-SqDist(x, y), 1)")
  rows <- 1e6
  show(lapply(c(2, 7, 10, 16, 32, 64, 128), \(n) {
    data <- list(x = cloud(rows, 3), y = cloud(n, 3), b = cloud(n, 1), e = cloud(rows, 1))
    declared <- c(x = "x = Vi(3)", y = "y = Vj(3)", b = "b = Vj(1)", e = "e = Vi(1)")
    time <- function(formula) {
      used <- intersect(names(data), all.vars(str2lang(formula)))
      op <- keops_kernel(formula, declared[used])
      1e9 * turns(\() op(data[used])) / rows
    }
    do.call(row, c(list(columns = n), lapply(formulas, time)))
  }))
}
