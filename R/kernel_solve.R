#' Solve a kernel linear system
#'
#' Finds `a` with \eqn{(K + \lambda I) a = b}, where `op` computes \eqn{K a} for its variable `b_name`, by iterations
#' that are one call of `op` each: K is never stored. Where `op` runs on a GPU, so does all of it, on the first one of
#' `op`: data and vectors are moved there once, and only scalar products of columns come back.
#'
#' @param op an operator of [keops_kernel()], linear in `b_name`, whose matrix K is symmetric: the same points on both
#'   axes. It acts on each column of `b_name` alone, as products of a kernel of size 1 with `b_name` do.
#' @param b_name the name of that variable.
#' @param input a list with a value for each variable of `op`, of which any may be a [gpu_matrix()]; the one
#'   of `b_name` is the right-hand side, an n x p matrix. p may differ from the size declared.
#' @param lambda what is added to the diagonal of K: one number or one for each point, at least 0 for `"cg"`.
#' @param tol each column stops once its residual \eqn{|b - (K + \lambda I) a|} is at most `tol` times \eqn{|b|}.
#' @param maxit the largest number of iterations; default: 10 n, at most 10,000.
#' @param x0 where to start, n x p; default: zero.
#' @param precond how convergence is sped up, for `"cg"`: `"none"`, or a `type` of [kernel_preconditioner()], or an
#'   object made by that function.
#' @param rank of the preconditioner, where it has one.
#' @param method `"cg"`, conjugate gradients, where \eqn{K + \lambda I} is positive definite; `"minres"` where it is
#'   symmetric only.
#'
#' @return A list of class `kernel_solve`:
#'   * `solution`, n x p: a `float64` [gpu_matrix()] if the right-hand side is a `gpu_matrix`, else a matrix;
#'   * `iterations`, how many it took;
#'   * `converged`, for each column: its residual is at most 2 `tol`, which leaves room for rounding;
#'   * `residual`, the relative residual of each column: of the solution returned, computed anew in float64;
#'   * `history`, (iterations + 1) x p: the relative residuals on the way, where a column stays as it stopped;
#'   * `problem`, what was solved, for [kernel_solve_grad()].
#'
#' @details
#' Columns stop one by one. On the CPU a column that has stopped leaves the product. On the GPU each number of columns
#' is a kernel to be compiled, so half of them leave together, and from 100,000 points on, where that pays.
#'
#' `"minres"` stops a column at the smallest residual where it finds that the matrix is singular, to rounding. No
#' solution has a larger residual than its start, which is given back where rounding has spoilt it.
#'
#' With an operator in float32 the solution still has a residual of `tol` in float64, as long as float32 suffices to
#' reduce it: the system is solved again for the correction.
#'
#' @section Warnings: class `kernops_not_converged`, with the residuals reached, where a column did not reach `tol`.
#' @section Errors: class `kernops_input_error` for unfit arguments, or a matrix that proves not positive definite;
#'   `kernops_dim_error` for shapes that do not fit.
#'
#' @references Hestenes, M. R. and Stiefel, E. (1952) Methods of conjugate gradients for solving linear systems.
#'   *Journal of Research of the National Bureau of Standards* 49(6), 409-436.
#'
#' Paige, C. C. and Saunders, M. A. (1975) Solution of sparse indefinite systems of linear equations. *SIAM Journal on
#'   Numerical Analysis* 12(4), 617-629.
#'
#' @examples
#' op <- keops_kernel(
#'   "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
#'   c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
#' )
#' x <- matrix(runif(200), 100)
#' b <- sin(6 * x[, 1])
#' kernel_solve(op, "b", list(x = x, y = x, b = b), lambda = 0.01)
#' kernel_solve(op, "b", list(x = x, y = x, b = b), lambda = 0.01,
#'              precond = "pivoted_cholesky", rank = 20)
#' @export
kernel_solve <- function(op, b_name, input, lambda = 0, tol = 1e-6, maxit = NULL, x0 = NULL,
                         precond = c("none", "pivoted_cholesky", "nystrom", "jacobi"), rank = 100,
                         method = c("cg", "minres")) {
  check_linear(op, b_name)
  method <- check_choice(method, "method", c("cg", "minres"))
  input <- check_right_hand_side(op, b_name, input)
  system <- kernel_system(op, b_name, input, lambda, least = if (method == "cg") 0 else -Inf)
  check_number(tol, "tol", least = 0, above = TRUE)
  maxit <- maxit %||% most_iterations(system$n)
  check_number(maxit, "maxit", least = 1, whole = TRUE)
  given <- input[[b_name]]
  b <- check_block(given, b_name, system)
  if (!is.null(x0)) x0 <- check_block(x0, "x0", system, ncol(b))
  precond <- chosen_preconditioner(precond, rank, method, system)
  fit <- solve_system(system, b, precond, tol, maxit, x0, method)
  input[[b_name]] <- NULL
  problem <- list(op = op, b_name = b_name, input = input, lambda = lambda, tol = tol, maxit = maxit,
                  precond = precond, method = method)
  new_kernel_solve(fit, given, problem)
}

