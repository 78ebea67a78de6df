# Test cases, one for each family. A case has the log density as a function in plain R, whose arguments are a response
# y, the weight w of the response, the linear predictor eta and the parameters phi of the family. The case also has the
# responses, parameters and weights that the test uses, and the link. If the log density is not concave, `expected` has
# the expected weights: minus the expected second derivatives.

density_case <- function(log_density, y, phi = numeric(), w = c(1, 2.5), link = NULL, expected = NULL, classes = NULL,
                         constants = list()) {
  mget(names(formals()))
}
# weights of a quasi-likelihood: (d mean / d eta)^2 / variance
quasi <- \(slope, variance) \(w, eta, phi) w * slope(eta)^2 / variance(eta, w, phi)
few <- c(0, 1, 2, 7, 40)
reals <- c(-3.7, 0.2, 1, 60)
sizes <- c(1e-3, 0.2, 1, 60)
success_cases <- function(log_p, log_q, link, expected = NULL) {
  density_case(\(y, w, eta, phi) lchoose(w, w * y) + ifelse(y > 0, w * y * log_p(eta), 0) +
                 ifelse(y < 1, w * (1 - y) * log_q(eta), 0), c(0, 0.4, 1), w = c(5, 10), link = link,
               expected = expected)
}

oracle_densities <- function() list(
  poisson = density_case(\(y, w, eta, phi) w * dpois(y, exp(eta), log = TRUE), few),
  binomial = success_cases(\(e) plogis(e, log.p = TRUE), \(e) plogis(-e, log.p = TRUE), "logit"),
  binomial = success_cases(\(e) pnorm(e, log.p = TRUE), \(e) pnorm(-e, log.p = TRUE), "probit"),
  binomial = success_cases(\(e) ifelse(e < -20, e, log(-expm1(-exp(e)))), \(e) -exp(e), "cloglog"),
  binomial = success_cases(\(e) pcauchy(e, log.p = TRUE), \(e) pcauchy(-e, log.p = TRUE), "cauchit",
                           expected = \(w, eta, phi) w * dcauchy(eta)^2 / (pcauchy(eta) * pcauchy(-eta))),
  negative_binomial = density_case(\(y, w, eta, phi) w * dnbinom(y, phi[1], mu = exp(eta), log = TRUE), few,
                                   c(theta = 1.7)),
  Gamma = density_case(\(y, w, eta, phi) dgamma(y, w * phi[1], w * phi[1] / exp(eta), log = TRUE), sizes,
                       c(shape = 2.3)),
  gaussian = density_case(\(y, w, eta, phi) dnorm(y, eta, phi[1] / sqrt(w), log = TRUE), reals, c(sigma = 0.7)),
  student = density_case(\(y, w, eta, phi) dt((y - eta) * sqrt(w) / phi[2], phi[1], log = TRUE) + log(w) / 2 -
                           log(phi[2]), reals, c(df = 4.5, scale = 0.7),
                         expected = \(w, eta, phi) w * (phi[1] + 1) / (phi[1] + 3) / phi[2]^2 + 0 * eta),
  negative_binomial_1 = density_case(
    \(y, w, eta, phi) w * dnbinom(y, exp(eta) / phi[1], 1 / (1 + phi[1]), log = TRUE), c(few, 400), c(alpha = 0.8),
    expected = quasi(exp, \(eta, w, phi) exp(eta) * (1 + phi[1]))
  ),
  generalised_poisson = density_case(\(y, w, eta, phi) {
    rate <- exp(eta) * (1 - phi[1])
    w * (log(rate) + (y - 1) * log(rate + phi[1] * y) - rate - phi[1] * y - lgamma(y + 1))
  }, few, c(delta = 0.3), expected = quasi(exp, \(eta, w, phi) exp(eta) / (1 - phi[1])^2)),
  truncated_poisson = density_case(
    \(y, w, eta, phi) w * (dpois(y, exp(eta), log = TRUE) - log_any(exp(eta))), few[-1]
  ),
  truncated_negative_binomial = density_case(\(y, w, eta, phi) {
    w * (dnbinom(y, phi[1], mu = exp(eta), log = TRUE) - log_any(phi[1] * log1p(exp(eta) / phi[1])))
  }, few[-1], c(theta = 1.7)),
  beta_binomial = density_case(\(y, w, eta, phi) {
    a <- phi[1] * plogis(eta)
    b <- phi[1] * plogis(-eta)
    lchoose(w, w * y) + lbeta(a + w * y, b + w * (1 - y)) - lbeta(a, b)
  }, c(0, 0.4, 1), c(precision = 3), c(5, 10), expected = \(w, eta, phi) {
    w * dlogis(eta)^2 / (dlogis(eta) * (phi[1] + w) / (phi[1] + 1))
  }),
  hurdle_poisson = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[1]), log(1 - phi[1]) + dpois(y, exp(eta), log = TRUE) - log_any(exp(eta)))
  }, few, c(zero = 0.3)),
  hurdle_negative_binomial = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[2]), log(1 - phi[2]) + dnbinom(y, phi[1], mu = exp(eta), log = TRUE) -
                 log_any(phi[1] * log1p(exp(eta) / phi[1])))
  }, few, c(theta = 1.7, zero = 0.3)),
  zero_inflated_poisson = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[1] + (1 - phi[1]) * exp(-exp(eta))), log(1 - phi[1]) + dpois(y, exp(eta), log = TRUE))
  }, few, c(zi = 0.3), expected = information(\(y, eta, phi) {
    ifelse(y == 0, phi[1] + (1 - phi[1]) * exp(-exp(eta)), (1 - phi[1]) * dpois(y, exp(eta)))
  })),
  zero_inflated_negative_binomial = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[2] + (1 - phi[2]) * dnbinom(0, phi[1], mu = exp(eta))),
               log(1 - phi[2]) + dnbinom(y, phi[1], mu = exp(eta), log = TRUE))
  }, few, c(theta = 1.7, zi = 0.3), expected = information(\(y, eta, phi) {
    phi[2] * (y == 0) + (1 - phi[2]) * dnbinom(y, phi[1], mu = exp(eta))
  })),
  inverse_gaussian = density_case(\(y, w, eta, phi) {
    shape <- w * phi[1]
    log(shape / (2 * pi * y^3)) / 2 - shape * (y - exp(eta))^2 / (2 * exp(2 * eta) * y)
  }, sizes, c(shape = 2.3), expected = \(w, eta, phi) w * phi[1] * exp(-eta)),
  lognormal = density_case(\(y, w, eta, phi) w * dlnorm(y, eta - phi[1]^2 / 2, phi[1], log = TRUE), sizes,
                           c(sigma = 0.7)),
  weibull = density_case(\(y, w, eta, phi) {
    scale <- exp(eta) / gamma(1 + 1 / phi[1])
    w * ifelse(y > 0, dweibull(abs(y), phi[1], scale, log = TRUE),
               pweibull(abs(y), phi[1], scale, lower.tail = FALSE, log.p = TRUE))
  }, c(sizes, -sizes), c(shape = 1.4)),
  exponential = density_case(\(y, w, eta, phi) {
    w * ifelse(y > 0, dexp(y, exp(-eta), log = TRUE), pexp(-y, exp(-eta), lower.tail = FALSE, log.p = TRUE))
  }, c(sizes, -sizes)),
  tweedie = density_case(tweedie_density, c(0, sizes), c(dispersion = 0.9, power = 1.4)),
  delta_gamma = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[2]),
               log(1 - phi[2]) + dgamma(ifelse(y > 0, y, 1), phi[1], phi[1] / exp(eta), log = TRUE))
  }, c(0, sizes), c(shape = 2.3, zero = 0.3)),
  delta_lognormal = density_case(\(y, w, eta, phi) {
    w * ifelse(y == 0, log(phi[2]),
               log(1 - phi[2]) + dlnorm(ifelse(y > 0, y, 1), eta - phi[1]^2 / 2, phi[1], log = TRUE))
  }, c(0, sizes), c(sigma = 0.7, zero = 0.3)),
  beta = density_case(\(y, w, eta, phi) {
    w * dbeta(y, phi[1] * plogis(eta), phi[1] * plogis(-eta), log = TRUE)
  }, c(1e-6, 0.3, 0.9), c(precision = 3), expected = \(w, eta, phi) {
    w * dlogis(eta)^2 * phi[1]^2 * (trigamma(phi[1] * plogis(eta)) + trigamma(phi[1] * plogis(-eta)))
  }),
  ordered = density_case(ordered_density(pnorm), 1:4, c(gap2 = 0.4, gap3 = 1.1), link = "probit", classes = 4),
  ordered = density_case(ordered_density(plogis), 1:4, c(gap2 = 0.4, gap3 = 1.1), link = "logit", classes = 4),
  tobit = density_case(\(y, w, eta, phi) {
    w * ifelse(y <= -1, pnorm(-1, eta, phi[1], log.p = TRUE),
               ifelse(y >= 2, pnorm(2, eta, phi[1], lower.tail = FALSE, log.p = TRUE), dnorm(y, eta, phi[1], TRUE)))
  }, c(-1, 0.2, 2), c(sigma = 0.7), constants = list(left = -1, right = 2))
)

