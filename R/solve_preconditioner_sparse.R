# A sparse approximate inverse of K + lambda I by Vecchia's approximation: P^-1 = U' U, where row i of U has the entry 1
# / sd for point i and the entries -weights / sd for its neighbours, which are the nearest earlier points. The weights
# are the weights of the neighbours in the conditional mean of point i.

# `near` has coordinates in which distances reflect correlations; by default, these coordinates are computed from the
# entries of K. graph_of(near, neighbours) returns a result of sparse_graph(). The weights are computed on the device of
# the vectors of the system.
vecchia_preconditioner <- function(system, diagonal, neighbours, near = NULL, graph_of = sparse_graph,
                                   call = caller_env()) {
  entries <- system$entries()
  graph <- graph_of(near %||% entries_coordinates(entries), neighbours)
  sets <- conditional_sets(entries, graph$order, graph$neighbours, rep_len(system$lambda, system$n), mean(diagonal),
                           system$space$device, call)
  structure(list(type = "vecchia", n = system$n, rank = nrow(sets$neighbours), sets = sets, order = graph$order,
                 columns = graph$columns, logdet = 2 * sum(log(sets$sd))),
            class = "kernel_preconditioner")
}

# A list of the `order` of the points, the `neighbours` of each point, and `columns`, which has for each point the
# conditioning sets that contain it as a neighbour.
sparse_graph <- function(near, neighbours) {
  tree <- search_tree(near)
  order <- vecchia_order(near, tree = tree)
  earlier <- ordered_neighbours(tree, neighbours, order = order)
  list(order = order, neighbours = earlier, columns = sparse_columns(earlier))
}

# Returns a variant of sparse_graph() for searches of parameters. The variant returns the latest graph as long as the
# ranges of the covariance change only by a common factor, because neighbours stay the same.
remembered_graph <- function() {
  last <- NULL
  function(near, neighbours) {
    if (is.null(last) || !proportional(near, last$near)) {
      last <<- list(near = near, graph = sparse_graph(near, neighbours))
    }
    last$graph
  }
}

proportional <- function(a, b, tol = 1e-10) {
  if (!identical(dim(a), dim(b))) return(FALSE)
  factor <- sum(a * b) / max(sum(b^2), .Machine$double.xmin)
  factor > 0 && max(abs(a - factor * b)) <= tol * max(abs(a))
}

# The weights and standard deviations of the conditional distributions. Neighbours may determine a point up to rounding
# errors. Therefore noise with the variance `added` makes the covariance matrices of all sets positive definite.
conditional_sets <- function(entries, order, neighbours, noise, size, device, call) {
  values <- entries_operator(entries, device = device)
  for (more in size * c(1e-12, 1e-9, 1e-6)) {
    sets <- set_weights(values, entries$theta, entries$u[order, , drop = FALSE], (noise + more)[order], neighbours)
    if (all(is.finite(sets$weights)) && all(sets$sd > 0)) return(c(sets, list(added = more)))
  }
  stop_kernops("input", "A preconditioner requires a positive definite kernel matrix.", call = call)
}

# An operator of theta, x and y that computes the entries of K for all points x and y or, with `pairs`, for pairs of
# rows of x and y. The operator runs on the GPU `device`, or on the host if `device` is -1.
entries_operator <- function(entries, pairs = FALSE, device = -1L) {
  kinds <- c("theta = Pm(%d)", "x = Vi(%d)", if (pairs) "y = Vi(%d)" else "y = Vj(%d)")
  args <- sprintf(kinds, c(length(entries$theta), rep(ncol(entries$u), 2)))
  if (device < 0) return(kernel_operator(entries$formula, args, "auto", "float64", "cpu", stored = !pairs))
  kernel_operator(entries$formula, args, "auto", "float64", "cuda", device, stored = !pairs)
}

# The coordinates of the points of K, where each coordinate is divided by the distance over which correlations decrease
# along this coordinate.
entries_coordinates <- function(entries) {
  pairs <- entries_operator(entries, pairs = TRUE)
  values <- function(x, y) as.vector(pairs(list(theta = entries$theta, x = x, y = y)))
  scale <- correlation_scales(values, entries$u)$scale
  used <- if (any(scale > 0)) which(scale > 0) else return(entries$u)
  entries$u[, used, drop = FALSE] * rep(sqrt(scale[used]), each = nrow(entries$u))
}

# Returns the function r -> P^-1 r = U' U r, which runs on the device of the block r. The first call with a block on a
# GPU copies the factor U to this GPU.
sparse_solver <- function(precond) {
  pointer <- with(precond, sparse_hold(sets$weights, sets$sd, sets$neighbours, order, columns$start, columns$entry))
  function(r) sparse_apply(pointer, r, threads())
}

# Converts columns z of independent numbers to columns with covariance P.
sparse_colour <- function(precond, z) {
  z[precond$order, ] <- sparse_multiply(precond$sets, z, inverse = TRUE)
  z
}
