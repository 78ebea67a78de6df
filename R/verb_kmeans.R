#' k-means clustering of many points
#'
#' Clusters points by the algorithm of Lloyd (1982), and returns an object like that of [stats::kmeans()]. Distances are
#' computed on all cores or on a GPU.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param centers the number of clusters, at least 1 and at most the number of distinct points; or initial centres, a
#'   matrix of d columns.
#' @param iter.max the largest number of iterations.
#' @param nstart the number of starts with different random centres; the best result is returned.
#' @param weights a non-negative weight for each point; default: 1. A point of weight 2 counts as two points.
#' @param seeding the choice of initial centres: `"++"` draws each centre with a probability proportional to the weight
#'   times the squared distance to the nearest previous centre (Arthur and Vassilvitskii 2007); `"random"` draws
#'   distinct points as [stats::kmeans()] does.
#' @param batch `NULL`, or the number of random points from which an iteration moves the centres (mini-batch k-means,
#'   Sculley 2010): faster for millions of points, and less accurate. All points are assigned at the end.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details An iteration assigns each point to its nearest centre (to the first of several equally near centres), and
#' moves each centre to the weighted mean of its points. Iterations end when no assignment changes. So that no cluster
#' is empty, a centre that loses all its points moves to another point: to the point with the largest weighted squared
#' distance from its centre, among the points that are not alone in their cluster. The algorithm finds a local minimum
#' of the weighted sum of squares: use several starts.
#'
#' Random numbers come from R's generator: see [set.seed()].
#'
#' @return A list of class `kmeans` with the elements of [stats::kmeans()]: `cluster`, `centers`, `totss`, `withinss`,
#'   `tot.withinss`, `betweenss`, `size` (numbers of points), `iter` and `ifault`, which is 2 if `iter.max` was reached.
#'   With weights, sums of squares are weighted sums. Methods such as `fitted()` and `print()` apply.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, or more clusters than
#'   distinct points of positive weight; `kernops_dim_error` if the number of coordinates of `centers` differs from that
#'   of `x`. A warning of class `kernops_not_converged` if `iter.max` is reached.
#'
#' @references
#' Arthur, D. and Vassilvitskii, S. (2007) k-means++: the advantages of careful seeding. *Proceedings of the 18th Annual
#' ACM-SIAM Symposium on Discrete Algorithms*, 1027-1035.
#'
#' Lloyd, S. P. (1982) Least squares quantization in PCM. *IEEE Transactions on Information Theory* 28(2), 129-137.
#'
#' Sculley, D. (2010) Web-scale k-means clustering. *Proceedings of the 19th International Conference on World Wide
#' Web*, 1177-1178.
#'
#' @seealso [stats::kmeans()], which is faster for up to about 10 clusters of points with two or three coordinates, and
#'   whose default algorithm, by Hartigan and Wong, often finds a better minimum from one start.
#' @examples
#' set.seed(1)
#' x <- rbind(matrix(rnorm(200, sd = 0.3), ncol = 2), matrix(rnorm(200, mean = 1, sd = 0.3), ncol = 2))
#' fit <- kmeans_large(x, 2, nstart = 5)
#' fit$centers
#' table(fit$cluster, rep(1:2, each = 100))
#' @export
kmeans_large <- function(x, centers, iter.max = 100, nstart = 1, weights = NULL, seeding = c("++", "random"),
                         batch = NULL, backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  check_number(iter.max, "iter.max", least = 1, whole = TRUE)
  check_number(nstart, "nstart", least = 1, whole = TRUE)
  if (!is.null(batch)) check_number(batch, "batch", least = 1, whole = TRUE)
  nearest <- nearest_centre_operator(ncol(x), check_backend(backend))
  problem <- list(x = x, weights = verb_weights(weights, nrow(x)), batch = batch, iter.max = iter.max,
                  nearest = nearest, resident = resident_points(nearest, unname(x)))
  problem$sums <- sums_by_cluster(problem)
  seeding <- check_choice(seeding, "seeding", c("++", "random"))
  start <- starting_centres(centers, x, problem$weights, seeding)
  fits <- lapply(seq_len(if (is.function(start)) nstart else 1), function(n) {
    run_lloyd(problem, if (is.function(start)) start() else start)
  })
  fit <- fits[[which.min(vapply(fits, `[[`, 0, "tot.withinss"))]]
  if (fit$ifault == 2) {
    cli::cli_warn("The clusters still changed after {iter.max} iteration{?s}: use a larger {.arg iter.max}.",
                  class = "kernops_not_converged")
  }
  fit
}

