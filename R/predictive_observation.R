# Predictives of new observations of a family, whose linear predictor is normal.

# `normal` is the predictive distribution of the linear predictor, including the nugget. `weights` are the numbers of
# trials, or the prior weights. If the family is normal, the result is a normal predictive distribution.
predictive_observation <- function(normal, object, weights = 1) {
  noise <- object$family$density$noise
  if (!is.null(noise)) return(predictive_normal(normal$mean, normal$variance + noise(object$phi, weights)))
  new_predictive("observation", normal = normal, family = object$family, phi = object$phi,
                 weights = weights)
}

# The mean of f(eta) over the normal distribution of the linear predictor eta.
average_over_eta <- function(x, f) average(x$normal$mean, sqrt(x$normal$variance), f)

mean.pred_observation <- function(x, ...) average_over_eta(x, function(eta) mean_of(x, eta))

variance.pred_observation <- function(x) {
  centre <- mean(x)
  average_over_eta(x, function(eta) {
    mu <- mean_of(x, eta)
    (mu - centre)^2 + x$family$density$variance(mu, x$weights, x$phi)
  })
}

cdf.pred_observation <- function(x, q, lower = TRUE) {
  q <- rep_len(q, length(x$normal$mean))
  below <- average_over_eta(x, function(eta) x$family$density$cdf(q, eta, x$weights, x$phi, x$family$link))
  if (lower) below else 1 - below
}

draw.pred_observation <- function(x, count) {
  eta <- draw(x$normal, count)
  each <- x$family$density$draw(as.vector(eta), rep_len(x$weights, length(eta)), x$phi, x$family$link)
  matrix(each, nrow(eta))
}

# The logarithm of the predictive density of y, or of the probability of y if responses are discrete.
log_density <- function(x, y) UseMethod("log_density")

log_density.pred_normal <- function(x, y) stats::dnorm(y, x$mean, sqrt(x$variance), log = TRUE)

log_density.pred_observation <- function(x, y) {
  log_average(x$normal$mean, sqrt(x$normal$variance), function(eta) {
    density_terms(x$family, y, x$weights, eta, x$phi)$value
  })
}

quantile.pred_observation <- function(x, p, ...) mix_quantile(x, predictive_mixture(list(x), 1), p)

# The smallest value whose cumulative probability is at least p, by bisection for all points at once.
mix_quantile.pred_observation <- function(x, mixture, p) {
  discrete <- x$family$density$discrete
  middle <- weighted_parts(mixture, function(part) part$normal$mean)
  far <- each_part(mixture, function(part) part$normal$mean + 12 * sqrt(part$normal$variance))
  first <- first_bracket(x, middle, far)
  low <- first$low
  high <- first$high
  unit <- first$unit
  known <- is.finite(middle)
  settled <- 0
  while (any(short <- known & cdf(mixture, high) < p) && (settled <- settled + 1) < 60) {
    high[short] <- low[short] + 2 * (high[short] - low[short])
  }
  if (x$family$link == "identity") {
    while (any(long <- known & cdf(mixture, low) > p) && (settled <- settled + 1) < 120) {
      low[long] <- high[long] - 2 * (high[long] - low[long])
    }
  }
  # the quantile is 0 if the probability of zero is at least p
  if (!discrete && x$family$link != "identity") {
    zero <- known & low == 0 & cdf(mixture, low) >= p
    high[zero] <- 0
  }
  if (discrete) high <- ceiling(high / unit - 1e-9) * unit
  repeat {
    half <- (low + high) / 2
    if (discrete) half <- floor(half / unit + 1e-9) * unit
    open <- if (discrete) high - low > 1.5 * unit else high - low > 1e-10 * pmax(abs(high), abs(low))
    open <- open & known
    if (!any(open)) return(high)
    enough <- cdf(mixture, half) >= p
    high[open & enough] <- half[open & enough]
    low[open & !enough] <- half[open & !enough]
  }
}

# The first interval `low` to `high` of the search for quantiles, and the `unit`, the distance between discrete values.
# The interval is computed from the mean response at two values of the linear predictor: `middle`, and the largest
# number in each row of `extremes`.
first_bracket <- function(x, middle, extremes) {
  any <- rep(1, length(middle))
  if (x$family$density$response == "binomial") return(list(low = -any / x$weights, high = any, unit = value_unit(x)))
  highest <- extremes[cbind(seq_len(nrow(extremes)), max.col(replace(extremes, !is.finite(extremes), -Inf), "first"))]
  edge <- mean_of(x, highest)
  low <- if (x$family$link == "identity") 2 * middle - edge else if (x$family$density$discrete) -1 else 0
  list(low = low * any, high = pmax(edge, mean_of(x, middle) + 1), unit = 1)
}

# The difference between adjacent possible values of a discrete response.
value_unit <- function(x) if (x$family$density$response == "binomial") 1 / x$weights else 1
