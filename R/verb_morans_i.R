#' Moran's I
#'
#' Tests whether values at points are spatially autocorrelated by the statistic of Moran (1950), with weights that
#' depend on distance, for all pairs of points or for the pairs within a radius.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers; at least 4 points.
#' @param values a finite number for each point.
#' @param radius the largest distance of pairs with a positive weight; with `Inf`, all pairs have positive weights.
#' @param power the weight of two points at distance \eqn{d} is \eqn{d^{-power}}; a non-negative number. Default: 1, or
#'   0 if there is a `radius`, so that all pairs within the radius have weight 1.
#' @param standardise if `TRUE`, the weights of each point are divided by their sum.
#' @param alternative `"greater"` for positive autocorrelation, `"less"` or `"two.sided"`.
#' @param permutations the number of random permutations of the values from which the p-value is computed; with 0, the
#'   p-value is computed from the normal approximation.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`, for sums over all pairs.
#'
#' @details
#' With the weights \eqn{w_{ij}}, where \eqn{w_{ii} = 0}, the sum \eqn{S_0} of the weights, and the deviations \eqn{z_i}
#' of the values from their mean, the statistic is \deqn{I = \frac{n}{S_0} \frac{\sum_{ij} w_{ij} z_i z_j}{\sum_i
#' z_i^2}.} The expectation of I without autocorrelation is \eqn{-1 / (n - 1)}. The variance of I is computed under
#' randomisation, where each order of the values is equally likely (Cliff and Ord 1981). The number n includes points
#' without neighbours within the radius.
#'
#' Weights of all pairs are not stored; pairs within a radius are found by [neighbours_within()]. The statistics of all
#' permutations are computed in one pass over the pairs. The p-value from permutations is \eqn{(1 + b) / (1 + B)}, where
#' b of the B permutations have a statistic at least as extreme as the statistic of the values. Random numbers come from
#' R's generator: see [set.seed()].
#'
#' @return A list of class `htest`: `statistic`, the difference of I from its expectation in standard deviations or,
#'   with permutations, I; `p.value`; `estimate`, a vector of I, its expectation and variance; `alternative`, `method`
#'   and `data.name`; and `permuted`, the statistics of the permutations.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, equal values, points at
#'   distance 0 if `power` is positive, no pair within the radius, or equal weights of all pairs, for which I is always
#'   \eqn{-1 / (n - 1)}; `kernops_dim_error` if there is not one value for each point.
#'
#' @references
#' Cliff, A. D. and Ord, J. K. (1981) *Spatial processes: models and applications.* Pion.
#'
#' Moran, P. A. P. (1950) Notes on continuous stochastic phenomena. *Biometrika* 37(1/2), 17-23.
#'
#' @seealso [neighbours_within()] for the pairs, [ripley_k()] for the pattern of the points themselves; [gp()] estimates
#'   the range of the autocorrelation.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(400), 200)
#' z <- sin(5 * x[, 1]) + rnorm(200)
#' morans_i(x, z)
#' if (requireNamespace("Matrix", quietly = TRUE)) {
#'   morans_i(x, z, radius = 0.1, permutations = 99)
#'   morans_i(quakes[c("long", "lat")], quakes$depth, radius = 1)
#' }
#' @export
morans_i <- function(x, values, radius = Inf, power = if (radius < Inf) 0 else 1, standardise = FALSE,
                     alternative = c("greater", "less", "two.sided"), permutations = 0,
                     backend = c("auto", "cpu", "cuda")) {
  name <- paste(deparse1(substitute(values)), "at", deparse1(substitute(x)))
  x <- unname(verb_points(x, "x"))
  z <- morans_deviations(values, nrow(x))
  check_radius(radius, "radius")
  check_number(power, "power", least = 0)
  check_flag(standardise, "standardise")
  alternative <- check_choice(alternative, "alternative", c("greater", "less", "two.sided"))
  check_number(permutations, "permutations", least = 0, whole = TRUE)
  product <- if (radius < Inf) near_weights(x, radius, power) else pair_weights(x, power, check_backend(backend))
  permuted <- if (permutations) replicate(permutations, sample(z))
  test <- morans_test(product, cbind(z, permuted, deparse.level = 0), standardise, alternative)
  structure(c(test, alternative = alternative, method = "Moran's I under randomisation", data.name = name),
            class = "htest")
}

# The deviations of the values from their mean, scaled so that the largest absolute deviation is 1.
morans_deviations <- function(values, n, call = caller_env()) {
  if (!is_plain_numeric(values) || !all(is.finite(values))) {
    stop_kernops("input", "{.arg values} must be finite numbers, one for each point.", call = call)
  }
  if (length(values) != n) {
    stop_kernops("dim", "{.arg values} must have one number for each of the {n} point{?s}, not {length(values)}.",
                 call = call)
  }
  if (n < 4) stop_kernops("input", "The test needs at least 4 points, not {n}.", call = call)
  largest <- max(abs(values))
  if (all(values == values[[1]])) stop_kernops("input", "All {.arg values} are equal.", call = call)
  z <- as.numeric(values) / largest
  z <- z - mean(z)
  z / max(abs(z))
}

