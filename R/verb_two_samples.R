#' Two-sample tests by permutations
#'
#' Tests whether two samples of points come from the same distribution: `energy_test()` uses distances, `mmd_test()` a
#' Gaussian kernel. All permutations are computed in one pass over the pairs of points.
#'
#' @param x,y the samples: n x d and m x d matrices or data frames of finite numbers, or vectors.
#' @param permutations the number of random reassignments of the points to the two samples.
#' @param sd the standard deviation s of the kernel \eqn{\exp(-|u - v|^2 / (2 s^2))}; default: the median distance
#'   between the points of both samples together (of 1,000 evenly spaced points, if there are more points).
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details `energy_test()` computes the statistic of Szekely and Rizzo (2004), \eqn{nm / (n + m) (2 A - B - C)}, where
#' A is the mean distance between the samples, B the mean distance within x, and C the mean distance within y. The means
#' B and C include the distance 0 of each point to itself. The statistic of `mmd_test()` is the squared maximum mean
#' discrepancy of Gretton et al. (2012): the mean kernel within x plus the mean kernel within y minus twice the mean
#' kernel between x and y. The means within a sample include the pairs of a point with itself. The statistics of both
#' tests are quadratic forms in the labels of the points, so that the sums for all permutations are products of one
#' matrix, which is not stored, with many right-hand sides.
#'
#' The p-value is \eqn{(1 + b) / (1 + B)}, where b of the B permutations have a statistic at least as large as the
#' statistic of the data. Random numbers come from R's generator: see [set.seed()].
#'
#' @return A list of class `htest` with `statistic`, `p.value`, `parameter`, `method` and `data.name`, and `permuted`,
#'   the statistics of the permutations.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, fewer than two points, or
#'   a median distance of 0; `kernops_dim_error` for samples with different numbers of coordinates.
#'
#' @references
#' Gretton, A., Borgwardt, K. M., Rasch, M. J., Scholkopf, B. and Smola, A. (2012) A kernel two-sample test. *Journal of
#' Machine Learning Research* 13, 723-773.
#'
#' Szekely, G. J. and Rizzo, M. L. (2004) Testing for equal distributions in high dimension. *InterStat* 5.
#'
#' @seealso [kde()] for the density of a sample, [knn()] for its neighbours.
#' @examples
#' set.seed(1)
#' setosa <- iris[iris$Species == "setosa", 1:4]
#' virginica <- iris[iris$Species == "virginica", 1:4]
#' energy_test(setosa, virginica)
#' mmd_test(setosa[1:25, ], setosa[26:50, ])
#' @export
energy_test <- function(x, y, permutations = 999, backend = c("auto", "cpu", "cuda")) {
  samples <- two_samples(x, y, permutations)
  forms <- permuted_forms(samples, "-Norm2(x - y)", list(), character(), check_backend(backend))
  size <- samples$first * samples$second / (samples$first + samples$second)
  permutation_test(forms * size, c(`E-statistic` = NA), "Energy test of equal distributions", samples$name)
}

#' @rdname energy_test
#' @export
mmd_test <- function(x, y, permutations = 999, sd = NULL, backend = c("auto", "cpu", "cuda")) {
  samples <- two_samples(x, y, permutations)
  if (is.null(sd)) sd <- median_distance(samples$points) else check_number(sd, "sd", least = 0, above = TRUE)
  forms <- permuted_forms(samples, "Exp(-s * SqDist(x, y))", list(1 / (2 * sd^2)), "s = Pm(1)", check_backend(backend))
  test <- permutation_test(forms, c(`MMD^2` = NA), "Maximum mean discrepancy test of equal distributions", samples$name)
  test$parameter <- c(test$parameter, sd = sd)
  test
}

# Both samples as one matrix `points`, from which the first point is subtracted.
two_samples <- function(x, y, permutations, call = caller_env()) {
  name <- paste(deparse1(substitute(x, call)), "and", deparse1(substitute(y, call)))
  x <- unname(verb_points(x, "x", call = call))
  y <- unname(verb_points(y, "y", ncol(x), call))
  check_number(permutations, "permutations", least = 1, whole = TRUE, call = call)
  points <- rbind(x, y)
  list(points = points - rep(points[1, ], each = nrow(points)), first = nrow(x), second = nrow(y),
       permutations = permutations, name = name)
}

# The quadratic forms z' K z for the labels z of the data and of each permutation. A label is 1/n for a point of x and
# -1/m for a point of y.
permuted_forms <- function(samples, kernel, parameters, declared, backend) {
  z <- rep(c(1 / samples$first, -1 / samples$second), c(samples$first, samples$second))
  labels <- cbind(z, replicate(samples$permutations, sample(z)), deparse.level = 0)
  formula <- sprintf("Sum_Reduction(%s * z, 1)", kernel)
  sizes <- c(ncol(samples$points), ncol(samples$points), ncol(labels))
  declared <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "z = Vj(%d)"), sizes), declared)
  op <- verb_operator(formula, declared, backend)
  colSums(labels * op(c(list(samples$points, samples$points, labels), parameters)))
}

# An object of class htest for a statistic. `values` are the statistic of the data, followed by the statistics of
# permutations. Statistics that differ only by rounding errors are treated as equal.
permutation_test <- function(values, statistic, method, name) {
  statistic[] <- values[[1]]
  permuted <- values[-1]
  ties <- 1e-12 * max(abs(values))
  structure(list(statistic = statistic, parameter = c(permutations = length(permuted)),
                 p.value = (1 + sum(permuted >= values[[1]] - ties)) / (1 + length(permuted)), method = method,
                 data.name = name, permuted = permuted), class = "htest")
}

median_distance <- function(points, name = "sd", call = caller_env()) {
  rows <- spaced_rows(nrow(points), 1000)
  middle <- stats::median(stats::dist(points[rows, , drop = FALSE]))
  if (!is.na(middle) && middle > 0) return(middle)
  stop_kernops("input", "The median distance of the points is 0: {.arg {name}} has no default.", call = call)
}
