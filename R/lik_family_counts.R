# Families of counts that are not in lik_family_basic.R, and a family of numbers of successes with overdispersion.

# The variance of the counts y divided by their mean, at least 1.05. For a Poisson distribution, this ratio is 1.
dispersion_of <- function(y) max(1.05, stats::var(y) / mean(y), na.rm = TRUE)

# The logarithm of the probability Gamma(s + y) / (Gamma(s) y!) (s / (s + y))^s (y / (s + y))^y, as a formula of y, of
# the size s and of the logarithm of s. For large y and s, Stirling's formula keeps cancellation small. The only power
# of a size in the formula is its inverse, because other powers would overflow in derivatives.
log_largest <- function(y, size, log_size) {
  # lgamma(v + 1) minus Stirling's formula, for v of at least 100
  error <- function(v) {
    sprintf("Let(i, Inv(%s), q, Square(i), i * (1 / 12 - q * (1 / 360 - q * (1 / 1260 - q / 1680))))", v)
  }
  sprintf(
    "Let(k, %s, s, %s, l, %s, z, Max2(k, 100), t, Max2(s, 100), r, Log(Max2(k, 1e-300)) - l,
         IfElse(Min2(k, s) - 100, -Log(2 * pi * z * (1 + z * Inv(t))) / 2 + %s - %s - %s,
                IfElse(k - 100, LgammaDiff(z + 1, s - 1) - Lgamma(1 + s) + l,
                       IfElse(k - 0.5, LgammaDiff(1 + s, k - 1) + l - Lgamma(k + 1), 0 * s)) -
                k * Softplus(-r) - s * Softplus(r)))",
    y, size, log_size, error("z + t"), error("t"), error("z")
  )
}

# The distribution NB1 of Hardin and Hilbe, whose variance is proportional to its mean. The size, the parameter s of
# log_largest(), is mu / alpha. The expected weight is replaced by (d mean / d eta)^2 / variance.
negative_binomial_1_row <- family_row(
  formula = code_text(
    "Let(x, Log(alpha), size, Exp(eta - x), e, Log(Max2(y, 1e-300)) - eta + x, ", log_largest("y", "size", "eta - x"),
    " - y * SoftplusDiff(-x, -e) - size * SoftplusDiff(x, e))"
  ),
  expected = "Exp(eta) / (1 + alpha)",
  parameters = list(alpha = function(y, spread) c(dispersion_of(y) - 1, 1e-4, 1e6)),
  links = "log", response = "count", discrete = TRUE,
  variance = function(mu, w, phi) mu * (1 + phi[["alpha"]]) / w,
  draw = function(eta, w, phi, link) {
    stats::rnbinom(length(eta), size = exp(eta) / phi[["alpha"]], prob = 1 / (1 + phi[["alpha"]]))
  },
  cdf = function(q, eta, w, phi, link) stats::pnbinom(q, exp(eta) / phi[["alpha"]], 1 / (1 + phi[["alpha"]]))
)

# Consul's distribution: with rate = mu (1 - delta), the probability of y is rate m^(y - 1) exp(-m) / y! for m = rate +
# delta y; the variance is mu / (1 - delta)^2. The expected weight is replaced by (d mean / d eta)^2 / variance.
generalised_poisson_row <- family_row(
  formula = "Let(rate, Exp(eta + Log1p(-delta)), m, rate + delta * y, r, Log(m) - Log(Max2(y, 1)),
                 IfElse(-y, -rate, eta + Log1p(-delta) - Log(m) - y * (Expm1(r) - r)))",
  expected = "Exp(eta) * Square(1 - delta)",
  constant = poisson_row$constant,
  parameters = list(delta = in_unit_interval(function(y, spread) c(1 - 1 / sqrt(dispersion_of(y)), 1e-6, 0.999))),
  links = "log", response = "count", discrete = TRUE,
  variance = function(mu, w, phi) mu / (1 - phi[["delta"]])^2 / w,
  # the total number of members of a branching process: a Poisson number of ancestors and all their descendants, where
  # each member has a Poisson number of children with mean delta
  draw = function(eta, w, phi, link) {
    total <- born <- stats::rpois(length(eta), exp(eta) * (1 - phi[["delta"]]))
    while (any(born > 0)) total <- total + (born <- stats::rpois(length(eta), phi[["delta"]] * born))
    total
  }
)

