# The iterations of kmeans_large().

run_lloyd <- function(problem, centres) {
  batches <- !is.null(problem$batch)
  if (batches) centres <- move_by_batches(problem, centres)
  count <- nrow(centres)
  iterations <- if (batches) problem$iter.max else 0
  before <- NULL
  repeat {
    label <- fill_empty(problem, nearest_centre(problem, centres), centres)
    if (!batches) iterations <- iterations + 1
    converged <- identical(label, before)
    if (converged || iterations >= problem$iter.max) break
    before <- label
    centres <- cluster_means(problem, label, count)
  }
  kmeans_result(problem, label, count, iterations, if (converged || batches) 0L else 2L)
}

# Assigns a point to each empty cluster: the point with the largest contribution to the sum of squares, among the points
# that are not alone in their cluster.
fill_empty <- function(problem, label, centres) {
  size <- tabulate(label, nrow(centres))
  if (all(size > 0)) return(label)
  cost <- squares_to_centres(problem, label, centres) * (problem$weights %||% 1)
  for (empty in which(size == 0)) {
    farthest <- which.max(replace(cost, size[label] < 2, -1))
    size[[label[[farthest]]]] <- size[[label[[farthest]]]] - 1
    size[[empty]] <- 1
    label[[farthest]] <- empty
    cost[[farthest]] <- -1
  }
  label
}

squares_to_centres <- function(problem, label, centres) {
  rowSums((unname(problem$x) - centres[label, , drop = FALSE])^2)
}

# The weighted means of clusters; if all weights of a cluster are 0, the unweighted mean of its points.
cluster_means <- function(problem, label, count) {
  sums <- problem$sums(label, count)
  weightless <- sums[, ncol(sums)] == 0
  if (any(weightless)) sums[weightless, ] <- cluster_sums(problem$x, label, numeric(), count)[weightless, ]
  sums[, -ncol(sums), drop = FALSE] / sums[, ncol(sums)]
}

# The mini-batch algorithm. In each iteration, a centre moves towards the mean of the new points that are assigned to
# it. The centre moves by the fraction a / b of the distance, where a is the number of the new points and b is the
# number of all points that were assigned to the centre so far.
move_by_batches <- function(problem, centres) {
  n <- nrow(problem$x)
  met <- numeric(nrow(centres))
  for (iteration in seq_len(problem$iter.max)) {
    rows <- sample.int(n, min(problem$batch, n), replace = TRUE, prob = problem$weights)
    part <- unname(problem$x[rows, , drop = FALSE])
    sums <- cluster_sums(part, nearest_centre(problem, centres, part), numeric(), nrow(centres))
    size <- sums[, ncol(sums)]
    met <- met + size
    moved <- size > 0
    shift <- sums[moved, -ncol(sums), drop = FALSE] - size[moved] * centres[moved, , drop = FALSE]
    centres[moved, ] <- centres[moved, , drop = FALSE] + shift / met[moved]
  }
  centres
}

# The result of kmeans_large(), which has the elements of a result of stats::kmeans().
kmeans_result <- function(problem, label, count, iterations, ifault) {
  weights <- problem$weights %||% rep(1, nrow(problem$x))
  centres <- cluster_means(problem, label, count)
  square <- squares_to_centres(problem, label, centres)
  within <- cluster_sums(cbind(square), label, weights, count)[, 1]
  middle <- cluster_means(problem, rep(1L, nrow(problem$x)), 1L)
  total <- sum(weights * rowSums((problem$x - rep(middle, each = nrow(problem$x)))^2))
  dimnames(centres) <- list(seq_len(count), colnames(problem$x))
  cluster <- stats::setNames(label, rownames(problem$x))
  structure(list(cluster = cluster, centers = centres, totss = total, withinss = within, tot.withinss = sum(within),
                 betweenss = total - sum(within), size = tabulate(label, count), iter = iterations,
                 ifault = ifault), class = "kmeans")
}
