# Approximations C C' of K that are computed from a few columns of K, and the factors of preconditioners that use such
# an approximation. An approximation is a list of `columns`, the n x k block C, and `left`, the trace of K - C C'.

# Pivoted Cholesky decomposition: the next pivot is the point where the diagonal of K - C C' is largest. If there are
# many points, the pivots are chosen among `candidates`, which are evenly spread over the rows, and K is projected on
# the columns of the pivots.
pivoted_cholesky <- function(system, diagonal, rank, tol = 1e-10, candidates = max(10 * rank, 5000)) {
  if (!is.null(system$subset) && system$n > 2 * candidates) {
    candidates <- round(seq(1, system$n, length.out = candidates))
    chosen <- pivots(system$subset(candidates), diagonal[candidates], rank, tol)$pivots
    return(nystrom(system, diagonal, candidates[chosen]))
  }
  pivots(system, diagonal, rank, tol)
}

# The pivoted Cholesky decomposition with all points as candidates. The result also has the chosen `pivots`.
pivots <- function(system, diagonal, rank, tol) {
  if (!is.null(system$pivoted) && rank <= 4096) return(system$pivoted(diagonal, rank, tol))
  space <- system$space
  columns <- space$new(system$n, rank)
  remainder <- diagonal
  pivots <- integer()
  for (step in seq_len(rank)) {
    if (sum(remainder) <= tol * sum(diagonal)) break
    pivot <- which.max(remainder)
    column <- system$columns(pivot)
    if (step > 1) {
      at_pivot <- as.matrix(columns[pivot, , drop = FALSE])[seq_len(step - 1)]
      column <- space$axpby(-1, space$combine(columns, matrix(at_pivot)), 1, column)
    }
    column <- space$axpby(0, column, 1 / sqrt(remainder[pivot]), column)
    columns <- space$put(columns, step, column)
    remainder <- replace(pmax(remainder - as.vector(as.matrix(column))^2, 0), pivot, 0)
    pivots[[step]] <- pivot
  }
  list(columns = columns[, seq_along(pivots), drop = FALSE], left = sum(remainder), pivots = pivots)
}

# The columns of K for the points `chosen`, times the inverse of the Cholesky factor of the block of K for these points.
# A shift of the diagonal by about the rounding error keeps the block positive definite.
nystrom <- function(system, diagonal, chosen) {
  space <- system$space
  columns <- system$columns(chosen)
  jitter <- 4 * .Machine$double.eps * length(chosen) * sum(diagonal[chosen])
  columns <- space$whiten(columns, columns[chosen, , drop = FALSE], jitter)
  list(columns = columns, left = max(sum(diagonal) - sum(space$dots(columns, columns)), 0))
}

# Let P = C C' + D with D = diag(shift). Returns the n x k matrix Q and the upper triangular matrix R with P^-1 = D^-1 -
# Q Q' and C = D Q R. Q (up to a scaling of rows) and R are the factors of the QR decomposition of (D^-1/2 C; I). A
# second pass of the decomposition makes the factors accurate if `trace`, the trace of C C', is much larger than D. C is
# overwritten.
woodbury_factor <- function(space, columns, shift, trace) {
  scaled <- if (length(shift) == 1) \(x) space$axpby(0, x, 1 / sqrt(shift), x) else
    \(x) space$scale_rows(on_space(1 / sqrt(shift), space), x)
  factor <- space$orthogonal(scaled(columns), passes = if (trace < 1e8 * min(shift)) 1 else 2)
  list(Q = scaled(factor$Q), R = factor$R)
}

# The counterpart of pivots() on the GPU, which copies no data to the host between columns. The operator `numbered`
# computes K times a vector from `input`.
pivoted_on_gpu <- function(numbered, input, diagonal, rank, tol) {
  made <- gpu_pivoted_cholesky(live(numbered), input[environment(numbered)$about$variables$name], diagonal, rank)
  taken <- which(made$left <= tol * made$left[[1]])[1] - 1
  if (is.na(taken)) taken <- rank
  list(columns = if (taken < rank) made$columns[, seq_len(taken)] else made$columns, left = made$left[[taken + 1]],
       pivots = made$pivots[seq_len(taken)])
}
