# Coefficients of effects whose precision S has too many entries for a factor. Systems are solved by preconditioned
# conjugate gradients, and the determinant is estimated by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017).
#
# With the diagonal D of S, A = D^-1/2 S D^-1/2 = I + X has the diagonal 1, and log det S = log det D + tr log A with
#   tr log A = tr (X - X^2 / 2) + tr g(X),  g(x) = log(1 + x) - x + x^2 / 2.
# The first term follows from the squares of the entries of X. For the second term, orthonormal columns Q approximate
# the eigenvectors with the largest eigenvalues of X^2, such as a shift of all levels. Q' g(X) Q is computed exactly,
# and random signs z, projected on the complement of Q, estimate the remaining part of the trace. Q and z are chosen at
# the first parameters and kept for all other parameters. The gradient is the derivative of this estimate.

# An operator that multiplies by C' U' U C, where `entries` has the columns of C. The first `known` columns of C are
# dense. `probes` is the environment of coefficient_probes(), or NULL if no determinant is needed.
operator_of_products <- function(entries, rows, known, probes) {
  low <- row_sparse(rows_behind(entries$columns, known) - known, rows_behind(entries$values, known),
                    entries$size - known)
  back <- function(x) low$crossprod(sparse_multiply(rows, x, transposed = TRUE))
  dense <- sparse_multiply(rows, t(entries$values[seq_len(known), , drop = FALSE]))
  system <- low$system(rows)
  structure(c(system, list(
    size = low$size, within = crossprod(dense), across = back(dense), back = back, points = length(rows$sd),
    probes = probes, square_adjoint = function(pairs) low$square_adjoint(rows, system$diagonal, pairs)
  )), class = "product_operator")
}

# Applies f to groups of `width` columns of b, and joins the results.
by_columns <- function(b, f, width = 16) {
  parts <- split(seq_len(ncol(b)), (seq_len(ncol(b)) - 1) %/% width)
  matrix(unlist(lapply(parts, function(part) f(b[, part, drop = FALSE]))), ncol = ncol(b))
}

solve_effects.product_operator <- function(gram, known) {
  root <- sqrt(gram$diagonal)
  determinant <- if (!is.null(gram$probes)) logdet_of_coefficients(gram, coefficient_probes(gram, gram$probes))
  if (is.null(determinant) && !is.null(gram$probes)) return(NULL)
  along <- gram$solve(gram$across / root, 1e-10)$solution / root
  left <- gram$within - crossprod(gram$across, along)
  list(logdet = determinant$logdet, logdet_error = determinant$error, along = along, gram = (left + t(left)) / 2,
       by_gram = function(by_known) adjoint_of_estimate(gram, determinant, along, by_known),
       joint = function(r) joint_by_solver(gram, along[, -1, drop = FALSE], left[-1, -1, drop = FALSE], r))
}

# log det S and its standard error, with the `directions` of its derivatives and the `signs` of these directions, see
# lik_log_forms.R. NULL if S is not positive definite.
logdet_of_coefficients <- function(gram, drawn) {
  forms <- lanczos_forms(\(x, ...) gram$product(x), cbind(drawn$basis, drawn$signs), log_beyond_square)
  if (is.null(forms)) return(NULL)
  at_random <- seq_along(forms$value) > ncol(drawn$basis)
  weights <- ifelse(at_random, 1 / sum(at_random), 1)
  list(logdet = sum(log(gram$diagonal)) - gram$square / 2 + sum(weights * forms$value),
       error = error_of_mean(forms$value[at_random]), signs = forms$signs,
       directions = forms$directions * rep(sqrt(weights[forms$of]), each = gram$size))
}

error_of_mean <- function(x) if (length(x)) stats::sd(x) / sqrt(length(x)) else 0

probes_for_coefficients <- function(control) {
  list2env(list(seed = control$seed, count = max(control$probes, 16), needed = FALSE))
}

# The largest Monte Carlo error of a log-likelihood that gives no warning.
allowed_monte_carlo <- 0.05

warn_of_monte_carlo <- function(logdet_error) {
  error <- (logdet_error %||% 0) / 2
  if (error <= allowed_monte_carlo) return(invisible())
  cli::cli_warn(c("The log-likelihood has a Monte Carlo error of {signif(error, 2)}: the precision of the coefficients
                   of random effects is too large for a factor.",
                  i = "A larger number of {.arg probes} of {.fn gp_control} makes it smaller."),
                class = c("kernops_monte_carlo_error", "kernops_warning"))
}

