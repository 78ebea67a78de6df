#' Empirical variograms of all pairs
#'
#' Computes half the mean squared difference of pairs of values, in classes of distance and direction. All n (n - 1) / 2
#' pairs are used, in a single reduction with memory proportional to n.
#'
#' @param x a formula with the response and its trend, such as `log(zinc) ~ 1`; the values are the residuals of the
#'   response from the trend, by least squares. With several responses, `cbind(a, b) ~ 1`, cross-variograms are also
#'   computed: half the mean product of differences, over points at which both responses are observed. Without a
#'   formula, the points: a matrix or data frame of coordinates, a vector, or an object of sf, terra or sp. Distances
#'   are Euclidean, or great-circle distances in km (chords, as in [covariance_functions]) for objects whose reference
#'   system is one of longitude and latitude; a message of class `kernops_great_circle` then reports this.
#' @param y if `x` is a formula, the data: a data frame or a spatial object, as in [gp()]. If `x` has the points, the
#'   values, for example residuals of a trend; logical values are used as 0 and 1.
#' @param breaks limits of the distance classes, in ascending order, or the number of classes of equal width up to
#'   `cutoff`. A class contains its upper limit, but not its lower limit.
#' @param backend as in [keops_kernel()].
#' @param coords if `x` is a formula, the coordinates as in [gp()], such as `~ x + y` or `c("x", "y")`.
#' @param cutoff the largest distance; default: a third of the largest extent.
#' @param width the width of the classes, instead of their number.
#' @param alpha directions in the plane of the first two coordinates, in degrees clockwise from north, with a separate
#'   variogram for each direction.
#' @param tol the largest angle between a pair of points and a direction of `alpha`, in degrees; default: 90 / number of
#'   directions.
#' @param beta directions as angles above the plane of the first two coordinates, towards the third coordinate, in
#'   degrees; 90 is vertical. With `alpha`, each direction in the plane is combined with each angle in `beta`; without
#'   `alpha`, an angle applies to all directions in the plane.
#' @param tol.ver the largest angle between a pair of points and a direction of `beta` within their vertical plane, in
#'   degrees; default: 90 / number of directions in `beta`.
#' @param cloud whether to return all pairs up to the cutoff instead of means over classes.
#' @param estimator `"matheron"`: the mean square; `"cressie"`: the fourth power of the mean square root of absolute
#'   differences, with a correction for the bias; outliers affect this estimator less (Cressie and Hawkins 1980);
#'   `"genton"`: half the square of the highly robust scale estimator Qn of the differences (Genton 1998; Rousseeuw and
#'   Croux 1993), where Qn is about the first quartile of the distances between any two differences, with the factors of
#'   Croux and Rousseeuw (1992) for small classes. Differences are taken in the direction in which the first coordinate
#'   increases (if the first coordinates are equal, the second, and so on). `"genton"` requires memory proportional to
#'   the number of pairs up to the cutoff, and at least two pairs in a class.
#' @return A data frame of class `gp_variogram` with, for each class that has pairs, their number `np`, their mean
#'   distance `dist`, the semivariance `gamma`, the directions `dir.hor` and `dir.ver`, the variables `id`, and the
#'   limits `lower` and `upper`. The class has a [plot()][plot.gp] method. The result also has the class
#'   `gstatVariogram`, so that `gstat::fit.variogram()` and `gstat::fit.lmc()` accept it; gstat itself counts each pair
#'   of a cross-variogram twice. A cloud has columns `left` and `right` with the two rows of each pair.
#' @section Errors: class `kernops_dim_error` if points and values differ in number; `kernops_input_error` for other
#'   invalid arguments.
#' @references
#' Cressie, N. and Hawkins, D. M. (1980) Robust estimation of the variogram: I. *Mathematical Geology* 12, 115-125.
#'
#' Croux, C. and Rousseeuw, P. J. (1992) Time-efficient algorithms for two highly robust estimators of scale. In:
#' Dodge, Y. and Whittaker, J. (eds.) *Computational Statistics*, volume 1, 411-428. Physica.
#'
#' Genton, M. G. (1998) Highly robust variogram estimation. *Mathematical Geology* 30, 213-221.
#'
#' Matheron, G. (1963) Principles of geostatistics. *Economic Geology* 58, 1246-1266.
#'
#' Rousseeuw, P. J. and Croux, C. (1993) Alternatives to the median absolute deviation. *Journal of the American
#' Statistical Association* 88, 1273-1283.
#' @seealso [fit_variogram()], which fits a covariance to a variogram; [gp()], which needs no variogram; [as_gp()] for a
#'   model fitted by gstat, [as_vgm()] for the reverse conversion; [covariance_functions].
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(200), b = runif(200))
#' d$z <- sin(6 * d$a) + d$b + rnorm(200, sd = 0.1)
#' v <- gp_variogram(z ~ b, d, breaks = 10, coords = ~ a + b)
#' v[1:3, c("np", "dist", "gamma")]
#' plot(v)
#' plot(v, fit_variogram(v, squared_exponential() + nugget()))
#' gp_variogram(z ~ b, d, breaks = 5, coords = ~ a + b, estimator = "genton")
#' gp_variogram(z ~ b, d, coords = ~ a + b, alpha = c(0, 90), cutoff = 0.3, width = 0.1,
#'              estimator = "cressie")
#' # observations in boreholes: vertical and horizontal variograms
#' holes <- data.frame(x = runif(100), y = runif(100), depth = runif(100))
#' holes$z <- sin(20 * holes$depth) + holes$x + rnorm(100, sd = 0.1)
#' gp_variogram(z ~ 1, holes, breaks = 3, coords = ~ x + y + depth, beta = c(0, 90), tol.ver = 20)
#' d$w <- d$z + rnorm(200)
#' gp_variogram(cbind(z, w) ~ 1, d, breaks = 3, coords = ~ a + b) # with the cross-variogram
#' head(gp_variogram(z ~ b, d, coords = ~ a + b, cutoff = 0.1, cloud = TRUE), 3)
#' # a variogram model fitted by gstat
#' if (requireNamespace("gstat", quietly = TRUE)) {
#'   print(gstat::fit.variogram(v, gstat::vgm(0.5, "Gau", 0.5, nugget = 0.01)))
#' }
#' # a matrix of points, and values
#' gp_variogram(d[c("a", "b")], d$z, breaks = c(0, 0.1, 0.2))
#' @export
gp_variogram <- function(x, y = NULL, breaks = 15, backend = c("auto", "cpu", "cuda"), coords = NULL, cutoff = NULL,
                         width = NULL, alpha = NULL, tol = NULL, cloud = FALSE,
                         estimator = c("matheron", "cressie", "genton"), beta = NULL, tol.ver = NULL) {
  check_flag(cloud, "cloud")
  estimator <- check_choice(estimator, "estimator", c("matheron", "cressie", "genton"))
  parts <- if (inherits(x, "formula") && length(x) == 3) trend_residuals(x, y, coords, environment()) else {
    given_values(x, y, environment())
  }
  directions <- pair_directions(alpha, tol, beta, tol.ver, ncol(parts$u), parts$long_lat)
  variables <- colnames(parts$values)
  pairs <- c(lapply(variables, rep, 2), if (length(variables) > 1) utils::combn(variables, 2, simplify = FALSE))
  if (length(variables) > 1 && estimator != "matheron") {
    stop_kernops("input", "{.code estimator = \"{estimator}\"} is for one variable: it has no cross-variogram.")
  }
  breaks <- variogram_breaks(parts$u, if (is.null(width)) breaks else by_width(parts$u, cutoff, width), cutoff)
  # two pairs may have the same name: a and b.c, and a.b and c
  ids <- make.unique(vapply(pairs, function(pair) paste(unique(pair), collapse = "."), ""))
  tables <- Map(function(pair, id) {
    kept <- stats::complete.cases(parts$u, parts$values[, pair])
    if (sum(kept) < 2) stop_kernops("input", "A variogram needs at least two points.", call = NULL)
    values <- parts$values[kept, pair, drop = FALSE]
    u <- parts$u[kept, , drop = FALSE]
    tables <- lapply(directions, function(direction) {
      if (cloud) return(variogram_cloud(u, values, max(breaks), direction, which(kept)))
      if (estimator == "genton") return(genton_classes(u, values, breaks, direction))
      variogram_classes(u, values, breaks, direction, estimator, backend)
    })
    table <- do.call(rbind, tables)
    table$id <- rep(id, nrow(table))
    table
  }, pairs, ids)
  all <- do.call(rbind, unname(tables))
  all$id <- factor(all$id, unique(all$id))
  structure(all, class = c("gp_variogram", if (!cloud) "gstatVariogram", "data.frame"), unit = parts$unit)
}

