# The precision Q + diag(w) of a field given observations. The field has the sparse prior precision Q = U' U: row i of U
# has the entry 1 / sd for point i and the entries -weights / sd for its neighbours (set_weights()). See
# src/neighbours/posterior.h.

# The sparsity pattern of precision matrices, with memory for one matrix. Fields with different weights use this memory
# in turn. With `effects`, coefficients with independent priors N(0, 1) come before the points. `effects` is a list of
# `count`, the number of coefficients; `start` and `columns`, in which elements start[i] + 1 to start[i + 1] of
# `columns` are the coefficients that are observed together with point i; and the sparse_symmetric() matrix `within` of
# pairs of coefficients that are observed together. With `effects`, a precision is a list of the `diagonal`, of the
# entries `across` between points and coefficients in the order of `columns`, and of the matrix `within` of
# coefficients, whose diagonal is a part of `diagonal`. With effects, the factor is incomplete. `wide`, larger sets of
# neighbours, adds entries to the pattern of the factor, so that fewer entries are dropped. Coefficients that are
# observed with every point may be dense: `dense` has their ascending indices among all coefficients, and `count`,
# `columns` and `within` describe only the other coefficients. If some coefficients are dense, precisions also have
# `share`, the weights of the observations, and the list `border`: `of`, the point of each observation, and the
# `entries` of effects at the observations. See src/neighbours/border.h.
sparse_pattern <- function(neighbours, effects = NULL, wide = neighbours[0, , drop = FALSE]) {
  held <- if (is.null(effects)) posterior_hold(neighbours, threads()) else {
    behind_effects <- function(near) {
      near <- near + effects$count * (near > 0)
      storage.mode(near) <- "integer"
      cbind(matrix(0L, nrow(near), effects$count), near)
    }
    start <- as.integer(c(integer(effects$count), effects$start))
    posterior_hold_effects(behind_effects(neighbours), behind_effects(wide), start, effects$columns, effects$within,
                           as.integer(effects$dense), threads())
  }
  list(held = held, filled = new.env(), coefficients = c(effects$count, 0L)[[1]], within = effects$within,
       dense = effects$dense)
}