# The logarithm of the probability that at least one event occurs, for a Poisson number of events with mean m.
log_any <- \(m) ifelse(m < 1e-8, log(m) - m / 2, log(-expm1(-m)))

# The expected squared score, as a sum over the counts 0 to 400; the scores are finite differences.
information <- \(probability) \(w, eta, phi) w * mapply(\(eta) {
  y <- 0:400
  p <- probability(y, eta, phi)
  score <- slopes_of(\(e) log(probability(y, e, phi)), eta, 1e-3)
  sum((p * score^2)[p > 1e-250])
}, eta)

# The Tweedie density, summed over the number of gamma variables in the compound Poisson sum.
tweedie_density <- function(y, w, eta, phi) {
  p <- phi[[2]]
  s <- phi[[1]] / w
  rate <- exp((2 - p) * eta) / (s * (2 - p))
  scale <- s * (p - 1) * exp((p - 1) * eta)
  one <- \(n) dpois(n, rate, log = TRUE) + dgamma(ifelse(y > 0, y, 1), n * (2 - p) / (p - 1), scale = scale, log = TRUE)
  terms <- matrix(vapply(1:250, one, numeric(length(rate))), length(rate))
  highest <- apply(terms, 1, max)
  ifelse(y > 0, highest + log(rowSums(exp(terms - highest))), -rate)
}

# The probability of the interval between two cuts, as a difference of the distribution function. The difference is
# computed in the tail of the distribution in which its two terms do not cancel.
ordered_density <- \(cdf) \(y, w, eta, phi) {
  cuts <- c(-Inf, cumsum(c(0, phi)), Inf)
  a <- cuts[y] - eta
  b <- cuts[y + 1] - eta
  high <- ifelse(a + b > 0, -a, b)
  low <- ifelse(a + b > 0, -b, a)
  log_high <- cdf(high, log.p = TRUE)
  w * (log_high + log(-expm1(cdf(low, log.p = TRUE) - log_high)))
}

density_labels <- function(cases) make.unique(names(cases), " ")

# The family of a case. If `known` is TRUE, the parameters of the family are fixed at those of the case.
family_of <- function(name, case, known = FALSE) {
  family <- do.call(gp_family, c(list(name, link = case$link), case$constants))
  if (!is.null(case$classes)) family <- kernops:::settled_family(family, case$classes)
  if (known) family$parameters$value <- unname(case$phi)
  family
}
