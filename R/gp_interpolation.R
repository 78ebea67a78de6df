#' Interpolation by kernels
#'
#' The function \eqn{f(u) = \sum_j a_j k(u, x_j)} with \eqn{(K + \lambda I) a = y}: radial basis
#' functions, or kernel ridge regression for `lambda > 0`. Solved by [kernel_solve()]: the kernel matrix is never
#' stored.
#'
#' @param x the points, n x d, or a vector.
#' @param y the values at the points, a vector or a matrix with a column for each function.
#' @param kernel a covariance whose parameters all have values, such as `matern(5/2, variance = 1, range = 0.3)`; a
#'   string in the language of [keops_kernel()] of the points `x` and `y` will do.
#' @param lambda at least 0; 0 interpolates.
#' @param ... handed to [kernel_solve()], such as `tol`.
#' @param precond as in [kernel_solve()]. Smooth kernels need a preconditioner: without one, 100 points may take 1000
#'   steps.
#' @inheritParams gp
#' @return A function of new points, m x d, that gives f there: m values, or m rows and the columns of `y`. Its
#'   attribute `solve` is what [kernel_solve()] returned.
#' @examples
#' x <- matrix(runif(200), 100)
#' f <- kernel_interpolation(x, sin(6 * x[, 1]), squared_exponential(1, 0.2), lambda = 1e-6)
#' f(rbind(c(0.5, 0.5)))
#' @export
kernel_interpolation <- function(x, y, kernel, lambda = 0, ..., precond = "pivoted_cholesky",
                                 precision = c("float64", "float32"), backend = c("auto", "cpu", "cuda")) {
  x <- unname_rows(as.matrix(x))
  if (is.character(kernel)) kernel <- covariance(kernel)
  if (!is_covariance(kernel)) stop_kernops("input", "{.arg kernel} must be a covariance or a formula.")
  model <- covariance_model(kernel, ncol(x))
  if (length(lacking <- model$parameters$name[is.na(model$parameters$value)])) {
    stop_kernops("input", "{.arg kernel} needs a value for {.code {lacking}}.")
  }
  if (length(model$nugget)) {
    stop_kernops("input", "The noise of {.arg kernel} is {.arg lambda}, not {.fn nugget}.")
  }
  center <- if (model$movable) colMeans(x) else rep(0, ncol(x))
  x <- unname(sweep(x, 2, center))
  values <- as.matrix(y)
  if (!is.numeric(values) || nrow(values) != nrow(x)) {
    stop_kernops("dim", "{.arg y} must have a number for each of the {nrow(x)} point{?s} of {.arg x}.")
  }
  op <- covariance_product(model, ncol(values), check_precision(precision), check_backend(backend))
  theta <- model$parameters$value
  fit <- kernel_solve(op, "b", list(theta = theta, x = x, y = x, b = values), lambda = lambda, precond = precond,
                      ...)
  structure(function(u) {
    u <- one_or_many_points(u, ncol(x))
    if (ncol(u) != ncol(x)) {
      stop_kernops("dim", "The points must have {ncol(x)} coordinate{?s}, not {ncol(u)}.", call = NULL)
    }
    result <- op(list(theta = theta, x = unname(sweep(u, 2, center)), y = x, b = fit$solution))
    if (is.null(dim(y))) as.vector(result) else `colnames<-`(result, colnames(values))
  }, solve = fit)
}
