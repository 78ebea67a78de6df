# Exact likelihood by a Cholesky factor of the covariance matrix, in memory that is used again and again.

# evaluate(theta) gives, for the covariance at theta plus the noise,
#   value     -2 log-likelihood, Inf where the matrix is not positive definite (then `bad` is the row that shows it)
#   gradient, information  functions without arguments, to be called in this order before the next evaluate(): the
#   gradient of the value wrt theta, and its average information (gp_iterative.R)
# and what prediction needs. With `profile` the value is the least over all common factors of the covariance, `scale`.
exact_likelihood <- function(data, model, reml) {
  n <- length(data$y)
  product <- covariance_product(model, block_width)
  gradient_of <- covariance_gradient(model, block_width)
  k <- matrix(0, n, n)
  slopes_of <- covariance_slopes(model)
  list(factor = k, evaluate = function(theta, profile = FALSE, search = FALSE) {
    if (!fill_covariance(k, product, data, model, theta)) return(list(value = Inf, bad = 1L))
    bad <- dense_factor(k, kernops_option("isa", ""), threads())
    if (bad > 0) return(list(value = Inf, bad = bad))
    state <- exact_state(k, data, reml, profile)
    state$gradient <- function() exact_gradient(k, state, data, model, theta, gradient_of, reml)
    state$information <- function() {
      slopes <- noisy_slopes(slopes_of, state, data, model, theta)
      average_information(slopes, state, function(b) dense_symmetric_product(k, b), profile,
                          if (reml) ncol(data$x) else 0)
    }
    state
  })
}

# dK alpha, a column for each parameter.
noisy_slopes <- function(slopes_of, state, data, model, theta) {
  slopes <- slopes_of(list(theta = unname(theta), x = data$u, y = data$u, b = state$alpha))
  if (length(model$nugget)) slopes[, model$nugget] <- state$alpha / data$weights
  slopes
}

# The lower triangle of the covariance of the observations.
fill_covariance <- function(k, product, data, model, theta) {
  n <- nrow(data$u)
  for_blocks(n, function(first, last) covariance_block(product, theta, data$u, data$u, first, last, first, k))
  dense_add_diagonal(k, noise_variance(data, model, theta))
  all(is.finite(dense_diagonal(k)))
}

# Of each observation: the nugget over its weight, and what is known.
noise_variance <- function(data, model, theta) {
  data$noise + (if (length(model$nugget)) theta[[model$nugget]] else 0) / data$weights
}

factor_solve <- function(factor, b, transposed = FALSE) {
  dense_solve(factor, transposed, as.matrix(b), kernops_option("isa", ""), threads())
}

# Generalised least squares in the coordinates of the factor: everything is a projection there.
exact_state <- function(k, data, reml, profile) {
  n <- length(data$y)
  p <- ncol(data$x)
  whitened <- factor_solve(k, cbind(data$y, data$x))
  trend <- qr(whitened[, -1, drop = FALSE], LAPACK = FALSE)
  residual <- if (p) qr.resid(trend, whitened[, 1]) else whitened[, 1]
  q <- if (p) qr.Q(trend) else matrix(0, n, 0)
  back <- factor_solve(k, cbind(residual, q), transposed = TRUE)
  likelihood_state(
    n = n, p = p, logdet = 2 * sum(log(dense_diagonal(k))), quadratic = sum(residual^2),
    beta = if (p) qr.coef(trend, whitened[, 1]) else numeric(), root = if (p) qr.R(trend) else matrix(0, 0, 0),
    alpha = back[, 1], z = back[, -1, drop = FALSE], logdet_xx = data$logdet_xx, reml = reml, profile = profile
  )
}

# -2 log-likelihood from its parts. REML is that of Harville (1974): error contrasts of unit length.
likelihood_state <- function(n, p, logdet, quadratic, beta, root, alpha, z, logdet_xx, reml, profile) {
  degrees <- n - if (reml) p else 0
  scale <- if (profile) max(quadratic / degrees, .Machine$double.xmin) else 1
  value <- degrees * log(2 * pi * scale) + logdet + quadratic / scale
  if (reml && p) value <- value + 2 * sum(log(abs(diag(root)))) - logdet_xx
  list(value = value, scale = scale, beta = beta, root = root, alpha = alpha, z = z, logdet = logdet,
       quadratic = quadratic)
}

# sum_ij W_ij dK_ij with W = P - alpha alpha' / scale, block by block of columns of the lower triangle.
exact_gradient <- function(k, state, data, model, theta, gradient_of, reml) {
  dense_inverse(k, kernops_option("isa", ""), threads())
  n <- nrow(data$u)
  left <- cbind(state$alpha / state$scale, if (reml) state$z)
  right <- cbind(state$alpha, if (reml) state$z)
  total <- numeric(length(theta))
  for_blocks(n, function(first, last) {
    weights <- dense_weights(k, left, right, first, last, block_width)
    total <<- total + as.vector(gradient_of(list(
      theta = unname(theta), x = data$u[first:n, , drop = FALSE], y = data$u[first:last, , drop = FALSE], w = weights,
      e = identity_block[seq_len(last - first + 1), , drop = FALSE], eta = rep(1, n - first + 1)
    )))
  })
  if (length(model$nugget)) {
    weights <- dense_diagonal(k) - rowSums(left * right)
    total[[model$nugget]] <- sum(weights / data$weights)
  }
  total
}
