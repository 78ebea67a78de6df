# The likelihood without the covariance matrix: preconditioned conjugate gradients for the response, the trend and
# random probes at once.
#
# evaluate(theta, profile, search) solves with probes drawn for the preconditioner, from which stochastic Lanczos
# quadrature computes the log-determinant (lanczos.R); for a search, see search_state(). The same probes are used for
# all parameters, so that the objective of a search is smooth; `draw_probes` of a state draws others, and `sharpen` goes
# to smaller residuals. use_precision() continues in another one.
# long: closures that share what is kept from one likelihood to the next
iterative_likelihood <- function(data, model, how) {
  control <- how$control
  product <- parts <- NULL
  p <- ncol(data$x)
  trend <- trend_basis(data)
  delayedAssign("basis", deflation_basis(trend$q, data$u)) # of searches alone
  use_precision <- function(precision) {
    how$precision <- precision
    product <<- covariance_product(model, 1L, precision, how$backend)
    parts <<- list(
      data = data, model = model, how = how, trend = trend, points = resident_points(product, data$u),
      # derivatives along ridges cancel to a millionth
      gradient_of = remembered(function(width) covariance_gradient(model, width, "float64", how$backend)),
      derivatives_of = derivative_products(model, 1L, "float64", how$backend),
      all_derivatives_of = remembered(function(width) derivative_products(model, width, precision, how$backend))
    )
  }
  use_precision(how$precision)
  count <- control$probes
  tol <- search_residual(control, length(data$y))
  probes <- latest <- NULL  # where a search compares last, the fit is made
  precondition <- preconditioner_maker(control, data, model)
  at <- function(theta) {
    system <- iterative_system(product, data, model, theta, parts$points)
    list(system = system, precond = precondition(system, theta))
  }
  for_search <- function(theta, profile) {
    here <- at(theta)
    probes <<- probes %||% deflated_probes(count, control$seed, basis, here$system$space)
    state <- search_state(here, theta, probes, parts, profile, tol)
    if (identical(state$value, Inf)) return(state)
    c(state, estimate = estimate, draw_probes = draw_probes, probes = count, sharpen = sharpen)
  }
  with_value <- function(theta, profile) {
    here <- at(theta)
    probes <- if (count > 0) probe_vectors(here$system, here$precond, count, control$seed)
    b <- beside(here$system$space, cbind(trend$rest, trend$q), probes$probes)
    known <- seq_len(1 + p)
    tol <- rep(c(control$cg_tol, probe_residual(control, here$system$n)), c(1 + p, count))
    fit <- solve_or_fail(here, b, tol, check = rows_to_check(control$cg_tol, here$system$n))
    if (is.null(fit)) return(list(value = Inf, bad = 1L))
    logdet <- if (is.null(probes)) list(logdet = NA_real_) else
      lanczos_logdet(here$system, fit, probes, here$precond, 1 + p + seq_len(count))
    solution <- as.matrix(fit$solution[, known, drop = FALSE])
    state <- iterative_state(solution, trend, data, logdet$logdet, how$reml, profile)
    c(state, list(logdet_error = logdet$std_error, converged = fit$converged, residual = max(fit$residual[known]),
                  iterations = fit$iterations))
  }
  estimate <- function(theta) {
    theta <- unname(theta)
    if (!identical(latest$theta, theta)) latest <<- list(theta = theta, state = with_value(theta, FALSE))
    latest$state
  }
  draw_probes <- function(number) {
    count <<- number
    probes <<- latest <<- NULL
  }
  # residuals of the search a tenth of those before, unless they are small enough
  sharpen <- function() {
    if (tol <= max(control$cg_tol, 1e-5)) return(FALSE)
    tol <<- max(tol / 10, control$cg_tol)
    TRUE
  }
  list(evaluate = function(theta, profile = FALSE, search = FALSE) {
    if (search) for_search(theta, profile) else if (profile) with_value(theta, TRUE) else estimate(theta)
  }, use_precision = use_precision)
}

