# Bounds for the exact likelihood of a fit, and for all results that are products with S^-1, where S is the exact
# covariance matrix of the observations.

# The problem to certify: the columns B = (Q, r, k), where Q is an orthonormal basis of the trend, r is the response
# minus its projection on Q, and k are the covariances of the observations with the field at the sites; `x`, the trend
# at the sites in the basis Q; `prior`, the variance of the field at the sites; `moments`, the predictions of the fit.
certified_problem <- function(object, sites) {
  data <- object$data
  input <- list(theta = object$theta, x = data$u, y = sites$u)
  trend <- trend_basis(data)
  x <- if (ncol(data$x)) t(backsolve(trend$r, t(unname(sites$x)), transpose = TRUE)) else matrix(0, nrow(sites$u), 0)
  list(trend = trend, b = cbind(trend$q, trend$rest, covariance_matrix(object$model)(input)), x = x,
       prior = as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = sites$u))),
       moments = predicted_moments(object, sites, field_request$how, variance = TRUE))
}

# Matrices `lower` <= B' S^-1 B <= `upper` and the interval `logdet` of log det S, which hold with probability 1 - miss.
# For up to `most_dense` observations, a dense factor takes less time than computing the preconditioner.
certified_bounds <- function(object, problem, settings, most_dense = 500) {
  system <- iterative_system(covariance_product(object$model, 1L, "float64", object$how$backend), object$data,
                             object$model, object$theta)
  if (system$n <= most_dense) dense_bounds(system, problem) else bounds_by_solver(system, object, problem, settings)
}

dense_bounds <- function(system, problem) {
  covariance <- as.matrix(system$product(system$space$copy(diag(system$n)), "float64"))
  root <- chol_or_null(covariance)
  if (is.null(root)) stop_not_certified()
  forms <- crossprod(backsolve(root, problem$b, transpose = TRUE))
  list(lower = forms, upper = forms, logdet = rep(2 * sum(log(diag(root))), 2), steps = 0L)
}

# The maximum number of steps of the solver. After this number of steps, the bounds are computed from the solution of
# the last step.
most_steps <- 200

# One run of conjugate gradients solves the systems S X = B and S Y = Z, where the columns of Z are random probes. If X
# or Y is not precise, it is computed again with a smaller residual. For X, the second run continues from the first
# solution; for Y, the second run starts from zero, since the quadrature needs all steps. With the residual E = B - S X,
# the lower bound of B' S^-1 B is B' X + X' E. The difference between B' S^-1 B and the lower bound is E' S^-1 E <= E'
# P^-1 E / a, where P is the preconditioner, and a is a lower bound of the eigenvalues of P^-1/2 S P^-1/2.
bounds_by_solver <- function(system, object, problem, settings) {
  space <- system$space
  precond <- certifying_preconditioner(system, object)
  probes <- probe_vectors(system, precond, settings$probes, derived_seed(settings$seed), normal_numbers)
  b <- space$copy(problem$b)
  own <- seq_len(ncol(b))
  solve_to <- function(tol, b, ...) {
    tryCatch(solve_system(system, b, precond, tol, most_steps, ..., check = 0),
             kernops_input_error = function(e) stop_not_certified())
  }
  wanted <- 0.1 * tolerable_changes(system$n, 1e-3)[["loglik"]]
  logdet_by <- function(fit, columns) logdet_interval(system, fit, probes, precond, columns, settings$miss, wanted)
  tol <- first_tolerance(system, precond, b, problem)
  fit <- solve_to(tol, beside(space, problem$b, probes$probes))
  x <- fit$solution[, own, drop = FALSE]
  logdet <- logdet_by(fit, ncol(b) + seq_len(settings$probes))
  bounds <- forms_bounded(system, precond, b, x, logdet)
  steps <- fit$iterations
  for (times in c(0.01, 1e-5)) {
    if (fit$iterations == most_steps || logdet$precise && is_precise(bounds, problem)) break
    if (!logdet$precise) {
      fit <- solve_to(times * tol, space$copy(probes$probes))
      steps <- steps + fit$iterations
      logdet <- logdet_by(fit, seq_len(settings$probes))
      bounds <- forms_bounded(system, precond, b, x, logdet)
    }
    if (!is_precise(bounds, problem)) {
      fit <- solve_to(times * tol, b, x0 = x)
      steps <- steps + fit$iterations
      x <- fit$solution
      bounds <- forms_bounded(system, precond, b, x, logdet)
    }
  }
  c(bounds, list(logdet = logdet$interval, steps = steps))
}

