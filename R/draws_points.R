# Draws of the field at points from its covariance matrix.

# Draws the field block by block, because the field is uncorrelated between blocks of points. Coinciding points have the
# same value.
separate_draws <- function(object, u, nsim, features) {
  draws <- matrix(0, nrow(u), nsim)
  for (rows in split(seq_len(nrow(u)), separate_blocks(object$model, u))) {
    own <- u[rows, , drop = FALSE]
    draws[rows, ] <- if (length(rows) > object$how$control$exact_limit) fourier_draws(object, own, nsim, features) else
      draws_at_places(object, own, nsim, distinct_draws)
  }
  draws
}

draws_at_places <- function(object, u, nsim, draw) {
  places <- place_keys(object$model, u)
  first <- which(!duplicated(places))
  draw(object, u[first, , drop = FALSE], nsim)[match(places, places[first]), , drop = FALSE]
}

distinct_draws <- function(object, u, nsim) {
  n <- nrow(u)
  k <- dense_factor(n)
  values <- covariance_matrix(object$model)
  x <- unname(u)
  variance <- as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = u)))
  if (all(variance == 0)) return(matrix(0, n, nsim)) # no field
  jitter <- 0
  repeat {
    # the variance of a point may be 0
    added <- jitter * pmax(variance, .Machine$double.eps * max(variance))
    bad <- k$fill(values, unname(object$theta), x, rep_len(added, n))
    if (bad == 0 || !is.finite(jitter) || !all(is.finite(variance))) break
    # nearly coinciding points need a jitter of the size of rounding errors, which is not visible in draws
    jitter <- if (jitter == 0) 10 * n * .Machine$double.eps else 10 * jitter
  }
  draws <- k$times(normal_numbers(n, nsim))
  if (!anyNA(draws)) return(draws)
  stop_kernops("input", "The covariance is not finite for some pairs of points.", call = NULL)
}
