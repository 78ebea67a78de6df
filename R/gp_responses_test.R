# Likelihood-ratio tests of many responses against no field.
#
# Without a field the range is undefined, so the statistic is the maximum over many ranges, and its distribution is not
# the half chi-squared distribution of a known range. The distribution depends only on the points, not on the trend or
# the variance of the response: statistics of simulated noise at the same points have this distribution.

# Statistics of simulated responses of normal noise at all points.
null_statistics <- function(task, control) {
  draws <- control$null_draws
  if (!draws) return(NULL)
  say_progress(step = "responses without a field")
  n <- length(task$data$y)
  sets <- task$sets_of(seq_len(n))
  y <- with_seed(control$seed, normal_numbers(n, draws)) / sqrt(task$data$weights)
  standard <- standard_responses(y, sets)
  group <- list(sets = sets, y = standard$y)
  found <- task$held(group)$optima(task$parameters, task$starts, task$reml)
  null <- null_fits(task, group)
  sort(pmax(null$value - found$value, 0, na.rm = TRUE))
}

# P-values of statistics: the share of draws that are at least as large. Beyond the largest tenth of the draws, the tail
# of a maximum over ranges (Davies 1977) is used, scaled to a tenth; its constant is estimated from the largest tenth.
null_p_values <- function(statistic, draws) {
  if (is.null(draws)) return(half_chisq(statistic))
  count <- length(draws)
  p <- (1 + vapply(statistic, function(x) sum(draws >= x), 0)) / (count + 1)
  p[statistic %in% 0] <- 1
  tail <- max(10, ceiling(count / 10))
  if (count < 2 * tail) return(p)
  from <- draws[[count - tail]]
  beyond <- which(statistic > from)
  if (from <= 0 || !length(beyond)) return(p)
  constant <- tail_constant(draws[seq(to = count, length.out = tail)], from)
  p[beyond] <- (tail + 1) / (count + 1) * exp(log_tail(statistic[beyond], constant) - log_tail(from, constant))
  p
}

# The p-values for a known range: half of the statistics are 0.
half_chisq <- function(statistic) {
  ifelse(statistic > 0, stats::pchisq(statistic, 1, lower.tail = FALSE) / 2, 1)
}

# The logarithm of P(Z > c) + v / (2 pi) exp(-c^2 / 2) for the root c of a statistic.
log_tail <- function(statistic, v) {
  root <- sqrt(statistic)
  -statistic / 2 + log(exp(stats::pnorm(root, lower.tail = FALSE, log.p = TRUE) + statistic / 2) + v / (2 * pi))
}

# The v with the largest likelihood for statistics above `from`.
tail_constant <- function(statistic, from) {
  density <- function(v) {
    root <- sqrt(statistic)
    log(stats::dnorm(root) / (2 * root) + v / (4 * pi) * exp(-statistic / 2))
  }
  loss <- function(log_v) sum(log_tail(from, exp(log_v)) - density(exp(log_v)))
  exp(stats::optimize(loss, c(-7, 7))$minimum)
}
