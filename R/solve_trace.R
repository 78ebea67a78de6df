# Bounds for log det S with S = K + lambda I, from the solutions of systems whose right-hand sides are random probes.
#
# With a preconditioner P, A = P^-1/2 S P^-1/2 is near the identity, and log det S = log det P + (tr A - n) - tr w(A)
# with w(x) = x - 1 - log(x). The first two terms are exact. The third term, tr w(A), is a sum of nonnegative numbers
# and is of second order in A - I. This term is twice the Kullback-Leibler divergence between N(0, P) and N(0, S), which
# is small for good preconditioners (Schaefer, Katzfuss and Owhadi 2021). Therefore few probes are sufficient to
# estimate tr w(A). For a normal probe z with covariance P, conjugate gradients give the Lanczos matrix of A. The Gauss
# rule of this matrix is a lower bound of z' P^-1/2 w(A) P^-1/2 z, and the Gauss-Radau rule with a node below the
# spectrum is an upper bound (Golub and Meurant 2010).

# A list of an `interval` that contains log det S with probability 1 - `miss`; bounds for the `eigenvalues` of A; and
# `precise`, which is TRUE if smaller residuals would not make the interval much shorter. `fit` is a result of
# solve_system() without a starting value, whose right-hand sides in `columns` are the normal probes of probe_vectors().
logdet_interval <- function(system, fit, probes, precond, columns, miss, width = 0.5) {
  squares <- system$space$dots(probes$probes, probes$weights)
  runs <- lapply(columns, function(k) lanczos_run(fit$recorded$step[, k], fit$recorded$ratio[, k]))
  trace <- system$n + trace_excess(system, precond)
  floor <- smallest_eigenvalue(system, precond, probes$probes, miss / 4)
  eigenvalues <- spectrum_bounds(runs, squares, system$n, trace, floor, miss / 4)
  each <- mapply(function(run, square) square * run_bounds(run, eigenvalues[[1]]), runs, squares)
  largest <- max(log_excess(eigenvalues))
  known <- precond$logdet + trace - system$n
  limits <- c(trace_limit(mean(each[2, ]), largest, length(runs), miss / 4, upper = TRUE),
              trace_limit(mean(each[1, ]), largest, length(runs), miss / 4, upper = FALSE))
  list(interval = known - limits, eigenvalues = eigenvalues, precise = -diff(limits) <= max(0.5, width, limits[[2]]))
}

log_excess <- function(x) x - 1 - log(x)

# The results of two rules for one probe: the Gauss rule, and the Gauss-Radau rule with a node at `smallest`, which is
# below the spectrum of A. The last row of the matrix of the Radau rule follows from the pivots of T - smallest I.
run_bounds <- function(run, smallest) {
  m <- length(run$diagonal)
  smallest <- min(smallest, run$gauss$nodes * (1 - 1e-8))
  pivot <- run$diagonal[[1]] - smallest
  for (k in seq_len(m)[-1]) pivot <- run$diagonal[[k]] - smallest - run$below[[k - 1]]^2 / pivot
  last <- smallest + run$below[[m]]^2 / pivot
  radau <- lanczos_quadrature(c(run$diagonal, last), run$below)
  vapply(list(run$gauss, radau), function(rule) sum(rule$weights * log_excess(pmax(rule$nodes, smallest))), 0)
}

# Bounds for the eigenvalues of A that hold with probability 1 - miss. The result is the best of three bounds. First,
# the trace: the largest eigenvalue is at most the trace minus n - 1 times a lower bound of the eigenvalues. Second, the
# moments: tr (A - I)^p with p = 2 k - 2 is at least the largest (eigenvalue - 1)^p, and the Gauss rules of k steps
# compute the moment exactly for each of s probes. Third, the Ritz values of k steps from s random starts: the
# probability that all largest Ritz values are below 1 - e times the largest eigenvalue of a semidefinite matrix is at
# most (1.648 sqrt(n) exp(-sqrt(e) (2 k - 1)))^s (Kuczynski and Wozniakowski 1992).
spectrum_bounds <- function(runs, squares, n, trace, floor, miss) {
  ritz <- range(unlist(lapply(runs, function(run) run$gauss$nodes)))
  floor <- min(floor, ritz[[1]])
  steps <- min(lengths(lapply(runs, `[[`, "diagonal")))
  s <- length(runs)
  missed <- ((log(1.648 * sqrt(n)) - log(miss / 3) / s) / (2 * steps - 1))^2
  power <- 2 * steps - 2
  far <- max(abs(ritz - 1), .Machine$double.eps)
  moments <- squares * vapply(runs, function(run) sum(run$gauss$weights * ((run$gauss$nodes - 1) / far)^power), 0)
  radius <- if (power > 0) far * (mean(moments) * s / stats::qchisq(miss / 3, s))^(1 / power) else Inf
  largest <- min(if (missed < 1) ritz[[2]] / (1 - missed) else Inf, trace - (n - 1) * floor, 1 + radius)
  largest <- max(ritz[[2]], largest)
  smallest <- if (missed < 1) largest - (largest - ritz[[1]]) / (1 - missed) else 0
  c(min(max(smallest, floor, 1 - radius), ritz[[1]]), largest)
}

# A lower bound of the smallest eigenvalue of A. The bound is 1, up to rounding, if P is the sum of lambda I and a part
# of K. For other P, the bound is lambda divided by the trace of P: the smallest eigenvalue of S is at least lambda, and
# the largest eigenvalue of P is at most its trace, which the squares of the probes estimate. If lambda is 0, the bound
# is the machine epsilon.
smallest_eigenvalue <- function(system, precond, z, miss) {
  s <- ncol(z)
  noise <- min(system$lambda)
  trace <- mean(system$space$dots(z, z)) * s / stats::qchisq(miss, s)
  part <- !is.null(precond$Q) && noise > 0
  max(noise / trace, if (part) 1 - system$n * .Machine$double.eps * max(system$diagonal()) / noise, .Machine$double.eps)
}

# The limit of a one-sided interval for tr W, where W is positive semidefinite with eigenvalues of at most `largest`.
# The limit is computed from `mean`, the mean of z' W z over s standard normal vectors z. This mean is a weighted sum of
# chi-squared variables. For a given trace, the distribution of the mean is widest if all eigenvalues are 0 or
# `largest`. If the trace is less than `largest`, the distribution is widest if only one eigenvalue is not 0 (Szekely
# and Bakirov 2003).
trace_limit <- function(mean, largest, s, miss, upper) {
  if (mean <= 0) return(0)
  excess <- function(log_trace) {
    trace <- exp(log_trace)
    degrees <- s * max(1, trace / largest)
    stats::pchisq(mean / trace * degrees, degrees, lower.tail = upper, log.p = TRUE) - log(miss)
  }
  far <- if (upper) c(0, 1) else c(-1, 0)
  exp(stats::uniroot(excess, log(mean) + far, extendInt = if (upper) "downX" else "upX", tol = 1e-8)$root)
}

# Computes tr A - n. For Vecchia's preconditioner, the diagonal of A is 1 apart from the effect of the noise added to
# the diagonal, so the trace needs no product. For other preconditioners, the trace requires a product of S with the
# columns of Q.
trace_excess <- function(system, precond) {
  if (precond$type == "vecchia") {
    sets <- precond$sets
    return(-sets$added * sum((1 + colSums(sets$weights^2)) / sets$sd^2))
  }
  total <- sum((system$diagonal() + system$lambda) / precond$shift) - system$n
  if (is.null(precond$Q)) return(total)
  Q <- on_space(precond$Q, system$space)
  total - sum(system$space$dots(Q, system$product(Q, "float64")))
}
