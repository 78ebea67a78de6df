# Estimates of the log-determinant of K + lambda I and of traces by stochastic Lanczos quadrature, from the solutions of
# systems whose right-hand sides are random probes (Ubaru, Chen and Saad 2017; with a preconditioner P: Gardner et al.
# 2018). Conjugate gradients for a probe z with covariance P also compute the tridiagonal matrix T of the Lanczos
# method. The form z' P^-1/2 log(P^-1/2 (K + lambda I) P^-1/2) P^-1/2 z is approximately z' P^-1 z times entry (1, 1) of
# log(T). The expected value of the form is log det(K + lambda I) - log det P.

# A list of the n x count matrix `probes` and of the `weights` P^-1 z. The probes z, the columns of the matrix, are
# independent with covariance P, or I if `precond` is NULL. The probes are computed from the random numbers of draw().
# The trace of (K + lambda I)^-1 B is estimated by the mean of z' (K + lambda I)^-1 B (P^-1 z) over the probes.
probe_vectors <- function(system, precond = NULL, count = 16, seed = 1, draw = random_signs) {
  space <- system$space
  sparse <- identical(precond$type, "vecchia")
  rank <- if (is.null(precond) || sparse) 0 else precond$rank
  signs <- with_seed(seed, draw(system$n + rank, count))
  probes <- space$copy(signs[seq_len(system$n), , drop = FALSE])
  if (is.null(precond)) return(list(probes = probes, weights = space$copy(probes)))
  if (sparse) {
    probes <- space$copy(sparse_colour(precond, signs))
    return(list(probes = probes, weights = preconditioning(precond, space)(probes)))
  }
  rows_times <- \(d, x) space$scale_rows(on_space(d, space), x)
  probes <- rows_times(sqrt(precond$shift), probes)
  if (rank > 0) {
    mixed <- space$combine(on_space(precond$Q, space), precond$R %*% signs[system$n + seq_len(rank), , drop = FALSE])
    probes <- space$add_rows(on_space(precond$shift, space), mixed, probes)
  }
  list(probes = probes, weights = preconditioning(precond, space)(probes))
}

# The estimate of the log-determinant. `fit` is a result of solve_system() without a starting value, for a right-hand
# side that has the probes in `columns`.
lanczos_logdet <- function(system, fit, probes, precond = NULL, columns = seq_len(ncol(probes$probes))) {
  scale <- system$space$dots(probes$probes, probes$weights)
  quadrature <- vapply(columns, \(k) log_corner(fit$recorded$step[, k], fit$recorded$ratio[, k]), 0)
  estimates <- quadrature * scale + if (is.null(precond)) 0 else precond$logdet
  list(logdet = mean(estimates), std_error = stats::sd(estimates) / sqrt(length(estimates)), estimates = estimates)
}

# Entry (1, 1) of log(T), by the Gauss rule of T.
log_corner <- function(step, ratio) {
  gauss <- lanczos_run(step, ratio)$gauss
  sum(gauss$weights * log(gauss$nodes))
}

# The Lanczos matrix T = L D L' from the steps and ratios that conjugate gradients recorded for a column, where D =
# diag(1 / step) and L has the square roots of the ratios below the diagonal. Returns a list of the `diagonal` of T; the
# entries `below` the diagonal, of which the last one belongs to a further row of T; and the Gauss rule of T, `gauss`.
lanczos_run <- function(step, ratio) {
  done <- !is.na(step)
  step <- step[done]
  ratio <- ratio[done]
  m <- length(step)
  run <- list(diagonal = 1 / step + c(0, ratio[-m] / step[-m])[seq_len(m)], below = sqrt(ratio) / step)
  c(run, list(gauss = lanczos_quadrature(run$diagonal, run$below[-m])))
}

random_signs <- function(n, width) matrix(sample(c(-1, 1), n * width, replace = TRUE), n)
normal_numbers <- function(n, width) matrix(stats::rnorm(n * width), n)

# Evaluates code after set.seed(seed), and restores the previous state of R's generator.
with_seed <- function(seed, code) {
  before <- globalenv()$.Random.seed
  on.exit(if (is.null(before)) rm(".Random.seed", envir = globalenv()) else
    assign(".Random.seed", before, envir = globalenv()))
  set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  code
}

# derived_seed() returns a seed that is derived from `seed`, and with_derived_seed() evaluates code with this seed.
# Users often simulate their data after set.seed(1). With the same seed, the random numbers in `code` would be those in
# the data.
derived_seed <- function(seed) with_seed(seed, sample.int(.Machine$integer.max, 1))
with_derived_seed <- function(seed, code) with_seed(derived_seed(seed), code)
