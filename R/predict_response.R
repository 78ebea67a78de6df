# Responses that are functions of what is normal, the linear predictor of a family or a transformed response: their
# means over blocks and joint covariances.

is_function_of_normal <- function(object) !is.null(object$family) || !is.null(object$transform)

# The mean of responses given the field is this function of it, a nugget of families averaged over.
response_of <- function(object, eta) {
  if (is.null(object$transform)) mean_of(object, eta) else boxcox_back(eta, object$transform$lambda)
}
own_variance <- function(object) if (is.null(object$transform)) nugget_of(object) else 0

# Their means, of a transformed response unbiased as back_mean() is, or given the data.
response_means <- function(object, moments, unbiased = TRUE) {
  mean <- moments$trend + moments$process
  lambda <- object$transform$lambda
  if (!is.null(lambda)) return(back_mean(mean, moments$variance, if (unbiased) moments$lagrange else 0, lambda))
  average(mean, sqrt(moments$variance + own_variance(object)), function(eta) response_of(object, eta))
}

# Their covariance matrix given the data, see transformed_covariance(). Where a mean does not exist, that of the linear
# expansion, as the standard errors are.
response_covariance <- function(object, mean, joint, own) {
  lambda <- object$transform$lambda
  if (identical(lambda, 0)) return(expm1(joint) * tcrossprod(exp(mean + (diag(joint) + own) / 2)))
  if (identical(lambda, 1)) return(joint)
  if (!is.null(lambda) && lambda < 0) return(joint * tcrossprod(pmax(1 + lambda * mean, 0)^(1 / lambda - 1)))
  transformed_covariance(function(eta) response_of(object, eta), mean, joint, own)
}

# The covariance matrix of f(eta_i) for normal eta with covariance matrix `joint`: with the polynomials p_k that are
# orthonormal for the normal distribution and c_ik the mean of f(eta_i) p_k((eta_i - mean_i) / sd_i), it is
# sum_k c_ik c_jk r_ij^k (Mehler's formula). `own` is the variance of what is added to each eta, on its own.
transformed_covariance <- function(f, mean, joint, own = 0, nodes = normal_quadrature()) {
  sd <- sqrt(pmax(diag(joint), 0) + own)
  at <- vapply(nodes$at, function(z) f(mean + sd * z), numeric(length(mean)))
  by_degree <- matrix(at, length(mean), length(nodes$at)) %*% (sqrt(nodes$weight) * t(nodes$series))
  r <- joint / tcrossprod(sd)
  r[sd == 0, ] <- r[, sd == 0] <- 0
  total <- 0
  power <- 1
  for (degree in seq_along(nodes$at)[-1]) {
    power <- power * r
    total <- total + power * tcrossprod(by_degree[, degree])
  }
  total
}

# The mean of the means of responses given the field, at points or over blocks, and their covariance matrix; `noisy`: of
# new observations.
joint_responses <- function(object, points, how, noisy) {
  blocks <- points$blocks
  nodes <- nodes_of(points)
  joint <- joint_covariance(object, nodes, how)
  moments <- predicted_moments(object, nodes, how, TRUE)
  mean <- moments$trend + moments$process
  if (is.null(blocks)) {
    noise <- if (noisy) new_noise(object, points) else 0
    found <- response_covariance(object, mean, joint, noise)
    each <- each_response(object, moments, noise, noisy)
    if (noisy) diag(found) <- each$square
    return(list(mean = each$centre, cov = found))
  }
  targets <- targets_of(object, points)
  means <- gathered(cbind(response_means(object, moments, unbiased = FALSE)), targets)
  within <- block_mean_covariance(object, mean, joint)
  list(mean = as.vector(means), cov = symmetric(gathered(t(gathered(within, targets)), targets)))
}

# The mean of each response given the data, and the mean square around it.
each_response <- function(object, moments, noise, noisy) {
  mean <- moments$trend + moments$process
  lambda <- object$transform$lambda
  if (is.null(lambda)) return(response_moments(object, mean, moments$variance, sqrt(moments$variance + noise), noisy))
  variance <- moments$variance + noise
  list(centre = back_mean(mean, variance, 0, lambda), square = back_error(mean, variance, lambda)^2)
}

