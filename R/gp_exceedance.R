#' Area where a field exceeds thresholds
#'
#' Predicts the area where the field exceeds each threshold, with its standard error and interval, for new points or
#' cells with known areas, in total or by regions.
#'
#' @inheritParams predict.gp
#' @param object a fit of [gp()] for one variable.
#' @param above thresholds, on the scale of `type`.
#' @param areas the area of each row of `newdata`: one number for all rows, a vector, or a matrix with a column for each
#'   region, with 0 in the rows outside the region. Default: 1 for each row, so that areas are numbers of points.
#' @param level the level of the interval.
#' @param type `"response"`, or `"link"`: the transformed scale of a fit with `transform`, or the linear predictor of a
#'   fit with a [family][gp_families].
#' @param nsim number of draws of the field for standard errors and intervals.
#' @param seed the seed of the draws; afterwards, the state of the generator is restored. With `NULL`, draws differ from
#'   call to call.
#'
#' @details The expected area is the sum of the areas times the probabilities of exceedance, without a Monte Carlo
#'   error. The standard error and the interval depend on the joint distribution of all points, and are computed from
#'   the areas in `nsim` joint draws of the kind that [simulate()][simulate.gp] returns. Memory does not grow with
#'   `nsim`. With a thousand draws the standard error has a relative error of about 2 %. A fit by `method = "vecchia"`
#'   draws the field by a sparse factor, so that a million cells are feasible.
#'
#'   The field does not contain the noise of observations, `nugget()`. As in [predict()][predict.gp], the parameters are
#'   the estimates of the fit, and their uncertainty is ignored.
#'
#' @return A data frame with a row for each threshold and region: `above`, `region` (the name or number of the column of
#'   `areas`, if `areas` is a matrix), the expected area `fit`, `se.fit`, and the limits `lwr` and `upr` of the
#'   interval. The results for a region that contains a row with missing values are `NA`.
#' @section Errors: class `kernops_input_error` for invalid arguments, polygons, and fits of several variables;
#'   `kernops_dim_error` if the number of `areas` is wrong.
#' @seealso [predict()][predict.gp], whose argument `sums` predicts totals, and whose argument `above` gives the
#'   probability of exceedance at each point.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' grid <- data.frame(x = seq(0.05, 9.95, by = 0.1))
#' # the length where the field exceeds 0.5 and 0.9
#' gp_exceedance(fit, grid, above = c(0.5, 0.9), areas = 0.1)
#' # the length in each half of the interval
#' halves <- cbind(left = 0.1 * (grid$x < 5), right = 0.1 * (grid$x >= 5))
#' gp_exceedance(fit, grid, above = 0.5, areas = halves)
#' @export
gp_exceedance <- function(object, newdata = NULL, above, areas = 1, level = 0.95, type = c("response", "link"),
                          nsim = 1000, seed = 1, coords = NULL) {
  of_table <- inherits(object, "gp_blocks")
  if (of_table) check_new_in_memory(newdata, coords) else check_fit(object, "object", "gp_exceedance")
  type <- check_choice(type, "type", c("response", "link"))
  check_exceedance(object, if (missing(above)) NULL else above, level, nsim, seed)
  object$how$backend <- usable_backend(object$how$backend)
  points <- points_to_simulate(object, newdata, coords, 1)
  if (of_table) object <- joint_fit(object, points$u)
  n <- length(points$complete)
  regions <- if (is.matrix(areas)) colnames(areas) %||% seq_len(ncol(areas))
  areas <- check_sums(if (length(areas) == 1) rep(areas, n) else areas, n, "areas", caller_env())
  unknown <- colSums(areas[!points$complete, , drop = FALSE] != 0) > 0
  areas <- areas[points$complete, , drop = FALSE]
  request <- utils::modifyList(field_request, list(type = type))
  field <- predictive_at(object, points, request)
  expected <- vapply(above, function(limit) crossprod(areas, cdf(field, limit, lower = FALSE)), numeric(ncol(areas)))
  scale <- requested_scale(with_phi_of(object, points$u), request)
  drawn <- drawn_areas(object, points, areas, above, nsim, seed, if (is.null(scale)) identity else scale$back)
  limits <- apply(drawn, 2, stats::quantile, c(1 - level, 1 + level) / 2, names = FALSE)
  table <- data.frame(above = rep(above, each = ncol(areas)), fit = as.vector(expected),
                      se.fit = apply(drawn, 2, stats::sd), lwr = limits[1, ], upr = limits[2, ])
  table[rep(unknown, length(above)), -1] <- NA
  if (is.null(regions)) table else cbind(table[1], region = rep(regions, length(above)), table[-1])
}

# A matrix with a row for each draw and a column for each combination of a threshold and a region. Draws are computed in
# batches of about 1 GB.
drawn_areas <- function(object, points, areas, above, nsim, seed, back) {
  batch <- max(1, floor(1e8 / max(1, nrow(areas))))
  draw <- function() lapply(seq(1, nsim, by = batch), function(first) {
    field <- back(simulated(object, points, min(batch, nsim - first + 1), TRUE, FALSE, 2000))
    do.call(cbind, lapply(above, function(limit) crossprod(field > limit, areas)))
  })
  do.call(rbind, if (is.null(seed)) draw() else with_seed(seed, draw()))
}

check_exceedance <- function(object, above, level, nsim, seed, call = caller_env()) {
  if (!is.numeric(above) || !length(above) || !all(is.finite(above))) {
    stop_kernops("input", "{.arg above} must be finite numbers, the thresholds.", call = call)
  }
  refuse_several(object, "{.fn gp_exceedance} is", call = call)
  check_level(level, call)
  check_number(nsim, "nsim", least = 2, whole = TRUE, call = call)
  check_seed(seed, call)
}
