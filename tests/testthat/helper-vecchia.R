# Vecchia's approximation in plain R: double loops over sets of points.

# A list: for each row of u, the m nearest of the earlier rows, the nearest first.
earlier_neighbours <- function(u, m) {
  lapply(seq_len(nrow(u)), \(i) {
    before <- seq_len(i - 1)
    utils::head(before[order(colSums((t(u[before, , drop = FALSE]) - u[i, ])^2))], m)
  })
}

# The factor U of the precision matrix U'U of Vecchia's approximation.
oracle_factor <- function(K, neighbours) {
  U <- matrix(0, nrow(K), nrow(K))
  for (i in seq_along(neighbours)) {
    near <- neighbours[[i]]
    weights <- if (length(near)) solve(K[near, near, drop = FALSE], K[near, i]) else numeric()
    U[i, c(near, i)] <- c(-weights, 1) / sqrt(K[i, i] - sum(weights * K[near, i]))
  }
  U
}

# -2 log-likelihood of Vecchia's approximation, with the result of oracle_likelihood().
oracle_vecchia <- function(K, neighbours, y, X, reml = FALSE) {
  U <- oracle_factor(K, neighbours)
  oracle_likelihood(solve(crossprod(U)), y, X, reml)
}

# The expected information of -2 log-likelihood; `slopes` is a list of the derivatives of K.
oracle_information <- function(K, slopes, neighbours) {
  trace <- \(s, a, b) if (length(s)) {
    inverse <- solve(K[s, s])
    sum(diag(inverse %*% slopes[[a]][s, s] %*% inverse %*% slopes[[b]][s, s]))
  } else 0
  outer(seq_along(slopes), seq_along(slopes), Vectorize(\(a, b) sum(vapply(seq_along(neighbours), \(i) {
    trace(c(neighbours[[i]], i), a, b) - trace(neighbours[[i]], a, b)
  }, 0))))
}

# Covariances with parameter values for tests of Vecchia's approximation.
vecchia_covariances <- function() list(
  exponential = exponential(1.3, 0.4) + nugget(0.05), matern32 = matern(3/2, 1.3, 0.4) + nugget(0.05),
  matern52 = matern(5/2, 1.3, c(0.4, 0.2)) + nugget(0.05),
  turned = exponential(1.3, 0.4, angle = 30, ratio = 0.5) + nugget(0.05),
  sphere = matern(3/2, 1.3, 40, distance = "great_circle") + nugget(0.05),
  periodic = exponential(1, 0.4) * periodic(1, 0.8, 0.5) + nugget(0.05), linear = linear(0.5) + nugget(0.05),
  squared_exponential = squared_exponential(1.3, 0.3) + nugget(0.05),
  own = covariance("s * Exp(-Sqrt(SqDist(x, y)) / r)", c(s = 1.3, r = 0.4)) + nugget(0.05)
)

# The result of set_sums() in plain R, including the derivatives: sums of a term of each point. The term of a point is
# the value for the point with its neighbours, minus the value for its neighbours alone.
oracle_sums <- function(K, slopes, neighbours, values) {
  part <- \(s, sign) {
    root <- chol(K[s, s, drop = FALSE])
    inverse <- chol2inv(root)
    v <- values[s, , drop = FALSE]
    changed <- lapply(slopes, \(slope) inverse %*% slope[s, s])
    list(logdet = sign * 2 * sum(log(diag(root))), gram = sign * t(v) %*% inverse %*% v,
         logdet_derivative = sign * vapply(changed, \(x) sum(diag(x)), 0),
         gram_derivative = -sign * vapply(changed, \(x) t(v) %*% x %*% inverse %*% v, array(0, rep(ncol(v), 2))))
  }
  parts <- unlist(lapply(seq_along(neighbours), \(i) {
    near <- neighbours[[i]]
    list(part(c(near, i), 1), if (length(near)) part(near, -1))
  }), FALSE)
  total <- \(name) Reduce(`+`, lapply(Filter(length, parts), `[[`, name))
  c(sapply(c("logdet", "gram", "logdet_derivative", "gram_derivative"), total, simplify = FALSE),
    list(information = oracle_information(K, slopes, neighbours)))
}

# The rows of oracle_factor() in the layout of set_weights() and set_slopes(): the weights of m neighbours, the standard
# deviation of each set, and the derivatives of the weights and of the standard deviations. `slopes` is a list of the
# derivatives of K.
oracle_rows <- function(K, slopes, neighbours, m) {
  one <- \(i) {
    near <- neighbours[[i]]
    solved <- \(b) if (length(near)) solve(K[near, near, drop = FALSE], b) else numeric()
    weights <- solved(K[near, i])
    variance <- K[i, i] - sum(weights * K[near, i])
    padded <- \(x) c(x, numeric(m - length(x)))
    changes <- lapply(slopes, \(dK) {
      within <- as.vector(dK[near, near, drop = FALSE] %*% weights)
      list(weights = padded(solved(dK[near, i] - within)),
           log_sd = (dK[i, i] - 2 * sum(weights * dK[near, i]) + sum(weights * within)) / (2 * variance))
    })
    list(weights = padded(weights), sd = sqrt(variance), log_sd = vapply(changes, `[[`, 0, "log_sd"),
         slopes = vapply(changes, `[[`, numeric(m), "weights"))
  }
  rows <- lapply(seq_along(neighbours), one)
  of <- \(name, shape) vapply(rows, `[[`, shape, name)
  list(weights = of("weights", numeric(m)), sd = of("sd", 0), slopes = of("slopes", matrix(0, m, length(slopes))),
       log_sd = of("log_sd", numeric(length(slopes))))
}

# Replaces a constant of the package for the duration of a test.
local_constant <- function(name, value, frame = parent.frame()) {
  package <- asNamespace("kernops")
  before <- get(name, package)
  set <- function(value) {
    if (bindingIsLocked(name, package)) base::unlockBinding(name, package)
    assign(name, value, package)
  }
  withr::defer(set(before), frame)
  set(value)
}

# The sums over conditioning sets, as a list with names.
set_sums <- function(operators, theta, nugget, sets, derivatives = FALSE, count = Inf) {
  totals <- kernops:::set_totals(operators, theta, nugget, sets, derivatives, count)
  kernops:::set_moments(totals, ncol(environment(sets)$values), length(theta), derivatives)
}
