# The order of points and their nearest neighbours, for Vecchia approximations. Coordinates u are an n x d matrix with a
# row for each point in a Euclidean space, see neighbour_coordinates().

orderings <- c("maxmin", "random", "coordinate", "given")

# A permutation of the rows of u. With "maxmin", each point is the point farthest from all earlier points. `tree` is
# search_tree(u).
vecchia_order <- function(u, ordering = orderings, seed = 1, tree = search_tree(u)) {
  ordering <- check_choice(ordering, "ordering", orderings)
  n <- nrow(u)
  if (n == 0) return(integer())
  switch(ordering, maxmin = points_maxmin(tree, threads()), random = with_seed(seed, sample.int(n)),
         coordinate = do.call(order, lapply(seq_len(ncol(u)), function(k) u[, k])), given = seq_len(n))
}

# A matrix of m rows with a column for each row of u, or for each of the rows `of`. The column has the indices of the m
# nearest earlier rows, the nearest first; ties are sorted by index, and 0 fills the column if there are fewer than m
# earlier rows. The result does not depend on the number of threads or the backend. With an `order`, u[order, ] is used
# in place of u. `backend` is a name, or an operator whose backend is used.
ordered_neighbours <- function(u, m, workers = threads(), of = NULL, order = NULL, backend = default_backend()) {
  points_earlier(as_tree(u), order, m, of, neighbour_settings(workers, backend))
}

# A matrix of m rows with a column for each row of `query`: the indices of the m nearest rows of u, the nearest first.
nearest_points <- function(query, u, m, workers = threads(), backend = default_backend()) {
  points_nearest(with_coordinate(query), as_tree(u), m, neighbour_settings(workers, backend))
}

# For each row of u[order, ], or for its rows `of`, the m nearest among the rows of `base` and the earlier rows. The
# indices are those that ordered_neighbours(rbind(base, u[order, ])) returns. `base` and `u` may be trees.
following_neighbours <- function(base, u, order, m, of = NULL, backend = default_backend()) {
  points_following(as_tree(base), as_tree(u), order, m, of, neighbour_settings(threads(), backend))
}

# Adds the points in a column of `more` to the same column of `near`, unless the column already contains them. The added
# points replace the last points of the column, which are the farthest.
joined_neighbours <- function(near, more) points_joined(near, more, threads())

# A search tree of the rows of u. The search functions in this file accept the tree in place of u, so that the tree is
# built once for several searches.
search_tree <- function(u, workers = threads()) {
  kind <- if (nrow(u) > 2e4) "trees" else "small trees" # small trees must not displace large trees from the cache
  recalled(kind, u, function() points_hold(with_coordinate(u), workers), max_entries = 3)
}

# The result of compute(), which depends on `key` alone. Within with_trees(), the last `max_entries` results with the
# same `kind` are cached.
recalled <- function(kind, key, compute, max_entries = 1) {
  if (is.null(the$recalled)) return(compute())
  before <- the$recalled[[kind]]
  same <- Position(function(kept) identical(kept$key, key), before)
  kept <- if (is.na(same)) list(key = key, value = compute()) else before[[same]]
  the$recalled[[kind]] <- utils::head(c(list(kept), if (is.na(same)) before else before[-same]), max_entries)
  kept$value
}

# Evaluates code, and lets recalled() cache results during this time. For example, several steps of a fit search the
# same points, for which search_tree() then builds only one tree.
with_trees <- function(code) {
  before <- the$recalled
  on.exit(the$recalled <- before)
  the$recalled <- before %||% list()
  code
}

# Adds a constant coordinate if u has no columns, because points without coordinates are all at one location.
with_coordinate <- function(u) if (ncol(u)) u else matrix(0, nrow(u), 1)

as_tree <- function(u) if (is.matrix(u)) search_tree(u) else u

neighbour_settings <- function(workers, backend) {
  if (is.function(backend)) backend <- settings_of(backend)$backend
  list(threads = workers, backend = backend, devices = first_device())
}

default_backend <- function() check_backend(c("auto", "cpu", "cuda"))
