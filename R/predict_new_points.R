# Joint predictions of fits by Vecchia's approximation: a new point is conditioned on observations and on other new
# points, see R/solve_joint.R.

# TRUE if `count` new points are predicted jointly, unless a fit has `vecchia$joint`: not if each new point is
# conditioned on all observations anyway, nor if the factor of the new points, 12 bytes for each of their neighbours,
# would be large.
is_joint <- function(object, count = 0, most = 1e6) {
  if (object$method != "vecchia") return(FALSE)
  object$vecchia$joint %||% (count <= most && object$vecchia$local < length(object$data$y))
}

# The joint distribution of the field at points u, which may coincide with each other and with observations. Points
# without variance have the value 0; those whose variance is not a number, NaN. A list of functions:
#   values(x, errors)     the values that follow from columns x of values at the base points
#   variances()           of each point, without the trend
#   sums(targets, parts, points)  of weighted means over these of the points, see joint_sums_of()
# and the list `base`.
joint_field <- function(object, u, uncertain = FALSE) {
  base <- joint_base(object, uncertain)
  places <- distinct_places(object, base, u)
  of <- places$of
  exact <- places$exact
  sets <- joint_sets(field_covariance(object), object$theta, base, places$new, base$m, base$diagonal)
  check_joint(object, sets, base)
  spread <- function(x, at_base) {
    x <- rbind(0, at_base, x)[of + 1L, , drop = FALSE]
    x[is.na(of), ] <- NaN
    x
  }
  list(
    base = base, count = nrow(places$new$u),
    values = function(x, errors = matrix(0, 0, 0)) {
      x <- as.matrix(x)
      spread(sets$values_at(x, errors), x[exact, , drop = FALSE])
    },
    variances = function() as.vector(spread(cbind(sets$variances_at()), matrix(0, length(exact), 1))),
    sums = function(targets, parts = FALSE, points = seq_along(of)) {
      of <- of[points]
      terms <- terms_of_targets(targets, pmax(0L, replace(of, is.na(of), 0L) - length(exact)))
      sums <- sets$sums_of(terms$which, terms$weights, parts)
      unknown <- unique(targets$of[is.na(of)])
      if (parts) sums[, unknown] <- NaN else sums[unknown] <- NaN
      sums
    }
  )
}

# The distinct places `new` of points u, as joint_sets() takes them; `exact`, the base points without noise, which may
# be at the same place; and `of`: the number of the place of each point among first these, then the new ones. Points
# without variance have the number 0, those whose variance is not a number NA.
distinct_places <- function(object, base, u) {
  model <- object$model
  variance <- as.vector(covariance_diagonal(model)(list(theta = object$theta, x = u)))
  known <- which(is.finite(variance) & variance > 0)
  exact <- if (is.null(base$system) && !is_lmc(model$covariance)) which(base$noise == 0)
  keys <- place_keys(model, rbind(base$u[exact, , drop = FALSE], u[known, , drop = FALSE]))
  first <- known[setdiff(which(!duplicated(keys)), seq_along(exact)) - length(exact)]
  of <- replace(rep(NA_integer_, nrow(u)), which(variance == 0), 0L)
  of[known] <- match(keys, unique(keys))[length(exact) + seq_along(known)]
  own <- u[first, , drop = FALSE]
  near <- neighbour_coordinates(model, object$theta, own, reference = object$data$u)
  list(new = list(u = own, near = near, variance = variance[first]), exact = exact, of = of)
}

# The points of each target, by their numbers `of`, in a column, and their weights.
terms_of_targets <- function(targets, of) {
  size <- tabulate(targets$of, targets$n)
  which <- matrix(0L, max(size, 1L), targets$n)
  weights <- matrix(0, nrow(which), targets$n)
  at <- cbind(sequence(size), targets$of)
  which[at] <- of
  weights[at] <- targets$weight
  list(which = which, weights = weights)
}

check_joint <- function(object, sets, base) {
  bad <- which(!is.finite(colSums(sets$weights)))
  if (!length(bad)) return(invisible())
  near <- sets$neighbours[, bad[[1]]]
  near <- near[near > 0 & near <= sets$base]
  stop_singular(list(data = object$data), singular_state(if (length(near)) base$row(near[[1]]) else 1L), NULL)
}

# As local_prediction().
joint_prediction <- function(object, points, variance) {
  field <- joint_field(object, points$u, variance)
  process <- as.vector(field$values(field$base$process))
  if (!variance) return(data.frame(process))
  x <- estimated_trend(object, points)
  trend <- trend_uncertainty(object, x, if (ncol(x)) field$values(field$base$trend))
  data.frame(process, variance = field$variances() + trend$variance, lagrange = trend$lagrange)
}

# As block_errors(), with the process.
joint_block_moments <- function(object, targets, variance) {
  field <- joint_field(object, targets$u, variance)
  mean_of <- function(x) gathered(field$values(x), targets)
  moments <- list(process = as.vector(mean_of(field$base$process)))
  if (!variance) return(moments)
  trend <- trend_uncertainty(object, targets$x, if (ncol(targets$x)) mean_of(field$base$trend))
  c(moments, list(variance = field$sums(targets) + trend$variance, lagrange = trend$lagrange))
}

# As joint_errors(), of targets.
joint_field_errors <- function(object) function(targets) {
  field <- joint_field(object, targets$u, TRUE)
  check_memory(8 * targets$n * (length(targets$of) + nrow(field$base$u) * !is.null(field$base$system)))
  symmetric(crossprod(field$sums(targets, parts = TRUE)) + crossprod(joint_gap(object, field, targets)))
}

# By which factor the uncertainty of the trend enters the errors of targets.
joint_gap <- function(object, field, targets) {
  x <- targets$x
  trend_uncertainty(object, x, if (ncol(x)) gathered(field$values(field$base$trend), targets))$gap
}

# Draws of the trend and the field at new points given the data: coefficients of the trend, then values at the base
# points given these, then the new points.
joint_draws <- function(object, points, nsim) {
  field <- joint_field(object, points$u, TRUE)
  x <- estimated_trend(object, points)
  base <- base_draws(field$base, nsim)
  off <- matrix(0, ncol(x), nsim)
  if (ncol(x)) {
    off <- backsolve(object$state$root, normal_numbers(ncol(x), nsim))
    base <- base - field$base$trend %*% off
  }
  trend_mean(object, points) + x %*% off + field$values(base, normal_numbers(field$count, nsim))
}
