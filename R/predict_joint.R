# Joint conditioning: a new point is conditioned on base points and on other new points, see R/solve_joint.R.

# TRUE if `count` new points of a fit by neighbours are predicted jointly, unless it has `vecchia$joint`: not if each
# new point is conditioned on all observations anyway, nor if the factor of the new points, 12 bytes for each of their
# neighbours, would be large.
is_joint <- function(object, count, most = 1e6) {
  object$vecchia$joint %||% (count <= most && object$vecchia$local < length(object$data$y))
}

joint_conditioning <- function(object, base = joint_base(object)) {
  nearest <- nearest_conditioning(object)
  new_conditioning(
    object, function(targets) joint_moments(object, base, targets, FALSE),
    function(targets) joint_moments(object, base, targets, TRUE),
    errors_among = function(targets) joint_errors(object, base, targets),
    draws = function(points, nsim, features) joint_draws(object, base, points, nsim),
    prior_draws = nearest$prior_draws, inverse = nearest$inverse
  )
}

joint_moments <- function(object, base, targets, variance) {
  field <- joint_field(object, base, targets, variance)
  process <- as.vector(field$means(base$process))
  if (!variance) return(with_trend(object, targets, process = process))
  trend <- trend_uncertainty(object, targets$x, field$means(base$trend()))
  with_trend(object, targets, process = process, variance = field$variances() + trend$variance,
             lagrange = trend$lagrange)
}

# f(numbers): the covariance matrix of the errors of some of the targets.
joint_errors <- function(object, base, targets) {
  field <- joint_field(object, base, targets, TRUE)
  gap <- trend_uncertainty(object, targets$x, field$means(base$trend()))$gap
  function(numbers) crossprod(field$parts(numbers)) + crossprod(gap[, numbers, drop = FALSE])
}

# Draws of the trend and the field at new points given the data: coefficients of the trend, then values at the base
# points given these, then the new points.
joint_draws <- function(object, base, points, nsim) {
  targets <- targets_of(object, points)
  field <- joint_field(object, base, targets, TRUE)
  values <- base$draws(nsim)
  off <- matrix(0, ncol(targets$x), nsim)
  if (ncol(targets$x)) {
    off <- backsolve(object$state$root, normal_numbers(ncol(targets$x), nsim))
    values <- values - base$trend() %*% off
  }
  trend_mean(object, points) + targets$x %*% off + field$means(values, normal_numbers(field$count, nsim))
}

# The joint distribution of the field at the points of targets, which may coincide with each other and with base points.
# Points without variance have the value 0; those whose variance is not a number, NaN. A list of functions:
#   means(x, errors)      of targets, from columns x of values at the base points; with `errors`, draws
#   variances()           of targets, without the trend
#   parts(numbers)        a column for each of these targets, whose inner products are their covariances
# and the number `count` of the `errors` of a draw. `uncertain`: whether variances or draws are needed.
joint_field <- function(object, base, targets, uncertain) {
  places <- distinct_places(object, base, targets$u)
  of <- places$of
  known <- base$known
  base$posterior <- if (uncertain) base$posterior()
  sets <- joint_sets(field_covariance(object), object$theta, base, places$new, base$joint(), base$diagonal)
  check_joint(object, sets, base)
  spread <- function(x, at_base) {
    x <- rbind(0, at_base, x)[of + 1L, , drop = FALSE]
    x[is.na(of), ] <- NaN
    x
  }
  sums <- function(targets, of, parts) {
    terms <- terms_of_targets(targets, pmax(0L, replace(of, is.na(of), 0L) - length(known)))
    sums <- sets$sums_of(terms$which, terms$weights, parts)
    unknown <- unique(targets$of[is.na(of)])
    if (parts) sums[, unknown] <- NaN else sums[unknown] <- NaN
    sums
  }
  list(
    count = nrow(places$new$u),
    means = function(x, errors = matrix(0, 0, 0)) {
      x <- as.matrix(x)
      gathered(spread(sets$values_at(x, errors), x[known, , drop = FALSE]), targets)
    },
    variances = function() {
      if (!are_points(targets)) return(sums(targets, of, FALSE))
      as.vector(spread(cbind(sets$variances_at()), matrix(0, length(known), 1)))
    },
    parts = function(numbers) {
      check_memory(8 * length(numbers) * (length(of) + nrow(base$u) * !is.null(base$posterior)))
      sums(some_targets(targets, numbers), of[targets$of %in% numbers], TRUE)
    }
  )
}

# The distinct places `new` of points u, as joint_sets() takes them, and `of`: the number of the place of each point
# among first the `known` base points, then the new ones. Points without variance have the number 0, those whose
# variance is not a number NA.
distinct_places <- function(object, base, u) {
  model <- object$model
  variance <- as.vector(covariance_diagonal(model)(list(theta = object$theta, x = u)))
  uncertain <- which(is.finite(variance) & variance > 0)
  known <- base$known
  keys <- place_keys(model, rbind(base$u[known, , drop = FALSE], u[uncertain, , drop = FALSE]))
  first <- uncertain[setdiff(which(!duplicated(keys)), seq_along(known)) - length(known)]
  of <- replace(rep(NA_integer_, nrow(u)), which(variance == 0), 0L)
  of[uncertain] <- match(keys, unique(keys))[length(known) + seq_along(uncertain)]
  new <- u[first, , drop = FALSE]
  near <- neighbour_coordinates(model, object$theta, new, reference = object$data$u)
  list(new = list(u = new, near = near, variance = variance[first]), of = of)
}

# The points of each target, by their numbers `of`, in a column, and their weights.
terms_of_targets <- function(targets, of) {
  size <- tabulate(targets$of, targets$n)
  which <- matrix(0L, max(size, 1L), targets$n)
  weights <- matrix(0, nrow(which), targets$n)
  entries <- cbind(sequence(size), targets$of)
  which[entries] <- of
  weights[entries] <- targets$weight
  list(which = which, weights = weights)
}

check_joint <- function(object, sets, base) {
  bad <- which(!is.finite(colSums(sets$weights)))
  if (!length(bad)) return(invisible())
  near <- sets$neighbours[, bad[[1]]]
  near <- near[near > 0 & near <= sets$base]
  stop_singular(list(data = object$data), singular_state(if (length(near)) base$row(near[[1]]) else 1L), NULL)
}
