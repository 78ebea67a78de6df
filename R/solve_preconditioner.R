#' A preconditioner for kernel systems
#'
#' `kernel_preconditioner()` computes a matrix P that approximates \eqn{K + \lambda I} and is easy to invert, so that
#' [kernel_solve()] needs fewer iterations. A preconditioner can be used for many solves, even if the right-hand sides
#' differ, or `lambda` and the parameters differ slightly: P affects the number of iterations, but not the solution.
#'
#' @inheritParams kernel_solve
#' @param input a list with a value for each variable of `op`; the value of `var` is optional.
#' @param type
#'   * `"jacobi"`: P is the diagonal of \eqn{K + \lambda I}. This type is useful if the diagonal varies much.
#'   * `"pivoted_cholesky"`: P is \eqn{L L' + \sigma I}, where L has the first `rank` columns of the pivoted Cholesky
#'     decomposition of K; each step selects the point with the largest remaining variance. The decomposition stops
#'     early if the remaining trace is below 1e-10 of the trace of K. If there are many points (more than 10,000 and
#'     more than 20 times `rank`), the candidates are only a part of the points, at most half, evenly spaced over the
#'     rows; in this case K is projected on the columns of the selected points.
#'   * `"rpcholesky"`: P has the same form as for `"pivoted_cholesky"`, by accelerated randomly pivoted Cholesky
#'     (Epperly, Tropp and Webber 2025): points are selected at random, with probabilities proportional to their
#'     remaining variances, and in blocks, so that most of the time is spent in matrix products. All points are
#'     candidates.
#'   * `"nystrom"`: P has the same form as for `"pivoted_cholesky"`, with K projected on the columns of `rank` random
#'     points.
#'   * `"vecchia"`: the inverse of P is sparse. Each point is conditioned on its `rank` nearest neighbours among the
#'     previous points in max-min ordering (Vecchia 1988; see [gp_neighbours()]). In a few dimensions, and for
#'     covariances that decrease with the distance and are not very smooth, `"vecchia"` needs far fewer iterations than
#'     the other types: often about ten, for any number of points.
#' @param rank the number of columns, at most n; default: 100. The n x `rank` matrix is stored on the device of the
#'   vectors, the CPU or a GPU. For `"vecchia"`, `rank` is the number of neighbours; default: 40.
#' @param seed the seed for the random points of `"rpcholesky"` and `"nystrom"`: one whole number. R's random number
#'   generator is not affected.
#' @param ranges the pairs of points for which K is computed, as in [kernel_solve()]; not for `"vecchia"`.
#'
#' @details For `"vecchia"`, both axes of `op` must have the same variables, such as `x` and `y`; these variables are
#' the coordinates of the points. Each coordinate is divided by the distance at which the correlation along this
#' coordinate is 0.6, and the CPU finds the neighbours in the scaled coordinates. The covariances of neighbours, with
#' `lambda`, are computed in float64 on the device of the solver, the CPU or a GPU, and P is applied on this device.
#'
#' The columns and the diagonal of K are computed from the formula of `op`, in float64: a column is `op` applied to a
#' single point. Therefore the formula must accept `b` with one column, as products of `b` with a kernel of size 1 do,
#' and `op` must not be a gradient of [keops_grad()], for which the diagonal is not available. \eqn{\sigma} is `lambda`
#' or, if `lambda` is 0, the mean of the diagonal of K minus its low-rank approximation. The inverse of P is computed by
#' Woodbury's identity, from an orthogonal factor (QR by Cholesky, in two passes for small \eqn{\sigma}), which is
#' numerically stable.
#'
#' @return An object of class `kernel_preconditioner`, for the argument `precond` of [kernel_solve()]. The elements
#'   `rank` and `logdet` of the object are the number of columns and log det P.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, or if the diagonal of K is not positive.
#'
#' @references
#' Epperly, E. N., Tropp, J. A. and Webber, R. J. (2025) Embrace rejection: kernel matrix approximation by accelerated
#'   randomly pivoted Cholesky. *SIAM Journal on Matrix Analysis and Applications* 46(4), 2527-2557.
#'
#' Harbrecht, H., Peters, M. and Schneider, R. (2012) On the low-rank approximation by the pivoted Cholesky
#'   decomposition. *Applied Numerical Mathematics* 62(4), 428-440.
#'
#' Frangella, Z., Tropp, J. A. and Udell, M. (2023) Randomized Nystrom preconditioning. *SIAM Journal on Matrix Analysis
#'   and Applications* 44(2), 718-752.
#'
#' Schaefer, F., Katzfuss, M. and Owhadi, H. (2021) Sparse Cholesky factorization by Kullback-Leibler minimization.
#'   *SIAM Journal on Scientific Computing* 43(3), A2019-A2046.
#'
#' Vecchia, A. V. (1988) Estimation and model identification for continuous spatial processes. *Journal of the Royal
#'   Statistical Society, Series B* 50(2), 297-312.
#'
#' Yamamoto, Y., Nakatsukasa, Y., Yanagisawa, Y. and Fukaya, T. (2015) Roundoff error analysis of the CholeskyQR2
#'   algorithm. *Electronic Transactions on Numerical Analysis* 44, 306-326.
#'
#' @seealso [kernel_solve()] and [solve()][solve.LazyTensor], which accept a preconditioner.
#' @examples
#' set.seed(1)
#' op <- keops_kernel(
#'   "Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)",
#'   c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
#' )
#' x <- matrix(runif(600), 300)
#' P <- kernel_preconditioner(op, "b", list(x = x, y = x), lambda = 1e-4)
#' P
#' plain <- kernel_solve(op, "b", list(x = x, y = x, b = sin(6 * x[, 1])), lambda = 1e-4)
#' quick <- kernel_solve(op, "b", list(x = x, y = x, b = sin(6 * x[, 1])), lambda = 1e-4, precond = P)
#' c(plain$iterations, quick$iterations)
#' @export
kernel_preconditioner <- function(op, var, input, lambda = 0,
                                  type = c("pivoted_cholesky", "rpcholesky", "nystrom", "jacobi", "vecchia"),
                                  rank = NULL, seed = 1, ranges = NULL) {
  b_name <- check_linear(op, var)
  type <- check_choice(type, "type", preconditioner_types)
  system_preconditioner(kernel_system(op, b_name, input, lambda, ranges = ranges), type, rank, seed)
}

