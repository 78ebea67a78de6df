# Families with additional zeros. These families have an additional parameter: `zi`, the probability of a zero in
# addition to the zeros of a count distribution, or `zero`, the probability of a zero in addition to a distribution of
# positive numbers.

zero_limits <- in_unit_interval(function(y, spread) c(min(max(mean(y == 0) / 2, 0.05), 0.9), 1e-6, 1 - 1e-6))

# The row of the table of families that adds zeros of probability phi[[name]] to `row`. `at_zero` is the formula of the
# log density at zero.
with_zeros <- function(row, name, at_zero, response, expected = NULL) {
  # weights multiply the log density; at y = 0 the formula for y > 0 is evaluated at y = 1, where its derivatives are
  # finite
  other <- replace_names(row$formula, c(y = "(y + (y == 0))", w = "1"))
  mean <- function(eta, phi, link) (1 - phi[[name]]) * (row$mean %||% function(eta, phi, link) exp(eta))(eta, phi, link)
  family_row(
    formula = sprintf("IfElse(-y, %s, Log1p(-%s) + %s)", at_zero, name, other),
    expected = expected,
    constant = function(y, w, phi) (y > 0) * w * row$constant(ifelse(y > 0, y, 1), 1, phi),
    parameters = c(row$parameters, stats::setNames(list(zero_limits), name)),
    links = "log", response = response, discrete = row$discrete, mean = mean,
    variance = function(mu, w, phi) {
      positive <- mu / (1 - phi[[name]])
      ((1 - phi[[name]]) * (row$variance(positive, 1, phi) + positive^2) - mu^2) / w
    },
    draw = function(eta, w, phi, link) {
      ifelse(stats::runif(length(eta)) < phi[[name]], 0, row$draw(eta, 1, phi, link))
    },
    cdf = function(q, eta, w, phi, link) {
      ifelse(q < 0, 0, phi[[name]] + (1 - phi[[name]]) * row$cdf(q, eta, 1, phi, link))
    }
  )
}

hurdle_row <- function(row, response) with_zeros(row, "zero", "Log(zero)", response)

# The log probability of zero is log(zi + (1 - zi) exp(-m)) for the rate m; `log_rate` is the formula of log(m). Let I
# be the information of `row`, and s its score at y = 0. The expectation of the negative second derivative is (1 - zi) I
# - zi (1 - zi) s^2 P0 / P, where P0 is the probability of zero in the distribution `row`, and P is the probability of
# zero including the additional zeros.
zero_inflated_row <- function(row, log_rate, information, score) {
  # if the log rate exceeds 200, the probability is 0, and powers of the rate would overflow in derivatives
  odds <- sprintf("Log1p(-zi) - Log(zi) - Exp(Min2(%s, 200))", log_rate)
  with_zeros(row, "zi", sprintf("Log(zi) + Softplus(%s)", odds), "count",
             sprintf("(1 - zi) * %s - zi * Square(%s) * Sigmoid(%s)", information, score, odds))
}

hurdle_poisson_row <- hurdle_row(truncated_poisson_row, "count")
hurdle_nb_row <- hurdle_row(truncated_nb_row, "count")
delta_gamma_row <- hurdle_row(gamma_row, "nonnegative")
delta_lognormal_row <- hurdle_row(lognormal_row, "nonnegative")

# if the log rate exceeds 50, the probability of zero is 0, so the terms with scores vanish
zero_inflated_poisson_row <- zero_inflated_row(poisson_row, "eta", "Exp(eta)", "Exp(Min2(eta, 50))")
zero_inflated_nb_row <- zero_inflated_row(
  negative_binomial_row, log_rate_of_size, "theta * Sigmoid(eta - Log(theta))", "theta * Sigmoid(eta - Log(theta))"
)
