# R_LIBS=.lib Rscript bench/scattered_levels.R [points] [levels] [none]
#
# Poisson counts with a field of Matern 3/2 and a random intercept whose levels are scattered over the whole domain, so
# that the precision matrix has no sparse factor (default: 1e5 points, 1e4 levels). All parameters are estimated; with
# `none`, the parameters of the covariance are given, and only the trend is estimated.
#
# Columns: elapsed seconds and CPU seconds, number of likelihoods, the log-likelihood with its Monte Carlo error,
# estimates (their true values are 0.5 and 0.49 for the variances, 0.1 for the range, 0.3 for the slope) and the peak
# memory of the process in GB.

library(kernops)
options(width = 160)
arguments <- commandArgs(TRUE)
argument <- \(k, default) if (length(arguments) >= k) as.numeric(arguments[[k]]) else default
n <- argument(1, 1e5)
levels <- argument(2, 1e4)
given <- "none" %in% arguments

simulated <- withr::with_seed(1, {
  d <- data.frame(a = runif(n), b = runif(n), z = rnorm(n), g = sample(levels, n, TRUE))
  frequency <- matrix(rnorm(600), 300) / sqrt(rchisq(300, 3) / 3) * sqrt(3) / 0.1
  sum_of_waves <- keops_kernel("Sum_Reduction(Cos((x | w) + b), 1)", c("x = Vi(2)", "w = Vj(2)", "b = Vj(1)"))
  field <- sqrt(1 / 300) * as.vector(sum_of_waves(list(as.matrix(d[1:2]), frequency, runif(300, 0, 2 * pi))))
  transform(d, y = rpois(n, exp(0.5 + 0.3 * z + field + rnorm(levels, sd = 0.7)[g])))
})

peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024^2
}
covariance <- if (given) matern(3/2, 0.5, 0.1) + random_effect(~ 1 | g, 0.49) else matern(3/2) + random_effect(~ 1 | g)
time <- system.time(fit <- gp(y ~ z, simulated, ~ a + b, covariance, method = "vecchia", family = poisson(),
                              estimate = if (given) "none" else "ML"))
print(data.frame(n, levels, "fit, s" = time[["elapsed"]], "cores, s" = sum(time[1:2]),
                 likelihoods = c(fit$search$evaluations, NA)[[1]], "log-likelihood" = as.numeric(logLik(fit)),
                 error = fit$state$logdet_error / 2, t(coef(fit, "covariance")), slope = coef(fit)[["z"]], GB = peak(),
                 check.names = FALSE), row.names = FALSE, digits = 6)
