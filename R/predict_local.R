# Local kriging as gstat does it: at each target the trend is estimated from its nearest observations, too.

# The targets of a prediction: `n` means of the field over weighted points; a target that is a point has one.
targets_of <- function(object, points) {
  n <- nrow(points$u)
  centres <- points$centres %||% if (!is.null(points$blocks)) points$u
  c(list(x = estimated_trend(object, points), n = n, centres = centres),
    points$blocks %||% list(u = points$u, of = seq_len(n), weight = rep(1, n)))
}

# The targets with the numbers `rows`, in ascending order.
some_targets <- function(targets, rows) {
  number <- if (!are_points(targets)) match(targets$of, rows)
  points <- if (is.null(number)) rows else which(!is.na(number))
  list(x = targets$x[rows, , drop = FALSE], n = length(rows), u = targets$u[points, , drop = FALSE],
       of = if (is.null(number)) seq_along(rows) else number[points], weight = targets$weight[points],
       centres = targets$centres[rows, , drop = FALSE])
}

# Each target is one point.
are_points <- function(targets) length(targets$of) == targets$n

# The weighted means over the points of each target, of the rows of x.
gathered <- function(x, targets) {
  if (are_points(targets)) return(x)
  unname(rowsum(as.matrix(x) * targets$weight, targets$of))
}

# Nearest observations are those of these points.
centres_of <- function(targets) targets$centres %||% gathered(targets$u, targets)

# k(x_i, y_i), row by row.
covariance_pairs <- function(model) {
  declared <- sub("y = Vj", "y = Vi", point_declarations(model))
  kernel_operator(code_text("Sum_Reduction(", model$formula, ", 1)"), declared, "auto", "float64", "cpu")
}

# The variance of each target; for a mean over several points, the mean covariance of all pairs of these.
target_variance <- function(object, targets) {
  variance_at <- covariance_diagonal(object$model)
  if (are_points(targets)) return(as.vector(variance_at(list(theta = object$theta, x = targets$u))))
  theta <- theta_of_targets(object, targets)
  rows <- rows_of_targets(targets)
  within <- covariance_product(object$model)(list(theta = theta, x = targets$u, y = targets$u, b = targets$weight),
                                             ranges = paired_ranges(rows, rows))
  as.vector(gathered(within, targets))
}

# First and last point of each target.
rows_of_targets <- function(targets) {
  last <- cumsum(tabulate(targets$of, targets$n))
  cbind(c(1, last[-length(last)] + 1), last, deparse.level = 0)
}

# Ranges that combine cluster k of i with cluster k of j only.
paired_ranges <- function(i, j) {
  number <- seq_len(nrow(i))
  list(ranges_i = i, slices_i = number, redranges_j = j, ranges_j = j, slices_j = number, redranges_i = i)
}

# f(targets): a list with the nearest observations of each target, of its group: at most nmax, not beyond maxdist of its
# centre.
data_near <- function(object, how) {
  model <- object$model
  plain <- function(u) if (on_globe(model)) on_sphere(u) else unname(u[, seq_len(model$d), drop = FALSE])
  place <- function(u) apart_by_group(plain(u), model, u, function() plain(object$data$u))
  data <- place(object$data$u)
  # of each variable
  variable <- object$parts$layout$variable %||% rep(1, nrow(data))
  nearest <- lapply(unname(split(seq_len(nrow(data)), variable)), points_near, data, how, is.null(group_of(model)),
                    how$maxdist / unit_of(object$center))
  function(targets) {
    centres <- place(centres_of(targets))
    do.call(Map, c(list(c), lapply(nearest, function(near) near(centres))))
  }
}

# f(centres): the rows of the `data` among `own` that are nearest to each, and of its group, which is the last column.
points_near <- function(own, data, how, alone, maxdist = how$maxdist) {
  data <- data[own, , drop = FALSE]
  m <- as.integer(min(how$nmax, nrow(data)))
  tree <- search_tree(data)
  function(centres) {
    found <- nearest_points(centres, tree, m)
    lapply(seq_len(ncol(found)), function(k) {
      if (maxdist == Inf && alone) return(own[found[, k]])
      gaps <- data[found[, k], , drop = FALSE] - rep(centres[k, ], each = m)
      near <- rowSums(gaps^2) <= maxdist^2
      own[found[near & (alone | gaps[, ncol(gaps)] == 0), k]]
    })
  }
}

# As krige_locally(). The observations of a fit with a family are those of the normal approximation of the posterior
# (finish_family()). They contain the trend of the fit, which remains the trend of all predictions.
locally_kriged <- function(object, targets, how, near = data_near(object, how)) {
  if (is.null(object$family)) return(krige_locally(object, targets, how, near))
  data <- object$data
  if (ncol(data$x)) data$y <- data$y - as.vector(data$x %*% object$beta)
  none <- replace(data, "x", list(data$x[, 0, drop = FALSE]))
  found <- krige_locally(replace(object, "data", list(none)), replace(targets, "x", list(targets$x[, 0, drop = FALSE])),
                         how, near)
  if (!ncol(targets$x)) return(found)
  explained <- Map(function(near, weights) colSums(data$x[near, , drop = FALSE] * weights), found$near, found$weights)
  error <- trend_uncertainty(object, targets$x, do.call(rbind, c(list(data$x[0, , drop = FALSE]), explained)))
  found$moments[, "trend"] <- targets$x %*% object$beta
  found$moments[, "variance"] <- found$moments[, "variance"] + error$variance
  found$moments[, "lagrange"] <- error$lagrange
  c(found, list(gap = error$gap))
}

