# A sparse approximate inverse of K + lambda I by Vecchia's approximation: P^-1 = U' U, where row i of U has 1 / sd for
# a point and -weights / sd for its neighbours, the nearest of those before it, in the conditional mean given these.

# `near` has the points as near as they are correlated; by default, that is found from the entries of K.
vecchia_preconditioner <- function(system, diagonal, neighbours, near = NULL, call = caller_env()) {
  entries <- system$entries()
  near <- near %||% entries_coordinates(entries)
  order <- vecchia_order(near)
  sets <- conditional_sets(entries, order, ordered_neighbours(near[order, , drop = FALSE], neighbours),
                           rep_len(system$lambda, system$n), mean(diagonal), call)
  structure(list(type = "vecchia", n = system$n, rank = nrow(sets$neighbours), sets = sets, order = order,
                 columns = sparse_columns(sets$neighbours), logdet = 2 * sum(log(sets$sd))),
            class = "kernel_preconditioner")
}

# The backend is that of the product with K. Neighbours may determine a point, up to rounding: as much noise is added as
# makes all sets positive definite.
conditional_sets <- function(entries, order, neighbours, noise, size, call) {
  values <- entries_operator(entries, backend = entries$backend, device = entries$device)
  for (more in size * c(1e-12, 1e-9, 1e-6)) {
    sets <- set_weights(values, entries$theta, entries$u[order, , drop = FALSE], (noise + more)[order], neighbours)
    if (all(sets$sd > 0) && all(is.finite(sets$weights))) return(sets)
  }
  stop_kernops("input", "A preconditioner requires a positive definite kernel matrix.", call = call)
}

# The entries of K, or those of pairs of points, as an operator of theta, x and y.
entries_operator <- function(entries, pairs = FALSE, backend = "cpu", device = 0L) {
  kinds <- c("theta = Pm(%d)", "x = Vi(%d)", if (pairs) "y = Vi(%d)" else "y = Vj(%d)")
  kernel_operator(entries$formula, sprintf(kinds, c(length(entries$theta), rep(ncol(entries$u), 2))), "auto", "float64",
                  backend, device, stored = !pairs)
}

# Variables in units of the ranges of K.
entries_coordinates <- function(entries) {
  pairs <- entries_operator(entries, pairs = TRUE)
  metric <- pairs_metric(function(x, y) as.vector(pairs(list(theta = entries$theta, x = x, y = y))), entries$u)
  if (all(metric$matrix == 0)) entries$u else linear_view(metric$matrix, entries$u)
}

# P^-1 r for the columns of a matrix.
sparse_solve <- function(precond, r) {
  with(precond, sparse_apply(sets$weights, sets$sd, sets$neighbours, order, columns$start, columns$entry, r, threads()))
}

# Columns with covariance P from independent ones.
sparse_colour <- function(precond, z) {
  z[precond$order, ] <- coloured(precond$sets, z)
  z
}
