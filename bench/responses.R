# Fits of many responses at the same 3,600 sites: seconds, and the differences from fits of a single response.
#
#   Rscript bench/responses.R [responses] [neighbours] [single fits]
#
# A third of the responses have no field. In the other responses, the field has a share of 0.1 to 0.9 of the variance,
# and a range of 0.02 to 0.3 in the unit square. The time per response is without p-values; p-values require 400
# additional responses, which are simulated without a field.
library(kernops)
given <- as.integer(commandArgs(TRUE))
count <- if (length(given) > 0) given[[1]] else 200L
m <- if (length(given) > 1) given[[2]] else 10L
singles <- if (length(given) > 2) given[[3]] else 3L
set.seed(1)
n <- 3600
sites <- data.frame(a = runif(n), b = runif(n))

# A field with an exponential covariance, as a sum of cosines with random frequencies.
field <- function(range, terms = 200) {
  frequencies <- matrix(rnorm(2 * terms), terms) / sqrt(rchisq(terms, 1)) / range
  sqrt(2 / terms) * colSums(cos(frequencies %*% t(as.matrix(sites)) + runif(terms, 0, 2 * pi)))
}
share <- rep_len(c(0, 0.1, 0.3, 0, 0.5, 0.9), count)
range <- rep_len(c(0.02, 0.05, 0.1, 0.3), count)
Y <- vapply(seq_len(count), function(j) {
  noise <- sqrt(1 - share[[j]]) * rnorm(n)
  if (share[[j]] > 0) sqrt(share[[j]]) * field(range[[j]]) + noise else noise
}, numeric(n))

measured <- function(...) {
  time <- system.time(fit <- gp(Y ~ 1, sites, ~ a + b, exponential() + nugget(), responses = "independent",
                                neighbours = m, ...))
  cat(sprintf("%d responses, m = %d, %s: %.1f s, %.1f CPU seconds, %.1f CPU ms a response\n", count, m,
              toString(paste(names(list(...)), list(...))), time[["elapsed"]], sum(time[1:2]),
              1000 * sum(time[1:2]) / count))
  fit
}
fit <- measured(null_draws = 0)
cat("evaluations a response:", mean(fit$evaluations), " converged:", mean(fit$converged), "\n")
for (j in round(seq(1, count, length.out = singles))) {
  y <- Y[, j]
  single <- suppressWarnings(gp(y ~ 1, sites, ~ a + b, exponential() + nugget(), "vecchia", neighbours = m,
                                gain = 1e-8))
  cat(sprintf("response %d: log-likelihood minus that of the single fit: %.2e\n", j, logLik(fit)[[j]] - single$loglik))
}
