# Derivatives of symbolic matrices, pair by pair.

#' The gradient of a symbolic matrix
#'
#' The derivative, pair by pair, of `f` with respect to one of its variables, applied to `gradin`. For gradients of
#' reductions, see [keops_grad()].
#'
#' @param f a [LazyTensor].
#' @param gradin the incoming gradient: of as many entries as `f`, or 1, which repeats; complex only where `f` is, of
#'   which real and imaginary parts count as two numbers.
#' @param var the variable: the tensor that [Vi()], [Vj()] or [Pm()] made, of which `f` was made. Tensors of the same
#'   matrix on the same axis, with the same name, are one variable, and parameters made one by one are different ones.
#' @return A [LazyTensor] with as many entries as `var`.
#' @section Errors: class `kernops_input_error` where `var` is no variable, or not one of `f`.
#' @examples
#' x <- Vi(matrix(rnorm(20), 10))
#' y <- Vj(matrix(rnorm(14), 7))
#' sum(grad(exp(-sqdist(x, y)), 1, x), "j")
#' @export
grad <- function(f, gradin, var) {
  check_lazy(f, arg = "f")
  if (!is_lazy(var) || length(var@variables) != 1 || var@formula != names(var@variables)) {
    stop_kernops("input", "{.arg var} must be a variable, as {.fn Vi}, {.fn Vj} or {.fn Pm} make it.")
  }
  # one of that name may be another one, where either was read from a file
  if (!identical(f@variables[[var@formula]], var@variables[[1]])) {
    stop_kernops("input", c("{.arg var} is no variable of {.arg f}.",
                            i = "Make it once, as in {.code x <- Vi(data)}, and use it for both."))
  }
  if (is_complex(f)) gradin <- spread(as_complex(gradin), f@size)
  else if (is_complex_value(gradin)) stop_kernops("input", "{.arg gradin} must be real, as {.arg f} is.")
  combined("Grad(%s, %s, %s)", list(f, var, gradin), is_complex(var), takes_complex = TRUE, looks_inside = TRUE)
}
