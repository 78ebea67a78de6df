# Gaussian processes on a GPU:  Rscript bench/gp_gpu.R [n ...]        default: 1e4 5e4 2e5 1e6
#                               Rscript bench/gp_gpu.R search 1e6     the search for the covariance alone
#
# The points are random in the unit cube. The covariance is Matern 3/2 with variance 0.69 and range 0.69, the noise has
# variance 0.1, and the precision is float32 unless the output names another one. Times are wall times measured in R,
# with data on the host: medians of three runs (one run from n = 1e6 on), after a run that compiles.

library(kernops)
arguments <- commandArgs(TRUE)
alone <- "search" %in% arguments
sizes <- as.numeric(setdiff(arguments, "search"))
if (!length(sizes)) sizes <- c(1e4, 5e4, 2e5, 1e6)

on_cube <- function(n) {
  set.seed(n)
  u <- matrix(runif(3 * n), n, dimnames = list(NULL, c("a", "b", "c")))
  data.frame(u, z = sin(6 * u[, 1]) + cos(5 * u[, 2] * u[, 3]) + rnorm(n, sd = sqrt(0.1)))
}
on_gpu <- function(d, ..., estimate = "none", precision = "float32") {
  gp(z ~ 1, d, ~ a + b + c, matern(3/2, 0.69, 0.69) + nugget(0.1), estimate = estimate, precision = precision,
     backend = "cuda", ...)
}
seconds <- function(code, times = 1) {
  median(replicate(times, {invisible(gc(full = FALSE)); system.time(code())[["elapsed"]]}))
}
say <- function(what, n, time, note = "") cat(sprintf("%-52s n = %7d  %8.3f s  %s\n", what, n, time, note))

# Seconds of a likelihood with its gradient. Each call has other parameters, so that nothing is reused, and solves
# linear systems up to the residuals that a search allows.
step_time <- function(fit, probes, times) {
  fit$how$control[c("probes", "cg_tol")] <- list(probes, gp_control()$cg_tol)
  likelihood <- kernops:::likelihood_for(fit$data, fit$model, fit$how)
  count <- 0
  one <- function() {
    count <<- count + 1
    likelihood$evaluate(unname(fit$theta) * (1 + count / 100), TRUE, search = TRUE)$gradient()
  }
  one()
  seconds(one, times)
}

# The lines that a fit prints, with the parameters of each step, show the progress.
whole_fit <- function(d, new) {
  fit <- gp(z ~ 1, d, ~ a + b + c, matern(3/2) + nugget(), method = "iterative", precision = "float32",
            backend = "cuda", control = gp_control(progress = "steps"))
  error <- sqrt(mean((predict(fit, new) - new$z)^2))
  paste0(fit$search$evaluations, " likelihoods in ", fit$how$precision, "; ", fit$search$message, "; RMSE ",
         signif(error, 4))
}

gpu_table <- function(n) {
  d <- on_cube(n + 1e5L)
  new <- d[n + 1:1e5, ]
  d <- d[seq_len(n), ]
  if (alone) return(say_search(n, d, new))
  mean_at <- function(tol, rows) {
    predict(on_gpu(d, method = "iterative", control = gp_control(probes = 0, cg_tol = tol)), new[seq_len(rows), ])
  }
  times <- if (n < 1e6) 3 else 1
  if (n < 1e6) mean_at(0.01, 2000)
  say("gp() and 2,000 means, CG tolerance 0.01", n, seconds(function() mean_at(0.01, 2000), times))
  if (n >= 1e6) say("gp() and 100,000 means, CG tolerance 1e-6", n, seconds(function() mean_at(1e-6, 1e5)))
  few <- on_gpu(d, method = "iterative", control = gp_control(probes = 0, cg_tol = 0.1))
  for (probes in c(10, 16)) {
    say(sprintf("likelihood and gradient, %d probes", probes), n, step_time(few, probes, times))
  }
  if (n < 5e4) say("likelihood and gradient, exact, float64", n, step_time(on_gpu(d, method = "exact"), 16, 3))
  if (n >= 1e6) say_search(n, d, new)
}
say_search <- function(n, d, new) {
  time <- system.time(note <- whole_fit(d, new))[["elapsed"]]
  say("gp() by maximum likelihood, and 100,000 means", n, time, note)
}

for (n in as.integer(sizes)) gpu_table(n)
