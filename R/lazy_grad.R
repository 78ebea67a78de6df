# Derivatives of symbolic matrices, pair by pair.

#' The gradient of a symbolic matrix
#'
#' Returns the derivative of `f` with respect to one of its variables, applied to `eta`, for each pair. For gradients
#' of reductions, see [keops_grad()].
#'
#' @param f a [LazyTensor].
#' @param eta the incoming gradient, with as many entries as `f`, or with one entry, which is recycled. `eta` may be
#'   complex only if `f` is complex; real and imaginary parts then count as two numbers.
#' @param var the variable: a tensor made by [Vi()], [Vj()] or [Pm()] and used in `f`. Tensors of the same matrix on the
#'   same axis, with the same name, are one variable; parameters made by separate calls are different variables.
#' @param gradin another name of `eta`, as in rkeops.
#' @return A [LazyTensor] with as many entries as `var`.
#' @section Errors: class `kernops_input_error` if `var` is not a variable, or if `f` does not contain `var`.
#' @seealso [laplacian()] for other derivatives, [keops_grad()] for the gradient of an operator, [keops_objective()] for
#'   `optim()`.
#' @examples
#' set.seed(1)
#' x <- Vi(matrix(rnorm(20), 10))
#' y <- Vj(matrix(rnorm(14), 7))
#' sum(grad(exp(-sqdist(x, y)), 1, x), "j")
#' @export
grad <- function(f, eta, var, gradin) {
  if (!missing(gradin)) {
    if (missing(var)) var <- eta # the user gave `var` by position, after f
    eta <- gradin
  }
  if (missing(var)) stop_kernops("input", c("{.arg var} is missing, the variable to differentiate by.",
                                            i = "{.code grad(f, 1, x)} is the gradient of {.code sum(f)}."))
  check_variable(f, var)
  if (is_complex(f)) eta <- spread(as_complex(eta), f@size)
  else if (is_complex_value(eta)) stop_kernops("input", "{.arg eta} must be real, because {.arg f} is real.")
  combined("Grad(%s, %s, %s)", list(f, var, eta), is_complex(var), takes_complex = TRUE, looks_inside = TRUE)
}

check_variable <- function(f, var, call = caller_env()) {
  check_lazy(f, call, "f")
  if (!is_lazy(var) || length(var@variables) != 1 || var@formula != names(var@variables)) {
    stop_kernops("input", "{.arg var} must be a variable made by {.fn Vi}, {.fn Vj} or {.fn Pm}.", call = call)
  }
  # tensors that were read from a file may have different variables with the same name
  if (identical(f@variables[[var@formula]], var@variables[[1]])) return(invisible())
  stop_kernops("input", c("{.arg var} is not a variable of {.arg f}.",
                          i = "Create it once, as in {.code x <- Vi(data)}, and use it for both."), call = call)
}

#' Derivatives of symbolic matrices
#'
#' Return exact symbolic derivatives of `f` with respect to one of its variables, for each pair.
#'
#' | function | result | operation |
#' |---|---|---|
#' | `laplacian(f, var)` | the sum of the second derivatives of a scalar | `Laplacian` |
#' | `divergence(f, var)` | the sum of the derivatives of entry k with respect to entry k | `Divergence` |
#' | `grad_matrix(f, var)` | the matrix of derivatives, row by row: a row for each entry of `var` | `GradMatrix` |
#' | `jvp(f, var, u)` | the derivative along `u`: the Jacobian times `u` | `Diff` |
#' | `hvp(f, var, u)` | the Hessian of a scalar times `u` | `Grad` of `Diff` |
#'
#' @inheritParams grad
#' @param u the direction, with as many entries as `var`.
#' @return A [LazyTensor].
#' @seealso [grad()], the gradient; [keops_objective()] for sums over all pairs.
#' @examples
#' set.seed(1)
#' x <- Vi(matrix(rnorm(20), 10))
#' y <- Vj(matrix(rnorm(14), 7))
#' K <- exp(-sqdist(x, y))
#' sum(laplacian(K, x), "j")
#' sum(hvp(K, x, y), "j")
#' @export
laplacian <- function(f, var) derivative("Laplacian(%s, %s)", f, var)
#' @rdname laplacian
#' @export
divergence <- function(f, var) derivative("Divergence(%s, %s)", f, var)
#' @rdname laplacian
#' @export
grad_matrix <- function(f, var) derivative("GradMatrix(%s, %s)", f, var)
#' @rdname laplacian
#' @export
jvp <- function(f, var, u) derivative("Diff(%s, %s, %s)", f, var, u)
#' @rdname laplacian
#' @export
hvp <- function(f, var, u) derivative("Grad(Diff(%s, %s, %s), %s, 1)", f, var, u, var)

derivative <- function(formula, f, var, ..., call = caller_env()) {
  check_variable(f, var, call)
  combined(formula, list(f, var, ...), looks_inside = TRUE)
}
