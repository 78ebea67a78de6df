# Moments of the field at new points: the trend, the process and their variance.

# Columns trend and process, and with `variance` those of the field and the Lagrange multiplier of the trend.
predicted_moments <- function(object, points, how, variance) {
  if (is_local_trend(how)) {
    object$data <- observed_data(object)
    found <- as.data.frame(locally_kriged(object, targets_of(object, points), how)$moments)
    found$trend <- found$trend + known_trend(object, points)
    return(found)
  }
  if (!is.null(points$blocks)) return(as.data.frame(block_moments(object, points, variance, how$local)))
  terms <- predicted_terms(object, points, variance)
  if (!variance || !is.null(terms$variance)) return(terms)
  list2DF(c(terms, field_uncertainty(object, points, terms$process, how$local)))
}

# The trend with known coefficients is part of the mean only. With `variance`, that of the field and the Lagrange
# multiplier are further columns if they come with the mean.
predicted_terms <- function(object, points, variance = FALSE) {
  trend <- trend_mean(object, points)
  if (object$method == "vecchia") return(list2DF(c(list(trend = trend), local_prediction(object, points, variance))))
  list2DF(list(trend = trend, process = covariance_times(object, points$u, object$state$alpha)))
}

# The columns of the trend whose coefficients are estimated.
estimated_trend <- function(object, points) {
  if (is.null(object$known$beta)) points$x else points$x[, 0, drop = FALSE]
}

# The part of the mean that needs no estimate: the offset and the trend with known coefficients.
known_trend <- function(object, points) {
  beta <- object$known$beta
  if (is.null(beta)) return(points$offset)
  points$offset + if (ncol(points$x)) as.vector(points$x %*% beta) else beta[points$variable %||% 1]
}

# The response minus its mean, at the observations.
process_of_data <- function(object) {
  data <- object$data
  data$y - if (ncol(data$x)) as.vector(data$x %*% object$beta) else 0
}

trend_mean <- function(object, points) {
  known_trend(object, points) + if (is.null(object$known$beta)) as.vector(points$x %*% object$beta) else 0
}

# k(u, observations) a
covariance_times <- function(object, u, a) {
  a <- as.matrix(a)
  product <- covariance_product(object$model, ncol(a), object$how$precision, object$how$backend)
  result <- product(list(theta = object$theta, x = u, y = object$data$u, b = a))
  if (ncol(a) == 1) as.vector(result) else result
}

# The variance of the field given the data, trend included. Points whose covariance with an observation is not a number
# (see `process` of predicted_terms()) are omitted, so that they do not affect other points of their block.
field_variance <- function(object, points, process) field_uncertainty(object, points, process)$variance

field_uncertainty <- function(object, points, process, local = FALSE) {
  if (local || object$method == "vecchia") {
    return(local_prediction(object, points, variance = TRUE)[c("variance", "lagrange")])
  }
  targets <- targets_of(object, points)
  rows <- which(is.finite(process))
  if (object$method == "exact") {
    explained_at <- explained_by_factor(object, factor_of(object))
    return(target_uncertainty(object, targets, rows, "standard error", function(targets) explained_at(targets$u), 128L))
  }
  # the error of k' K^-1 k is quadratic in the residual, so that the solver may stop at the root of a small tolerance
  tol <- object$how$control$cg_tol
  explained_at <- explained_targets(object, max(tol, min(1e-5, sqrt(tol))))
  target_uncertainty(object, targets, rows, "standard error", explained_at, solve_width(nrow(object$data$u)))
}

# The variance of the errors of targets with the numbers `rows` and the Lagrange multiplier of the trend, in blocks with
# a bar; NaN for others. explained_at(targets) is what the observations explain of the variance and the trend of each.
target_uncertainty <- function(object, targets, rows, step, explained_at, width) {
  count <- length(rows)
  prior <- target_variance(object, targets)
  variance <- lagrange <- rep(NaN, targets$n)
  with_bar("Predicting", for_blocks(count, function(first, last) {
    say_progress(step = paste(step, first, "of", count), fraction = (first - 1) / count)
    block <- rows[first:last]
    some <- some_targets(targets, block)
    by_data <- explained_at(some)
    trend <- trend_uncertainty(object, some$x, by_data$trend)
    variance[block] <<- prior[block] - by_data$variance + trend$variance
    lagrange[block] <<- trend$lagrange
  }, width, nrow(object$data$u)))
  list2DF(list(variance = pmax(variance, 0), lagrange = lagrange))
}

# The variance of the nugget; of several variables, one for each.
nugget_of <- function(object) {
  if (is_lmc(object$model$covariance)) return(stats::setNames(diag(nugget_sills(object)), response_names(object)))
  if (length(object$model$nugget)) object$theta[[object$model$nugget]] else 0
}
