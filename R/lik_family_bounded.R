# Families of responses with limits: proportions, ordered classes, and normal variables censored at limits.

# Proportions between 0 and 1: y has the beta distribution with parameters a = precision mu and b = precision (1 - mu).
# The expected weight is (d mu / d eta)^2 precision^2 (psi'(a) + psi'(b)), where psi'(a) = psi'(1 + a) + 1 / a^2.
beta_row <- family_row(
  formula = "Let(p, Sigmoid(eta), q, Sigmoid(-eta), a, precision * p, b, precision * q,
                 Lgamma(precision) - Lgamma(1 + a) - Lgamma(1 + b) + 2 * Log(precision) - Softplus(eta) -
                 Softplus(-eta) + (a - 1) * Log(y) + (b - 1) * Log(1 - y))",
  expected = "Let(p, Sigmoid(eta), q, Sigmoid(-eta), a, precision * p, b, precision * q,
                Square(q) * (1 + Square(a) * Polygamma(1 + a, 1)) + Square(p) * (1 + Square(b) * Polygamma(1 + b, 1)))",
  parameters = list(precision = function(y, spread) {
    c(max(mean(y) * (1 - mean(y)) / max(stats::var(y), 1e-12) - 1, 0.1), 1e-4, 1e8)
  }),
  links = "logit", response = "share",
  variance = function(mu, w, phi) mu * (1 - mu) / (1 + phi[["precision"]]) / w,
  draw = function(eta, w, phi, link) {
    stats::rbeta(length(eta), phi[["precision"]] * stats::plogis(eta), phi[["precision"]] * stats::plogis(-eta))
  },
  cdf = function(q, eta, w, phi, link) {
    stats::pbeta(q, phi[["precision"]] * stats::plogis(eta), phi[["precision"]] * stats::plogis(-eta))
  }
)

# Classes 1, ..., count: y is at most k if eta + e is below cut point k, where e has a logistic or normal distribution.
# The first cut point is 0, since the trend has a constant; the other cut points are sums of positive gaps.
# long: a row and the functions that its elements share
ordered_row <- function(count = 2) {
  gaps <- sprintf("gap%d", seq_len(count - 1))[-1]
  sum_of <- function(condition) {
    paste(c(sprintf("%s * (%s)", gaps, sprintf(condition, seq_along(gaps) + 1)), "0 * y"), collapse = " + ")
  }
  first <- "(y <= 1)"
  last <- code_text("(", count, " <= y)")
  lets <- sprintf("Let(upper, %s, lower, %s, gap, %s + %s + %s, ", sum_of("%d <= y"), sum_of("%d <= y - 1"),
                  sum_of("y == %d"), first, last)
  cuts <- function(phi) cumsum(c(0, phi))
  # the probabilities of classes above 1, 2, ..., with a column for each of these classes
  above <- function(eta, phi, link) {
    vapply(cuts(phi), function(cut) inverse_link(eta - cut, link), numeric(length(eta)))
  }
  moment <- function(eta, phi, link, steps) drop(1 + matrix(above(eta, phi, link), length(eta)) %*% steps)
  mean <- function(eta, phi, link) moment(eta, phi, link, rep(1, count - 1))
  family_row(
    # the logistic distribution function F has F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)); for normal e, the arguments
    # are chosen such that the larger argument is negative, where the distribution function has small relative errors
    formula = c(
      logit = code_text(lets, "Mask(Not", last, ", -Softplus(eta - upper)) + Mask(Not", first,
                        ", -Softplus(lower - eta)) + Mask(Not(", first, " + ", last, "), Log(-Expm1(-gap))))"),
      probit = code_text(lets, "IfElse(1 - y, LogNormalCdf(-eta), IfElse(y - ", count, ", LogNormalCdf(eta - lower), ",
                         "Let(high, IfElse(2 * eta - upper - lower, upper - eta, eta - lower), LogNormalCdf(high) + ",
                         "Log(-Expm1(LogNormalCdf(high - gap) - LogNormalCdf(high)))))))")
    ),
    parameters = stats::setNames(rep(list(function(y, spread) c(1, 1e-4, 1e3)), length(gaps)), gaps),
    links = c("logit", "probit"), response = "ordered", discrete = TRUE, mean = mean, of_classes = ordered_row,
    variance = function(mu, w, phi, link) {
      (moment(predictor_of_mean(mu, mean, phi, link), phi, link, 2 * seq_len(count - 1) + 1) - mu^2) / w
    },
    draw = function(eta, w, phi, link) {
      e <- switch(link, logit = stats::rlogis(length(eta)), probit = stats::rnorm(length(eta)))
      1 + rowSums(outer(eta + e, cuts(phi), ">"))
    },
    cdf = function(q, eta, w, phi, link) {
      class <- pmin(pmax(floor(rep_len(q, length(eta)) + 1e-9), 0), count)
      cut <- c(-Inf, cuts(phi), Inf)[class + 1]
      ifelse(class < 1, 0, ifelse(class >= count, 1, inverse_link(cut - eta, link)))
    }
  )
}

# A normal variable with mean eta and standard deviation sigma. A value below `left` is observed as `left`, and a value
# above `right` as `right`. Means and distribution functions refer to the variable before censoring.
tobit_row <- function(left = -Inf, right = Inf) {
  check_limits(left, right)
  inside <- "-Square((y - eta) / sigma) / 2 - Log(sigma)"
  beyond <- function(excess, depth, inside) {
    code_text("IfElse(", excess, ", LogNormalCdf((", depth, ") / sigma), ", inside, ")")
  }
  if (right < Inf) inside <- beyond(code_text("y - ", right), code_text("eta - ", right), inside)
  if (left > -Inf) inside <- beyond(code_text(left, " - y"), code_text(left, " - eta"), inside)
  family_row(
    formula = inside,
    constant = function(y, w, phi) -w * log(2 * pi) / 2 * (y > left & y < right),
    parameters = list(sigma = scale_limits), links = "identity", limits = c(left, right),
    variance = function(mu, w, phi) phi[["sigma"]]^2 / w + 0 * mu,
    draw = function(eta, w, phi, link) {
      pmin(pmax(stats::rnorm(length(eta), eta, phi[["sigma"]]), left), right)
    },
    cdf = function(q, eta, w, phi, link) stats::pnorm(q, eta, phi[["sigma"]])
  )
}

check_limits <- function(left, right, call = caller_env()) {
  numbers <- is.numeric(left) && is.numeric(right) && !is.object(left) && !is.object(right)
  single <- numbers && length(left) == 1 && length(right) == 1
  if (single && isTRUE(left < right) && (left > -Inf || right < Inf)) return(invisible())
  stop_kernops("input", "The limits {.arg left} and {.arg right} of a censored response must be numbers, the one below
                         the other, of which at most one is infinite.", call = call)
}