# A list of `u`, the coordinates in which distances are computed, and `values`, with a column for each variable.
given_values <- function(x, y, call) {
  points <- spatial_parts(x)
  x <- points$u %||% x
  x <- if (is.numeric(x) || is.data.frame(x)) as.matrix(x)
  if (!is.numeric(x) || !(is.numeric(y) || is.logical(y)) || nrow(x) != length(y)) {
    stop_kernops("dim", "{.arg x} and {.arg y} must be numeric, with as many points in {.arg x} as values in {.arg y}.",
                 call = call)
  }
  as_variogram_parts(x, matrix(as.numeric(y), dimnames = list(NULL, "var1")), points$long_lat, points$crs)
}

trend_residuals <- function(formula, data, coords, call) {
  source <- spatial_parts(data)
  u <- coordinates_of(named_coordinates(coords, source$data), source, environment(formula), call)
  frame <- tryCatch(stats::model.frame(formula, source$data, na.action = stats::na.pass), error = function(e) {
    stop_kernops("input", "The variables of the formula cannot be evaluated: {conditionMessage(e)}.", call = call)
  })
  y <- as.matrix(stats::model.response(frame))
  if (!is.numeric(y) && !is.logical(y)) stop_kernops("input", "The response must be numeric.", call = call)
  if (nrow(y) != nrow(u)) stop_kernops("dim", "The response and the coordinates must have equal lengths.", call = call)
  if (ncol(y) == 1) colnames(y) <- "var1"
  colnames(y) <- colnames(y) %||% paste0("var", seq_len(ncol(y)))
  y <- y - (stats::model.offset(frame) %||% 0)
  x <- stats::model.matrix(attr(frame, "terms"), frame)
  for (k in seq_len(ncol(y))) {
    used <- stats::complete.cases(u, y[, k], x)
    y[!used, k] <- NA
    if (ncol(x) && any(used)) y[used, k] <- stats::lm.fit(x[used, , drop = FALSE], y[used, k])$residuals
  }
  as_variogram_parts(u, y, is.null(coords) && source$long_lat, if (is.null(coords)) source$crs)
}

