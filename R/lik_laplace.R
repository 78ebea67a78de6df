# The Laplace approximation for observations of a family (gp_family.R): the density of y, the process integrated out.
#
# With h the process at its mode given y, k = K^-1 h, and W minus the second derivatives of the log density there,
#   -2 log p(y) = -2 log p(y | h) + h' k + log det(K + W^-1) + log det W
# (Rasmussen and Williams 2006, 3.32, with det(I + KW) = det(K + W^-1) det W). The factor of K + W^-1 is that of
# I + W^1/2 K W^1/2 with its rows scaled, and so has its accuracy, however small W is.
#
# The parameters of the search are those of the covariance, of the family and the trend: `model` is the covariance model
# with more rows of parameters, and `field`, the covariance model itself (gp_family_problem.R).

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
    newton <- dense_newton(factor, times, theta$field, nugget)
    mode <- timed("mode", latent_mode(newton, terms_of(data, theta), mode_starts(latest, times, data)))
    if (is.null(mode)) return(singular_state())
    if (data$family$density$one_mode) latest <<- mode$k
    logdet <- 2 * sum(log(factor$diagonal()))
    value <- -2 * sum(mode$terms$value) + sum(mode$h * mode$k) + logdet + sum(log(mode$terms$weight))
    results <- c(mode, theta, list(value = value))
    # K^-1 h for predictions is that of a Gaussian model with response h + slope / W and noise 1 / W
    results$trend <- function() {
      if (!ncol(data$x)) return(no_trend(data))
      white <- qr(factor$solve(unname(data$x)), LAPACK = FALSE)
      list(root = qr.R(white), z = factor$solve(qr.Q(white), transposed = TRUE))
    }
    new_state(results, resolution = sum(value_rounding(mode$terms)), warn = function() warn_unless_mode(mode),
              gradient = function() dense_laplace_gradient(factor, results, data, field),
              information = function(profiled = FALSE) {
                derivatives <- noisy_derivatives(derivatives_of, list(alpha = mode$k), data, field, theta$field)
                laplace_information(derivatives, factor$inverse_times, results, data)
              })
  }
  new_likelihood(evaluate, dense = TRUE, kept_factor = function() keep_in(new_cell(), factor$blocks))
}

no_trend <- function(data) list(root = matrix(0, 0, 0), z = matrix(0, length(data$y), 0))

