# The Laplace approximation of the density of observations y with the distribution of a family (gp_family.R). The
# density of y is an integral over the process.
#
# Let h be the mode of the process given y, let k = K^-1 h, and let the diagonal matrix W contain the negative second
# derivatives of the log density at h. Then
#   -2 log p(y) = -2 log p(y | h) + h' k + log det(I + K W)
# (Rasmussen and Williams 2006, 3.32), where det(I + KW) = det(K + W^-1) det W for positive W. The factor of K + W^-1 is
# the factor of I + W^1/2 K W^1/2 with scaled rows, so both factors have the same relative accuracy, even if W is very
# small. lik_laplace_dense.R treats W with negative entries.
#
# A search optimises the parameters of the covariance, the parameters of the family and the coefficients of the trend.
# The table of parameters of `model` has rows for all three; `model$field` is the covariance model alone
# (gp_family_problem.R).

laplace_likelihood <- function(data, model, how, call = caller_env()) {
  field <- model$field
  factor <- covariance_factor(data, field, "cpu", call)
  product <- covariance_product(field)
  derivatives_of <- derivative_products(field)
  latest <- NULL
  evaluate <- function(theta, profile = FALSE, search = FALSE) {
    theta <- split_parameters(theta, model, data)
    nugget <- if (length(field$nugget)) theta$field[[field$nugget]] else 0
    times <- function(a) as.vector(product(list(theta = theta$field, x = data$u, y = data$u, b = a))) + nugget * a
    process <- dense_process(factor, times, theta$field, nugget)
    terms_at <- terms_of(data, theta)
    mode <- timed("mode", {
      highest <- latent_mode(process$newton, terms_at, mode_starts(latest, times, data))
      weighted_mode(highest, terms_at, process$posterior)
    })
    if (is.null(mode)) return(singular_state())
    if (data$family$density$one_mode) latest <<- mode$k
    posterior <- mode$posterior
    results <- c(mode, theta, list(
      value = -2 * sum(mode$terms$value) + sum(mode$h * mode$k) + posterior$logdet,
      trend = function() if (ncol(data$x)) posterior$trend(unname(data$x)) else no_trend(data)
    ))
    new_state(results, resolution = sum(value_rounding(mode$terms)), warn = function() warn_of_mode(mode),
              gradient = function() dense_laplace_gradient(factor, results, data, field),
              information = function(profiled = FALSE) {
                derivatives <- noisy_derivatives(derivatives_of, list(alpha = mode$k), data, field, theta$field)
                laplace_information(derivatives, posterior$inverse_times, results, data)
              })
  }
  new_likelihood(evaluate, dense = TRUE, kept_factor = function() keep_in(new_cell(), factor$blocks))
}

no_trend <- function(data) list(root = matrix(0, 0, 0), z = matrix(0, length(data$y), 0))

warn_of_mode <- function(mode) {
  if (!mode$converged) {
    cli::cli_warn(c("The mode of the process was not found in {mode$steps} step{?s}: the likelihood is not that of the
                     Laplace approximation.", i = "A field of smaller variance, or other starting values, may help."),
                  class = "kernops_not_converged")
  }
  if (is.null(mode$terms$curvature)) return(invisible())
  cli::cli_warn(c("The likelihood uses expected weights: with the second derivatives of the log density, the precision
                   of the process is not positive definite at the mode.",
                  i = "Outliers among neighbours cause this. Standard errors are those of the expected information."),
                class = c("kernops_expected_weights", "kernops_warning"))
}

# Splits theta into the parameters of the covariance, the parameters `own` of the family and the coefficients `beta` of
# the trend. `phi` are the parameters of the density, computed from `own`.
split_parameters <- function(theta, model, data) {
  theta <- unname(theta)
  count <- nrow(model$field$parameters)
  own <- theta[count + seq_len(nrow(data$family$parameters))]
  list(field = theta[seq_len(count)], own = own, phi = family_phi(data$family, own, data$u),
       beta = theta[-seq_len(count + length(own))])
}

# The gradient of the value with respect to all parameters. The mode depends on the parameters, and W depends on the
# mode; the vector u accounts for this dependence (Rasmussen and Williams 2006, 5.23 and 5.24). Let v be the variances
# of the process given the data, dW the derivatives of the weights W with respect to the process, and D the diagonal
# matrix of the negative second derivatives of the log density. Then s = v dW and u = (I + D K)^-1 s.
dense_laplace_gradient <- function(factor, state, data, field) {
  posterior <- state$posterior
  variance <- posterior$variances()
  change <- change_of_mode(variance * state$terms$bend, state$terms$curvature, posterior$change)
  u <- change$u
  # k k' - (u k' + k u') / 2
  left <- cbind(state$k - u / 2, u / 2, posterior$less)
  right <- cbind(state$k - u / 2, -u / 2, posterior$less)
  total <- factor$slope(state$field, left, right)
  if (length(field$nugget)) total[[field$nugget]] <- sum(factor$inverse_diagonal() - rowSums(left * right))
  c(total, family_gradient(state, data, variance, change$ku, u))
}

# The gradient with respect to the parameters of the family and the trend; ku = K u.
family_gradient <- function(state, data, variance, ku, u) {
  by <- dispersion_terms(state, data)
  total <- function(slopes) sum_by_parameter(slopes, state$phi, data)
  c(-2 * total(by$value) + total(variance * by$weight) + total(by$slope * ku),
    as.vector(crossprod(data$basis, u - 2 * state$k)))
}

dispersion_terms <- function(state, data, phi = state$phi) {
  none <- matrix(0, length(data$y), 0)
  if (!length(phi)) return(list(value = none, slope = none, weight = none))
  density_dispersion(data$family, data$y, data$prior, state$terms$eta, phi, !is.null(state$terms$curvature))
}

# The information matrix for the search. The blocks for the covariance and for the trend are the information matrices of
# the Gaussian model that has the same mode. The block for the covariance is the average information, computed from the
# columns dK k. inverse_times(b) multiplies b by the inverse of the covariance matrix of this Gaussian model. The block
# for the family is the information of the log density for a fixed process.
laplace_information <- function(derivatives, inverse_times, state, data) {
  gaussian <- list(alpha = state$k, z = matrix(0, length(data$y), 0), scale = 1)
  covariance <- average_information(derivatives, gaussian, inverse_times, FALSE, 0)
  trend <- crossprod(data$basis, inverse_times(data$basis))
  trend <- (trend + t(trend)) / 2 # iterative solutions are inexact
  family <- lapply(seq_along(state$phi), parameter_information, state, data)
  blocks <- c(list(covariance), family, list(2 * trend))
  sizes <- vapply(blocks, nrow, 0L)
  whole <- matrix(0, sum(sizes), sum(sizes))
  for (n in seq_along(blocks)) {
    rows <- sum(sizes[seq_len(n - 1)]) + seq_len(sizes[[n]])
    whole[rows, rows] <- blocks[[n]]
  }
  whole
}

# The information on parameter n of the family for a fixed process.
parameter_information <- function(n, state, data) {
  phi <- state$phi
  slopes <- function(phi) dispersion_terms(state, data, phi)$value[, n]
  predictor <- data$family$predictors[[names(phi)[[n]]]]
  if (!is.null(predictor)) {
    return(predictor_information(predictor, parameter_link(data$family, names(phi)[[n]]), n, phi, slopes, data$u))
  }
  slope <- function(factor) sum(slopes(replace(phi, n, phi[[n]] * factor)))
  matrix(max(1 / phi[[n]]^2, -2 * (slope(1.001) - slope(0.999)) / (0.002 * phi[[n]])))
}
