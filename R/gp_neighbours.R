#' Ordered nearest neighbours
#'
#' Orders points and finds the nearest neighbours of each point among the previous points. This directed graph defines a
#' Vecchia approximation of a Gaussian process: each value depends only on the values of its neighbours.
#'
#' @param coords the points: an n x d matrix or data frame of finite numbers, a vector, or an object of sf, terra or sp.
#'   For points with longitude and latitude, distances are great-circle distances, and a message of class
#'   `kernops_great_circle` reports this.
#' @param m the number of neighbours of a point, at least 1. Point i in the ordering has `min(m, i - 1)` neighbours.
#' @param ordering
#'   * `"maxmin"`: each point is the point that is farthest from all previous points (Guinness 2018), beginning with the
#'     point that is nearest to the mean. The maximum is exact; if distances are equal, the point in the earlier row
#'     comes first. Duplicated points come last.
#'   * `"random"`: a random permutation.
#'   * `"coordinate"`: by the first coordinate, then by the second, and so on.
#'   * `"given"`: the order of the rows.
#' @param covariance `NULL` for the Euclidean distance of the coordinates, in their units; or a fit of [gp()] or one of
#'   the [covariance_functions], with values for its parameters; only variances may be missing and are then 1. With a
#'   covariance, nearest means most correlated: coordinates are divided by their ranges (Katzfuss, Guinness and Lawrence
#'   2022), anisotropy and great-circle distance are included, and coordinates of [periodic()] are points on circles.
#'   See the details.
#' @param seed the seed of the random ordering: one whole number. The state of R's random number generator is not
#'   changed.
#'
#' @details
#' Neighbours are exact: the result equals the result of a search through all pairs, where points at equal distance are
#' sorted by their positions in the ordering. The time is proportional to n log n for a few coordinates
#' (bench/neighbours.R): a million points in the plane take some seconds. The option `kernops.threads` is the number of
#' threads, which has no effect on the result.
#'
#' The covariance is represented by a distance as follows. The squared distance of a term with a range is the scaled
#' squared distance in the formula of the covariance, \eqn{h^2 / r^2}. In a product of covariances, squared distances
#' are added. In a sum, squared distances are averaged with the variances as weights, because the terms contribute to
#' the decrease of the correlation in proportion to their variances. Linear and constant terms have no range, and the
#' nugget has no effect. The ranges of a user-defined formula are found by evaluating the formula: the range along a
#' coordinate is the distance at which the correlation is 0.6.
#'
#' @return A list of class `gp_neighbours`:
#'   * `order`, the n rows of `coords` in their new order: an integer vector;
#'   * `neighbours`, an integer matrix, min(m, n - 1) x n: column i has the positions in `order` of the neighbours of
#'     point `order[i]`, the nearest first. If a point has fewer than m neighbours, the rest of its column is `NA`. The
#'     rows of these neighbours in `coords` are `order[neighbours[, i]]`;
#'   * `m` and `ordering`.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as coordinates that are not finite or a
#'   covariance without values; `kernops_dim_error` if the covariance is for another number of coordinates;
#'   `kernops_memory_error` if the matrix of neighbours is too large.
#'
#' @references
#' Guinness, J. (2018) Permutation and grouping methods for sharpening Gaussian process approximations. *Technometrics*
#' 60(4), 415-429.
#'
#' Katzfuss, M., Guinness, J. and Lawrence, E. (2022) Scaled Vecchia approximation for fast computer-model emulation.
#' *SIAM/ASA Journal on Uncertainty Quantification* 10(2), 537-554.
#'
#' Vecchia, A. V. (1988) Estimation and model identification for continuous spatial processes. *Journal of the Royal
#' Statistical Society, Series B* 50(2), 297-312.
#'
#' @seealso [gp()] with `method = "vecchia"`, which uses these neighbours; [argKmin()] for the nearest among all points.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(2000), 1000)
#' graph <- gp_neighbours(x, m = 10)
#' graph
#' # the 20th point in the ordering, and its neighbours, as rows of x
#' graph$order[20]
#' graph$order[graph$neighbours[, 20]]
#' # the second coordinate is less important
#' gp_neighbours(x, m = 10, covariance = matern(3/2, 1, range = c(0.1, 0.5)))
#' @export
gp_neighbours <- function(coords, m = 30, ordering = c("maxmin", "random", "coordinate", "given"), covariance = NULL,
                          seed = 1) {
  ordering <- check_choice(ordering, "ordering", c("maxmin", "random", "coordinate", "given"))
  check_number(m, "m", least = 1, whole = TRUE)
  check_seed(seed)
  u <- points_in(coords, plain = is.null(covariance))
  if (!is.null(covariance)) u <- points_by_covariance(covariance, u)
  tree <- search_tree(u)
  order <- vecchia_order(u, ordering, seed, tree)
  found <- ordered_neighbours(tree, min(m, nrow(u) - 1), order = order)
  early <- seq_len(min(m, nrow(u)))
  found[, early][found[, early] == 0] <- NA
  structure(list(order = order, neighbours = found, m = nrow(found), ordering = ordering), class = "gp_neighbours")
}

