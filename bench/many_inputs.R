# R_LIBS=.lib Rscript bench/many_inputs.R [n] [exact] [function ...]
#
# Emulation of functions of many inputs: n random inputs in the unit cube (default 20000), noise whose standard
# deviation is 1 % of the standard deviation of the function, and 1000 new inputs. Fits have estimated parameters, a
# linear trend and Matern 5/2 with a range for each input. Vecchia's approximation and VIF with their defaults are
# compared with an exact fit of `exact` observations (default: 5000, or n if n is smaller). The functions (Surjanovic
# and Bingham, Virtual Library of Simulation Experiments) are borehole with 8 inputs, piston with 7, Hartmann with 6 and
# Friedman with 5.
#
# A row has the log-likelihood, and, if there are at most `exact` observations, the exact log-likelihood at the same
# parameters; RMSE and CRPS in % of the standard deviation of the function; the coverage of 95 % intervals of the
# function in %; and seconds of the fit and of the predictions.

library(kernops)
options(width = 120)
arguments <- commandArgs(TRUE)
n <- as.integer(c(arguments, 20000)[[1]])
exact <- min(n, as.integer(c(arguments[-1], 5000)[[1]]))

scaled <- \(x, low, high) t(low + t(x) * (high - low))
borehole <- function(x) {
  x <- scaled(x, c(0.05, 100, 63070, 990, 63.1, 700, 1120, 9855), c(0.15, 50000, 115600, 1110, 116, 820, 1680, 12045))
  l <- log(x[, 2] / x[, 1])
  2 * pi * x[, 3] * (x[, 4] - x[, 6]) / (l * (1 + 2 * x[, 7] * x[, 3] / (l * x[, 1]^2 * x[, 8]) + x[, 3] / x[, 5]))
}
piston <- function(x) {
  x <- scaled(x, c(30, 0.005, 0.002, 1000, 90000, 290, 340), c(60, 0.02, 0.01, 5000, 110000, 296, 360))
  a <- x[, 5] * x[, 2] + 19.62 * x[, 1] - x[, 4] * x[, 3] / x[, 2]
  v <- x[, 2] / (2 * x[, 4]) * (sqrt(a^2 + 4 * x[, 4] * x[, 5] * x[, 3] / x[, 7] * x[, 6]) - a)
  2 * pi * sqrt(x[, 1] / (x[, 4] + x[, 2]^2 * x[, 5] * x[, 3] / x[, 7] * x[, 6] / v^2))
}
hartmann <- function(x) {
  a <- rbind(c(10, 3, 17, 3.5, 1.7, 8), c(0.05, 10, 17, 0.1, 8, 14), c(3, 3.5, 1.7, 10, 17, 8),
             c(17, 8, 0.05, 10, 0.1, 14))
  p <- rbind(c(1312, 1696, 5569, 124, 8283, 5886), c(2329, 4135, 8307, 3736, 1004, 9991),
             c(2348, 1451, 3522, 2883, 3047, 6650), c(4047, 8828, 8732, 5743, 1091, 381)) / 1e4
  -Reduce(`+`, lapply(1:4, \(k) c(1, 1.2, 3, 3.2)[[k]] * exp(-colSums(a[k, ] * (t(x) - p[k, ])^2))))
}
friedman <- \(x) 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
functions <- list(borehole = list(borehole, 8), piston = list(piston, 7), hartmann = list(hartmann, 6),
                  friedman = list(friedman, 5))

case_of <- function(name) {
  set.seed(1)
  f <- functions[[name]][[1]]
  d <- functions[[name]][[2]]
  inputs <- \(count) matrix(runif(count * d), count, dimnames = list(NULL, paste0("x", seq_len(d))))
  x <- inputs(n)
  new <- inputs(1000)
  y <- f(x)
  unit <- \(z) (z - mean(y)) / sd(y)
  list(data = data.frame(x, y = unit(y) + rnorm(n, sd = 0.01)), new = data.frame(new), truth = unit(f(new)), d = d)
}

crps <- function(mean, sd, truth) {
  z <- (truth - mean) / sd
  mean(sd * (z * (2 * pnorm(z) - 1) + 2 * dnorm(z) - 1 / sqrt(pi)))
}
seconds <- \(code) system.time(code)[["elapsed"]]
row_of <- function(case, method, size = n, ...) {
  data <- case$data[seq_len(size), ]
  fit_by <- \(method, covariance, ...) suppressWarnings(
    gp(reformulate(colnames(case$new), "y"), data, reformulate(colnames(case$new)), covariance, method,
       progress = FALSE, ...)
  )
  fitting <- seconds(fit <- fit_by(method, matern(5/2, ard = TRUE) + nugget(), ...))
  predicting <- seconds(p <- predict(fit, case$new, se.fit = TRUE, interval = "confidence"))
  certain <- if (size > exact) NA else
    tryCatch(fit_by("exact", fit$covariance, estimate = "none")$loglik, kernops_singular_error = \(e) NA)
  data.frame("log-likelihood" = fit$loglik, exact = certain, "RMSE, %" = 100 * sqrt(mean((p$fit - case$truth)^2)),
             "CRPS, %" = 100 * crps(p$fit, p$se.fit, case$truth),
             "coverage, %" = 100 * mean(case$truth > p$lwr & case$truth < p$upr), "fit, s" = fitting,
             "predict, s" = predicting, check.names = FALSE)
}

wanted <- if (length(arguments) > 2) arguments[-(1:2)] else names(functions)
for (name in wanted) {
  case <- case_of(name)
  tries <- list(list("exact", "exact", exact), list("vecchia", "vecchia"), list("vif", "vif"))
  cat(sprintf("\n%s, %d inputs, n = %d\n", name, case$d, n))
  for (k in seq_along(tries)) {
    row <- do.call(row_of, c(list(case), tries[[k]][-1]))
    shown <- cbind(method = sprintf("%-8s", tries[[k]][[1]]), n = if (k == 1) exact else n, row)
    lines <- capture.output(print(format(shown, digits = 4, width = 9), row.names = FALSE))
    cat(if (k == 1) lines else lines[-1], sep = "\n")
  }
}
