# Predictions of an approximate fit compared with exact predictions.

# The sites where predictions are compared, in the form of new_points(). Half of the sites are between neighbouring
# observations, and half are anywhere in the range of the coordinates. If there are several variables, the sites are
# assigned to the variables in turn. Each site has the group of the nearest observation of its variable. If the trend is
# not a function of the coordinates, the site also has the trend of this observation.
certified_sites <- function(object, count) {
  data <- object$data
  space <- seq_len(object$model$d)
  beside <- setdiff(seq_len(ncol(data$u)), seq_len(space_columns(object$model)))
  near <- neighbour_coordinates(object$model, object$theta, data$u)
  u <- prediction_sites(data$u, near, object$model, ceiling(count / 2))
  variable <- if (length(response_names(object))) u[, object$model$d + 1] + 1
  far <- 1e3 * max(column_sizes(data$u)[space], 1)
  apart <- function(u, variable) {
    if (length(variable)) cbind(u[, space, drop = FALSE], far * variable) else chosen_columns(u, space)
  }
  layout <- object$parts$layout
  nearest <- nearest_points(apart(u, variable), apart(data$u, layout$variable), 1L)[1, ]
  list(u = new_sites(layout, u[, space, drop = FALSE], data$u[nearest, beside, drop = FALSE], variable),
       x = trend_by_coordinates(data, u[, space, drop = FALSE], nearest), offset = numeric(nrow(u)),
       variable = variable)
}

# The trend at points u. Columns that are polynomials of first or second degree in the coordinates are computed from u;
# other columns are copied from the observations `nearest`, because a point whose trend differs from that of its
# neighbours would have a large standard error.
trend_by_coordinates <- function(data, u, nearest) {
  x <- data$x[nearest, , drop = FALSE]
  space <- seq_len(ncol(u))
  basis <- function(u) {
    u <- u[, space, drop = FALSE] / rep(pmax(size, 1e-300), each = nrow(u))
    do.call(cbind, c(list(1, u), lapply(space, function(k) u[, k] * u[, k:ncol(u), drop = FALSE])))
  }
  size <- apply(abs(data$u[, space, drop = FALSE]), 2, max)
  rows <- some_positions(nrow(data$u), 2000)
  if (!ncol(u) || !ncol(x) || length(rows) <= 2 * ncol(basis(u))) return(x)
  fit <- qr(basis(data$u[rows, , drop = FALSE]))
  known <- data$x[rows, , drop = FALSE]
  polynomial <- colSums(qr.resid(fit, known)^2) <= 1e-16 * colSums(known^2)
  by_basis <- basis(u)[, fit$pivot[seq_len(fit$rank)], drop = FALSE]
  coefficients <- qr.coef(fit, known)[fit$pivot[seq_len(fit$rank)], , drop = FALSE]
  x[, polynomial] <- (by_basis %*% coefficients)[, polynomial]
  x
}

# Selects a random sample of `count` rows of new data, or all rows if there are fewer.
chosen_sites <- function(object, newdata, coords, count, seed, call = caller_env()) {
  points <- new_points(object, newdata, coords, call = call)
  if (!is.null(points$blocks)) {
    stop_kernops("input", "{.fn certify} takes points, not polygons: their centroids, for example.", call = call)
  }
  n <- nrow(points$u)
  rows <- if (n <= count) seq_len(n) else with_seed(seed, sort(sample.int(n, count)))
  list(u = points$u[rows, , drop = FALSE], x = points$x[rows, , drop = FALSE], offset = points$offset[rows],
       variable = points$variable[rows], rows = which(points$complete)[rows])
}

# A data frame with a row for each site: the prediction and the standard error of the field by the fit, and bounds for
# the exact prediction and the exact standard error. Each gap is the difference of the upper and the lower bound of a
# quadratic form. The error of the mean is at most the square root of the product of the gap of the response and the gap
# of the site.
certified_predictions <- function(object, sites, bounds, problem) {
  moments <- problem$moments
  left <- lapply(bounds[c("lower", "upper")], after_trend, problem$x)
  gap <- pmax(diag(left$upper) - diag(left$lower), 0)
  level <- problem$trend$level # coefficients of a constant subtracted from the response
  exact <- known_trend(object, sites) + left$lower[1, -1] + as.vector(problem$x %*% problem$trend$along) +
    if (any(level != 0)) as.vector(sites$x %*% level) else 0
  se <- function(forms) sqrt(pmax(problem$prior - diag(forms)[-1], 0))
  data.frame(fit = moments$trend + moments$process, se.fit = sqrt(moments$variance), exact = exact,
             error = sqrt(gap[[1]] * gap[-1]), se.low = se(left$upper), se.high = se(left$lower))
}

# The coordinates of sites, in the units of the data.
coordinates_of_sites <- function(object, sites) {
  u <- sites$u[, seq_len(object$model$d), drop = FALSE] * unit_of(object$center)
  u <- u + rep(as.vector(object$center), each = nrow(u))
  colnames(u) <- colnames(object$parts$u)
  table <- as.data.frame(u)
  if (length(sites$variable)) table$variable <- response_names(object)[sites$variable]
  table
}
