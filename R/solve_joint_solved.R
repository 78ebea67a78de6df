# Joint distributions of new points if the base points have a posterior with a precision H that has no sparse factor, as
# for families with thousands of scattered levels. Only solutions of systems with H are available. The posterior is a
# list of `base`, the number of base points; solve(b), which returns H^-1 b for columns b; and half(b), which returns
# columns whose inner products are b' H^-1 b.
#
# If the identity matrix replaces the factor of H, the parts of a sum (joint_sums_of() in solve_joint.R) are the weights
# b of the base points and the weights e of the independent errors of new points in the sum. The covariances of sums are
# b' H^-1 b + e' e.

is_solved <- function(posterior) is.list(posterior)

# The counterpart of joint_sums() for such a posterior. Without `parts`, sums are computed in groups of `width` sums.
solved_sums <- function(sets, positions, weights, parts = FALSE, width = 64) {
  posterior <- sets$posterior
  unit <- unit_posterior(posterior$base)
  sets$posterior <- unit$held
  base <- seq_len(posterior$base)
  split_parts <- function(columns) {
    terms <- list(points = positions[, columns, drop = FALSE], weights = weights[, columns, drop = FALSE])
    both <- joint_sums(sets, terms, TRUE, threads())
    list(base = both[unit$rows, , drop = FALSE], new = both[-base, , drop = FALSE])
  }
  if (parts) {
    b <- split_parts(seq_len(ncol(positions)))
    return(rbind(posterior$half(b$base), b$new))
  }
  some <- split(seq_len(ncol(positions)), (seq_len(ncol(positions)) - 1) %/% width)
  as.numeric(unlist(lapply(unname(some), function(columns) {
    b <- split_parts(columns)
    colSums(b$base * posterior$solve(b$base)) + colSums(b$new^2)
  })))
}

# A posterior in which the precision of `n` base points is the identity matrix, and `rows`, the row of each base point
# in the parts of a sum.
unit_posterior <- function(n) {
  pattern <- sparse_pattern(matrix(0L, 0, n))
  unit <- sparse_posterior(pattern, list(weights = matrix(0, 0, n), sd = rep(1, n)))
  unit$logdet(numeric(n))
  number <- unit$parts(list(neighbours = cbind(seq_len(n)), weights = cbind(as.numeric(seq_len(n)))))
  list(held = unit$held(), rows = order(as.vector(number)))
}
