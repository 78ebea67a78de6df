# The likelihood without the covariance matrix: preconditioned conjugate gradients for the response, the trend and
# random probes at once, from which stochastic Lanczos quadrature has the log-determinant (lanczos.R). The same
# probes serve all parameters, so that the search sees a smooth function.

iterative_likelihood <- function(data, model, how) {
  product <- covariance_product(model, 1L, how$precision, how$backend)
  p <- ncol(data$x)
  columns <- 1L + p + how$control$probes
  gradient_of <- remembered(function(width) covariance_gradient(model, width, how$precision, how$backend))
  diagonal_slope <- keops_grad(covariance_diagonal(model), "theta")
  slopes_of <- covariance_slopes(model, how$precision, how$backend)
  list(evaluate = function(theta, profile = FALSE) {
    system <- iterative_system(product, data, model, theta)
    precond <- iterative_preconditioner(system, how$control)
    probes <- probe_vectors(system, precond, how$control$probes, how$control$seed)
    known <- cbind(data$y, unname(data$x))
    b <- system$space$new(system$n, columns)
    b <- system$space$put(b, seq_len(1 + p), system$space$copy(known))
    b <- system$space$put(b, 1 + p + seq_len(how$control$probes), probes$probes)
    fit <- tryCatch(solve_system(system, b, precond, how$control$cg_tol), kernops_input_error = identity)
    if (inherits(fit, "error")) return(list(value = Inf, bad = 1L))
    solution <- as.matrix(fit$solution)
    logdet <- lanczos_logdet(system, fit, probes, precond, 1 + p + seq_len(how$control$probes))
    state <- iterative_state(solution[, seq_len(1 + p), drop = FALSE], data, logdet$logdet, how$reml, profile)
    state$logdet_error <- logdet$std_error
    state$converged <- fit$converged
    state$residual <- max(fit$residual)
    state$iterations <- fit$iterations
    state$gradient <- function() {
      solved <- solution[, 1 + p + seq_len(how$control$probes), drop = FALSE]
      parts <- gradient_parts(state, solved, as.matrix(probes$weights), precond, how$reml)
      iterative_gradient(parts, data, model, unname(theta), gradient_of, diagonal_slope)
    }
    state$information <- function() {
      slopes <- noisy_slopes(slopes_of, state, data, model, theta)
      solve <- function(b) as.matrix(solve_system(system, system$space$copy(b), precond, how$control$cg_tol)$solution)
      average_information(slopes, state, solve, profile, if (how$reml) p else 0)
    }
    state
  })
}

iterative_system <- function(product, data, model, theta) {
  noise <- noise_variance(data, model, theta)
  if (all(noise == noise[[1]])) noise <- noise[[1]]
  kernel_system(product, "b", list(theta = theta, x = data$u, y = data$u), noise)
}

iterative_preconditioner <- function(system, control) {
  if (control$rank > 0) system_preconditioner(system, "pivoted_cholesky", control$rank)
}

# Generalised least squares from K^-1 (y, X).
iterative_state <- function(solved, data, logdet, reml, profile) {
  p <- ncol(data$x)
  alpha <- solved[, 1]
  beta <- numeric()
  root <- matrix(0, 0, 0)
  z <- matrix(0, length(alpha), 0)
  if (p) {
    inverse_x <- solved[, -1, drop = FALSE]
    information <- crossprod(data$x, inverse_x)
    root <- chol((information + t(information)) / 2)
    beta <- as.vector(backsolve(root, backsolve(root, crossprod(inverse_x, data$y), transpose = TRUE)))
    alpha <- alpha - as.vector(inverse_x %*% beta)
    z <- t(backsolve(root, t(inverse_x), transpose = TRUE))
  }
  quadratic <- sum(alpha * (data$y - if (p) as.vector(data$x %*% beta) else 0))
  likelihood_state(length(alpha), p, logdet, quadratic, beta, root, alpha, z, data$logdet_xx, reml, profile)
}

# The gradient is the sum of left' dK right over columns, and of dK_ii times `diagonal`. With a preconditioner P, whose
# inverse is diagonal - Q Q', the trace of K^-1 dK is that of P^-1 dK, which is exact, and the mean over probes of
# ((K^-1 - P^-1) z)' dK (P^-1 z), which is small.
gradient_parts <- function(state, solved, weights, precond, reml) {
  known <- if (is.null(precond)) 0 else weights
  q <- if (!is.null(precond)) as.matrix(precond$Q)
  list(left = cbind((solved - known) / ncol(solved), if (!is.null(q)) -q, -state$alpha / state$scale,
                    if (reml) -state$z),
       right = cbind(weights, q, state$alpha, if (reml) state$z),
       diagonal = if (is.null(precond)) 0 else 1 / precond$shift)
}

iterative_gradient <- function(parts, data, model, theta, gradient_of, diagonal_slope) {
  n <- nrow(data$u)
  input <- list(theta = theta, x = data$u, y = data$u, w = parts$left, e = parts$right, eta = rep(1, n))
  diagonal <- rep_len(parts$diagonal, n)
  total <- as.vector(gradient_of(ncol(parts$left))(input)) +
    as.vector(diagonal_slope(list(theta = theta, x = data$u, eta = diagonal)))
  if (length(model$nugget)) total[[model$nugget]] <- sum((rowSums(parts$left * parts$right) + diagonal) / data$weights)
  total
}

# Half the sum of the observed and the expected second derivatives of -2 log-likelihood (Gilmour et al. 1995), from
# the columns dK alpha; where the scale is profiled out, what is left of them.
average_information <- function(slopes, state, solve, profile, lost) {
  solved <- solve(slopes)
  across <- crossprod(state$z, slopes)
  information <- (crossprod(slopes, solved) - crossprod(across)) / state$scale
  if (profile) {
    along <- crossprod(slopes, state$alpha) / state$scale
    information <- information - tcrossprod(along) / (nrow(slopes) - lost)
  }
  (information + t(information)) / 2
}

# b -> K^-1 b at the parameters of a fit, to a relative residual of `tol`.
solver_for <- function(object, tol = object$how$control$cg_tol) {
  if (object$method == "exact") {
    return(function(b) factor_solve(object$factor, factor_solve(object$factor, b), transposed = TRUE))
  }
  product <- covariance_product(object$model, 1L, object$how$precision, object$how$backend)
  system <- iterative_system(product, object$data, object$model, object$theta)
  precond <- iterative_preconditioner(system, object$how$control)
  function(b) {
    fit <- solve_system(system, system$space$copy(b), precond, tol)
    warn_unless_solved(fit, tol)
    as.matrix(fit$solution)
  }
}

warn_unless_solved <- function(fit, tol) {
  if (all(fit$converged)) return(invisible())
  cli::cli_warn(c("Conjugate gradients did not converge in {fit$iterations} iteration{?s}.",
                  x = "Relative residual {signif(max(fit$residual), 3)}, wanted {tol}.",
                  i = "A nugget, a larger {.arg rank} or {.arg cg_tol} of {.fn gp_control} may help."),
                class = "kernops_not_converged")
}

# Columns solved together: what fits some 32 MB, and no more than the engine is fastest with.
solve_width <- function(n) max(1L, min(64L, as.integer(4e6 / n)))
