# Local kriging as in gstat: the nearest observations of each target determine the field and the trend at the target.

local_trend_conditioning <- function(object, how) {
  object$data <- observed_data(object)
  near <- once(function() data_near(object, how))
  moments <- function(targets) as.data.frame(krige_locally(object, targets, how, near())$moments)
  new_conditioning(object, moments, moments, function(targets) {
    kriged <- krige_locally(object, targets, how, near())
    terms <- with(kriged, list(near = unlist(near), of = rep(seq_along(near), lengths(near)),
                               weights = unlist(weights)))
    joint <- unexplained(object, targets, terms) + if (is.null(kriged$gap)) 0 else crossprod(kriged$gap)
    unknown <- is.na(kriged$moments[, "process"])
    joint[unknown, ] <- joint[, unknown] <- NA
    joint
  })
}

# The centres of targets, which are the points whose nearest observations are searched.
centres_of <- function(targets) targets$centres %||% gathered(targets$u, targets)

# An operator that computes the covariances k(x_i, y_i) for each row i of x and y.
covariance_pairs <- function(model) {
  declared <- sub("y = Vj", "y = Vi", point_declarations(model))
  recent_operator(code_text("Sum_Reduction(", model$formula, ", 1)"), declared, "auto", "float64", "cpu")
}

# Returns a function f(targets): a list with an element for each target, the nearest observations in the group of the
# target. Each element has at most `nmax` observations of each variable, within `maxdist` of the centre of the target.
data_near <- function(object, how) {
  model <- object$model
  plain <- function(u) if (on_globe(model)) on_sphere(u) else unname(u[, seq_len(model$d), drop = FALSE])
  place <- function(u) apart_by_group(plain(u), model, u, function() plain(object$data$u))
  data <- place(object$data$u)
  # the index of the response variable to which each observation belongs
  variable <- object$parts$layout$variable %||% rep(1, nrow(data))
  nearest <- lapply(unname(split(seq_len(nrow(data)), variable)), points_near, data, how, is.null(group_of(model)),
                    how$maxdist / unit_of(object$center))
  function(targets) {
    centres <- place(centres_of(targets))
    do.call(Map, c(list(c), lapply(nearest, function(near) near(centres))))
  }
}

# Returns a function f(centres): a list with an element for each centre. The element contains the `rows` of the data
# that are nearest to the centre and in the group of the centre. The last column of `centres` is the group, if there are
# groups.
points_near <- function(rows, data, how, alone, maxdist = how$maxdist) {
  data <- data[rows, , drop = FALSE]
  m <- as.integer(min(how$nmax, nrow(data)))
  tree <- search_tree(data)
  function(centres) {
    nearest <- nearest_points(centres, tree, m)
    lapply(seq_len(ncol(nearest)), function(k) {
      if (maxdist == Inf && alone) return(rows[nearest[, k]])
      gaps <- data[nearest[, k], , drop = FALSE] - rep(centres[k, ], each = m)
      near <- rowSums(gaps^2) <= maxdist^2
      rows[nearest[near & (alone | gaps[, ncol(gaps)] == 0), k]]
    })
  }
}

krige_locally <- function(object, targets, how, near) UseMethod("krige_locally")

# For a fit with a family, kriging uses the Gaussian observations of the normal approximation of the posterior
# (finish_family()). These Gaussian observations depend on the trend of the fit, so all predictions use the trend of the
# fit.
krige_locally.gp_family_fit <- function(object, targets, how, near) {
  data <- object$data
  if (ncol(data$x)) data$y <- data$y - as.vector(data$x %*% object$beta)
  none <- replace(data, "x", list(data$x[, 0, drop = FALSE]))
  kriged <- krige_locally.default(replace(object, "data", list(none)),
                                 replace(targets, "x", list(targets$x[, 0, drop = FALSE])), how, near)
  if (!ncol(targets$x)) return(kriged)
  explained <- Map(function(near, weights) colSums(data$x[near, , drop = FALSE] * weights), kriged$near, kriged$weights)
  error <- trend_uncertainty(object, targets$x, do.call(rbind, c(list(data$x[0, , drop = FALSE]), explained)))
  kriged$moments[, "trend"] <- targets$x %*% object$beta
  kriged$moments[, "variance"] <- kriged$moments[, "variance"] + error$variance
  kriged$moments[, "lagrange"] <- error$lagrange
  c(kriged, list(gap = error$gap))
}

# A list of `moments`, with a row for each target: trend, process, variance of the field and Lagrange multiplier, or NA
# if the neighbours do not determine the trend; `near`, the neighbours of each target; and `weights`, the weights of the
# neighbours in the prediction of trend and process.
krige_locally.default <- function(object, targets, how, near) {
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
    chunk <- some_targets(targets, numbers)
    sets <- near(chunk)
    among <- set_covariances(object, pairs, sets)
    across <- target_covariances(object, pairs, chunk, sets)
    for (k in seq_along(numbers)) {
      target <- numbers[[k]]
      rows <- sets[[k]]
      if (!is.finite(prior[[target]])) next
      system <- kriged(among[[k]] + diag(noise[rows], length(rows)), across[[k]], data$y[rows],
                       data$x[rows, , drop = FALSE], chunk$x[k, ])
      if (identical(system, "singular")) stop_singular(list(data = data), singular_state(rows[[1]]), NULL)
      result[target, ] <- system$moments + c(0, 0, prior[[target]], 0)
      neighbours[[target]] <- rows
      weights[[target]] <- system$weights
    }
  })
  result[, "variance"] <- pmax(result[, "variance"], 0)
  list(moments = result, near = neighbours, weights = weights)
}

# For each set of neighbours, the covariance matrix of the field at the neighbours.
set_covariances <- function(object, pairs, sets) {
  u <- object$data$u
  i <- unlist(lapply(sets, function(set) rep(set, length(set))))
  j <- unlist(lapply(sets, function(set) rep(set, each = length(set))))
  k <- pairs(list(theta = object$theta, x = u[i, , drop = FALSE], y = u[j, , drop = FALSE]))
  Map(matrix, split_by(k, lengths(sets)^2), lengths(sets), lengths(sets))
}

# For each target, the covariances of the target with its neighbours.
target_covariances <- function(object, pairs, targets, sets) {
  points <- split(seq_along(targets$of), factor(targets$of, seq_len(targets$n)))
  i <- unlist(Map(function(set, points) rep(set, length(points)), sets, points))
  j <- unlist(Map(function(set, points) rep(points, each = length(set)), sets, points))
  k <- pairs(list(theta = object$theta, x = object$data$u[i, , drop = FALSE], y = targets$u[j, , drop = FALSE]))
  Map(function(k, set, points) as.vector(matrix(k, length(set), length(points)) %*% targets$weight[points]),
      split_by(k, lengths(sets) * lengths(points)), sets, points)
}

split_by <- function(x, sizes) unname(split(as.vector(x), factor(rep(seq_along(sizes), sizes), seq_along(sizes))))

# Universal kriging of one target from one set of neighbours: the trend, the process, the difference between the kriging
# variance and the prior variance, the Lagrange multiplier, and the weights.
kriged <- function(K, k, y, X, x0) {
  none <- list(moments = rep(NA_real_, 4), weights = rep(NA_real_, length(y)))
  # omits columns of the trend that are 0 at the target and at all its neighbours: columns of other variables
  idle <- x0 == 0 & colSums(X != 0) == 0
  X <- X[, !idle, drop = FALSE]
  x0 <- x0[!idle]
  if (!length(y)) return(if (ncol(X)) none else list(moments = numeric(4), weights = y))
  root <- chol_or_null(K)
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
