# R_LIBS=.lib Rscript bench/formula_optimum.R [first seed] [last seed] [observations] [method] [formula]
#
# Searches for the parameters of user-defined covariances, for simulated data sets. The script counts the fits that end
# more than 0.1 units of log-likelihood below the optimum of a search that begins at the parameters of the simulation. A
# covariate h changes the `variance` of the field, as in the vignette "large-kriging", its `range`, or `both`.
suppressMessages(library(kernops))

args <- commandArgs(TRUE)
argument <- function(k, default) if (is.na(args[k])) default else args[k]
seeds <- seq(as.integer(argument(1, 1)), as.integer(argument(2, 30)))
n <- as.integer(argument(3, 1200))
method <- argument(4, "vecchia")
kind <- argument(5, "variance")

# Exponential covariances; if the range varies, the covariance of Paciorek and Schervish (2006).
sd_of_h <- "Exp(slope * (Elem(x, 2) + Elem(y, 2))) *"
squared <- "SqDist(Extract(x, 0, 2), Extract(y, 0, 2))"
ranges <- sprintf("(range * Exp(rate * Elem(%s, 2)))", c("x", "y"))
squares <- sprintf("(Square(%s) + Square(%s))", ranges[[1]], ranges[[2]])
by_range <- sprintf("2 * %s * %s / %s * Exp(-Sqrt(2 * %s / %s))", ranges[[1]], ranges[[2]], squares, squared, squares)
by_h <- paste("variance *", switch(kind, variance = paste0(sd_of_h, "Exp(-Sqrt(", squared, ") / range)"),
                                   range = by_range, both = paste(sd_of_h, by_range)))
slope <- if (kind != "range") 0.8 else 0
rate <- if (kind != "variance") 0.8 else 0
range <- if (kind == "variance") 0.2 else 0.08
of_kind <- function(parameters) {
  parameters[setdiff(names(parameters), c(variance = "rate", range = "slope", both = "")[[kind]])]
}
truth <- of_kind(list(variance = 1, slope = slope, range = range, rate = rate))
vague <- of_kind(list(variance = 1, slope = 0.1, range = 0.1, rate = 0.1))

simulated <- function(seed) {
  set.seed(seed)
  d <- data.frame(x = runif(n), y = runif(n))
  d$h <- sin(3 * d$x) + d$y / 2
  r <- range * exp(rate * d$h)
  squares <- outer(r^2, r^2, `+`)
  K <- 2 * outer(r, r) / squares * exp(-sqrt(2 / squares) * as.matrix(dist(d[c("x", "y")])))
  field <- drop(crossprod(chol(K + diag(1e-9, n)), rnorm(n)))
  d$z <- exp(slope * d$h) * field + rnorm(n, sd = 0.1)
  d
}

search_from <- function(d, start, noise) {
  field <- covariance(by_h, start, positive = c("variance", "range"))
  seconds <- system.time(
    fit <- suppressWarnings(gp(z ~ 1, d, ~ x + y + h, field + noise, method = method, progress = FALSE))
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
