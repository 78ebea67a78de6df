# Neighbours by correlation, for user-defined covariances. neighbour_coordinates() defines distances with one scale for
# each coordinate, but a user-defined formula may have different scales or directions at each point.

# The function search() of ordered_sets(): selects neighbours among ordered points by the correlation at theta. If there
# are at most `max_points` points, all earlier points are candidates for the neighbours of a point. For more points, the
# candidates are the nearest earlier points, four times as many as neighbours.
correlated_search <- function(search, model, theta, points, max_points = 2000) {
  if (!has_formula_leaf(model)) return(search)
  force(search)
  n <- nrow(points)
  rank <- ranked_by_correlation(model, theta)
  function(m, of = NULL) {
    if (m < 1) return(search(m, of))
    candidates <- search(as.integer(min(if (n <= max_points) n else 4 * m, n - 1)), of)
    rank(candidates, points[of %||% seq_len(n), , drop = FALSE], points, m)
  }
}

has_formula_leaf <- function(model) !all_leaves(model$covariance, function(leaf) !leaf$kernel$by_formula)

# Returns f(query, u, m), which selects neighbours of the points u by the correlation at theta. The candidates are
# results of nearest(query, m), the search in a tree of the points.
correlated_nearest <- function(nearest, model, theta, points, max_points = 2000) {
  if (!has_formula_leaf(model)) return(function(query, u, m) nearest(query, m))
  rank <- ranked_by_correlation(model, theta)
  n <- nrow(points)
  function(query, u, m) {
    if (m >= n) return(nearest(query, m))
    rank(nearest(query, as.integer(if (n <= max_points) n else min(4 * m, n))), u, points, m)
  }
}

# Returns f(candidates, targets, points, m). Each target has a column of candidates, which are indices of `points`, or 0
# for no candidate. f selects the m candidates with the largest absolute correlation with the target, and sorts these m
# candidates by absolute correlation. Candidates with equal correlations keep their order.
ranked_by_correlation <- function(model, theta, width = 1e6) {
  pairs <- covariance_pairs(model)
  variance <- covariance_diagonal(model)
  theta <- unname(theta)
  function(candidates, targets, points, m) {
    sd <- sqrt(as.vector(variance(list(theta = theta, x = points))))
    count <- nrow(candidates)
    m <- min(m, count)
    chosen <- matrix(0L, m, ncol(candidates))
    each <- max(1, floor(width / max(1, count)))
    for (first in seq(1, by = each, length.out = ceiling(ncol(candidates) / each))) {
      columns <- first:min(ncol(candidates), first + each - 1)
      near <- as.vector(candidates[, columns])
      row <- rep(columns, each = count)
      some <- which(near > 0)
      k <- pairs(list(theta = theta, x = targets[row[some], , drop = FALSE], y = points[near[some], , drop = FALSE]))
      correlation <- rep(-1, length(near))
      correlation[some] <- abs(as.vector(k)) / sd[near[some]]
      ordered <- near[order(row, -correlation)]
      chosen[, columns] <- matrix(ordered, count)[seq_len(m), ]
    }
    chosen
  }
}
