# Sums and means of responses over many nodes, by joint draws of the field at the nodes, without the covariance matrix
# of the nodes. The response is a function of the field, see predict_scale.R.
#
# Let T be the sum of the responses at nodes with weights w. Let f be the field at the nodes, m its mean, and s the mean
# derivative of the response with respect to the field. The linear part L is the sum of w s (f - m). L is a weighted sum
# of the field, so its variance needs no draws. The remainder is R = T - b L, where b is the slope of the regression of
# T on L. The remainder is small for sums over many nodes, so few draws are sufficient.

# TRUE if computing the covariance matrix of the nodes of a block and its eigenvectors would take too long.
needs_draws_of_nodes <- function(points, how) {
  !is.null(points$blocks) && !is_local_trend(how) && max(tabulate(points$blocks$of), 0) > most_joint_nodes
}

most_joint_nodes <- 500

# A list of the predictive means `mean` of the sums, their `covariance` matrix and their `draws`. Without `joint`, only
# the diagonal of the covariance matrix is exact.
sums_by_draws <- function(object, points, request, joint = FALSE) {
  nodes <- nodes_of(points)
  scale <- requested_scale(with_phi_of(object, nodes$u), request)
  targets <- targets_of(object, points)
  conditioning <- conditioning_for(object, request$how)
  moments <- predicted_moments(object, nodes, request$how, TRUE)
  mean <- moments$trend + moments$process
  slope <- mean_slopes(scale, mean, moments$variance)
  linear <- linear_part(object, nodes, targets, slope)
  exact <- if (joint) symmetric(conditioning$errors(linear)) else {
    diag(conditioning$moments(linear)$variance, targets$n)
  }
  count <- draws_of_nodes(request, length(mean))
  drawn <- with_seed(object$how$control$seed, in_batches(count, length(mean), function(count) {
    field <- conditioning$draws(nodes, count, 2000)
    response <- if (scale$nugget > 0) average(field, sqrt(scale$nugget), scale$back) else scale$back(field)
    list(sum = gathered(response, targets), linear = gathered((field - mean) * slope, targets))
  }))
  fit <- predictor(predictive_of(object, moments, 0, scale, request))
  c(list(mean = as.vector(gathered(cbind(fit), targets))), regressed_sums(drawn$sum, drawn$linear, exact))
}

# The derivative of the mean of the response with respect to the mean of the field.
mean_slopes <- function(scale, mean, variance, step = 1e-3) {
  at_mean <- function(mean) scale$mean(mean, variance + scale$nugget, 0)
  (at_mean(mean + step) - at_mean(mean - step)) / (2 * step)
}

# The linear parts L of all sums, as targets: the weight of each node is multiplied by its `slope`.
linear_part <- function(object, nodes, targets, slope) {
  targets$weight <- targets$weight * slope
  targets$x <- gathered(estimated_trend(object, nodes), targets)
  targets
}

# The number of draws, which decreases with the number of nodes, but is at least 500, because quantiles of skewed sums
# need many draws.
draws_of_nodes <- function(request, nodes) {
  min(request$draws, if (nodes <= 1e4) floor(1e7 / nodes) else min(1000, max(500, floor(1e8 / nodes))))
}

# Calls f(count) for batches of draws, with about 2e7 numbers in each batch. The results are matrices with a row for
# each sum, and are joined by columns.
in_batches <- function(count, nodes, f) {
  most <- max(1, floor(2e7 / nodes))
  sizes <- diff(unique(c(seq(0, count, by = most), count)))
  parts <- with_bar("Predicting", lapply(seq_along(sizes), function(k) {
    say_progress(step = paste("batch", k, "of", length(sizes)), fraction = (k - 1) / length(sizes))
    f(sizes[[k]])
  }))
  lapply(list(sum = "sum", linear = "linear"), function(name) do.call(cbind, lapply(parts, `[[`, name)))
}

# The `covariance` of sums, and their `draws` around a mean of 0, from draws of T and L and the exact covariance of L.
# In the returned draws, quantiles of the normal distribution of L replace the drawn values of L.
regressed_sums <- function(sum, linear, exact) {
  sum <- sum - rowMeans(sum)
  linear <- linear - rowMeans(linear)
  size <- rowMeans(linear^2)
  b <- ifelse(size > 0, rowMeans(sum * linear) / size, 0)
  rest <- sum - b * linear
  moment <- function(x, y) tcrossprod(x, y) / ncol(x)
  across <- b * moment(linear, rest)
  scores <- t(apply(linear, 1, function(x) stats::qnorm((rank(x) - 0.5) / length(x))))
  list(covariance = outer(b, b) * exact + moment(rest, rest) + across + t(across),
       draws = b * sqrt(pmax(diag(exact), 0)) * scores + rest)
}