# What users see of solve_system(), with the names of the right-hand side.
new_kernel_solve <- function(fit, given, problem, call = caller_env()) {
  if (!is_gpu_matrix(given)) {
    given <- as.matrix(given)
    fit$solution <- `dimnames<-`(as.matrix(fit$solution), dimnames(given))
    colnames(fit$history) <- names(fit$converged) <- names(fit$residual) <- colnames(given)
  }
  fit <- c(fit[c("solution", "iterations", "converged", "residual", "history")], list(problem = problem))
  warn_unless_converged(structure(fit, class = "kernel_solve"), call)
}

check_linear <- function(op, b_name, call = caller_env()) {
  check_operator(op, call)
  check_choice(b_name, "b_name", with(environment(op)$about$variables, name[category != "Pm"]), call)
}

# The input by name, which must have a right-hand side.
check_right_hand_side <- function(op, b_name, input) {
  names <- environment(op)$about$variables$name
  stats::setNames(match_input(input, names, environment(op)$backend), names)
}

# A finite n x p matrix as a block of its own.
check_block <- function(x, name, system, columns = NULL, call = caller_env()) {
  numbers <- is_gpu_matrix(x) || is.numeric(x) || is.logical(x)
  if (numbers && !is_gpu_matrix(x)) x <- as.matrix(x)
  size <- dim(x)
  if (!numbers || nrow(x) != system$n || !size[2] %in% (columns %||% size[2])) {
    stop_kernops("dim", call = call, c(
      "{.arg {name}} must be a numeric matrix, {system$n} x {columns %||% 'p'}.",
      x = if (numbers) "It is {size[1]} x {size[2]}." else "It is of type {typeof(x)}."
    ))
  }
  x <- system$space$copy(x)
  if (!system$space$finite(x)) stop_kernops("input", "{.arg {name}} must be finite.", call = call)
  x
}

chosen_preconditioner <- function(precond, rank, method, system, call = caller_env()) {
  if (inherits(precond, "kernel_preconditioner")) {
    precond <- check_preconditioner(precond, system$n, call)
  } else {
    type <- check_choice(precond, "precond", c("none", preconditioner_types), call)
    if (type == "none" || system$n == 0) return(NULL)
    precond <- if (method == "cg") system_preconditioner(system, type, rank, call = call)
  }
  if (method == "cg") return(precond)
  stop_kernops("input", "{.code method = \"minres\"} takes no preconditioner.", call = call)
}

check_number <- function(x, name, least, above = FALSE, whole = FALSE, most = Inf, call = caller_env()) {
  fits <- is_plain_numeric(x) && length(x) == 1 && is.finite(x) && x >= least && !(above && x == least) && x <= most &&
    !(whole && x != floor(x))
  if (fits) return(invisible())
  what <- paste(c(if (whole) "whole" else "finite", "number"), collapse = " ")
  bound <- if (is.finite(least)) paste0(", ", if (above) "above " else "at least ", least)
  if (is.finite(most)) bound <- paste0(", from ", least, " to ", format(most, scientific = FALSE))
  stop_kernops("input", "{.arg {name}} must be one {what}{bound}.", call = call)
}

warn_unless_converged <- function(fit, call) {
  if (!all(fit$converged)) {
    cli::cli_warn(c("The iteration did not converge in {fit$iterations} step{?s}.",
                    x = "Relative residual {signif(max(fit$residual), 3)}, wanted {fit$problem$tol}.",
                    i = "More {.arg maxit}, a preconditioner, a larger {.arg lambda} or tolerance, or {.val float64}
                         precision may help."),
                  class = "kernops_not_converged", fit = fit, call = call)
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