# For a search: a gradient, its `noise`, which is its covariance over draws of the probes, average information, and no
# value. Traces are estimated by independent signs, which vary least, but exactly for smooth vectors: the derivatives
# long: closures that share the solutions of one set of equations
# along a ridge of the likelihood, where ranges are long, are made of these, and vary most by signs.
search_state <- function(here, theta, probes, parts, profile, tol) {
  how <- parts$how
  data <- parts$data
  model <- parts$model
  space <- here$system$space
  known <- cbind(parts$trend$rest, probes$basis)
  p <- ncol(parts$trend$q)
  fit <- solve_or_fail(here, beside(space, known, probes$block), tol, check = 0)
  if (is.null(fit)) return(list(value = Inf, bad = 1L))
  solved <- as.matrix(fit$solution[, seq_len(ncol(known)), drop = FALSE])
  random <- ncol(known) + seq_len(ncol(probes$signs))
  state <- iterative_state(solved[, seq_len(1 + p), drop = FALSE], parts$trend, data, NA_real_, how$reml, profile)
  solved_probes <- function() fit$solution[, random, drop = FALSE]
  trace <- mean(space$dots(probes$block, solved_probes()))
  state$rounding <- rounding_loss(mean(here$system$diagonal()), trace, how$precision)
  state$gradient <- function() {
    left <- beside(space, cbind(-state$alpha / state$scale, if (how$reml) -state$z, solved[, -1, drop = FALSE]), {
      chosen <- solved_probes()
      space$axpby(0, chosen, 1 / ncol(probes$signs), space$copy(chosen))
    })
    right <- beside(space, cbind(state$alpha, if (how$reml) state$z, probes$basis), probes$block)
    iterative_gradient(left, right, unname(theta), parts, space)
  }
  state$noise <- function() {
    count <- ncol(probes$signs)
    solved <- as.matrix(solved_probes())
    given <- list(theta = unname(theta), x = parts$points, y = parts$points, b = probes$block)
    derivatives <- parts$all_derivatives_of(count)(given)
    derivatives <- array(derivatives, c(nrow(solved), length(theta), count))
    each <- vapply(seq_len(count), function(k) {
      of_probe <- with_nugget(matrix(derivatives[, , k], nrow(solved)), probes$signs[, k], data, model)
      colSums(of_probe * solved[, k])
    }, numeric(length(theta)))
    stats::cov(t(matrix(each, length(theta)))) / count
  }
  state$information <- function(profiled = profile) {
    derivatives <- noisy_derivatives(parts$derivatives_of, state, data, model, theta)
    # standard errors of three digits
    tol <- max(how$control$cg_tol, 1e-3)
    solve <- function(b) as.matrix(solve_system(here$system, space$copy(b), here$precond, tol)$solution)
    average_information(derivatives, state, solve, profiled, length(data$y) - if (how$reml) p else 0)
  }
  state
}

# What rounding takes from the log-likelihood. Entries that are off by e, each another way, change log det K on average
# by -sum_ij e_ij^2 (K^-1)_ii (K^-1)_jj / 2; that is as if there were more of a nugget, and bends ridges. `trace` is
# that of K^-1.
rounding_loss <- function(variance, trace, precision) {
  (rounding_unit[[precision]] * variance * trace)^2 / 2
}

# The same before any system is solved: 1 / (K^-1)_ii is the variance of an observation given all others, of which the
# nearest ones are enough.
expected_rounding <- function(data, model, theta, precision, sample = 200, m = 30) {
  n <- length(data$y)
  some <- unique(round(seq(1, n, length.out = min(n, sample))))
  near <- neighbour_coordinates(model, theta, data$u)
  others <- nearest_points(near[some, , drop = FALSE], near, min(m + 1, n))[-1, , drop = FALSE]
  noise <- noise_variance(data, model, theta)
  points <- data$u[some, , drop = FALSE]
  given <- set_weights_at(covariance_matrix(model), theta, hold_points(data$u, noise), points, others)
  variance <- covariance_diagonal(model)(list(theta = theta, x = points))
  rounding_loss(mean(variance), n * mean(1 / (given$sd^2 + noise[some])), precision)
}

# NULL where the matrix is singular, or not finite.
solve_or_fail <- function(here, b, tol, check) {
  tryCatch(solve_system(here$system, b, here$precond, tol, check = check), kernops_input_error = function(e) NULL)
}

# Orthonormal columns that span the trend and polynomials of the coordinates; those of the trend come first. With
# quadratic ones the derivative along a ridge in three dimensions varies 17 times less by the probes than with linear
# ones, with cubic ones 70 times less.
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

# Random signs without what the basis has of them, on the host and as a block of a space; and the basis.
deflated_probes <- function(count, seed, basis, space) {
  signs <- with_seed(seed, random_signs(nrow(basis), count))
  signs <- signs - basis %*% crossprod(basis, signs)
  list(signs = signs, block = space$copy(signs), basis = basis)
}

# Residuals change the gradient in proportion to the observations; what these say along a ridge is not more for more.
search_residual <- function(control, n, usual = 1e4) {
  max(control$cg_tol, min(1, sqrt(usual / n)) * control$search_tol)
}

# The error of the log-determinant goes as the square of the probes' residuals, and as the number of observations.
probe_residual <- function(control, n) max(control$cg_tol, min(1e-3, 0.1 / sqrt(n)))

