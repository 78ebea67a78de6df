# Moments of the field at new points: the trend, the process, and the variance of their sum.

# The `trend` and the `process` of each target and, with `variance`, the other elements of conditioning_for()$moments().
# A trend with known coefficients contributes to the mean, but not to the variance.
predicted_moments <- function(object, points, how, variance) {
  targets <- targets_of(object, points)
  conditioning <- conditioning_for(object, how)
  moments <- if (variance) conditioning$moments(targets) else conditioning$means(targets)
  moments$trend <- moments$trend + known_trend(object, points)
  moments
}

# The predicted mean of the field; for a fit with a family, the linear predictor.
predicted_mean <- function(object, points, how = field_request$how) {
  with(predicted_moments(object, points, how, FALSE), trend + process)
}

# The joint covariance matrix of the errors of all predictions.
joint_covariance <- function(object, points, how) {
  targets <- targets_of(object, points)
  check_memory(8 * targets$n^2 + 8 * length(targets$of)^2)
  symmetric(conditioning_for(object, how)$errors(targets))
}

# The columns of the trend whose coefficients are estimated.
estimated_trend <- function(object, points) {
  if (is.null(object$known$beta)) points$x else points$x[, 0, drop = FALSE]
}

# The part of the mean that is known: the offset, and the trend if its coefficients are known.
known_trend <- function(object, points) {
  beta <- object$known$beta
  if (is.null(beta)) return(points$offset)
  points$offset + if (ncol(points$x)) as.vector(points$x %*% beta) else
    beta[points$variable %||% 1] * (points$total %||% 1)
}

trend_mean <- function(object, points) {
  known_trend(object, points) + if (is.null(object$known$beta)) as.vector(points$x %*% object$beta) else 0
}

# Adds the trend, computed with the coefficients of the fit, to the columns that moments() returns.
with_trend <- function(object, targets, ...) {
  list2DF(list(trend = if (ncol(targets$x)) as.vector(targets$x %*% object$beta) else numeric(targets$n), ...))
}

# The response minus its mean, at the observations.
process_of_data <- function(object) {
  data <- object$data
  data$y - if (ncol(data$x)) as.vector(data$x %*% object$beta) else 0
}

# A list of the `variance` due to the estimated trend; the Lagrange multiplier `lagrange`, which omits coefficients with
# a prior; and `gap`, a matrix whose inner products of columns are the covariances due to the trend. `explained` is the
# part of the trend x at the targets that the data explain.
trend_uncertainty <- function(object, x, explained) {
  n <- nrow(x)
  if (!ncol(x)) return(list(variance = 0, lagrange = numeric(n), gap = matrix(0, 0, n)))
  known <- x
  count <- object$random %||% 0 # the last `count` columns have random coefficients
  known[, seq_len(count) + ncol(x) - count] <- 0
  half <- object$joint$half %||% function(b) backsolve(object$state$root, b, transpose = TRUE)
  both <- half(cbind(t(x - explained), t(known)))
  gap <- both[, seq_len(n), drop = FALSE]
  list(variance = colSums(gap^2), lagrange = colSums(both[, n + seq_len(n), drop = FALSE] * gap), gap = gap)
}

# The variance of the nugget; in fits of several variables, a variance for each variable.
nugget_of <- function(object) {
  if (is_lmc(object$model$covariance)) return(stats::setNames(diag(nugget_sills(object)), response_names(object)))
  if (length(object$model$nugget)) object$theta[[object$model$nugget]] else 0
}
