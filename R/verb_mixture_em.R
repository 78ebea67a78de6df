# The EM algorithm of mixture_model().

# The points minus their mean, scaled so that the squares of coordinates neither underflow nor overflow, and the
# settings of the fit.
mixture_problem <- function(x, k, covariance, equal, weights, backend) {
  x <- unname(x)
  middle <- x[1, ] + colSums(weights * (x - rep(x[1, ], each = nrow(x)))) / sum(weights)
  x <- x - rep(middle, each = nrow(x))
  size <- max(column_sizes(x))
  unit <- if (size > 0) 2^floor(log2(size)) else 1
  x <- x / unit
  list(x = x, k = as.integer(k), covariance = covariance, equal = equal, weights = weights, backend = backend,
       middle = middle, unit = unit, least = 1e-12 * sum(weights * x^2) / sum(weights) / ncol(x))
}

# Runs the EM algorithm. Returns the parameters with their log-likelihood; NULL if a covariance matrix becomes singular.
run_mixture <- function(problem, label, tol, iter.max) {
  parameters <- mixture_parameters(problem, cluster_moments(problem, label), matrix(0, problem$k, ncol(problem$x)))
  before <- -Inf
  for (iteration in 0:iter.max) {
    if (is.null(parameters)) return(NULL)
    components <- mixture_components(parameters$weight, parameters$mean, parameters$covariance)
    density <- log_mixture(problem, components)
    loglik <- sum(problem$weights * density)
    converged <- loglik - before <= tol * (1 + abs(loglik))
    if (converged || iteration == iter.max) break
    before <- loglik
    parameters <- mixture_parameters(problem, component_moments(problem, components, density), parameters$mean)
  }
  list(parameters = parameters, loglik = loglik, iterations = iteration, converged = converged)
}

# The values of the variables m, r and c of component_log_densities() for all components: the means; the inverse roots
# of the covariances, stored by rows, or only their diagonals; and the logarithms of the maxima of the weighted
# densities.
mixture_components <- function(weight, mean, covariance) {
  k <- length(weight)
  d <- ncol(mean)
  roots <- lapply(seq_len(k), function(j) {
    own <- matrix(covariance[, , j], d, d)
    if (all(own[row(own) != col(own)] == 0)) diag(1 / sqrt(diag(own)), d) else forwardsolve(t(chol(own)), diag(d))
  })
  peak <- log(weight) - d / 2 * log(2 * pi) + vapply(roots, function(r) sum(log(diag(r))), 0)
  full <- any(vapply(roots, function(r) any(r[row(r) != col(r)] != 0), NA))
  root <- do.call(rbind, lapply(roots, function(r) if (full) as.vector(t(r)) else diag(r)))
  list(full = full, input = list(unname(mean), root, peak))
}

# An operator that reduces the logarithms of the weighted densities of all components at all points. With axis 1, it
# reduces over components; with axis 0, over points. `further` is a template of the formula into which the logarithm is
# inserted, and `declared` has the additional variables of the template.
component_log_densities <- function(reduction, components, d, backend, stored = FALSE, further = "%s", axis = 1,
                                    declared = NULL) {
  whitened <- if (components$full) "MatVecMult(r, x - m)" else "r * (x - m)"
  formula <- sprintf(further, sprintf("c - SqNorm2(%s) / 2", whitened))
  sizes <- c(d, d, ncol(components$input[[2]]))
  variables <- c(sprintf(c("x = Vi(%d)", "m = Vj(%d)", "r = Vj(%d)"), sizes), "c = Vj(1)", declared)
  recent_operator(sprintf("%s_Reduction(%s, %d)", reduction, formula, axis), variables, "auto", "float64", backend,
                  stored = stored)
}

log_mixture <- function(problem, components) {
  op <- component_log_densities("LogSumExp", components, ncol(problem$x), problem$backend)
  drop(op(c(list(problem$x), components$input)))
}

# For each component, sums over points, weighted by the probability that the point belongs to the component: the sum of
# the weights, the sum of the deviations from the mean of the component, and the sums of the products or squares of
# these deviations.
component_moments <- function(problem, components, density) {
  products <- if (problem$covariance == "full") "TensorProd(x - m, x - m)" else "Square(x - m)"
  further <- sprintf("Exp(%%s - l) * w * Concat(Concat(1, x - m), %s)", products)
  op <- component_log_densities("Sum", components, ncol(problem$x), problem$backend, further = further, axis = 0,
                                declared = c("l = Vi(1)", "w = Vi(1)"))
  op(c(list(problem$x), components$input, list(density, problem$weights)))
}

# The sums of component_moments() if each point belongs to exactly one component, its `label`. Deviations are measured
# from 0.
cluster_moments <- function(problem, label) {
  x <- problem$x
  d <- ncol(x)
  pairs <- if (problem$covariance == "full") cbind(rep(seq_len(d), each = d), rep(seq_len(d), d)) else
    cbind(seq_len(d), seq_len(d))
  products <- x[, pairs[, 1], drop = FALSE] * x[, pairs[, 2], drop = FALSE]
  sums <- cluster_sums(cbind(x, products), label, problem$weights, problem$k)
  sums[, c(ncol(sums), seq_len(ncol(sums) - 1)), drop = FALSE]
}

# The weights, means and covariances of the components, from the sums of component_moments(). `mean` has the means from
# which the deviations in these sums were computed. NULL if a covariance is singular.
mixture_parameters <- function(problem, moments, mean) {
  k <- problem$k
  d <- ncol(problem$x)
  size <- moments[, 1]
  if (any(size <= 0)) return(NULL)
  step <- moments[, 1 + seq_len(d), drop = FALSE] / size
  scatter <- moments[, -seq_len(1 + d), drop = FALSE]
  covariance <- vapply(seq_len(k), function(j) {
    if (problem$covariance == "full") matrix(scatter[j, ], d) / size[[j]] - tcrossprod(step[j, ])
    else diag(scatter[j, ] / size[[j]] - step[j, ]^2, d)
  }, matrix(0, d, d))
  covariance <- array(covariance, c(d, d, k))
  if (problem$equal) covariance[] <- apply(covariance, 1:2, function(own) sum(size * own)) / sum(size)
  if (problem$covariance == "spherical") {
    covariance <- vapply(seq_len(k), function(j) diag(mean(diag(matrix(covariance[, , j], d))), d), matrix(0, d, d))
    covariance <- array(covariance, c(d, d, k))
  }
  least <- apply(covariance, 3, function(own) {
    min(eigen(matrix(own, d), symmetric = TRUE, only.values = TRUE)$values)
  })
  if (!all(least > problem$least)) return(NULL)
  list(weight = size / sum(size), mean = mean + step, covariance = covariance)
}
