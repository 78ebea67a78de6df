# Forms z' f(A) z of a symmetric matrix A for which only products are available, and the derivatives of the forms with
# respect to A, by the method of Lanczos.
#
# Let V be an orthonormal basis of the Krylov space of z, let V' A V = Y diag(t) Y', and let y be the first row of Y.
# The form is |z|^2 sum(y^2 f(t)). By the derivative of matrix functions (Higham 2008, 3.11), a change dA of A changes
# the form by
#   |z|^2 sum_kl y_k y_l f[t_k, t_l] (V Y)_k' dA (V Y)_l,  f[s, t] = (f(s) - f(t)) / (s - t).
# The matrix with the entries y_k y_l f[t_k, t_l] has few eigenvalues that are not tiny. Its eigenvectors express the
# change as the sum of sign * w' dA w over a few columns w, the `directions`, each with a sign.
#
# The method calls product(x, loose), where the error of the result may be `loose` times the error of the first product:
# products of later steps may be less accurate (Simoncini and Szyld 2003).

# The logarithm, as a list of its `value` f(t) and its divided `difference` f[s, t].
matrix_logarithm <- list(
  value = log,
  difference = function(s, t) {
    x <- (s - t) / t
    ifelse(abs(x) < 1e-8, 1 - x / 2, log1p(x) / x) / t
  }
)

# The function log(1 + x) - x + x^2 / 2 of an eigenvalue 1 + x, in the form of `matrix_logarithm`.
log_beyond_square <- list(
  value = function(t) log(t) - (t - 1) + (t - 1)^2 / 2,
  difference = function(s, t) matrix_logarithm$difference(s, t) - 1 + (s + t - 2) / 2
)

# The forms z' f(A) z for the columns z: the `value` of each form, and the `directions` and `signs` of the derivatives.
# `of` is the index of the column of z to which each direction belongs. product(x, ...) returns A x. The result is NULL
# if an eigenvalue of A is not positive.
lanczos_forms <- function(product, z, f, tol = 1e-8, max_steps = 300, width = 16) {
  parts <- lapply(split(seq_len(ncol(z)), (seq_len(ncol(z)) - 1) %/% width), function(columns) {
    run <- krylov_basis(product, z[, columns, drop = FALSE], krylov_solved(tol), max_steps)
    forms <- lapply(seq_along(columns), function(k) form_of_run(run, k, f))
    if (all(lengths(forms) > 0)) forms
  })
  if (!all(lengths(parts) > 0)) return(NULL)
  forms <- unlist(parts, recursive = FALSE)
  signs <- lapply(forms, `[[`, "signs")
  list(value = vapply(forms, `[[`, 0, "value"), signs = as.numeric(unlist(signs)),
       directions = matrix(as.numeric(unlist(lapply(forms, `[[`, "directions"))), nrow(z)),
       of = rep(seq_along(forms), lengths(signs)))
}

form_of_run <- function(run, k, f, least = 1e-8) {
  tridiagonal <- run$matrix(k)
  e <- eigen(tridiagonal, symmetric = TRUE)
  if (!all(e$values > 0)) return(NULL)
  first <- run$size[[k]] * e$vectors[1, ]
  inner <- eigen(outer(first, first) * outer(e$values, e$values, f$difference), symmetric = TRUE)
  large <- which(abs(inner$values) > least * max(abs(inner$values), .Machine$double.xmin))
  vectors <- e$vectors %*% inner$vectors[, large, drop = FALSE]
  list(value = sum(first^2 * f$value(e$values)), signs = sign(inner$values[large]),
       directions = run$basis(k) %*% (vectors * rep(sqrt(abs(inner$values[large])), each = nrow(vectors))))
}

# Orthonormal bases of the Krylov spaces of the columns x, with full reorthogonalisation. The bases grow until
# solved(run), which is called after each step, is TRUE for all columns. Returns a list of `size`, the norms of the
# columns of x; basis(k), the basis V for column k; matrix(k), the tridiagonal matrix T = V' A V; and `residual`, the
# residual of the solution of A^-1 x relative to x. The relative residual is the last entry of the first column of T^-1
# times the next number below the diagonal, and is computed from the pivots of T.
krylov_basis <- function(product, x, solved, max_steps = 300) {
  scaled <- function(x, by) x * rep(by, each = nrow(x))
  size <- sqrt(colSums(x^2))
  vectors <- list(scaled(x, ifelse(size > 0, 1 / size, 0)))
  diagonal <- below <- matrix(0, 0, ncol(x))
  residual <- pivot <- 1
  repeat {
    m <- length(vectors)
    r <- product(vectors[[m]], 1 / max(1e-16, min(1, residual)))
    diagonal <- rbind(diagonal, colSums(r * vectors[[m]]))
    pivot <- diagonal[m, ] - if (m > 1) below[m - 1, ]^2 / pivot else 0
    for (v in c(vectors, vectors)) r <- r - scaled(v, colSums(r * v))
    norm <- sqrt(colSums(r^2))
    ends <- norm <= 1e-12 * abs(diagonal[1, ])
    below <- rbind(below, ifelse(ends, 0, norm))
    residual <- residual * norm / abs(pivot)
    run <- c(krylov_run(vectors, size, diagonal, below), list(residual = residual))
    if (all(ends | solved(run)) || m >= min(max_steps, nrow(x))) return(run)
    vectors <- c(vectors, list(scaled(r, ifelse(ends, 0, 1 / norm))))
  }
}

# For each column, the part of the basis before the first 0 in `below`, the numbers below the diagonal of T. A 0 means
# that the Krylov space is complete.
krylov_run <- function(vectors, size, diagonal, below) {
  count <- apply(below, 2, function(b) match(0, b, nomatch = length(b)))
  list(
    size = size, count = count, below = below,
    basis = function(k) {
      matrix(vapply(vectors[seq_len(count[[k]])], function(v) v[, k], numeric(nrow(vectors[[1]]))), ncol = count[[k]])
    },
    matrix = function(k) tridiagonal(diagonal[seq_len(count[[k]]), k], below[seq_len(count[[k]] - 1), k])
  )
}

tridiagonal <- function(diagonal, below) {
  lower <- seq_along(below)
  M <- diag(diagonal, length(diagonal))
  M[cbind(lower, lower + 1)] <- M[cbind(lower + 1, lower)] <- below
  M
}

# Returns a function solved() for krylov_basis(). The function solved() returns TRUE for a column x if the residual of
# A^-1 x is below `tol` times the norm of x.
krylov_solved <- function(tol) function(run) run$residual < tol
