# Frequencies of a user-defined formula, which must be stationary. On a torus several times as large as the data, the
# formula has a Fourier series. The fast Fourier transform computes the coefficients of this series, which are the
# probabilities of the frequencies.

own_spectrum <- function(x, where, call) {
  place <- function(u) u[, seq_len(where$d), drop = FALSE]
  x[c("positions", "group")] <- list(NULL)
  where[c("sample", "u")] <- lapply(where[c("sample", "u")], place)
  model <- covariance_model(1 * x, where$d)
  values <- function(a, b) own_values(model, a, b)
  lags <- check_stationary(values, where, call)
  spans <- apply(rbind(where$sample, where$u), 2, extent_of)
  for (times in c(2, 4, 8)) {
    series <- torus_series(values, times * spans)
    off <- max(abs(series_values(series, lags) - values(0 * lags, lags))) / series$variance
    if (off <= 0.01) break
  }
  if (!is.finite(off) || off > 0.01) stop_no_series(off, call)
  list(variance = series$variance, spectral = list(list(place = place, frequencies = function(n) {
    series$frequencies[sample.int(length(series$chance), n, replace = TRUE, prob = series$chance), , drop = FALSE]
  })))
}

# The covariances k(a_i, b_i) for the rows of two matrices.
own_values <- function(model, a, b) {
  pairs <- recent_operator(code_text("Sum_Reduction(", model$formula, ", 1)"),
                           sub("y = Vj", "y = Vi", point_declarations(model)), "auto", "float64", "cpu")
  as.vector(pairs(list(theta = model$parameters$value, x = a, y = b)))
}

# Checks that the covariance depends only on the lag, for lags that occur between points of the data.
check_stationary <- function(values, where, call) {
  if (where$d > 3) {
    stop_kernops("input", c("Spectral simulation of a user-defined formula needs at most 3 coordinates,
                             not {where$d}.",
                            i = exact_draws_hint), call = call)
  }
  u <- where$sample[with_seed(1, sample.int(nrow(where$sample), 100, replace = TRUE)), , drop = FALSE]
  v <- where$sample[with_seed(2, sample.int(nrow(where$sample), 100, replace = TRUE)), , drop = FALSE]
  here <- values(u, v)
  there <- values(0 * u, v - u)
  if (!isTRUE(all(abs(here - there) <= 1e-8 * max(abs(here))))) {
    stop_kernops("input", call = call, c(
      "The covariance is not stationary: spectral simulation is not available.", i = exact_draws_hint
    ))
  }
  h <- v - u
  rbind(h, h / 10, h / 100)
}

exact_draws_hint <- paste("A larger {.arg exact_limit} of {.fn gp_control} gives exact draws, in 8 n^2 bytes for n",
                          "points. Spectral simulation also supports {.fn linear} and {.fn periodic}.")

# The coefficients of the Fourier series on a torus with the given sides, as probabilities of frequencies.
torus_series <- function(values, sides) {
  d <- length(sides)
  n <- c(2^16, 1024, 96)[[d]]
  number <- seq_len(n) - 1
  signed <- number - n * (number >= n / 2)
  grid <- as.matrix(expand.grid(rep(list(signed), d)))
  k <- array(values(0 * grid, sweep(grid, 2, sides / n, "*")), rep(n, d))
  chance <- pmax(Re(stats::fft(k)), 0)
  list(variance = k[[1]], chance = as.vector(chance) / sum(chance), frequencies = sweep(grid, 2, 2 * pi / sides, "*"))
}

series_values <- function(series, lags) {
  op <- keops_kernel("Sum_Reduction(Cos(x | w) * p, 1)",
                     sprintf(c("x = Vi(%d)", "w = Vj(%d)", "p = Vj(1)"), ncol(lags)), backend = "cpu")
  series$variance * as.vector(op(list(lags, series$frequencies, series$chance)))
}

stop_no_series <- function(off, call) {
  stop_kernops("input", c("The spectral approximation has an error of {signif(off, 2)} times the variance.",
                          x = "The covariance is not positive definite, or its range is too short for the grid.",
                          i = exact_draws_hint), call = call)
}
