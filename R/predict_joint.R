# Joint covariances of predictions, and variances of means over blocks, by what an observation weighs in each of them.

# Trend, process and, if wanted, variance and Lagrange multiplier of targets with several points.
block_moments <- function(object, points, variance, local) {
  targets <- targets_of(object, points)
  trend <- trend_mean(object, points)
  if (is_joint(object, length(targets$of))) {
    return(c(list(trend = trend), joint_block_moments(object, targets, variance)))
  }
  if (local || object$method == "vecchia") {
    by_point <- local_prediction(object, targets)$process
  } else by_point <- covariance_times(object, targets$u, object$state$alpha)
  moments <- list(trend = trend, process = as.vector(gathered(by_point, targets)))
  if (!variance) return(moments)
  errors <- if (is_latent(object)) latent_block_errors else if (local || object$method == "vecchia") block_errors else
    block_uncertainty
  c(moments, errors(object, targets))
}

# By K^-1.
block_uncertainty <- function(object, targets) {
  target_uncertainty(object, targets, seq_len(targets$n), "block", explained_targets(object), block_width)
}

# f(targets): their covariances k with the observations, K^-1 k, the variance k' K^-1 k, and k' K^-1 X.
explained_targets <- function(object, tol = max(1e-5, object$how$control$cg_tol)) {
  covariance <- target_covariance(object)
  solver <- solver_for(object, tol)
  weights <- object$state$z %*% object$state$root
  function(targets) {
    k <- covariance(targets)
    solved <- solver(k)
    list(k = k, solved = solved, variance = colSums(k * solved), trend = crossprod(k, weights))
  }
}

# f(targets): the covariances of the observations with each of them, a column.
target_covariance <- function(object) {
  model <- object$model
  u <- object$data$u
  of_points <- covariance_matrix(model, backend = object$how$backend)
  of_means <- covariance_product(model, backend = object$how$backend)
  function(targets) {
    n <- nrow(u)
    if (are_points(targets)) return(of_points(list(theta = object$theta, x = u, y = targets$u)))
    last <- n * seq_len(targets$n)
    ranges <- paired_ranges(cbind(last - n + 1, last), rows_of_targets(targets))
    repeated <- u[rep(seq_len(n), targets$n), , drop = FALSE]
    matrix(of_means(list(theta = object$theta, x = repeated, y = targets$u, b = targets$weight), ranges = ranges), n)
  }
}

# The variance due to the estimated trend, from the part of the trend that the data explain; the Lagrange multiplier.
trend_uncertainty <- function(object, x, explained) {
  if (!ncol(x)) return(list(variance = 0, lagrange = numeric(nrow(x)), gap = matrix(0, 0, nrow(x))))
  back <- function(x) backsolve(object$state$root, t(x), transpose = TRUE)
  gap <- back(x - explained)
  list(variance = colSums(gap^2), lagrange = colSums(back(x) * gap), gap = gap)
}

# By local kriging of each point of a target.
block_errors <- function(object, targets) {
  weighed <- local_weights(object, targets)
  variance <- error_variances(object, targets, weighed)
  trend <- trend_uncertainty(object, targets$x, explained_locally(object, targets, weighed))
  list(variance = pmax(variance + trend$variance, 0), lagrange = trend$lagrange)
}

# The diagonal of error_covariance(), by weights of the points of targets.
error_variances <- function(object, targets, weighed) {
  rows <- split(seq_along(targets$of), factor(targets$of, seq_len(targets$n)))
  vapply(seq_len(targets$n), function(k) {
    as.vector(error_covariance(object, some_targets(targets, k), lapply(weighed, `[`, rows[[k]])))
  }, 0)
}

# The neighbours of each point of the targets, and their weights.
local_weights <- function(object, targets) {
  parts <- local_chunks(object, targets$u, function(at, sets) weighed_points(sets))
  list(near = unlist(lapply(parts, `[[`, "near"), recursive = FALSE),
       weights = unlist(lapply(parts, `[[`, "weights"), recursive = FALSE))
}

