#' Distance correlation and independence tests
#'
#' Measures the dependence of two sets of variables that were observed together, and tests by permutations whether the
#' two sets are independent. `distance_correlation()` uses distances, `hsic_test()` Gaussian kernels. For large n, both
#' statistics are 0 only if the variables are independent.
#'
#' @param x,y the variables: n x d and n x e matrices or data frames of finite numbers, or vectors; row i of `x` was
#'   observed with row i of `y`.
#' @param permutations the number of random permutations of the observations of `y`; if it is 0, no p-value is computed.
#' @param sd the standard deviations s of the kernels \eqn{\exp(-|u - v|^2 / (2 s^2))} of `x` and of `y`: two numbers,
#'   or one number for both. Default: the median distance between points (of 1,000 evenly spaced rows, if there are more
#'   rows).
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details Let A be the matrix of distances between the rows of x, and B the matrix of distances between the rows of y,
#' both centred so that rows and columns have mean 0. The distance correlation is \deqn{R = \sqrt{\frac{\mathrm{mean}(A
#' B)}{\sqrt{\mathrm{mean}(A^2)\, \mathrm{mean}(B^2)}}}} with means over all entries of elementwise products (Szekely,
#' Rizzo and Bakirov 2007); it is between 0 and 1. The Hilbert-Schmidt independence criterion (HSIC) is mean(A B) with
#' the centred kernel matrices A and B. The mean includes the diagonal, that is, the pairs of a point with itself
#' (Gretton et al. 2008).
#'
#' If x and y have one column each, the time of a distance correlation is proportional to n log n (Huo and Szekely
#' 2016); in all other cases it is proportional to n^2. A test takes this time for each permutation. On the CPU, tests
#' of at most 5,000 observations in several columns store the matrix B, with 8 n^2 bytes. In all other cases no matrix
#' of all pairs is stored, and one pass over the pairs computes the statistics of up to 64 permutations.
#'
#' The p-value is \eqn{(1 + b) / (1 + B)}, where b of the B permutations have a statistic at least as large as the
#' statistic of the data. Random numbers come from R's generator: see [set.seed()].
#'
#' @return A list of class `htest`:
#'   * `statistic`, the distance correlation, or the HSIC;
#'   * `estimate` of `distance_correlation()`: `dCov`, `dVarX` and `dVarY`, the square roots of the three means;
#'   * with permutations, `p.value`, `parameter`, and `permuted`, the statistics of the permutations;
#'   * `method` and `data.name`.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, fewer than two
#'   observations, or a median distance of 0; `kernops_dim_error` for different numbers of observations.
#'
#' @references
#' Gretton, A., Fukumizu, K., Teo, C. H., Song, L., Scholkopf, B. and Smola, A. J. (2008) A kernel statistical test of
#' independence. *Advances in Neural Information Processing Systems* 20, 585-592.
#'
#' Huo, X. and Szekely, G. J. (2016) Fast computing for distance covariance. *Technometrics* 58(4), 435-447.
#'
#' Szekely, G. J., Rizzo, M. L. and Bakirov, N. K. (2007) Measuring and testing dependence by correlation of distances.
#' *Annals of Statistics* 35(6), 2769-2794.
#'
#' @seealso [energy_test()] and [mmd_test()] for two samples of one distribution; [stats::cor.test()] for linear
#'   dependence.
#' @examples
#' set.seed(1)
#' x <- rnorm(200)
#' y <- x^2 + rnorm(200, sd = 0.5)
#' cor(x, y)
#' distance_correlation(x, y, permutations = 199)
#' hsic_test(iris[1:2], iris[3:4], permutations = 99)
#' @export
distance_correlation <- function(x, y, permutations = 0, backend = c("auto", "cpu", "cuda")) {
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  pair <- observed_together(x, y, permutations)
  backend <- check_backend(backend)
  on_lines <- ncol(pair$x) == 1 && ncol(pair$y) == 1
  means <- if (on_lines) line_means(pair) else centred_means(pair, "Sqrt", list(), backend)
  roots <- sqrt(pmax(means$squares, 0))
  covariances <- sqrt(pmax(means$products, 0))
  scale <- sqrt(prod(roots))
  test <- permuted_test(if (scale > 0) covariances / scale else 0 * covariances, "dCor", "Distance correlation", name)
  test$estimate <- c(dCov = covariances[[1]] * sqrt(prod(pair$units)), dVarX = roots[[1]] * pair$units[[1]],
                     dVarY = roots[[2]] * pair$units[[2]])
  test
}