# Checks that the coordinates are finite numbers of at least one point.
points_in <- function(coords, plain, call = caller_env()) {
  source <- spatial_parts(coords)
  columns <- if (is.data.frame(coords)) coords else list(coords)
  if (is.null(source$u) && !all(vapply(columns, is.numeric, NA))) {
    what <- "{.arg coords} must be a matrix or data frame of numbers, or an object of sf, terra or sp"
    stop_kernops("input", paste0(what, if (!is.data.frame(coords)) ", not {.obj_type_friendly {coords}}", "."),
                 call = call)
  }
  refuse_integer64(if (is.data.frame(coords)) coords else list(coords = coords), call)
  u <- unname_rows(coordinates_of(if (is.null(source$u)) coords, source, NULL, call))
  if (!nrow(u)) stop_kernops("input", "{.arg coords} must have at least one point.", call = call)
  bad <- which(!is.finite(rowSums(abs(u))))
  if (length(bad)) {
    stop_kernops("input", "The coordinates must be finite: see {cli::qty(length(bad))}row{?s} {bad}.", call = call)
  }
  if (!plain || !source$long_lat) return(u)
  tell_great_circle("A matrix made by {.fn sf::st_coordinates} gives distances in degrees.")
  on_sphere(u)
}

points_by_covariance <- function(covariance, u, call = caller_env()) {
  if (inherits(covariance, "gp")) {
    model <- covariance$model
    theta <- covariance$theta
  } else if (is_covariance(covariance)) {
    model <- covariance_model(covariance, ncol(u), colnames(u), call)
    theta <- model$parameters$value
    if (length(lacking <- model$parameters$name[is.na(theta) & model$parameters$kind != "variance"])) {
      stop_kernops("input", "{.arg covariance} needs a value for {.code {lacking}}.", call = call)
    }
  } else {
    stop_kernops("input", "{.arg covariance} must be a fit of {.fn gp}, a covariance or NULL, not {.obj_type_friendly
                           {covariance}}.", call = call)
  }
  if (model$d != ncol(u)) {
    stop_kernops("dim", "The fit has {model$d} coordinate{?s}, but {.arg coords} has {ncol(u)}.", call = call)
  }
  if (model$width > model$d) {
    stop_kernops("input", "{.fn gp_neighbours} takes coordinates alone, not those of a fit with a {.arg group}.",
                 call = call)
  }
  check_latitudes(model, u, call)
  neighbour_coordinates(model, theta, u)
}

#' @export
print.gp_neighbours <- function(x, ...) {
  cli::cat_line("<gp_neighbours> ", length(x$order), " points, up to ", x$m, " neighbours each, ordering: ", x$ordering)
  invisible(x)
}
