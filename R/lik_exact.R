# The exact likelihood, computed from a Cholesky factor of the covariance matrix. All evaluations use the same memory.

# `before` is the factor of the first observations, if all evaluations use the parameters of this factor; otherwise
# NULL.
exact_likelihood <- function(data, model, reml, backend = "cpu", call = caller_env(), before = NULL) {
  locations <- covariance_factor(data, model, backend, call, before)
  factor <- with_factor_within(locations, data, model)
  all_rows <- with_rows_within(data)
  derivatives_of <- derivative_products(model)
  evaluate <- function(theta, profile = FALSE, search = FALSE) {
    bad <- factor$refill(theta)
    # a search must not end at a nearly singular matrix: after the variances are multiplied by the profiled scale,
    # rounding errors might leave this matrix without a Cholesky factor
    if (bad == 0 && search) {
      bad <- nearly_singular(locations, locations$variance(theta) + noise_variance(data, model, theta))
    }
    if (bad > 0) return(singular_state(bad))
    results <- timed("trend", factor_results(factor, all_rows, reml, profile))
    new_state(
      results_at_locations(results, length(data$y)),
      gradient = function() exact_gradient(factor, results, all_rows, model, theta, reml),
      information = function(profiled = profile) {
        derivatives <- noisy_derivatives(derivatives_of, results, all_rows, model, theta)
        lost <- if (reml) ncol(data$x) else 0
        average_information(derivatives, results, factor$inverse_times, profiled, results$n - lost)
      }
    )
  }
  new_likelihood(evaluate, dense = TRUE, kept_factor = function() keep_in(new_cell(), locations$blocks))
}

# The Cholesky factor L of the covariance K of the observations, on the device where it is computed fastest
# (src/gp_factor.cpp). If blocks of observations (data$block) are uncorrelated, each block has a factor.
# covariance_factor() returns a list of
#   blocks                     a list of the rows of each block and its matrix
#   refill(theta, noise)       computes L at theta and returns 0, or the row of the first pivot that is not positive
#   variance(theta)            the variance of the field, at the theta of the last call of refill()
#   diagonal()                 the diagonal of L
#   solve(b, transposed)       L^-1 b, or L^-T b
#   diagonal_of_inverse()      the diagonal of K^-1
#   slope(theta, left, right)  sum_ij W_ij dK_ij with W = K^-1 - left right'. slope() overwrites L by K^-1, and the
#                              following two functions use K^-1:
#   inverse_diagonal(), inverse_times(b)
#   spare_logdet()             the part of the log-determinant that L does not contain, and its `slope`, the derivative
#                              with respect to the nugget
#   rounding                   the rounding error of the entries of L, in machine epsilons
covariance_factor <- function(data, model, backend, call = caller_env(), before = NULL) {
  n <- length(data$y)
  guarded <- function(code) or_too_large(code, n, call)
  blocks <- lapply(unname(split(seq_len(n), data$block %||% rep(1L, n))), function(rows) {
    k <- guarded(if (is.null(data$nodes)) dense_factor(length(rows), backend) else averages_factor(n, data$nodes))
    list(rows = rows, k = k, x = k$hold(data$u[rows, , drop = FALSE]))
  })
  values <- covariance_matrix(model)
  point_variance <- covariance_diagonal(model)
  operators <- list(stored = covariance_derivatives(model), weighted = covariance_weighted(model, 128L))
  list(
    blocks = lapply(blocks, `[`, c("rows", "k")),
    refill = function(theta, noise = noise_variance(data, model, theta)) {
      for (block in blocks) {
        bad <- guarded(block$k$fill(values, theta, block$x, noise[block$rows], before))
        if (bad > 0) return(block$rows[[bad]])
      }
      0
    },
    variance = function(theta) {
      if (is.null(data$nodes)) as.vector(point_variance(list(theta = theta, x = data$u))) else blocks[[1]]$k$variance()
    },
    diagonal = function() by_block(blocks, function(k, rows) k$diagonal()),
    solve = function(b, transposed = FALSE) factor_solve(blocks, b, transposed),
    slope = function(theta, left, right) {
      Reduce(`+`, lapply(blocks, function(block) {
        in_block <- function(weights) weights[block$rows, , drop = FALSE]
        guarded(block$k$slope(operators, theta, block$x, in_block(left), in_block(right)))
      }))
    },
    inverse_diagonal = function() by_block(blocks, function(k, rows) k$inverse_diagonal()),
    diagonal_of_inverse = function() diagonal_of_inverse(blocks),
    inverse_times = function(b) by_block(blocks, function(k, rows) k$inverse_times(rows_of(b, rows))),
    spare_logdet = function() list(value = 0, slope = 0),
    rounding = blocks[[1]]$k$rounding
  )
}

