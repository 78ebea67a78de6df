# The derivatives of the likelihood of a VIF approximation, by reverse-mode differentiation of each step of its
# computation.

# The derivatives of -2 log-likelihood. The steps, from the last to the first, are the inner products of whitened
# columns, the weights and standard deviations of sets, the factors V, and the covariances of the inducing points.
vif_gradient <- function(problem, sets, theta, vif, sums, results) {
  white <- vif$white
  data_columns <- seq_len(ncol(sets$values))
  dense <- seq_len(nrow(white))
  by_gram <- gram_adjoint(sums, results, problem$reml)
  beside <- slopes_beside_vif(vif, by_gram)
  slopes <- vif$rows$combine(2 * by_gram[dense, dense], white) + beside$slopes
  u <- vif$rows
  sd <- rep(u$sd, each = nrow(u$weights))
  # derivatives through z = (y - weights' y_n) / sd, where y_n are the values at the neighbours, and through the term 2
  # log(sd) of the log-determinant
  by_weights <- -u$products(slopes, rbind(t(sets$values), vif$factors)) / sd + beside$weights
  by_log_sd <- 2 - vif$rows$dots(slopes, white) + beside$log_sd
  direct <- u$adjoint(by_weights, by_log_sd)
  by_point <- by_log_sd / (2 * u$sd^2)
  by_neighbours <- direct$solved - u$weights * rep(by_point, each = nrow(u$weights))
  by_factors <- u$by_factors(slopes[-data_columns, , drop = FALSE], by_point, by_neighbours)
  field <- problem$field$rows
  gradient <- gradient_of_effects(problem$effects, theta, by_gram, length(dense))
  gradient[field] <- gradient[field] + direct$gradient +
    low_rank_gradient(problem$operators$derivatives, theta[field], sets, vif, by_factors)
  gradient
}

# The derivatives of log det S, and of the products that sums_without() computes, with respect to the inner products of
# all whitened columns.
gram_adjoint <- function(sums, results, reml) adjoint_of_products(sums, adjoint_of_known(results, reml))

adjoint_of_known <- function(results, reml) {
  by_known <- tcrossprod(results$contrast) / results$scale
  if (reml && !is.null(results$inverse)) by_known[-1, -1] <- by_known[-1, -1] + results$inverse
  by_known
}

adjoint_of_products <- function(sums, by_known) {
  back <- rbind(diag(nrow(by_known)), -sums$along)
  low <- -seq_len(nrow(by_known))
  adjoint <- back %*% by_known %*% t(back)
  adjoint[low, low] <- adjoint[low, low] + chol2inv(sums$root)
  adjoint
}

# The part of the derivatives with respect to theta that is due to the change of V = L^-1 k(Z, X), computed from the
# derivatives with respect to V. The likelihood depends only on V'V, so the derivatives may use any root L of k(Z, Z).
# With a symmetric change of the root, dV = L^-1 dk(Z, X) - L^-1 dk(Z, Z) L'^-1 V / 2.
low_rank_gradient <- function(derivatives, theta, sets, vif, by_factors) {
  solve <- function(b) vif$low$solve(b, transposed = TRUE)
  across <- solve(by_factors)
  within <- solve(t(solve(vif$rows$outer(by_factors, vif$factors))))
  within <- -(within + t(within)) / 4
  diag(within) <- diag(within) * (1 + sets$jitter)
  weighted_derivatives(derivatives, theta, sets$inducing, sets$points, across) +
    weighted_derivatives(derivatives, theta, sets$inducing, sets$inducing, within)
}

# Computes sum_ij w_ij dk(x_i, y_j) / dtheta in groups of columns of w.
weighted_derivatives <- function(derivatives, theta, x, y, w, max_entries = 2e6) {
  theta <- unname(theta)
  width <- max(1, floor(max_entries / (nrow(x) * length(theta))))
  total <- numeric(length(theta))
  for (first in seq(1, nrow(y), by = width)) {
    columns <- first:min(nrow(y), first + width - 1)
    slopes <- derivatives(list(theta = theta, x = x, y = y[columns, , drop = FALSE]))
    total <- total + as.vector(crossprod(matrix(slopes, ncol = length(theta)), as.vector(w[, columns])))
  }
  total
}

# The function information(profiled) for new_state(): the average information. Finite differences give the products of
# vectors with the derivatives of the covariance, and are computed once.
vif_information <- function(problem, sets, theta, vif, sums, results, profile) {
  parts <- once(function() {
    state <- vif_residual(vif, sets, sums, results)
    list(state = state, derivatives = vif_derivatives(problem, sets, theta, vif, state$alpha))
  })
  function(profiled = profile) {
    average_information(parts()$derivatives, parts()$state, function(x) vif_solve(vif, sums$root, x), profiled,
                        results$degrees)
  }
}

# For the covariance K of the approximation, `alpha` = K^-1 (y - X beta), and `z` = K^-1 X R^-1 with R' R = X' K^-1 X.
vif_residual <- function(vif, sets, sums, results) {
  trend <- sets$values[, -1, drop = FALSE]
  solved <- vif_solve(vif, sums$root, cbind(sets$values %*% results$contrast, trend))
  z <- solved[, -1, drop = FALSE]
  if (ncol(z)) z <- t(backsolve(chol(sums$gram[-1, -1, drop = FALSE]), t(z), transpose = TRUE))
  list(alpha = solved[, 1], z = z, scale = results$scale)
}

# For each parameter, the product dK x, where dK is the derivative of the covariance matrix K with respect to the
# parameter, and x is a vector. The result has one column for each parameter.
vif_derivatives <- function(problem, sets, theta, vif, x) {
  before <- vif_times(vif, x)
  step <- 1e-4 * ifelse(theta == 0, 1, abs(theta))
  derivatives <- changes_of_effects(problem$effects, theta, vif$entries, x)
  for (p in problem$field$rows) {
    moved <- vif_factor(replace(problem, "effects", list(NULL)), sets, replace(theta, p, theta[[p]] + step[[p]]))
    if (!is.null(moved$bad)) next
    derivatives[, p] <- derivatives[, p] + as.vector(vif_times(moved, x) - before) / step[[p]]
  }
  derivatives
}

# The product of the approximate covariance, without effects, and x.
vif_times <- function(vif, x) {
  u <- vif$rows
  rest <- sparse_multiply(u, sparse_multiply(u, x, inverse = TRUE, transposed = TRUE), inverse = TRUE)
  crossprod(vif$factors, vif$factors %*% x) + rest
}

whitened_factors <- function(vif) {
  rank <- nrow(vif$factors)
  vif$white[nrow(vif$white) - rank + seq_len(rank), , drop = FALSE]
}

# The product of the inverse of the approximate covariance and x. `low_root` is the upper triangular root of S.
vif_solve <- function(vif, low_root, x) {
  x <- sparse_multiply(vif$rows, x)
  low <- backsolve(low_root, backsolve(low_root, low_products(vif, x), transpose = TRUE))
  sparse_multiply(vif$rows, x - low_values(vif, low), transposed = TRUE)
}
