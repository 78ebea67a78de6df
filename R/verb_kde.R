#' Kernel density estimates
#'
#' Estimates a density from points of any number of coordinates with a Gaussian kernel, at given points or on a grid.
#' The sums over the points are exact or, with `tol`, accurate to a tolerance; with `tol`, the time is proportional to
#' the number of points. Points are not binned.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param at the m points at which the density is estimated: m x d. Default, if there is no `grid`: the points of `x`.
#' @param bandwidth the covariance matrix H of the kernel, d x d and positive definite; or the standard deviations of
#'   the kernel, one number or d numbers; or the name of a selector, which chooses H as a multiple of the covariance
#'   matrix S of the points:
#'   * `"silverman"`: \eqn{(4 / (n (d + 2)))^{2 / (d + 4)} S}, which is optimal for normal data;
#'   * `"scott"`: \eqn{n^{-2 / (d + 4)} S};
#'   * `"cv"`: the factor that minimises the cross-validated integrated squared error (Rudemo 1982, Bowman 1984),
#'     between 1/400 and 4 times the factor of `"silverman"`. The search takes the time of about 20 evaluations of the
#'     density at the points of `x`.
#' @param weights a non-negative weight for each point; default: equal weights. In the selectors, n is
#'   \eqn{(\sum w)^2 / \sum w^2} and S is weighted.
#' @param grid the number of grid points along each coordinate: one number or d numbers. The grid extends 4 standard
#'   deviations of the kernel beyond the points.
#' @param log if `TRUE`, logarithms of densities, which do not underflow far from all points.
#' @param gradient if `TRUE`, the result includes the gradients of the densities, or of their logarithms.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#' @param precision `"float64"` or `"float32"` arithmetic.
#' @param tol `NULL` for exact sums, or the largest error relative to the largest density, as in [kernel_sum()]. `tol`
#'   is useful for many points; it requires at most three coordinates and excludes `log` and `gradient`.
#'
#' @return A list of class `kernops_kde`:
#'   * `at`, m x d, the points of the estimates; on a grid the first coordinate varies fastest;
#'   * `density`, m numbers, on a grid an array with a dimension for each coordinate;
#'   * `gradient`, m x d, if requested;
#'   * `axes`, a list of the coordinates of the grid, if there is one;
#'   * `bandwidth`, the matrix H;
#'   * `error`, only if `tol` is given, the measured error of the densities relative to the largest density.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, a selector for points
#'   that lie in a plane of lower dimension, or a bandwidth that is not positive definite; `kernops_dim_error` if the
#'   number of coordinates of `at` differs from that of `x`; with `tol`, also the errors of [kernel_sum()].
#'
#' @references
#' Bowman, A. W. (1984) An alternative method of cross-validation for the smoothing of density estimates. *Biometrika*
#' 71(2), 353-360.
#'
#' Rudemo, M. (1982) Empirical choice of histograms and kernel density estimators. *Scandinavian Journal of Statistics*
#' 9(2), 65-78.
#'
#' Scott, D. W. (1992) *Multivariate density estimation.* Wiley. Silverman, B. W. (1986) *Density estimation for
#' statistics and data analysis.* Chapman and Hall.
#'
#' @seealso [stats::density()], which bins the points of one coordinate; [kernel_sum()] for other kernels.
#' @examples
#' fit <- kde(faithful, grid = 60)
#' fit$bandwidth
#' contour(fit$axes[[1]], fit$axes[[2]], fit$density, xlab = "eruptions", ylab = "waiting")
#' # the density and its gradient at two points
#' at <- rbind(c(2, 55), c(4, 80))
#' kde(faithful, at = at, bandwidth = "cv", gradient = TRUE)[c("density", "gradient")]
#' # many points, with a tolerance
#' set.seed(1)
#' kde(matrix(rnorm(1e5), ncol = 2), bandwidth = 0.1, grid = 100, tol = 1e-6)$error
#' @export
kde <- function(x, at = NULL, bandwidth = "silverman", weights = NULL, grid = NULL, log = FALSE, gradient = FALSE,
                backend = c("auto", "cpu", "cuda"), precision = c("float64", "float32"), tol = NULL) {
  x <- verb_points(x, "x")
  weights <- verb_weights(weights, nrow(x))
  weights <- if (is.null(weights)) rep(1 / nrow(x), nrow(x)) else weights / sum(weights)
  check_flag(log, "log")
  check_flag(gradient, "gradient")
  run <- list(backend = check_backend(backend), precision = check_precision(precision), tol = tol)
  if (!is.null(tol) && (log || gradient)) {
    stop_kernops("input", "{.arg tol} is for densities, without {.arg log} and {.arg gradient}.")
  }
  if (!is.null(at) && !is.null(grid)) stop_kernops("input", "Use one of {.arg at} and {.arg grid}, not both.")
  at <- if (is.null(at)) x else verb_points(at, "at", ncol(x))
  h <- kernel_covariance(bandwidth, x, weights, run)
  axes <- if (!is.null(grid)) grid_axes(x, h, grid)
  if (!is.null(grid)) at <- as.matrix(expand.grid(axes, KEEP.OUT.ATTRS = FALSE))
  result <- c(list(at = at), density_at(x, at, h, weights, log, gradient, run))
  if (!is.null(grid)) {
    result$density <- array(result$density, lengths(axes, use.names = FALSE))
    result$axes <- axes
  }
  structure(c(result, list(bandwidth = h)), class = "kernops_kde")
}