#' @rdname distance_correlation
#' @export
hsic_test <- function(x, y, permutations = 999, sd = NULL, backend = c("auto", "cpu", "cuda")) {
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(y)))
  pair <- observed_together(x, y, permutations)
  backend <- check_backend(backend)
  if (is.null(sd)) sd <- c(median_distance(pair$x), median_distance(pair$y)) * pair$units
  fits <- is_plain_numeric(sd) && length(sd) %in% 1:2 && all(is.finite(sd)) && all(sd > 0)
  if (!fits) stop_kernops("input", "{.arg sd} must be one or two finite positive numbers.")
  means <- centred_means(pair, "Exp", as.list(-1 / (2 * (rep_len(sd, 2) / pair$units)^2)), backend)
  test <- permuted_test(means$products, "HSIC", "Hilbert-Schmidt independence test", name)
  test$parameter <- c(test$parameter, sd_x = rep_len(sd, 2)[[1]], sd_y = rep_len(sd, 2)[[2]])
  test
}

# A list of `x` and `y`, shifted so that the first point is 0 and scaled so that the largest coordinate is about 1; and
# `orders`, a matrix with a column for the data and for each permutation: the order of the rows of y.
observed_together <- function(x, y, permutations, call = caller_env()) {
  x <- unname(verb_points(x, "x", call = call))
  y <- unname(verb_points(y, "y", call = call))
  check_number(permutations, "permutations", least = 0, whole = TRUE, call = call)
  n <- nrow(x)
  if (nrow(y) != n) {
    stop_kernops("dim", "{.arg x} and {.arg y} must have as many rows, not {n} and {nrow(y)}.", call = call)
  }
  if (n < 2) stop_kernops("input", "{.arg x} and {.arg y} must have at least two observations.", call = call)
  near_zero <- function(u) u - rep(u[1, ], each = n)
  x <- near_zero(x)
  y <- near_zero(y)
  units <- vapply(list(x, y), function(u) if (any(u != 0)) 2^floor(log2(max(column_sizes(u)))) else 1, 0)
  orders <- cbind(seq_len(n), if (permutations) replicate(permutations, sample.int(n)))
  list(x = x / units[[1]], y = y / units[[2]], units = units, orders = orders)
}

# For x and y with one column each: `products`, mean(A B) for each order of y, and `squares`, mean(A^2) and mean(B^2),
# where A and B are the centred distance matrices. The means are computed from sums over the sorted points.
line_means <- function(pair) {
  n <- nrow(pair$x)
  by_x <- order(pair$x)
  x <- pair$x[by_x] - mean(pair$x)
  y <- drop(pair$y) - mean(pair$y)
  mean_x <- line_row_means(x)
  mean_y <- line_row_means(y)
  products <- unlist(lapply(split(seq_len(ncol(pair$orders)), (seq_len(ncol(pair$orders)) - 1) %/% 64), function(some) {
    rows <- pair$orders[by_x, some, drop = FALSE]
    sums <- line_products(x, matrix(y[rows], n), threads())
    sums / n^2 + mean(mean_x) * mean(mean_y) - 2 * colMeans(mean_x * matrix(mean_y[rows], n))
  }), use.names = FALSE)
  square <- function(u, means) 2 * mean(u^2) + mean(means)^2 - 2 * mean(means^2)
  list(products = products, squares = c(square(x, mean_x), square(y, mean_y)))
}

# The mean distance of each number to all numbers; the numbers have mean 0.
line_row_means <- function(u) {
  n <- length(u)
  up <- order(u)
  sorted <- u[up]
  means <- numeric(n)
  means[up] <- (sorted * (2 * seq_len(n) - n) - 2 * cumsum(sorted)) / n
  means
}

