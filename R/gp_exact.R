# Exact likelihood by a Cholesky factor of the covariance matrix, in memory that is reused.

# evaluate(theta) gives, for the covariance at theta plus the noise,
#   value     -2 log-likelihood, Inf where the matrix is not positive definite (then `bad` is the row that shows it)
#   gradient, information  functions to be called in this order before the next evaluate(): the gradient of the value
#   wrt theta, and its average information (gp_iterative.R), `profiled` as the value is or not
# and what prediction needs. With `profile` the value is the least over all common factors of the covariance, `scale`.
exact_likelihood <- function(data, model, reml, backend = "cpu", call = caller_env()) {
  factor <- covariance_factor(data, model, backend, call)
  derivatives_of <- derivative_products(model)
  own_variance <- covariance_diagonal(model)
  list(factor = factor$matrix, evaluate = function(theta, profile = FALSE, search = FALSE) {
    bad <- factor$refill(theta)
    # a search must not end where rounding decides: the scaled parameters might have no Cholesky factor
    if (bad == 0 && search) {
      variance <- as.vector(own_variance(list(theta = theta, x = data$u))) + noise_variance(data, model, theta)
      bad <- nearly_singular(factor, variance)
    }
    if (bad > 0) return(list(value = Inf, bad = bad))
    state <- exact_state(factor, data, reml, profile)
    state$gradient <- function() exact_gradient(factor, state, data, model, theta, reml)
    state$information <- function(profiled = profile) {
      derivatives <- noisy_derivatives(derivatives_of, state, data, model, theta)
      average_information(derivatives, state, factor$inverse_times, profiled, if (reml) ncol(data$x) else 0)
    }
    state
  })
}

# The Cholesky factor L of the covariance of the observations, where that is fastest (src/gp_factor.cpp). A list of
#   matrix                     where it is kept
#   refill(theta, noise)       L at theta: 0, or the row of the first pivot that is not positive
#   diagonal()                 of L
#   solve(b, transposed)       L^-1 b, or L^-T b
#   diagonal_of_inverse()      of K^-1
#   slope(theta, left, right)  sum_ij W_ij dK_ij with W = K^-1 - left right'. It overwrites L by K^-1:
#   inverse_diagonal(), inverse_times(b)
#   rounding                   of its entries, in machine epsilons
covariance_factor <- function(data, model, backend, call = caller_env()) {
  n <- length(data$y)
  k <- or_too_large(factor_new(n, factor_device(n, backend, first_device())), n, call)
  x <- block_copy(data$u, block_device(k))
  values <- covariance_matrix(model)
  stored <- covariance_derivatives(model)
  weighted <- covariance_weighted(model, 128L)
  list(
    matrix = k,
    refill = function(theta, noise = noise_variance(data, model, theta)) {
      or_too_large(covariance_fill(k, live(values), theta, x, isa(), threads()), n, call)
      or_too_large(factor_matrix(k, noise, isa(), threads()), n, call)
    },
    diagonal = function() factor_diagonal(k),
    solve = function(b, transposed = FALSE) factor_solve(k, b, transposed),
    slope = function(theta, left, right) {
      or_too_large(factor_invert(k, isa(), threads()), n, call)
      or_too_large(factor_weighted_derivatives(k, live(stored), live(weighted), theta, x, left, right, isa(),
                                               threads()), n, call)
    },
    inverse_diagonal = function() factor_inverse_diagonal(k),
    diagonal_of_inverse = function() factor_diagonal_of_inverse(k, isa(), threads()),
    inverse_times = function(b) factor_inverse_times(k, as.matrix(b)),
    rounding = factor_rounding(k)
  )
}

live <- function(op) environment(op)$live_kernel()

or_too_large <- function(code, n, call) {
  tryCatch(code, kernops_memory_error = function(e) {
    gib <- round(8 * n^2 / 2^30, 1)
    stop_kernops("memory", c("The covariance matrix of {n} observations, {gib} GiB, is too large for the memory.",
                             x = "{conditionMessage(e)}", i = "{.code method = \"iterative\"} does not store it."),
                 call = call)
  })
}

# The factor of a fit. A factor on a GPU is lost at the end of the session: it is computed again.
factor_of <- function(object) {
  if (!is_gpu_matrix(object$factor) || !is_null_pointer(object$factor)) return(object$factor)
  factor <- covariance_factor(object$data, object$model, usable_backend(object$how$backend))
  factor$refill(object$theta)
  factor$matrix
}

