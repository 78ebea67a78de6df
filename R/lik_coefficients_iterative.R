# Coefficients of effects whose precision S has too many entries for a factor: preconditioned conjugate gradients, and
# stochastic Lanczos quadrature for the determinant (Ubaru, Chen and Saad 2017).
#
# With the diagonal D of S, A = D^-1/2 S D^-1/2 = I + X has the diagonal 1, and log det S = log det D + tr log A. In
#   tr log A = tr (X - X^2 / 2) + tr g(X),  g(x) = log(1 + x) - x + x^2 / 2,
# the first term is known from the squares of the entries of X. For the second, orthonormal columns Q approximate the
# eigenvectors with the largest eigenvalues of X^2, such as a shift of all levels: Q' g(X) Q is computed, and random
# signs z, projected on the complement of Q, estimate the rest. Q and z are chosen at the first parameters and kept.

# The products with C' U' U C of the columns C of `entries`, of which the first `known` are dense. `probes` is the
# environment of coefficient_probes(), or NULL where no determinant is needed.
operator_of_products <- function(entries, rows, known, probes) {
  low <- row_sparse(rows_behind(entries$columns, known) - known, rows_behind(entries$values, known),
                    entries$size - known)
  back <- function(x) low$crossprod(sparse_multiply(rows, x, transposed = TRUE))
  dense <- sparse_multiply(rows, t(entries$values[seq_len(known), , drop = FALSE]))
  structure(c(low$system(rows), list(
    size = low$size, within = crossprod(dense), across = back(dense), back = back, points = length(rows$sd),
    probes = probes
  )), class = "product_operator")
}

# f(b) for some columns of b at a time.
by_columns <- function(b, f, width = 16) {
  parts <- split(seq_len(ncol(b)), (seq_len(ncol(b)) - 1) %/% width)
  matrix(unlist(lapply(parts, function(part) f(b[, part, drop = FALSE]))), ncol = ncol(b))
}

solve_effects.product_operator <- function(gram, known) {
  root <- sqrt(gram$diagonal)
  drawn <- if (!is.null(gram$probes)) coefficient_probes(gram, gram$probes)
  right <- cbind(gram$across / root, drawn$basis, drawn$signs)
  tol <- rep(c(1e-10, 1e-6), c(known, ncol(right) - known))
  solved <- gram$solve(right, tol)
  solution <- solved$solution
  along <- solution[, seq_len(known), drop = FALSE] / root
  left <- gram$within - crossprod(gram$across, along)
  determinant <- if (!is.null(drawn)) {
    logdet_of_coefficients(gram, solved$quadrature(log_beyond_square)[-seq_len(known)], drawn)
  }
  list(logdet = determinant$logdet, logdet_error = determinant$error, along = along, gram = (left + t(left)) / 2,
       by_gram = function(by_known) {
         probed_adjoint_of_products(gram, solution[, -seq_len(known), drop = FALSE], drawn, along, by_known)
       },
       joint = function(r) joint_by_solver(gram, along[, -1, drop = FALSE], left[-1, -1, drop = FALSE], r))
}

# g(x) for the eigenvalues 1 + x of A.
log_beyond_square <- function(eigenvalue) {
  x <- eigenvalue - 1
  log1p(x) - x + x^2 / 2
}

# log det S and its standard error, from the forms of the columns of the basis and of the signs over their squares.
logdet_of_coefficients <- function(gram, forms, drawn) {
  at_random <- seq_along(forms) > ncol(drawn$basis)
  estimates <- forms[at_random] * colSums(drawn$signs^2)
  list(logdet = sum(log(gram$diagonal)) - gram$square / 2 + sum(forms[!at_random]) + mean(estimates),
       error = stats::sd(estimates) / sqrt(length(estimates)))
}

probes_for_coefficients <- function(control) {
  list2env(list(seed = control$seed, count = max(control$probes, 16), needed = FALSE))
}

# The largest Monte Carlo error of a log-likelihood without a warning.
allowed_monte_carlo <- 0.05

warn_of_monte_carlo <- function(logdet_error) {
  error <- (logdet_error %||% 0) / 2
  if (error <= allowed_monte_carlo) return(invisible())
  cli::cli_warn(c("The log-likelihood has a Monte Carlo error of {signif(error, 2)}: the precision of the coefficients
                   of random effects is too large for a factor.",
                  i = "A larger number of {.arg probes} of {.fn gp_control} makes it smaller."),
                class = c("kernops_monte_carlo_error", "kernops_warning"))
}