# The number of successes among w trials whose probability of success has a beta distribution with the given precision.
# y is the proportion of successes. The expected weight is replaced by (d mean / d eta)^2 / variance.
beta_binomial_row <- family_row(
  formula = code_text(
    "Let(p, Log(precision), g, p - Softplus(-eta), h, p - Softplus(eta), a, Exp(g), b, Exp(h), c, w * y, d, w * (1 - y),
         u, p - Log(w), e, g - Log(Max2(c, 1e-300)), f, h - Log(Max2(d, 1e-300)), ",
    log_largest("c", "a", "g"), " + ", log_largest("d", "b", "h"), " - ", log_largest("w", "precision", "p"),
    " + c * SoftplusDiff(e, u) + d * SoftplusDiff(f, u) + a * SoftplusDiff(-e, -u) + b * SoftplusDiff(-f, -u))"
  ),
  expected = "w * (precision + 1) / (precision + w) * Sigmoid(eta) * Sigmoid(-eta)",
  parameters = list(precision = function(y, spread) c(10, 1e-3, 1e6)),
  links = "logit", response = "binomial", discrete = TRUE,
  variance = function(mu, w, phi) mu * (1 - mu) / w * (phi[["precision"]] + w) / (phi[["precision"]] + 1),
  draw = function(eta, w, phi, link) {
    a <- phi[["precision"]] * stats::plogis(eta)
    stats::rbinom(length(eta), as.integer(round(w)), stats::rbeta(length(eta), a, phi[["precision"]] - a)) / w
  }
)

# Counts without zeros: the distribution `row` given that y is positive. Let p0 be the probability of zero of `row`.
# log_rate is a formula of log(-log(p0)), and log_zero(mu, phi) is log(p0). For `row`, upper(q, mu, phi) is the
# probability of more than q, quantile() is the inverse function of upper(), and second(mu, phi) is the second moment.
truncated_row <- function(row, log_rate, log_zero, upper, quantile, second) {
  positive <- function(mu, phi) -expm1(log_zero(mu, phi))
  mean <- function(eta, phi, link) ifelse(eta < -35, 1, exp(eta) / positive(exp(eta), phi))
  truncated <- list(
    formula = code_text(row$formula, " - ", log_event(log_rate)),
    mean = mean,
    variance = function(mu, w, phi) {
      whole <- exp(predictor_of_mean(mu, mean, phi))
      pmax(0, second(whole, phi) / positive(whole, phi) - mu^2) / w
    },
    draw = function(eta, w, phi, link) {
      quantile(stats::runif(length(eta)) * positive(exp(eta), phi), exp(eta), phi)
    },
    cdf = function(q, eta, w, phi, link) {
      ifelse(q < 1, 0, 1 - upper(q, exp(eta), phi) / positive(exp(eta), phi))
    },
    response = "positive_count", deviance = NULL
  )
  utils::modifyList(row, truncated)
}

truncated_poisson_row <- truncated_row(
  poisson_row, "eta", function(mu, phi) -mu,
  upper = function(q, mu, phi) stats::ppois(q, mu, lower.tail = FALSE),
  quantile = function(p, mu, phi) stats::qpois(p, mu, lower.tail = FALSE),
  second = function(mu, phi) mu + mu^2
)

# this formula does not underflow if the mean is near 0
log_rate_of_size <- "Let(x, eta - Log(theta), Log(theta) + IfElse(x + 40, Log(Softplus(Max2(x, -40))), x))"

truncated_nb_row <- truncated_row(
  negative_binomial_row, log_rate_of_size, function(mu, phi) -phi[["theta"]] * log1p(mu / phi[["theta"]]),
  upper = function(q, mu, phi) stats::pnbinom(q, phi[["theta"]], mu = mu, lower.tail = FALSE),
  quantile = function(p, mu, phi) stats::qnbinom(p, phi[["theta"]], mu = mu, lower.tail = FALSE),
  second = function(mu, phi) mu + mu^2 * (1 + 1 / phi[["theta"]])
)