nearest_centre_operator <- function(d, backend) {
  verb_operator("ArgMin_Reduction(SqDist(x, c), 1)", sprintf(c("x = Vi(%d)", "c = Vj(%d)"), d), backend)
}

# Returns the index of the nearest centre for each of the points, by default for all points.
nearest_centre <- function(problem, centres, points = problem$resident) {
  as.integer(problem$nearest(list(points, centres)))
}

# Returns a function of the cluster indices of all points. The function computes the weighted sum of the points of each
# cluster and, in the last column, the sum of their weights. If the points are on a GPU, this GPU computes the sums.
sums_by_cluster <- function(problem) {
  weights <- problem$weights %||% numeric()
  if (!is_gpu_matrix(problem$resident)) return(\(label, count) cluster_sums(problem$x, label, weights, count))
  weights <- problem$weights %||% rep(1, nrow(problem$x))
  weighted <- gpu_matrix(cbind(weights * unname(problem$x), weights), "float64", gpu_describe(problem$resident)$device)
  \(label, count) matrix(run_plan(weighted, temporary(numbered_plan(label, count)), "sum"), count)
}

# The centres that the user gave, or a function that draws centres.
starting_centres <- function(centers, x, weights, seeding, call = caller_env()) {
  if (is.matrix(centers) || is.data.frame(centers)) {
    centres <- verb_points(centers, "centers", ncol(x), call)
    if (anyDuplicated(centres)) stop_kernops("input", "Initial {.arg centers} must be distinct.", call = call)
    count <- nrow(centres)
  } else {
    check_number(centers, "centers", least = 1, whole = TRUE, call = call)
    count <- centers
  }
  x <- unname(x)
  used <- if (is.null(weights)) seq_len(nrow(x)) else which(weights > 0)
  distinct <- distinct_points(x, utils::head(used, 100 + 4 * count)) # usually enough for `count` points
  if (count > length(distinct) || seeding == "random") distinct <- distinct_points(x, used)
  if (count > length(distinct)) {
    stop_kernops("input", "There must be at most as many clusters as distinct points of positive weight,
                           {length(distinct)}, not {count}.", call = call)
  }
  if (is.matrix(centers) || is.data.frame(centers)) return(unname(centres))
  switch(seeding, "++" = function() seed_by_distance(x, count, weights),
         random = function() x[distinct[sample.int(length(distinct), count)], , drop = FALSE])
}

# The elements of `rows` whose points differ from the points of all earlier elements.
distinct_points <- function(x, rows) rows[first_rows(x[rows, , drop = FALSE]) == seq_along(rows)]

# Chooses initial centres by k-means++. The centres are distinct points, because points that coincide with a centre have
# probability 0.
seed_by_distance <- function(x, count, weights) {
  draw <- function(mass) {
    ends <- cumsum(mass)
    which.max(ends > stats::runif(1) * ends[length(ends)])
  }
  square_to <- verb_operator("Sum_Reduction(SqDist(x, c), 1)", sprintf(c("x = Vi(%d)", "c = Vj(%d)"), ncol(x)), "cpu")
  chosen <- draw(weights %||% rep(1, nrow(x)))
  square <- rep(Inf, nrow(x))
  while (length(chosen) < count) {
    square <- pmin(square, square_to(list(x, x[chosen[length(chosen)], , drop = FALSE])))
    chosen <- c(chosen, draw(if (is.null(weights)) square else square * weights))
  }
  x[chosen, , drop = FALSE]
}
