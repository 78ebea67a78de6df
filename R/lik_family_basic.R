# Families with constructors or objects in R: binomial, Poisson, negative binomial, gamma, Student.

# The formula is the log density minus its maximum, as a function of log(mean) - log(count), so that cancellation is
# small for large counts. `constant` is the log density at the maximum.
poisson_row <- family_row(
  formula = "IfElse(-y, -Exp(eta), Let(r, eta - Log(Max2(y, 1)), -y * (Expm1(r) - r)))",
  constant = function(y, w, phi) w * stats::dpois(y, y, log = TRUE),
  links = "log", response = "count", discrete = TRUE,
  variance = function(mu, w, phi) mu / w,
  deviance = function(y, mu, w, phi) 2 * w * (ifelse(y > 0, y * log(y / mu), 0) - (y - mu)),
  draw = function(eta, w, phi, link) stats::rpois(length(eta), exp(eta)),
  cdf = function(q, eta, w, phi, link) stats::ppois(q, exp(eta))
)

# The logarithm of 1 - exp(-m), the probability of an event of rate m, as a formula of the logarithm of m. For small m
# the formula is a power series.
log_event <- function(log_rate) {
  sprintf("Let(v, %s, IfElse(v + 1.4, Log(-Expm1(-Exp(Clamp(v, -2, 50)))), v + Let(m, Exp(Min2(v, 0)), q, Square(m),
            -m / 2 + q * (1 / 24 - q * (1 / 2880 - q * (1 / 181440 - q * (1 / 9676800 - q / 479001600)))))))", log_rate)
}

# y is the proportion of successes among w trials.
binomial_row <- local({
  by_links <- function(success, failure) {
    sprintf("w * (Mask(y, y * (%s - Log(y))) + Mask(1 - y, (1 - y) * (%s - Log(1 - y))))", success, failure)
  }
  family_row(
    formula = c(
      logit = "Let(e, Log(Max2(y, 1e-300)) - Log(Max2(1 - y, 1e-300)),
                   -w * (y * SoftplusDiff(-eta, -e) + (1 - y) * SoftplusDiff(eta, e)))",
      probit = by_links("LogNormalCdf(eta)", "LogNormalCdf(-eta)"),
      cloglog = by_links(log_event("eta"), "-Exp(eta)"),
      cauchit = by_links("Log(Atan2(1, -eta) / pi)", "Log(Atan2(1, eta) / pi)")
    ),
    # expected weight
    expected = c(cauchit = "w / (Square(1 + Square(eta)) * Atan2(1, -eta) * Atan2(1, eta))"),
    constant = function(y, w, phi) {
      entropy <- ifelse(y > 0, y * log(y), 0) + ifelse(y < 1, (1 - y) * log(1 - y), 0)
      ifelse(w == round(w), stats::dbinom(round(w * y), round(w), y, log = TRUE), lchoose(w, w * y) + w * entropy)
    },
    links = c("logit", "probit", "cloglog", "cauchit"), response = "binomial", discrete = TRUE,
    variance = function(mu, w, phi) mu * (1 - mu) / w,
    deviance = function(y, mu, w, phi) {
      2 * w * (ifelse(y > 0, y * log(y / mu), 0) + ifelse(y < 1, (1 - y) * log((1 - y) / (1 - mu)), 0))
    },
    draw = function(eta, w, phi, link) {
      stats::rbinom(length(eta), as.integer(round(w)), inverse_link(eta, link)) / w
    },
    cdf = function(q, eta, w, phi, link) stats::pbinom(q * w + 1e-9 * w, round(w), inverse_link(eta, link))
  )
})

# The limits of theta. At the upper limit the overdispersion mu / theta is a millionth, so that counts practically have
# a Poisson distribution.
size_limits <- function(y, spread) c(1, 1e-4, 1e6 * max(1, mean(y)))

