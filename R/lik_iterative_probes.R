# Random vectors that estimate traces in the gradient of the iterative likelihood.

# The probes of a search: their number, the relative residual of their systems, and the vectors, which are drawn once
# for all parameters. basis() returns smooth columns; the part of a trace in the space of these columns is computed
# exactly.
search_probes <- function(control, n, basis) {
  count <- control$probes
  tol <- search_residual(control, n)
  vectors <- NULL
  list(
    count = function() count, tol = function() tol,
    vectors = function(space) vectors <<- vectors %||% deflated_probes(count, control$seed, basis(), space),
    draw = function(number) {
      count <<- number
      vectors <<- NULL
    },
    # divides the tolerance of the residuals by 10, or returns FALSE if the tolerance is already small enough
    sharpen = function() {
      if (tol <= max(control$cg_tol, 1e-5)) return(FALSE)
      tol <<- max(tol / 10, control$cg_tol)
      TRUE
    }
  )
}

# The gradient, computed from the solutions of the systems whose right-hand sides are the basis and the probes.
probed_gradient <- function(results, solved_basis, solved_probes, probes, theta, parts, space) {
  reml <- parts$how$reml
  random <- space$axpby(0, solved_probes, 1 / ncol(probes$signs), space$copy(solved_probes))
  left <- beside(space, cbind(-results$alpha / results$scale, if (reml) -results$z, solved_basis), random)
  right <- beside(space, cbind(results$alpha, if (reml) results$z, probes$basis), probes$block)
  iterative_gradient(left, right, unname(theta), parts, space)
}

# The covariance matrix of the gradient over draws of the probes.
probe_noise <- function(solved, probes, theta, parts) {
  count <- ncol(probes$signs)
  input <- list(theta = theta, x = parts$points, y = parts$points, b = probes$block)
  derivatives <- array(parts$all_derivatives_of(count)(input), c(nrow(solved), length(theta), count))
  traces <- vapply(seq_len(count), function(k) {
    of_probe <- matrix(derivatives[, , k], nrow(solved))
    colSums(with_nugget(of_probe, probes$signs[, k], parts$data, parts$model) * solved[, k])
  }, numeric(length(theta)))
  stats::cov(t(matrix(traces, length(theta)))) / count
}

# Orthonormal columns that span the trend and polynomials of the coordinates; the columns of the trend come first.
# Compared with linear polynomials, quadratic polynomials reduce the variance due to the probes by a factor of 17, and
# cubic polynomials by a factor of 70, for the derivative along a ridge in three dimensions.
deflation_basis <- function(q, u) {
  u <- u - rep(colMeans(u), each = nrow(u))
  u <- u / rep(pmax(apply(abs(u), 2, max), .Machine$double.xmin), each = nrow(u))
  degree <- if (ncol(u) <= 2) 3 else if (ncol(u) == 3) 2 else 1
  smooth <- cbind(1, if (degree > 1) stats::poly(u, degree = degree, raw = TRUE) else u)
  rest <- smooth - q %*% crossprod(q, smooth)
  left <- sqrt(colSums(rest^2)) > 1e-6 * sqrt(colSums(smooth^2))
  decomposed <- qr(rest[, left, drop = FALSE])
  cbind(q, qr.Q(decomposed)[, seq_len(decomposed$rank), drop = FALSE])
}

# A list of `signs`, random signs minus their projection on the basis, on the host; `block`, a copy of the signs as a
# block of `space`, which may be on the device; and the `basis`.
deflated_probes <- function(count, seed, basis, space) {
  signs <- with_seed(seed, random_signs(nrow(basis), count))
  signs <- signs - basis %*% crossprod(basis, signs)
  list(signs = signs, block = space$copy(signs), basis = basis)
}

# The tolerance of the systems whose right-hand sides are probes, in a search. The residuals of these systems change the
# gradient in proportion to the number of observations, but the curvature of the likelihood along a ridge does not
# increase with the number of observations. Therefore the tolerance is smaller for more observations.
search_residual <- function(control, n, usual = 1e4) {
  max(control$cg_tol, min(1, sqrt(usual / n)) * control$search_tol)
}

# The error of the log-determinant is proportional to the square of the probes' residuals and to the number of
# observations.
probe_residual <- function(control, n) max(control$cg_tol, min(1e-3, 0.1 / sqrt(n)))