weighed_points <- function(sets) {
  list(near = split_columns(sets$neighbours), weights = split_columns(sets$weights))
}

split_columns <- function(x) lapply(seq_len(ncol(x)), function(k) x[, k])

explained_locally <- function(object, targets, weighed) {
  by_point <- Map(function(near, weights) colSums(object$data$x[near, , drop = FALSE] * weights), weighed$near,
                  weighed$weights)
  gathered(do.call(rbind, c(list(object$data$x[0, , drop = FALSE]), by_point)), targets)
}

# The covariance matrix of (targets - what the weights of observations make of them), without the trend. Weights are
# those of the points of the targets, one after the other, or of targets.
error_covariance <- function(object, targets, weighed) {
  model <- object$model
  rows <- sort(unique(unlist(weighed$near)))
  W <- weights_of_rows(rows, targets, weighed)
  prior <- joint_prior(object, targets)
  if (!length(rows)) return(prior)
  u <- object$data$u[rows, , drop = FALSE]
  product <- covariance_product(model, targets$n)
  times <- function(at) matrix(product(list(theta = object$theta, x = at, y = u, b = W)), nrow(at))
  across <- gathered(times(targets$u), targets)
  noise <- noise_variance(object$data, model, object$theta)[rows]
  prior - across - t(across) + crossprod(W, times(u) + noise * W)
}

# The weights of the observations `rows` in each target, a column.
weights_of_rows <- function(rows, targets, weighed) {
  column <- if (length(weighed$near) == length(targets$of)) targets$of else seq_len(targets$n)
  share <- if (length(weighed$near) == length(targets$of)) targets$weight else rep(1, targets$n)
  W <- matrix(0, length(rows), targets$n)
  for (k in which(lengths(weighed$near) > 0)) {
    at <- cbind(match(weighed$near[[k]], rows), column[[k]])
    W[at] <- W[at] + share[[k]] * weighed$weights[[k]]
  }
  W
}

joint_prior <- function(object, targets) {
  theta <- theta_of_targets(object, targets)
  k <- covariance_matrix(object$model)(list(theta = theta, x = targets$u, y = targets$u))
  gathered(t(gathered(k, targets)), targets)
}

# The covariance matrix of the errors of all predictions at once.
joint_covariance <- function(object, points, how) {
  targets <- targets_of(object, points)
  check_memory(8 * targets$n^2 + 8 * length(targets$of)^2)
  symmetric(joint_errors(object, how)(targets))
}

# f(targets): the covariance matrix of the errors of their predictions, symmetric up to rounding.
joint_errors <- function(object, how) {
  if (is_local_trend(how)) {
    object$data <- observed_data(object)
    near <- data_near(object, how)
    return(function(targets) local_joint_errors(object, targets, how, near))
  }
  if (is_joint(object)) return(joint_field_errors(object))
  if (is_latent(object)) return(latent_errors(object))
  if (how$local || object$method == "vecchia") {
    return(function(targets) weighted_errors(object, targets, local_weights(object, targets)))
  }
  # errors of covariances are linear in those of the solver, unlike those of variances
  explained_at <- explained_targets(object, min(1e-9, object$how$control$cg_tol))
  function(targets) {
    by_data <- explained_at(targets)
    gap <- trend_uncertainty(object, targets$x, by_data$trend)$gap
    joint_prior(object, targets) - crossprod(by_data$k, by_data$solved) + crossprod(gap)
  }
}

# The same by the weights of the neighbours of targets, with the trend of the fit.
weighted_errors <- function(object, targets, weighed) {
  gap <- trend_uncertainty(object, targets$x, explained_locally(object, targets, weighed))$gap
  error_covariance(object, targets, weighed) + crossprod(gap)
}

local_joint_errors <- function(object, targets, how, near) {
  found <- locally_kriged(object, targets, how, near)
  joint <- error_covariance(object, targets, found) + if (is.null(found$gap)) 0 else crossprod(found$gap)
  unknown <- is.na(found$moments[, "process"])
  joint[unknown, ] <- joint[, unknown] <- NA
  joint
}

symmetric <- function(x) (x + t(x)) / 2
