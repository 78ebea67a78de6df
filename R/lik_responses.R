# Likelihoods of many responses at the same points, by Vecchia's approximation.

# The data that all responses share, in the ordering of Vecchia's approximation. `data` has the data of a likelihood
# without a response; `how` has the ordering and the number of `neighbours`. Returns NULL if the trend does not leave a
# degree of freedom, otherwise a list of
#   data, n      the observations
#   order        the order of the observations
#   trend        the trend as an orthonormal matrix q times r; `ones`, the coefficients of a constant, if the trend
#                contains a constant
#   held         hold_sets() of points and q
#   null         the log-determinant of a model without a field
response_sets <- function(data, model, theta, how) {
  n <- nrow(data$u)
  if (n < ncol(data$x) + 2) return(NULL)
  decomposed <- qr(data$x)
  if (decomposed$rank < ncol(data$x)) return(NULL)
  q <- if (ncol(data$x)) qr.Q(decomposed) else matrix(0, n, 0)
  sets <- ordered_sets(neighbour_coordinates(model, theta, data$u), how)
  order <- sets$order
  points <- data$u[order, , drop = FALSE]
  search <- correlated_search(sets$search, model, theta, points)
  held <- hold_sets(points, numeric(n), 1 / data$weights[order], q[order, , drop = FALSE],
                    search(min(how$neighbours, n - 1L)))
  list(data = data, n = n, order = order, held = held,
       trend = list(q = q, r = qr.R(decomposed), ones = constant_coefficients(data$x, decomposed)))
}

# The coefficients with which the trend equals 1 everywhere; NULL if no coefficients give this trend.
constant_coefficients <- function(x, decomposed) {
  if (!ncol(x) || sum(qr.resid(decomposed, rep(1, nrow(x)))^2) > 1e-20 * nrow(x)) return(NULL)
  qr.coef(decomposed, rep(1, nrow(x)))
}

# The responses in the form that responses_products() reads: residuals of least squares, in the order of the points,
# divided by their standard deviations `sd`; `beta` are the coefficients of the trend that was removed. `constant` marks
# responses without variation.
standard_responses <- function(y, sets) {
  trend <- sets$trend
  level <- if (is.null(trend$ones)) numeric(ncol(y)) else colMeans(y)
  size <- column_sizes(y)
  y <- y - rep(level, each = nrow(y))
  along <- crossprod(trend$q, y)
  y <- y - trend$q %*% along
  sd <- sqrt(colMeans(y^2))
  constant <- sd <= 16 * .Machine$double.eps * size
  sd[constant] <- 1
  beta <- if (nrow(along)) backsolve(trend$r, along) + outer(trend$ones %||% numeric(nrow(along)), level) else along
  list(y = (y / rep(sd, each = nrow(y)))[sets$order, , drop = FALSE], sd = sd, beta = beta, constant = constant)
}

# -2 times the profile log-likelihood, the scale and the coefficients of each standardised response, computed from the
# result of responses_products().
profiled_products <- function(products, n, reml) {
  root <- products$root
  p <- nrow(root)
  half <- if (p) forwardsolve(root, products$across) else products$across
  degrees <- n - if (reml) p else 0
  quadratic <- products$squares - colSums(half^2)
  scale <- quadratic / degrees
  value <- degrees * (log(2 * pi * scale) + 1) + products$logdet + if (reml) 2 * sum(log(diag(root))) else 0
  list(value = value, scale = scale,
       coefficients = if (p) backsolve(root, half, upper.tri = FALSE, transpose = TRUE) else half)
}