warn_unless_mode <- function(mode) {
  if (mode$converged) return(invisible())
  cli::cli_warn(c("The mode of the process was not found in {mode$steps} step{?s}: the likelihood is not that of the
                   Laplace approximation.", i = "A field of smaller variance, or other starting values, may help."),
                class = "kernops_not_converged")
}

# theta as parameters of the covariance, of the family (`own`; `phi` are those of its density) and of the trend.
split_parameters <- function(theta, model, data) {
  theta <- unname(theta)
  count <- nrow(model$field$parameters)
  own <- theta[count + seq_len(nrow(data$family$parameters))]
  list(field = theta[seq_len(count)], own = own, phi = family_phi(data$family, own, data$u),
       beta = theta[-seq_len(count + length(own))])
}

# The density and its derivatives at a process h, as functions of it. No weight is zero.
terms_of <- function(data, state) {
  family <- data$family
  mean <- data$offset + as.vector(data$basis %*% state$beta)
  constant <- density_constant(family, data$y, data$prior, state$phi)
  function(h) {
    terms <- density_terms(family, data$y, data$prior, mean + h, state$phi, constant)
    terms$weight <- pmax(terms$weight, least_weight)
    c(terms, list(eta = mean + h))
  }
}
least_weight <- 1e-100

# The process h of highest density given the data, by Newton's method with halved steps: a list of h, k = K^-1 h and the
# `terms` there, and `converged`. newton(state, terms) returns the next state, NULL where a matrix is singular. The last
# call of newton() is at the mode. Near the mode, each slope is at most `less` times the previous one, down to the last
# digits. Rounding errors are relative to large counts: the search stops where the slope is within the rounding error of
# its terms, and takes whole steps where their gain is within the rounding error of the height.
latent_mode <- function(newton, terms_at, starts, maxit = 500, enough = 1e-24, less = 1) {
  height <- function(state) {
    state$terms <- terms_at(state$h)
    state$height <- sum(state$terms$value) - sum(state$h * state$k) / 2
    if (is.na(state$height)) state$height <- -Inf
    state
  }
  tried <- lapply(starts, height)
  state <- tried[[which.max(vapply(tried, `[[`, 0, "height"))]]
  converged <- FALSE
  before <- Inf
  for (iteration in seq_len(maxit)) {
    to <- newton(state, state$terms)
    if (is.null(to) || !all(is.finite(to$h))) return(NULL)
    move <- list(h = to$h - state$h, k = to$k - state$k)
    slope <- sum(move$h * (state$terms$slope - state$k))
    size <- 1 + sum(abs(state$h * state$k))
    rounding <- value_rounding(state$terms)
    converged <- slope <= max(enough * size, sum(abs(move$h) * rounding)) ||
      (slope <= 1e-10 * size && slope >= less * before)
    # of a process without variance, k is known after a step
    if (converged && (iteration > 1 || any(state$k != 0))) break
    before <- slope
    for (half in 0:40) {
      step <- 2^-half
      trial <- height(list(h = state$h + step * move$h, k = state$k + step * move$k))
      if (trial$height >= state$height + 1e-4 * step * slope - 1e-13 * abs(state$height)) break
      if (is.finite(trial$height) && slope <= 4 * sum(rounding)) break
    }
    state <- trial
  }
  c(state, list(converged = converged, steps = iteration))
}

# Rounding errors of log densities, such as those of counts, relative to the terms of their differences.
value_rounding <- function(terms) .Machine$double.eps * terms$weight * (1 + abs(terms$eta))

# Starts of a search for the mode: a process of zero, and the mode at the latest parameters.
mode_starts <- function(k, times, data) {
  none <- numeric(length(data$y))
  c(list(list(h = none, k = none)), if (!is.null(k)) list(list(h = times(k), k = k)))
}

dense_newton <- function(factor, times, theta, nugget) {
  last <- NULL
  function(state, terms) {
    if (!identical(terms$weight, last)) {
      if (factor$refill(theta, 1 / terms$weight + nugget) > 0) return(NULL)
      last <<- terms$weight
    }
    if (is.null(terms$curvature)) {
      k <- as.vector(factor$solve(factor$solve(state$h + terms$slope / terms$weight), TRUE))
      return(list(h = times(k), k = k))
    }
    curved_step(state, terms, function(b) as.vector(factor$solve(factor$solve(b / terms$weight), TRUE)))
  }
}

# Newton's step where minus the second derivatives are not the weights, as far as the joint density is concave; at least
# a step with the weights.
curved_step <- function(state, terms, solve_weighted) {
  change <- change_of_mode(terms$slope - state$k, terms, solve_weighted, enough = 1e-12)
  if (!is.null(change)) list(h = state$h + change$ku, k = state$k + change$u)
}

# The gradient of the value in all parameters. The mode depends on the parameters, and W on the mode: u accounts for
# this (Rasmussen and Williams 2006, 5.23 and 5.24). With v the variances of the process given the data, s = v dW and
# u = (I + D K)^-1 s, where D is minus the second derivatives.
dense_laplace_gradient <- function(factor, state, data, field) {
  weight <- state$terms$weight
  variance <- (1 - factor$diagonal_of_inverse() / weight) / weight
  s <- variance * state$terms$bend
  change <- change_of_mode(s, state$terms, function(b) as.vector(factor$solve(factor$solve(b / weight), TRUE)))
  u <- change$u
  # k k' - (u k' + k u') / 2
  left <- cbind(state$k - u / 2, u / 2)
  right <- cbind(state$k - u / 2, -u / 2)
  total <- factor$slope(state$field, left, right)
  if (length(field$nugget)) total[[field$nugget]] <- sum(factor$inverse_diagonal() - rowSums(left * right))
  c(total, family_gradient(state, data, variance, change$ku, u))
}

# The solution u of (I + D K) u = s and K u, where D is minus the second derivatives of the log density.
# solve_weighted(b) solves the equation with the weights W for D. Where D differs from W, K u is the solution of (K^-1 +
# D) K u = s by conjugate gradients with the preconditioner K^-1 + W; the inverse of K is not needed, as each direction
# is K q for a known q.
change_of_mode <- function(s, terms, solve_weighted, maxit = 500, enough = 1e-26) {
  weight <- terms$weight
  q <- solve_weighted(s)
  if (is.null(q)) return(NULL)
  if (is.null(terms$curvature) || all(s == 0)) return(list(u = q, ku = (s - q) / weight))
  u <- ku <- p <- 0
  r <- s
  rho <- first <- Inf
  along <- 0
  for (step in seq_len(maxit)) {
    y <- (r - q) / weight
    before <- rho
    rho <- sum(r * y)
    if (step == 1) first <- rho
    if (rho <= enough * first) break
    p <- y + (if (step > 1) rho / before else 0) * p
    along <- q + (if (step > 1) rho / before else 0) * along
    product <- along + terms$curvature * p
    if (sum(p * product) <= 0) break
    size <- rho / sum(p * product)
    ku <- ku + size * p
    u <- u + size * along
    r <- r - size * product
    q <- solve_weighted(r)
  }
  if (identical(u, 0)) list(u = q, ku = y) else list(u = u, ku = ku)
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
  density_dispersion(data$family, data$y, data$prior, state$terms$eta, phi)
}

# The information for the search. The parts of the covariance (average information, from the columns dK k) and of the
# trend are those of the Gaussian model with the same mode, whose inverse covariance is inverse_times(b); the part of
# the family is that of the log density for a fixed process.
laplace_information <- function(derivatives, inverse_times, state, data) {
  gaussian <- list(alpha = state$k, z = matrix(0, length(data$y), 0), scale = 1)
  covariance <- average_information(derivatives, gaussian, inverse_times, FALSE, 0)
  trend <- crossprod(data$basis, inverse_times(data$basis))
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

# The part of parameter n of the family, for a fixed process.
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
