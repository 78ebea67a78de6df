# Families of positive numbers, and of times that may be censored.

# The inverse Gaussian distribution, whose variance is mu^3 / shape. The expected weight is the expectation of the
# negative second derivative.
inverse_gaussian_row <- family_row(
  formula = "(Log(w * shape) - w * shape * Square(Expm1(Log(y) - eta)) / y) / 2",
  expected = "w * shape * Exp(-eta)",
  constant = function(y, w, phi) -log(2 * pi * y^3) / 2,
  parameters = list(shape = function(y, spread) mean(y) * c(1, 1e-6, 1e8)),
  links = "log", response = "positive",
  variance = function(mu, w, phi) mu^3 / (w * phi[["shape"]]),
  deviance = function(y, mu, w, phi) w * (y - mu)^2 / (mu^2 * y),
  # draws by the method of Michael, Schucany and Haas (1976)
  draw = function(eta, w, phi, link) {
    mu <- exp(eta)
    r <- mu * stats::rchisq(length(mu), 1) / (2 * w * phi[["shape"]])
    x <- mu / (1 + r + sqrt(r * (2 + r)))
    ifelse(stats::runif(length(mu)) * (mu + x) <= mu, x, mu^2 / x)
  },
  cdf = function(q, eta, w, phi, link) {
    mu <- exp(eta)
    q <- pmax(q, 0)
    root <- sqrt(w * phi[["shape"]] / q)
    above <- exp(2 * w * phi[["shape"]] / mu + stats::pnorm(-root * (q / mu + 1), log.p = TRUE))
    ifelse(q > 0, stats::pnorm(root * (q / mu - 1)) + above, 0)
  }
)

# The logarithm of y is normal with standard deviation sigma and mean eta - sigma^2 / 2, so that exp(eta) is the mean of
# y.
lognormal_row <- family_row(
  formula = "-Square((Log(y) - eta) / sigma + sigma / 2) / 2 - Log(sigma)",
  constant = function(y, w, phi) -w * (log(y) + log(2 * pi) / 2),
  parameters = list(sigma = function(y, spread) spread * c(1, 1e-4, 1e3)),
  links = "log", response = "positive",
  variance = function(mu, w, phi) mu^2 * expm1(phi[["sigma"]]^2) / w,
  draw = function(eta, w, phi, link) stats::rlnorm(length(eta), eta - phi[["sigma"]]^2 / 2, phi[["sigma"]]),
  cdf = function(q, eta, w, phi, link) stats::plnorm(q, eta - phi[["sigma"]]^2 / 2, phi[["sigma"]])
)

# A time that is censored at t has the response -t. exp(eta) is the mean of times without censoring; `cumulative` is the
# formula of the logarithm of the cumulative hazard. The derivative of this logarithm with respect to the logarithm of
# time is the shape, and `log_shape` is the formula of the logarithm of the shape.
survival_row <- function(cumulative, log_shape, parameters, shape_of) {
  scale_of <- function(mu, phi) mu / gamma(1 + 1 / shape_of(phi))
  family_row(
    formula = sprintf("Let(z, %s, Mask(0 < y, %s + z) - Exp(z))", cumulative, log_shape),
    constant = function(y, w, phi) ifelse(y > 0, -w * log(abs(y)), 0),
    parameters = parameters, links = "log", response = "time",
    variance = function(mu, w, phi) {
      mu^2 * expm1(lgamma(1 + 2 / shape_of(phi)) - 2 * lgamma(1 + 1 / shape_of(phi))) / w
    },
    draw = function(eta, w, phi, link) {
      stats::rweibull(length(eta), shape_of(phi), scale_of(exp(eta), phi))
    },
    cdf = function(q, eta, w, phi, link) stats::pweibull(q, shape_of(phi), scale_of(exp(eta), phi))
  )
}

exponential_row <- survival_row("Log(Abs(y)) - eta", "0", list(), function(phi) 1)

weibull_row <- survival_row("shape * (Log(Abs(y)) - eta + Lgamma(1 + 1 / shape))", "Log(shape)",
                            list(shape = function(y, spread) c(1, 1e-2, 1e3)), function(phi) phi[["shape"]])
