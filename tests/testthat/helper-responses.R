# Simulated responses at sites in the unit square: a field plus noise.
responses_at <- function(sites, count, share = 0.6, range = 0.2) {
  distance <- as.matrix(dist(sites))
  field <- t(chol(exp(-distance / range) + diag(1e-10, nrow(sites))))
  values <- sqrt(share) * field %*% matrix(rnorm(nrow(sites) * count), nrow(sites)) +
    sqrt(1 - share) * rnorm(nrow(sites) * count)
  colnames(values) <- paste0("y", seq_len(count))
  values
}

some_responses <- function(n = 80, count = 4) {
  set.seed(3)
  sites <- data.frame(a = runif(n), b = runif(n))
  list(sites = sites, x = sites$a^2, Y = responses_at(sites, count) + 2 * sites$a^2)
}

# The Gaussian log-density of y with mean X beta; beta is estimated by generalised least squares if it is NULL.
dense_loglik <- function(y, X, K, beta = NULL) {
  inverse <- solve(K)
  if (is.null(beta)) beta <- solve(t(X) %*% inverse %*% X, t(X) %*% inverse %*% y)
  r <- y - X %*% beta
  -0.5 * (length(y) * log(2 * pi) + as.numeric(determinant(K)$modulus) + sum(r * (inverse %*% r)))
}

# Vecchia's log-density in plain R: the sum of the conditional log-densities of the observations.
vecchia_loglik <- function(y, X, K, graph, beta) {
  y <- (y - X %*% beta)[graph$order]
  K <- K[graph$order, graph$order]
  total <- 0
  for (i in seq_along(y)) {
    near <- stats::na.omit(graph$neighbours[, i])
    weights <- if (length(near)) solve(K[near, near, drop = FALSE], K[near, i]) else numeric()
    variance <- K[i, i] - sum(weights * K[near, i])
    total <- total + dnorm(y[[i]], sum(weights * y[near]), sqrt(variance), log = TRUE)
  }
  total
}

# The fit of gp() to a single response. `row` contains the parameters: the row of this response in as.data.frame() of a
# fit of many responses.
single_fit <- function(y, row, formula, sites, kernel, ..., neighbours = 10) {
  covariance <- kernel(row[[3]], row[[4]]) + nugget(row$nugget.variance)
  gp(formula, cbind(sites, y = y), ~ a + b, covariance, "vecchia", "none", neighbours = neighbours, ...)
}

# The fit of gp() to a single response, with estimated parameters.
estimated_fit <- function(y, formula, sites, ...) {
  # suppresses warnings about ranges of weak fields
  suppressWarnings(gp(formula, cbind(sites, y = y), ~ a + b, exponential() + nugget(), "vecchia", neighbours = 10,
                      gain = 1e-9, ...))
}

# The matrix U with U K U' = I for the conditional densities of Vecchia's approximation. The rows and columns of U are
# in the order of the observations, not in the ordering of the graph.
vecchia_root <- function(K, graph) {
  n <- nrow(K)
  U <- matrix(0, n, n)
  for (i in seq_len(n)) {
    of <- graph$order[[i]]
    near <- graph$order[stats::na.omit(graph$neighbours[, i])]
    weights <- if (length(near)) solve(K[near, near, drop = FALSE], K[near, of]) else numeric()
    U[i, c(near, of)] <- c(-weights, 1) / sqrt(K[of, of] - sum(weights * K[near, of]))
  }
  U
}
