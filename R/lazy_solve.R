# Linear systems of symbolic matrices.

#' Solve a linear system of a symbolic matrix
#'
#' Solves \eqn{(K + \lambda I) a = b} by [kernel_solve()], in memory that grows linearly with the number of points.
#'
#' @param a a square, symmetric [LazyTensor] of scalars: both axes have the same points. The matrix may be restricted by
#'   [with_ranges()].
#' @param b the right-hand side: a vector, a matrix with a row for each point, an array n x p x B of batches, or a
#'   [gpu_matrix()]. The numbers may be complex.
#' @param lambda a number added to the diagonal of K, or one number for each point.
#' @param precond the preconditioner, as in [kernel_solve()]. `"auto"` chooses a preconditioner according to the matrix:
#'   pivoted Cholesky if a few columns explain the matrix up to a small part of `lambda`, otherwise Vecchia's
#'   approximation, for points of up to 8 coordinates. A message of class `kernops_preconditioner` reports the choice
#'   once per session.
#' @param method,... `method` and further arguments of [kernel_solve()], such as `tol`. `"minres"`, for matrices that
#'   are not positive definite, does not use a preconditioner.
#'
#' @return The solution: a matrix with the columns and names of `b`, or an array n x p x B for batches. For residuals
#'   and the number of iterations, use [kernel_solve()].
#' @inheritSection kernel_solve Warnings
#' @inheritSection kernel_solve Errors
#' @seealso [kernel_solve()], [kernel_preconditioner()], [kernel_interpolation()]; [gp()] estimates the parameters of K.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(400), 200)
#' K <- exp(-sqdist(Vi(x), Vj(x)) / (2 * 0.2^2))
#' b <- sin(6 * x[, 1])
#' a <- solve(K, b, lambda = 0.01)
#' max(abs(K %*% a + 0.01 * a - b))
#' @export
solve.LazyTensor <- function(a, b, lambda = 0, precond = "auto", method = c("cg", "minres"), ...) {
  if (missing(b)) {
    stop_kernops("input", "The inverse of a {.cls LazyTensor} is not available: {.code solve(K, b)} requires {.arg b}.")
  }
  check_has_data(a)
  if (is_complex(a)) stop_undefined("solve", "ComplexLazyTensor")
  shape <- dim(a)
  if (entries(a) > 1 || shape[[1]] != shape[[2]]) {
    stop_kernops("dim", "{.code solve(K, b)} needs a square matrix of scalars: K is {paste(shape, collapse = ' x ')}.")
  }
  batches <- common_batches(list(a@points$batches, if (!is_lazy(b)) batch_shape(b)), c("a", "b"))
  if (!is.null(batches)) return(solve_batches(a, as_array(b), batches, lambda, precond, method, ...))
  if (is.complex(b)) return(solve_complex(a, as.matrix(b), lambda, precond, method, ...))
  whole <- a * right_hand_side(b, "b")
  about <- named(whole)
  op <- operator_of(code_text("Sum_Reduction(", about$formula, ", 1)"), about$args)
  input <- lapply(whole@variables[about$tokens], variable_data)
  names <- environment(op)$about$variables$name
  method <- check_choice(method, "method", c("cg", "minres"))
  if (method == "minres" && identical(precond, "auto")) precond <- "none"
  fit <- kernel_solve(op, names[[length(names)]], stats::setNames(input, names), lambda, precond = precond,
                      method = method, ranges = whole@ranges, ...)
  if (identical(precond, "auto")) say_preconditioner(fit$problem$precond)
  fit$solution
}

# Solves the systems of all batches, one after another.
solve_batches <- function(a, b, batches, ...) {
  solutions <- lapply(seq_len(prod(batches)), function(k) solve(at_batch(a, k, batches), nth_batch(b, batches, k), ...))
  size <- c(dim(b)[1:2], batches)
  array(unlist(solutions) %||% numeric(), size, names_that_fit(dimnames(b), dim(b), size))
}

# The names of an array with dimensions `from`, restricted to the dimensions that agree with the dimensions `to` of
# another array.
names_that_fit <- function(names, from, to) {
  if (is.null(names)) return(NULL)
  kept <- from == to[seq_along(from)]
  c(ifelse(kept, names, list(NULL)), rep(list(NULL), length(to) - length(from)))
}

# Solves a system with a complex right-hand side. The real and imaginary parts of each column become adjacent columns of
# a real system.
solve_complex <- function(a, b, lambda, ...) {
  parts <- solve(a, unname(cbind(Re(b), Im(b))), lambda, ...)
  real <- seq_len(ncol(b))
  array(complex(real = parts[, real], imaginary = parts[, -real]), dim(b), dimnames(b))
}

say_preconditioner <- function(precond) {
  type <- precond$type %||% "none"
  cli::cli_inform(
    c(i = "{.fn solve} chose the preconditioner {.val {type}}{if (type == 'none') ': no other fits this matrix'}.",
      i = "{.arg precond} chooses another; {.fn kernel_solve} shows iterations and residuals."),
    class = "kernops_preconditioner", .frequency = "once", .frequency_id = "kernops_preconditioner"
  )
}
