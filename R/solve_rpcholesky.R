# Accelerated randomly pivoted Cholesky decomposition (Epperly, Tropp and Webber 2025): pivots are drawn with
# probabilities in proportion to the diagonal of K - C C'. Several pivots are proposed at once from the current
# diagonal, so that columns are computed and projected in blocks. Some proposals are rejected, so that the accepted
# pivots have the same distribution as pivots that are drawn one after another.

# The decomposition, in the form of a result of pivots(). `seed` is the seed of the random numbers.
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
      remainder[rows] <- pmax(diag(residual), 0) # removes the rounding errors of earlier subtractions
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

# The columns of K - C C' with the indices `rows`, where C has `count` columns.
residual_columns <- function(system, columns, count, rows) {
  new <- system$columns(rows)
  if (!count) return(new)
  space <- system$space
  known <- as.matrix(columns[rows, , drop = FALSE])[, seq_len(count), drop = FALSE]
  space$axpby(-1, space$combine(columns, t(known)), 1, new)
}

# Accepts at most `max_count` proposals in their order. A proposal is accepted with the probability left / start, where
# `start` is its diagonal entry in K - C C' and `left` is the part of this entry that remains after the accepted
# proposals. `residual` is the matrix of K - C C' at the proposals, `root` the upper triangular factor of the matrix at
# the accepted proposals.
accepted_pivots <- function(residual, max_count) {
  start <- diag(residual)
  root <- matrix(0, nrow(residual), nrow(residual))
  accepted <- integer()
  for (k in seq_len(nrow(residual))) {
    left <- residual[k, k]
    # a proposal that the accepted proposals determine up to rounding is rejected, because its column would consist of
    # rounding errors
    if (length(accepted) == max_count || stats::runif(1) * start[[k]] >= left || left <= 1e-12 * start[[k]]) next
    accepted <- c(accepted, k)
    row <- residual[k, ] / sqrt(left)
    root[length(accepted), ] <- row
    residual <- residual - tcrossprod(row)
  }
  list(pivots = accepted, root = root[seq_along(accepted), accepted, drop = FALSE])
}
