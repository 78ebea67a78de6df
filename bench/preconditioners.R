# R_LIBS=.lib Rscript bench/preconditioners.R [points] [backend]
#
# The table has the number of iterations of conjugate gradients to a relative residual of 1e-6, and the seconds, which
# include the construction of the preconditioner. Compares pivoted Cholesky and randomly pivoted Cholesky (`random`),
# with the rank that gp() uses, and Vecchia's sparse inverse Cholesky factor with 40 neighbours, for points of the unit
# square. Then compares the low-rank preconditioners for points in 8 dimensions, 95 % of them in a cluster. There is one
# right-hand side. For `left / noise`, the low-rank part of pivoted Cholesky of rank 150 is subtracted from the
# covariance of 1500 points; the column is the mean of the remaining variances, divided by the variance of the noise.
# gp(method = "iterative") chooses Vecchia's factor if this ratio is above a limit: 2 on a GPU with fewer than 3e5
# points, otherwise 0.3.

library(kernops)
n <- as.numeric(c(commandArgs(TRUE), 5000)[[1]])
backend <- c(commandArgs(TRUE)[-1], "auto")[[1]]
set.seed(1)
x <- matrix(runif(2 * n), n)
b <- matrix(rnorm(n))

cases <- expand.grid(noise = c(1e-4, 1e-2, 1), range = c(0.05, 0.3), field = 1:3)
fields <- list(
  exponential = "Exp(-Norm2(x - y) / r)",
  `Matern 3/2` = "(1 + 1.73205 * Norm2(x - y) / r) * Exp(-1.73205 * Norm2(x - y) / r)",
  Gaussian = "Exp(-SqDist(x, y) / (2 * r * r))"
)
left_over <- function(system) {
  some <- round(seq(1, n, length.out = 1500))
  kernops:::pivots(system$subset(some), rep(1, 1500), 150, 1e-10)$left / 1500
}
measure <- function(field, range, noise) {
  op <- keops_kernel(paste0("Sum_Reduction(", fields[[field]], " * b, 1)"),
                     c("r = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)"), backend = backend)
  input <- list(r = range, x = x, y = x, b = b)
  run <- function(type, rank) {
    seconds <- system.time(fit <- suppressWarnings(
      kernel_solve(op, "b", input, noise, precond = type, rank = rank, maxit = 200)
    ))[["elapsed"]]
    list(if (all(fit$converged)) paste(fit$iterations) else "> 200", seconds)
  }
  low <- run("pivoted_cholesky", round(2 * sqrt(n)))
  random <- run("rpcholesky", round(2 * sqrt(n)))
  sparse <- run("vecchia", 40)
  data.frame(
    field = names(fields)[[field]], range, noise, "left / noise" = signif(left_over(
      kernops:::kernel_system(op, "b", input, noise)
    ) / noise, 2), "pivoted Cholesky" = low[[1]], seconds = low[[2]], random = random[[1]], "seconds " = random[[2]],
    Vecchia = sparse[[1]], "seconds  " = sparse[[2]],
    check.names = FALSE
  )
}
cat(sprintf("%d points, %d cores, backend %s\n", n, kernops:::threads(), backend))
print(do.call(rbind, Map(measure, cases$field, cases$range, cases$noise)), digits = 3, row.names = FALSE)

# Points in a cluster, and points around the cluster. Prints the part of the trace that remains after rank 400, the
# number of iterations, and CPU seconds.
x <- rbind(matrix(rnorm(8 * 0.95 * n, sd = 0.02), ncol = 8), matrix(runif(8 * 0.05 * n), ncol = 8))
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y) / (2 * r * r)) * b, 1)",
                   c("r = Pm(1)", "x = Vi(8)", "y = Vj(8)", "b = Vj(1)"), backend = backend)
cluster_row <- function(type) {
  input <- list(r = 0.3, x = x, y = x)
  cpu <- function(code) sum(system.time(code)[c("user.self", "sys.self")])
  making <- cpu(P <- kernel_preconditioner(op, "b", input, 1e-4, type, rank = 400))
  solving <- cpu(fit <- suppressWarnings(
    kernel_solve(op, "b", c(input, list(b = b)), 1e-4, precond = P, maxit = 500)
  ))
  data.frame(preconditioner = type, "left, % of the trace" = 100 * P$left, "making, s" = making,
             iterations = if (all(fit$converged)) paste(fit$iterations) else "> 500", "solving, s" = solving,
             check.names = FALSE)
}
cat("\nA cluster with outliers in 8 dimensions, Gaussian of scale 0.3, noise 1e-4, rank 400\n")
low_rank <- c("pivoted_cholesky", "rpcholesky", "nystrom")
print(do.call(rbind, lapply(low_rank, cluster_row)), digits = 3, row.names = FALSE)
