# The field of a family given the observations, by Vecchia's approximation of the field (Zilber and Katzfuss 2021): its
# precision Q = U' U is sparse, and so is that of the posterior, Q + D, with a diagonal D.
#
# Observations at one place share its value of the field; each observation has its own nugget. With the second
# derivatives W of their log densities, D sums W / (1 + nugget W) over the observations of a place.

# The places of observations: their coordinates u, and `of`, the place of each observation.
field_places <- function(u, model) {
  keys <- place_keys(model, u)
  first <- which(!duplicated(keys))
  list(u = u[first, , drop = FALSE], of = match(keys, keys[first]))
}

# Places in their order, the neighbours of each, `of`, the position of each observation in this order, and the operators
# of the covariance.
latent_sets <- function(places, model, theta, m, how) {
  sets <- ordered_sets(neighbour_coordinates(model, theta, places$u), how)
  sets <- c(sets, list(points = places$u[sets$order, , drop = FALSE], of = order(sets$order)[places$of],
                       operators = set_operators(model, how$backend)))
  with_latent_neighbours(sets, sets$search(m))
}

with_latent_neighbours <- function(sets, neighbours) {
  sets$neighbours <- neighbours
  sets$pattern <- sparse_pattern(neighbours)
  sets
}

# The factor by which the variances of the field are enlarged, so that smooth covariances have a Cholesky factor.
latent_diagonal <- 1 + 1e-9

# The rows of U; NULL where a covariance is singular.
latent_factor <- function(sets, theta) {
  none <- numeric(nrow(sets$points))
  factor <- set_weights(sets$operators$values, theta, sets$points, none, sets$neighbours, latent_diagonal)
  if (all(is.finite(factor$weights)) && all(factor$sd > 0 & is.finite(factor$sd))) factor
}

# The field given observations with second derivatives `weight`, at parameters theta; NULL where it is singular.
#   gather(x), spread(f)   sums over the observations of each place, and back; at_places(x) undoes spread(f)
#   mean(weight, b, from)  (Q + D)^-1 b, for columns of b, from an approximation of it; NULL where there is no factor
#   logdet(weight)         log det(Q + D) - log det Q, by the factor
#   project(weight, r)     P r with P the inverse of the covariance of observations with noise 1 / weight
#   posterior              the precision Q + D, of sparse_posterior()
latent_system <- function(sets, model, theta, factor = latent_factor(sets, theta)) {
  if (is.null(factor)) return(NULL)
  posterior <- sparse_posterior(sets$pattern, factor)
  nugget <- if (length(model$nugget)) theta[[model$nugget]] else 0
  share <- function(weight) weight / (1 + nugget * weight)
  alone <- length(sets$of) == nrow(sets$points)
  back <- order(sets$of)
  gather <- function(x) {
    x <- as.matrix(x)
    if (alone) x[back, , drop = FALSE] else unname(rowsum(x, sets$of))
  }
  diagonal <- function(weight) as.vector(gather(share(weight)))
  mean <- function(weight, b, ...) posterior$solve(diagonal(weight), b, ...)
  spread <- function(f) f[sets$of, , drop = FALSE]
  list(
    factor = factor, nugget = nugget, share = share, gather = gather, spread = spread, mean = mean,
    at_places = function(x) as.matrix(x)[match(seq_len(nrow(sets$points)), sets$of), , drop = FALSE],
    logdet = function(weight) posterior$logdet(diagonal(weight)) + 2 * sum(log(factor$sd)),
    project = function(weight, r) {
      r <- as.matrix(r)
      share(weight) * (r - spread(mean(weight, gather(share(weight) * r))))
    },
    posterior = posterior
  )
}