# Returns a function of a matrix v: the product of the matrix of weights and v or, with `times` = 2, the product of the
# matrix of squared weights and v. Coordinates are divided by their largest absolute value, which prevents overflow and
# is possible because I does not depend on the scale of weights.
pair_weights <- function(x, power, backend, call = caller_env()) {
  if (power == 0) stop_equal_weights(call)
  check_distinct(x, call)
  x <- x - rep(x[1, ], each = nrow(x))
  x <- x / max(column_sizes(x), .Machine$double.xmin)
  function(v, times = 1) {
    declared <- sprintf(c("x = Vi(%d)", "y = Vj(%d)", "v = Vj(%d)"), c(ncol(x), ncol(x), ncol(v)))
    input <- list(x, x, v)
    if (times * power == 1) return(verb_operator("Sum_Reduction(Rsqrt(SqDist(x, y)) * v, 1)", declared, backend)(input))
    formula <- "Sum_Reduction(Mask(0 < SqDist(x, y), Powf(SqDist(x, y), e)) * v, 1)"
    verb_operator(formula, c(declared, "e = Pm(1)"), backend)(c(input, -times * power / 2))
  }
}

near_weights <- function(x, radius, power, call = caller_env()) {
  if (power > 0) check_distinct(x, call)
  weight <- neighbours_within(x, radius)
  if (length(weight@x) == 0) stop_kernops("input", "No two points are within {.arg radius}.", call = call)
  weight@x <- if (power == 0) rep(1, length(weight@x)) else (weight@x / max(weight@x))^-power
  function(v, times = 1) {
    if (times == 2) weight@x <- weight@x^2
    as.matrix(weight %*% v)
  }
}

check_distinct <- function(x, call) {
  again <- which(first_rows(x) != seq_len(nrow(x)))
  if (length(again) == 0) return(invisible())
  stop_kernops("input", c("Points at distance 0 have no weight if {.arg power} is positive: see
                           {cli::qty(length(again))}row{?s} {again}.",
                          i = "With a {.arg radius}, {.code power = 0} gives all pairs weight 1."), call = call)
}

stop_equal_weights <- function(call) {
  stop_kernops("input", c("All pairs have the same weight, so that the statistic is -1 / (n - 1) for all values.",
                          i = "Use a smaller {.arg radius}, or a positive {.arg power}."), call = call)
}

# The statistics for the columns of z, which are the deviations and their permutations, and the moments for the test. u
# has the numbers by which the weights of each row are divided.
morans_test <- function(product, z, standardise, alternative, call = caller_env()) {
  n <- nrow(z)
  ones <- matrix(1, n, 1)
  sums <- product(cbind(ones, z))
  u <- if (standardise) ifelse(sums[, 1] > 0, 1 / sums[, 1], 0) else rep(1, n)
  squares <- product(cbind(ones, u), times = 2)
  s0 <- sum(u * sums[, 1])
  s1 <- sum(u^2 * squares[, 1] + u * squares[, 2])
  s2 <- sum((u * sums[, 1] + product(cbind(u)))^2)
  statistic <- n / s0 * colSums(u * z * sums[, -1, drop = FALSE]) / sum(z[, 1]^2)
  expected <- -1 / (n - 1)
  variance <- morans_second_moment(z[, 1], s0, s1, s2) - expected^2
  if (variance <= 1e-10 * expected^2) stop_equal_weights(call)
  estimate <- c("Moran's I" = statistic[[1]], Expectation = expected, Variance = variance)
  if (ncol(z) > 1) return(c(morans_permuted(statistic, expected, alternative), list(estimate = estimate)))
  score <- (statistic - expected) / sqrt(variance)
  p <- switch(alternative, greater = stats::pnorm(score, lower.tail = FALSE), less = stats::pnorm(score),
              two.sided = 2 * stats::pnorm(-abs(score)))
  list(statistic = c("Moran's I standard deviate" = score), p.value = p, estimate = estimate)
}

# The mean of the squared statistic over all permutations of the values.
morans_second_moment <- function(z, s0, s1, s2) {
  n <- length(z)
  kurtosis <- n * sum(z^4) / sum(z^2)^2
  fixed <- n * ((n^2 - 3 * n + 3) * s1 - n * s2 + 3 * s0^2)
  (fixed - kurtosis * ((n^2 - n) * s1 - 2 * n * s2 + 6 * s0^2)) / ((n - 1) * (n - 2) * (n - 3) * s0^2)
}

# The p-value from the statistics of permutations. Depending on `alternative`, extreme values are large values, small
# values, or values far from the expectation; differences due to rounding are ignored.
morans_permuted <- function(statistic, expected, alternative) {
  extreme <- switch(alternative, greater = statistic, less = -statistic, two.sided = abs(statistic - expected))
  permuted <- statistic[-1]
  ties <- 1e-12 * max(abs(statistic))
  p <- (1 + sum(extreme[-1] >= extreme[[1]] - ties)) / (1 + length(permuted))
  list(statistic = c("Moran's I" = statistic[[1]]), parameter = c(permutations = length(permuted)), p.value = p,
       permuted = permuted)
}
