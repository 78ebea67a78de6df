# Bounds for log det S, S = K + lambda I, from the solves of random probes.
#
# With a preconditioner P, A = P^-1/2 S P^-1/2 is near the identity, and log det S = log det P + (tr A - n) - tr w(A)
# with w(x) = x - 1 - log(x). The first two terms are exact. The third term, tr w(A), is a sum of nonnegative numbers
# and of second order in A - I: it is twice the Kullback-Leibler divergence between N(0, P) and N(0, S), which good
# preconditioners make small (Schaefer, Katzfuss and Owhadi 2021). Therefore few probes estimate it well. For a normal
# probe z with covariance P, conjugate gradients give the Lanczos matrix of A: the Gauss rule of this matrix is a lower
# bound of z' P^-1/2 w(A) P^-1/2 z, and the Gauss-Radau rule with a node below the spectrum is an upper bound (Golub and
# Meurant 2010).

# An interval that contains log det S with probability 1 - `miss`, and bounds for the `eigenvalues` of A; `precise`:
# TRUE if smaller residuals would not make the interval much shorter. `fit` is a result of solve_system() whose
# right-hand sides in `columns` are the normal probes of probe_vectors(), solved from a starting value of 0.
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

# Gauss rule and Gauss-Radau rule with a node at `smallest`, which is below the spectrum. The last row of the Radau
# matrix follows from the pivots of T - smallest I.
run_bounds <- function(run, smallest) {
  m <- length(run$diagonal)
  smallest <- min(smallest, run$gauss$nodes * (1 - 1e-8))
  pivot <- run$diagonal[[1]] - smallest
  for (k in seq_len(m)[-1]) pivot <- run$diagonal[[k]] - smallest - run$below[[k - 1]]^2 / pivot
  last <- smallest + run$below[[m]]^2 / pivot
  radau <- lanczos_quadrature(c(run$diagonal, last), run$below)
  vapply(list(run$gauss, radau), function(rule) sum(rule$weights * log_excess(pmax(rule$nodes, smallest))), 0)
}

# Bounds for the eigenvalues of A that hold with probability 1 - miss, the best of three bounds. The trace: the largest
# eigenvalue is at most the trace minus n - 1 times a lower bound of the eigenvalues. The moments: tr (A - I)^p with p =
# 2 k - 2, which the Gauss rules of k steps compute exactly for each of s probes, is at least the largest (eigenvalue -
# 1)^p. The Ritz values: the Ritz values of k steps from s random starts all miss the largest eigenvalue of a
# semidefinite matrix by the factor 1 - e with a probability of at most (1.648 sqrt(n) exp(-sqrt(e) (2 k - 1)))^s
# (Kuczynski and Wozniakowski 1992).
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
# of K. Otherwise the smallest eigenvalue of S is at least lambda, and the largest eigenvalue of P is at most its trace,
# which the squares of the probes estimate. If lambda is 0, the bound is the machine epsilon.
smallest_eigenvalue <- function(system, precond, z, miss) {
  s <- ncol(z)
  noise <- min(system$lambda)
  trace <- mean(system$space$dots(z, z)) * s / stats::qchisq(miss, s)
  part <- !is.null(precond$Q) && noise > 0
  max(noise / trace, if (part) 1 - system$n * .Machine$double.eps * max(system$diagonal()) / noise, .Machine$double.eps)
}

# The limit of a one-sided interval for tr W, W >= 0 with eigenvalues of at most `largest`, from the `mean` of z' W z
# over s normal z, which is a sum of chi-squared variables. For a given trace, the distribution of the mean is widest if
# all eigenvalues are 0 or `largest` or, if the trace is less than `largest`, if only one eigenvalue is not 0 (Szekely
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

# tr A - n. Vecchia's factor whitens exactly, up to the number added to the diagonal, so the excess needs no product;
# for other preconditioners, a product with the columns of P is computed.
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
