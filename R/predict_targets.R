# The targets of a prediction: points, or means of the field over weighted points, such as blocks.

# A list of the number `n` of targets; the trend `x`, with a row for each target; the coordinates `u` of all points of
# the targets, and the weights `weight` of these points; and `of`, the index of the target of each point, in ascending
# order. A target that is not a mean has a single point. `centres` has the centres of blocks; the neighbours of a block
# are the observations nearest to its centre. `among` has the indices of the targets among all cells of a map, see
# all_cells().
targets_of <- function(object, points) {
  n <- nrow(points$u)
  centres <- points$centres %||% if (!is.null(points$blocks)) points$u
  c(list(x = estimated_trend(object, points), n = n, centres = centres, among = points$among),
    points$blocks %||% list(u = points$u, of = seq_len(n), weight = rep(1, n)))
}

# The targets with the indices `rows`, which are in ascending order.
some_targets <- function(targets, rows) {
  number <- if (!are_points(targets)) match(targets$of, rows)
  points <- if (is.null(number)) rows else which(!is.na(number))
  list(x = targets$x[rows, , drop = FALSE], n = length(rows), u = targets$u[points, , drop = FALSE],
       of = if (is.null(number)) seq_along(rows) else number[points], weight = targets$weight[points],
       centres = targets$centres[rows, , drop = FALSE],
       among = if (!is.null(targets$among)) replace(targets$among, "numbers", list(targets$among$numbers[points])))
}

# TRUE if each target is one point.
are_points <- function(targets) length(targets$of) == targets$n && all(targets$weight == 1)

# The weighted means of the rows of x over the points of each target.
gathered <- function(x, targets) {
  if (are_points(targets)) return(x)
  unname(rowsum(as.matrix(x) * targets$weight, targets$of))
}

# Computes f(targets) for successive parts of the targets, with about `width` points in each part, and shows a progress
# bar. Returns the results of all parts, joined by rows.
by_parts <- function(targets, width, f) {
  first <- c(1, 1 + cumsum(tabulate(targets$of, targets$n)))[seq_len(targets$n)]
  parts <- unname(split(seq_len(targets$n), first %/% width))
  results <- with_bar("Predicting", lapply(parts, function(rows) {
    say_progress(step = paste("point", rows[[1]], "of", targets$n), fraction = (rows[[1]] - 1) / targets$n)
    f(some_targets(targets, rows))
  }))
  if (length(results)) do.call(rbind, results) else f(targets)
}

# A row for each target: the indices of its first and its last point.
rows_of_targets <- function(targets) {
  last <- cumsum(tabulate(targets$of, targets$n))
  cbind(c(1, last[-length(last)] + 1), last, deparse.level = 0)
}

# The argument `ranges` of an operator. Row k of `i` and row k of `j` are ranges of points, and the operator combines
# the points in row k of `i` only with the points in row k of `j`.
paired_ranges <- function(i, j) {
  number <- seq_len(nrow(i))
  list(ranges_i = i, slices_i = number, redranges_j = j, ranges_j = j, slices_j = number, redranges_i = i)
}

# The variance of each target; for a mean over several points, the mean covariance of all pairs of points.
target_variance <- function(object, targets) {
  variance_at <- covariance_diagonal(object$model)
  if (are_points(targets)) return(as.vector(variance_at(list(theta = object$theta, x = targets$u))))
  theta <- theta_of_targets(object, targets)
  rows <- rows_of_targets(targets)
  within <- covariance_product(object$model)(list(theta = theta, x = targets$u, y = targets$u, b = targets$weight),
                                             ranges = paired_ranges(rows, rows))
  as.vector(gathered(within, targets))
}

# The covariance matrix of all targets.
joint_prior <- function(object, targets) {
  theta <- theta_of_targets(object, targets)
  input <- list(theta = theta, x = targets$u, y = targets$u)
  if (nrow(targets$u) <= 2 * targets$n || nrow(targets$u) <= 2000) {
    return(gathered(t(gathered(covariance_matrix(object$model)(input), targets)), targets))
  }
  # with many points for each target, the covariance matrix of the points would need much memory and is not stored
  weights <- matrix(0, nrow(targets$u), targets$n)
  weights[cbind(seq_along(targets$of), targets$of)] <- targets$weight
  crossprod(weights, matrix(covariance_product(object$model, targets$n)(c(input, list(b = weights))), nrow(weights)))
}

# Returns a function f(targets): the covariances of the observations with the targets, with a column for each target.
target_covariance <- function(object) {
  model <- object$model
  u <- seen_points(object$data)
  nodes <- object$data$nodes
  of_points <- covariance_matrix(model, backend = object$how$backend)
  of_means <- covariance_product(model, backend = object$how$backend)
  function(targets) {
    n <- nrow(u)
    if (are_points(targets)) return(by_observation(of_points(list(theta = object$theta, x = u, y = targets$u)), nodes))
    last <- n * seq_len(targets$n)
    ranges <- paired_ranges(cbind(last - n + 1, last), rows_of_targets(targets))
    repeated <- u[rep(seq_len(n), targets$n), , drop = FALSE]
    by_observation(matrix(of_means(list(theta = object$theta, x = repeated, y = targets$u, b = targets$weight),
                                   ranges = ranges), n), nodes)
  }
}

symmetric <- function(x) (x + t(x)) / 2
