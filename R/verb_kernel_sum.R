#' Sums of a kernel over all pairs, exact or to a tolerance
#'
#' Computes \eqn{s_i = \sum_j k(x_i, y_j) b_j} for a stationary kernel k, which depends only on the difference x - y.
#' Without `tol`, the sums are exact and require m n evaluations of the kernel. With `tol`, for up to three coordinates,
#' the sums are computed by non-uniform fast Fourier transforms in a time proportional to m + n, and the error is
#' measured.
#'
#' @details The kernel is expanded into a Fourier series on a torus that contains all differences of points. The values
#' `b` at the points of `y` are spread to a grid, multiplied by the coefficients of the series in the frequency domain,
#' and interpolated at `x`. A kernel that is not smooth at 0, such as [exponential()], is divided into a smooth part and
#' a part of short range; the part of short range is summed exactly, over pairs of near points. With fewer modes of the
#' series, the sums of the smooth part are faster; with more modes, the sums of the part of short range are faster. The
#' pairs of near points are counted to find the fastest division. If the sums over all pairs are faster than any
#' division, all pairs are summed instead.
#'
#' The error is the largest difference from exact sums at 1,000 points of `x` (all points if there are fewer), divided
#' by the largest of these exact sums. As long as the error exceeds `tol`, the sums are computed again with more modes.
#'
#' @param kernel a covariance with given parameters and without a nugget, such as `squared_exponential(1, 0.3)`; or a
#'   formula of two points x and y in the language of [keops_kernel()], such as `"Exp(-SqDist(x, y) / 0.02)"`.
#' @param x the m points at which the sums are computed: an m x d matrix or data frame of finite numbers, or a vector of
#'   m numbers.
#' @param y the n points that are summed over: n x d; default: the points of `x`.
#' @param b a vector of n numbers or an n x p matrix, whose columns are summed separately; default: 1.
#' @param tol `NULL` for exact sums, or a number from 1e-10 to 0.1: the largest error relative to the largest sum.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`. On a GPU, Fourier transforms are computed by cuFFT of the CUDA toolkit,
#'   which is opened at run time; without cuFFT, they are computed on the CPU.
#'
#' @return A vector of m numbers, or an m x p matrix if `b` is a matrix. With `tol`, the result has the attributes
#'   `error`, the measured error, and `modes`, the number of modes of the Fourier series along each coordinate (0 if all
#'   pairs were summed instead).
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as a kernel that does not depend only on the
#'   difference or has unknown parameters, or `tol` for more than three coordinates; `kernops_dim_error` for shapes that
#'   do not match; `kernops_tolerance_error` if the tolerance cannot be reached, for example because `b` has both signs
#'   and the sums are small compared with their terms.
#'
#' @references
#' Barnett, A. H., Magland, J. and af Klinteberg, L. (2019) A parallel nonuniform fast Fourier transform library based
#' on an "exponential of semicircle" kernel. *SIAM Journal on Scientific Computing* 41(5), C479-C504.
#'
#' Potts, D. and Steidl, G. (2003) Fast summation at nonequispaced knots by NFFTs. *SIAM Journal on Scientific
#' Computing*
#' 24(6), 2013-2037.
#'
#' @seealso [keops_kernel()] for sums of any formula, [kde()], whose argument `tol` uses these sums.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(20000), ncol = 2)
#' b <- rnorm(10000)
#' s <- kernel_sum(squared_exponential(1, 0.05), x, b = b, tol = 1e-6)
#' attributes(s)
#' # a kernel that is not smooth
#' s <- kernel_sum("Exp(-Norm2(x - y) / 0.1)", x, b = b, tol = 1e-4)
#' max(abs(s - kernel_sum("Exp(-Norm2(x - y) / 0.1)", x, b = b))) / max(abs(s))
#' @export
kernel_sum <- function(kernel, x, y = NULL, b = NULL, tol = NULL, backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  y <- if (is.null(y)) x else verb_points(y, "y", ncol(x))
  columns <- check_summands(b, nrow(y))
  kernel <- pair_kernel(kernel, ncol(x), check_backend(backend))
  if (!is.null(tol)) check_tolerance(tol, ncol(x))
  check_differences(kernel, x, y)
  sums <- if (is.null(tol)) exact_sums(kernel, x, y, columns) else
    sums_to_tolerance(kernel, unname(x), unname(y), columns, tol)
  if (is.matrix(b)) return(`colnames<-`(sums, colnames(b)))
  dim(sums) <- NULL
  sums
}

