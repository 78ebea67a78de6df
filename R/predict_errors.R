# Draws of errors given the observations: the errors of the coefficients of effects, and of the values of the field at
# its places, which are the distinct locations. In each draw, the coefficients come before the field. The errors have
# the distribution N(0, (P + A' D A)^-1): P is the precision of coefficients and field, A maps coefficients and field to
# the observations, and D has the weights of the observations without the nugget (latent_system()).
#
# For positive D, a draw is the product of (P + A' D A)^-1 and the sum of independent draws from N(0, P) and N(0, A' D
# A). If some weights are negative, `system` also has positive weights that are close to the weights in D. A draw for
# the positive weights, with covariance S, is then corrected. Let B be the rows of A with reduced weights, d the
# differences between the positive weights and the true weights of these rows, T T' = (I - d^1/2 B S B' d^1/2)^-1, and e
# standard normal. The correction adds S B' d^1/2 T e to the draw.

posterior_errors <- function(system, nsim) {
  errors <- system$mean(system$positive, normal_sums(system, nsim))
  if (has_negative_weights(system)) errors + errors_of_lower_weights(system, nsim) else errors
}

has_negative_weights <- function(system) any(system$weight < system$positive)

# Draws from N(0, P + A' D A) for the positive weights.
normal_sums <- function(system, nsim) {
  normal <- function(n) normal_numbers(n, nsim)
  share <- system$share(system$positive)
  factor <- c(system$factor, list(neighbours = system$sets$neighbours))
  of_places <- function() sparse_multiply(factor, normal(nrow(system$sets$points)), transposed = TRUE)
  count <- system$sets$observed$count
  if (is.null(count)) return(of_places() + sqrt(as.vector(system$gather(share))) * normal(nrow(system$sets$points)))
  rbind(normal(count), of_places()) + system$gather(sqrt(share) * normal(length(share)))
}

errors_of_lower_weights <- function(system, nsim) {
  lack <- system$share(system$positive) - system$share(system$weight)
  rows <- which(lack > 0)
  root <- sqrt(lack[rows])
  solved <- function(x) {
    whole <- matrix(0, length(lack), ncol(x))
    whole[rows, ] <- root * x
    system$mean(system$positive, system$gather(whole))
  }
  product <- function(x) x - root * system$spread(solved(x))[rows, , drop = FALSE]
  solved(inverse_root(product, normal_numbers(length(rows), nsim)))
}

# M^-1/2 x, by the method of Lanczos with full reorthogonalisation, in groups of `width` columns of x. M is symmetric
# with eigenvalues in (0, 1], and product(x) returns M x.
inverse_root <- function(product, x, width = 64) {
  for (columns in split(seq_len(ncol(x)), (seq_len(ncol(x)) - 1) %/% width)) {
    x[, columns] <- inverse_root_of(product, x[, columns, drop = FALSE])
  }
  x
}

inverse_root_of <- function(product, x, tol = 1e-10, maxit = 200) {
  along <- rep(list(numeric()), ncol(x))
  run <- krylov_basis(function(x, ...) product(x), x, function(run) {
    before <- along
    along <<- lapply(seq_len(ncol(x)), function(k) corner_of_root(run$matrix(k)))
    mapply(function(x, y) sum((x - c(y, numeric(length(x) - length(y))))^2), along, before) < tol^2
  }, maxit)
  matrix(vapply(seq_len(ncol(x)), function(k) run$size[[k]] * run$basis(k) %*% along[[k]], numeric(nrow(x))), nrow(x))
}

# The first column of M^-1/2 for a symmetric tridiagonal matrix M.
corner_of_root <- function(M) {
  e <- eigen(M, symmetric = TRUE)
  as.vector(e$vectors %*% (e$vectors[1, ] / sqrt(pmax(e$values, 1e-12))))
}

# Returns the function correct() of base points (predict_base.R) for observations with negative weights: the result of
# solve() for the positive weights, plus draws of the errors.
solved_with_errors <- function(object, system) function(values) {
  off <- normal_numbers(ncol(object$data$x), ncol(values))
  errors <- errors_of_lower_weights(system, ncol(values))
  if (nrow(off)) {
    off <- backsolve(object$state$root, off)
    errors <- errors - system$trend() %*% off
  }
  list(beta = -off, values = smoothed(system, values, system$positive) - errors)
}
