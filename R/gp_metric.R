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
  metric <- covariance_metric(model$covariance, split_parameters(model, theta), reference)
  if (all(metric$matrix == 0) && !length(metric$views)) metric$matrix <- unit_metric(reference)
  views <- lapply(metric$views, function(view) sqrt(view$weight) * view$place(u))
  unname(do.call(cbind, c(list(linear_view(metric$matrix, u)), views)))
}

# The parameters of each leaf, by kind.
split_parameters <- function(model, theta) {
  lapply(seq_along(leaves_of(model$covariance)), function(number) {
    rows <- which(model$parameters$leaf == number)
    split(unname(theta)[rows], model$parameters$kind[rows])
  })
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

covariance_metric <- function(x, values, u) {
  number <- 0L
  visit <- function(x) {
    if (x$kind != "leaf") return(join_metrics(x$kind, lapply(x$parts, visit)))
    number <<- number + 1L
    leaf_metric(x, values[[number]], u)
  }
  visit(x)
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

# A constant or linear field, or noise, has no range.
leaf_metric <- function(leaf, p, u) {
  d <- ncol(u)
  dims <- leaf$dims %||% seq_len(d)
  metric <- list(variance = p$variance %||% 1, matrix = matrix(0, d, d), views = list())
  chosen <- function(u) u[, dims, drop = FALSE]
  if (leaf$own) {
    metric$matrix <- unit_metric(u)
  } else if (leaf$label == "nugget") {
    metric$variance <- 0
  } else if (leaf$label == "linear") {
    metric$variance <- p$variance * mean_square(leaf, u)
  } else if (leaf$label == "periodic") {
    place <- function(u) on_circles(chosen(u), p$period, rep_len(p$range, length(dims)))
    metric$views <- list(list(place = place, weight = 1))
  } else if (leaf$geometry == "great_circle") {
    metric$views <- list(list(place = function(u) on_sphere(chosen(u)), weight = 1 / p$range^2))
  } else if (leaf$geometry == "turned") {
    metric$matrix[dims, dims] <- crossprod(turned_scales(p))
  } else if (!is.null(p$range)) {
    metric$matrix[cbind(dims, dims)] <- 1 / rep_len(p$range, length(dims))^2
  }
  metric
}

# Each coordinate as the point of a circle: |a - b|^2 is 4 sin^2(pi (x - y) / period) / range^2.
on_circles <- function(u, period, range) {
  angle <- 2 * pi * u / period
  cbind(cos(angle), sin(angle)) / rep(c(range, range), each = nrow(u))
}

# Coordinates as given, in units of their standard deviations.
unit_metric <- function(u) {
  spread <- colMeans(sweep(u, 2, colMeans(u))^2)
  diag(ifelse(spread > 0, 1 / spread, 0), ncol(u))
}
