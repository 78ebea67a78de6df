#' Gaussian mixture models
#'
#' Fits a mixture of k normal distributions to points by maximum likelihood, with the EM algorithm. The n x k matrix of
#' probabilities is not stored.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param k the number of components, at least 1 and at most n.
#' @param covariance the covariance matrices of the components: `"full"`, `"diagonal"` or `"spherical"` (a multiple of
#'   the identity matrix).
#' @param equal if `TRUE`, all components have the same covariance matrix.
#' @param weights a non-negative weight for each point; default: 1. A point of weight 2 counts as two points.
#' @param start the component to which each point is assigned at the start: whole numbers from 1 to k. Default: the
#'   clusters of [kmeans_large()], which are random.
#' @param nstart the number of random starts; the fit with the largest likelihood is returned.
#' @param tol the iteration ends when the log-likelihood l increases by at most `tol` (|l| + 1).
#' @param iter.max the largest number of iterations.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details
#' The log-likelihood is the sum of \eqn{\log \sum_k \pi_k N(x_i; \mu_k, \Sigma_k)}, a log-sum-exp over the components.
#' An iteration computes the log-likelihood in one pass over points and components. A second pass computes the sums of
#' probabilities, deviations and products of deviations, which give the next weights, means and covariance matrices
#' (Dempster, Laird and Rubin 1977). The likelihood has local maxima: use several starts.
#'
#' The likelihood is unbounded if a component contains only few distinct points. A start ends without a result if a
#' covariance matrix is singular, or if a standard deviation is less than 1e-6 times the standard deviation of all
#' points.
#'
#' @return `mixture_model()`: a list of class `kernops_mixture`:
#'   * `weights`, k numbers whose sum is 1; `means`, k x d; `covariances`, d x d x k;
#'   * `cluster`, the most probable component of each point;
#'   * `loglik`, the log-likelihood (with weights, a weighted sum); `df`, the number of parameters; `nobs`, the sum of
#'     the weights of the points; [AIC()] and [BIC()] apply;
#'   * `iterations`, `converged`, and the settings `covariance` and `equal`.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, or if all starts end at a
#'   singular covariance matrix; `kernops_dim_error` if the number of coordinates of new points differs from that of
#'   `x`. A warning of class `kernops_not_converged` if `iter.max` is reached.
#'
#' @references
#' Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977) Maximum likelihood from incomplete data via the EM algorithm.
#' *Journal of the Royal Statistical Society, Series B* 39(1), 1-38.
#'
#' McLachlan, G. and Peel, D. (2000) *Finite mixture models.* Wiley.
#'
#' @seealso [kmeans_large()] for clusters without a distribution, [kde()] for densities without components.
#' @examples
#' set.seed(1)
#' fit <- mixture_model(faithful, 2)
#' fit
#' BIC(fit, mixture_model(faithful, 2, equal = TRUE))
#' predict(fit, data.frame(eruptions = c(2, 3, 4), waiting = 65), type = "probability")
#' @export
mixture_model <- function(x, k, covariance = c("full", "diagonal", "spherical"), equal = FALSE, weights = NULL,
                          start = NULL, nstart = 1, tol = 1e-8, iter.max = 1000, backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  check_number(k, "k", least = 1, whole = TRUE, most = nrow(x))
  covariance <- check_choice(covariance, "covariance", c("full", "diagonal", "spherical"))
  check_flag(equal, "equal")
  weights <- verb_weights(weights, nrow(x)) %||% rep(1, nrow(x))
  start <- mixture_start(start, nrow(x), k)
  check_number(nstart, "nstart", least = 1, whole = TRUE)
  check_number(tol, "tol", least = 0)
  check_number(iter.max, "iter.max", least = 1, whole = TRUE)
  problem <- mixture_problem(x, k, covariance, equal, weights, check_backend(backend))
  fits <- lapply(seq_len(if (is.null(start)) nstart else 1), function(one) {
    run_mixture(problem, start %||% mixture_clusters(problem), tol, iter.max)
  })
  values <- vapply(fits, function(fit) fit$loglik %||% -Inf, 0)
  if (all(values == -Inf)) {
    stop_kernops("input", c("{cli::qty(length(fits))}{?The start/All starts} ended at a singular covariance matrix.",
                            i = "Use a smaller {.arg k}, or another {.arg covariance}."))
  }
  fit <- fits[[which.max(values)]]
  if (!fit$converged) {
    cli::cli_warn("The likelihood still rose after {iter.max} iteration{?s}: use a larger {.arg iter.max}.",
                  class = "kernops_not_converged")
  }
  mixture_result(problem, fit, x, backend)
}

