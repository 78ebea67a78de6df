#' Kernel ridge regression
#'
#' Predicts responses at points by a sum of kernels, with a penalty; the width of the kernel and the penalty may be
#' selected by cross-validation. No kernel matrix is stored.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param y the responses: n finite numbers, or an n x p matrix.
#' @param width the width w of the kernel, or several widths from which cross-validation selects one. Default: the
#'   median distance between points (of 1,000 evenly spaced rows, if there are more rows).
#' @param lambda the penalty, a positive number that is added to the diagonal of the kernel matrix, or several numbers
#'   from which cross-validation selects one.
#' @param kernel the kernel of two points at distance t: `"gaussian"`, \eqn{\exp(-t^2 / (2 w^2))}; `"exponential"`,
#'   \eqn{\exp(-t / w)}; `"matern32"`, \eqn{(1 + u) \exp(-u)} with \eqn{u = \sqrt 3 t / w}; `"matern52"`,
#'   \eqn{(1 + u + u^2 / 3) \exp(-u)} with \eqn{u = \sqrt 5 t / w}.
#' @param centre if `TRUE`, the mean of the responses is subtracted first, and added to predictions.
#' @param folds the number of random folds of the cross-validation, or the fold of each point.
#' @param tol the relative residual of the linear system, as in [kernel_solve()].
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details
#' The prediction at u is \eqn{\sum_j k(u, x_j) a_j} with the solution a of \eqn{(K + \lambda I) a = y}, computed by
#' [kernel_solve()] with a preconditioner that is chosen according to the matrix. The prediction is the posterior mean
#' of a Gaussian process with covariance k and noise variance \eqn{\lambda}. If there are several widths or penalties,
#' all their combinations are compared by the root mean squared error of cross-validation, where each fold is predicted
#' from the other folds.
#'
#' Random numbers come from R's generator: see [set.seed()].
#'
#' @return `kernel_ridge()`: a list of class `kernops_ridge`:
#'   * `coefficients`, the n x p matrix a; `fitted.values`, the predictions at `x`;
#'   * `width` and `lambda`, as given or selected, `kernel` and the means `centre`;
#'   * `cv`, a data frame of `width`, `lambda` and `rmse`, if a width or a penalty was selected;
#'   * `x`, the points.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values or a `lambda` of 0;
#'   `kernops_dim_error` if `y` does not have a response for each point, or if the number of coordinates of new points
#'   differs from that of `x`. A warning of class `kernops_not_converged` if the linear system was not solved to `tol`.
#'
#' @references
#' Saunders, C., Gammerman, A. and Vovk, V. (1998) Ridge regression learning algorithm in dual variables. *Proceedings
#' of the 15th International Conference on Machine Learning*, 515-521.
#'
#' @seealso [gp()], which estimates width and penalty by maximum likelihood and gives standard errors;
#'   [kernel_interpolation()] for user-defined kernels.
#' @examples
#' set.seed(1)
#' fit <- kernel_ridge(cars$speed, cars$dist, width = c(2, 5, 10), lambda = c(0.1, 1))
#' fit
#' predict(fit, c(5, 15, 25))
#' @export
kernel_ridge <- function(x, y, width = NULL, lambda = 0.01,
                         kernel = c("gaussian", "exponential", "matern32", "matern52"), centre = TRUE, folds = 5,
                         tol = 1e-6, backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  y <- ridge_responses(y, nrow(x))
  kernel <- check_choice(kernel, "kernel", kernel_names)
  width <- kernel_widths(width, unname(x), several = TRUE)
  if (!is_plain_numeric(lambda) || length(lambda) == 0 || !all(is.finite(lambda)) || !all(lambda > 0)) {
    stop_kernops("input", "{.arg lambda} must be positive numbers.")
  }
  check_flag(centre, "centre")
  check_number(tol, "tol", least = 0, above = TRUE)
  problem <- list(x = unname(x), y = y, kernel = kernel, centre = centre, tol = tol, backend = check_backend(backend))
  choices <- expand.grid(width = width, lambda = as.numeric(lambda))
  cv <- if (nrow(choices) > 1) ridge_errors(problem, choices, ridge_folds(folds, nrow(x)))
  best <- if (is.null(cv)) 1 else which.min(cv$rmse)
  fit <- fit_ridge(problem, seq_len(nrow(x)), choices$width[[best]], choices$lambda[[best]])
  fitted <- y - fit$lambda * fit$coefficients
  fitted <- with_names(fitted, rownames(x), colnames(y))
  structure(c(fit, list(fitted.values = fitted, kernel = kernel, cv = cv, x = x)), class = "kernops_ridge")
}

