# The distribution of the field given observations with a family, by Vecchia's approximation of the field (Zilber and
# Katzfuss 2021). The prior precision Q = U' U of the field is sparse, and so is its posterior precision Q + D, with a
# diagonal D.
#
# A place is a distinct location. All observations at a place have the same value of the field; each observation has a
# separate nugget effect. Let W be minus the second derivatives of the log densities of observations. The entry of D for
# a place is the sum of W / (1 + nugget W) over the observations at this place.

# The places of observations: the coordinates u of the places, and `of`, the index of the place of each observation.
field_places <- function(u, model) {
  keys <- place_keys(model, u)
  first <- which(!duplicated(keys))
  list(u = u[first, , drop = FALSE], of = match(keys, keys[first]))
}

# A list of the ordered places; the neighbours of each place; `of`, the position of each observation's place in this
# order; the operators of the covariance; and pattern(), which returns the sparsity pattern of the factor. `parts`, a
# result of latent_parts(), may have effects.
latent_sets <- function(places, model, theta, m, how, parts = NULL, whole = theta) {
  sets <- ordered_sets(neighbour_coordinates(model, theta, places$u), how)
  sets <- c(sets, list(points = places$u[sets$order, , drop = FALSE], of = order(sets$order)[places$of],
                       operators = set_operators(model, how$backend)))
  sets$observed <- observed_effects(parts, sets$of, nrow(places$u), whole)
  sets$without_field <- isTRUE(parts$without_field)
  sets[c("wide", "kept")] <- parts[c("wide", "kept")]
  sets <- with_latent_neighbours(sets, sets$search(m))
  if (starts_wide(parts, nrow(places$u))) sets$wide$count <- max(sets$wide$count, most_wide_count(sets))
  sets
}

with_latent_neighbours <- function(sets, neighbours) {
  sets$neighbours <- neighbours
  if (!is.null(sets$observed)) return(replace(sets, "pattern", list(wide_pattern(sets))))
  pattern <- sparse_pattern(neighbours)
  replace(sets, "pattern", list(function() pattern))
}

# The factor by which the variances of the field are multiplied, so that the covariance matrices of smooth fields have a
# Cholesky factor in spite of rounding.
latent_diagonal <- 1 + 1e-9

# The rows of U; NULL if a covariance is singular.
latent_factor <- function(sets, theta) {
  if (isTRUE(sets$without_field)) return(list(weights = 0 * sets$neighbours, sd = 1))
  none <- numeric(nrow(sets$points))
  factor <- set_weights(sets$operators$values, theta, sets$points, none, sets$neighbours, latent_diagonal)
  if (all(is.finite(factor$weights)) && all(factor$sd > 0 & is.finite(factor$sd))) factor
}

# Functions for the posterior of the field at parameters theta, given observations whose log densities have the negative
# second derivatives `weight`; NULL if `factor` is NULL. With effects, the rows of the posterior are the coefficients of
# effects, followed by the places; `whole` has the parameters of the field and of effects. A list of
#   gather(x), spread(f)   the sums of x over the observations of each place; the value of f at each observation
#   at_places(process, k)  the values f for which spread(f) = process; k is P times the observations
#   variances(posterior)   the variances of the process at the observations, from the posterior of the field
#   mean(weight, b, from)  (Q + D)^-1 b for columns of b, by iterations that start from the approximation `from`; NULL
#                          if Q + D has no factor
#   logdet(weight)         log det(Q + D) - log det Q, by the factor
#   error()                the error of logdet() if the model has effects: a result of error_of_factor(), or the
#                          standard error of an estimate. NULL without effects
#   project(weight, r, tol)  P r, where P is the inverse of the covariance of observations with noise 1 / weight; `tol`
#                          is the relative residual of iterations
#   posterior              the functions of sparse_posterior() for the precision Q + D
#   entries                the matrix of effects, a result of effect_entries()
latent_system <- function(sets, model, theta, factor = latent_factor(sets, theta), whole = theta) {
  if (is.null(factor)) return(NULL)
  pattern <- sets$pattern()
  iterative <- !is.null(pattern$levels)
  posterior <- if (iterative) levels_posterior(pattern, factor, sets$kept) else sparse_posterior(pattern, factor)
  nugget <- if (length(model$nugget)) theta[[model$nugget]] else 0
  share <- function(weight) weight / (1 + nugget * weight)
  observed <- if (isTRUE(sets$without_field)) no_places(sets) else observed_places(sets)
  if (!is.null(sets$observed)) observed <- {
    with_observed_effects(observed, sets$observed, whole, iterative)
  }
  gather <- observed$gather
  precision <- function(weight) observed$precision(share(weight))
  mean <- function(weight, b, ...) posterior$solve(precision(weight), b, ...)
  c(observed, list(
    factor = factor, nugget = nugget, share = share, mean = mean, posterior = posterior,
    logdet = function(weight) posterior$logdet(precision(weight)) + 2 * sum(log(factor$sd)),
    error = function() {
      if (iterative) posterior$error() else if (has_dropped_entries(sets)) error_of_factor(posterior, sets)
    },
    project = function(weight, r, ...) {
      r <- as.matrix(r)
      share(weight) * (r - observed$spread(mean(weight, gather(share(weight) * r), ...)))
    }
  ))
}

# The functions of latent_system() that relate observations and places.
observed_places <- function(sets) {
  alone <- length(sets$of) == nrow(sets$points)
  back <- order(sets$of)
  gather <- function(x) {
    x <- as.matrix(x)
    if (alone) x[back, , drop = FALSE] else unname(rowsum(x, sets$of))
  }
  spread <- function(f) f[sets$of, , drop = FALSE]
  list(
    of = sets$of, gather = gather, spread = spread, precision = function(share) as.vector(gather(share)),
    at_places = function(process, k) {
      as.matrix(process)[match(seq_len(nrow(sets$points)), sets$of), , drop = FALSE]
    },
    variances = function(posterior) as.vector(spread(cbind(posterior$variances())))
  )
}