mixture_start <- function(start, n, k, call = caller_env()) {
  if (is.null(start)) return(NULL)
  if (length(start) != n || !is_plain_numeric(start) || !setequal(start, seq_len(k))) {
    stop_kernops("input", "{.arg start} must have a number from 1 to {k} for each of the {n} point{?s}, and each of
                           these numbers.", call = call)
  }
  as.integer(start)
}

# The component to which each point belongs at the start: its cluster around random centres or, if there are fewer
# distinct points than components, a random label.
mixture_clusters <- function(problem) {
  used <- problem$weights > 0
  label <- sample(rep_len(seq_len(problem$k), length(used)))
  distinct <- sum(first_rows(problem$x[used, , drop = FALSE]) == seq_len(sum(used)))
  if (distinct < problem$k) return(label)
  suppressWarnings(kmeans_large(problem$x, problem$k, weights = problem$weights)$cluster,
                   classes = "kernops_not_converged")
}

mixture_result <- function(problem, fit, x, backend) {
  of <- fit$parameters
  result <- list(weights = of$weight, means = problem$unit * of$mean + rep(problem$middle, each = problem$k),
                 covariances = problem$unit^2 * of$covariance)
  dimnames(result$means) <- list(NULL, colnames(x))
  dimnames(result$covariances) <- list(colnames(x), colnames(x), NULL)
  d <- ncol(x)
  free <- switch(problem$covariance, full = d * (d + 1) / 2, diagonal = d, spherical = 1)
  df <- problem$k - 1 + problem$k * d + free * if (problem$equal) 1 else problem$k
  total <- sum(problem$weights)
  result <- structure(c(result, list(
    cluster = NULL, loglik = fit$loglik - d * log(problem$unit) * total, df = df, nobs = total,
    iterations = fit$iterations, converged = fit$converged, covariance = problem$covariance, equal = problem$equal
  )), class = "kernops_mixture")
  result$cluster <- stats::predict(result, x, backend = backend)
  result
}

#' @rdname mixture_model
#' @param object a result of `mixture_model()`.
#' @param newdata m x d points.
#' @param type `"class"`: the most probable component; `"probability"`: the probability of each component; `"density"`
#'   or `"log_density"`: the density of the mixture or its logarithm.
#' @param ... not used.
#' @return `predict()`: m numbers; with `"probability"`, an m x k matrix. `logLik()`: the log-likelihood.
#' @export
predict.kernops_mixture <- function(object, newdata, type = c("class", "probability", "density", "log_density"),
                                    backend = c("auto", "cpu", "cuda"), ...) {
  refuse_arguments("predict.kernops_mixture", list(...), what = "{.fn predict}")
  x <- verb_points(newdata, "newdata", ncol(object$means))
  type <- check_choice(type, "type", c("class", "probability", "density", "log_density"))
  backend <- check_backend(backend)
  components <- mixture_components(object$weights, object$means, object$covariances)
  run <- function(reduction, stored = FALSE) {
    component_log_densities(reduction, components, ncol(x), backend, stored)(c(list(unname(x)), components$input))
  }
  if (type == "class") return(stats::setNames(as.integer(run("ArgMax")), rownames(x)))
  density <- drop(run("LogSumExp"))
  names(density) <- rownames(x)
  if (type == "log_density") return(density)
  if (type == "density") return(exp(density))
  probability <- matrix(exp(run("Sum", stored = TRUE) - density), nrow(x))
  rownames(probability) <- rownames(x)
  probability
}

#' @rdname mixture_model
#' @export
logLik.kernops_mixture <- function(object, ...) {
  structure(object$loglik, df = object$df, nobs = object$nobs, class = "logLik")
}

#' @export
print.kernops_mixture <- function(x, ...) {
  k <- length(x$weights)
  cli::cat_line("<kernops_mixture> ", k, if (k == 1) " component, " else " components, ", ncol(x$means),
                "-dimensional, ", if (x$equal) "equal ", x$covariance, " covariances")
  cli::cat_line("  log-likelihood  ", format(x$loglik, digits = 7), ", ", x$df, " parameters")
  cli::cat_line("  weights         ", paste(format(x$weights, digits = 3), collapse = " "))
  invisible(x)
}