ridge_responses <- function(y, n, call = caller_env()) {
  y <- plain_numbers(y, "y", call)
  y <- if (is.null(dim(y))) matrix(y) else as.matrix(y)
  if (!is.numeric(y) || !all(is.finite(y))) stop_kernops("input", "{.arg y} must be finite numbers.", call = call)
  if (nrow(y) != n || ncol(y) == 0) {
    stop_kernops("dim", "{.arg y} must have a response for each of the {n} point{?s}, not {nrow(y)}.", call = call)
  }
  storage.mode(y) <- "double"
  y
}

ridge_folds <- function(folds, n, call = caller_env()) {
  if (length(folds) == 1) {
    check_number(folds, "folds", least = 2, whole = TRUE, most = n, call = call)
    return(sample(rep_len(seq_len(folds), n)))
  }
  if (length(folds) != n || anyNA(folds) || length(unique(folds)) < 2) {
    stop_kernops("input", "{.arg folds} must be a number, or the fold of each of the {n} point{?s}.", call = call)
  }
  folds
}

# The root mean squared error of cross-validation for each row of `choices`, a width and a penalty.
ridge_errors <- function(problem, choices, folds) {
  choices$rmse <- vapply(seq_len(nrow(choices)), function(one) {
    squares <- lapply(unique(folds), function(fold) {
      fit <- fit_ridge(problem, which(folds != fold), choices$width[[one]], choices$lambda[[one]])
      new <- problem$x[folds == fold, , drop = FALSE]
      x <- problem$x[folds != fold, , drop = FALSE]
      (problem$y[folds == fold, , drop = FALSE] - ridge_predictions(fit, x, new, problem$kernel, problem$backend))^2
    })
    sqrt(mean(unlist(squares)))
  }, 0)
  choices
}

# The coefficients of a fit to the points in `rows`.
fit_ridge <- function(problem, rows, width, lambda) {
  x <- problem$x[rows, , drop = FALSE]
  y <- problem$y[rows, , drop = FALSE]
  middle <- if (problem$centre) colMeans(y) else numeric(ncol(y))
  op <- kernel_product(problem$kernel, ncol(x), ncol(y), problem$backend)
  input <- list(x = x, y = x, b = unname(y) - rep(middle, each = nrow(y)), s = named_kernel(problem$kernel, width)$s)
  solved <- kernel_solve(op, "b", input, lambda, tol = problem$tol, precond = "auto")
  list(coefficients = solved$solution, width = width, lambda = lambda, centre = middle)
}

ridge_predictions <- function(fit, x, new, kernel, backend) {
  op <- kernel_product(kernel, ncol(x), ncol(fit$coefficients), backend)
  op(list(new, x, unname(fit$coefficients), named_kernel(kernel, fit$width)$s)) + rep(fit$centre, each = nrow(new))
}

#' @rdname kernel_ridge
#' @param object a result of `kernel_ridge()`.
#' @param newdata m x d points.
#' @param ... not used.
#' @return `predict()`: an m x p matrix.
#' @export
predict.kernops_ridge <- function(object, newdata, backend = c("auto", "cpu", "cuda"), ...) {
  refuse_arguments("predict.kernops_ridge", list(...), what = "{.fn predict}")
  new <- verb_points(newdata, "newdata", ncol(object$x))
  predicted <- ridge_predictions(object, unname(object$x), unname(new), object$kernel, check_backend(backend))
  with_names(predicted, rownames(new), colnames(object$fitted.values))
}

with_names <- function(x, rows, columns) {
  dimnames(x) <- if (!is.null(rows) || !is.null(columns)) list(rows, columns)
  x
}

#' @export
print.kernops_ridge <- function(x, ...) {
  cli::cat_line("<kernops_ridge> ", nrow(x$x), " points, ", ncol(x$x), "-dimensional, ", x$kernel, " kernel")
  cli::cat_line("  width   ", format(x$width, digits = 4))
  cli::cat_line("  lambda  ", format(x$lambda, digits = 4))
  if (!is.null(x$cv)) cli::cat_line("  rmse    ", format(min(x$cv$rmse), digits = 4), " by cross-validation")
  invisible(x)
}
