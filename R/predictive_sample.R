# Predictive distributions that are represented by draws: `draws` has a row for each target. The mean and the variance
# are stored separately.

predictive_sample <- function(mean, variance = NULL, draws = NULL) {
  new_predictive("sample", mean = mean, variance = variance, draws = draws)
}

quantile.pred_sample <- function(x, p, ...) {
  p <- rep_len(p, nrow(x$draws))
  each_target(x, function(draws, k) stats::quantile(draws, p[[k]], names = FALSE))
}

cdf.pred_sample <- function(x, q, lower = TRUE) {
  q <- rep_len(q, nrow(x$draws))
  each_target(x, function(draws, k) mean(if (lower) draws <= q[[k]] else draws > q[[k]]))
}

# Returns f(draws, k) for each target k, where `draws` are the draws of target k; NA if a draw is missing.
each_target <- function(x, f) {
  vapply(seq_len(nrow(x$draws)), function(k) if (anyNA(x$draws[k, ])) NA_real_ else f(x$draws[k, ], k), 0)
}

# Joins the draws of all parts. The number of draws of a part is proportional to its weight. The mean and the variance
# of the result are those of the mixture.
merge_parts.pred_sample <- function(x, mixture) {
  mixture$draws <- do.call(cbind, lapply(mixture$parts, `[[`, "draws"))
  class(mixture) <- c("pred_sample", class(mixture))
  mixture
}
