# The mode of the process given the data, by Newton's method, and the weights of the observations at the mode.
#
# `terms` is a result of density_terms(): the log density and its derivatives. The weights are the negative second
# derivatives. If the log density is not concave, weights may be negative, and Newton's steps use the `expected` weights
# instead.

# Returns a function that computes the log density and its derivatives at a process h. In the result of this function,
# the weights for Newton's steps are positive.
terms_of <- function(data, state) {
  family <- data$family
  mean <- data$offset + as.vector(data$basis %*% state$beta)
  constant <- density_constant(family, data$y, data$prior, state$phi)
  function(h, fallback = FALSE) {
    terms <- density_terms(family, data$y, data$prior, mean + h, state$phi, constant, fallback)
    positive <- if (is.null(terms$expected)) "weight" else "expected"
    terms[[positive]] <- pmax(terms[[positive]], least_weight)
    c(terms, list(eta = mean + h))
  }
}
least_weight <- 1e-100

# The weights of Newton's steps, which are positive.
step_weights <- function(terms) terms$expected %||% terms$weight

# The weights after expected weights have replaced negative and small weights.
positive_weights <- function(terms) {
  low <- which(terms$weight < 0.01 * step_weights(terms))
  pmax(replace(terms$weight, low, terms$expected[low]), least_weight)
}

# The mode, with the weights that the determinant uses, and with `posterior`, the result of posterior_of(terms).
# posterior_of() returns NULL if the precision of the process given the data is not positive definite. In this case, and
# if `fallback` is TRUE, posterior_of() is called again with the expected weights.
weighted_mode <- function(mode, terms_at, posterior_of, fallback = TRUE) {
  if (is.null(mode)) return(NULL)
  posterior <- posterior_of(mode$terms)
  if (is.null(posterior) && fallback && !is.null(mode$terms$expected)) {
    mode$terms <- terms_at(mode$h, fallback = TRUE)
    posterior <- posterior_of(mode$terms)
  }
  if (!is.null(posterior)) replace(mode, "posterior", list(posterior))
}

# The process h of highest density given the data, computed by Newton's method with halved steps. Returns a list of h, k
# = K^-1 h, the `terms` at h, and `converged`. newton(state, terms) returns the next state, or NULL if a matrix is
# singular. The last call of newton() is at the mode. The slope of a step is the derivative, along the step, of the
# joint log density of the data and the process. Near the mode, the slope of each step must be at most `decrease` times
# the slope of the previous step, until the slope is about as small as rounding errors. Rounding errors are large if
# observations are large counts. Therefore the search stops when the slope is within the rounding error of its terms,
# and a step is not halved if its gain is within the rounding error of the density.
latent_mode <- function(newton, terms_at, starts, maxit = 500, enough = 1e-24, decrease = 1) {
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
      (slope <= 1e-10 * size && slope >= decrease * before)
    # for a process without variance, the start is already the mode, but one step is needed to determine k
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

# The size of the rounding errors of log densities and of their derivatives. A log density, for example of a count, is a
# difference of terms, and its rounding error is proportional to these terms.
value_rounding <- function(terms) {
  .Machine$double.eps * step_weights(terms) * (1 + abs(terms$eta))
}

# Starting values of a search for the mode: a process that is zero everywhere, and the mode at the latest parameters.
mode_starts <- function(k, times, data) {
  none <- numeric(length(data$y))
  c(list(list(h = none, k = none)), if (!is.null(k)) list(list(h = times(k), k = k)))
}

# Newton's step for weights that may be negative. Conjugate gradients compute the step, and stop at a direction in which
# the joint density is not concave. The first direction is the step with the expected weights, step_solve(b).
curved_step <- function(state, terms, step_solve) {
  change <- change_of_mode(terms$slope - state$k, terms$weight, step_solve, enough = 1e-12)
  if (!is.null(change)) list(h = state$h + change$ku, k = state$k + change$u)
}

# The solution `u` of (I + D K) u = s, and `ku` = K u, where D is the diagonal matrix of the negative second derivatives
# of the log density. step_solve(s) returns the solution with weights W in place of D, or NULL if a matrix is singular.
# Conjugate gradients with the preconditioner K^-1 + W solve (K^-1 + D) K u = s for K u. The inverse of K is not needed,
# because each direction is K q for a known q.
change_of_mode <- function(s, curvature, step_solve, maxit = 500, enough = 1e-26) {
  step <- step_solve(s)
  if (is.null(step) || is.null(curvature) || all(s == 0)) return(step)
  u <- ku <- p <- along <- 0
  r <- s
  rho <- first <- Inf
  for (iteration in seq_len(maxit)) {
    before <- rho
    rho <- sum(r * step$ku)
    if (iteration == 1) first <- rho
    if (rho <= enough * first) break
    ratio <- if (iteration > 1) rho / before else 0
    p <- step$ku + ratio * p
    along <- step$u + ratio * along
    product <- along + curvature * p
    if (sum(p * product) <= 0) break
    size <- rho / sum(p * product)
    ku <- ku + size * p
    u <- u + size * along
    r <- r - size * product
    step <- step_solve(r)
  }
  if (identical(u, 0)) step else list(u = u, ku = ku)
}
