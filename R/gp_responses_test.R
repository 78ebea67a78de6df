# Likelihood-ratio tests of the null hypothesis that there is no field, for many responses.
#
# Without a field the range is undefined. Therefore the statistic is the maximum over many ranges. For a known range,
# the statistic would be 0 with probability 1/2 and otherwise have a chi-squared distribution with one degree of
# freedom; the maximum has another distribution. The distribution of the maximum depends only on the points, not on the
# trend or the variance of the response. Therefore the distribution is simulated by statistics of noise at the same
# points.

# Test statistics of simulated responses, which are normal noise at all points.
null_statistics <- function(task, control) {
  draws <- control$null_draws
  if (!draws) return(NULL)
  say_progress(step = "responses without a field")
  n <- length(task$data$y)
  sets <- task$sets_of(seq_len(n))
  y <- with_derived_seed(control$seed, normal_numbers(n, draws)) / sqrt(task$data$weights)
  standard <- standard_responses(y, sets)
  group <- list(sets = sets, y = standard$y)
  found <- task$held(group)$optima(task$parameters, task$starts, task$reml)
  null <- null_fits(task, group)
  sort(pmax(null$value - found$value, 0, na.rm = TRUE))
}

# P-values of statistics: the fraction of draws that are at least as large. Above the 90 % quantile q of the draws, the
# p-value of a statistic s is a tenth times T(s) / T(q), where T is the tail probability of the maximum over ranges
# (Davies 1977). The constant v of log_tail() is estimated from the draws above the quantile.
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

# The p-values for a known range, where the statistic is 0 with probability 1/2.
half_chisq <- function(statistic) {
  ifelse(statistic > 0, stats::pchisq(statistic, 1, lower.tail = FALSE) / 2, 1)
}

# The logarithm of P(Z > c) + v / (2 pi) exp(-c^2 / 2), where c is the square root of a statistic.
log_tail <- function(statistic, v) {
  root <- sqrt(statistic)
  -statistic / 2 + log(exp(stats::pnorm(root, lower.tail = FALSE, log.p = TRUE) + statistic / 2) + v / (2 * pi))
}

# The maximum-likelihood estimate of the constant v from the statistics above `from`.
tail_constant <- function(statistic, from) {
  density <- function(v) {
    root <- sqrt(statistic)
    log(stats::dnorm(root) / (2 * root) + v / (4 * pi) * exp(-statistic / 2))
  }
  loss <- function(log_v) sum(log_tail(from, exp(log_v)) - density(exp(log_v)))
  exp(stats::optimize(loss, c(-7, 7))$minimum)
}