# A row for each target: trend, process, variance of the field and Lagrange multiplier, NA where the neighbours do not
# tell the trend; and the neighbours with their weights, all of the prediction.
krige_locally <- function(object, targets, how, near = data_near(object, how)) {
  pairs <- covariance_pairs(object$model)
  prior <- target_variance(object, targets)
  data <- object$data
  noise <- noise_variance(data, object$model, object$theta)
  moments <- c("trend", "process", "variance", "lagrange")
  result <- matrix(NA_real_, targets$n, 4, dimnames = list(NULL, moments))
  weights <- neighbours <- vector("list", targets$n)
  each <- max(1, floor(2e6 / max(1, min(how$nmax, nrow(data)))^2))
  with_bar("Predicting", for (first in seq(1, by = each, length.out = ceiling(targets$n / each))) {
    say_progress(step = paste("point", first, "of", targets$n), fraction = (first - 1) / targets$n)
    numbers <- first:min(targets$n, first + each - 1)
    some <- some_targets(targets, numbers)
    sets <- near(some)
    among <- set_covariances(object, pairs, sets)
    across <- target_covariances(object, pairs, some, sets)
    for (k in seq_along(numbers)) {
      target <- numbers[[k]]
      rows <- sets[[k]]
      if (!is.finite(prior[[target]])) next
      system <- kriged(among[[k]] + diag(noise[rows], length(rows)), across[[k]], data$y[rows],
                       data$x[rows, , drop = FALSE], some$x[k, ])
      if (identical(system, "singular")) stop_singular(list(data = data), singular_state(rows[[1]]), NULL)
      result[target, ] <- system$moments + c(0, 0, prior[[target]], 0)
      neighbours[[target]] <- rows
      weights[[target]] <- system$weights
    }
  })
  result[, "variance"] <- pmax(result[, "variance"], 0)
  list(moments = result, near = neighbours, weights = weights)
}

# The covariance matrix of the field within each set.
set_covariances <- function(object, pairs, sets) {
  u <- object$data$u
  i <- unlist(lapply(sets, function(set) rep(set, length(set))))
  j <- unlist(lapply(sets, function(set) rep(set, each = length(set))))
  k <- pairs(list(theta = object$theta, x = u[i, , drop = FALSE], y = u[j, , drop = FALSE]))
  Map(matrix, split_by(k, lengths(sets)^2), lengths(sets), lengths(sets))
}

# The covariances of each target with its set.
target_covariances <- function(object, pairs, targets, sets) {
  points <- split(seq_along(targets$of), factor(targets$of, seq_len(targets$n)))
  i <- unlist(Map(function(set, own) rep(set, length(own)), sets, points))
  j <- unlist(Map(function(set, own) rep(own, each = length(set)), sets, points))
  k <- pairs(list(theta = object$theta, x = object$data$u[i, , drop = FALSE], y = targets$u[j, , drop = FALSE]))
  Map(function(k, set, own) as.vector(matrix(k, length(set), length(own)) %*% targets$weight[own]),
      split_by(k, lengths(sets) * lengths(points)), sets, points)
}

split_by <- function(x, sizes) unname(split(as.vector(x), factor(rep(seq_along(sizes), sizes), seq_along(sizes))))

# Universal kriging from one set: trend, process and what is added to the variance of the target; the weights.
kriged <- function(K, k, y, X, x0) {
  none <- list(moments = rep(NA_real_, 4), weights = rep(NA_real_, length(y)))
  # other variables that are not observed near the point
  idle <- x0 == 0 & colSums(X != 0) == 0
  X <- X[, !idle, drop = FALSE]
  x0 <- x0[!idle]
  if (!length(y)) return(if (ncol(X)) none else list(moments = numeric(4), weights = y))
  root <- tryCatch(chol(K), error = function(e) NULL)
  if (is.null(root)) return("singular")
  white <- backsolve(root, cbind(k, y, X), transpose = TRUE)
  k <- white[, 1]
  y <- white[, 2]
  if (!ncol(X)) return(list(moments = c(0, sum(k * y), -sum(k^2), 0), weights = backsolve(root, k)))
  trend <- qr(white[, -(1:2), drop = FALSE])
  if (trend$rank < ncol(X)) return(none)
  gap <- x0 - as.vector(crossprod(white[, -(1:2), drop = FALSE], k))
  back <- function(x) backsolve(qr.R(trend), x[trend$pivot], transpose = TRUE)
  along <- back(gap)
  beta <- qr.coef(trend, y)
  part <- k + as.vector(qr.Q(trend) %*% along)
  list(moments = c(sum(x0 * beta), sum(k * qr.resid(trend, y)), sum(along^2) - sum(k^2), sum(back(x0) * along)),
       weights = backsolve(root, part))
}

is_local_trend <- function(how) is.finite(how$nmax) || is.finite(how$maxdist)
