# Sums over all pairs of points, as objective functions of R's optimisers.

#' An objective for optim() and nlm()
#'
#' Makes a function that computes the sum of a symbolic matrix over all pairs as a function of one or more of its
#' variables, and a function for the exact gradient of this sum.
#'
#' @param K a [LazyTensor] whose variables have data.
#' @param ... the variables to optimise: tensors made by [Vi()], [Vj()] or [Pm()] and used in `K`. The values of the
#'   variables are concatenated in this order; values of points are concatenated column by column.
#' @param reduction the reduction over the columns, such as `"Sum"` or `"LogSumExp"`; its results are added.
#' @return A list of `par`, the vector of the present values of the variables; `fn`, the objective as a function of such
#'   a vector; and `gr`, the gradient of `fn`. These elements are arguments of [stats::optim()]. For [stats::nlm()], the
#'   result of `fn(par, gradient = TRUE)` has the gradient as an attribute. The function `split(par)` in the list
#'   returns the values of each variable in the shape of the variable.
#' @seealso [keops_grad()] for gradients of operators, [laplacian()] for derivatives pair by pair.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(60), 30)
#' centre <- Pm(c(1, 1))
#' objective <- keops_objective(sqdist(Vi(x), centre), centre)
#' optim(objective$par, objective$fn, objective$gr, method = "BFGS")$par # colMeans(x)
#' nlm(objective$fn, objective$par, gradient = TRUE)$estimate
#' @export
keops_objective <- function(K, ..., reduction = "Sum") {
  check_lazy(K, arg = "K")
  check_has_data(K)
  wrt <- list(...)
  if (length(wrt) == 0) stop_kernops("input", "Give the variables to optimise: {.code keops_objective(K, x)}.")
  for (var in wrt) check_variable(K, var)
  if (is_complex(K)) stop_undefined("keops_objective", "ComplexLazyTensor")
  about <- named(K)
  reduction <- check_text(reduction, "reduction", one = TRUE)
  op <- operator_of(code_text(reduction, "_Reduction(", about$formula, ", 1)"), about$args)
  input <- lapply(K@variables[about$tokens], variable_data)
  positions <- match(vapply(wrt, function(var) var@formula, ""), about$tokens)
  slopes <- lapply(sub(" .*", "", about$args[positions]), function(name) keops_grad(op, name))
  owner <- rep(seq_along(positions), lengths(input[positions]))
  filled <- function(x, numbers) replace(x, seq_along(x), numbers)
  shaped <- function(par) unname(Map(filled, input[positions], split(as.vector(par), owner)))
  with_par <- function(par) unname(replace(input, positions, shaped(par)))
  eta <- matrix(1, dim(K)[[1]], environment(op)$about$size)
  slope_at <- function(slope, par) as.vector(slope(c(with_par(par), list(eta)), ranges = K@ranges))
  gr <- function(par) unlist(lapply(slopes, slope_at, par))
  fn <- function(par, gradient = FALSE) {
    value <- sum(op(with_par(par), ranges = K@ranges))
    if (gradient) structure(value, gradient = gr(par)) else value
  }
  list(par = unlist(unname(input[positions])), fn = fn, gr = gr, split = shaped)
}