# Densities and gradients, computed in coordinates in which the kernel is the standard normal density.
density_at <- function(x, at, h, weights, log, gradient, run) {
  root <- t(chol(h))
  middle <- colMeans(x)
  whiten <- function(points) t(forwardsolve(root, t(unname(points)) - middle))
  constant <- -ncol(x) / 2 * base::log(2 * pi) - sum(base::log(diag(root)))
  if (!is.null(run$tol)) {
    sums <- kernel_sum("Exp(-SqDist(x, y) / 2)", whiten(at), whiten(x), weights, run$tol, run$backend)
    return(list(density = exp(constant) * as.vector(sums), error = attr(sums, "error")))
  }
  input <- list(whiten(at), whiten(x), weights)
  declared <- c(sprintf(c("p = Vi(%d)", "x = Vj(%d)"), ncol(x)), "w = Vj(1)")
  reduce <- function(formula) verb_operator(formula, declared, run$backend, run$precision)(input)
  density <- drop(if (log) constant + reduce("LogSumExp_Reduction(-SqDist(p, x) / 2, w, 1)")
                  else exp(constant) * reduce("Sum_Reduction(Exp(-SqDist(p, x) / 2) * w, 1)"))
  if (!gradient) return(list(density = density))
  slope <- if (log) reduce("SumSoftMaxWeight_Reduction(Log(w) - SqDist(p, x) / 2, x - p, 1)")
           else exp(constant) * reduce("Sum_Reduction(Exp(-SqDist(p, x) / 2) * w * (x - p), 1)")
  slope <- t(backsolve(t(root), t(slope)))
  colnames(slope) <- colnames(x)
  list(density = density, gradient = slope)
}

grid_axes <- function(x, h, grid, call = caller_env()) {
  fits <- is_plain_numeric(grid) && length(grid) %in% c(1, ncol(x)) && all(is.finite(grid)) && all(grid >= 2) &&
    all(grid == floor(grid))
  if (!fits) {
    stop_kernops("input", "{.arg grid} must be one whole number from 2 on, or {ncol(x)}, one for each coordinate.",
                 call = call)
  }
  reach <- 4 * sqrt(diag(h))
  ranges <- column_ranges(x)
  axes <- Map(seq, ranges[1, ] - reach, ranges[2, ] + reach, length.out = rep_len(grid, ncol(x)))
  stats::setNames(axes, colnames(x) %||% paste0("x", seq_len(ncol(x))))
}

#' @export
print.kernops_kde <- function(x, ...) {
  cli::cat_line("<kernops_kde> at ", nrow(x$at), " points, ", ncol(x$at), "-dimensional")
  cli::cat_line("  standard deviations of the kernel  ", paste(signif(sqrt(diag(x$bandwidth)), 4), collapse = " "))
  invisible(x)
}
