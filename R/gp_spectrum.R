# Random frequencies of the covariances: draws from their spectral densities, at range 1.

# Each gives n frequencies in d dimensions, a row each, for the parameters and constants of a covariance. Normal ones
# are those of the Gaussian covariance; divided by the root of a gamma variate, those of Matern's, a multivariate t;
# multiplied by one, those of the rational quadratic.
normal_frequencies <- function(n, d, about) matrix(stats::rnorm(n * d), n)

student_frequencies <- function(n, d, about) {
  normal_frequencies(n, d, about) / sqrt(stats::rgamma(n, about$nu, about$nu))
}

gamma_frequencies <- function(n, d, about) {
  normal_frequencies(n, d, about) * sqrt(stats::rgamma(n, about$shape, about$shape))
}

spherical_frequencies <- function(n, d, about) in_all_directions(accepted(n, spherical_proposal), d)
wendland_frequencies <- function(n, d, about) in_all_directions(accepted(n, wendland_proposal), d)

# What is isotropic in space is so on its planes and lines: frequencies in three dimensions, of which d are used.
in_all_directions <- function(radius, d) {
  direction <- matrix(stats::rnorm(3 * length(radius)), ncol = 3)
  (radius * direction / sqrt(rowSums(direction^2)))[, seq_len(d), drop = FALSE]
}

# n draws by rejection: proposal(n) gives n candidates, and how likely each is to be taken.
accepted <- function(n, proposal) {
  draws <- numeric()
  while (length(draws) < n) {
    tried <- proposal(4 * n)
    draws <- c(draws, tried$at[stats::runif(4 * n) < tried$chance])
  }
  draws[seq_len(n)]
}

# The spherical covariance is the overlap of two balls of diameter 1. The transform of a ball gives the length r = 2 z
# of a frequency the density of j(z)^2, with j the spherical Bessel function of order 1; it is below 1.3 / (1 + z^2).
spherical_proposal <- function(n) {
  z <- abs(stats::rcauchy(n))
  j <- ifelse(z < 1e-3, z / 3, (sin(z) / z - cos(z)) / z)
  list(at = 2 * z, chance = j^2 * (1 + z^2) / 1.3)
}

# The length of a frequency in space has the density 2 r / pi times the integral of k(h) h sin(r h), here in closed form
# (by its series where that would cancel). It is below 2.4 times the density of 5 |t| with 3 degrees of freedom.
wendland_proposal <- function(n) {
  r <- 5 * abs(stats::rt(n, 3))
  integral <- ifelse(r < 0.3, r / 42 * (1 - r^2 / 30),
                     (480 - 120 * cos(r)) / r^5 + 1080 * sin(r) / r^6 - 5760 * sin(r / 2)^2 / r^7)
  list(at = r, chance = 2 * r / pi * integral / (2.4 * 2 / 5 * stats::dt(r / 5, 3)))
}

# exp(cos(2 pi h / period) / r^2 - 1 / r^2) is a Fourier series whose coefficients are the probabilities of the
# difference of two Poisson variates (Skellam's distribution).
periodic_frequencies <- function(n, d, about) {
  mean <- rep(rep_len(1 / (2 * about$range^2), d), each = n)
  matrix(stats::rpois(n * d, mean) - stats::rpois(n * d, mean), n) * 2 * pi / about$period
}
