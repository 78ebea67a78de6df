# Random frequencies of the covariances: draws from their spectral densities, at range 1.

# Each function returns n frequencies in d dimensions, one per row, for the parameters and constants of a covariance.
# Normal frequencies belong to the Gaussian covariance. Normal frequencies divided by the square root of a gamma variate
# have a multivariate t distribution and belong to Matern's covariance. Normal frequencies multiplied by this square
# root belong to the rational quadratic covariance.
normal_frequencies <- function(n, d, about) normal_numbers(n, d)

student_frequencies <- function(n, d, about) {
  normal_frequencies(n, d, about) / sqrt(stats::rgamma(n, about$nu, about$nu))
}

gamma_frequencies <- function(n, d, about) {
  normal_frequencies(n, d, about) * sqrt(stats::rgamma(n, about$shape, about$shape))
}

wendland_frequencies <- function(n, d, about) in_all_directions(accepted(n, wendland_proposal), d)

# Draws isotropic frequencies in `dims` dimensions and returns the first d coordinates of each frequency. The projection
# of an isotropic distribution on d dimensions is isotropic.
in_all_directions <- function(radius, d, dims = 3) {
  direction <- matrix(stats::rnorm(dims * length(radius)), ncol = dims)
  (radius * direction / sqrt(rowSums(direction^2)))[, seq_len(d), drop = FALSE]
}

# n draws by rejection sampling: proposal(n) returns n candidates and their acceptance probabilities.
accepted <- function(n, proposal) {
  draws <- numeric()
  while (length(draws) < n) {
    tried <- proposal(4 * n)
    draws <- c(draws, tried$radius[stats::runif(4 * n) < tried$chance])
  }
  draws[seq_len(n)]
}

# The overlap of two balls of diameter 1 in `balls` dimensions is the triangular, circular, spherical or pentaspherical
# covariance. The Fourier transform of a ball shows that the length r = 2 z of a frequency has the density J(z)^2 / z up
# to a constant, where J is the Bessel function of order balls / 2. A constant times the density of a Cauchy variate is
# an upper bound of this density.
ball_frequencies <- function(n, d, about) {
  of <- about$balls
  order <- of / 2
  factor <- c(1.48, 2.62, 3.86, NA, 6.59)[[of]]
  radius <- accepted(n, function(n) {
    z <- abs(stats::rcauchy(n))
    j <- besselJ(pmin(z, 1e5), order)
    list(radius = 2 * z, chance = pi * order * j^2 * (1 + z^2) / z / factor)
  })
  in_all_directions(radius, d, of)
}

# sin(h) / h is the mean of cos(w . h) over the unit sphere.
wave_frequencies <- function(n, d, about) in_all_directions(rep(1, n), d)

cosine_frequencies <- function(n, d, about) matrix(2 * pi / about$period, n, 1)

# exp(-h^p) is the mean of exp(-s h^2) over a positive stable variate s of index p / 2 (Kanter 1975).
stable_frequencies <- function(n, d, about) {
  a <- about$power / 2
  u <- stats::runif(n, 0, pi)
  s <- sin(a * u) / sin(u)^(1 / a) * (sin((1 - a) * u) / stats::rexp(n))^((1 - a) / a)
  normal_frequencies(n, d, about) * sqrt(2 * s)
}

# The length r of a frequency in space has the density 2 r / pi times the integral of k(h) h sin(r h). This integral has
# a closed form; for small r the power series of the integral is used, because the terms of the closed form cancel. The
# density is below 2.4 times the density of 5 |t|, where t has Student's distribution with 3 degrees of freedom.
wendland_proposal <- function(n) {
  r <- 5 * abs(stats::rt(n, 3))
  integral <- ifelse(r < 0.3, r / 42 * (1 - r^2 / 30),
                     (480 - 120 * cos(r)) / r^5 + 1080 * sin(r) / r^6 - 5760 * sin(r / 2)^2 / r^7)
  list(radius = r, chance = 2 * r / pi * integral / (2.4 * 2 / 5 * stats::dt(r / 5, 3)))
}

# exp(cos(2 pi h / period) / r^2 - 1 / r^2) is a Fourier series. The coefficients of this series are the probabilities
# of the difference of two Poisson variates (Skellam's distribution).
periodic_frequencies <- function(n, d, about) {
  mean <- rep(rep_len(1 / (2 * about$range^2), d), each = n)
  matrix(stats::rpois(n * d, mean) - stats::rpois(n * d, mean), n) * 2 * pi / about$period
}
