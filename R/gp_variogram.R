#' Empirical variogram of all pairs
#'
#' Computes half the mean squared difference of pairs of values, in classes of distance. All n (n - 1) / 2 pairs are
#' used, in a single reduction with memory proportional to n.
#'
#' @param x the points: a matrix or data frame of coordinates, a vector, or an object of sf, terra or sp. Distances
#'   are Euclidean, or great-circle distances in km (chords, as in [covariance_functions]) for objects whose
#'   reference system is one of longitude and latitude; a message of class `kernops_great_circle` then says so.
#' @param y the values, for example residuals of a trend; logical values are taken as 0 and 1.
#' @param breaks limits of the distance classes, in ascending order, or the number of classes of equal width up to a
#'   third of the largest extent. A class contains its upper limit, but not its lower one.
#' @param backend as in [keops_kernel()].
#' @return A data frame of class `gp_variogram` with, for each class that has pairs, their number `np`, their mean
#'   distance `dist`, the semivariance `gamma`, and the limits `lower` and `upper`. It has a `plot()` method. It is a
#'   `gstatVariogram`, too, with the columns `dir.hor`, `dir.ver` and `id`: `gstat::fit.variogram()` accepts it.
#' @references Matheron, G. (1963) Principles of geostatistics. *Economic Geology* 58, 1246-1266.
#' @seealso [gp()], which needs no variogram; [as_gp()] for a model fitted by gstat; [covariance_functions].
#' @examples
#' set.seed(1)
#' x <- matrix(runif(400), 200)
#' v <- gp_variogram(x, sin(6 * x[, 1]), breaks = 10)
#' v[1:3, c("np", "dist", "gamma")]
#' plot(v)
#' @aliases plot.gp_variogram
#' @export
gp_variogram <- function(x, y, breaks = 15, backend = c("auto", "cpu", "cuda")) {
  points <- spatial_parts(x)
  x <- points$u %||% x
  if (points$long_lat) {
    tell_great_circle("The coordinates as a matrix, by {.fn st_coordinates} of sf, give distances in degrees.")
    x <- on_sphere(x)
  }
  x <- if (is.numeric(x) || is.data.frame(x)) as.matrix(x)
  if (!is.numeric(x) || !(is.numeric(y) || is.logical(y)) || nrow(x) != length(y)) {
    stop_kernops("dim", "{.arg x} and {.arg y} must be numeric, with as many points in {.arg x} as values in {.arg y}.")
  }
  complete <- is.finite(rowSums(x)) & is.finite(y)
  x <- unname(sweep(x, 2, colMeans(x[complete, , drop = FALSE])))[complete, , drop = FALSE]
  y <- y[complete] - mean(y[complete])
  if (length(y) < 2) stop_kernops("input", "A variogram needs at least two points.")
  breaks <- variogram_breaks(x, breaks)
  classes <- length(breaks) - 1
  # how many of the limits the distance exceeds is the class; for each, the count, the distance and half the square
  op <- keops_kernel(
    paste0("Sum_Reduction(TensorProd(OneHot(Sum(LessThan(limits, Norm2(x - y))), ", classes + 2, "), ",
           "Concat(1, Concat(Norm2(x - y), 0.5 * Square(a - b)))), 1)"),
    c(sprintf("limits = Pm(%d)", classes + 1), sprintf("x = Vi(%d)", ncol(x)), sprintf("y = Vj(%d)", ncol(x)),
      "a = Vi(1)", "b = Vj(1)"), precision = "float64", backend = backend
  )
  all <- colSums(op(list(limits = breaks, x = x, y = x, a = y, b = y)))
  sums <- matrix(all, 3)[, 1 + seq_len(classes), drop = FALSE]
  # each pair was counted twice; a point with itself lies in the class that contains 0, if any
  own <- if (breaks[[1]] < 0) sum(0 > breaks) else 0
  if (own >= 1 && own <= classes) sums[1, own] <- sums[1, own] - length(y)
  all <- data.frame(np = sums[1, ] / 2, dist = sums[2, ] / sums[1, ], gamma = sums[3, ] / sums[1, ], dir.hor = 0,
                    dir.ver = 0, id = factor("var1"), lower = breaks[-length(breaks)], upper = breaks[-1])
  structure(all[all$np > 0, ], class = c("gp_variogram", "gstatVariogram", "data.frame"))
}

variogram_breaks <- function(x, breaks, call = caller_env()) {
  if (!is.numeric(breaks) || !all(is.finite(breaks)) || is.unsorted(breaks, strictly = TRUE)) {
    stop_kernops("input", "{.arg breaks} must be ascending numbers, or the number of classes.", call = call)
  }
  if (length(breaks) > 1) return(breaks)
  check_number(breaks, "breaks", least = 1, whole = TRUE, most = 1e6, call = call)
  extent <- sqrt(sum(apply(x, 2, function(v) diff(range(v)))^2))
  if (extent == 0) stop_kernops("input", "All points are at the same location: all distances are zero.", call = call)
  seq(0, extent / 3, length.out = breaks + 1)
}

#' @export
plot.gp_variogram <- function(x, xlab = "distance", ylab = "semivariance", ...) {
  draw_with(graphics::plot, x = x$dist, y = x$gamma, xlim = c(0, max(x$upper, 0)),
            ylim = c(0, max(x$gamma, 0, na.rm = TRUE)),
            pch = 16, las = 1, col = viridis(3)[[1]], xlab = xlab, ylab = ylab, given = list(...))
  invisible(x)
}
