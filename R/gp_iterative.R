# The likelihood without the covariance matrix: preconditioned conjugate gradients for the response, the trend and
# random probes at once.
#
# For the search, the probes are independent signs, which estimate traces best: there is a gradient, and no value, but
# a function that estimates it. Else they go with the preconditioner, and stochastic Lanczos quadrature has the
# log-determinant from them (lanczos.R). The same probes serve all parameters, so that the search sees a smooth
# function.
iterative_likelihood <- function(data, model, how) {
  control <- how$control
  product <- covariance_product(model, 1L, how$precision, how$backend)
  gradient_of <- remembered(function(width) covariance_gradient(model, width, how$precision, how$backend))
  slopes_of <- covariance_slopes(model, how$precision, how$backend)
  p <- ncol(data$x)
  trend <- trend_basis(data)
  chosen <- 1 + p + seq_len(control$probes)
  points <- resident_points(product, data$u)
  search_probes <- NULL
  latest <- NULL  # where a search compares last, the fit is made
  estimate <- function(theta) {
    if (!identical(latest$theta, unname(theta))) latest <<- list(theta = unname(theta), state = evaluate(theta))
    latest$state
  }
  evaluate <- function(theta, profile = FALSE, search = FALSE) {
    system <- iterative_system(product, data, model, theta, points)
    precond <- iterative_preconditioner(system, control)
    probes <- if (search) search_probes <<- search_probes %||% probe_vectors(system, NULL, control$probes, control$seed)
    else if (control$probes > 0) probe_vectors(system, precond, control$probes, control$seed)
    b <- beside(system$space, cbind(trend$rest, trend$q), probes$probes)
    fit <- tryCatch(
      if (search) solve_system(system, b, precond, max(control$cg_tol, control$search_tol), check = 0)
      else solve_system(system, b, precond, control$cg_tol, check = rows_to_check(control$cg_tol, system$n)),
      kernops_input_error = identity
    )
    if (inherits(fit, "error")) return(list(value = Inf, bad = 1L))
    solution <- as.matrix(fit$solution[, seq_len(1 + p), drop = FALSE])
    logdet <- if (search || is.null(probes)) list(logdet = NA_real_) else
      lanczos_logdet(system, fit, probes, precond, chosen)
    state <- iterative_state(solution, trend, data, logdet$logdet, how$reml, profile)
    state <- c(state, list(logdet_error = logdet$std_error, converged = fit$converged, residual = max(fit$residual),
                           iterations = fit$iterations))
    if (!search) return(state)
    state$estimate <- estimate
    state$gradient <- function() {
      solved <- fit$solution[, chosen, drop = FALSE]
      iterative_gradient(state, solved, probes$probes, data, model, unname(theta), points, gradient_of, how$reml,
                         system$space)
    }
    state$information <- function(profiled = profile) {
      slopes <- noisy_slopes(slopes_of, state, data, model, theta)
      solve <- function(b) as.matrix(solve_system(system, system$space$copy(b), precond, control$cg_tol)$solution)
      average_information(slopes, state, solve, profiled, if (how$reml) p else 0)
    }
    state
  }
  list(evaluate = function(theta, profile = FALSE, search = FALSE) {
    if (search || profile) evaluate(theta, profile, search) else estimate(theta)
  })
}

# Where some per cent of a residual do not matter, a sample of the rows is enough.
rows_to_check <- function(tol, n) if (tol < 1e-3) n else min(n, 1e4)

# The coordinates, for a whole fit: on the GPU, where that is where products with the covariance are taken.
resident_points <- function(product, u) {
  if (!solved_on_gpu(product, list(x = u, y = u))) return(u)
  gpu_matrix(u, "float64", environment(product)$device[[1]])
}

