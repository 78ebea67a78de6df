#' Interpolation by kernels
#'
#' Returns the function \eqn{f(u) = \sum_j a_j k(u, x_j)} with \eqn{(K + \lambda I) a = y}. The function f is the
#' interpolation by radial basis functions or, for `lambda > 0`, kernel ridge regression. The system is solved by
#' [kernel_solve()], which does not store the kernel matrix.
#'
#' @param x the points: an n x d matrix, or a vector.
#' @param y the values at the points: a vector, or a matrix with a column for each function.
#' @param kernel a covariance with values for all its parameters, such as `matern(5/2, variance = 1, range = 0.3)`; or a
#'   string with a formula of the points `x` and `y` in the language of [keops_kernel()].
#' @param lambda the number \eqn{\lambda}, at least 0; with 0, f interpolates the values.
#' @param ... further arguments of [kernel_solve()], such as `tol`.
#' @param precond as in [kernel_solve()]. Smooth kernels need a preconditioner: without one, 100 points may take 1000
#'   iterations.
#' @inheritParams gp
#' @return A function of new points, an m x d matrix, that returns the values of f: m numbers, or a matrix with m rows
#'   and the columns of `y`. The attribute `solve` of this function is the result of [kernel_solve()].
#' @seealso [kernel_solve()] and [solve()][solve.LazyTensor] for the linear system; [covariance_functions]; [gp()],
#'   which estimates the parameters and gives standard errors.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(200), 100)
#' f <- kernel_interpolation(x, sin(6 * x[, 1]), squared_exponential(1, 0.2), lambda = 1e-6)
#' f(rbind(c(0.5, 0.5)))
#' @export
kernel_interpolation <- function(x, y, kernel, lambda = 0, ..., precond = "pivoted_cholesky",
                                 precision = c("float64", "float32"), backend = c("auto", "cpu", "cuda")) {
  x <- unname_rows(as.matrix(check_numbers(x)))
  if (is.character(kernel)) kernel <- covariance(kernel)
  if (!is_covariance(kernel)) stop_kernops("input", "{.arg kernel} must be a covariance or a formula.")
  refuse_lmc(kernel)
  model <- covariance_model(kernel, ncol(x))
  if (length(lacking <- model$parameters$name[is.na(model$parameters$value)])) {
    stop_kernops("input", "{.arg kernel} needs a value for {.code {lacking}}.")
  }
  if (length(model$nugget)) {
    stop_kernops("input", "Give the noise of {.arg kernel} by {.arg lambda}, not by {.fn nugget}.")
  }
  center <- if (model$translation_invariant) colMeans(x) else rep(0, ncol(x))
  x <- unname(sweep(x, 2, center))
  values <- as.matrix(check_numbers(y, arg = "y"))
  if (!is.numeric(values) || nrow(values) != nrow(x)) {
    stop_kernops("dim", "{.arg y} must have one value for each of the {nrow(x)} point{?s} of {.arg x}.")
  }
  op <- covariance_product(model, ncol(values), check_precision(precision), check_backend(backend))
  theta <- model$parameters$value
  fit <- kernel_solve(op, "b", list(theta = theta, x = x, y = x, b = values), lambda = lambda, precond = precond, ...)
  f <- function(u) {
    u <- one_or_many_points(u, ncol(x))
    if (ncol(u) != ncol(x)) {
      stop_kernops("dim", "The points must have {ncol(x)} coordinate{?s}, not {ncol(u)}.", call = NULL)
    }
    result <- op(list(theta = theta, x = unname(sweep(u, 2, center)), y = x, b = fit$solution))
    if (is.null(dim(y))) as.vector(result) else `colnames<-`(result, colnames(values))
  }
  structure(f, solve = fit, kernel = kernel, points = dim(x), class = "kernel_interpolation")
}

#' @export
print.kernel_interpolation <- function(x, ...) {
  size <- attr(x, "points")
  fit <- attr(x, "solve")
  cli::cat_line("<kernel_interpolation> of ", counted(size[[1]], "point"), " of ", counted(size[[2]], "coordinate"))
  cli::cat_line("  kernel             ", format(attr(x, "kernel")))
  cli::cat_line("  lambda             ", paste(signif(unique(fit$problem$lambda), 4), collapse = " "))
  cli::cat_line("  iterations         ", fit$iterations, ", relative residual ", signif(max(fit$residual), 3))
  invisible(x)
}