# The `basis` Q and the `signs` z, kept in an environment with the `seed`, and the number `count` of signs: as many as
# make the error of the log-likelihood `wanted`, up to `most`.
coefficient_probes <- function(gram, kept, wanted = 0.04, most = 96) {
  if (!is.null(kept$basis)) return(kept)
  with_seed(kept$seed, {
    kept$basis <- dominant_basis(gram, min(30, gram$size %/% 4))
    pilot <- kept$signs <- projected_signs(gram$size, kept$count, kept$basis)
    forms <- gram$solve(pilot, 1e-5)$quadrature(log_beyond_square)
    error <- logdet_of_coefficients(gram, forms, list(basis = pilot[, 0, drop = FALSE], signs = pilot))$error
    count <- min(most, ceiling(kept$count * (error / 2 / wanted)^2))
    if (count > kept$count) kept$signs <- cbind(pilot, projected_signs(gram$size, count - kept$count, kept$basis))
  })
  kept
}

# Orthonormal columns that approximate eigenvectors of A with eigenvalues far from 1, by subspace iteration.
dominant_basis <- function(gram, rank, steps = 8) {
  basis <- normal_numbers(gram$size, rank)
  for (step in seq_len(steps)) basis <- qr.Q(qr(gram$product(basis) - basis))
  basis
}

projected_signs <- function(n, count, basis) {
  signs <- random_signs(n, count)
  signs - basis %*% crossprod(basis, signs)
}

# The derivatives of the determinant: D^-1 exactly, and S^-1 - D^-1 by the basis and the signs. As low_rank_matrix().
probed_adjoint_of_products <- function(gram, solution, drawn, along, by_known) {
  root <- sqrt(gram$diagonal)
  probes <- cbind(drawn$basis, drawn$signs)
  weights <- rep(c(1, 1 / ncol(drawn$signs)), c(ncol(drawn$basis), ncol(drawn$signs)))
  below <- function(x) rbind(matrix(0, nrow(by_known), ncol(x)), x / root)
  back <- rbind(diag(nrow(by_known)), -along)
  low_rank_matrix(cbind(back %*% by_known, below((solution - probes) * rep(weights, each = nrow(probes)))),
                  cbind(back, below(probes)), c(numeric(nrow(by_known)), 1 / gram$diagonal))
}

# The matrix (left right' + right left') / 2 + diag(diagonal).
low_rank_matrix <- function(left, right, diagonal) {
  structure(list(left = left, right = right, diagonal = diagonal), class = "low_rank_matrix")
}

sum_of_blocks.low_rank_matrix <- function(x, before, size, count) {
  rows <- before + seq_len(size * count)
  side_by_side <- function(x) matrix(x[rows, , drop = FALSE], size)
  half <- tcrossprod(side_by_side(x$left), side_by_side(x$right))
  (half + t(half)) / 2 + diag(rowSums(matrix(x$diagonal[rows], size)), size)
}

# joint() by solutions: see joint_by_parts().
joint_by_solver <- function(gram, along, left, r) {
  p <- ncol(along)
  scale <- sqrt(gram$diagonal)
  solve <- function(b) {
    by_columns(b, function(b) gram$solve(b / scale, 1e-10)$solution / scale)
  }
  root <- if (p) chol((left + t(left)) / 2) %*% regular_root(r) else left
  along <- along %*% r
  first <- seq_len(p)
  by_trend <- function(b) {
    gap <- b[first, , drop = FALSE] - crossprod(along, rows_behind(b, p))
    if (p) backsolve(root, gap, transpose = TRUE) else gap
  }
  inner <- function(b) {
    low <- rows_behind(b, p)
    crossprod(by_trend(b)) + crossprod(low, solve(low))
  }
  list(
    half = function(b) semidefinite_half(inner(b)), width = 100,
    draw = function(nsim) {
      trend <- if (p) backsolve(root, normal_numbers(p, nsim)) else matrix(0, 0, nsim)
      noise <- gram$back(normal_numbers(gram$points, nsim))
      rbind(trend, solve(normal_numbers(gram$size, nsim) + noise) - along %*% trend)
    },
    determined = function(rows) {
      signs <- matrix(0, gram$size, 64)
      signs[rows, ] <- with_seed(1, random_signs(length(rows), 64))
      known <- 1 / gram$diagonal[rows]
      off <- sum(signs * (solve(signs) - signs / gram$diagonal)) / 64
      trend <- if (p) sum(backsolve(root, t(along[rows, , drop = FALSE]), transpose = TRUE)^2) else 0
      length(rows) - sum(known) - off - trend
    }
  )
}

# H with H' H = M, for a matrix M that is positive semidefinite up to rounding.
semidefinite_half <- function(M) {
  decomposed <- eigen((M + t(M)) / 2, symmetric = TRUE)
  sqrt(pmax(decomposed$values, 0)) * t(decomposed$vectors)
}
