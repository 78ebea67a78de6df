# The precision Q + diag(w) of a field with sparse precision Q = U' U given observations of it: row i of U has 1 / sd of
# point i and -weights / sd of its neighbours (set_weights()). See src/neighbours/posterior.h.

# Memory for precision matrices with this pattern, shared by fields with other weights; it holds one matrix at a time.
sparse_pattern <- function(neighbours) list(held = posterior_hold(neighbours, threads()), filled = new.env())

# The field with the rows of U in `factor`, a list of `weights` and `sd`. A list of functions:
#   held()                 the matrix in C++
#   logdet(w)              log det(Q + diag(w)); NaN where it is not positive definite
#   solve(w, b, from, tol) (Q + diag(w))^-1 b, iterated from an approximation of it; NULL where there is no factor
# By the factor at the latest w:
#   variances()            diagonal of the inverse
#   parts(sets)            L^-1 B, for the columns B of weights of `sets`, a list of `neighbours` and `weights`
#   sums(sets)             the column sums of their squares
#   differentiate(f, g)    derivatives of the likelihood with respect to the rows of U
sparse_posterior <- function(pattern, factor) {
  self <- new.env()
  latest <- NULL
  logdet <- NaN
  fill <- function() {
    posterior_fill(pattern$held, factor$weights, factor$sd, threads())
    pattern$filled$by <- self
  }
  fill()
  # the matrix, filled again if another field has used the memory
  current <- function() {
    if (!identical(pattern$filled$by, self)) {
      fill()
      if (!is.null(latest)) posterior_factor(pattern$held, latest, threads())
    }
    pattern$held
  }
  factorise <- function(w) {
    if (!identical(w, latest)) {
      latest <<- w
      logdet <<- posterior_factor(current(), w, threads())
    }
    logdet
  }
  list(
    held = current, logdet = factorise,
    solve = function(w, b, from = 0 * b, tol = 1e-12) {
      if (is.null(latest)) factorise(w)
      if (is.nan(logdet)) return(NULL)
      first <- posterior_solve(current(), w, b, from, tol, 15L, threads())
      if (all(attr(first, "steps") < 15)) return(first)
      if (is.nan(factorise(w))) return(NULL)
      posterior_solve(current(), w, b, first, tol, 200L, threads())
    },
    variances = function() posterior_variances(current(), threads()),
    parts = function(sets) posterior_parts(current(), sets$neighbours, sets$weights, threads()),
    sums = function(sets) posterior_sums(current(), sets$neighbours, sets$weights, threads()),
    differentiate = function(f, g) posterior_differentiate(current(), f, g, threads())
  )
}
