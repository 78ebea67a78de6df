# The Tweedie family with a power p between 1 and 2: y is the sum of a Poisson number of gamma variables, and 0 if this
# number is 0. The variance is dispersion * mu^p.

tweedie_row <- family_row(
  formula = "w / dispersion * (y * Exp((1 - power) * eta) / (1 - power) - Exp((2 - power) * eta) / (2 - power))",
  constant = function(y, w, phi) tweedie_constant(y, phi[["dispersion"]] / w, phi[["power"]], 1 / w),
  parameters = list(
    dispersion = function(y, spread) c(max(stats::var(y) / mean(y)^1.5, 1e-3), 1e-6, 1e6) * c(1, rep(mean(y)^0.5, 2)),
    power = structure(function(y, spread) c(1.5, 1.01, 1.99), range = c(1, 2))
  ),
  links = "log", response = "nonnegative",
  variance = function(mu, w, phi) phi[["dispersion"]] * mu^phi[["power"]] / w,
  deviance = function(y, mu, w, phi) {
    p <- phi[["power"]]
    2 * w * (y^(2 - p) / ((1 - p) * (2 - p)) - y * mu^(1 - p) / (1 - p) + mu^(2 - p) / (2 - p))
  },
  draw = function(eta, w, phi, link) {
    parts <- tweedie_parts(eta, w, phi)
    count <- stats::rpois(length(eta), parts$rate)
    ifelse(count > 0, stats::rgamma(length(eta), count * parts$shape, scale = parts$scale), 0)
  },
  cdf = function(q, eta, w, phi, link) {
    parts <- tweedie_parts(eta, w, phi)
    rate <- pmin(rep_len(parts$rate, length(eta)), 1e12)
    shape <- rep_len(parts$shape, length(eta))
    # if the sum has many terms, only every n-th term (n = stride) is computed, because the terms change slowly
    first <- stats::qpois(1e-17, rate)
    last <- stats::qpois(1e-17, rate, lower.tail = FALSE)
    stride <- pmax(1, (last - first) %/% 200)
    total <- mass <- numeric(length(eta))
    q <- rep_len(q, length(eta))
    for (step in seq(0, max((last - first) %/% stride, 0, na.rm = TRUE))) {
      k <- which(first + step * stride <= last)
      count <- first[k] + step * stride[k]
      probability <- stats::dpois(count, rate[k])
      below <- ifelse(count > 0, stats::pgamma(q[k], count * shape[k], scale = parts$scale[k]), q[k] >= 0)
      total[k] <- total[k] + probability * below
      mass[k] <- mass[k] + probability
    }
    total / mass
  }
)

# The rate of the Poisson variable, and the shape and the scale of the gamma variables.
tweedie_parts <- function(eta, w, phi) {
  p <- phi[["power"]]
  dispersion <- phi[["dispersion"]] / w
  list(rate = exp((2 - p) * eta) / (dispersion * (2 - p)), shape = (2 - p) / (p - 1),
       scale = dispersion * (p - 1) * exp((p - 1) * eta))
}

# The terms of the log density that do not depend on eta, and the derivatives of these terms with respect to two
# parameters: the parameter dispersion / by of the family, and the power p. The terms contain the logarithm of a sum
# over the number j of gamma variables (Dunn and Smyth 2005). Only the terms around the largest term, at j = y^(2 - p) /
# (2 - p) / dispersion, are computed.
tweedie_constant <- function(y, dispersion, p, by) {
  n <- length(y)
  dispersion <- rep_len(dispersion, n)
  result <- matrix(0, n, 3)
  rows <- which(y > 0)
  y <- y[rows]
  dispersion <- dispersion[rows]
  p <- rep_len(p, n)[rows]
  a <- (2 - p) / (p - 1)
  slope <- -1 / (p - 1)^2 # the derivative of a with respect to p
  log_z <- a * (log(y) - log(p - 1)) - (1 + a) * log(dispersion) - log(2 - p)
  change <- slope * (log(y) - log(p - 1) - log(dispersion)) - a / (p - 1) + 1 / (2 - p)
  middle <- pmax(1, y^(2 - p) / ((2 - p) * dispersion))
  sums <- tweedie_sums(middle, log_z, change, a, slope, threads())
  result[rows, ] <- cbind(sums[, 1] + log(sums[, 2]) - log(y),
                          -(1 + a) / dispersion * sums[, 3] / sums[, 2] * rep_len(by, n)[rows],
                          sums[, 4] / sums[, 2])
  result
}
