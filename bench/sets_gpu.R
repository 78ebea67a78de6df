# R_LIBS=.lib Rscript bench/sets_gpu.R [points]
#
# Vecchia's approximation on one GPU: milliseconds of a likelihood, and of a likelihood with its gradient and expected
# information. The neighbours are given and already in GPU memory. The script also measures these times on all cores of
# the CPU.

library(kernops)
n <- as.numeric(c(commandArgs(TRUE), 1e6)[[1]])
internal <- asNamespace("kernops")

milliseconds <- function(code, runs = 7) {
  code <- substitute(code)
  frame <- parent.frame()
  1e3 * min(vapply(seq_len(runs), \(run) system.time(eval(code, frame))[["elapsed"]], 0))
}

u <- withr::with_seed(1, matrix(runif(2 * n), n))
u <- u[internal$vecchia_order(u, "maxmin", 1), ]
noise <- rep(0.1, n)
zero <- numeric(n)
values <- cbind(withr::with_seed(2, rnorm(n)), 1)

measure <- function(name, covariance, m, backend, runs, precision = "float64") {
  model <- internal$covariance_model(covariance, 2)
  operators <- internal$set_operators(model, backend, precision)
  sets <- internal$hold_sets(u, noise, zero, values, internal$ordered_neighbours(u, m))
  run <- function(slopes) {
    found <- internal$set_sums(operators, model$parameters$value, integer(), sets, slopes)
    stopifnot(found$bad == 0)
    found
  }
  run(TRUE)
  run(FALSE)
  value <- milliseconds(run(FALSE), runs)
  all <- milliseconds(run(TRUE), runs)
  data.frame(covariance = name, n, m, backend, precision, parameters = nrow(model$parameters), likelihood = value,
             "with gradient" = all, ratio = all / value, logdet = run(FALSE)$logdet, check.names = FALSE)
}

rows <- list()
for (m in c(10, 30, 60, 100)) {
  for (precision in c("float64", "float32")) {
    rows[[length(rows) + 1]] <- measure("exponential", exponential(1, 0.1), m, "cuda", 7, precision)
  }
}
rows <- c(rows, list(
  measure("Matern 3/2", matern(3/2, 1, 0.1), 30, "cuda", 7),
  measure("Matern 5/2 ARD", matern(5/2, 1, c(0.1, 0.2)), 30, "cuda", 7),
  measure("exponential", exponential(1, 0.1), 30, "cpu", 1)
))
print(do.call(rbind, rows), digits = 4, row.names = FALSE)
