# Moments of functions of normal variables, by Gauss-Hermite quadrature.

# The means of f(eta_i) for normal variables eta_i with the given means and standard deviations.
average <- function(mean, sd, f, nodes = normal_quadrature()) {
  total <- 0
  for (n in seq_along(nodes$at)) total <- total + nodes$weight[[n]] * f(mean + sd * nodes$at[[n]])
  total
}

# The logarithm of the mean of exp(f(eta)) over normal variables eta, for log densities f.
log_average <- function(mean, sd, f, nodes = normal_quadrature()) {
  terms <- vapply(nodes$at, function(at) f(mean + sd * at), numeric(length(mean)))
  terms <- matrix(terms, length(mean)) + rep(log(nodes$weight), each = length(mean))
  highest <- apply(terms, 1, max)
  highest + log(rowSums(exp(terms - highest)))
}

# The covariance matrix of f(eta_i) for normal eta_i with covariance matrix `joint`. Each eta_i also has an independent
# term with the variance `independent`. The covariance is sum_k c_ik c_jk r_ij^k (Mehler's formula), where r_ij is the
# correlation of eta_i and eta_j, c_ik is the mean of f(eta_i) p_k((eta_i - mean_i) / sd_i), and the polynomials p_k are
# orthonormal for the normal distribution.
transformed_covariance <- function(f, mean, joint, independent = 0, nodes = normal_quadrature()) {
  sd <- sqrt(pmax(diag(joint), 0) + independent)
  values <- vapply(nodes$at, function(z) f(mean + sd * z), numeric(length(mean)))
  by_degree <- matrix(values, length(mean), length(nodes$at)) %*% (sqrt(nodes$weight) * t(nodes$series))
  r <- joint / tcrossprod(sd)
  r[sd == 0, ] <- r[, sd == 0] <- 0
  total <- 0
  power <- 1
  for (degree in seq_along(nodes$at)[-1]) {
    power <- power * r
    total <- total + power * tcrossprod(by_degree[, degree])
  }
  total
}

# The quadrature rules for the standard normal distribution (Gauss-Hermite) and for the uniform distribution between -1
# and 1 (Gauss-Legendre).
normal_quadrature <- function(count = 40) gauss_rule(sqrt(seq_len(count - 1)))

uniform_quadrature <- function(count = 40) gauss_rule(seq_len(count - 1) / sqrt(4 * seq_len(count - 1)^2 - 1))

# The Gauss rule of a symmetric distribution, from the eigenvalues of its Jacobi matrix, whose diagonal is zero (Golub
# and Welsch 1969). `series` has a row for each polynomial that is orthonormal for the distribution: its values at the
# nodes times sqrt(weight). The first polynomial is 1.
gauss_rule <- function(off) {
  count <- length(off) + 1
  jacobi <- matrix(0, count, count)
  rows <- cbind(seq_len(count - 1), seq_len(count - 1) + 1)
  jacobi[rows] <- jacobi[rows[, 2:1]] <- off
  found <- eigen(jacobi, symmetric = TRUE)
  root <- found$vectors[1, ]
  list(at = found$values, weight = root^2, series = found$vectors * rep(sign(root), each = count))
}