# The posterior of the field whose rows of U are in `factor`, a list of `weights` and `sd`. Returns a list of functions:
#   held()                 the pointer to the C++ object that holds Q + diag(w) and its factor
#   logdet(w)              log det(Q + diag(w)); NaN if the matrix is not positive definite
#   solve(w, b, from, tol) (Q + diag(w))^-1 b, by iterations that start at the approximation `from`; NULL if the matrix
#                          has no factor
#   product(w, x)          (Q + diag(w)) x
# The next functions use the factor L L' at the latest w:
#   has_factor()           TRUE if the factor exists
#   precondition(b)        (L L')^-1 b
#   variances()            the diagonal of (L L')^-1
#   parts(sets)            L^-1 B, for the columns B of weights of `sets`, a list of `neighbours` and `weights`
#   sums(sets, nothing)    the column sums of the squares of parts(sets); contributions below the fraction `nothing` are
#                          omitted
#   differentiate(f, g)    derivatives of the likelihood with respect to the rows of U
# With effects, the list also has
#   sum_variances(points, columns, values)  the variances of sums of the value at a point and of coefficients times
#                                           `values`; `columns` has the indices of the coefficients, see row_sparse()
#   effects()              the covariances of coefficients that are observed together, and of dense coefficients
#   log_forms(z)           z' log(L^-1 (Q + D) L'^-1) z for columns z of the same length
# long: the operators of one matrix, each a few lines long, which share the data of the matrix
sparse_posterior <- function(pattern, factor) {
  self <- new.env()
  latest <- NULL
  logdet <- NaN
  alone <- seq_len(pattern$coefficients)
  fill <- function() {
    posterior_fill(pattern$held, factor$weights, factor$sd, threads())
    pattern$filled$by <- self
    pattern$filled$inverse <- pattern$filled$observed <- NULL
  }
  # writes the entries of a precision with effects to the matrix of the C++ object, unless this matrix already has the
  # entries, and returns the diagonal of the precision
  observed <- function(w) {
    if (!is.list(w)) return(w)
    held <- current()
    if (identical(pattern$filled$observed, numbers(w))) return(w$diagonal)
    posterior_observe(held, w$across, w$within$value)
    if (length(pattern$dense)) {
      entries <- w$border$entries
      posterior_observe_border(held, w$border$of, entries$columns, entries$values, w$share)
    }
    pattern$filled$observed <- numbers(w)
    w$diagonal
  }
  fill()
  # returns the pointer to the C++ object, and first computes the matrix and the factor again if another field has used
  # the shared memory
  current <- function() {
    if (!identical(pattern$filled$by, self)) {
      fill()
      if (!is.null(latest)) posterior_factor(pattern$held, observed(latest), threads())
    }
    pattern$held
  }
  # the numbers in a precision; only these are compared, because identical() is never TRUE for the functions in `within`
  numbers <- function(w) if (is.list(w)) list(w$diagonal, w$across, w$within$value, w$share) else w
  factorise <- function(w) {
    if (!identical(numbers(w), numbers(latest))) {
      latest <<- w
      logdet <<- posterior_factor(current(), observed(w), threads())
      pattern$filled$inverse <- NULL
    }
    logdet
  }
  variances <- function() {
    held <- current()
    pattern$filled$inverse <- self
    posterior_variances(held, threads())
  }
  # returns the pointer to the C++ object, and first computes the entries of (L L')^-1 if necessary
  inverted <- function() {
    held <- current()
    if (!identical(pattern$filled$inverse, self)) variances()
    held
  }
  list(
    held = current, logdet = factorise,
    solve = function(w, b, from = 0 * b, tol = 1e-12) {
      if (is.null(latest)) factorise(w)
      if (is.nan(logdet)) return(NULL)
      first <- posterior_solve(current(), observed(w), b, from, tol, 15L, threads())
      if (all(attr(first, "steps") < 15)) return(first)
      if (is.nan(factorise(w))) return(NULL)
      posterior_solve(current(), observed(w), b, first, tol, 200L, threads())
    },
    product = function(w, x) posterior_product(current(), observed(w), x, threads()),
    has_factor = function() !is.nan(logdet),
    precondition = function(b) posterior_precondition(current(), b, threads()),
    variances = variances,
    parts = function(sets) posterior_parts(current(), sets$neighbours, sets$weights, threads()),
    sums = function(sets, nothing = 1e-18) {
      posterior_sums(current(), sets$neighbours, sets$weights, nothing, threads())
    },
    differentiate = function(f, g) {
      by <- posterior_differentiate(inverted(), f, g, threads())
      if (!length(alone)) return(by)
      list(weights = by$weights[, -alone, drop = FALSE], log_sd = by$log_sd[-alone])
    },
    sum_variances = function(points, columns, values) {
      before <- length(alone) + length(pattern$dense)
      posterior_with_effects(inverted(), as.integer(before + points), columns, values, threads())
    },
    effects = function() {
      sparse <- pattern$within$with(posterior_effects(inverted()))
      if (!length(pattern$dense)) return(sparse)
      bordered_symmetric(sparse, posterior_border(inverted()), pattern$dense)
    },
    log_forms = function(z) {
      runs <- posterior_lanczos(current(), observed(latest), z, 1e-4, 200L, threads())
      vapply(seq_len(ncol(z)), \(k) sum(z[, k]^2) * log_corner(runs$step[, k], runs$ratio[, k]), 0)
    }
  )
}

# A symmetric matrix of two blocks: the dense block `border` in the rows and columns `dense`, which are in ascending
# order, and the sparse_symmetric() block `sparse` in the other rows and columns. diagonal() returns the diagonal of the
# matrix.
bordered_symmetric <- function(sparse, border, dense) {
  others <- seq_len(length(dense) + length(sparse$start) - 1)
  others <- others[!others %in% dense]
  diagonal <- function(value) {
    all <- numeric(length(dense) + length(others))
    replace(replace(all, dense, diag(border)), others, sparse$diagonal(sparse$value))
  }
  structure(list(sparse = sparse, border = border, dense = dense, others = others, diagonal = diagonal),
            class = "bordered_matrix")
}
