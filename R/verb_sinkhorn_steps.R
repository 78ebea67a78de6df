# The iterations of sinkhorn(), and its gradients.

# The points, shifted so that the first point of x is 0 and scaled so that the largest coordinate is about 1, with the
# settings. `unit` is the unit of costs, by which `epsilon` and `rho` are divided.
transport_problem <- function(x, y, mass, epsilon, cost, rho, backend, precision) {
  points <- lapply(list(x, y), function(u) unname(u) - rep(x[1, ], each = nrow(u)))
  size <- max(column_sizes(points[[1]]), column_sizes(points[[2]]))
  length_unit <- if (size > 0) 2^floor(log2(size)) else 1
  points <- lapply(points, `/`, length_unit)
  unit <- if (cost == "squared") length_unit^2 else length_unit
  ranges <- column_ranges(do.call(rbind, points))
  diameter <- sqrt(sum((ranges[2, ] - ranges[1, ])^2))
  list(points = points, mass = mass, epsilon = epsilon / unit, rho = rho / unit, cost = cost, unit = unit,
       length_unit = length_unit, largest = if (cost == "squared") diameter^2 else diameter,
       run = list(backend = backend, precision = precision))
}

cost_formula <- function(problem) if (problem$cost == "squared") "SqDist(x, y)" else "Norm2(x - y)"

# Returns a function softmin(h, epsilon): for each point of sample `to`, minus epsilon times the log-sum-exp of h - C /
# epsilon over the points of sample `from`, where C are the costs.
transport_softmin <- function(problem, to, from) {
  d <- ncol(problem$points[[1]])
  formula <- sprintf("LogSumExp_Reduction(h - e * %s, 1)", cost_formula(problem))
  declared <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "h = Vj(1)", "e = Pm(1)")
  op <- verb_operator(formula, declared, problem$run$backend, problem$run$precision)
  points <- lapply(problem$points[c(to, from)], function(u) resident_points(op, u))
  function(h, epsilon) -epsilon * drop(op(list(points[[1]], points[[2]], h, 1 / epsilon)))
}

# The potentials of the transport between two samples (sides), or within one sample, where both potentials are equal.
solve_transport <- function(problem, first, second, settings) {
  sides <- list(list(mass = problem$mass[[first]]), list(mass = problem$mass[[second]]))
  to_first <- transport_softmin(problem, first, second)
  to_second <- if (first != second) transport_softmin(problem, second, first)
  log_first <- log(sides[[1]]$mass)
  log_second <- log(sides[[2]]$mass)
  damped <- function(epsilon) if (problem$rho == Inf) 1 else problem$rho / (problem$rho + epsilon)
  f <- numeric(length(log_first))
  g <- numeric(length(log_second))
  heating <- annealing_steps(problem, settings$scaling)
  for (step in seq_len(length(heating) + settings$iter.max + 1)) {
    epsilon <- if (step <= length(heating)) heating[[step]] else problem$epsilon
    update <- damped(epsilon) * to_first(g / epsilon + log_second, epsilon)
    error <- sum(sides[[1]]$mass * abs(expm1((f - update) / epsilon))) / sum(sides[[1]]$mass)
    final <- step > length(heating) + 1
    if (final && (error <= settings$tol || step > length(heating) + settings$iter.max)) break
    f <- if (first != second) update else (f + update) / 2
    g <- if (first != second) damped(epsilon) * to_second(f / epsilon + log_first, epsilon) else f
  }
  list(f = f, g = g, value = transport_value(problem, sides, f, g), iterations = step - 1 - length(heating),
       error = error, converged = error <= settings$tol)
}

# The decreasing strengths of the regularisation in the first iterations; all are larger than the strength in the
# problem.
annealing_steps <- function(problem, scaling) {
  ratio <- problem$largest / problem$epsilon
  if (scaling == 0 || ratio <= 1) return(numeric())
  problem$largest * scaling^(seq_len(ceiling(log(ratio) / -log(scaling))) - 1)
}

# The value of the dual problem at the potentials f and g. The total mass of the transport plan follows from the sums of
# its columns, because g is optimal given f.
transport_value <- function(problem, sides, f, g) {
  a <- sides[[1]]$mass
  b <- sides[[2]]$mass
  if (problem$rho == Inf) return(sum(a * f) + sum(b * g))
  rho <- problem$rho
  total <- sum(b * exp(-g / rho))
  -rho * (sum(a * expm1(-f / rho)) + sum(b * expm1(-g / rho))) - problem$epsilon * (total - sum(a) * sum(b))
}

# The gradients of the value of sinkhorn() with respect to points and weights. By the envelope theorem, these gradients
# are the gradients of the dual value for fixed potentials.
transport_gradient <- function(problem, fits, points, weights) {
  debiased <- length(fits) > 1
  by_point <- function(fit, own, other) transport_slopes(problem, fit, own, other)
  of_side <- function(side) {
    cross <- fits[[1]]
    if (side == 2) cross[c("f", "g")] <- cross[c("g", "f")]
    within <- if (debiased) fits[[1 + side]]
    slopes <- by_point(cross, side, 3 - side) - if (debiased) by_point(within, side, side) else 0
    slopes <- slopes * problem$unit / problem$length_unit
    dimnames(slopes) <- dimnames(points[[side]])
    list(points = slopes, weights = mass_slopes(problem, cross, within, side, weights[[side]]))
  }
  sides <- lapply(1:2, of_side)
  list(x = sides[[1]]$points, y = sides[[2]]$points, weights_x = sides[[1]]$weights, weights_y = sides[[2]]$weights)
}

# For each point of sample `side`, the gradient of its costs with respect to the point, summed over the opposite sample
# with the weights of the transport plan.
transport_slopes <- function(problem, fit, side, opposite) {
  d <- ncol(problem$points[[1]])
  slope <- if (problem$cost == "squared") "2 * (x - y)" else "Rsqrt(SqDist(x, y)) * (x - y)"
  formula <- sprintf("Sum_Reduction(Exp(u + h - e * %s) * (%s), 1)", cost_formula(problem), slope)
  declared <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "u = Vi(1)", "h = Vj(1)", "e = Pm(1)")
  op <- verb_operator(formula, declared, problem$run$backend, problem$run$precision)
  op(list(problem$points[[side]], problem$points[[opposite]], fit$f / problem$epsilon + log(problem$mass[[side]]),
          fit$g / problem$epsilon + log(problem$mass[[opposite]]), 1 / problem$epsilon))
}

mass_slopes <- function(problem, cross, within, side, weights) {
  slope_of <- function(f, total) {
    if (problem$rho == Inf) return(f)
    -problem$rho * expm1(-f / problem$rho) - problem$epsilon * (exp(-f / problem$rho) - total)
  }
  totals <- vapply(problem$mass, sum, 0)[c(side, 3 - side)]
  slopes <- slope_of(cross$f, totals[[2]])
  if (!is.null(within)) {
    slopes <- slopes - slope_of(within$f, totals[[1]]) + problem$epsilon * (totals[[1]] - totals[[2]])
  }
  if (problem$rho == Inf) slopes <- (slopes - sum(slopes * problem$mass[[side]])) / sum(weights %||% 1)
  slopes * problem$unit
}
