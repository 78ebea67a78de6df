# Inducing points of a VIF approximation, and the factors of the low-rank part.

# As many points of the maximum-minimum distance ordering from its beginning, in the coordinates in which distances
# measure correlations: they cover the observations evenly, extremes included. On the borehole function they left less
# of the log-likelihood than cluster centres (k-means++) or points of a randomly pivoted Cholesky decomposition.
vif_sets <- function(sets, rank) {
  first <- if (sets$ordering == "maxmin") seq_len(rank) else vecchia_order(sets$near, "maxmin")[seq_len(rank)]
  sets$inducing <- sets$points[first, , drop = FALSE]
  sets
}

# So much larger are the variances of the inducing points: relative to rounding errors, k(Z, Z) has a factor. The
# residual process contains the difference.
inducing_jitter <- 1e-12

# `root`, the upper triangular factor of k(Z, Z), and factors(u), the columns v(u); NULL where it is singular.
low_rank_factors <- function(values, theta, inducing) {
  k <- values(list(theta = unname(theta), x = inducing, y = inducing))
  diag(k) <- diag(k) * (1 + inducing_jitter)
  root <- if (all(is.finite(k))) tryCatch(chol(k), error = function(e) NULL)
  if (is.null(root)) return(NULL)
  list(root = root, factors = function(u) {
    backsolve(root, values(list(theta = unname(theta), x = inducing, y = u)), transpose = TRUE)
  })
}