check_summands <- function(b, n, call = caller_env()) {
  if (is.null(b)) return(matrix(1, n, 1))
  if (!is_plain_numeric(b) || length(dim(b)) > 2) stop_summands(call)
  if (NROW(b) != n || NCOL(b) == 0) {
    stop_kernops("dim", "{.arg b} must have one number or row for each of the {n} point{?s} that are summed over, not
                         {NROW(b)}.", call = call)
  }
  if (!is.matrix(b)) b <- matrix(b, dimnames = list(names(b), NULL))
  if (!is.double(b)) storage.mode(b) <- "double"
  if (length(columns_with_gaps(b))) stop_summands(call)
  b
}

stop_summands <- function(call) {
  stop_kernops("input", "{.arg b} must be a vector or matrix of finite numbers.", call = call)
}

check_tolerance <- function(tol, d, call = caller_env()) {
  check_number(tol, "tol", least = 1e-10, most = 0.1, call = call)
  if (d > 3) {
    stop_kernops("input", c("{.arg tol} is for points of up to three coordinates, not {d}.",
                            i = "Without {.arg tol} the sums are exact."), call = call)
  }
}

# Converts the kernel k(x, y) to a formula for an operator, with the values of its parameters. The method for
# covariances is in cov_operators.R.
pair_kernel <- function(kernel, d, backend, call = caller_env()) UseMethod("pair_kernel")

pair_kernel.default <- function(kernel, d, backend, call = caller_env()) {
  check_text(kernel, "kernel", one = TRUE, call = call)
  list(text = kernel, declared = character(), input = list(), d = d, backend = backend)
}

# The sums over j of k(x_i, y_j) b_j, by direct summation.
exact_sums <- function(kernel, x, y, b, ranges = NULL) {
  declared <- c(kernel$declared, sprintf(c("x = Vi(%d)", "y = Vj(%d)"), kernel$d), sprintf("b = Vj(%d)", ncol(b)))
  operator <- verb_operator(code_text("Sum_Reduction((", kernel$text, ") * b, 1)"), declared, kernel$backend)
  operator(c(kernel$input, list(x, y, b)), ranges = ranges)
}

# The values of the kernel at differences of points, which are the rows of r.
kernel_values <- function(kernel, r) drop(exact_sums(kernel, r, matrix(0, 1, ncol(r)), matrix(1)))

# Checks, for some pairs of points, that the kernel depends only on their difference.
check_differences <- function(kernel, x, y, call = caller_env()) {
  pairs <- 20
  x <- x[spaced_rows(nrow(x), pairs), , drop = FALSE]
  y <- y[spaced_rows(nrow(y), pairs), , drop = FALSE]
  values <- exact_sums(kernel, x, y, diag(nrow(y)))
  pair <- expand.grid(x = seq_len(nrow(x)), y = seq_len(nrow(y)))
  by_difference <- kernel_values(kernel, x[pair$x, , drop = FALSE] - y[pair$y, , drop = FALSE])
  if (!all(is.finite(values))) {
    stop_kernops("input", "{.arg kernel} must be finite at all pairs of points.", call = call)
  }
  if (max(abs(c(values) - by_difference)) > 1e-6 * max(abs(values))) {
    stop_kernops("input", "{.arg kernel} must depend on the difference of {.var x} and {.var y} only.", call = call)
  }
}
