#' The gradient of a solution
#'
#' For the solution `a` of [kernel_solve()] and weights `eta` of the same shape, `kernel_solve_grad()` computes the
#' gradient of `sum(eta * a)` with respect to the right-hand side, to lambda, and to the data and parameters of the
#' operator. The gradient requires the solution of one more system, \eqn{u = (K + \lambda I)^{-1} \eta}, and one
#' reduction for each variable.
#'
#' The gradients are \eqn{u} for the right-hand side, \eqn{-u' dK\, a} for a variable of K (by [keops_grad()]), and
#' \eqn{-u' a} for lambda. Both axes of K have the same points. If two variables, such as `x` and `y`, contain these
#' points, the gradient with respect to the points is the sum of the gradients for both variables.
#'
#' @param fit a result of [kernel_solve()].
#' @param eta the incoming gradient, n x p; it may be a [gpu_matrix()].
#' @param var names of variables, which may include `"lambda"`; default: all.
#'
#' @return A list of matrices, one for each name in `var`, in the shape of the variable: n x size for points, 1 x size
#'   for a parameter, n x p for the right-hand side, and one number or n numbers for `lambda`.
#'
#' @inheritSection kernel_solve Warnings
#' @section Errors: class `kernops_input_error` or `kernops_dim_error` for invalid arguments.
#'
#' @seealso [kernel_solve()]; [keops_grad()] for gradients of operators.
#' @examples
#' set.seed(1)
#' op <- keops_kernel(
#'   "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)",
#'   c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
#' )
#' x <- matrix(runif(200), 100)
#' b <- sin(6 * x[, 1])
#' fit <- kernel_solve(op, "b", list(s = 3, x = x, y = x, b = b), lambda = 0.1, tol = 1e-10)
#' g <- kernel_solve_grad(fit, eta = b) # the gradient of sum(b * (K + lambda I)^-1 b)
#' g$s
#' dx <- g$x + g$y
#' @export
kernel_solve_grad <- function(fit, eta, var = NULL) {
  if (!inherits(fit, "kernel_solve")) stop_kernops("input", "{.arg fit} must be a result of {.fn kernel_solve}.")
  problem <- fit$problem
  variables <- c(environment(problem$op)$about$variables$name, "lambda")
  var <- var %||% variables
  if (!is.character(var)) {
    stop_kernops("input", "{.arg var} must be names of variables, not {.obj_type_friendly {var}}.")
  }
  for (name in var) check_choice(name, "var", variables)
  system <- kernel_system(problem$op, problem$b_name, problem$input, problem$lambda, least = -Inf, problem$ranges)
  u <- solve_system(system, check_block(eta, "eta", system, ncol(fit$solution)), problem$precond, problem$tol,
                    problem$maxit, method = problem$method)
  warn_unless_converged(c(u, list(problem = problem)), environment())
  a <- system$space$copy(fit$solution)
  gradient <- function(name) {
    if (name == problem$b_name) return(as.matrix(u$solution))
    if (name %in% names(problem$input)) return(-system$gradient(name, a, u$solution))
    if (length(problem$lambda) == 1) -sum(system$space$dots(u$solution, a)) else
      -rowSums(as.matrix(u$solution) * as.matrix(a))
  }
  lapply(stats::setNames(nm = var), gradient)
}
