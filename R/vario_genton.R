# Genton's variogram: the scale estimator Qn of Rousseeuw and Croux, applied to the differences of the pairs in each
# class.

genton_classes <- function(u, values, breaks, direction) {
  bytes <- 64 * nrow(u)^2 / 2
  check_memory(bytes)
  pairs <- variogram_cloud(u, values, max(breaks), direction, seq_len(nrow(u)))
  class <- findInterval(pairs$dist, breaks, left.open = TRUE)
  gaps <- (values[pairs$left, 1] - values[pairs$right, 1]) * ascending(u, pairs$left, pairs$right)
  rows <- split(seq_along(class), factor(class, seq_len(length(breaks) - 1)))
  np <- lengths(rows, use.names = FALSE)
  all <- data.frame(np = as.numeric(np), dist = vapply(rows, function(members) mean(pairs$dist[members]), 0),
                    gamma = vapply(rows, function(members) qn_scale(gaps[members])^2 / 2, 0), dir.hor = direction$angle,
                    dir.ver = direction$dip, id = "", lower = breaks[-length(breaks)], upper = breaks[-1],
                    row.names = NULL)
  all[np > 1, ]
}

# The sign of a difference: 1 if the first coordinate that differs is larger at the left point than at the right point,
# otherwise -1.
ascending <- function(u, left, right) {
  sign <- rep(1, length(left))
  for (k in rev(seq_len(ncol(u)))) {
    step <- sign(u[left, k] - u[right, k])
    sign <- ifelse(step == 0, sign, step)
  }
  sign
}

# The estimator Qn of n numbers: the distance of rank h (h - 1) / 2, with h = n / 2 + 1, among the distances of all
# pairs of numbers, times two factors. The first factor makes the estimator consistent for the standard deviation of a
# normal distribution; the second makes it nearly unbiased for small n.
qn_scale <- function(x) {
  n <- length(x)
  if (n < 2) return(NA_real_)
  h <- n %/% 2 + 1
  small <- c(0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872)
  factor <- if (n <= 9) small[[n - 1]] else n / (n + if (n %% 2 == 1) 1.4 else 3.8)
  factor * ranked_distance(sort(x), h * (h - 1) / 2) / (sqrt(2) * stats::qnorm(5 / 8))
}

# The k-th smallest distance between two of the sorted numbers x. In the bisection, findInterval() counts how many
# distances are at most t.
ranked_distance <- function(x, k) {
  ranks <- seq_along(x)
  within <- function(t) sum(as.numeric(findInterval(x + t, x) - ranks))
  low <- 0
  high <- x[[length(x)]] - x[[1]]
  if (within(0) >= k) return(0)
  while (high - low > 4 * .Machine$double.eps * high) {
    middle <- low + (high - low) / 2
    if (within(middle) >= k) high <- middle else low <- middle
  }
  high
}