preconditioner_types <- c("pivoted_cholesky", "rpcholesky", "nystrom", "jacobi", "vecchia")

# A preconditioner for `system`. For the types with a rank, P = C C' + D with an n x rank matrix C and D = diag(shift),
# and P^-1 = D^-1 - Q Q', see woodbury_factor(). `near` and `graph_of` are explained in vecchia_preconditioner().
system_preconditioner <- function(system, type, rank = NULL, seed = 1, near = NULL, graph_of = sparse_graph,
                                  call = caller_env()) {
  rank <- rank %||% if (type == "vecchia") 40 else 100
  check_number(rank, "rank", least = 1, whole = TRUE, call = call)
  check_seed(seed, call = call)
  if (system$n == 0) stop_kernops("input", "A preconditioner requires at least one point.", call = call)
  diagonal <- system$diagonal()
  if (!all(is.finite(diagonal) & diagonal > 0)) stop_diagonal(diagonal, call)
  if (type == "jacobi") return(new_preconditioner(type, shift = diagonal + system$lambda, n = system$n))
  rank <- min(rank, system$n)
  if (type == "vecchia") return(vecchia_preconditioner(system, diagonal, rank, near, graph_of, call))
  low <- switch(type,
    pivoted_cholesky = pivoted_cholesky(system, diagonal, rank),
    rpcholesky = rpcholesky(system, diagonal, rank, seed = seed),
    nystrom = nystrom(system, diagonal, with_seed(seed, sort(sample.int(system$n, rank))))
  )
  remainder <- max(low$left / system$n, 1e-14 * sum(diagonal))
  shift <- ifelse(system$lambda > 0, system$lambda, remainder)
  woodbury <- woodbury_factor(system$space, low$columns, shift, sum(diagonal))
  new_preconditioner(type, shift, system$n, woodbury$Q, woodbury$R, left = low$left / sum(diagonal))
}

