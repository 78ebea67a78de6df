# Inducing points of a VIF approximation, and the factors of the low-rank part.

# The inducing points are the first points of the maximum-minimum distance ordering, in coordinates whose distances
# reflect correlations. These points cover the observations evenly, including the extremes. On the borehole function,
# these points lost less of the log-likelihood than cluster centres (k-means++) or points of a randomly pivoted Cholesky
# decomposition.
vif_sets <- function(sets, model, rank) {
  first <- if (sets$ordering == "maxmin") seq_len(rank) else vecchia_order(sets$near, "maxmin")[seq_len(rank)]
  sets$inducing <- sets$points[first, , drop = FALSE]
  sets$jitter <- if (length(model$nugget) || all(sets$noise > 0)) 1e-12 else 1e-8
  sets
}

# Computes the lower triangular factor L of k(Z, Z). Returns a list of two functions, or NULL if k(Z, Z) is singular:
# solve(b, transposed) returns L^-1 b or L'^-1 b, and factors(u) returns the columns v(u). The diagonal of k(Z, Z) is
# multiplied by 1 + `jitter`, so that the matrix has a factor in spite of rounding. The residual process includes this
# added variance. For an observation without noise at an inducing point, the added variance is the whole conditional
# variance, so the conditional variance has more correct digits if the jitter is larger.
low_rank_factors <- function(values, theta, sets) {
  theta <- unname(theta)
  inducing <- sets$inducing
  across <- function(u) values(list(theta = theta, x = inducing, y = u))
  factor <- dense_factor(nrow(inducing))
  if (factor$fill(values, theta, inducing, sets$jitter * diag(across(inducing))) > 0) return(NULL)
  list(solve = factor$solve, factors = function(u) factor$solve(across(u)))
}
