# R_LIBS=.lib Rscript bench/low_noise.R [n] [kernel] [range] [inputs] [method ...]
#
# Smooth fields with little noise: n points (default 10000) in the unit square or cube, a squared exponential covariance
# ("se", the default) or Matern 7/2 ("matern") with range 0.2 and variance 1, and noise of variance 1e-6. The field is a
# sum of cosines and sines with independent normal amplitudes. The frequencies are a stratified sample of the spectral
# density, with two thirds of the strata in the tail of the density.
#
# The script prints a row for each method (default: exact, auto). The method "vecchia,60" has 60 neighbours, and
# "vif,30,200" has 30 neighbours and 200 inducing points. The columns are the log-likelihood at the true parameters; the
# log-likelihood at the estimates; the estimates; the number of evaluated likelihoods; the elapsed seconds and the CPU
# seconds of the fit; the root mean square of standardised prediction errors and the mean standard error, at 1000 new
# points; and the peak memory of the process in GB so far. With the environment variable TRUTH=1, parameters are not
# estimated. The exact method is omitted for more than 10,000 points.

library(kernops)
options(width = 160)
arguments <- commandArgs(TRUE)
argument <- \(k, default) if (length(arguments) >= k) arguments[[k]] else default
n <- as.integer(argument(1, 10000))
kernel <- argument(2, "se")
range <- as.numeric(argument(3, 0.2))
d <- as.integer(argument(4, 2))
methods <- if (length(arguments) > 4) arguments[-(1:4)] else c("exact", "auto")
if (n > 10000) methods <- setdiff(methods, "exact")

simulated <- function(n, waves = 6000) {
  set.seed(1)
  u <- matrix(runif(n * d), n, dimnames = list(NULL, paste0("x", seq_len(d))))
  upper <- c(seq(1, 0.1, length.out = waves / 3), exp(seq(log(0.1), log(1e-10), length.out = 2 * waves / 3))[-1])
  middle <- sqrt(upper[-1] * upper[-length(upper)])
  square <- if (kernel == "se") qchisq(middle, d, lower.tail = FALSE) else d * qf(middle, d, 7, lower.tail = FALSE)
  direction <- matrix(rnorm(d * length(middle)), ncol = d)
  frequency <- direction / sqrt(rowSums(direction^2)) * sqrt(square) / range
  amplitudes <- \() matrix(rnorm(length(middle)) * sqrt(-diff(upper)))
  sum_of_waves <- keops_kernel("Sum_Reduction(Cos(x | w) * a + Sin(x | w) * b, 1)",
                               c(sprintf("x = Vi(%d)", d), sprintf("w = Vj(%d)", d), "a = Vj(1)", "b = Vj(1)"))
  f <- as.vector(sum_of_waves(list(u, frequency, amplitudes(), amplitudes())))
  data.frame(u, f = f, y = f + rnorm(n, sd = 1e-3))
}
seconds <- \(code) {
  time <- system.time(code)
  c(clock = time[["elapsed"]], cores = sum(time[c("user.self", "sys.self")]))
}
peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024^2
}
covariance_of <- \(...) (if (kernel == "se") squared_exponential(...) else matern(7/2, ...))
data <- simulated(n + 1000)
new <- data[n + 1:1000, ]
data <- data[seq_len(n), ]
coords <- reformulate(paste0("x", seq_len(d)))

for (method in methods) {
  parts <- strsplit(method, ",")[[1]]
  counts <- Map(as.integer, list(neighbours = parts[2], inducing = parts[3]))
  counts <- counts[!is.na(counts)]
  control <- c(counts, list(progress = if (interactive() || n > 1e5) "steps" else "none"))
  fit_by <- \(...) gp(y ~ 1, data, coords, ..., method = parts[[1]], control = control)
  at_truth <- if (n > 1e5) NA else fit_by(covariance_of(1, range) + nugget(1e-6), estimate = "none")$loglik
  if (nzchar(Sys.getenv("TRUTH"))) {
    cat(sprintf("%-12s %.1f\n", method, at_truth))
    next
  }
  time <- seconds(fit <- suppressWarnings(fit_by(covariance_of() + nugget())))
  p <- suppressMessages(predict(fit, new, se.fit = TRUE, interval = "confidence"))
  print(fit)
  print(data.frame(method = method, by = fit$method, "at truth" = at_truth, "log-likelihood" = fit$loglik,
                   variance = fit$theta[[1]], range = fit$theta[[2]], "nugget * 1e6" = 1e6 * fit$theta[[3]],
                   likelihoods = fit$search$evaluations, "clock, s" = time[["clock"]], "cores, s" = time[["cores"]],
                   "error / se" = sqrt(mean(((p$fit - new$f) / p$se.fit)^2)), "se" = mean(p$se.fit), GB = peak(),
                   check.names = FALSE), digits = 7, row.names = FALSE)
}