# Of points that stand for what is near them, where the variation of each point on its own is averaged over.
block_mean_covariance <- function(object, mean, joint) {
  micro <- microscale_variance(object)
  response_covariance(object, mean, joint - diag(micro, nrow(joint)), micro + own_variance(object))
}

microscale_variance <- function(object) sum(object$theta[microscale_rows(object$model)])

# The points of blocks, whose neighbours in local kriging are those of the centre.
nodes_of <- function(points) {
  blocks <- points$blocks
  if (is.null(blocks)) return(points)
  of_points <- function(x) x[blocks$of, , drop = FALSE]
  list(u = blocks$u, x = of_points(points$x), offset = points$offset[blocks$of], centres = of_points(points$u))
}

# As response_table(), of means over blocks. Means and standard errors are those of the normal distribution; limits,
# quantiles and probabilities are by draws.
block_responses <- function(object, points, how, wanted) {
  if (!identical(object$family$link, "identity")) return(block_table(block_parts(object, points, how, wanted), wanted))
  predicted_columns(predicted_moments(object, points, how, TRUE), 0, wanted)
}

block_table <- function(parts, wanted) {
  table <- list(fit = parts$fit)
  if (wanted$se.fit) table$se.fit <- sqrt(parts$square)
  of_draws <- function(f) {
    apply(parts$draws, 1, function(means) if (anyNA(means)) NA_real_ else f(means))
  }
  at <- function(p) of_draws(function(means) stats::quantile(means, p, names = FALSE))
  if (wanted$interval != "none") table[c("lwr", "upr")] <- lapply((1 + c(-1, 1) * wanted$level) / 2, at)
  table[sprintf("q%s", format_each(wanted$probs))] <- lapply(wanted$probs, at)
  table[sprintf("above%s", format_each(wanted$above))] <- lapply(wanted$above, function(limit) {
    of_draws(function(means) mean(means > limit))
  })
  table
}

# The mean of each block, and as far as it is wanted the mean square around it, and `count` draws, a row for each block.
block_parts <- function(object, points, how, wanted, count = 4000) {
  nodes <- nodes_of(points)
  moments <- predicted_moments(object, nodes, how, TRUE)
  mean <- moments$trend + moments$process
  targets <- targets_of(object, points)
  parts <- list(fit = as.vector(gathered(cbind(response_means(object, moments)), targets)))
  drawn <- wanted$interval != "none" || length(c(wanted$probs, wanted$above)) > 0
  if (!wanted$se.fit && !drawn) return(parts)
  joint_at <- joint_errors(object, how)
  at <- targets_of(object, nodes)
  rows <- split(seq_along(targets$of), factor(targets$of, seq_len(targets$n)))
  if (drawn) parts$draws <- matrix(NA_real_, targets$n, count)
  parts$square <- rep(NA_real_, targets$n)
  with_bar("Predicting", for (k in seq_along(rows)) {
    say_progress(step = paste("block", k, "of", length(rows)), fraction = (k - 1) / length(rows))
    own <- rows[[k]]
    weight <- targets$weight[own]
    joint <- joint_at(some_targets(at, own))
    if (!all(is.finite(mean[own])) || !all(is.finite(joint))) next
    within <- block_mean_covariance(object, mean[own], joint)
    parts$square[[k]] <- max(0, sum(weight * (within %*% weight)))
    if (!drawn) next
    parts$draws[k, ] <- with_seed(object$how$control$seed, block_mean_draws(object, mean[own], joint, weight, count))
  })
  parts
}

block_mean_draws <- function(object, mean, joint, weight, count) {
  micro <- microscale_variance(object)
  field <- normal_draws(mean, joint - diag(micro, length(mean)), count)
  as.vector(weight %*% average(field, sqrt(micro + own_variance(object)), function(eta) response_of(object, eta)))
}

# Of a normal distribution, a column each: a Latin hypercube along its principal axes, whose quantiles are those of the
# distribution along each of them.
normal_draws <- function(mean, joint, count) {
  found <- eigen(joint, symmetric = TRUE)
  kept <- found$values > 1e-12 * max(found$values, 0)
  root <- found$vectors[, kept, drop = FALSE] * rep(sqrt(found$values[kept]), each = length(mean))
  along <- stats::qnorm((seq_len(count) - 0.5) / count)
  mean + tcrossprod(root, vapply(which(kept), function(axis) sample(along), along))
}
