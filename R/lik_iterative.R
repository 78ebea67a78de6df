# The likelihood without the covariance matrix: preconditioned conjugate gradients solve for the response, the trend and
# random probes at once.
#
# evaluate(theta, profile, search) solves with probes drawn for the preconditioner, from which stochastic Lanczos
# quadrature computes the log-determinant (solve_lanczos.R); for a search, see search_state(). The same probes are used
# for all parameters, so that the objective of a search is smooth.
# long: closures that share the probes and the latest state
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
  probes <- latest <- NULL  # the fit is made at the parameters that a search compares last
  precondition <- preconditioner_maker(control, data, model)
  equations_at <- function(theta) {
    system <- iterative_system(product, data, model, theta, parts$points)
    list(system = system, precond = precondition(system, theta))
  }
  for_search <- function(theta, profile) {
    equations <- equations_at(theta)
    probes <<- probes %||% deflated_probes(count, control$seed, basis, equations$system$space)
    search_state(equations, theta, probes, parts, profile, tol, estimate = estimate, draw_probes = draw_probes,
                 probes = count, sharpen = sharpen)
  }
  with_value <- function(theta, profile) {
    equations <- equations_at(theta)
    system <- equations$system
    probes <- if (count > 0) probe_vectors(system, equations$precond, count, control$seed)
    b <- beside(system$space, cbind(trend$rest, trend$q), probes$probes)
    known <- seq_len(1 + p)
    tol <- rep(c(control$cg_tol, probe_residual(control, system$n)), c(1 + p, count))
    fit <- solve_or_fail(equations, b, tol, check = rows_to_check(control$cg_tol, system$n))
    if (is.null(fit)) return(singular_state())
    logdet <- if (is.null(probes)) list(logdet = NA_real_) else
      lanczos_logdet(system, fit, probes, equations$precond, 1 + p + seq_len(count))
    solution <- as.matrix(fit$solution[, known, drop = FALSE])
    results <- iterative_results(solution, trend, data, logdet$logdet, how$reml, profile)
    derivatives <- function() for_search(theta, profile)
    new_state(c(results, list(logdet_error = logdet$std_error)), gradient = function() derivatives()$gradient(),
              information = function(profiled = profile) derivatives()$information(profiled),
              has_value = !is.null(probes),
              warn = function() warn_unless_solved(c(fit["converged"], list(
                residual = max(fit$residual[known]), iterations = fit$iterations)), control$cg_tol))
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
  # rounding of float32 must not decide where the search ends
  sufficient_precision <- function(theta, precision) {
    if (precision == "float64") return(precision)
    loss <- expected_rounding(data, model, theta, precision)
    if (isTRUE(loss < allowed_rounding)) return(precision)
    cli::cli_inform(c(i = "{.code precision = \"float32\"} would change the log-likelihood by about
                           {signif(loss, 2)}: float64 is used instead."), class = "kernops_rounding")
    use_precision("float64")
    "float64"
  }
  subset_sizes <- function() {
    n <- length(data$y)
    dense <- dense_size(n, how)
    if (n >= 8 * dense) c(dense = dense, same = n %/% 5) else c(dense = 0, same = 0)
  }
  new_likelihood(function(theta, profile = FALSE, search = FALSE) {
    if (search) for_search(theta, profile) else if (profile) with_value(theta, TRUE) else estimate(theta)
  }, costly = TRUE, subset_sizes = subset_sizes, sufficient_precision = sufficient_precision)
}

# The observations whose dense likelihood takes far less time than an iterative one of eight times as many.
dense_size <- function(n, how) {
  on_cpu <- dense_device(1e4, dense_settings(how)$backend) < 0
  if (on_cpu) 4000 else min(max(1e4, n / 25), 4e4)
}

# The state of a search, without a value. Traces are estimated by independent signs, which vary least, but exactly for
# smooth vectors: the derivatives along a ridge of the likelihood, where ranges are long, are made of these, and vary
# most by signs.
search_state <- function(equations, theta, drawn, parts, profile, tol, ...) {
  how <- parts$how
  data <- parts$data
  space <- equations$system$space
  known <- cbind(parts$trend$rest, drawn$basis)
  p <- ncol(parts$trend$q)
  fit <- solve_or_fail(equations, beside(space, known, drawn$block), tol, check = 0)
  if (is.null(fit)) return(singular_state())
  solved <- as.matrix(fit$solution[, seq_len(ncol(known)), drop = FALSE])
  random <- ncol(known) + seq_len(ncol(drawn$signs))
  solved_probes <- function() fit$solution[, random, drop = FALSE]
  results <- iterative_results(solved[, seq_len(1 + p), drop = FALSE], parts$trend, data, NA_real_, how$reml, profile)
  trace <- mean(space$dots(drawn$block, solved_probes()))
  new_state(
    results, has_value = FALSE, rounding = rounding_loss(mean(equations$system$diagonal()), trace, how$precision), ...,
    gradient = function() probed_gradient(results, solved[, -1, drop = FALSE], solved_probes(), drawn, theta, parts,
                                          space),
    noise = function() probe_noise(as.matrix(solved_probes()), drawn, unname(theta), parts),
    information = function(profiled = profile) {
      derivatives <- noisy_derivatives(parts$derivatives_of, results, data, parts$model, theta)
      # standard errors of three digits
      tol <- max(how$control$cg_tol, 1e-3)
      solve <- function(b) as.matrix(solve_system(equations$system, space$copy(b), equations$precond, tol)$solution)
      average_information(derivatives, results, solve, profiled, length(data$y) - if (how$reml) p else 0)
    }
  )
}

# By the solutions for the basis and for the probes.
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
  given <- set_weights_at(covariance_matrix(model), theta, hold_sets(data$u, noise), points, others)
  variance <- covariance_diagonal(model)(list(theta = theta, x = points))
  rounding_loss(mean(variance), n * mean(1 / (given$sd^2 + noise[some])), precision)
}

# NULL where the matrix is singular, or not finite.
solve_or_fail <- function(equations, b, tol, check) {
  tryCatch(solve_system(equations$system, b, equations$precond, tol, check = check),
           kernops_input_error = function(e) NULL)
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
iterative_results <- function(solved, trend, data, logdet, reml, profile) {
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
  likelihood_results(length(alpha), p, logdet, sum(alpha * rest), beta, root, alpha, z, data$logdet_xx, reml, profile)
}

# sum_ij W_ij dK_ij with W = left right': traces of K^-1 dK, and the rest as in exact_gradient().
iterative_gradient <- function(left, right, theta, parts, space) {
  ones <- rep(1, nrow(parts$data$u))
  input <- list(theta = theta, x = parts$points, y = parts$points, w = left, e = right, eta = ones)
  total <- as.vector(parts$gradient_of(ncol(left))(input))
  if (length(parts$model$nugget)) {
    weights <- parts$data$weights
    weights <- if (any(weights != 1)) space$copy(1 / weights) else 1
    total[[parts$model$nugget]] <- sum(space$dots(space$scale_rows(weights, left), right))
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
  if (has_factor(object)) {
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