negative_binomial_row <- family_row(
  formula = "Let(x, eta - Log(theta), e, Log(Max2(y, 1e-300)) - Log(theta),
                 -y * SoftplusDiff(-x, -e) - theta * SoftplusDiff(x, e))",
  constant = function(y, w, phi) {
    theta <- phi[["theta"]]
    w * cbind(stats::dnbinom(y, size = theta, mu = y, log = TRUE),
              digamma(y + theta) - digamma(theta) - log1p(y / theta))
  },
  parameters = list(theta = size_limits), links = "log", response = "count", discrete = TRUE,
  variance = function(mu, w, phi) (mu + mu^2 / phi[["theta"]]) / w,
  deviance = function(y, mu, w, phi) {
    size <- phi[["theta"]]
    2 * w * (ifelse(y > 0, y * log(y / mu), 0) - (y + size) * log((y + size) / (mu + size)))
  },
  draw = function(eta, w, phi, link) stats::rnbinom(length(eta), size = phi[["theta"]], mu = exp(eta)),
  cdf = function(q, eta, w, phi, link) stats::pnbinom(q, size = phi[["theta"]], mu = exp(eta))
)

shape_limits <- function(y, spread) c(1, 1e-4, 1e8)

gamma_row <- family_row(
  formula = "Let(r, Log(y) - eta, -w * shape * (Expm1(r) - r))",
  constant = function(y, w, phi) {
    shape <- w * phi[["shape"]]
    cbind(stats::dgamma(y, shape, scale = y / shape, log = TRUE), w * (log(shape) - digamma(shape)))
  },
  parameters = list(shape = shape_limits), links = "log", response = "positive",
  variance = function(mu, w, phi) mu^2 / (w * phi[["shape"]]),
  deviance = function(y, mu, w, phi) 2 * w * ((y - mu) / mu - log(y / mu)),
  draw = function(eta, w, phi, link) {
    shape <- rep_len(w * phi[["shape"]], length(eta))
    stats::rgamma(length(eta), shape, shape / exp(eta))
  },
  cdf = function(q, eta, w, phi, link) stats::pgamma(q, w * phi[["shape"]], w * phi[["shape"]] / exp(eta))
)

scale_limits <- function(y, spread) spread * c(1, 1e-4, 1e3)

# Normal observations with variance sigma^2 / w, for which the Laplace approximation is exact.
gaussian_row <- family_row(
  formula = "-w * Square((y - eta) / sigma) / 2 - Log(sigma)",
  constant = function(y, w, phi) log(w / (2 * pi)) / 2,
  parameters = list(sigma = scale_limits), links = "identity", noise = function(phi, w) phi[["sigma"]]^2 / w,
  variance = function(mu, w, phi) phi[["sigma"]]^2 / w + 0 * mu,
  deviance = function(y, mu, w, phi) w * ((y - mu) / phi[["sigma"]])^2,
  draw = function(eta, w, phi, link) stats::rnorm(length(eta), eta, phi[["sigma"]] / sqrt(w)),
  cdf = function(q, eta, w, phi, link) stats::pnorm(q, eta, phi[["sigma"]] / sqrt(w))
)

student_row <- family_row(
  formula = "LgammaDiff(df / 2, 0.5) - Log(pi * df) / 2 - Log(scale) + Log(w) / 2 -
             (df + 1) / 2 * Log1p(w / df * Square((y - eta) / scale))",
  # the expectation of the negative second derivative, which does not depend on eta
  expected = "w * (df + 1) / (df + 3) / Square(scale)",
  parameters = list(df = function(y, spread) c(4, 1, 1e3), scale = scale_limits), links = "identity",
  variance = function(mu, w, phi) {
    df <- phi[["df"]]
    ifelse(df > 2, phi[["scale"]]^2 * df / (df - 2), Inf) / w + 0 * mu
  },
  deviance = function(y, mu, w, phi) (phi[["df"]] + 1) * log1p(w * (y - mu)^2 / (phi[["df"]] * phi[["scale"]]^2)),
  draw = function(eta, w, phi, link) eta + phi[["scale"]] / sqrt(w) * stats::rt(length(eta), phi[["df"]]),
  cdf = function(q, eta, w, phi, link) stats::pt((q - eta) * sqrt(w) / phi[["scale"]], phi[["df"]])
)