# Binds the results of f(matrix, rows) of all blocks into one matrix with the rows of all observations.
by_block <- function(blocks, f) {
  parts <- lapply(blocks, function(block) f(block$k, block$rows))
  if (length(parts) == 1) return(parts[[1]])
  position <- order(unlist(lapply(blocks, `[[`, "rows")))
  if (is.matrix(parts[[1]])) do.call(rbind, parts)[position, , drop = FALSE] else unlist(parts)[position]
}

rows_of <- function(b, rows) {
  if (length(rows) == NROW(b)) b else as.matrix(b)[rows, , drop = FALSE]
}

factor_solve <- function(blocks, b, transposed = FALSE) {
  by_block(blocks, function(k, rows) k$solve(rows_of(b, rows), transposed))
}

diagonal_of_inverse <- function(blocks) by_block(blocks, function(k, rows) k$diagonal_of_inverse())

or_too_large <- function(code, n, call) {
  tryCatch(code, kernops_memory_error = function(e) {
    gib <- round(8 * n^2 / 2^30, 1)
    stop_kernops("memory", c("The covariance matrix of {n} observations, {gib} GiB, is too large for the memory.",
                             x = "{conditionMessage(e)}", i = "{.code method = \"iterative\"} does not store it."),
                 call = call)
  })
}

# TRUE if the fit has a cell (a cache) for a dense factor.
has_factor <- function(object) is.environment(object$factor)

# The dense factor of a fit, as a list of blocks.
factor_of <- function(object) kept_in(object$factor, function() {
  factor <- covariance_factor(object$data, object$model, usable_backend(object$how$backend))
  factor$refill(object$theta)
  factor$blocks
})

# Returns a function f(u) that computes which parts of the variance and of the trend at points u the data explain: k'
# K^-1 k and k' K^-1 X, where k are the covariances of the observations with u.
explained_by_factor <- function(object, factor) {
  less <- object$state$less
  weights <- object$state$z %*% object$state$root
  explained <- explained_by_blocks(object, factor, cbind(weights, less))
  if (!length(less)) return(explained)
  function(u) {
    both <- explained(u)
    trend <- seq_len(ncol(weights))
    list(variance = both$variance - rowSums(both$trend[, -trend, drop = FALSE]^2),
         trend = both$trend[, trend, drop = FALSE])
  }
}

explained_by_blocks <- function(object, factor, weights) {
  values <- covariance_matrix(object$model)
  theta <- unname(object$theta)
  explained_by <- lapply(factor, function(block) {
    x <- block$k$hold(object$data$u[block$rows, , drop = FALSE])
    z <- weights[block$rows, , drop = FALSE]
    if (ncol(z)) z <- block$k$hold(z)
    function(u) block$k$explain(values, theta, x, unname(u), z)
  })
  if (length(factor) == 1) return(explained_by[[1]])
  function(u) {
    variance <- numeric(nrow(u))
    trend <- matrix(0, nrow(u), ncol(weights))
    for (n in seq_along(factor)) {
      rows <- seen_from(object, factor[[n]]$rows, u)
      if (!length(rows)) next
      part <- explained_by[[n]](u[rows, , drop = FALSE])
      variance[rows] <- variance[rows] + part$variance
      if (ncol(trend)) trend[rows, ] <- trend[rows, ] + part$trend
    }
    list(variance = variance, trend = trend)
  }
}

