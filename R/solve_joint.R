# Joint distributions of new points given base points, such as observations. New points follow the base points in the
# maximum-minimum distance ordering. Each new point is conditioned on its nearest base points and earlier new points
# (Katzfuss, Guinness, Gong and Zilber 2020), and on a few base points farther away. If each new point is conditioned on
# all base points and all earlier new points, the distribution is exact.

# `base` has coordinates `u`, the variances `noise`, coordinates `near` in which distances are searched, and possibly
# cover(), see joint_order(). `new` has `u`, `near`, and `variance`, the finite variances of the field at the new
# points. If the values of the base points have a distribution given data, base$posterior is this distribution
# (posterior_hold() or solve_joint_solved.R), and variances of new points are variances given the data. No two new
# points may coincide. The diagonal of covariance matrices, without the noise, is multiplied by `diagonal`.
#
# The result has `numbers`, the indices of the new points `chosen` and of all new points on which these depend, and
# `positions`, the positions of the points `numbers` in the order of all new points. The result also has functions that
# call joint_values(), joint_variances_of() and joint_sums_of() for the points `numbers`. For these points, the
# functions return the same values as a result of joint_sets() for all new points.
joint_sets <- function(values, theta, base, new, m, diagonal = 1, ordered = joint_order(base, new), chosen = NULL) {
  order <- ordered$order
  n <- nrow(base$u)
  m <- min(m, n + length(order) - 1L)
  positions <- if (is.null(chosen)) seq_along(order) else ordered$position[chosen]
  part <- dependencies(ordered, m, n, positions, values)
  rows <- order[part$positions]
  u <- new$u[rows, , drop = FALSE]
  all <- rbind(base$u, u)
  weigh <- function(members, jitter) {
    stored <- hold_sets(all, c(base$noise, jitter * new$variance[rows]))
    near <- part$neighbours[, members, drop = FALSE]
    set_weights_at(values, theta, stored, u[members, , drop = FALSE], near, diagonal)
  }
  sets <- regular_weights(weigh, seq_along(rows))
  numbers <- sort(rows)
  joint_functions(list(weights = sets$weights, sd = sets$sd, neighbours = part$neighbours, numbers = numbers, base = n,
                       order = match(rows, numbers), posterior = base$posterior, total = length(order),
                       positions = part$positions))
}

joint_functions <- function(sets) {
  c(sets, list(values_at = function(x, errors = matrix(0, 0, 0)) joint_values(sets, x, errors),
               variances_at = function() joint_variances_of(sets),
               sums_of = function(which, weights, parts = FALSE) joint_sums_of(sets, which, weights, parts)))
}

# Returns a function f(chosen): the result of joint_sets() for the new points `chosen`, or for all new points if
# `chosen` is NULL.
joint_parts <- function(values, theta, base, new, m, diagonal = 1, ordered = joint_order(base, new)) {
  function(chosen = NULL) joint_sets(values, theta, base, new, m, diagonal, ordered, chosen)
}

# A list of the `order` of the new points; the `position` of each new point in this order; and the function
# neighbours(m, of, values). For the new points at the positions `of`, neighbours() searches neighbours among the base
# points and earlier new points, on the backend of `values`. If base points are dense only in one direction, as along
# tracks, the nearest base points have little information about the other directions. Therefore up to a third of the
# neighbours are selected from a few base points that cover the whole region, base$cover(). If base$beside is not NULL,
# the neighbours are m base points and base$beside earlier new points.
joint_order <- function(base, new) {
  tree <- search_tree(new$near)
  base_tree <- search_tree(base$near)
  order <- vecchia_order(new$near, tree = tree)
  delayedAssign("cover", base$cover())
  delayedAssign("cover_tree", search_tree(base$near[cover, , drop = FALSE]))
  position <- replace(integer(length(order)), order, seq_along(order))
  n <- nrow(base$near)
  covered <- function(near, m, query, values) {
    if (is.null(base$cover) || m < 3 || m >= n) return(near)
    far <- nearest_points(query, cover_tree, min(if (is.null(base$beside)) m %/% 3L else most_far(m), length(cover)),
                          backend = values)
    far[] <- cover[far]
    joined_neighbours(near, far)
  }
  list(order = order, position = position, neighbours = function(m, of, values) {
    query <- new$near[if (is.null(of)) order else order[of], , drop = FALSE]
    if (is.null(base$beside)) {
      return(covered(following_neighbours(base_tree, tree, order, m, of, values), m, query, values))
    }
    near <- covered(nearest_points(query, base_tree, min(m + most_far(m), n), backend = values), m, query, values)
    before <- ordered_neighbours(tree, base$beside + max(0L, m - n), of = of, order = order, backend = values)
    rbind(near, before + n * (before > 0L))
  })
}