# The backend of a fit, which may have been made on a machine with a GPU.
usable_backend <- function(backend) {
  if (backend != "cuda" || !nzchar(problem <- cuda_problem(first_device()))) return(backend)
  cli::cli_inform(c(i = "This fit was made on a GPU, which cannot be used here ({problem}): the CPU is used instead."),
                  class = "kernops_no_gpu")
  "cpu"
}

# What the data explain at points u: of the variance k' K^-1 k, and of the trend k' K^-1 X. Columns of k beyond the
# points are zero.
explained_by_factor <- function(object, factor) {
  values <- covariance_matrix(object$model)
  device <- block_device(factor)
  x <- block_copy(object$data$u, device)
  weights <- object$state$z %*% object$state$root
  if (ncol(weights)) weights <- block_copy(weights, device)
  function(u) {
    points <- seq_len(nrow(u))
    k <- covariance_block(factor, live(values), unname(object$theta), x, unname(u), isa(), threads())
    trend <- if (ncol(weights)) block_inner(k, weights, isa(), threads())[points, , drop = FALSE]
    k <- factor_apply_inverse(factor, k, FALSE, isa(), threads())
    list(variance = block_dots(k, k)[points], trend = trend)
  }
}

# The row of the smallest pivot, if the correlation matrix is singular to rounding; else 0. This depends on the smallest
# eigenvalue, for which pivots are a poor estimate if points are ordered along a line. Three steps of inverse iteration
# from that row, alternately by L^-T and L^-1, approximate it.
nearly_singular <- function(factor, variance) {
  least <- which.min(factor$diagonal()^2 / variance)
  n <- length(variance)
  sd <- sqrt(variance)
  v <- replace(numeric(n), least, 1)
  for (transposed in c(TRUE, FALSE, TRUE)) {
    v <- if (transposed) sd * factor$solve(v, TRUE) else factor$solve(sd * v)
    growth <- sum(v^2)
    v <- v / sqrt(growth)
  }
  if (growth * factor$rounding * n * .Machine$double.eps > 1) least else 0L
}

# dK alpha, a column for each parameter.
noisy_derivatives <- function(derivatives_of, state, data, model, theta) {
  derivatives <- derivatives_of(list(theta = unname(theta), x = data$u, y = data$u, b = state$alpha))
  with_nugget(derivatives, state$alpha, data, model)
}

with_nugget <- function(derivatives, b, data, model) {
  if (length(model$nugget)) derivatives[, model$nugget] <- b / data$weights
  derivatives
}

# Of each observation: the nugget over its weight, and what is known.
noise_variance <- function(data, model, theta) {
  data$noise + (if (length(model$nugget)) theta[[model$nugget]] else 0) / data$weights
}

factor_solve <- function(factor, b, transposed = FALSE) {
  factor_apply_inverse(factor, numbers_of(b), transposed, isa(), threads())
}

# Generalised least squares in the coordinates of the factor: everything is a projection there.
exact_state <- function(factor, data, reml, profile) {
  n <- length(data$y)
  p <- ncol(data$x)
  whitened <- factor$solve(cbind(data$y, unname(data$x)))
  trend <- qr(whitened[, -1, drop = FALSE], LAPACK = FALSE)
  residual <- if (p) qr.resid(trend, whitened[, 1]) else whitened[, 1]
  q <- if (p) qr.Q(trend) else matrix(0, n, 0)
  back <- factor$solve(cbind(residual, q), transposed = TRUE)
  likelihood_state(
    n = n, p = p, logdet = 2 * sum(log(factor$diagonal())), quadratic = sum(residual^2),
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

# sum_ij W_ij dK_ij with W = P - alpha alpha' / scale.
exact_gradient <- function(factor, state, data, model, theta, reml) {
  left <- cbind(state$alpha / state$scale, if (reml) state$z)
  right <- cbind(state$alpha, if (reml) state$z)
  total <- factor$slope(unname(theta), left, right)
  if (length(model$nugget)) {
    weights <- factor$inverse_diagonal() - rowSums(left * right)
    total[[model$nugget]] <- sum(weights / data$weights)
  }
  total
}
