# How observations y depend on the linear predictor eta: log density and derivatives.
#
# A density is a list of functions of y, the weights w, eta, phi (the parameters of the family, a named vector) and the
# link:
#   terms       value, the log density; slope, its derivative wrt eta; weight, minus the second derivative (or its
#               expectation); bend, the derivative of the weight
#   dispersion  the derivatives of value, slope and weight wrt each of phi: a list of three matrices
#   mean, variance  of an observation given eta (and the mean)
#   deviance    twice what the log density is below its maximum
#   draw, cdf   of observations given eta
# `one_mode`: whether the log density is concave, so that the process has one mode.

# log(1 + exp(x)), without overflow.
log1pexp <- function(x) -stats::plogis(-x, log.p = TRUE)

poisson_density <- list(
  one_mode = TRUE, discrete = TRUE,
  terms = function(y, w, eta, phi, link) {
    mu <- exp(eta)
    list(value = w * (y * eta - mu - lgamma(y + 1)), slope = w * (y - mu), weight = w * mu, bend = w * mu)
  },
  mean = function(eta, phi, link) exp(eta),
  variance = function(mu, w, phi) mu / w,
  deviance = function(y, mu, w, phi) 2 * w * (ifelse(y > 0, y * log(y / mu), 0) - (y - mu)),
  draw = function(eta, w, phi, link) stats::rpois(length(eta), exp(eta)),
  cdf = function(q, eta, w, phi, link) stats::ppois(q, exp(eta))
)

# y is the proportion of successes among w trials.
binomial_density <- list(
  one_mode = TRUE, discrete = TRUE,
  terms = function(y, w, eta, phi, link) {
    log_p <- log_probability(eta, link)
    steps <- success_steps(y, eta, link)
    value <- lchoose(w, w * y) + w * (ifelse(y > 0, y * log_p$success, 0) + ifelse(y < 1, (1 - y) * log_p$failure, 0))
    c(list(value = value), lapply(steps, `*`, w))
  },
  mean = function(eta, phi, link) exp(log_probability(eta, link)$success),
  variance = function(mu, w, phi) mu * (1 - mu) / w,
  deviance = function(y, mu, w, phi) {
    2 * w * (ifelse(y > 0, y * log(y / mu), 0) + ifelse(y < 1, (1 - y) * log((1 - y) / (1 - mu)), 0))
  },
  draw = function(eta, w, phi, link) {
    stats::rbinom(length(eta), as.integer(round(w)), exp(log_probability(eta, link)$success)) / w
  },
  cdf = function(q, eta, w, phi, link) {
    stats::pbinom(q * w + 1e-9 * w, round(w), exp(log_probability(eta, link)$success))
  }
)

log_probability <- function(eta, link) {
  switch(link,
    logit = list(success = stats::plogis(eta, log.p = TRUE), failure = stats::plogis(-eta, log.p = TRUE)),
    probit = list(success = stats::pnorm(eta, log.p = TRUE), failure = stats::pnorm(-eta, log.p = TRUE)),
    cloglog = {
      m <- exp(eta)
      # the logarithm of 1 - exp(-m)
      list(success = ifelse(m > log(2), log1p(-exp(-m)), log(-expm1(-m))), failure = -m)
    }
  )
}

# Derivatives for one trial.
success_steps <- function(y, eta, link) {
  if (link == "logit") {
    p <- stats::plogis(eta)
    q <- stats::plogis(-eta)
    return(list(slope = y * q - (1 - y) * p, weight = p * q, bend = p * q * (q - p)))
  }
  if (link == "probit") {
    log_p <- log_probability(eta, link)
    up <- exp(stats::dnorm(eta, log = TRUE) - log_p$success)
    down <- exp(stats::dnorm(eta, log = TRUE) - log_p$failure)
    return(list(slope = y * up - (1 - y) * down, weight = y * up * (eta + up) + (1 - y) * down * (down - eta),
                bend = y * up * (1 - (eta + up) * (eta + 2 * up)) +
                  (1 - y) * down * ((down - eta) * (2 * down - eta) - 1)))
  }
  m <- pmax(exp(eta), .Machine$double.xmin)
  a <- m / expm1(m) # the derivative of the logarithm of 1 - exp(-m)
  rest <- ifelse(m < 1e-4, -m / 2 - m^2 / 12, 1 - m - a)
  list(slope = y * a - (1 - y) * m, weight = -y * a * rest + (1 - y) * m,
       bend = -y * a * (rest^2 - m - a * rest) + (1 - y) * m)
}

