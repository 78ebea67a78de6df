# Joint conditioning: a new point is conditioned on base points and on other new points, see R/solve_joint.R.

# TRUE if new points of a fit by neighbours are predicted jointly; `object$vecchia$joint` overrides the default. Joint
# prediction is not useful if each new point is conditioned on all observations anyway.
is_joint <- function(object) {
  object$vecchia$joint %||% (object$vecchia$local < length(object$data$y) && !isTRUE(object$vecchia$iterative))
}

joint_conditioning <- function(object, base = joint_base(object), nearest = nearest_conditioning(object)) {
  new_conditioning(
    object, function(targets) joint_moments(object, base, targets, FALSE),
    function(targets) joint_moments(object, base, targets, TRUE),
    errors_among = function(targets) joint_errors(object, base, targets),
    draws = function(points, nsim, features) joint_draws(object, base, points, nsim),
    prior_draws = nearest$prior_draws, inverse = nearest$inverse, determined = nearest$determined
  )
}

joint_moments <- function(object, base, targets, variance) {
  places <- places_of_targets(object, base, targets, variance)
  by_tiles(object, base, targets, places, function(field, some) {
    means <- field$means(if (variance) cbind(base$process, base$trend()) else base$process)
    process <- means[, 1]
    if (!variance) return(with_trend(object, some, process = process))
    trend <- trend_uncertainty(object, some$x, means[, -1, drop = FALSE])
    with_trend(object, some, process = process, variance = field$variances() + trend$variance,
               lagrange = trend$lagrange)
  })
}

# Returns a function f(numbers): the covariance matrix of the errors of the targets with the indices `numbers`.
joint_errors <- function(object, base, targets) {
  field <- joint_field(object, base, targets, joint_places(object, base, targets$u, base$posterior()))
  gap <- trend_uncertainty(object, targets$x, field$means(base$trend()))$gap
  function(numbers) crossprod(field$parts(numbers)) + crossprod(gap[, numbers, drop = FALSE])
}

# Draws of the trend and the field at new points given the data: first coefficients of the trend, then values at the
# base points given the coefficients, then values at the new points. `shift` has a column for each draw: values that are
# subtracted from the observations.
joint_draws <- function(object, base, points, nsim, shift = NULL) {
  targets <- targets_of(object, points)
  places <- joint_places(object, base, targets$u)
  values <- base$draws(nsim) - if (is.null(shift)) 0 else base$solve(shift)$values
  off <- matrix(0, ncol(targets$x), nsim)
  if (ncol(targets$x)) {
    off <- backsolve(object$state$root, normal_numbers(ncol(targets$x), nsim))
    values <- values - base$trend() %*% off
  }
  errors <- normal_numbers(places$count, nsim)
  field <- by_tiles(object, base, targets, places, function(field, some) field$means(values, errors))
  trend_mean(object, points) + targets$x %*% off + field
}

# The maximum number of points whose joint distribution is in memory at once. The points on which these points depend
# are not counted.
joint_tile <- 4e5

# The results f(field, targets), with a row for each target. The targets are divided into tiles, and the joint field of
# one tile is computed at a time. The order of points, and the points on which each tile depends, are determined from
# all targets, so that results do not depend on the division into tiles.
by_tiles <- function(object, base, targets, places, f) {
  among <- targets$among$numbers
  if (!is.null(among)) return(f(joint_field(object, base, targets, places, among), targets))
  if (places$count <= joint_tile) return(f(joint_field(object, base, targets, places), targets))
  last <- cumsum(tabulate(targets$of, targets$n))
  tiles <- tiles_of(targets$u[last, seq_len(object$model$d), drop = FALSE], joint_tile * targets$n / length(targets$of))
  parts <- with_bar("Predicting", lapply(seq_along(tiles), function(k) {
    say_progress(step = paste("tile", k, "of", length(tiles)), fraction = (k - 1) / length(tiles))
    some <- some_targets(targets, tiles[[k]])
    points <- sequence(diff(c(0, last))[tiles[[k]]], c(0, last)[tiles[[k]]] + 1)
    f(joint_field(object, base, some, places, points), some)
  }))
  do.call(rbind, parts)[order(unlist(tiles)), , drop = FALSE]
}

# Divides the rows of u into tiles of at most `size` points that are near each other, by repeated halving along the
# longest side; the rows of a tile are in ascending order.
tiles_of <- function(u, size, rows = seq_len(nrow(u))) {
  if (length(rows) <= max(1, size)) return(list(rows))
  side <- which.max(apply(u[rows, , drop = FALSE], 2, function(x) diff(range(x))))
  half <- rank(u[rows, side], ties.method = "first") <= length(rows) / 2
  c(tiles_of(u, size, rows[half]), tiles_of(u, size, rows[!half]))
}

