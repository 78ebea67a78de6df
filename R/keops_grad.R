#' The gradient of an operator
#'
#' `keops_grad(op, var)` returns the vector-Jacobian product of an operator. The product is again an operator: it has an
#' additional last argument, `eta`, of the shape of the result of `op`, and computes the gradient of `sum(eta *
#' op(input))` with respect to `var`. The derivative is symbolic and exact, for reductions over either axis, and
#' gradients can be nested to any order.
#'
#' `Min`, `Max`, `KMin` and `KMax` are differentiated at the selected point, and in case of ties at the first of the
#' tied points. Positions such as `ArgMin`, and `Any`, `All` and `Count`, have gradient zero. `Median` and `Quantile`
#' are differentiated at the element that is the result, or at the two elements between which the result is
#' interpolated; the gradients of `Median` and `Quantile` cannot be differentiated again.
#'
#' The gradients of `Norm2(v)`, `Normalize(v)`, `Hypot(a, b)` and `Abs(a)` at 0 are defined as 0. Therefore the gradient
#' of a kernel of a distance, such as `Matern(2.5, Norm2(x - y))`, is correct for coincident points. Second derivatives
#' of such a kernel omit coincident points, although the second derivatives may have a nonzero limit at these points.
#' Second derivatives of kernels of `SqDist(x, y)`, such as `Exp(-SqDist(x, y))`, include coincident points.
#' `XLogX(a)`, and `Powf(a, b)` with b below 1, have infinite derivatives at 0. If `a` is a squared distance, a norm, or
#' a multiple, sum or power of squared distances and norms, the gradient at 0 is defined as 0: the limit for
#' differentiable functions of a distance, such as `Powf(SqDist(x, y), 0.75)` and `XLogX(SqDist(x, y))`.
#'
#' A masked value has gradient 0, even if the value is infinite or NaN. Masked values are the branches that `IfElse`,
#' `Mask`, `Max2`, `Min2`, `Clamp`, `ReLU`, `Max` and `Min` do not select, and factors that are multiplied by a
#' comparison or a `Step` that is 0. For example, `Mask(0 < SqDist(x, y), 1 / SqDist(x, y))` omits coincident points
#' from a sum and from all its derivatives. Where `f` is infinite, a product `(0 < a) * f` is NaN, but `Mask(0 < a, f)`
#' is 0.
#'
#' @param op an operator made by [keops_kernel()] or [keops_grad()].
#' @param var the variable: its name, or its position counted from 1.
#'
#' @return An operator, as returned by [keops_kernel()]. The result of this operator has the shape of `var`: n x size
#'   for a variable indexed by i or j, 1 x size for a parameter, or the shape of the matrix given for the parameter or
#'   for stored terms `Vij`. The new argument is named `eta`, or `eta2`, `eta3`, ... if the name `eta` is already used.
#'   With `output = "gpu"` the gradient of a matrix is a single row, with the entries in row-major order.
#'
#' @section Errors: class `kernops_input_error` if `var` is not a variable of `op`.
#'
#' @seealso [keops_kernel()]; [grad()] for symbolic matrices, [kernel_solve_grad()] for solutions of linear systems,
#'   [keops_objective()] for `optim()`.
#' @examples
#' set.seed(1)
#' op <- keops_kernel("Sum_Reduction(SqDist(x, y), 0)", c("x = Vi(3)", "y = Vj(3)"))
#' grad <- keops_grad(op, "x")
#' x <- matrix(rnorm(30), 10)
#' y <- matrix(rnorm(45), 15)
#' eta <- rnorm(15)
#' grad(list(x = x, y = y, eta = eta)) # row i is 2 * sum_j eta_j (x_i - y_j)
#' @export
keops_grad <- function(op, var) {
  check_operator(op)
  from <- environment(op)
  names <- from$about$variables$name
  var <- variable_name(var, names)
  if (!is.null(from$grad)) return(from$grad(from, var))
  eta <- setdiff(c("eta", paste0("eta", seq_along(names) + 1)), names)[[1]]
  formula <- code_text("Grad(", from$formula, ", ", var, ", ", eta, ")")
  incoming <- data.frame(name = eta, category = from$about$axis, size = from$about$size)
  kernel_operator(formula, declarations(rbind(from$about$variables, incoming)), from$sum_scheme, from$precision,
                  from$backend, from$device, from$accumulator, var)
}

# TRUE for operators. The environment is checked, too, because objects of other packages may have the same class name.
is_operator <- function(x) inherits(x, "keops_kernel") && is.function(x) && is.list(environment(x)$about)

check_operator <- function(op, call = caller_env()) {
  if (!is_operator(op)) {
    stop_kernops("input", "{.arg op} must be an operator made by {.fn keops_kernel}.", call = call)
  }
}

variable_name <- function(var, names, call = caller_env()) {
  if (is.character(var) && length(var) == 1 && var %in% names) return(var)
  if (is.numeric(var) && length(var) == 1 && var %in% seq_along(names)) return(names[[var]])
  stop_kernops("input", c("{.arg var} must be one of {.or {.val {names}}}, or a position from 1 to {length(names)}.",
                          x = if (length(var)) paste0("It is ", shown(var), ".")), call = call)
}
