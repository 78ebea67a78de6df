# The sparse inverse Cholesky factor U of a covariance matrix, and the derivatives of the rows of U. There is a row for
# each conditioning set. The covariance may be the residual of a low-rank approximation, k(x, y) - v(x)'v(y). The
# factors v(x) of all points are the columns of the matrix `factors`.

# The rows of U in the form of set_weights(), for the points and the noise of `sets`, a result of hold_sets(). The
# nugget is in row `nugget` of theta, and each set uses at most `count` neighbours. If the covariance of a set is not
# positive definite, `bad` is the index of the first such set. The result also has functions of matrices with a column
# for each point:
#   whiten(x)            x U'
#   outer(x, y)          x y'
#   combine(C, x)        C x for a small matrix C
#   dots(x, y)           the inner products of column i of x and column i of y
#   products(x, y)       for each point, the inner products of its column of x with the columns of y of its neighbours
#   adjoint(weights, log_sd)  the arguments are the derivatives of a function with respect to the weights and log(sd).
#                        Returns the gradient with respect to theta and, for each set, K^-1 times the derivatives with
#                        respect to the weights, where K is the covariance of the neighbours
#   by_factors(slopes, by_point, by_neighbours)  the derivatives with respect to the factors v of a function that
#                        depends on v through the covariances of the sets and through the whitened factors. `slopes` are
#                        the derivatives with respect to the whitened factors. See src/gp_factors.cpp
factored_rows <- function(operators, theta, nugget, sets, neighbours, factors = NULL, count = Inf) {
  theta <- unname(theta)
  nugget <- c(nugget, 0L)[[1]]
  pointer <- if (is.null(factors)) sets() else sets_with_factors(sets(), factors)
  settings <- settings_of(operators$values)
  rows <- sets_residual_weights(list(values = live(operators$values)), theta, nugget, pointer, count, settings)
  rows$neighbours <- neighbours[seq_len(nrow(rows$weights)), , drop = FALSE]
  bad <- which(!is.finite(colSums(rows$weights)) | !(rows$sd > 0 & is.finite(rows$sd)))
  rows$bad <- if (length(bad)) bad[[1]]
  c(rows, list(
    whiten = function(x) sets_whiten(rows$weights, rows$sd, rows$neighbours, x, FALSE, threads()),
    outer = function(x, y = x) factors_outer(x, y, run_settings()),
    combine = function(C, x) block_combine(C, x, run_settings()), dots = block_dots,
    products = function(x, y) factors_inner(rows$neighbours, x, y, threads()),
    adjoint = function(weights, log_sd) {
      sets_residual_adjoint(lapply(operators[c("values", "derivatives")], live), theta, nugget, pointer, weights,
                            log_sd, settings)
    },
    by_factors = function(slopes, by_point, by_neighbours) {
      factors_adjoint(rows, factors, slopes, by_point, by_neighbours, threads())
    }
  ))
}
