# Means over blocks and polygons, computed as weighted means over points.

# Adds the nodes of blocks to new points. The blocks are polygons (`areas`), or rectangles whose centres are the new
# points. In a rectangle, the nodes are those of a Gauss rule with four nodes along each coordinate.
with_blocks <- function(points, block, areas, d, call = caller_env()) {
  if (!is.null(areas)) {
    size <- lengths(areas$weight)
    kept <- which(points$complete)
    of <- rep(seq_along(kept), size[kept])
    beside <- points$u[of, -seq_len(d), drop = FALSE]
    u <- do.call(rbind, c(list(matrix(0, 0, d)), areas$u[kept]))
    points$blocks <- list(u = cbind(u, beside), of = of, weight = as.numeric(unlist(areas$weight[kept])))
    return(points)
  }
  if (!is.numeric(block) || length(block) != d || !all(is.finite(block)) || any(block < 0)) {
    stop_kernops("input", "{.arg block} must be the size of a block: {d} number{?s} of at least 0, one for each
                           coordinate.", call = call)
  }
  rule <- block_rule(block, call)
  of <- rep(seq_len(nrow(points$u)), each = length(rule$weight))
  shift <- rule$at[rep(seq_along(rule$weight), nrow(points$u)), , drop = FALSE]
  u <- points$u[of, , drop = FALSE]
  u[, seq_len(d)] <- u[, seq_len(d)] + shift
  points$blocks <- list(u = u, of = of, weight = rep(rule$weight, nrow(points$u)))
  points
}

# The nodes of a block relative to its centre, and the weights of the nodes.
block_rule <- function(size, call = caller_env()) {
  if (sum(size > 0) > 3) stop_kernops("input", "{.arg block} can have at most 3 sizes above 0.", call = call)
  far <- 2 / 7 * sqrt(6 / 5)
  at <- c(-sqrt(3 / 7 + far), -sqrt(3 / 7 - far), sqrt(3 / 7 - far), sqrt(3 / 7 + far)) / 2
  weight <- (18 + c(-1, 1, 1, -1) * sqrt(30)) / 72
  along <- lapply(size, function(s) if (s > 0) s * at else 0)
  weights <- lapply(size, function(s) if (s > 0) weight else 1)
  list(at = unname(as.matrix(expand.grid(along))), weight = Reduce(function(a, b) as.vector(outer(a, b)), weights))
}

# The nodes of blocks as points. In local kriging, the neighbours of a node are the neighbours of the centre of its
# block.
nodes_of <- function(points) {
  blocks <- points$blocks
  if (is.null(blocks)) return(points)
  if (!is.null(points$nodes)) return(points$nodes)
  of_points <- function(x) x[blocks$of, , drop = FALSE]
  list(u = blocks$u, x = of_points(points$x), offset = points$offset[blocks$of], centres = of_points(points$u),
       among = points$among)
}

# The predictive distribution of means of responses over blocks. The mean and the variance follow from the joint normal
# distribution of the nodes, and quantiles are estimated from draws. If there are many nodes, draws also estimate the
# mean and the variance.
block_sample <- function(object, points, request) {
  if (needs_variance(request) && needs_draws_of_nodes(points, request$how)) {
    sums <- sums_by_draws(object, points, request)
    return(predictive_sample(sums$mean, diag(sums$covariance), sums$mean + sums$draws))
  }
  nodes <- nodes_of(points)
  scale_at <- function(rows) requested_scale(with_phi_of(object, nodes$u[rows, , drop = FALSE]), request)
  moments <- predicted_moments(object, nodes, request$how, TRUE)
  targets <- targets_of(object, points)
  means <- predictor(predictive_of(object, moments, 0, scale_at(seq_len(nrow(nodes$u))), request))
  fit <- as.vector(gathered(cbind(means), targets))
  if (!needs_variance(request)) return(predictive_sample(fit))
  count <- if (needs_quantiles(request)) request$draws else 0
  blocks <- each_block(object, targets, targets_of(object, nodes), request, function(own, joint) {
    mean <- moments$trend[own] + moments$process[own]
    if (!all(is.finite(mean)) || !all(is.finite(joint))) return(NULL)
    weight <- targets$weight[own]
    scale <- scale_at(own)
    list(variance = max(0, sum(weight * (covariance_within(object, scale, mean, joint) %*% weight))),
         draws = if (count) with_seed(object$how$control$seed, block_draws(object, scale, mean, joint, weight, count)))
  })
  draws <- lapply(blocks, function(block) block$draws %||% rep(NA_real_, count))
  predictive_sample(fit, vapply(blocks, function(block) block$variance %||% NA_real_, 0),
                    if (count) matrix(as.numeric(unlist(draws)), length(blocks), count, byrow = TRUE))
}

# Calls f(numbers, joint) for each block, with a progress bar: `numbers` are the indices of the nodes of the block, and
# `joint` is the covariance matrix of these nodes.
each_block <- function(object, targets, nodes, request, f) {
  errors_of <- conditioning_for(object, request$how)$errors
  rows <- split(seq_along(targets$of), factor(targets$of, seq_len(targets$n)))
  with_bar("Predicting", lapply(seq_along(rows), function(k) {
    say_progress(step = paste("block", k, "of", length(rows)), fraction = (k - 1) / length(rows))
    f(rows[[k]], symmetric(errors_of(some_targets(nodes, rows[[k]]))))
  }))
}

# The covariance matrix of responses at the nodes of a block. A node represents all points around it, so microscale
# variation averages out, like the nugget.
covariance_within <- function(object, scale, mean, joint) {
  micro <- microscale_variance(object)
  scale$covariance(mean, joint - diag(micro, nrow(joint)), micro + scale$nugget)
}

microscale_variance <- function(object) sum(object$theta[microscale_rows(object$model)])

block_draws <- function(object, scale, mean, joint, weight, count) {
  micro <- microscale_variance(object)
  field <- normal_draws(mean, joint - diag(micro, length(mean)), count)
  as.vector(weight %*% average(field, sqrt(micro + scale$nugget), scale$back))
}

# Draws from a normal distribution, one draw in each column. The draws are a Latin hypercube along the principal axes of
# the distribution: along each axis, the draws are quantiles of the normal distribution in random order.
normal_draws <- function(mean, joint, count) {
  found <- eigen(joint, symmetric = TRUE)
  kept <- found$values > 1e-12 * max(found$values, 0)
  root <- found$vectors[, kept, drop = FALSE] * rep(sqrt(found$values[kept]), each = length(mean))
  along <- stats::qnorm((seq_len(count) - 0.5) / count)
  mean + tcrossprod(root, vapply(which(kept), function(axis) sample(along), along))
}
