#' Solve a kernel linear system
#'
#' Finds `a` with \eqn{(K + \lambda I) a = b}, where `op` computes \eqn{K a} for its variable `b_name`, by conjugate
#' gradients: K is never stored, each iteration is one call of `op`. Where `op` runs on a GPU, so does all
#' of it, on the first one of `op`: data and vectors are moved there once, and only scalar products of columns come back.
#'
#' @param op an operator of [keops_kernel()], linear in `b_name`, whose matrix K is symmetric and positive
#'   semi-definite: the same points on both axes.
#' @param b_name the name of that variable.
#' @param input a list with a value for each variable of `op`, of which any may be a [gpu_matrix()]; the one
#'   of `b_name` is the right-hand side, an n x p matrix.
#' @param lambda the number added to the diagonal of K, at least 0.
#' @param tol each column stops once its residual \eqn{|b - (K + \lambda I) a|} is at most `tol` times \eqn{|b|}.
#' @param maxit the largest number of iterations; default: 10 n, at most 10,000.
#' @param x0 where to start, n x p; default: zero.
#'
#' @return A list of class `kernel_solve`:
#'   * `solution`, n x p: a `float64` [gpu_matrix()] if the right-hand side is a `gpu_matrix`, else a matrix;
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
  on_gpu <- solved_on_gpu(op, input)
  device <- environment(op)$device[[1]]
  space <- if (on_gpu) gpu_space(device) else host_space()
  given <- input[[b_name]]
  b <- space$copy(given)
  check_number(lambda, "lambda", least = 0)
  check_number(tol, "tol", least = 0, above = TRUE)
  maxit <- maxit %||% min(10 * nrow(b), 1e4)
  check_number(maxit, "maxit", least = 1, whole = TRUE)
  if (!space$finite(b)) stop_kernops("input", "The right-hand side {.code {b_name}} must be finite.")
  if (on_gpu) input <- lapply(input, numbers_to_gpu, device)
  product <- function(a) {
    input[[b_name]] <- a
    result <- op(input, output = space$output)
    if (!identical(dim(result), dim(a))) {
      stop_kernops("dim", c("{.arg op} must map {.code {b_name}} to its own shape, {nrow(b)} x {ncol(b)}.",
                            x = "It maps it to {nrow(result)} x {ncol(result)}."))
    }
    space$axpby(lambda, a, 1, result)
  }
  start <- check_start(x0, b, space)
  fit <- conjugate_gradients(space, product, b, start, tol, maxit)
  if (on_gpu && !is_gpu_matrix(given)) {
    fit$solution <- `dimnames<-`(as.matrix(fit$solution), dimnames(as.matrix(given)))
  }
  warn_unless_converged(fit, tol)
}

# All columns share each product; one that has converged stands still. `space` does what is done to vectors.
conjugate_gradients <- function(space, product, b, x, tol, maxit) {
  norm_b <- sqrt(space$dots(b, b))
  scale <- ifelse(norm_b > 0, norm_b, 1)
  x <- space$axpby(0, b, as.numeric(norm_b > 0), x)
  residual_of <- function(x) space$axpby(1, b, -1, product(x))
  r <- if (any(space$dots(x, x) > 0)) residual_of(x) else space$copy(b)
  p <- space$copy(r)
  rr <- space$dots(r, r)
  history <- list(sqrt(rr) / scale)
  while (length(history) <= maxit && any(active <- history[[length(history)]] > tol)) {
    q <- product(p)
    curvature <- space$dots(p, q)
    if (any(bad <- active & !(curvature > 0))) stop_indefinite(which(bad))
    step <- ifelse(active, rr / curvature, 0)
    x <- space$axpby(step, p, 1, x)
    r <- space$axpby(-step, q, 1, r)
    rr_new <- ifelse(active, space$dots(r, r), rr)
    p <- space$axpby(1, r, ifelse(active, rr_new / rr, 0), p)
    rr <- rr_new
    history <- c(history, list(sqrt(rr) / scale))
  }
  r <- residual_of(x)
  residual <- sqrt(space$dots(r, r)) / scale
  structure(
    list(solution = x, iterations = length(history) - 1L, converged = residual <= 2 * tol | norm_b == 0,
         residual = residual, history = do.call(rbind, history)),
    class = "kernel_solve"
  )
}

# What conjugate gradients do to n x p blocks of vectors, on the host and on the GPU:
#   copy(x)            a block of doubles of its own, of what may have been anywhere
#   axpby(a, x, b, y)  a x + b y, with one number or one for each column; y is used up
#   dots(x, y)         the scalar products of their columns
host_space <- function() {
  times <- function(a, x) if (length(a) == 1) a * x else x * rep(a, each = nrow(x))
  list(
    output = "host",
    copy = function(x) `storage.mode<-`(as.matrix(x), "double"),
    axpby = function(a, x, b, y) times(a, x) + times(b, y),
    dots = function(x, y) colSums(x * y),
    finite = function(x) all(is.finite(x))
  )
}

gpu_space <- function(device) {
  list(output = "gpu", copy = \(x) gpu_doubles(x, device), axpby = gpu_axpby, dots = gpu_dots,
       finite = function(x) all(is.finite(gpu_dots(x, x))))
}

# A float64 gpu_matrix that shares nothing with x.
gpu_doubles <- function(x, device) {
  if (is_gpu_matrix(x) && gpu_describe(x)$precision == "float64") gpu_copy(x, device) else gpu_matrix(x, "float64", device)
}

# Where data are on the GPU already, or the operator would take each product there.
solved_on_gpu <- function(op, input) {
  from <- environment(op)
  if (from$backend != "auto") return(from$backend == "cuda")
  size <- function(category) {
    points <- input[from$about$variables$category == category]
    if (length(points)) NROW(points[[1]]) else 1
  }
  any(vapply(input, is_gpu_matrix, NA)) || kernel_worth_gpu(from$live_kernel(), size("Vi"), size("Vj"))
}

# What is no matrix of numbers is left for the operator to explain.
numbers_to_gpu <- function(x, device) {
  if (is_gpu_matrix(x)) return(if (gpu_describe(x)$device == device) x else gpu_copy(x, device))
  if (is.numeric(x) && length(dim(x)) %in% c(0, 2)) gpu_matrix(x, "float64", device) else x
}

check_number <- function(x, name, least, above = FALSE, whole = FALSE, call = caller_env()) {
  fits <- is.numeric(x) && length(x) == 1 && is.finite(x) && x >= least && !(above && x == least) &&
    !(whole && x != floor(x))
  if (fits) return(invisible())
  what <- paste(if (whole) "whole" else "finite", "number,", if (above) "above" else "at least")
  stop_kernops("input", "{.arg {name}} must be one {what} {least}.", call = call)
}

check_start <- function(x0, b, space, call = caller_env()) {
  if (is.null(x0)) return(space$axpby(0, b, 0, space$copy(b)))
  if (!is_gpu_matrix(x0)) x0 <- as.matrix(x0)
  numbers <- is_gpu_matrix(x0) || is.numeric(x0)
  if (numbers && identical(dim(x0), dim(b)) && space$finite(x <- space$copy(x0))) return(x)
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
