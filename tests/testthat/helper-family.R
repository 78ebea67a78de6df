# The Laplace approximation in plain R, for log densities given as functions of the linear predictor.

family_data <- function(n = 40, seed = 1) withr::with_seed(seed, {
  u <- matrix(runif(2 * n), n, dimnames = list(NULL, c("a", "b")))
  w <- rnorm(n)
  eta <- 0.5 + sin(5 * u[, 1]) + 0.3 * w
  data.frame(u, w, count = rpois(n, exp(eta)), k = rbinom(n, 5, plogis(eta)), present = rbinom(n, 1, plogis(eta)),
             size = rgamma(n, 3, 3 / exp(eta)), y = eta + 0.3 * rt(n, 3))
})

# For each family: the argument `family` of gp(), the formula with the response, and the log density given phi.
oracle_families <- function() list(
  poisson = list(poisson(), count ~ w, \(d, eta, phi) dpois(d$count, exp(eta), log = TRUE)),
  binary = list(binomial(), present ~ w, \(d, eta, phi) dbinom(d$present, 1, plogis(eta), log = TRUE)),
  binomial = list(binomial(), cbind(k, 5 - k) ~ w, \(d, eta, phi) dbinom(d$k, 5, plogis(eta), log = TRUE)),
  probit = list(binomial("probit"), cbind(k, 5 - k) ~ w, \(d, eta, phi) dbinom(d$k, 5, pnorm(eta), log = TRUE)),
  cloglog = list(binomial("cloglog"), cbind(k, 5 - k) ~ w,
                 \(d, eta, phi) dbinom(d$k, 5, -expm1(-exp(eta)), log = TRUE)),
  gamma = list(Gamma("log"), size ~ w, \(d, eta, phi) dgamma(d$size, phi[1], phi[1] / exp(eta), log = TRUE)),
  negative_binomial = list(negative_binomial(), count ~ w,
                           \(d, eta, phi) dnbinom(d$count, size = phi[1], mu = exp(eta), log = TRUE)),
  student = list(student(NULL), y ~ w, \(d, eta, phi) dt((d$y - eta) / phi[2], phi[1], log = TRUE) - log(phi[2]))
)
oracle_phi <- list(gamma = c(shape = 2.5), negative_binomial = c(theta = 1.7), student = c(df = 4.5, scale = 0.3))

# The derivative of f at each entry of eta, from differences of fourth order.
slopes_of <- function(f, eta, h = 1e-3) (f(eta - 2 * h) - 8 * f(eta - h) + 8 * f(eta + h) - f(eta + 2 * h)) / (12 * h)

# Laplace's approximation, as a list: -2 log density of y; the process h at the mode; and W, which is minus the second
# derivatives of the log density at the mode. Newton's steps use |W| where the precision matrix is not positive
# definite.
oracle_laplace <- function(K, mean, density) {
  n <- length(mean)
  inverse <- solve(K)
  slope <- \(eta) slopes_of(density, eta)
  precision <- \(W) inverse + diag(W, n)
  joint <- \(h) sum(h * (inverse %*% h)) / 2 - sum(density(mean + h))
  h <- numeric(n)
  for (round in 1:500) {
    W <- -slopes_of(slope, mean + h)
    if (min(eigen(precision(W), TRUE, TRUE)$values) <= 1e-8) W <- abs(W)
    step <- solve(precision(W), slope(mean + h) - as.vector(inverse %*% h))
    part <- 1
    while (joint(h + part * step) > joint(h) + 1e-13 && part > 1e-8) part <- part / 2
    h <- h + part * as.vector(step)
    if (max(abs(step)) < 1e-11) break
  }
  W <- -slopes_of(slope, mean + h)
  list(value = 2 * joint(h) + as.numeric(determinant(diag(n) + K %*% diag(W, n))$modulus), h = h, W = W)
}

# The log-determinant from an incomplete factorisation that eliminates the rows from the last to the first. The
# factorisation drops fill-in between two points that no conditioning set contains together.
oracle_sparse_logdet <- function(precision, neighbours) {
  known <- diag(nrow(precision)) > 0
  for (i in seq_along(neighbours)) known[c(neighbours[[i]], i), c(neighbours[[i]], i)] <- TRUE
  total <- 0
  for (i in rev(seq_len(nrow(precision)))) {
    total <- total + log(precision[i, i])
    for (j in seq_len(i - 1)) for (k in seq_len(i - 1)) if (known[i, j] && known[i, k] && known[j, k]) {
      precision[j, k] <- precision[j, k] - precision[i, j] * precision[i, k] / precision[i, i]
    }
  }
  total
}

# -2 log density of y by Laplace's approximation. Observation k is at location of[k], and the covariance of the field at
# the locations is Vecchia's approximation of K. terms(eta) returns the log density, its first derivative, and minus its
# second derivative.
oracle_vecchia_laplace <- function(K, nugget, neighbours, of, mean, terms) {
  U <- oracle_factor(K, neighbours)
  C <- chol2inv(chol(crossprod(U)))[of, of] + diag(nugget, length(of))
  h <- numeric(length(of))
  for (step in 1:50) {
    at <- terms(mean + h)
    k <- solve(diag(length(of)) + at$weight * C, at$weight * h + at$slope)
    last <- h
    h <- as.vector(C %*% k)
    if (max(abs(h - last)) < 1e-15) break
  }
  at <- terms(mean + h)
  share <- as.vector(rowsum(at$weight / (1 + nugget * at$weight), of))
  sum(h * k) - 2 * sum(at$value) + oracle_sparse_logdet(crossprod(U) + diag(share), neighbours) -
    2 * sum(log(diag(U))) + sum(log1p(nugget * at$weight))
}

# The derivative of f in each entry of x, extrapolated from four central differences; the error is of the order step^8.
exact_differences <- function(f, x, step = 0.02) vapply(seq_along(x), \(k) {
  widths <- step * max(abs(x[[k]]), 0.1) / 2^(0:3)
  moved <- \(by) f(replace(x, k, x[[k]] + by))
  slopes <- lapply(widths, \(by) (moved(by) - moved(-by)) / (2 * by))
  for (order in 1:3) slopes <- Map(\(wide, narrow) narrow + (narrow - wide) / (4^order - 1), slopes[-length(slopes)],
                                   slopes[-1])
  slopes[[1]]
}, f(x))

# The family `name` with the parameters of oracle_phi.
with_phi <- function(name) {
  family <- kernops:::as_family(oracle_families()[[name]][[1]])
  family$parameters$value <- unname(oracle_phi[[name]] %||% numeric())
  family
}
