# Accelerated randomly pivoted Cholesky decomposition (Epperly, Tropp and Webber 2025): pivots are drawn with
# probabilities in proportion to the diagonal of K - C C'. Several pivots are proposed at once from the present
# diagonal; rejection gives the accepted pivots the distribution of pivots that are drawn one after another. Columns are
# thus computed and projected in blocks.

# Like pivots(), with random numbers from `seed`.
rpcholesky <- function(system, diagonal, rank, tol = 1e-10, seed = 1, block = max(10L, ceiling(rank / 10))) {
  with_seed(seed, {
    space <- system$space
    columns <- space$new(system$n, rank)
    remainder <- diagonal
    pivots <- integer()
    while (length(pivots) < rank && sum(remainder) > tol * sum(diagonal)) {
      proposed <- sample.int(system$n, block, replace = TRUE, prob = remainder)
      rows <- unique(proposed)
      place <- match(proposed, rows)
      new <- residual_columns(system, columns, length(pivots), rows)
      residual <- as.matrix(new[rows, , drop = FALSE])
      remainder[rows] <- pmax(diag(residual), 0) # rounding may leave less than the sum of squares implies
      accepted <- accepted_pivots(residual[place, place, drop = FALSE], rank - length(pivots))
      chosen <- place[accepted$pivots]
      if (!length(chosen)) next
      new <- space$combine(new[, chosen, drop = FALSE], backsolve(accepted$root, diag(length(chosen))))
      columns <- space$put(columns, length(pivots) + seq_along(chosen), new)
      pivots <- c(pivots, proposed[accepted$pivots])
      remainder <- replace(pmax(remainder - rowSums(as.matrix(new)^2), 0), pivots, 0)
    }
    list(columns = columns[, seq_along(pivots), drop = FALSE], left = sum(remainder), pivots = pivots)
  })
}

# The columns `rows` of K - C C', where C has `count` columns.
residual_columns <- function(system, columns, count, rows) {
  new <- system$columns(rows)
  if (!count) return(new)
  space <- system$space
  known <- as.matrix(columns[rows, , drop = FALSE])[, seq_len(count), drop = FALSE]
  space$axpby(-1, space$combine(columns, t(known)), 1, new)
}

# Accepts at most `max_count` proposals in their order. The probability of a proposal is the share of its diagonal that
# the accepted proposals before it leave. `residual` is the matrix of K - C C' at the proposals, `root` the upper
# triangular factor of the matrix at the accepted proposals.
accepted_pivots <- function(residual, max_count) {
  start <- diag(residual)
  root <- matrix(0, nrow(residual), nrow(residual))
  accepted <- integer()
  for (k in seq_len(nrow(residual))) {
    left <- residual[k, k]
    # if accepted proposals determine a proposal up to rounding, its column would be rounding error
    if (length(accepted) == max_count || stats::runif(1) * start[[k]] >= left || left <= 1e-12 * start[[k]]) next
    accepted <- c(accepted, k)
    row <- residual[k, ] / sqrt(left)
    root[length(accepted), ] <- row
    residual <- residual - tcrossprod(row)
  }
  list(pivots = accepted, root = root[seq_along(accepted), accepted, drop = FALSE])
}
