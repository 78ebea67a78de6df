# Gaussian processes in plain R, with dense matrices.

# Marks the message that predict() shows once per session as already shown; test-data_new.R shows this message again.
suppressMessages(rlang::inform("", .frequency = "once", .frequency_id = "kernops_field_se"))

pairs_apply <- \(f) \(a, b) {
  pairs <- expand.grid(i = seq_len(nrow(a)), j = seq_len(nrow(b)))
  matrix(mapply(\(i, j) f(a[i, ], b[j, ]), pairs$i, pairs$j), nrow(a))
}

oracle_covariance <- list(
  exponential = pairs_apply(\(p, q) 2 * exp(-sqrt(sum((p - q)^2)) / 0.4)),
  squared_exponential = pairs_apply(\(p, q) 2 * exp(-sum((p - q)^2) / (2 * 0.4^2))),
  matern32 = pairs_apply(\(p, q) {
    h <- sqrt(3) * sqrt(sum((p - q)^2)) / 0.4
    2 * (1 + h) * exp(-h)
  }),
  matern52 = pairs_apply(\(p, q) {
    h <- sqrt(5) * sqrt(sum((p - q)^2)) / 0.4
    2 * (1 + h + h^2 / 3) * exp(-h)
  }),
  matern_general = pairs_apply(\(p, q) {
    h <- sqrt(2 * 1.2) * sqrt(sum((p - q)^2)) / 0.4
    if (h == 0) 2 else 2 * 2^(1 - 1.2) / gamma(1.2) * h^1.2 * besselK(h, 1.2)
  }),
  rational_quadratic = pairs_apply(\(p, q) 2 * (1 + sum((p - q)^2) / (2 * 0.7 * 0.4^2))^-0.7),
  periodic = pairs_apply(\(p, q) 2 * exp(-2 * sum(sin(pi * (p - q) / 0.9)^2) / 0.4^2)),
  spherical = pairs_apply(\(p, q) {
    h <- sqrt(sum((p - q)^2)) / 0.4
    if (h < 1) 2 * (1 - 1.5 * h + 0.5 * h^3) else 0
  }),
  wendland = pairs_apply(\(p, q) {
    h <- sqrt(sum((p - q)^2)) / 0.4
    if (h < 1) 2 * (1 - h)^4 * (4 * h + 1) else 0
  }),
  powered_exponential = pairs_apply(\(p, q) 2 * exp(-(sqrt(sum((p - q)^2)) / 0.4)^1.3)),
  circular = pairs_apply(\(p, q) {
    h <- min(sqrt(sum((p - q)^2)) / 0.4, 1)
    4 / pi * (acos(h) - h * sqrt(1 - h^2))
  }),
  pentaspherical = pairs_apply(\(p, q) {
    h <- min(sqrt(sum((p - q)^2)) / 0.4, 1)
    2 * (1 - 15 / 8 * h + 5 / 4 * h^3 - 3 / 8 * h^5)
  }),
  wave = pairs_apply(\(p, q) {
    h <- sqrt(sum((p - q)^2)) / 0.4
    if (h == 0) 2 else 2 * sin(h) / h
  }),
  linear = pairs_apply(\(p, q) 2 * sum((p - 0.3) * (q - 0.3))),
  constant = pairs_apply(\(p, q) 2)
)
oracle_objects <- function() list(
  exponential = exponential(2, 0.4), squared_exponential = squared_exponential(2, 0.4), matern32 = matern(3/2, 2, 0.4),
  matern52 = matern(5/2, 2, 0.4), matern_general = matern(1.2, 2, 0.4),
  rational_quadratic = rational_quadratic(2, 0.4, 0.7),
  periodic = periodic(2, 0.4, 0.9),
  spherical = spherical(2, 0.4), wendland = wendland(2, 0.4),
  powered_exponential = powered_exponential(2, 0.4, 1.3), circular = circular(2, 0.4),
  pentaspherical = pentaspherical(2, 0.4), wave = wave(2, 0.4), linear = linear(2, 0.3), constant = constant(2)
)

# The values k(a, b) of a covariance object, computed by the engine.
covariance_values <- function(object, a, b) {
  model <- kernops:::covariance_model(object, ncol(a))
  kernops:::covariance_matrix(model)(list(theta = model$parameters$value, x = a, y = b))
}

