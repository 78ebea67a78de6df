# `Rscript tools/soak.R CALLS` makes calls of all kinds in a random order, in one process. Each result is compared with
# plain R, and each search with its first result; after a quarter of the calls, which fill caches, memory must not grow.

suppressMessages(library(kernops))
count <- as.integer(commandArgs(TRUE)[[1]])
cuda <- identical(Sys.getenv("KERNOPS_BACKEND"), "cuda")
if (cuda) options(kernops.backend = "cuda")
set.seed(1)
x <- matrix(stats::runif(60), 30)
y <- matrix(stats::runif(80), 40)
b <- stats::rnorm(40)
d <- data.frame(u = x[, 1], v = x[, 2], z = sin(4 * x[, 1]) + x[, 2] + stats::rnorm(30, sd = 0.1))
g <- sample(rep(1:5, 6))
squares <- outer(x[, 1], y[, 1], "-")^2 + outer(x[, 2], y[, 2], "-")^2
among <- as.matrix(stats::dist(x))^2

variables <- c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", variables)
slope <- keops_grad(op, "x")
digits <- if (cuda) 1 else 6 # few distinct formulas: compilation for a GPU takes tenths of a second
written <- \(s) keops_kernel(sprintf("Sum_Reduction(Exp(-%s * SqDist(x, y)) * b, 1)", round(s, digits)), variables)
fit <- \(method, estimate = "none") {
  fitted <- suppressWarnings(gp(z ~ 1, d, ~ u + v, matern(3/2, 1, 1) + nugget(0.1), method, estimate))
  c(stats::coef(fitted), stats::predict(fitted, d[1:3, ]))
}
kriging <- function(s) {
  covariance <- (1 + sqrt(3 * among)) * exp(-sqrt(3 * among))
  weights <- solve(covariance + 0.1 * diag(30), cbind(1, d$z))
  mean <- sum(weights[, 2]) / sum(weights[, 1])
  c(mean, mean + covariance[1:3, ] %*% (weights[, 2] - mean * weights[, 1]))
}
large <- matrix(stats::runif(6000), 3000)

refused <- \(code, by) tryCatch({code; FALSE}, error = \(e) inherits(e, by))
# Returns whether a signal interrupts a loop that runs a kernel, and that writes, compiles and runs a formula. R ignores
# the signal while system() runs, so the shell sends it only after the file `go` exists.
interrupted <- function() {
  go <- tempfile()
  signal <- "(while [ ! -e %s ]; do sleep 0.002; done; sleep %.3f; kill -INT %d) > /dev/null 2>&1 &"
  tryCatch({
    system(sprintf(signal, go, stats::runif(1, 0, 0.03), Sys.getpid()))
    file.create(go)
    repeat {
      op(list(large, large, large[, 1]))
      rowSums(exp(-sqdist(Vi(x), Vj(y)) * stats::runif(1)))
    }
  }, interrupt = \(e) unlink(go) == 0)
}

# name = list(a call, the same result in plain R); both are functions of a number that differs in each call.
kinds <- list(
  kernel = list(\(s) op(list(x, y, b)), \(s) exp(-squares) %*% b),
  formula = list(\(s) written(s)(list(x, y, b)), \(s) exp(-round(s, digits) * squares) %*% b),
  gradient = list(\(s) slope(list(x, y, b, rep(s, 30))), \(s) {
    w <- -2 * s * exp(-squares) * rep(b, each = 30)
    cbind(rowSums(w * outer(x[, 1], y[, 1], "-")), rowSums(w * outer(x[, 2], y[, 2], "-")))
  }),
  lazy = list(\(s) rowSums(exp(-sqdist(Vi(x), Vj(y)) * s)), \(s) rowSums(exp(-squares * s))),
  nearest = list(\(s) argmin(sqdist(Vi(x * s), Vj(y * s)), "j"), \(s) max.col(-squares, "first")),
  segments = list(\(s) seg_reduce(d$z * s, g = g, op = "max"), \(s) tapply(d$z * s, g, max)),
  axes = list(\(s) axis_reduce(array(s * 1:24, 2:4), dims = c(1, 3), op = "sum"),
              \(s) apply(array(s * 1:24, 2:4), 2, sum)),
  solve = list(\(s) kernel_solve(op, "b", list(x, x, d$z), lambda = 1, tol = 1e-12)$solution,
               \(s) solve(exp(-among) + diag(30), d$z)),
  exact = list(\(s) fit("exact"), kriging),
  vecchia = list(\(s) fit("vecchia"), kriging),
  iterative = list(\(s) fit("iterative"), kriging),
  search = list(\(s) fit("exact", "ML"), NULL),
  formula_error = list(\(s) refused(keops_kernel(paste0("Foo", s, "(x)"), variables), "kernops_formula_error"),
                       \(s) TRUE),
  error = list(\(s) refused(op(list(x, y)), "kernops_input_error"), \(s) TRUE),
  interrupted = list(\(s) interrupted(), \(s) TRUE)
)
often <- c(search = 0.2, interrupted = 0.5)[names(kinds)]
often[is.na(often)] <- 1

failures <- 0
fails <- function(...) {
  cat("soak: ", ..., "\n", sep = "")
  failures <<- failures + 1
}
of_search <- NULL
one_call <- function(name) {
  s <- stats::runif(1, 0.5, 2)
  got <- tryCatch(as.vector(kinds[[name]][[1]](s)), error = conditionMessage)
  if (name == "search" && is.null(of_search)) of_search <<- got
  expected <- if (name == "search") of_search else as.vector(kinds[[name]][[2]](s))
  if (!isTRUE(all.equal(got, expected, tolerance = 1e-7))) fails(name, ": ", deparse1(got), " not ", deparse1(expected))
}

# Memory of the process, of R's objects, and of the GPUs, in MiB.
memory <- function() {
  for (again in 1:2) gc()
  resident <- as.numeric(gsub("[^0-9]", "", grep("VmRSS", readLines("/proc/self/status"), value = TRUE)))
  describe <- utils::getFromNamespace("cuda_describe", "kernops")
  of_gpus <- \() with(describe(), sum(total_bytes - free_bytes, na.rm = TRUE))
  c(process = resident / 1024, R = sum(gc()[, 1] * c(56, 8)) / 2^20, GPUs = if (cuda) of_gpus() / 2^20 else 0)
}
used <- c()
calls <- sample(names(kinds), count, TRUE, often)
quarters <- split(calls, ceiling(4 * seq_along(calls) / count))
for (quarter in quarters) {
  for (name in quarter) one_call(name)
  used <- cbind(used, memory())
  cat("soak:", length(quarter), "calls;", sprintf("%s %.2f", rownames(used), used[, ncol(used)]), "MiB\n")
}
# cli creates a new symbol for each text that it formats, and R keeps symbols: 0.6 kB per displayed error
shown <- sum(unlist(quarters[-1]) %in% c("error", "search"))
grown <- used[, 4] - used[, 1] - c(1, 1, 0) * shown * 0.6 / 1024
for (of in names(grown)[grown > c(4, 0.1, 4)]) fails("memory of ", of, " grew by ", round(grown[[of]], 2), " MiB")
quit(status = as.integer(failures > 0))
