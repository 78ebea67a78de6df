#' Solve a kernel linear system
#'
#' Solves \eqn{(K + \lambda I) a = b}, where `op` computes \eqn{K a} and the vector a is the value of its variable
#' `var`. The solver is iterative, with one call of `op` in each iteration: K is not stored. If `op` runs on a GPU, the
#' whole solver runs on the first GPU of `op`: data and vectors are copied to this GPU once, and only scalar products of
#' columns are copied back.
#'
#' @param op an operator of [keops_kernel()], linear in `var`, whose matrix K is symmetric: both axes have the same
#'   points. The operator must act on each column of `var` separately; this holds for products of `var` with a kernel of
#'   size 1.
#' @param var the variable in which `op` is linear: its name, or its position counted from 1, as in [keops_grad()].
#' @param input a list with a value for each variable of `op`, each of which may be a [gpu_matrix()]. The value of
#'   `var` is the right-hand side, an n x p matrix; p may differ from the declared size.
#' @param lambda a number added to the diagonal of K, or one number for each point; at least 0 for `"cg"`.
#' @param tol the iteration of a column stops when its residual \eqn{|b - (K + \lambda I) a|} is at most `tol` times
#'   \eqn{|b|}.
#' @param maxit the largest number of iterations; default: 10 n, at most 10,000.
#' @param x0 the starting value, n x p; default: zero.
#' @param precond the preconditioner, for `"cg"`: `"none"`; a `type` of [kernel_preconditioner()]; a result of
#'   [kernel_preconditioner()]; or `"auto"`, which chooses a type according to the matrix, or no preconditioner if
#'   single entries of the matrix cannot be computed.
#' @param rank the rank of the preconditioner, for types that have a rank; for `"vecchia"`, the number of neighbours.
#' @param method `"cg"`: conjugate gradients, if \eqn{K + \lambda I} is positive definite; `"minres"`: MINRES, for any
#'   symmetric matrix.
#' @param ranges the pairs of points for which K is computed, see [ranges]; default: all pairs. Entries of other pairs
#'   are 0. With each pair (i, j), the ranges must contain the pair (j, i). With such ranges K may have negative
#'   eigenvalues; if `"cg"` finds one, an error is raised.
#'
#' @return A list of class `kernel_solve`:
#'   * `solution`, n x p: a `float64` [gpu_matrix()] if the right-hand side is a `gpu_matrix`, otherwise a matrix;
#'   * `iterations`, the number of iterations;
#'   * `converged`, `TRUE` for each column whose relative residual is at most 2 `tol` (the factor 2 allows for rounding
#'     errors);
#'   * `residual`, the relative residual of each column of the returned solution, computed in float64;
#'   * `history`, (iterations + 1) x p: the relative residuals of all iterations; a column that has stopped keeps its
#'     last value;
#'   * `problem`, the system, for [kernel_solve_grad()].
#'
#' @details Columns stop separately. On the CPU, a column that has stopped is removed from the product. On the GPU, each
#' number of columns requires a separate compiled kernel. Therefore columns are removed only when at least half of them
#' have stopped, and only for 100,000 points or more.
#'
#' If the matrix is numerically singular, `"minres"` stops the iterations of a column when they no longer reduce its
#' residual. If rounding errors make the residual larger than the residual of the starting value, the starting value is
#' returned.
#'
#' With an operator in float32, iterative refinement reduces the residual to `tol`: the residual is computed in float64,
#' and the system is solved again for the correction, as long as each correction at least halves the residual.
#'
#' @section Warnings: class `kernops_not_converged`, with the residuals, if a column did not reach `tol`.
#' @section Errors: class `kernops_input_error` for invalid arguments, or if `"cg"` finds that the matrix is not
#'   positive definite; `kernops_dim_error` for shapes that do not match.
#'
#' @references Hestenes, M. R. and Stiefel, E. (1952) Methods of conjugate gradients for solving linear systems.
#'   *Journal of Research of the National Bureau of Standards* 49(6), 409-436.
#'
#' Paige, C. C. and Saunders, M. A. (1975) Solution of sparse indefinite systems of linear equations. *SIAM Journal on
#'   Numerical Analysis* 12(4), 617-629.
#'
#' @seealso [solve()][solve.LazyTensor] for symbolic matrices, [kernel_preconditioner()], [kernel_solve_grad()] for
#'   gradients, [kernel_interpolation()]; [gp()] estimates the parameters of the kernel.
#' @examples
#' set.seed(1)
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
kernel_solve <- function(op, var, input, lambda = 0, tol = 1e-6, maxit = NULL, x0 = NULL,
                         precond = c("none", "auto", "pivoted_cholesky", "rpcholesky", "nystrom", "jacobi", "vecchia"),
                         rank = NULL, method = c("cg", "minres"), ranges = NULL) {
  b_name <- check_linear(op, var)
  method <- check_choice(method, "method", c("cg", "minres"))
  input <- check_right_hand_side(op, b_name, input)
  system <- kernel_system(op, b_name, input, lambda, if (method == "cg") 0 else -Inf, ranges)
  check_number(tol, "tol", least = 0, above = TRUE)
  maxit <- maxit %||% most_iterations(system$n)
  check_number(maxit, "maxit", least = 1, whole = TRUE)
  rhs <- input[[b_name]]
  b <- check_block(rhs, b_name, system)
  if (!is.null(x0)) x0 <- check_block(x0, "x0", system, ncol(b))
  precond <- chosen_preconditioner(precond, rank, method, system)
  fit <- solve_system(system, b, precond, tol, maxit, x0, method)
  input[[b_name]] <- NULL
  problem <- list(op = op, b_name = b_name, input = input, lambda = lambda, tol = tol, maxit = maxit,
                  precond = precond, method = method, ranges = ranges)
  new_kernel_solve(fit, rhs, problem)
}