# The means of line_means() for points with any number of coordinates. `outer` is the name of a function of formulas; an
# entry of A or B is this function of the squared distance of two points. The first of three passes over all pairs
# computes row means, and the second computes sums over centred entries. The third pass computes sums of centred entries
# of A times entries of B for permuted points; the entries of B need no centring. `factors` multiply the squared
# distances within x and within y.
centred_means <- function(pair, outer, factors, backend) {
  n <- nrow(pair$x)
  run <- function(formula, sizes, input) {
    axes <- c("x = Vi(%d)", "p = Vj(%d)", "y = Vi(%d)", "q = Vj(%d)", "r = Vi(%d)", "s = Vj(%d)")[seq_along(sizes)]
    declared <- c(sprintf(axes, sizes), if (length(factors)) c("e = Pm(1)", "f = Pm(1)"))
    verb_operator(sprintf("Sum_Reduction(%s, 1)", formula), declared, backend)(c(unname(input), factors))
  }
  entry <- function(square, factor) {
    if (length(factors)) sprintf("%s(%s * (%s))", outer, factor, square) else sprintf("%s(%s)", outer, square)
  }
  a <- entry("SqDist(x, p)", "e")
  b <- entry("SqDist(y, q)", "f")
  sizes <- rep(c(ncol(pair$x), ncol(pair$y)), each = 2)
  sides <- pair[c("x", "x", "y", "y")]
  means <- run(sprintf("Concat(%s, %s)", a, b), sizes, sides) / n
  shifted <- cbind(means[, 1] - mean(means[, 1]) / 2, means[, 2] - mean(means[, 2]) / 2)
  a <- sprintf("(%s - Elem(r, 0) - Elem(s, 0))", a)
  b <- sprintf("(%s - Elem(r, 1) - Elem(s, 1))", b)
  all <- run(sprintf("Concat(%s * %s, Concat(Square(%s), Square(%s)))", a, b, a, b), c(sizes, 2, 2),
             c(sides, list(shifted, shifted)))
  on_cpu <- backend == "cpu" || backend == "auto" && nzchar(cuda_problem(first_device()))
  products <- if (on_cpu && n <= most_stored) {
    stored_means(pair, a, entry("SqDist(x, p)", "e"), shifted, factors)
  } else {
    permuted_means(pair, a, entry, shifted, factors, backend)
  }
  list(products = c(mean(all[, 1]) / n, products), squares = colMeans(all[, 2:3]) / n)
}

# mean(A B) for each permutation, from the stored matrix B and from blocks of columns of A. `a` is the formula of an
# entry of A, and `b` is the formula of an entry of B, in the variables x and p.
stored_means <- function(pair, a, b, shifted, factors) {
  if (ncol(pair$orders) < 2) return(NULL)
  n <- nrow(pair$x)
  store <- function(formula, sizes, input) {
    declared <- c(sprintf(c("x = Vi(%d)", "p = Vj(%d)", "r = Vi(%d)", "s = Vj(%d)")[seq_along(sizes)], sizes),
                  if (length(input) > length(sizes)) "e = Pm(1)")
    recent_operator(sprintf("Sum_Reduction(%s, 1)", formula), declared, "auto", "float64", "cpu", stored = TRUE)(input)
  }
  B <- store(b, rep(ncol(pair$y), 2), c(list(pair$y, pair$y), utils::tail(factors, 1)))
  orders <- pair$orders[, -1, drop = FALSE]
  sums <- for_row_blocks(n, n, function(block) {
    input <- list(pair$x, pair$x[block, , drop = FALSE], shifted, shifted[block, , drop = FALSE])
    A <- store(a, c(rep(ncol(pair$x), 2), 2, 2), c(input, utils::head(factors, 1)))
    permuted_products(A, B, orders, block[[1]] - 1, threads())
  })
  Reduce(`+`, sums) / n^2
}
most_stored <- 5000 # the maximum number of observations for which B is stored

# mean(A B) for each permutation, without a stored matrix. One pass over the pairs computes the products for 64
# permutations, as the elements of a vector; each coordinate of y then has 64 columns, one for each permutation.
permuted_means <- function(pair, a, entry, shifted, factors, backend) {
  further <- seq_len(ncol(pair$orders))[-1]
  d <- seq_len(ncol(pair$y))
  b <- entry(code_text(sprintf("Square(y%d - q%d)", d, d), collapse = " + "), "f")
  if (length(further) == 0) return(NULL)
  unlist(lapply(split(further, (further - 2) %/% 64), function(some) {
    rows <- pair$orders[, some, drop = FALSE]
    permuted <- lapply(d, function(k) matrix(pair$y[rows, k], nrow(rows)))
    declared <- c(sprintf(c("x = Vi(%d)", "p = Vj(%d)"), ncol(pair$x)), "r = Vi(2)", "s = Vj(2)",
                  sprintf("y%d = Vi(%d)", d, length(some)), sprintf("q%d = Vj(%d)", d, length(some)),
                  if (length(factors)) c("e = Pm(1)", "f = Pm(1)"))
    op <- verb_operator(sprintf("Sum_Reduction(%s * %s, 1)", a, b), declared, backend)
    input <- c(list(pair$x, pair$x, shifted, shifted), permuted, permuted, factors)
    colMeans(op(input)) / nrow(rows)
  }), use.names = FALSE)
}

# An object of class htest for a statistic. `values` are the statistic of the data, followed by the statistics of
# permutations, if there are any.
permuted_test <- function(values, statistic, method, name) {
  test <- permutation_test(values, stats::setNames(NA, statistic), method, name)
  if (length(values) == 1) test[c("p.value", "permuted", "parameter")] <- NULL
  test
}
