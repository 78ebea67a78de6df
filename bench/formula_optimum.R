# R_LIBS=.lib Rscript bench/formula_optimum.R [first seed] [last seed] [observations] [method]
#
# Searches of user-defined covariances: of simulated data sets, how many fits end more than 0.1 units of log-likelihood
# below the search that begins at the parameters of the simulation.
suppressMessages(library(kernops))

args <- commandArgs(TRUE)
seeds <- seq(as.integer(c(args[1], 1)[[1 + is.na(args[1])]]), as.integer(c(args[2], 30)[[1 + is.na(args[2])]]))
n <- as.integer(c(args[3], 1200)[[1 + is.na(args[3])]])
method <- c(args[4], "vecchia")[[1 + is.na(args[4])]]

# The standard deviation of the field depends on a covariate, as in the vignette "large-kriging".
by_h <- "variance * Exp(slope * (Elem(x, 2) + Elem(y, 2))) *
         Exp(-Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / range)"
truth <- list(variance = 1, slope = 0.8, range = 0.2)
vague <- list(variance = 1, slope = 0.1, range = 0.1)

simulated <- function(seed) {
  set.seed(seed)
  d <- data.frame(x = runif(n), y = runif(n))
  d$h <- sin(3 * d$x) + d$y / 2
  field <- gp(rep(0, 50) ~ 0, d[1:50, ], ~ x + y, exponential(1, 0.2), estimate = "none", method = "vecchia")
  field <- simulate(field, 1, seed = seed + 1, newdata = d, conditional = FALSE)[, 1]
  d$z <- exp(0.8 * d$h) * field + rnorm(n, sd = 0.1)
  d
}

search_from <- function(d, start, noise) {
  seconds <- system.time(
    fit <- suppressWarnings(gp(z ~ 1, d, ~ x + y + h, covariance(by_h, start) + noise, method = method,
                               progress = FALSE))
  )[["elapsed"]]
  list(loglik = as.numeric(logLik(fit)), seconds = seconds, theta = coef(fit, "covariance"))
}

rows <- do.call(rbind, lapply(seeds, function(seed) {
  d <- simulated(seed)
  from_vague <- search_from(d, vague, nugget())
  from_truth <- search_from(d, truth, nugget(0.01))
  loss <- from_truth$loglik - from_vague$loglik
  cat(sprintf("seed %3d: %8.3f units below, %5.1f s (%5.1f s from the truth), at %s\n", seed, loss, from_vague$seconds,
              from_truth$seconds, paste(signif(from_vague$theta, 3), collapse = " ")))
  data.frame(loss, seconds = from_vague$seconds)
}))
cat(sprintf("%d of %d searches end more than 0.1 below the search from the truth; %.2f s a search\n",
            sum(rows$loss > 0.1), nrow(rows), mean(rows$seconds)))