# The joint distribution of the field at the points of targets, which may coincide with each other and with base points.
# Points without variance have the value 0; points whose variance is not a number have the value NaN. A list of
# functions:
#   means(x, errors)      the means of targets, from columns x of values at the base points; draws, if `errors` has
#                         standard normal numbers for all new points in the order of these points
#   variances()           the variances of targets, without the trend
#   parts(numbers)        a column for each target with an index in `numbers`; the inner products of the columns are the
#                         covariances of the targets
# If `places` was computed for more points than those of `targets`, `points` has the indices of the targets' points
# among the points of `places`.
joint_field <- function(object, base, targets, places, points = NULL) {
  known <- length(base$known)
  of <- if (is.null(points)) places$of else places$of[points]
  new_numbers <- if (!is.null(points)) unique(of[which(of > known)]) - known
  sets <- places$part(new_numbers)
  check_joint(object, sets, base)
  if (!is.null(new_numbers)) of <- ifelse(of > known, known + match(of - known, sets$numbers), of)
  if (!is.null(places$entries)) {
    joined <- beside_coefficients(sets, of, some_entries(places$entries, points))
    sets <- joined$sets
    of <- joined$of
  }
  spread <- function(x, at_known) {
    x <- rbind(0, at_known, x)[of + 1L, , drop = FALSE]
    x[is.na(of), ] <- NaN
    x
  }
  sums <- function(targets, of, parts) {
    terms <- terms_of_targets(targets, pmax(0L, replace(of, is.na(of), 0L) - known))
    sums <- sets$sums_of(terms$which, terms$weights, parts)
    unknown <- unique(targets$of[is.na(of)])
    if (parts) sums[, unknown] <- NaN else sums[unknown] <- NaN
    sums
  }
  list(
    means = function(x, errors = NULL) {
      x <- as.matrix(x)
      errors <- if (is.null(errors)) matrix(0, 0, 0) else errors[sets$positions, , drop = FALSE]
      gathered(spread(sets$values_at(x, errors), x[base$known, , drop = FALSE]), targets)
    },
    variances = function() {
      if (!are_points(targets) || !is.null(places$entries)) return(sums(targets, of, FALSE))
      as.vector(spread(cbind(sets$variances_at()), matrix(0, known, 1)))
    },
    parts = function(numbers) {
      check_memory(8 * length(numbers) * (length(of) + nrow(base$u) * !is.null(sets$posterior)))
      sums(some_targets(targets, numbers), of[targets$of %in% numbers], TRUE)
    }
  )
}

# Finds the distinct locations of points u, called places. Returns a list with these elements:
#   count     the number of new places and of new coefficients of effects, at least 1
#   part      a function; part(some) is the joint distribution of some places given the `posterior` of the base points,
#             see joint_sets()
#   of        the index of the place of each point: base points of `known` come first, then new places; 0 for points
#             without variance, and NA if the variance is not a number
#   entries   the coefficients of effects that are added at each point, see beside_coefficients()
joint_places <- function(object, base, u, posterior = NULL) {
  entries <- base$entries(u)
  object <- base$field %||% object
  u <- base$points_of(u)
  model <- object$model
  variance <- as.vector(covariance_diagonal(model)(list(theta = object$theta, x = u)))
  uncertain <- which(is.finite(variance) & variance > 0)
  known <- base$known
  keys <- place_keys(model, rbind(base$u[known, , drop = FALSE], u[uncertain, , drop = FALSE]))
  first <- uncertain[setdiff(which(!duplicated(keys)), seq_along(known)) - length(known)]
  of <- replace(rep(NA_integer_, nrow(u)), which(variance == 0), 0L)
  of[uncertain] <- match(keys, unique(keys))[length(known) + seq_along(uncertain)]
  u <- u[first, , drop = FALSE]
  near <- neighbour_coordinates(model, object$theta, u, reference = object$data$u)
  new <- list(u = u, near = near, variance = variance[first])
  base["posterior"] <- list(posterior)
  part <- joint_parts(field_covariance(object), object$theta, base, new, base$joint(), base$diagonal)
  list(count = max(1, length(first) + max(0, entries$new)), part = part, of = of, entries = entries)
}

# Two matrices with a column for each target: `which` has the indices of the target's points, which are elements of
# `points`, and `weights` has the weights of these points.
terms_of_targets <- function(targets, points) {
  size <- tabulate(targets$of, targets$n)
  which <- matrix(0L, max(size, 1L), targets$n)
  weights <- matrix(0, nrow(which), targets$n)
  entries <- cbind(sequence(size), targets$of)
  which[entries] <- points
  weights[entries] <- targets$weight
  list(which = which, weights = weights)
}

check_joint <- function(object, sets, base) {
  bad <- columns_with_gaps(sets$weights)
  if (!length(bad)) return(invisible())
  near <- sets$neighbours[, bad[[1]]]
  near <- near[near > 0 & near <= sets$base]
  stop_singular(list(data = object$data), singular_state(if (length(near)) base$row(near[[1]]) else 1L), NULL)
}
