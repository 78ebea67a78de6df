# The order of points and their nearest neighbours, for Vecchia approximations. Coordinates are n x d numbers in a
# Euclidean space: see neighbour_coordinates().

orderings <- c("maxmin", "random", "coordinate", "given")

# A permutation of the rows of u. "maxmin": each point is the farthest from those before it.
vecchia_order <- function(u, ordering = orderings, seed = 1) {
  ordering <- check_choice(ordering, "ordering", orderings)
  n <- nrow(u)
  if (n == 0) return(integer())
  switch(ordering, maxmin = points_maxmin(u, threads()), random = with_seed(seed, sample.int(n)),
         coordinate = do.call(order, lapply(seq_len(ncol(u)), function(k) u[, k])), given = seq_len(n))
}

# m x n: for each row of u, or for those of the rows `of`, the m nearest of the rows before it, the nearest first and
# ties by row; 0 where there are fewer. With a thread less or more, the same.
ordered_neighbours <- function(u, m, workers = threads(), of = NULL) points_earlier(u, m, of, workers)

# m x nrow(query): the nearest rows of u, in the same way. Where u is searched several times, search_tree(u)
# makes the tree of its rows once.
nearest_points <- function(query, u, m, workers = threads()) points_nearest(query, u, m, workers)
search_tree <- function(u, workers = threads()) points_hold(u, workers)
