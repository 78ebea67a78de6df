# The likelihood, computed without storing the covariance matrix. Preconditioned conjugate gradients solve systems whose
# right-hand sides are the response, the trend and random probes.
#
# In evaluate(theta, profile, search), the probes have the covariance of the preconditioner, and stochastic Lanczos
# quadrature computes the log-determinant from the iterations for the probes (solve_lanczos.R). With search = TRUE,
# evaluate() returns a state without a value, see search_state(). The probes are drawn once and used at all values of
# theta, so that the objective of a search is smooth.
iterative_likelihood <- function(data, model, how) {
  trend <- trend_basis(data)
  operators <- function(how) iterative_operators(data, model, how, trend)
  parts <- operators(how)
  probes <- search_probes(how$control, length(data$y), once(function() deflation_basis(trend$q, data$u)))
  precondition <- preconditioner_maker(how$control, data, model)
  latest <- NULL  # the latest state, which a fit requests again after the search
  equations_at <- function(theta) {
    system <- iterative_system(parts$product, data, model, theta, parts$points)
    list(system = system, precond = precondition(system, theta))
  }
  for_search <- function(theta, profile) {
    search_state(equations_at(theta), theta, parts, profile, probes, estimate = estimate, draw_probes = draw_probes)
  }
  with_value <- function(theta, profile) {
    valued_state(equations_at(theta), parts, profile, probes$count(), function() for_search(theta, profile))
  }
  estimate <- function(theta) {
    theta <- unname(theta)
    if (!identical(latest$theta, theta)) latest <<- list(theta = theta, state = with_value(theta, FALSE))
    latest$state
  }
  draw_probes <- function(number) {
    probes$draw(number)
    latest <<- NULL
  }
  sufficient_precision <- function(theta, precision) {
    sufficient <- precision_for(data, model, theta, precision)
    if (sufficient != precision) parts <<- operators(replace(how, "precision", sufficient))
    sufficient
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

# A list with the operators that multiply by the covariance matrix and by the derivatives of this matrix, and the data
# that these operators read. Operators without another comment have the precision of `how`.
iterative_operators <- function(data, model, how, trend) {
  product <- covariance_product(model, 1L, how$precision, how$backend)
  list(
    data = data, model = model, how = how, trend = trend, product = product, points = resident_points(product, data$u),
    # in float64, because the terms of a derivative along a ridge of the likelihood cancel to a millionth of their size
    gradient_of = remembered(function(width) covariance_gradient(model, width, "float64", how$backend)),
    derivatives_of = derivative_products(model, 1L, "float64", how$backend),
    all_derivatives_of = remembered(function(width) derivative_products(model, width, how$precision, how$backend))
  )
}

# Returns `precision` if its rounding errors do not affect the result of the search; otherwise returns "float64".
precision_for <- function(data, model, theta, precision) {
  if (precision == "float64") return(precision)
  loss <- expected_rounding(data, model, theta, precision)
  if (isTRUE(loss < allowed_rounding)) return(precision)
  cli::cli_inform(c(i = "{.code precision = \"float32\"} would change the log-likelihood by about
                         {signif(loss, 2)}: float64 is used instead."), class = "kernops_rounding")
  "float64"
}

# A state that has a value: the log-determinant in the value is estimated with `count` probes. derivatives() returns the
# state of search_state(), which supplies the gradient and the information.
valued_state <- function(equations, parts, profile, count, derivatives) {
  how <- parts$how
  trend <- parts$trend
  system <- equations$system
  probes <- if (count > 0) probe_vectors(system, equations$precond, count, how$control$seed)
  data_columns <- seq_len(1 + ncol(trend$q))
  right <- beside(system$space, cbind(trend$rest, trend$q), probes$probes)
  tol <- rep(c(how$control$cg_tol, probe_residual(how$control, system$n)), c(length(data_columns), count))
  fit <- solve_or_fail(equations, right, tol, check = rows_to_check(how$control$cg_tol, system$n))
  if (is.null(fit)) return(singular_state())
  logdet <- if (is.null(probes)) list(logdet = NA_real_) else
    lanczos_logdet(system, fit, probes, equations$precond, length(data_columns) + seq_len(count))
  solution <- as.matrix(fit$solution[, data_columns, drop = FALSE])
  results <- iterative_results(solution, trend, parts$data, logdet$logdet, how$reml, profile)
  new_state(c(results, list(logdet_error = logdet$std_error)), gradient = function() derivatives()$gradient(),
            information = function(profiled = profile) derivatives()$information(profiled),
            has_value = !is.null(probes),
            warn = function() warn_unless_solved(c(fit["converged"], list(
              residual = max(fit$residual[data_columns]), iterations = fit$iterations)), how$control$cg_tol))
}

# The number of observations in a subset on which a preliminary search computes the dense likelihood. The dense
# likelihood of the subset takes far less time than an iterative likelihood of eight times as many observations.
dense_size <- function(n, how) {
  on_cpu <- dense_device(1e4, dense_settings(how)$backend) < 0
  if (on_cpu) 4000 else min(max(1e4, n / 25), 4e4)
}

# The state for a search, which has a gradient but no value. Traces are estimated with vectors of random signs, the
# probes of least variance. A trace is the sum of two parts. The part in a space of smooth vectors is computed exactly,
# and random signs estimate the rest. Without the exact part, smooth vectors would contribute most to the variance of
# the estimate. Smooth vectors also contribute most to the derivatives along a ridge of the likelihood where ranges are
# long.
search_state <- function(equations, theta, parts, profile, probes, ...) {
  how <- parts$how
  data <- parts$data
  space <- equations$system$space
  drawn <- probes$vectors(space)
  known <- cbind(parts$trend$rest, drawn$basis)
  p <- ncol(parts$trend$q)
  fit <- solve_or_fail(equations, beside(space, known, drawn$block), probes$tol(), check = 0)
  if (is.null(fit)) return(singular_state())
  solved <- as.matrix(fit$solution[, seq_len(ncol(known)), drop = FALSE])
  random <- ncol(known) + seq_len(ncol(drawn$signs))
  solved_probes <- function() fit$solution[, random, drop = FALSE]
  results <- iterative_results(solved[, seq_len(1 + p), drop = FALSE], parts$trend, data, NA_real_, how$reml, profile)
  trace <- mean(space$dots(drawn$block, solved_probes()))
  new_state(
    results, has_value = FALSE, rounding = rounding_loss(mean(equations$system$diagonal()), trace, how$precision),
    probes = probes$count(), sharpen = probes$sharpen, ...,
    gradient = function() probed_gradient(results, solved[, -1, drop = FALSE], solved_probes(), drawn, theta, parts,
                                          space),
    noise = function() probe_noise(as.matrix(solved_probes()), drawn, unname(theta), parts),
    information = function(profiled = profile) {
      derivatives <- noisy_derivatives(parts$derivatives_of, results, data, parts$model, theta)
      # with this tolerance, standard errors have three correct digits
      tol <- max(how$control$cg_tol, 1e-3)
      solve <- function(b) as.matrix(solve_system(equations$system, space$copy(b), equations$precond, tol)$solution)
      average_information(derivatives, results, solve, profiled, length(data$y) - if (how$reml) p else 0)
    }
  )
}

# The change of the log-likelihood that rounding of the covariances causes. Independent errors e_ij of the entries
# change log det K by -sum_ij e_ij^2 (K^-1)_ii (K^-1)_jj / 2 on average, an effect similar to a larger nugget. `trace`
# is the trace of K^-1.
rounding_loss <- function(variance, trace, precision) {
  (2^-c(float32 = 23, float64 = 52)[[precision]] * variance * trace)^2 / 2
}

# An estimate of rounding_loss() before any system is solved. The trace of K^-1 follows from conditional variances,
# because 1 / (K^-1)_ii is the variance of observation i given all other observations.
expected_rounding <- function(data, model, theta, precision) {
  given_others <- conditional_variances(data, model, theta)
  inverse <- mean(1 / (given_others$field + given_others$noise))
  rounding_loss(mean(given_others$prior), length(data$y) * inverse, precision)
}

# Three variances for each observation in a sample: the variance of the field, the variance of the field given the `m`
# nearest other observations, and the variance of the noise. `field_sites` has a row for each observation, with the
# columns that the covariance of the field reads.
conditional_variances <- function(data, model, theta, sample = 200, m = 30, field_sites = data$u) {
  n <- nrow(data$u)
  some <- spaced_rows(n, sample)
  near <- neighbour_coordinates(model, theta, data$u)
  others <- nearest_points(near[some, , drop = FALSE], near, min(m + 1, n))[-1, , drop = FALSE]
  noise <- noise_variance(data, model, theta)
  points <- field_sites[some, , drop = FALSE]
  sets <- set_weights_at(covariance_matrix(model), theta, hold_sets(data$u, noise), points, others)
  list(prior = as.vector(covariance_diagonal(model)(list(theta = theta, x = points))), field = sets$sd^2,
       noise = noise[some])
}

# Decomposes the trend, X = Q R with orthonormal columns of Q, and the response, y = Q along + rest. Conjugate gradients
# stop at a residual relative to the norm of the right-hand side. Without this decomposition, a large mean, or a
# covariate such as a northing of 5.6e6, would stop the iterations before the solution for the varying part of the
# response is precise.
trend_basis <- function(data) {
  p <- ncol(data$x)
  x <- if (p) qr(unname(data$x))
  q <- if (p) qr.Q(x) else matrix(0, length(data$y), 0)
  response <- without_level(data)
  along <- as.vector(crossprod(q, response$y))
  list(q = q, r = if (p) qr.R(x) else matrix(0, 0, 0), along = along, rest = response$y - as.vector(q %*% along),
       level = response$beta)
}

# Generalised least squares from `solved`, the solutions K^-1 rest and K^-1 Q.
iterative_results <- function(solved, trend, data, logdet, reml, profile) {
  p <- ncol(trend$q)
  alpha <- solved[, 1]
  residual <- trend$rest
  beta <- numeric()
  root <- trend$r
  z <- matrix(0, length(alpha), 0)
  if (p) {
    inverse_q <- solved[, -1, drop = FALSE]
    information <- crossprod(trend$q, inverse_q)
    cholesky <- chol((information + t(information)) / 2)
    step <- backsolve(cholesky, backsolve(cholesky, crossprod(inverse_q, residual), transpose = TRUE))
    alpha <- alpha - as.vector(inverse_q %*% step)
    residual <- residual - as.vector(trend$q %*% step)
    z <- inverse_q %*% backsolve(cholesky, diag(p))
    beta <- as.vector(backsolve(root, trend$along + step)) + trend$level
    root <- cholesky %*% root # R' Q' K^-1 Q R = X' K^-1 X
  }
  quad <- sum(alpha * residual)
  likelihood_results(length(alpha), p, logdet, quad, beta, root, alpha, z, data$logdet_xx, reml, profile)
}

# Returns sum_ij W_ij dK_ij for each parameter, with W = left right'. A sum of this form gives the traces of K^-1 dK and
# the other terms of exact_gradient().
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
