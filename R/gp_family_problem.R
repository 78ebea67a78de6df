# Fits with a family: the problem of the search, the search, and the fit.

fit_family <- function(parts, model, known, how, estimate, family, call) {
  family <- settled_family(family, parts$y, call)
  problem <- family_problem(parts, model, known, family, estimate, call)
  likelihood <- likelihood_for(problem$data, problem$outer, how)
  separating <- separating_covariates(problem$data)
  search <- estimate_family(problem, likelihood, how, estimate, call)
  field <- with_noise_field(problem, likelihood, search, how, estimate, call)
  problem <- field$problem
  likelihood <- field$likelihood
  search <- field$search
  fit <- with_enough_neighbours(search, likelihood, function(search) {
    fitted_parts(finish_family(problem, likelihood, search, call), search, how, parts, known, estimate, "gp_family_fit")
  })
  fit$spread <- problem$start$spread
  fit <- with_marginal_likelihood(fit, field$marginal)
  with_separation(separating, warn_about_search(fit$search, how$control))
  if (estimate != "none") {
    warn_about_family(fit)
    warn_about_predictors(fit)
    tell_vanished(fit)
  }
  warn_about_separation(fit, separating)
  warn_about_neighbours(fit)
  fit
}

# The counterpart of prepare_problem() for families. The search estimates the coefficients of `basis`, a basis of the
# trend with orthogonal columns of mean square 1.
family_problem <- function(parts, model, known, family, estimate, call) {
  beta <- known$beta
  parts$x <- trend_columns(parts, beta, call)
  problem <- centred_problem(parts, model, beta, estimate, call)
  n <- length(parts$y)
  x <- problem$data$x
  y <- if (is.null(parts$censored)) parts$y else ifelse(parts$censored, -parts$y, parts$y)
  problem$data[c("y", "prior", "family", "offset", "noise", "weights", "basis")] <- list(
    y, parts$weights, family, parts$offset + known_mean(parts$x, beta), numeric(n), rep(1, n),
    if (ncol(x)) qr.Q(qr(x)) * sqrt(n) else x
  )
  problem$data$family <- settled_predictors(family, parts, problem$data$u, model$d, call)
  if (estimate != "none" && all(parts$y == parts$y[[1]])) stop_constant(parts$y, call)
  problem$start <- plain_fit(problem$data)
  if (estimate != "none") problem <- with_family_search(problem, call)
  problem$outer <- outer_model(problem, estimate)
  problem
}

with_family_search <- function(problem, call) {
  data <- problem$data
  response <- working_response(data$family, data$y, data$prior) - data$offset
  residual <- if (ncol(data$x)) qr.resid(qr(data$x), response) else response
  problem <- bounded_problem(problem, residual, call)
  # The search uses the logarithm of a variance, and would take ever more steps if the variance tends to zero. Therefore
  # each variance has a lower bound, and a variance at this bound counts as zero. The bound is a hundred thousandth of
  # the variance of the working response or, if smaller, a tenth of the noise variance of the working response. The
  # latter applies to large counts, for example.
  weight <- positive_weights(terms_of(data, list(beta = problem$start$trend, phi = problem$start$phi))(residual))
  noise <- stats::median(1 / weight[is.finite(weight) & weight > 0])
  variance <- problem$model$parameters$kind == "variance"
  problem$model$parameters[variance, "lower"] <- with(problem$model$parameters[variance, ],
                                                      pmin(1e3 * lower, noise / 10, value, na.rm = TRUE))
  problem
}

# Starting values for the parameters of the family and for the trend, from a fit without a process.
plain_fit <- function(data) {
  family <- data$family
  response <- working_response(family, data$y, data$prior) - data$offset
  trend <- as.vector(crossprod(data$basis, response)) / length(response)
  spread <- stats::mad(response - data$basis %*% trend)
  if (!spread > 0) spread <- max(stats::sd(response), 1e-8, na.rm = TRUE)
  parameters <- searched_parameters(family, data, spread)
  phi <- family_phi(family, parameters$value, data$u)
  terms <- function(trend) terms_of(data, list(beta = trend, phi = phi))(0)
  if (length(trend)) {
    trend <- stats::nlminb(trend, function(b) -sum(terms(b)$value), function(b) -crossprod(data$basis, terms(b)$slope),
                           lower = trend - 5, upper = trend + 5)$par
  }
  list(parameters = parameters, phi = phi, trend = trend, spread = spread,
       variances = unlist(unname(lapply(family$predictors, `[[`, "variances"))))
}

