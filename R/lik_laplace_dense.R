# The distribution of the process given the data, from a dense factor of K + M^-1, for the Laplace approximation
# (lik_laplace.R).
#
# The diagonal matrix M equals W, except in the rows r where W is small or negative; in the rows r, M has the expected
# weights. Let d = M - W in these rows and A = (K + M^-1)^-1. Let S = M^-1 - M^-1 A M^-1, which is the covariance of the
# process for the weights M, and let R' R = I - d^1/2 S_rr d^1/2. Then
#   log det(I + K W) = log det(I + K M) + 2 log det R
#   (K + W^-1)^-1 = A - C C'           C = A_r M_r^-1 d^1/2 R^-1
#   (K^-1 + W)^-1 = S + G G'           G = M^-1 (I_r d^1/2 R^-1 - C)
# by the identities of Woodbury and Sylvester. R exists where K^-1 + W is positive definite.

# A list of functions for the process at parameters theta; times(a) returns K a.
#   newton(state, terms)  the next state of latent_mode()
#   posterior(terms)      NULL where K^-1 + W is not positive definite; otherwise a list of
#     weight, less        M, and C, which has a column for each of the rows r
#     logdet              log det(I + K W)
#     change(s)           the result of change_of_mode() with D = W
#     variances()         the variances of the process given the data
#     trend(x)            R and z = P X R^-1 for R' R = X' P X, with P = (K + W^-1)^-1
#     inverse_times(b)    P b; only after slope() of the factor was called
dense_process <- function(factor, times, theta, nugget) {
  last <- NULL
  fill <- function(weight) {
    if (identical(weight, last)) return(TRUE)
    last <<- weight
    factor$refill(theta, 1 / weight + nugget) == 0
  }
  inverse <- function(b) factor$solve(factor$solve(b), TRUE)
  solve_weighted <- function(weight) function(s) {
    u <- as.vector(inverse(s / weight))
    list(u = u, ku = (s - u) / weight)
  }
  list(
    newton = function(state, terms) {
      weight <- step_weights(terms)
      if (!fill(weight)) return(NULL)
      if (!is.null(terms$expected)) return(curved_step(state, terms, solve_weighted(weight)))
      k <- as.vector(inverse(state$h + terms$slope / weight))
      list(h = times(k), k = k)
    },
    posterior = function(terms) {
      weight <- positive_weights(terms)
      deficits <- if (fill(weight)) deficits_of(which(weight > terms$weight), weight, terms$weight, inverse)
      if (!is.null(deficits)) dense_posterior(factor, weight, deficits, solve_weighted(weight))
    }
  )
}

# The matrices C and G, and 2 log det R; NULL if R does not exist.
deficits_of <- function(rows, weight, observed, inverse) {
  n <- length(weight)
  none <- matrix(0, n, 0)
  if (!length(rows)) return(list(less = none, more = none, logdet = 0))
  root <- sqrt((weight - observed)[rows])
  units <- matrix(0, n, length(rows))
  units[cbind(rows, seq_along(rows))] <- 1
  along <- inverse(units)
  by <- root / weight[rows]
  inner <- outer(by, by) * along[rows, ]
  diag(inner) <- diag(inner) + observed[rows] / weight[rows]
  factor <- chol_or_null(inner)
  if (is.null(factor)) return(NULL)
  scaled <- function(x, by) t(backsolve(factor, by * t(x), transpose = TRUE))
  less <- scaled(along, by)
  list(less = less, more = (scaled(units, root) - less) / weight, logdet = 2 * sum(log(diag(factor))))
}

dense_posterior <- function(factor, weight, deficits, solve_weighted) {
  less <- deficits$less
  more <- deficits$more
  list(
    weight = weight, less = less, logdet = 2 * sum(log(factor$diagonal())) + sum(log(weight)) + deficits$logdet,
    change = function(s) {
      change <- solve_weighted(s)
      along <- crossprod(more, s)
      list(u = change$u + as.vector(less %*% along), ku = change$ku + as.vector(more %*% along))
    },
    variances = function() (1 - factor$diagonal_of_inverse() / weight) / weight + rowSums(more^2),
    trend = function(x) {
      half <- factor$solve(x)
      if (ncol(less)) {
        root <- chol_or_null(crossprod(half) - crossprod(crossprod(less, x)))
        solved <- factor$solve(half, TRUE) - less %*% crossprod(less, x)
        if (!is.null(root)) return(list(root = root, z = t(backsolve(root, t(solved), transpose = TRUE))))
      }
      # the weights M replace W, because with W the information on the trend is not positive definite
      white <- qr(half, LAPACK = FALSE)
      list(root = qr.R(white), z = factor$solve(qr.Q(white), transposed = TRUE))
    },
    inverse_times = function(b) factor$inverse_times(b) - less %*% crossprod(less, b)
  )
}