# Centres and checks the points and the values. In the result, `unit` is the unit of distances, or NULL if it is
# unknown.
as_variogram_parts <- function(u, values, long_lat, crs = NULL) {
  if (long_lat) {
    tell_great_circle("A matrix made by {.fn sf::st_coordinates} gives distances in degrees.")
    u <- on_sphere(u)
  }
  values[!is.finite(values)] <- NA
  u[!is.finite(u)] <- NA
  kept <- stats::complete.cases(u) & rowSums(!is.na(values)) > 0
  if (sum(kept) < 2) stop_kernops("input", "A variogram needs at least two points.", call = NULL)
  u <- sweep(u, 2, colMeans(u[kept, , drop = FALSE]))
  values <- sweep(values, 2, colMeans(values, na.rm = TRUE))
  check_magnitude(u, "the coordinates", NULL)
  check_magnitude(values, "the values", NULL)
  list(u = unname(u), values = values, long_lat = long_lat, unit = if (long_lat) "km" else unit_of_system(crs))
}

by_width <- function(u, cutoff, width, call = caller_env()) {
  check_number(width, "width", least = 0, above = TRUE, call = call)
  most <- cutoff %||% (largest_extent(u) / 3)
  if (most / width > 1e6) stop_kernops("input", "{.arg width} makes more than a million classes.", call = call)
  unique(c(seq(0, most, by = width), most))
}

largest_extent <- function(u) sqrt(sum(apply(u, 2, function(v) diff(range(v, na.rm = TRUE)))^2))

variogram_breaks <- function(x, breaks, cutoff, call = caller_env()) {
  if (!is.null(cutoff)) check_number(cutoff, "cutoff", least = 0, above = TRUE, call = call)
  if (!is.numeric(breaks) || !all(is.finite(breaks)) || is.unsorted(breaks, strictly = TRUE)) {
    stop_kernops("input", "{.arg breaks} must be ascending numbers, or the number of classes.", call = call)
  }
  if (length(breaks) > 1) return(breaks)
  check_number(breaks, "breaks", least = 1, whole = TRUE, most = 1e6, call = call)
  extent <- largest_extent(x)
  if (extent == 0) stop_kernops("input", "All points are at the same location: all distances are zero.", call = call)
  seq(0, cutoff %||% (extent / 3), length.out = breaks + 1)
}

#' @rdname plot.gp
#' @param xlab,ylab the labels of the axes; default: the distance with its unit, and the semivariance.
#' @export
plot.gp_variogram <- function(x, model = NULL, xlab = NULL, ylab = "semivariance", ...) {
  check_drawn(list(...), plot.gp_variogram)
  curves <- if (!is.null(model)) variogram_curves(x, model)
  # a colour for each variable and direction
  curve <- factor(direction_words(x$id, x), unique(direction_words(x$id, x)))
  colours <- class_colours(nlevels(curve))
  words <- if (nlevels(curve) > 1) levels(curve)
  xlab <- xlab %||% distance_words(attr(x, "unit"))
  before <- open_panel(c(0, x$upper, x$dist), c(0, x$gamma, curves$gamma), xlab, ylab, "", list(...), words)
  on.exit(graphics::par(before))
  drawn <- drawn_rows(nrow(x))
  graphics::points(x$dist[drawn], x$gamma[drawn], pch = 16, col = colours[curve[drawn]])
  lines <- if (!is.null(curves)) split(curves, direction_words(x$id[[1]], curves))
  one <- all(vapply(lines, function(along) isTRUE(all.equal(along$gamma, lines[[1]]$gamma)), NA))
  for (name in names(lines)) {
    colour <- if (one || !name %in% levels(curve)) "black" else colours[[match(name, levels(curve))]]
    graphics::lines(lines[[name]]$dist, lines[[name]]$gamma, col = colour, lwd = 2)
  }
  if (length(words)) margin_legend(words, pch = 16, col = colours)
  invisible(x)
}