# The row of the smallest pivot if the correlation matrix is singular up to rounding, otherwise 0. The criterion is the
# smallest eigenvalue, because pivots are poor estimates of this eigenvalue if points are ordered along a line. Three
# steps of inverse iteration, alternately by L^-T and L^-1, approximate the eigenvalue; the first step starts from the
# row of the smallest pivot.
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

# The products dK alpha, with a column for each parameter. Rows that follow the rows of the locations (lik_replicates.R)
# contain only noise and no field.
noisy_derivatives <- function(derivatives_of, state, data, model, theta) {
  locations <- seq_len(nrow(data$u))
  u <- seen_points(data)
  derivatives <- by_observation(derivatives_of(list(theta = unname(theta), x = u, y = u,
                                                    b = at_nodes(state$alpha[locations], data$nodes))), data$nodes)
  others <- length(state$alpha) - length(locations)
  if (others > 0) derivatives <- rbind(derivatives, matrix(0, others, ncol(derivatives)))
  with_nugget(derivatives, state$alpha, data, model)
}

with_nugget <- function(derivatives, b, data, model) {
  if (length(model$nugget)) derivatives[, model$nugget] <- b / data$weights
  derivatives
}

# The noise variance of each observation: the nugget divided by the weight, plus the known noise.
noise_variance <- function(data, model, theta) {
  data$noise + (if (length(model$nugget)) theta[[model$nugget]] else 0) / data$weights
}

# Generalised least squares, computed by ordinary least squares with the whitened response and the whitened trend.
factor_results <- function(factor, data, reml, profile) {
  rows <- length(data$y)
  p <- ncol(data$x)
  response <- without_level(data)
  whitened <- factor$solve(cbind(response$y, unname(data$x)))
  trend <- qr(whitened[, -1, drop = FALSE], LAPACK = FALSE)
  residual <- if (p) qr.resid(trend, whitened[, 1]) else whitened[, 1]
  q <- if (p) qr.Q(trend) else matrix(0, rows, 0)
  back <- factor$solve(cbind(residual, q), transposed = TRUE)
  likelihood_results(
    n = length(data$location %||% data$y), p = p,
    logdet = 2 * sum(log(factor$diagonal())) + factor$spare_logdet()$value, quadratic = sum(residual^2),
    beta = if (p) qr.coef(trend, whitened[, 1]) + response$beta else numeric(),
    root = if (p) qr.R(trend) else matrix(0, 0, 0),
    alpha = back[, 1], z = back[, -1, drop = FALSE], logdet_xx = data$logdet_xx, reml = reml, profile = profile
  )
}

# The results for predictions, restricted to the n rows of locations; rows that follow them (lik_replicates.R) are
# omitted.
results_at_locations <- function(results, n) {
  results$alpha <- results$alpha[seq_len(n)]
  results$z <- results$z[seq_len(n), , drop = FALSE]
  results
}

# -2 log-likelihood, computed from its parts. REML follows Harville (1974): the error contrasts have unit length.
likelihood_results <- function(n, p, logdet, quadratic, beta, root, alpha, z, logdet_xx, reml, profile) {
  degrees <- n - if (reml) p else 0
  scale <- if (profile) max(quadratic / degrees, .Machine$double.xmin) else 1
  value <- degrees * log(2 * pi * scale) + logdet + quadratic / scale
  if (reml && p) value <- value + 2 * sum(log(abs(diag(root)))) - logdet_xx
  list(value = value, scale = scale, beta = beta, root = root, alpha = alpha, z = z, logdet = logdet,
       quadratic = quadratic, n = n)
}

# sum_ij W_ij dK_ij with W = P - alpha alpha' / scale.
exact_gradient <- function(factor, state, data, model, theta, reml) {
  left <- cbind(state$alpha / state$scale, if (reml) state$z)
  right <- cbind(state$alpha, if (reml) state$z)
  total <- factor$slope(unname(theta), left, right)
  if (length(model$nugget)) {
    weights <- factor$inverse_diagonal() - rowSums(left * right)
    total[[model$nugget]] <- sum(weights / data$weights) + factor$spare_logdet()$slope
  }
  total
}
