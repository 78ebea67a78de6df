# Conditioning on the nearest base points of each point (local kriging), with the trend of the fit.

nearest_conditioning <- function(object, base = nearest_base(object), prior_draws = neighbour_draws(object), ...) {
  new_conditioning(
    object, function(targets) nearest_moments(object, base, targets, FALSE),
    function(targets) nearest_moments(object, base, targets, TRUE),
    errors_among = function(targets) nearest_errors(object, base, targets),
    correction = function(points, values) {
      targets <- targets_of(object, points)
      solved <- base$correct(values)
      by_parts(targets, base$width, function(some) {
        neighbour_means(base$nearest(some$u), solved$values) + some$x %*% solved$beta
      })
    },
    prior_draws = prior_draws, inverse = function() sparse_inverse(object), ...
  )
}

neighbour_draws <- function(object) function(u, nsim, features) draws_at_places(object, u, nsim, vecchia_draws)

# The variance of a point is the sum of three parts: the part that its neighbours do not explain, the variance of the
# weighted mean of its neighbours given the data, and the part due to the trend.
nearest_moments <- function(object, base, targets, variance) {
  if (base$elsewhere(nrow(targets$u))) return(moments_elsewhere(object, targets, variance))
  by_parts(targets, base$width, function(some) {
    sets <- base$nearest(some$u)
    process <- as.vector(gathered(neighbour_means(sets, base$process), some))
    if (!variance) return(with_trend(object, some, process = process))
    trend <- trend_uncertainty(object, some$x, gathered(neighbour_means(sets, base$trend()), some))
    sums <- sets_of_targets(sets, some)
    left <- if (are_points(some)) sets$sd^2 else unexplained_variances(base, some, sums)
    variance <- left + base$sums(sums) + trend$variance
    with_trend(object, some, process = process, variance = pmax(variance, 0), lagrange = trend$lagrange)
  })
}

# Returns a function f(numbers): the covariance matrix of the errors of the targets with the indices `numbers`.
nearest_errors <- function(object, base, targets) {
  sets <- base$nearest(targets$u)
  gap <- trend_uncertainty(object, targets$x, gathered(neighbour_means(sets, base$trend()), targets))$gap
  sums <- sets_of_targets(sets, targets)
  function(numbers) {
    some <- some_sets(sums, numbers)
    base$unexplained(some_targets(targets, numbers), terms_of_sets(some)) + crossprod(base$parts(some)) +
      crossprod(gap[, numbers, drop = FALSE])
  }
}

some_sets <- function(sets, numbers) {
  list(neighbours = sets$neighbours[, numbers, drop = FALSE], weights = sets$weights[, numbers, drop = FALSE])
}

# For each target, the nearest base points of all points of the target, with their weights.
sets_of_targets <- function(sets, targets) {
  if (are_points(targets)) return(sets)
  sums <- lapply(split(seq_along(targets$of), factor(targets$of, seq_len(targets$n))), function(points) {
    weights <- sets$weights[, points, drop = FALSE] * rep(targets$weight[points], each = nrow(sets$weights))
    rowsum(as.vector(weights), as.vector(sets$neighbours[, points]))
  })
  most <- max(lengths(sums), 1L)
  padded <- function(x) matrix(vapply(x, function(x) c(x, numeric(most - length(x))), numeric(most)), most)
  near <- padded(lapply(sums, function(sum) as.integer(rownames(sum))))
  storage.mode(near) <- "integer"
  list(neighbours = near, weights = padded(sums))
}

# The weighted sums of neighbours as a list of terms. For each term, `near` has the index of an observation, `of` the
# index of the target to whose prediction the term belongs, and `weights` the weight of the observation.
terms_of_sets <- function(sets) {
  used <- sets$neighbours > 0
  list(near = sets$neighbours[used], of = col(sets$neighbours)[used], weights = sets$weights[used])
}

# The diagonal of base$unexplained().
unexplained_variances <- function(base, targets, sets) {
  vapply(seq_len(targets$n), function(k) {
    as.vector(base$unexplained(some_targets(targets, k), terms_of_sets(some_sets(sets, k))))
  }, 0)
}

# The covariance matrix of the differences between targets and weighted sums of observations, without the trend.
unexplained <- function(fit, targets, terms) {
  model <- fit$model
  rows <- sort(unique(terms$near))
  W <- matrix(0, length(rows), targets$n)
  W[cbind(match(terms$near, rows), terms$of)] <- terms$weights
  prior <- joint_prior(fit, targets)
  if (!length(rows)) return(prior)
  u <- fit$data$u[rows, , drop = FALSE]
  product <- covariance_product(model, targets$n)
  times <- function(x) matrix(product(list(theta = fit$theta, x = x, y = u, b = W)), nrow(x))
  across <- gathered(times(targets$u), targets)
  noise <- noise_variance(fit$data, model, fit$theta)[rows]
  prior - across - t(across) + crossprod(W, times(u) + noise * W)
}