negative_binomial_density <- list(
  one_mode = TRUE, discrete = TRUE,
  terms = function(y, w, eta, phi, link) {
    size <- phi[["theta"]]
    share <- stats::plogis(eta - log(size)) # mu / (size + mu)
    rest <- stats::plogis(log(size) - eta)
    value <- lgamma(y + size) - lgamma(size) - lgamma(y + 1) + y * stats::plogis(eta - log(size), log.p = TRUE) +
      size * stats::plogis(log(size) - eta, log.p = TRUE)
    # rounding makes the probability 1 for a mean near 0, and 0 for a step of the search that is far too long
    inner <- rest > 0 & rest < 1
    value[inner] <- stats::dnbinom(y[inner], size = size, prob = rest[inner], log = TRUE)
    list(value = w * value, slope = w * (y * rest - size * share), weight = w * (y + size) * share * rest,
         bend = w * (y + size) * share * rest * (rest - share))
  },
  dispersion = function(y, w, eta, phi, link) {
    size <- phi[["theta"]]
    share <- stats::plogis(eta - log(size))
    rest <- stats::plogis(log(size) - eta)
    value <- digamma(y + size) - digamma(size) - log1pexp(eta - log(size)) + share - y * rest / size
    list(value = cbind(w * value), slope = cbind(w * share * (y * rest / size - share)),
         weight = cbind(w * share * (y * rest * (share - rest) + 2 * size * rest * share) / size))
  },
  mean = function(eta, phi, link) exp(eta),
  variance = function(mu, w, phi) (mu + mu^2 / phi[["theta"]]) / w,
  deviance = function(y, mu, w, phi) {
    size <- phi[["theta"]]
    2 * w * (ifelse(y > 0, y * log(y / mu), 0) - (y + size) * log((y + size) / (mu + size)))
  },
  draw = function(eta, w, phi, link) stats::rnbinom(length(eta), size = phi[["theta"]], mu = exp(eta)),
  cdf = function(q, eta, w, phi, link) stats::pnbinom(q, size = phi[["theta"]], mu = exp(eta))
)

gamma_density <- list(
  one_mode = TRUE, discrete = FALSE,
  terms = function(y, w, eta, phi, link) {
    shape <- w * phi[["shape"]]
    ratio <- y * exp(-eta)
    list(value = shape * (log(shape) - eta - ratio) + (shape - 1) * log(y) - lgamma(shape),
         slope = shape * (ratio - 1), weight = shape * ratio, bend = -shape * ratio)
  },
  dispersion = function(y, w, eta, phi, link) {
    shape <- w * phi[["shape"]]
    ratio <- y * exp(-eta)
    list(value = cbind(w * (log(shape) + 1 + log(y) - eta - ratio - digamma(shape))), slope = cbind(w * (ratio - 1)),
         weight = cbind(w * ratio))
  },
  mean = function(eta, phi, link) exp(eta),
  variance = function(mu, w, phi) mu^2 / (w * phi[["shape"]]),
  deviance = function(y, mu, w, phi) 2 * w * ((y - mu) / mu - log(y / mu)),
  draw = function(eta, w, phi, link) {
    shape <- rep_len(w * phi[["shape"]], length(eta))
    stats::rgamma(length(eta), shape, shape / exp(eta))
  },
  cdf = function(q, eta, w, phi, link) stats::pgamma(q, w * phi[["shape"]], w * phi[["shape"]] / exp(eta))
)

# The weight is its expectation, which does not depend on eta.
student_density <- list(
  one_mode = FALSE, discrete = FALSE,
  terms = function(y, w, eta, phi, link) {
    df <- phi[["df"]]
    scale <- phi[["scale"]] / sqrt(w)
    r <- y - eta
    list(value = stats::dt(r / scale, df, log = TRUE) - log(scale), slope = (df + 1) * r / (df * scale^2 + r^2),
         weight = (df + 1) / (df + 3) / scale^2 + numeric(length(r)), bend = numeric(length(r)))
  },
  dispersion = function(y, w, eta, phi, link) {
    df <- phi[["df"]]
    scale <- phi[["scale"]] / sqrt(w)
    r <- y - eta
    total <- df * scale^2 + r^2
    by_df <- (digamma((df + 1) / 2) - digamma(df / 2) - 1 / df - log1p(r^2 / (df * scale^2)) +
                (df + 1) * r^2 / (df * total)) / 2
    by_scale <- (-1 + (df + 1) * r^2 / total) / phi[["scale"]]
    list(value = cbind(by_df, by_scale),
         slope = cbind(r / total - (df + 1) * r * scale^2 / total^2,
                       -2 * (df + 1) * r * df * scale^2 / total^2 / phi[["scale"]]),
         weight = cbind(2 / (df + 3)^2 / scale^2, -2 * (df + 1) / (df + 3) / scale^2 / phi[["scale"]]) +
           matrix(0, length(r), 2))
  },
  mean = function(eta, phi, link) eta,
  variance = function(mu, w, phi) {
    df <- phi[["df"]]
    (if (df > 2) phi[["scale"]]^2 * df / (df - 2) else Inf) / w + 0 * mu
  },
  deviance = function(y, mu, w, phi) (phi[["df"]] + 1) * log1p(w * (y - mu)^2 / (phi[["df"]] * phi[["scale"]]^2)),
  draw = function(eta, w, phi, link) eta + phi[["scale"]] / sqrt(w) * stats::rt(length(eta), phi[["df"]]),
  cdf = function(q, eta, w, phi, link) stats::pt((q - eta) * sqrt(w) / phi[["scale"]], phi[["df"]])
)