# The `basis` Q and the random signs z, `signs`, stored in an environment with the `seed` and the number `count` of
# signs. The number of signs is increased, up to `max_count`, until the standard error of the log-likelihood is at most
# `wanted`.
coefficient_probes <- function(gram, kept, wanted = 0.04, max_count = 96) {
  if (!is.null(kept$basis)) return(kept)
  with_seed(kept$seed, {
    kept$basis <- dominant_basis(gram, min(30, gram$size %/% 4))
    pilot <- kept$signs <- projected_signs(gram$size, kept$count, kept$basis)
    error <- logdet_of_coefficients(gram, list(basis = pilot[, 0, drop = FALSE], signs = pilot))$error %||% 0
    count <- min(max_count, ceiling(kept$count * (error / 2 / wanted)^2))
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

# The derivatives of the estimate of log det S + sum(by_known * gram). The derivatives with respect to A are M = W - X,
# where W is computed from the directions of the quadratic forms. The derivatives with respect to S are D^-1/2 M D^-1/2
# plus a diagonal matrix with the entries (1 - diag(M A)) / D, because D is the diagonal of S. The result contains the
# arguments of low_rank_adjoint() and gap_of_blocks(), and `less`, the contribution of X.
adjoint_of_estimate <- function(gram, determinant, coefficients, by_known) {
  root <- sqrt(gram$diagonal)
  known <- nrow(by_known)
  directions <- determinant$directions
  signed <- directions * rep(determinant$signs, each = gram$size)
  images <- by_columns(directions, gram$product)
  squares <- gram$square_adjoint(matrix(0L, 2, 0))
  diagonal <- (1 - rowSums(signed * images) + squares$squares) / gram$diagonal
  below <- function(x) rbind(matrix(0, known, ncol(x)), x / root)
  back <- rbind(diag(known), -coefficients)
  structure(list(
    left = cbind(back %*% by_known, below(signed)), right = cbind(back, below(directions)),
    diagonal = c(numeric(known), diagonal), less = squares, gram = gram, known = known, signed = signed / root,
    images = images * root - directions / root, explained = list(coefficients %*% by_known, coefficients)
  ), class = "probed_adjoint")
}

# The upper triangles of blocks of M (S - I), as in gap_of_blocks.level_directions(). M are the derivatives with respect
# to S minus the contribution of the known columns.
gap_of_blocks.probed_adjoint <- function(x, before, size, count) {
  rows <- before - x$known + seq_len(size * count)
  by_level <- function(x) matrix(x[rows, , drop = FALSE], size)
  gap <- tcrossprod(by_level(x$signed), by_level(x$images)) + squares_of_blocks(x, rows, size)
  gap[lower.tri(gap)] <- t(gap)[lower.tri(gap)]
  explained <- tcrossprod(by_level(x$explained[[1]]), by_level(x$explained[[2]]))
  gap - (explained + t(explained)) / 2
}

# The contribution of X and of the diagonal matrix (1 - diag(M A)) / D to the result of gap_of_blocks(). All
# coefficients of one level are observed at the same points.
squares_of_blocks <- function(x, rows, size) {
  diagonal <- x$diagonal[x$known + rows]
  if (size == 1) return(matrix(sum(diagonal * (x$gram$diagonal[rows] - 1) - x$less$squares[rows])))
  upper <- which(upper.tri(diag(size), TRUE), arr.ind = TRUE)
  levels <- matrix(rows, size)
  first <- levels[upper[, 1], , drop = FALSE]
  products <- x$gram$square_adjoint(rbind(as.integer(first), as.integer(levels[upper[, 2], ])))
  total <- matrix(0, size, size)
  total[upper] <- rowSums(matrix(x$diagonal[x$known + first] * products$gram - products$image, nrow(upper)))
  total
}

# The result of joint(), computed by conjugate gradients, see joint_by_parts().
joint_by_solver <- function(gram, coefficients, left, r) {
  p <- ncol(coefficients)
  scale <- sqrt(gram$diagonal)
  solve <- function(b) {
    by_columns(b, function(b) gram$solve(b / scale, 1e-10)$solution / scale)
  }
  root <- if (p) chol((left + t(left)) / 2) %*% regular_root(r) else left
  coefficients <- coefficients %*% r
  first <- seq_len(p)
  by_trend <- function(b) {
    gap <- b[first, , drop = FALSE] - crossprod(coefficients, rows_behind(b, p))
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
      rbind(trend, solve(normal_numbers(gram$size, nsim) + noise) - coefficients %*% trend)
    },
    determined = function(rows) {
      signs <- matrix(0, gram$size, 64)
      signs[rows, ] <- with_seed(1, random_signs(length(rows), 64))
      known <- 1 / gram$diagonal[rows]
      off <- sum(signs * (solve(signs) - signs / gram$diagonal)) / 64
      trend <- if (p) sum(backsolve(root, t(coefficients[rows, , drop = FALSE]), transpose = TRUE)^2) else 0
      length(rows) - sum(known) - off - trend
    }
  )
}

# A matrix H with H' H = M, for a matrix M that is positive semidefinite up to rounding.
semidefinite_half <- function(M) {
  decomposed <- eigen((M + t(M)) / 2, symmetric = TRUE)
  sqrt(pmax(decomposed$values, 0)) * t(decomposed$vectors)
}