# The matrices `lower` and `upper` of certified_bounds(), computed from an approximate solution x of S x = b.
forms_bounded <- function(system, precond, b, x, logdet) {
  space <- system$space
  error <- space$axpby(1, b, -1, system$product(x, "float64"))
  lower <- symmetric(space$inner(b, x) + space$inner(x, error))
  gap <- symmetric(space$inner(error, preconditioning(precond, space)(error))) / logdet$eigenvalues[[1]]
  rounding <- .Machine$double.eps * sum(system$diagonal() + system$lambda) * space$inner(x, x)
  list(lower = lower - rounding, upper = lower + gap + rounding)
}

# The relative residual of all columns at which the bounds are probably precise: a residual e widens the bounds by about
# e'e divided by the conditional variance of an observation. Even rough results require some steps, because the bounds
# of eigenvalues are computed from the steps for the probes.
first_tolerance <- function(system, precond, b, problem) {
  variance <- if (is.null(precond$sets)) min(system$lambda) else mean(precond$sets$sd^2)
  allowed <- c(rep(0.02, ncol(problem$x) + 1), 0.005 * pmin(problem$moments$variance, problem$prior))
  needed <- sqrt(allowed * variance / system$space$dots(b, b))
  max(1e-8, min(1e-4, needed[needed > 0], na.rm = TRUE))
}

# TRUE if the error of the solver is below 0.05 in the log-likelihood, below 1 % in variances, and below 0.03 standard
# errors in predictions.
is_precise <- function(bounds, problem) {
  left <- lapply(bounds[c("lower", "upper")], after_trend, problem$x)
  gap <- diag(left$upper - left$lower)
  variance <- problem$prior - diag(left$lower)[-1]
  gap[[1]] <= 0.1 && all(gap[-1] <= 0.01 * variance)
}

# Returns a preconditioner of low rank if the low-rank part leaves a negligible remainder of S. Otherwise returns
# Vecchia's preconditioner with more neighbours than the fit has, so that intervals are short even if the fit is poor.
certifying_preconditioner <- function(system, object) {
  if (min(system$lambda) > 0 && best_preconditioner(system, small = 0.01) == "pivoted_cholesky") {
    return(system_preconditioner(system, "pivoted_cholesky", default_rank(system, object$how$control)))
  }
  near <- neighbour_coordinates(object$model, object$theta, object$data$u)
  m <- max(if (system$n > 2e4) 120L else 60L, 2L * (object$vecchia$m %||% 0L))
  system_preconditioner(system, "vecchia", min(m, system$n - 1L), near = near)
}

stop_not_certified <- function() {
  stop_kernops("singular", c("The covariance matrix of the observations is not positive definite to double precision:
                              there is no exact answer to compare with.",
                             i = "Add {.fn nugget} to the covariance."))
}

# The symmetric matrix of quadratic forms of (r, k) after a fit of the trend by generalised least squares, computed from
# the matrix `forms` of quadratic forms of (Q, r, k). `x` is the trend at the sites in the basis Q. The result contains
# the residual sum of squares of r, the predictions at the sites and, for each site, the part of the variance that the
# data explain. Bounds of `forms` give bounds of the result, because the quadratic forms in the result are minima of
# expressions that are linear in `forms`.
after_trend <- function(forms, x) {
  if (!ncol(x)) return(forms)
  trend <- seq_len(ncol(x))
  across <- forms[trend, -trend, drop = FALSE]
  across[, -1] <- across[, -1] - t(x)
  rest <- forms[-trend, -trend, drop = FALSE]
  rest - crossprod(across, solve(forms[trend, trend, drop = FALSE], across))
}

# The interval of the exact log-likelihood at the parameters of the fit. With REML, this is the log-likelihood of
# contrasts in the basis Q.
loglik_interval <- function(object, bounds, problem) {
  p <- ncol(problem$x)
  reml <- object$how$reml && p > 0
  degrees <- nrow(problem$b) - if (reml) p else 0
  deviance <- function(forms, logdet) {
    of_trend <- if (reml) determinant(forms[seq_len(p), seq_len(p), drop = FALSE])$modulus[[1]] else 0
    degrees * log(2 * pi) + logdet + after_trend(forms, problem$x)[1, 1] + of_trend
  }
  highest <- deviance(bounds$upper, bounds$logdet[[2]])
  lowest <- deviance(bounds$lower, bounds$logdet[[1]])
  rounding <- 1e-13 * c(-1, 1) * (abs(highest) + nrow(problem$b))
  -c(highest, lowest) / 2 + rounding + (object$parts$jacobian %||% 0)
}