# Converts a result of solve_system() to the object that kernel_solve() returns, with the names of the right-hand side.
new_kernel_solve <- function(fit, rhs, problem, call = caller_env()) {
  if (!is_gpu_matrix(rhs)) {
    rhs <- as.matrix(rhs)
    fit$solution <- `dimnames<-`(as.matrix(fit$solution), dimnames(rhs))
    colnames(fit$history) <- names(fit$converged) <- names(fit$residual) <- colnames(rhs)
  }
  fit <- c(fit[c("solution", "iterations", "converged", "residual", "history")], list(problem = problem))
  warn_unless_converged(structure(fit, class = "kernel_solve"), call)
}

# Checks that `var` is a variable of `op` and not a parameter, and returns its name.
check_linear <- function(op, var, call = caller_env()) {
  check_operator(op, call)
  variables <- environment(op)$about$variables
  if (is.numeric(var)) var <- variable_name(var, variables$name, call)
  check_choice(var, "var", variables$name[variables$category != "Pm"], call)
}

# Checks that the input has a right-hand side, and returns the input, named by the variables.
check_right_hand_side <- function(op, b_name, input) {
  names <- environment(op)$about$variables$name
  stats::setNames(match_input(input, names, environment(op)$backend), names)
}

# Checks a finite n x p matrix and copies it to a block.
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
    type <- check_choice(precond, "precond", c("none", "auto", preconditioner_types), call)
    if (type == "auto" && method == "cg") return(automatic_preconditioner(system, rank))
    if (type == "none" || system$n == 0) return(NULL)
    precond <- if (method == "cg") system_preconditioner(system, type, rank, call = call)
  }
  if (method == "cg") return(precond)
  stop_kernops("input", "{.code method = \"minres\"} does not support a preconditioner.", call = call)
}

# A preconditioner that takes little time compared with the iterations that it saves. NULL if entries of K are not
# available or the diagonal of K is not positive. The type "vecchia" is considered only in up to 8 dimensions, where the
# search for neighbours is fast.
automatic_preconditioner <- function(system, rank = NULL) {
  if (system$n == 0) return(NULL)
  tryCatch({
    sparse <- !is.null(system$subset) && ncol(system$entries()$u) <= 8
    type <- if (sparse && is.null(rank)) best_preconditioner(system) else "pivoted_cholesky"
    system_preconditioner(system, type, rank)
  }, kernops_error = function(e) NULL)
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
                    x = "The relative residual is {signif(max(fit$residual), 3)}, the tolerance {fit$problem$tol}.",
                    i = "A larger {.arg maxit}, a preconditioner, a larger {.arg lambda} or tolerance, or {.val float64}
                         precision may help."),
                  class = "kernops_not_converged", fit = fit, call = call)
  }
  fit
}

#' @export
print.kernel_solve <- function(x, ...) {
  cli::cat_line("<kernel_solve> ", nrow(x$solution), " x ", ncol(x$solution), ", ", x$iterations, " iterations")
  precond <- x$problem$precond
  if (!is.null(precond)) cli::cat_line("  preconditioner     ", precond$type, ", rank ", precond$rank)
  cli::cat_line("  relative residual  ", paste(signif(x$residual, 3), collapse = " "))
  cli::cat_line("  converged          ", paste(x$converged, collapse = " "))
  invisible(x)
}