# -2 log-likelihood of y ~ N(X beta, K), with beta estimated by generalised least squares.
oracle_likelihood <- function(K, y, X, reml = FALSE) {
  inverse <- solve(K)
  p <- ncol(X)
  beta <- if (p) solve(t(X) %*% inverse %*% X, t(X) %*% inverse %*% y) else numeric()
  r <- y - if (p) X %*% beta else 0
  logdet <- \(m) if (length(m)) as.numeric(determinant(m)$modulus) else 0
  value <- (length(y) - reml * p) * log(2 * pi) + logdet(K) + sum(r * (inverse %*% r))
  if (reml) value <- value + logdet(t(X) %*% inverse %*% X) - logdet(t(X) %*% X)
  list(value = value, beta = as.vector(beta))
}

# Universal kriging by the bordered system (Cressie 1993, section 3.4).
oracle_kriging <- function(K, k0, k00, y, X, X0) {
  p <- ncol(X)
  bordered <- rbind(cbind(K, X), cbind(t(X), matrix(0, p, p)))
  weights <- solve(bordered, rbind(k0, t(X0)))
  n <- length(y)
  list(mean = as.vector(t(weights[seq_len(n), , drop = FALSE]) %*% y),
       variance = k00 - colSums(weights * rbind(k0, t(X0))))
}

smooth_case <- function(n, noise = 0.1) {
  u <- matrix(runif(2 * n), n, dimnames = list(NULL, c("a", "b")))
  data.frame(u, z = sin(5 * u[, 1]) + cos(4 * u[, 2]) + rnorm(n, sd = noise), w = rnorm(n))
}

# A Matern covariance with smoothness 3/2 and a nugget: covariance_of() returns the dense matrix, and given() the
# covariance for gp().
covariance_of <- \(u, v = 1.3, r = 0.4, tau = 0.05) {
  h <- sqrt(3) * as.matrix(dist(u)) / r
  v * (1 + h) * exp(-h) + diag(tau, nrow(u))
}
given <- \(...) matern(3/2, 1.3, 0.4) + nugget(0.05)
trends <- list(z ~ 0, z ~ 1, z ~ w + a)

# The second derivatives of minus the log-likelihood in the logarithms of variance, range and nugget, by finite
# differences.
log_hessian <- function(theta, d, X) {
  value <- \(s) oracle_likelihood(covariance_of(d[c("a", "b")], exp(s[1]), exp(s[2]), exp(s[3])), d$z, X)$value / 2
  optimHess(log(theta), value)
}

# Expects that the gradient of a profile likelihood at `theta` agrees with finite differences of its value.
expect_profile_slope <- function(likelihood, theta) {
  slope <- central_difference(\(t) likelihood$evaluate(t, TRUE)$value, theta, 1e-4)
  expect_close(matrix(likelihood$evaluate(theta, TRUE)$gradient(), 1), slope, tolerance = 1e-5)
}

# Expects that the means and variances of the field at new points agree with `expected`, the result of oracle_kriging(),
# for each method with all observations as neighbours.
expect_kriging_by <- function(methods, formula, d, coords, covariance, new, expected, tolerance = 1e-6) {
  for (method in methods) {
    fit <- gp(formula, d, coords, covariance, method, estimate = "none", probes = 0, cg_tol = 1e-10,
              neighbours = nrow(d) - 1)
    ours <- predict(fit, new, se.fit = TRUE, interval = "confidence")
    expect_equal(unname(ours$fit), unname(expected$mean), tolerance = tolerance, info = method)
    expect_equal(unname(ours$se.fit^2), unname(expected$variance), tolerance = 10 * tolerance, info = method)
  }
}

# Expects that the gradient of the exact likelihood at the parameters of a fit agrees with finite differences.
expect_exact_gradient <- function(fit) {
  likelihood <- kernops:::exact_likelihood(fit$data, fit$model, FALSE)
  theta <- unname(fit$theta)
  numeric <- vapply(seq_along(theta), \(i) {
    as.vector(central_difference(\(t) likelihood$value(replace(theta, i, t)), theta[[i]], theta[[i]] * 2^-12))
  }, 0)
  expect_equal(likelihood$evaluate(theta)$gradient(), numeric, tolerance = 1e-5)
}
