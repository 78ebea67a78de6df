#' Solve a kernel linear system
#'
#' Finds `a` with \eqn{(K + \lambda I) a = b}, where `op` computes \eqn{K a} for its variable `b_name`, by conjugate
#' gradients: K is never stored, each iteration is one call of `op`.
#'
#' @param op an operator of [keops_kernel()], linear in `b_name`, whose matrix K is symmetric and positive
#'   semi-definite: the same points on both axes.
#' @param b_name the name of that variable.
#' @param input a list with a value for each variable of `op`; the one of `b_name` is the right-hand side, an n x p matrix.
#' @param lambda the number added to the diagonal of K, at least 0.
#' @param tol each column stops once its residual \eqn{|b - (K + \lambda I) a|} is at most `tol` times \eqn{|b|}.
#' @param maxit the largest number of iterations; default: 10 n, at most 10,000.
#' @param x0 where to start, n x p; default: zero.
#'
#' @return A list of class `kernel_solve`:
#'   * `solution`, n x p;
#'   * `iterations`, how many it took;
#'   * `converged`, for each column;
#'   * `residual`, the relative residual of each column: of the solution returned, computed anew;
#'   * `history`, (iterations + 1) x p: the relative residuals on the way, where a column stays as it stopped.
#'
#' @section Warnings: class `kernops_not_converged`, with the residuals reached, where a column did not reach `tol`.
#' @section Errors: class `kernops_input_error` for unfit arguments, or a matrix that proves not positive definite.
#'
#' @references Hestenes, M. R. and Stiefel, E. (1952) Methods of conjugate gradients for solving linear systems.
#'   *Journal of Research of the National Bureau of Standards* 49(6), 409-436.
#'
#' @examples
#' op <- keops_kernel(
#'   "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
#'   c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
#' )
#' x <- matrix(runif(200), 100)
#' b <- sin(6 * x[, 1])
#' fit <- kernel_solve(op, "b", list(x = x, y = x, b = b), lambda = 0.01)
#' fit
#' @export
kernel_solve <- function(op, b_name, input, lambda = 0, tol = 1e-6, maxit = NULL, x0 = NULL) {
  check_operator(op)
  variables <- environment(op)$about$variables
  check_choice(b_name, "b_name", variables$name[variables$category != "Pm"])
  input <- stats::setNames(match_input(input, variables$name, environment(op)$backend), variables$name)
  b <- as.matrix(input[[b_name]])
  storage.mode(b) <- "double"
  check_number(lambda, "lambda", least = 0)
  check_number(tol, "tol", least = 0, above = TRUE)
  maxit <- maxit %||% min(10 * nrow(b), 1e4)
  check_number(maxit, "maxit", least = 1, whole = TRUE)
  if (!all(is.finite(b))) stop_kernops("input", "The right-hand side {.code {b_name}} must be finite.")
  product <- function(a) {
    input[[b_name]] <- a
    result <- op(input)
    if (!identical(dim(result), dim(a))) {
      stop_kernops("dim", "{.arg op} must map {.code {b_name}} to its own shape, {nrow(b)} x {ncol(b)}, not to {nrow(result)} x {ncol(result)}.")
    }
    result + lambda * a
  }
  start <- check_start(x0, b)
  warn_unless_converged(conjugate_gradients(product, b, start, tol, maxit), tol)
}

# All columns share each product; one that has converged stands still.
conjugate_gradients <- function(product, b, x, tol, maxit) {
  norm_b <- column_norm(b)
  scale <- ifelse(norm_b > 0, norm_b, 1)
  x[, norm_b == 0] <- 0
  r <- if (any(x != 0)) b - product(x) else b
  p <- r
  rr <- colSums(r^2)
  history <- list(sqrt(rr) / scale)
  while (length(history) <= maxit && any(active <- history[[length(history)]] > tol)) {
    q <- product(p)
    curvature <- colSums(p * q)
    if (any(bad <- active & !(curvature > 0))) stop_indefinite(which(bad))
    step <- ifelse(active, rr / curvature, 0)
    x <- x + sweep(p, 2, step, "*")
    r <- r - sweep(q, 2, step, "*")
    rr_new <- ifelse(active, colSums(r^2), rr)
    p <- sweep(p, 2, ifelse(active, rr_new / rr, 1), "*") * rep(active, each = nrow(p)) + r
    rr <- rr_new
    history <- c(history, list(sqrt(rr) / scale))
  }
  residual <- column_norm(b - product(x)) / scale
  structure(
    list(solution = x, iterations = length(history) - 1L, converged = residual <= 2 * tol | norm_b == 0,
         residual = residual, history = do.call(rbind, history)),
    class = "kernel_solve"
  )
}

column_norm <- function(x) sqrt(colSums(x^2))

check_number <- function(x, name, least, above = FALSE, whole = FALSE, call = caller_env()) {
  fits <- is.numeric(x) && length(x) == 1 && is.finite(x) && x >= least && !(above && x == least) && !(whole && x != floor(x))
  if (fits) return(invisible())
  what <- paste(if (whole) "whole" else "finite", "number,", if (above) "above" else "at least")
  stop_kernops("input", "{.arg {name}} must be one {what} {least}.", call = call)
}

check_start <- function(x0, b, call = caller_env()) {
  if (is.null(x0)) return(0 * b)
  x0 <- as.matrix(x0)
  if (identical(dim(x0), dim(b)) && is.numeric(x0) && all(is.finite(x0))) return(x0)
  stop_kernops("dim", "{.arg x0} must be a finite {nrow(b)} x {ncol(b)} matrix.", call = call)
}

stop_indefinite <- function(columns) {
  stop_kernops("input", c("The matrix is not positive definite (seen in column{?s} {columns} of the right-hand side).",
                          i = "A larger {.arg lambda} makes it so; are the points of both axes the same?"))
}

warn_unless_converged <- function(fit, tol) {
  if (!all(fit$converged)) {
    cli::cli_warn(c("Conjugate gradients did not converge in {fit$iterations} iteration{?s}.",
                    x = "Relative residual {signif(max(fit$residual), 3)}, wanted {tol}.",
                    i = "More {.arg maxit}, a larger {.arg lambda} or tolerance, or {.val float64} precision may help."),
                  class = "kernops_not_converged", fit = fit)
  }
  fit
}

#' @export
print.kernel_solve <- function(x, ...) {
  cli::cat_line("<kernel_solve> ", nrow(x$solution), " x ", ncol(x$solution), ", ", x$iterations, " iterations")
  cli::cat_line("  relative residual  ", paste(signif(x$residual, 3), collapse = " "))
  cli::cat_line("  converged          ", paste(x$converged, collapse = " "))
  invisible(x)
}
