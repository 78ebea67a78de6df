# Points in a Euclidean space in which their distance tells their correlation: neighbours that are near there are those
# that matter ("scaled" Vecchia approximation, Katzfuss, Guinness and Lawrence 2022).
#
# 1 - correlation grows with the scaled distance of each leaf. In a product of covariances these add up; in a sum they
# do with the variances as weights. So do squared distances here: a covariance is a metric,
#   variance  of the field
#   matrix    M, d x d: the squared distance h' M h
#   views     of coordinates that are angles: lists of a function, points -> points in space, and the weight of the
#             squared distance there.

# `reference`: the points of the fit, by which coordinates without a range are scaled.
neighbour_coordinates <- function(model, theta, u, reference = u) {
  metric <- covariance_metric(model$covariance, leaf_values(model, theta), reference)
  if (all(metric$matrix == 0) && !length(metric$views)) metric$matrix <- unit_metric(reference)
  place <- function(u) {
    views <- lapply(metric$views, function(view) sqrt(view$weight) * view$place(u))
    unname(do.call(cbind, c(list(linear_view(metric$matrix, u)), views)))
  }
  apart_by_group(place(u), model, u, function() place(reference))
}

# Points of other groups are farther than all of the same one.
apart_by_group <- function(near, model, u, reference) {
  group <- group_of(model)
  if (is.null(group)) return(near)
  span <- sqrt(sum(apply(reference(), 2, function(v) diff(range(v)))^2))
  cbind(near, u[, group] * 1e3 * max(span, 1e-300))
}

group_of <- function(model) unlist(lapply(leaves_of(model$covariance), `[[`, "group"))[1] # NULL without groups

# The parameters of each leaf, by name.
leaf_values <- function(model, theta) {
  leaves <- leaves_of(model$covariance)
  Map(function(leaf, path) {
    lapply(stats::setNames(nm = names(leaf$parameters)), function(name) unname(theta)[leaf_rows(model, path, name)])
  }, leaves, names(leaves))
}

# u A' with A' A = M; where M is diagonal, ties of a grid remain.
linear_view <- function(M, u) {
  if (all(M[row(M) != col(M)] == 0)) {
    used <- which(diag(M) > 0)
    return(u[, used, drop = FALSE] * rep(sqrt(diag(M)[used]), each = nrow(u)))
  }
  decomposed <- eigen(M, symmetric = TRUE)
  used <- decomposed$values > 1e-14 * decomposed$values[[1]]
  u %*% (decomposed$vectors[, used, drop = FALSE] * rep(sqrt(decomposed$values[used]), each = ncol(u)))
}

# `values`: those of the parameters of each leaf.
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

# A constant or linear field, or noise, has no range; that of a power is a typical distance. What has no value is taken
# as 1.
leaf_metric <- function(leaf, p, u) {
  d <- ncol(u)
  dims <- leaf_dims(leaf, d)
  if (leaf$own) return(own_metric(leaf, p, u, dims))
  p$variance <- mean_sill(leaf, p) %||% p$variance %||% 1
  p$variance[is.na(p$variance)] <- 1
  if (leaf$label == "power_law") p$range <- typical_distance(leaf, u)
  variance <- p$variance * if (is_white(leaf$label)) 0 else mean_square(leaf, u)
  metric <- list(variance = variance, matrix = matrix(0, d, d), views = list())
  chosen <- function(u) u[, dims, drop = FALSE]
  if (length(leaf$sees)) return(metric)
  if (leaf$label %in% c("periodic", "cosine")) {
    place <- function(u) on_circles(chosen(u), p$period, rep_len(p$range %||% 1, length(dims)))
    metric$views <- list(list(place = place, weight = 1))
  } else if (leaf$geometry == "great_circle") {
    metric$views <- list(list(place = function(u) on_sphere(chosen(u)), weight = 1 / p$range^2))
  } else if (leaf$geometry == "anisotropic") {
    metric$matrix[dims, dims] <- crossprod(anisotropic_scales(p))
  } else if (!leaf$label %in% c("nugget", "microscale", "constant", "linear", "lmc")) {
    scale <- if (is.null(leaf$time)) 1 else ifelse(dims == leaf$time, p$speed, 1)
    metric$matrix[cbind(dims, dims)] <- (scale / rep_len(p$range, length(dims)))^2
  }
  metric
}

# Each coordinate as the point of a circle: |a - b|^2 is 4 sin^2(pi (x - y) / period) / range^2.
on_circles <- function(u, period, range) {
  angle <- 2 * pi * u / period
  cbind(cos(angle), sin(angle)) / rep(c(range, range), each = nrow(u))
}

own_metric <- function(leaf, p, u, dims = seq_len(ncol(u))) {
  covariance <- own_pairs(leaf, length(dims))
  values <- function(x, y) as.vector(covariance(c(list(x = x, y = y), p)))
  scales <- correlation_scales(values, u[, dims, drop = FALSE])
  metric <- matrix(0, ncol(u), ncol(u))
  metric[cbind(dims, dims)] <- scales$scale
  list(variance = scales$variance, matrix = metric, views = list())
}

# Coordinates as given, in units of their standard deviations.
unit_metric <- function(u) {
  spread <- colMeans(sweep(u, 2, colMeans(u))^2)
  diag(ifelse(spread > 0, 1 / spread, 0), ncol(u))
}