# Where some per cent of a residual do not matter, a sample of the rows is enough.
rows_to_check <- function(tol, n) if (tol < 1e-3) n else min(n, 1e4)

# The coordinates, for a whole fit: on the GPU, where that is where products with the covariance are taken.
resident_points <- function(product, u) {
  device <- device_of(product, list(x = u, y = u))
  if (device >= 0) gpu_matrix(u, "float64", device) else u
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

# (system, theta) -> its preconditioner. The type is that which suits the first theta: probes are drawn for it, and a
# search compares likelihoods by the same probes.
preconditioner_maker <- function(control, data, model) {
  type <- if (control$precond != "auto") control$precond else if (!is.null(control$rank)) "pivoted_cholesky"
  graph_of <- remembered_graph()
  function(system, theta) {
    if (all(system$diagonal() == 0)) return(NULL) # noise alone
    type <<- type %||% best_preconditioner(system)
    if (type == "vecchia") {
      near <- neighbour_coordinates(model, theta, data$u)
      return(system_preconditioner(system, type, control$rank, near = near, graph_of = graph_of))
    }
    rank <- control$rank %||% default_rank(system, control)
    if (rank > 0) system_preconditioner(system, type, rank)
  }
}

# Iterations grow as the root of n over the rank, and the preconditioner costs as much as some iterations: as many are
# not there to be saved where no probes are solved for, and to a loose tolerance.
default_rank <- function(system, control) {
  most <- if (system$space$factorises()) 2000 else 200
  few <- control$probes == 0 && control$cg_tol >= 1e-3
  max(100, min(most, round((if (few) 4 / 3 else 2) * sqrt(system$n))))
}

# X = Q R with orthonormal columns of Q, and y = Q along + rest. Conjugate gradients stop relative to each right-hand
# side: beside a northing of 5.6e6, or a large mean, that would be early for what varies.
trend_basis <- function(data) {
  p <- ncol(data$x)
  x <- if (p) qr(unname(data$x))
  q <- if (p) qr.Q(x) else matrix(0, length(data$y), 0)
  response <- without_level(data)
  along <- as.vector(crossprod(q, response$y))
  list(q = q, r = if (p) qr.R(x) else matrix(0, 0, 0), along = along, rest = response$y - as.vector(q %*% along),
       level = response$beta)
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
    beta <- as.vector(backsolve(root, trend$along + step)) + trend$level
    root <- own %*% root # R' Q' K^-1 Q R = X' K^-1 X
  }
  likelihood_state(length(alpha), p, logdet, sum(alpha * rest), beta, root, alpha, z, data$logdet_xx, reml, profile)
}

# sum_ij W_ij dK_ij with W = left right': traces of K^-1 dK, and the rest as in exact_gradient().
iterative_gradient <- function(left, right, theta, parts, space) {
  ones <- rep(1, nrow(parts$data$u))
  input <- list(theta = theta, x = parts$points, y = parts$points, w = left, e = right, eta = ones)
  total <- as.vector(parts$gradient_of(ncol(left))(input))
  if (length(parts$model$nugget)) {
    weights <- parts$data$weights
    weights <- if (any(weights != 1)) space$copy(1 / weights) else 1
    total[[parts$model$nugget]] <- sum(space$dots(space$add_rows(weights, left, zeros_like(space, left)), right))
  }
  total
}

# Half the sum of the observed and the expected second derivatives of -2 log-likelihood (Gilmour et al. 1995), from
# the columns dK alpha; where the scale is profiled out, what is left of them.
average_information <- function(derivatives, state, solve, profile, degrees) {
  solved <- solve(derivatives)
  across <- crossprod(state$z, derivatives)
  information <- (crossprod(derivatives, solved) - crossprod(across)) / state$scale
  if (profile) {
    along <- crossprod(derivatives, state$alpha) / state$scale
    information <- information - tcrossprod(along) / degrees
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
  precond <- preconditioner_maker(object$how$control, object$data, object$model)(system, object$theta)
  function(b) {
    fit <- solve_system(system, system$space$copy(b), precond, tol)
    warn_unless_solved(fit, tol)
    as.matrix(fit$solution)
  }
}

warn_unless_solved <- function(fit, tol) {
  if (all(fit$converged)) return(invisible())
  cli::cli_warn(c("Conjugate gradients did not converge in {fit$iterations} iteration{?s}.",
                  x = "The relative residual is {signif(max(fit$residual), 3)}, the tolerance {tol}.",
                  i = "A nugget, a larger {.arg rank} or {.arg cg_tol} of {.fn gp_control} may help."),
                class = "kernops_not_converged")
}

# Columns solved together: what fits 32 MB, at most the number for which products are fastest.
solve_width <- function(n) max(1L, min(64L, as.integer(4e6 / n)))
