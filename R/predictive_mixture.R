# Predictive distributions that are weighted mixtures of other predictive distributions.

# `parts` are predictive distributions of one kind, for the same points.
predictive_mixture <- function(parts, weights) {
  merge_parts(parts[[1]], new_predictive("mixture", parts = parts, weights = weights))
}

# each_part() returns a matrix with the column f(part) for each part, and weighted_parts() returns the weighted mean of
# these columns.
each_part <- function(x, f) matrix(as.numeric(unlist(lapply(x$parts, f))), ncol = length(x$parts))
weighted_parts <- function(x, f) as.vector(each_part(x, f) %*% x$weights)

mean.pred_mixture <- function(x, ...) weighted_parts(x, function(part) mean(part))

predictor.pred_mixture <- function(x) weighted_parts(x, function(part) predictor(part))

# The variance of a mixture, by the law of total variance.
variance.pred_mixture <- function(x) {
  means <- each_part(x, function(part) mean(part))
  off <- means - as.vector(means %*% x$weights)
  as.vector((each_part(x, function(part) variance(part)) + off^2) %*% x$weights)
}

cdf.pred_mixture <- function(x, q, lower = TRUE) weighted_parts(x, function(part) cdf(part, q, lower))

quantile.pred_mixture <- function(x, p, ...) mix_quantile(x$parts[[1]], x, p)

draw.pred_mixture <- function(x, count) {
  number <- sample.int(length(x$parts), count, TRUE, x$weights)
  draws <- matrix(0, length(mean(x)), count)
  for (k in unique(number)) draws[, number == k] <- draw(x$parts[[k]], sum(number == k))
  draws
}