# A block of the columns of `numbers`, of the host, and those of `block`, if there is one.
beside <- function(space, numbers, block) {
  if (is.null(block)) return(space$copy(numbers))
  p <- ncol(numbers)
  all <- space$put(space$new(nrow(block), p + ncol(block)), seq_len(p), space$copy(numbers))
  space$put(all, p + seq_len(ncol(block)), block)
}

iterative_system <- function(product, data, model, theta, points = data$u) {
  noise <- noise_variance(data, model, theta)
  if (all(noise == noise[[1]])) noise <- noise[[1]]
  kernel_system(product, "b", list(theta = theta, x = points, y = points), noise)
}

iterative_preconditioner <- function(system, control) {
  rank <- control$rank %||% default_rank(system, control)
  if (rank > 0) system_preconditioner(system, "pivoted_cholesky", rank)
}

# Iterations grow as the root of n over the rank, and the preconditioner costs as much as some iterations: as many are
# not there to be saved where no probes are solved for, and to a loose tolerance.
default_rank <- function(system, control) {
  most <- if (system$space$output == "host" || has_solver()) 2000 else 200
  few <- control$probes == 0 && control$cg_tol >= 1e-3
  max(100, min(most, round((if (few) 4 / 3 else 2) * sqrt(system$n))))
}

# X = Q R with orthonormal columns of Q, and y = Q along + rest. Conjugate gradients stop relative to each right-hand
# side: beside a northing of 5.6e6, or a large mean, that would be early for what varies.
trend_basis <- function(data) {
  p <- ncol(data$x)
  x <- if (p) qr(unname(data$x))
  q <- if (p) qr.Q(x) else matrix(0, length(data$y), 0)
  along <- as.vector(crossprod(q, data$y))
  list(q = q, r = if (p) qr.R(x) else matrix(0, 0, 0), along = along, rest = data$y - as.vector(q %*% along))
}

# Generalised least squares from K^-1 (rest, Q).
iterative_state <- function(solved, trend, data, logdet, reml, profile) {
  p <- ncol(trend$q)
  alpha <- solved[, 1]
  rest <- trend$rest
  beta <- numeric()
  root <- trend$r
  z <- matrix(0, length(alpha), 0)
  if (p) {
    inverse_q <- solved[, -1, drop = FALSE]
    information <- crossprod(trend$q, inverse_q)
    own <- chol((information + t(information)) / 2)
    step <- backsolve(own, backsolve(own, crossprod(inverse_q, rest), transpose = TRUE))
    alpha <- alpha - as.vector(inverse_q %*% step)
    rest <- rest - as.vector(trend$q %*% step)
    z <- inverse_q %*% backsolve(own, diag(p))
    beta <- as.vector(backsolve(root, trend$along + step))
    root <- own %*% root # R' Q' K^-1 Q R = X' K^-1 X
  }
  likelihood_state(length(alpha), p, logdet, sum(alpha * rest), beta, root, alpha, z, data$logdet_xx, reml, profile)
}

# The trace of K^-1 dK is the mean over probes of (K^-1 z)' dK z; the rest is as in exact_gradient().
iterative_gradient <- function(state, solved, probes, data, model, theta, points, gradient_of, reml, space) {
  left <- beside(space, cbind(-state$alpha / state$scale, if (reml) -state$z),
                 space$axpby(0, solved, 1 / ncol(solved), space$copy(solved)))
  right <- beside(space, cbind(state$alpha, if (reml) state$z), probes)
  input <- list(theta = theta, x = points, y = points, w = left, e = right, eta = rep(1, nrow(data$u)))
  total <- as.vector(gradient_of(ncol(left))(input))
  if (length(model$nugget)) {
    weights <- if (any(data$weights != 1)) space$copy(1 / data$weights) else 1
    total[[model$nugget]] <- sum(space$dots(space$add_rows(weights, left, zeros_like(space, left)), right))
  }
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
    factor <- factor_of(object)
    return(function(b) factor_solve(factor, factor_solve(factor, b), transposed = TRUE))
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
