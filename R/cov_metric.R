# A metric of correlation: points in a Euclidean space whose nearest neighbours are the most correlated points ("scaled"
# Vecchia approximation, Katzfuss, Guinness and Lawrence 2022).
#
# 1 - correlation increases with the scaled distance of each leaf. In a product of covariances, the squared scaled
# distances of the factors add up; in a sum, the squared scaled distances of the terms add up with the variances as
# weights. The metric of a covariance is a list of
#   variance  the variance of the field
#   matrix    M, d x d, of the squared distance h' M h
#   views     for coordinates that are angles: lists of `place`, a function that maps points to points in space, and
#             `weight`, the weight of the squared distance in this space

# `reference`: the points of the fit. Coordinates without a range are scaled by the spread of these points.
neighbour_coordinates <- function(model, theta, u, reference = u) {
  metric <- covariance_metric(model$covariance, leaf_values(model, theta), reference)
  if (all(metric$matrix == 0) && !length(metric$views)) metric$matrix <- unit_metric(reference)
  place <- function(u) {
    views <- lapply(metric$views, function(view) sqrt(view$weight) * view$place(u))
    if (!length(views)) return(linear_view(metric$matrix, u))
    do.call(cbind, c(list(linear_view(metric$matrix, u)), lapply(views, unname)))
  }
  apart_by_group(place(u), model, u, function() place(reference))
}

# Adds a column that separates groups, so that points of other groups are farther away than all points of the same
# group.
apart_by_group <- function(near, model, u, reference) {
  group <- group_of(model)
  if (is.null(group)) return(near)
  span <- sqrt(sum(column_extents(reference())^2))
  cbind(near, u[, group] * 1e3 * max(span, 1e-300))
}

group_of <- function(model) unlist(lapply(leaves_of(model$covariance), `[[`, "group"))[1] # NULL without groups

# A list with the named parameters of each leaf.
leaf_values <- function(model, theta) {
  leaves <- leaves_of(model$covariance)
  Map(function(leaf, path) {
    lapply(stats::setNames(nm = names(leaf$parameters)), function(name) unname(theta)[leaf_rows(model, path, name)])
  }, leaves, names(leaves))
}

# The points u A' with A' A = M. If M is diagonal, a diagonal matrix A is used, so that equal distances between points
# of a grid stay equal.
linear_view <- function(M, u) {
  if (all(M[row(M) != col(M)] == 0)) {
    used <- which(diag(M) > 0)
    factor <- sqrt(diag(M)[used])
    compute <- function() moved_columns(u, used, factor = factor)
    return(if (nrow(u) > 2e4) recalled("views", list(u, used, factor), compute, max_entries = 3) else compute())
  }
  decomposed <- eigen(M, symmetric = TRUE)
  used <- decomposed$values > 1e-14 * decomposed$values[[1]]
  unname(u) %*% (decomposed$vectors[, used, drop = FALSE] * rep(sqrt(decomposed$values[used]), each = ncol(u)))
}

# `values`: the parameters of each leaf.
covariance_metric <- function(x, values, u) {
  metrics <- Map(leaf_metric, leaves_of(x), values, list(u))
  fold_covariance(x, function(leaf, path) metrics[[path]], join_metrics)
}

join_metrics <- function(operation, parts) {
  variances <- vapply(parts, `[[`, 0, "variance")
  weights <- if (operation == "*") rep(1, length(parts)) else variances / max(sum(variances), .Machine$double.xmin)
  views <- Map(function(part, weight) {
    lapply(part$views, function(view) list(place = view$place, weight = weight * view$weight))
  }, parts, weights)
  list(variance = if (operation == "*") prod(variances) else sum(variances),
       matrix = Reduce(`+`, Map(function(part, weight) weight * part$matrix, parts, weights)),
       views = Filter(function(view) view$weight > 0, do.call(c, views)))
}

# The metric of a leaf. Constant and linear fields and noise have no range; the range of an intrinsic field with a power
# variogram is a typical distance of the points. An unknown variance counts as 1.
leaf_metric <- function(leaf, p, u) {
  d <- ncol(u)
  dims <- leaf_dims(leaf, d)
  if (leaf$kernel$by_formula) return(own_metric(leaf, p, u, dims))
  p$variance <- mean_sill(leaf, p) %||% p$variance %||% 1
  p$variance[is.na(p$variance)] <- 1
  p$time <- leaf$geometry$time
  if (leaf$geometry$lengths && is.null(p$range)) p$range <- typical_distance(leaf, u)
  variance <- if (is_white(leaf$label)) 0 else sum(p$variance * mean_square(replace(leaf, "parameters", list(p)), u))
  spatial <- leaf$geometry$metric(p, dims)
  metric <- matrix(0, d, d)
  if (length(spatial$matrix)) metric[dims, dims] <- spatial$matrix
  list(variance = variance, matrix = metric, views = lapply(spatial$views, function(view) {
    list(place = function(u) view$place(u[, dims, drop = FALSE]), weight = view$weight)
  }))
}

# The mean variance of the field when the variance of this leaf is 1; this number differs from 1 for linear covariances
# and unbounded variograms.
mean_square <- function(leaf, u) leaf$kernel$mean_square(leaf, u)

typical_distance <- function(leaf, u) {
  v <- leaf$geometry$place(u[, leaf_dims(leaf, ncol(u)), drop = FALSE])
  extent_of(c(0, sqrt(2 * sum(apply(v, 2, stats::var)))))
}

own_metric <- function(leaf, p, u, dims = seq_len(ncol(u))) {
  covariance <- own_pairs(leaf, length(dims))
  values <- function(x, y) as.vector(covariance(c(list(x = x, y = y), p)))
  scales <- correlation_scales(values, u[, dims, drop = FALSE])
  metric <- matrix(0, ncol(u), ncol(u))
  metric[cbind(dims, dims)] <- scales$scale
  list(variance = scales$variance, matrix = metric, views = list())
}

# The metric for coordinates without a range, in which the unit of a coordinate is its standard deviation.
unit_metric <- function(u) {
  spread <- colMeans(sweep(u, 2, colMeans(u))^2)
  diag(ifelse(spread > 0, 1 / spread, 0), ncol(u))
}