# For each parameter of a family, the starting value and the lower and upper limits of the search.
family_limits <- function(family, y, spread) {
  limits <- vapply(family$density$parameters, function(f) f(y, spread), numeric(3))
  matrix(limits, ncol = 3, byrow = TRUE)
}

# The covariance model with rows for the parameters of the family and the trend. With `estimate = "none"`, only the
# trend is estimated.
outer_model <- function(problem, estimate) {
  model <- problem$model
  start <- problem$start
  family <- problem$data$family$parameters
  new_rows <- function(name, ...) {
    values <- list(name = name, ..., label = "family", leaf = "", coordinate = 0L, extent = 1, unit = 1)
    rows <- model$parameters[rep(1, length(name)), ]
    rows[names(values)] <- lapply(values, rep_len, length(name))
    rows
  }
  model$parameters <- rbind(
    model$parameters,
    do.call(new_rows, c(list(family$name, fixed = family$fixed, kind = "family"), start$parameters)),
    new_rows(sprintf("trend %s", colnames(problem$data$basis) %||% seq_along(start$trend)), value = start$trend,
             log = FALSE, fixed = FALSE, kind = "trend", lower = -Inf, upper = Inf)
  )
  if (!is.null(model$unit)) model$unit <- c(model$unit, rep(1, nrow(model$parameters) - length(model$unit)))
  if (estimate == "none") model$parameters$fixed <- model$parameters$kind != "trend"
  model$scale <- integer()
  model$field <- problem$model
  model$penalty <- penalty_of(problem$data$family, nrow(problem$model$parameters))
  model
}

stop_no_mode <- function(call) {
  stop_kernops("singular", c("The mode of the process was not found: its covariance matrix is singular.",
                             i = "Add {.fn nugget}, or choose a rougher covariance such as {.code matern(3/2)}."),
               call = call)
}

# The fit, with the elements that finish_fit() returns and further elements: `dispersion`, the parameters of the family
# as reported, and `phi`, the parameters of the density, with values for each observation if there are predictors.
# Predictions treat the fit as a fit of Gaussian observations with the response h + slope / M and noise 1 / M, where h
# is the mode of the process, `slope` is the derivative of the log density at h, and M are the positive_weights(); the
# predicted mean is then the mean of the approximation. `less` corrects variances for the difference between the weights
# M and the true weights, see lik_laplace_dense.R.
finish_family <- function(problem, likelihood, search, call) {
  data <- problem$data
  state <- likelihood$evaluate(search$theta)
  if (is_singular(state)) stop_no_mode(call)
  state$warn()
  trend <- state$trend()
  model <- problem$model
  theta <- stats::setNames(state$field, model$parameters$name)
  beta <- if (ncol(data$x)) sqrt(length(data$y)) * backsolve(qr.R(qr(data$x)), state$beta) else numeric()
  names(beta) <- colnames(data$x)
  weight <- positive_weights(state$terms)
  told <- replace(data, c("y", "noise"), list(state$terms$eta + state$terms$slope / weight - data$offset, 1 / weight))
  free <- !problem$outer$parameters$fixed
  list(
    theta = theta, covariance = with_values(model, theta), beta = beta, family = data$family, phi = state$phi,
    dispersion = reported_parameters(data$family, state$own),
    loglik = plain_loglik(state, problem$outer, search$theta),
    state = list(alpha = state$k, z = trend$z, root = trend$root, less = state$posterior$less,
                 logdet_error = state$logdet_error),
    vecchia = kept_neighbours(likelihood, search, state, problem$outer),
    latent = state[c("h", "terms", "converged", "steps")], response = data, outer = problem$outer,
    outer_theta = unname(search$theta), factor = likelihood$kept_factor(), cell = new_cell(),
    information = new_cell(), data = told, model = model, center = problem$center, df = sum(free)
  )
}

warn_about_family <- function(fit) {
  if (length(ranges <- short_ranges(fit))) {
    cli::cli_warn(c(
      "{.code {ranges}} {?is/are} below the spacing of the points: this component is indistinguishable from independent
       variation.", i = "Replace it by {.fn nugget}: it predicts nothing between the observations."
    ), class = "kernops_degenerate")
  }
}
