# Conditioning where a part of the process is a trend, whose coefficients have a normal distribution with independent
# entries before the data are seen: the low-rank part of VIF, random effects and smooths. Given the data, these
# coefficients are estimated like those of the trend, and the conditional distributions of the rest of the process
# follow from its neighbours.

# `inner` is a fit of the rest of the process, with all columns in its trend: the last inner$random of these have the
# prior. split(u) divides points of the fit: `u`, those of `inner`, the `columns` with the prior there, and `new`, the
# columns whose coefficients have no observations, a result of row_sparse(), if there are such.
random_trend_conditioning <- function(object, inner, how, split, inverse, ...) {
  conditioning <- conditioning_for(inner, how)
  extended <- function(targets, parts) {
    targets$x <- cbind(targets$x, gathered(parts$columns, targets))
    replace(targets, "u", list(parts$u))
  }
  means <- function(moments) function(targets) {
    parts <- split(targets$u)
    moments <- trend_in_process(object, targets, moments(extended(targets, parts)))
    if (!is.null(moments$variance)) moments$variance <- moments$variance + variance_of_new(parts$new, targets)
    moments
  }
  new_conditioning(
    object, means(conditioning$means), means(conditioning$moments),
    errors_among = function(targets) {
      parts <- split(targets$u)
      errors <- conditioning$errors_among(extended(targets, parts))
      new <- if (!is.null(parts$new)) gathered(all_entries(parts$new), targets)
      function(numbers) errors(numbers) + if (is.null(new)) 0 else tcrossprod(new[numbers, , drop = FALSE])
    },
    prior_draws = function(u, nsim, features) {
      parts <- split(u)
      parts$columns %*% normal_numbers(ncol(parts$columns), nsim) + draws_of_new(parts$new, nsim) +
        conditioning$prior_draws(parts$u, nsim, features)
    },
    draws = function(points, nsim, features) {
      parts <- split(points$u)
      points[c("u", "x", "offset")] <- list(parts$u, cbind(estimated_trend(object, points), parts$columns),
                                            known_trend(object, points))
      joint_conditioning(inner)$draws(points, nsim, features) + draws_of_new(parts$new, nsim)
    },
    inverse = inverse, ...
  )
}

# Moments of the inner fit, whose trend contains a part of the process.
trend_in_process <- function(object, targets, moments) {
  trend <- with_trend(object, targets)$trend
  moments$process <- moments$process + moments$trend - trend
  replace(moments, "trend", list(trend))
}

# The variance of the part of targets that has no observations.
variance_of_new <- function(new, targets) {
  if (is.null(new)) return(0)
  if (are_points(targets)) colSums(new$values^2) else rowSums(gathered(all_entries(new), targets)^2)
}

draws_of_new <- function(new, nsim) {
  if (is.null(new)) 0 else new$times(normal_numbers(new$size, nsim))
}

all_entries <- function(entries) dense_entries(entries, seq_len(entries$size))