# The type of preconditioner, "pivoted_cholesky" or "vecchia", that needs less time in total. For smooth fields, a
# low-rank approximation from a few columns leaves a remainder that is smaller than the noise. For rough fields, each
# point depends mainly on its neighbours. The choice is based on a sample of points, because columns of all points would
# take too long. If the remaining variance is l times the noise, about 40 sqrt(l) iterations with pivoted Cholesky
# reduce the residual to 1e-6. A GPU computes these iterations faster than the CPU finds neighbours, except for many
# points (bench/preconditioners.R). `small` is the largest l for which pivoted Cholesky is chosen.
best_preconditioner <- function(system, small = if (system$space$device >= 0 && system$n < 3e5) 2 else 0.3,
                                few = 1500, rank = 150) {
  some <- spaced_rows(system$n, few)
  variance <- system$diagonal()[some]
  # random errors e of the entries change eigenvalues by 2 sqrt(n) e. If this change exceeds the noise, the matrix in
  # products differs too much from the matrix from which the weights of neighbours are computed
  off <- 2 * sqrt(system$n) * rounding_unit[[system$precision]] * mean(variance)
  if (off > mean(system$lambda)) return("pivoted_cholesky")
  left <- pivots(system$subset(some), variance, min(rank, length(some)), 1e-10)$left / length(some)
  if (left > small * mean(system$lambda)) "vecchia" else "pivoted_cholesky"
}

new_preconditioner <- function(type, shift, n, Q = NULL, R = diag(0), left = NULL) {
  structure(
    list(type = type, n = n, rank = ncol(R), shift = shift, Q = Q, R = R, left = left,
         logdet = sum(log(rep_len(shift, n))) + 2 * sum(log(abs(diag(R))))),
    class = "kernel_preconditioner"
  )
}

# The function r -> P^-1 r for blocks of a space; the identity if `precond` is NULL.
preconditioning <- function(precond, space) {
  if (is.null(precond)) return(identity)
  if (is.function(precond)) return(precond)
  if (precond$type == "vecchia") return(sparse_solver(precond))
  inverse <- on_space(1 / precond$shift, space)
  if (is.null(precond$Q)) return(function(r) space$add_rows(inverse, r, zeros_like(space, r)))
  Q <- on_space(precond$Q, space)
  function(r) space$add_rows(inverse, r, space$combine(Q, -space$inner(Q, r)))
}

# Copies a vector with a number for each row, or a block, to the device of `space`; a single number stays on the host.
on_space <- function(x, space) {
  there <- block_device(x) == space$device
  if (is.null(dim(x)) && length(x) == 1 || there && !is.null(dim(x))) x else space$copy(x)
}

check_preconditioner <- function(precond, n, call = caller_env()) {
  if (precond$n == n) return(precond)
  stop_kernops("dim", "{.arg precond} must be made for the {n} point{?s} of the system, not for {precond$n}.",
               call = call)
}

stop_diagonal <- function(diagonal, call) {
  bad <- which(!(is.finite(diagonal) & diagonal > 0))
  stop_kernops("input", call = call, c(
    "A preconditioner requires a kernel matrix with a positive diagonal.",
    x = "The diagonal is {signif(diagonal[bad[1]], 3)} in row {bad[1]}."
  ))
}

#' @export
print.kernel_preconditioner <- function(x, ...) {
  cli::cat_line("<kernel_preconditioner> ", x$type, ", ", x$n, " points",
                if (!is.null(x$Q)) paste0(", rank ", x$rank, ", ", signif(100 * x$left, 3), " % of the trace left"),
                if (x$type == "vecchia") paste0(", ", x$rank, " neighbours"))
  invisible(x)
}
