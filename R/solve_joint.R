# Joint distributions of new points given base points, such as observations: new points follow the base points in the
# maximum-minimum distance ordering, and each is conditioned on its nearest base points and earlier new points
# (Katzfuss, Guinness, Gong and Zilber 2020). With all of these as neighbours the distribution is exact.

# `base` has coordinates u, the variances `noise` and coordinates `near` in which distances are searched; `new` has u,
# near and the variances of the field there, which are finite. A `posterior` of the values of the base points, see
# posterior_hold(), makes variances those given its data. No two new points coincide. The variances of the
# covariance are multiplied by `diagonal`. The functions of the result are joint_values(), joint_variances_of() and
# joint_sums_of() for these sets.
joint_sets <- function(values, theta, base, new, m, diagonal = 1) {
  order <- vecchia_order(new$near)
  near <- rbind(base$near, new$near[order, , drop = FALSE])
  n <- nrow(base$u)
  neighbours <- ordered_neighbours(near, min(m, nrow(near) - 1L), of = n + seq_along(order), backend = values)
  u <- new$u[order, , drop = FALSE]
  all <- rbind(base$u, u)
  weigh <- function(members, jitter) {
    stored <- hold_sets(all, c(base$noise, jitter * new$variance[order]))
    set_weights_at(values, theta, stored, u[members, , drop = FALSE], neighbours[, members, drop = FALSE], diagonal)
  }
  sets <- regular_weights(weigh, seq_along(order))
  sets <- list(weights = sets$weights, sd = sets$sd, neighbours = neighbours, order = order, base = n,
               posterior = base$posterior)
  c(sets, list(values_at = function(x, errors = matrix(0, 0, 0)) joint_values(sets, x, errors),
               variances_at = function() joint_variances_of(sets),
               sums_of = function(which, weights, parts = FALSE) joint_sums_of(sets, which, weights, parts)))
}

# In smooth fields, near new points nearly determine each other, and the weights grow with rounding errors. A noise of
# the size of these errors is added to the new points that a set is conditioned on, and more where that is too little.
regular_weights <- function(weigh, points, jitters = 10^(-11:-6)) {
  sets <- weigh(points, jitters[[1]])
  for (jitter in jitters[-1]) {
    bad <- which(!is.finite(colSums(sets$weights)))
    if (!length(bad)) break
    again <- weigh(points[bad], jitter)
    sets$weights[, bad] <- again$weights
    sets$sd[bad] <- again$sd
  }
  sets
}

# The values of all new points, a row each, from columns of values of the base points; with `errors`, independent
# standard normal numbers, draws of them.
joint_values <- function(sets, base, errors = matrix(0, 0, 0)) {
  joint_predict(sets, as.matrix(base), errors, threads())[order(sets$order), , drop = FALSE]
}

# The variances of new points given the base points.
joint_variances_of <- function(sets) joint_variances(sets, threads())[order(sets$order)]

# The variances of weighted sums of new points: `which` has the numbers of the points of each sum in a column, 0 for
# none, and `weights` their weights. With `parts`, a matrix with a column for each sum, whose inner products are the
# covariances of the sums.
joint_sums_of <- function(sets, which, weights, parts = FALSE) {
  position <- c(0L, order(sets$order))
  which[] <- position[which + 1L]
  joint_sums(sets, list(points = which, weights = weights), parts, threads())
}
