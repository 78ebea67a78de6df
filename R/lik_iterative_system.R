# Linear systems with the covariance matrix of the observations, and their preconditioners.

# The solution of a system; NULL if the matrix is singular or has entries that are not finite.
solve_or_fail <- function(equations, b, tol, check) {
  tryCatch(solve_system(equations$system, b, equations$precond, tol, check = check),
           kernops_input_error = function(e) NULL)
}

# The number of rows in which the residual is computed. For tolerances of 1e-3 or more, a sample of the rows is
# sufficient to estimate the residual.
rows_to_check <- function(tol, n) if (tol < 1e-3) n else min(n, 1e4)

# Joins the columns of the matrix `numbers`, which is on the host, and the columns of `block` to one block of `space`.
beside <- function(space, numbers, block) {
  if (is.null(block)) return(space$copy(numbers))
  p <- ncol(numbers)
  all <- space$put(space$new(nrow(block), p + ncol(block)), seq_len(p), space$copy(numbers))
  space$put(all, p + seq_len(ncol(block)), block)
}

iterative_system <- function(product, data, model, theta, points = data$u) {
  noise <- noise_variance(data, model, theta)
  if (all(noise == noise[[1]])) noise <- noise[[1]]
  kernel_system(product, "b", list(theta = theta, x = points, y = points), noise)
}

# Returns a function (system, theta) -> preconditioner. The first theta determines the type of preconditioner for all
# later calls, because a search must compare likelihoods with the same probes, and the distribution of probes depends on
# the type.
preconditioner_maker <- function(control, data, model) {
  type <- if (control$precond != "auto") control$precond else if (!is.null(control$rank)) "pivoted_cholesky"
  graph_of <- remembered_graph()
  function(system, theta) {
    if (all(system$diagonal() == 0)) return(NULL) # noise without a field
    type <<- type %||% best_preconditioner(system)
    if (type == "vecchia") {
      near <- neighbour_coordinates(model, theta, data$u)
      return(system_preconditioner(system, type, control$rank, near = near, graph_of = graph_of))
    }
    rank <- control$rank %||% default_rank(system, control)
    if (rank > 0) system_preconditioner(system, type, rank)
  }
}

# The default rank. The number of iterations grows in proportion to the square root of n / rank, and computing the
# preconditioner takes as long as some iterations. Without probes and with a loose tolerance, a large rank would save
# less time than computing the preconditioner takes, so the default rank is smaller.
default_rank <- function(system, control) {
  most <- if (system$space$factorises()) 2000 else 200
  few <- control$probes == 0 && control$cg_tol >= 1e-3
  max(100, min(most, round((if (few) 4 / 3 else 2) * sqrt(system$n))))
}

# Returns the function b -> K^-1 b at the parameters of a fit; the relative residual of a result is at most `tol`.
solver_for <- function(object, tol = object$how$control$cg_tol) {
  if (has_factor(object)) {
    factor <- factor_of(object)
    less <- object$state$less
    return(function(b) {
      solved <- factor_solve(factor, factor_solve(factor, b), transposed = TRUE)
      if (length(less)) solved - less %*% crossprod(less, b) else solved
    })
  }
  product <- covariance_product(object$model, 1L, object$how$precision, object$how$backend)
  system <- iterative_system(product, object$data, object$model, object$theta)
  precond <- preconditioner_maker(object$how$control, object$data, object$model)(system, object$theta)
  function(b) {
    fit <- solve_system(system, system$space$copy(b), precond, tol)
    warn_unless_solved(fit, tol)
    as.matrix(fit$solution)
  }
}

warn_unless_solved <- function(fit, tol) {
  if (all(fit$converged)) return(invisible())
  cli::cli_warn(c("Conjugate gradients did not converge in {fit$iterations} iteration{?s}.",
                  x = "The relative residual is {signif(max(fit$residual), 3)}, the tolerance {tol}.",
                  i = "A nugget, a larger {.arg rank} or {.arg cg_tol} of {.fn gp_control} may help."),
                class = "kernops_not_converged")
}

# The number of columns that are solved together: as many as fit into 32 MB, but at most the width with the fastest
# products.
solve_width <- function(n) max(1L, min(64L, as.integer(4e6 / n)))
