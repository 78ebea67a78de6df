# The field of a family given what observations say of it, by Vecchia's approximation of the field (Zilber and Katzfuss
# 2021): its precision Q = U' U is sparse, and so is that of the posterior, Q + D, with a diagonal D.
#
# Observations at one place share its value of the field; the nugget is of each of them. With the second derivatives W
# of their log densities, D sums W / (1 + nugget W) over the observations of a place.

# The places of observations: their coordinates u, and `of`, the place of each observation.
field_places <- function(u, model) {
  keys <- place_keys(model, u)
  first <- which(!duplicated(keys))
  list(u = u[first, , drop = FALSE], of = match(keys, keys[first]))
}

# Places in their order, the neighbours of each, `of`, the position of each observation in this order, and the operators
# of the covariance.
latent_sets <- function(places, model, theta, m, how) {
  control <- how$control
  near <- neighbour_coordinates(model, theta, places$u)
  order <- vecchia_order(near, control$ordering, control$seed)
  near <- near[order, , drop = FALSE]
  sets <- list(order = order, near = near, points = places$u[order, , drop = FALSE], of = order(order)[places$of],
               operators = set_operators(model, how$backend))
  with_latent_neighbours(sets, ordered_neighbours(near, m))
}

with_latent_neighbours <- function(sets, neighbours) {
  sets$neighbours <- neighbours
  sets$held <- posterior_hold(neighbours, threads())
  sets$filled <- new.env() # `by` whom
  sets
}

# So much larger are the variances of the field that smooth covariances have a factor.
latent_diagonal <- 1 + 1e-9

# The rows of U; NULL where a covariance is singular.
latent_factor <- function(sets, theta) {
  none <- numeric(nrow(sets$points))
  factor <- set_weights(sets$operators$values, theta, sets$points, none, sets$neighbours, latent_diagonal)
  if (all(is.finite(factor$weights)) && all(factor$sd > 0 & is.finite(factor$sd))) factor
}

# What observations with second derivatives `weight` say of the field, at parameters theta; NULL where it is singular.
#   gather(x), spread(f)   sums over the observations of each place, and back; at_places(x) undoes spread(f)
#   mean(weight, b, from)  (Q + D)^-1 b, for columns of b, from an approximation of it; NULL where there is no factor
#   logdet(weight)         log det(Q + D) - log det Q, by the factor
#   variances()            of the field given the data, by the latest factor
#   project(weight, r)     P r with P the inverse of the covariance of observations with noise 1 / weight
#   differentiate(f, g)    derivatives of the likelihood with respect to the rows of U: neighbours/posterior.h
# long: closures that share the latest factor
latent_system <- function(sets, model, theta, factor = latent_factor(sets, theta)) {
  if (is.null(factor)) return(NULL)
  self <- new.env()
  fill <- function() {
    posterior_fill(sets$held, factor$weights, factor$sd, threads())
    sets$filled$by <- self
  }
  fill()
  nugget <- if (length(model$nugget)) theta[[model$nugget]] else 0
  share <- function(weight) weight / (1 + nugget * weight)
  alone <- length(sets$of) == nrow(sets$points)
  back <- order(sets$of)
  gather <- function(x) {
    x <- as.matrix(x)
    if (alone) x[back, , drop = FALSE] else unname(rowsum(x, sets$of))
  }
  latest <- NULL
  logdet <- NaN
  factorise <- function(weight) {
    if (!identical(weight, latest)) {
      latest <<- weight
      logdet <<- posterior_factor(held(), as.vector(gather(share(weight))), threads())
    }
    logdet
  }
  # Of these parameters and the latest weight, also if other parameters came after them.
  held <- function() {
    if (!identical(sets$filled$by, self)) {
      fill()
      if (!is.null(latest)) posterior_factor(sets$held, as.vector(gather(share(latest))), threads())
    }
    sets$held
  }
  mean <- function(weight, b, from = 0 * b, tol = 1e-12) {
    if (is.null(latest)) factorise(weight)
    if (is.nan(logdet)) return(NULL)
    diagonal <- as.vector(gather(share(weight)))
    found <- posterior_solve(held(), diagonal, b, from, tol, 15L, threads())
    if (all(attr(found, "steps") < 15)) return(found)
    if (is.nan(factorise(weight))) return(NULL)
    posterior_solve(held(), diagonal, b, found, tol, 200L, threads())
  }
  spread <- function(f) f[sets$of, , drop = FALSE]
  list(
    factor = factor, nugget = nugget, share = share, gather = gather, spread = spread, mean = mean,
    at_places = function(x) as.matrix(x)[match(seq_len(nrow(sets$points)), sets$of), , drop = FALSE],
    logdet = function(weight) factorise(weight) + 2 * sum(log(factor$sd)),
    variances = function() posterior_variances(held(), threads()),
    project = function(weight, r) {
      r <- as.matrix(r)
      share(weight) * (r - spread(mean(weight, gather(share(weight) * r))))
    },
    differentiate = function(f, g) posterior_differentiate(held(), f, g, threads())
  )
}
