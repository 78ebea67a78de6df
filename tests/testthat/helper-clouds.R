# Point clouds and kernel matrices for tests of sums by Fourier series.

kernel_matrix <- function(x, y, f) {
  squares <- Reduce(`+`, lapply(seq_len(ncol(x)), \(k) outer(x[, k], y[, k], `-`)^2))
  f(sqrt(squares))
}

point_clouds <- list(
  uniform = \(n, d) matrix(runif(n * d), n),
  clustered = function(n, d) {
    matrix(rnorm(n * d, sd = 1e-3), n) + matrix(runif(20 * d), 20)[sample(20, n, TRUE), , drop = FALSE]
  },
  line = \(n, d) runif(n) %o% seq_len(d),
  axis = \(n, d) cbind(matrix(0.3, n, d - 1), runif(n)),
  distant = \(n, d) matrix(runif(n * d), n) + 1e6,
  equal = \(n, d) matrix(runif(d), n, d, byrow = TRUE)
)

# Makes sums over all pairs seem slow, so that sums to a tolerance are computed by Fourier series.
slow_pairs <- function(seconds, frame = parent.frame()) {
  costs <- lapply(kernops:::seconds_of_sums, replace, "pairs", seconds)
  replaced_locally(seconds_of_sums = costs, frame = frame)
}
