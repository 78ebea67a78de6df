# Conditioning on all observations, by products with the inverse of their covariance matrix K.

# Conditioning by the Cholesky factor of K. With `local`, standard errors are those of predictions from the nearest
# observations.
exact_conditioning <- function(object, local) {
  less <- object$state$less
  by_factor <- function() {
    explain <- explained_by_factor(object, factor_of(object))
    function(targets) explain(targets$u)
  }
  solved_conditioning(object, local, function(points) {
    if (points) list(explain = by_factor(), width = 128L) else
      list(explain = explained_targets(object), width = block_width)
  }, function() {
    diagonal_of_inverse(factor_of(object)) - if (length(less)) rowSums(less^2) else 0
  }, exact = TRUE)
}

# Conditioning by conjugate gradients. The error of a variance k' K^-1 k is quadratic in the residual of the solution.
# Therefore the square root of the tolerance is sufficient for variances.
iterative_conditioning <- function(object, local) {
  tol <- object$how$control$cg_tol
  solved_conditioning(object, local, function(points) {
    list(explain = explained_targets(object, max(tol, min(1e-5, sqrt(tol)))), width = solve_width(nrow(object$data$u)))
  }, function() inverse_diagonal(object))
}

# The conditioning for the exact and the iterative method. The argument `explained` is a function that returns a list of
# two elements: `explain`, the function that explained_targets() returns, and `width`, the maximum number of targets in
# one call of this function.
solved_conditioning <- function(object, local, explained, diagonal, exact = FALSE) {
  process <- function(targets) as.vector(gathered(covariance_times(object, targets$u, object$state$alpha), targets))
  moments <- function(targets) {
    process <- process(targets)
    by_data <- explained(are_points(targets))
    uncertainty <- target_uncertainty(object, targets, which(is.finite(process)), by_data$explain, by_data$width)
    with_trend(object, targets, process = process, variance = uncertainty$variance, lagrange = uncertainty$lagrange)
  }
  errors <- solved_errors(object)
  if (local) {
    nearest <- nearest_conditioning(object)
    moments <- function(targets) replace(nearest$moments(targets), "process", list(process(targets)))
    errors <- nearest$errors
  }
  new_conditioning(
    object, function(targets) with_trend(object, targets, process = process(targets)), moments, errors,
    correction = function(points, values) {
      off <- if (length(object$state$less)) weights_with_errors(object, values) else
        kriging_weights(object, values, noise_within(object, ncol(values)))
      targets <- targets_of(object, points)
      gathered(covariance_times(object, targets$u, off$alpha), targets) + targets$x %*% off$beta
    },
    inverse = function() {
      inverse <- c(object$state[c("alpha", "z")], list(diagonal = diagonal()))
      if (is.null(object$data$location)) inverse else inverse_of_observations(object, inverse$diagonal)
    },
    exact = exact
  )
}

# The products k(u, x) a, where x are the points of the observations.
covariance_times <- function(object, u, a) {
  a <- as.matrix(at_nodes(a, object$data$nodes))
  product <- covariance_product(object$model, ncol(a), object$how$precision, object$how$backend)
  result <- product(list(theta = object$theta, x = u, y = seen_points(object$data), b = a))
  if (ncol(a) == 1) as.vector(result) else result
}

# The variance of the errors and the Lagrange multiplier of the trend for the targets with the indices `rows`, computed
# in blocks with a progress bar. For other targets, the results are NaN. Callers omit from `rows` all points whose
# covariance with an observation is not a number, because a NaN would affect the other points of the block.
target_uncertainty <- function(object, targets, rows, explain, width) {
  count <- length(rows)
  prior <- target_variance(object, targets)
  variance <- lagrange <- rep(NaN, targets$n)
  with_bar("Predicting", for_blocks(count, function(first, last) {
    say_progress(step = paste("standard error", first, "of", count), fraction = (first - 1) / count)
    block <- rows[first:last]
    some <- some_targets(targets, block)
    by_data <- explain(some)
    trend <- trend_uncertainty(object, some$x, by_data$trend)
    variance[block] <<- prior[block] - by_data$variance + trend$variance
    lagrange[block] <<- trend$lagrange
  }, width, nrow(object$data$u)))
  list(variance = pmax(variance, 0), lagrange = lagrange)
}

# Returns a function f(targets) that computes the covariances k of observations and targets, K^-1 k, the variances k'
# K^-1 k, and k' K^-1 X.
explained_targets <- function(object, tol = max(1e-5, object$how$control$cg_tol)) {
  covariance <- target_covariance(object)
  solver <- solver_for(object, tol)
  weights <- object$state$z %*% object$state$root
  function(targets) {
    k <- covariance(targets)
    solved <- solver(k)
    list(k = k, solved = solved, variance = colSums(k * solved), trend = crossprod(k, weights))
  }
}

# Returns a function of targets: the covariance matrix of their errors. The error of a covariance is linear in the error
# of the solver, unlike the error of a variance, so the tolerance is smaller. The solver is created when the function is
# called first.
solved_errors <- function(object, explain = explained_targets(object, min(1e-9, object$how$control$cg_tol))) {
  function(targets) {
    by_data <- explain(targets)
    gap <- trend_uncertainty(object, targets$x, by_data$trend)$gap
    joint_prior(object, targets) - crossprod(by_data$k, by_data$solved) + crossprod(gap)
  }
}

# For each column of new values at the observations: the coefficients `beta` of the trend, and `alpha`, K^-1 times the
# residuals.
kriging_weights <- function(object, values, shift = 0) {
  solved <- solver_for(object)(values)
  if (!ncol(object$data$x)) return(list(beta = matrix(0, 0, ncol(values)), alpha = solved))
  # z = K^-1 X R^-1 with R' R = X' K^-1 X
  rotated <- crossprod(object$state$z, values) + shift
  list(beta = backsolve(object$state$root, rotated), alpha = solved - object$state$z %*% rotated)
}

# A random variant of kriging_weights() for a family with some negative weights. This variant solves with positive
# weights of the data, and adds random errors whose variance is the part of the variance that the positive weights and
# the fixed trend omit.
weights_with_errors <- function(object, values) {
  normal <- function(x) normal_numbers(ncol(x), ncol(values))
  less <- object$state$less
  trend <- normal(object$state$z)
  alpha <- solver_for(object)(values) + less %*% (crossprod(less, values) - normal(less)) + object$state$z %*% trend
  list(beta = if (nrow(trend)) -backsolve(object$state$root, trend) else trend, alpha = alpha)
}
