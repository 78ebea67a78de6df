#' Optimal transport with entropic regularisation
#'
#' Computes the transport cost between two weighted samples of points by Sinkhorn's algorithm, for balanced or
#' unbalanced transport. The result is a cost or a debiased divergence, on request with gradients. The transport plan is
#' a symbolic matrix.
#'
#' @param x,y the samples: n x d and m x d matrices or data frames of finite numbers, or vectors.
#' @param epsilon the strength of the regularisation, in the unit of the cost: a positive number. A smaller `epsilon`
#'   gives a result nearer to unregularised transport and needs more iterations.
#' @param weights_x,weights_y a non-negative weight for each point. Default: 1/n and 1/m. If `rho` is infinite, weights
#'   are divided by their sum.
#' @param cost the cost of a unit of mass from u to v: `"squared"` for \eqn{|u - v|^2}, `"distance"` for \eqn{|u - v|}.
#' @param rho the strength of the penalty for mass that is not transported, in the unit of the cost; with `Inf`, all
#'   mass is transported (balanced transport).
#' @param debiased if `TRUE`, the value is the divergence, which is 0 for equal samples and otherwise positive.
#' @param gradient if `TRUE`, the result includes the gradients of the value with respect to points and weights.
#' @param scaling a factor between 0 and 1. Each of the first iterations multiplies the strength of the regularisation
#'   by this factor, from the largest cost down to `epsilon`. With 0, the iteration starts at `epsilon`.
#' @param tol the tolerance: the iteration ends when the marginals of the plan differ from the marginals of an optimal
#'   plan by at most `tol` times the mass.
#' @param iter.max the largest number of iterations at `epsilon`.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#' @param precision `"float64"` or `"float32"` arithmetic.
#'
#' @details
#' With the weights a and b and the costs C, the transport cost is \deqn{OT(a, b) = \min_P \langle P, C \rangle +
#' \varepsilon KL(P | a b^T) + \rho KL(P 1 | a) + \rho KL(P^T 1 | b)} with the divergence \eqn{KL(p | q) = \sum p
#' \log(p / q) - p + q}. The solution is \eqn{P_{ij} = a_i b_j \exp((f_i + g_j - C_{ij}) / \varepsilon)} with the dual
#' potentials f and g. Each iteration updates f and g in turn by a log-sum-exp over the points of the other sample
#' (Cuturi 2013; Chizat et al. 2018). No n x m matrix is stored.
#'
#' The divergence is \deqn{OT(a, b) - OT(a, a) / 2 - OT(b, b) / 2 + \varepsilon (\sum a - \sum b)^2 / 2} (Feydy et al.
#' 2019; Sejourne et al. 2019). Gradients are computed as if the iteration had converged. If weights are divided by
#' their sum, the gradient with respect to the weights includes the derivative of this division.
#'
#' @return A list of class `kernops_transport`:
#'   * `value`, the transport cost or the divergence;
#'   * `plan`, the n x m transport plan from `x` to `y`, a [LazyTensor]: `plan %*% y`, `rowSums(plan)`;
#'   * `f` and `g`, the potentials at the points of `x` and `y`; if `rho` is infinite, they are determined up to a
#'     constant that is added to f and subtracted from g;
#'   * `gradient`, if requested, a list of `x`, `y`, `weights_x` and `weights_y`;
#'   * `iterations`, the number of iterations, and `error`, the difference of the marginals at the end, for the
#'     transport from `x` to `y` and, with `debiased`, also within `x` and within `y`; `converged`.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values or an `epsilon` of 0;
#'   `kernops_dim_error` for samples with different numbers of coordinates. A warning of class `kernops_not_converged`
#'   if `iter.max` is reached.
#'
#' @references
#' Chizat, L., Peyre, G., Schmitzer, B. and Vialard, F.-X. (2018) Scaling algorithms for unbalanced optimal transport
#' problems. *Mathematics of Computation* 87(314), 2563-2609.
#'
#' Cuturi, M. (2013) Sinkhorn distances: lightspeed computation of optimal transport. *Advances in Neural Information
#' Processing Systems* 26, 2292-2300.
#'
#' Feydy, J., Sejourne, T., Vialard, F.-X., Amari, S., Trouve, A. and Peyre, G. (2019) Interpolating between optimal
#' transport and MMD using Sinkhorn divergences. *Proceedings of AISTATS* 89, 2681-2690.
#'
#' Sejourne, T., Feydy, J., Vialard, F.-X., Trouve, A. and Peyre, G. (2019) Sinkhorn divergences for unbalanced optimal
#' transport. *arXiv* 1910.12958.
#'
#' @seealso [energy_test()] and [mmd_test()] for tests of equal distributions; [logsumexp()], the reduction that each
#'   iteration computes.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(200, sd = 0.3), 100)
#' y <- cbind(runif(80, 1, 3), runif(80, -1, 1))
#' fit <- sinkhorn(x, y, epsilon = 0.05)
#' fit
#' to <- fit$plan %*% y / rowSums(fit$plan) # the mean destination of each point
#' sinkhorn(x, y, 0.05, debiased = TRUE, gradient = TRUE)$gradient$x[1:3, ]
#' @export
sinkhorn <- function(x, y, epsilon, weights_x = NULL, weights_y = NULL, cost = c("squared", "distance"), rho = Inf,
                     debiased = FALSE, gradient = FALSE, scaling = 0.5, tol = 1e-6, iter.max = 1000,
                     backend = c("auto", "cpu", "cuda"), precision = c("float64", "float32")) {
  x <- verb_points(x, "x")
  y <- verb_points(y, "y", ncol(x))
  check_number(epsilon, "epsilon", least = 0, above = TRUE)
  if (!identical(rho, Inf)) check_number(rho, "rho", least = 0, above = TRUE)
  check_flag(debiased, "debiased")
  check_flag(gradient, "gradient")
  check_number(scaling, "scaling", least = 0)
  if (scaling >= 1) stop_kernops("input", "{.arg scaling} must be less than 1.")
  check_number(tol, "tol", least = 0)
  check_number(iter.max, "iter.max", least = 1, whole = TRUE)
  cost <- check_choice(cost, "cost", c("squared", "distance"))
  masses <- list(transport_weights(weights_x, "weights_x", nrow(x), rho),
                 transport_weights(weights_y, "weights_y", nrow(y), rho))
  problem <- transport_problem(x, y, masses, epsilon, cost, rho, check_backend(backend), check_precision(precision))
  settings <- list(scaling = scaling, tol = tol, iter.max = iter.max)
  pairs <- if (debiased) list(1:2, c(1, 1), c(2, 2)) else list(1:2)
  fits <- lapply(pairs, function(sides) solve_transport(problem, sides[[1]], sides[[2]], settings))
  result <- transport_result(problem, fits)
  if (!result$converged) {
    cli::cli_warn("The marginals still differ by {signif(max(result$error), 3)} after {iter.max} iteration{?s}: use a
                   larger {.arg iter.max} or {.arg epsilon}.", class = "kernops_not_converged")
  }
  if (gradient) result$gradient <- transport_gradient(problem, fits, list(x, y), list(weights_x, weights_y))
  result
}

transport_weights <- function(weights, name, n, rho, call = caller_env()) {
  weights <- verb_weights(weights, n, name, call) %||% rep(1 / n, n)
  if (rho == Inf) weights / sum(weights) else weights
}

transport_result <- function(problem, fits) {
  part <- function(name) vapply(fits, `[[`, 0, name)
  values <- part("value")
  value <- values[[1]]
  if (length(fits) > 1) {
    value <- value - sum(values[-1]) / 2 + problem$epsilon / 2 * (sum(problem$mass[[1]]) - sum(problem$mass[[2]]))^2
  }
  result <- list(value = value * problem$unit, plan = transport_plan(problem, fits[[1]]),
                 f = fits[[1]]$f * problem$unit, g = fits[[1]]$g * problem$unit, iterations = part("iterations"),
                 error = part("error"), converged = all(vapply(fits, `[[`, NA, "converged")))
  structure(result, class = "kernops_transport", debiased = length(fits) > 1)
}

# The transport plan as a symbolic matrix; the logarithms of the weights are part of the exponent.
transport_plan <- function(problem, fit) {
  x <- Vi(problem$points[[1]])
  y <- Vj(problem$points[[2]])
  cost <- if (problem$cost == "squared") sqdist(x, y) else norm2(x - y)
  log_mass <- lapply(problem$mass, log)
  exp(Vi(matrix(fit$f / problem$epsilon + log_mass[[1]])) + Vj(matrix(fit$g / problem$epsilon + log_mass[[2]])) -
        cost / problem$epsilon)
}

#' @export
print.kernops_transport <- function(x, ...) {
  kind <- if (attr(x, "debiased")) "Sinkhorn divergence" else "transport cost"
  cli::cat_line("<kernops_transport> ", kind, " ", format(x$value, digits = 7))
  cli::cat_line("  plan        ", length(x$f), " x ", length(x$g))
  cli::cat_line("  iterations  ", paste(x$iterations, collapse = ", "), ", marginals to ",
                format(max(x$error), digits = 2))
  invisible(x)
}