# The maximum number of base points farther away that are added to the m nearest base points if base points are noisy.
most_far <- function(m) min(m %/% 3L, 20L)

# A list of `positions`, the given positions of new points and the positions of all new points on which these points
# depend, in ascending order; and `neighbours`, whose columns have the indices of neighbours among the base points and
# the new points at `positions`. `ordered` is a result of joint_order().
dependencies <- function(ordered, m, base, positions, values) {
  total <- length(ordered$order)
  neighbours_of <- function(positions) ordered$neighbours(m, positions, values)
  if (length(positions) == total) return(list(positions = seq_len(total), neighbours = neighbours_of(NULL)))
  needed <- logical(total)
  searches <- list()
  while (length(positions)) {
    needed[positions] <- TRUE
    near <- neighbours_of(positions)
    searches <- c(searches, list(list(positions = positions, near = near)))
    earlier <- logical(total)
    earlier[near[near > base] - base] <- TRUE
    positions <- which(earlier & !needed)
  }
  positions <- which(needed)
  number <- c(seq_len(base), base + replace(integer(total), positions, seq_along(positions)))
  of_each <- function(name) lapply(searches, `[[`, name)
  near <- do.call(cbind, of_each("near"))[, order(unlist(of_each("positions"))), drop = FALSE]
  near[near > 0] <- number[near]
  list(positions = positions, neighbours = near)
}

# In smooth fields, new points that are close to each other nearly determine each other, and rounding errors inflate the
# weights. Therefore noise with the size of rounding errors is added to the new points on which a point is conditioned.
# If the weights of a set are still not finite, more noise is added for this set.
regular_weights <- function(weigh, points, jitters = 10^(-11:-6)) {
  sets <- weigh(points, jitters[[1]])
  for (jitter in jitters[-1]) {
    bad <- columns_with_gaps(sets$weights)
    if (!length(bad)) break
    again <- weigh(points[bad], jitter)
    sets$weights[, bad] <- again$weights
    sets$sd[bad] <- again$sd
  }
  sets
}

# The values of all new points, with a row for each new point, from columns of values of the base points. If `errors`
# has independent standard normal numbers, the values are draws; without `errors`, they are conditional means.
joint_values <- function(sets, base, errors = matrix(0, 0, 0)) {
  sets["posterior"] <- list(NULL)
  joint_predict(sets, as.matrix(base), errors, threads())[order(sets$order), , drop = FALSE]
}

# The variances of new points, given the base points or given the data of base$posterior.
joint_variances_of <- function(sets) {
  each <- rbind(seq_along(sets$order))
  if (is_solved(sets$posterior)) return(joint_sums_of(sets, each, 1 + 0 * each))
  joint_variances(sets, threads())[order(sets$order)]
}

# The variances of weighted sums of new points. `positions` has a column for each sum with the indices of its points,
# filled up with 0, and `weights` has the weights of these points. With `parts`, the result is a matrix with a column
# for each sum; the inner products of the columns are the covariances of the sums.
joint_sums_of <- function(sets, positions, weights, parts = FALSE) {
  position <- c(0L, order(sets$order))
  positions[] <- position[positions + 1L]
  if (is_solved(sets$posterior)) return(solved_sums(sets, positions, weights, parts))
  joint_sums(sets, list(points = positions, weights = weights), parts, threads())
}
