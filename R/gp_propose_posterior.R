# The posterior of the field in an exact fit, with derivatives with respect to the coordinates of a point, for
# gp_propose().

# A list of functions of points x; the points are rows in the user's coordinates:
#   moments(x)        `mean` and `sd` of the field
#   slopes(x)         `mean` and `sd` at one point, and their derivatives `of_mean` and `of_sd`
#   covariances(s)    a function f: f(x) returns the covariances of the field at points x with the field at points s;
#                     f$slopes(x) also returns the derivatives of these covariances
#   noise             the variance of the noise of a new observation
# long: the parts share the data, the factor and the trend
field_posterior <- function(object) {
  model <- object$model
  theta <- unname(object$theta)
  data <- object$data
  state <- object$state
  trend <- trend_functions(object)
  blocks <- factor_of(object)
  values <- covariance_matrix(model)
  slope_values <- covariance_slopes(model)
  both_values <- covariance_with_slopes(model)
  own <- own_variances(model, theta, data$u[1, , drop = FALSE])
  place <- function(x) new_sites(object$parts$layout, centred(x, object$center), NULL, NULL)
  d <- model$d
  unit <- unit_of(object$center)
  rotated <- function(f, k) if (length(f)) backsolve(state$root, t(f), transpose = TRUE) - crossprod(state$z, k) else f
  near <- function(x, u = place(x), k = values(list(theta = theta, x = data$u, y = u))) {
    at <- trend$at(x)
    white <- factor_solve(blocks, k)
    gap <- rotated(at$x, k)
    variance <- own$at(u) - colSums(white^2) + if (length(gap)) colSums(gap^2) else 0
    mean <- at$known + as.vector(crossprod(k, state$alpha))
    if (length(object$beta)) mean <- mean + as.vector(at$x %*% object$beta)
    list(u = u, k = k, white = white, gap = gap, mean = mean, sd = sqrt(pmax(variance, 0)))
  }
  of_user <- function(slopes) finite_or_0(slopes[, seq_len(d), drop = FALSE]) / unit
  steep <- function(points, u) of_user(matrix(slope_values(list(theta = theta, x = points, y = u)), nrow(points)))
  slopes <- function(x) {
    u <- place(x)
    all <- matrix(both_values(list(theta = theta, x = data$u, y = u)), nrow(data$u))
    here <- near(x, u, all[, 1, drop = FALSE])
    dk <- of_user(all[, -1, drop = FALSE])
    of_trend <- trend$slopes(x)
    inverse <- as.vector(factor_solve(blocks, here$white, transposed = TRUE))
    dgap <- rotated(t(of_trend$x), dk)
    sums <- base::crossprod(dk, cbind(as.vector(state$alpha), inverse))
    of_mean <- of_trend$known + sums[, 1]
    if (length(object$beta)) of_mean <- of_mean + as.vector(object$beta %*% of_trend$x)
    half <- own$slopes(u) / unit / 2 - sums[, 2]
    if (length(dgap)) half <- half + as.vector(crossprod(dgap, here$gap))
    c(here[c("mean", "sd")], list(of_mean = of_mean, of_sd = if (here$sd > 0) half / here$sd else 0 * half,
                                  dk = dk, dgap = dgap))
  }
  covariances <- function(s) {
    there <- near(s)
    solved <- factor_solve(blocks, there$white, transposed = TRUE)
    across <- function(k, gap) crossprod(solved, k) - if (length(gap)) crossprod(there$gap, gap) else 0
    f <- function(x, here = near(x)) {
      values(list(theta = theta, x = there$u, y = here$u)) - across(here$k, here$gap)
    }
    list(at = f, slopes = function(x, about) steep(there$u, place(x)) - across(about$dk, about$dgap))
  }
  list(moments = function(x) near(x)[c("mean", "sd")], slopes = slopes, covariances = covariances,
       noise = nugget_of(object))
}

finite_or_0 <- function(x) if (is.finite(sum(x))) x else replace(x, !is.finite(x), 0)

# The variance of the field at points, and its derivatives with respect to the coordinates of one point.
own_variances <- function(model, theta, first) {
  variances <- function(u) as.vector(covariance_diagonal(model)(list(theta = theta, x = u)))
  if (model$translation_invariant && !model$intrinsic) {
    everywhere <- variances(first)
    return(list(at = function(u) everywhere, slopes = function(u) numeric(model$d)))
  }
  plain <- replace(model, "functional", list(NULL)) # new points are values of the field
  slopes <- recent_operator(code_text("Sum_Reduction(Grad(", covariance_text(plain, "x", "x"), ", x, 1), 1)"),
                            point_declarations(plain)[1:2], "auto", "float64", "cpu")
  list(at = variances, slopes = function(u) as.vector(slopes(list(theta = theta, x = u)))[seq_len(model$d)])
}

# The trend at points x in the user's coordinates: `at(x)` returns the columns `x` of the trend and the `known` part of
# the trend. For one point, `slopes(x)` returns the derivatives of `x` and `known`, with a column for each coordinate.
trend_functions <- function(object) {
  parts <- object$parts
  constant <- !length(all.vars(stats::delete.response(parts$terms)))
  by_formula <- inherits(parts$coords, "formula")
  at <- function(x) {
    newdata <- if (constant) data.frame(row.names = seq_len(nrow(x))) else as.data.frame(x)
    points <- new_points(object, newdata, if (constant || !by_formula) unname(x))
    list(x = unname(estimated_trend(object, points)), known = known_trend(object, points))
  }
  if (!constant) return(list(at = at, slopes = function(x) trend_slopes(at, x, parts$u)))
  first <- at(parts$u[1, , drop = FALSE])
  list(at = function(x) list(x = first$x[rep(1, nrow(x)), , drop = FALSE], known = rep(first$known, nrow(x))),
       slopes = function(x) list(x = matrix(0, ncol(first$x), ncol(x)), known = numeric(ncol(x))))
}

# The derivatives of the trend by central differences of sixth order, which are exact for polynomials up to the sixth
# degree. The steps are proportional to the extents of the points `u`.
trend_slopes <- function(at, x, u) {
  d <- ncol(x)
  steps <- 1e-3 * vapply(seq_len(d), function(k) extent_of(u[, k]), 0)
  moved <- x[rep(1, 6 * d), , drop = FALSE]
  axis <- rep(seq_len(d), each = 6)
  rows <- cbind(seq_len(6 * d), axis)
  moved[rows] <- moved[rows] + sixth_order$shifts * steps[axis]
  near <- at(moved)
  slope <- function(values) {
    values <- array(values, c(6, d, length(values) / (6 * d)))
    apply(values * sixth_order$weights, 3:2, sum) / rep(steps, each = dim(values)[[3]])
  }
  list(x = slope(near$x), known = as.vector(slope(near$known)))
}
