#' Predictions of a Gaussian process
#'
#' Computes kriging predictions with standard errors, intervals, quantiles and probabilities, at points or for means
#' over blocks and polygons, from all observations or from the nearest observations.
#'
#' @param object a fit of [gp()].
#' @param newdata new points and covariates: a data frame; points or a map of sf, stars, terra or sp, see [gp()]; or,
#'   for a fit without covariates, a matrix of coordinates or a vector (one point, or the points of one coordinate).
#'   Default: the data of the fit. If the coordinates of the fit were given by a formula, the formula is also used for
#'   spatial objects that have its variables. The columns of a matrix are matched by name if they have the names of the
#'   coordinates, otherwise by position. `newdata` must have a column for each variable that has a value for each
#'   observation of the fit, including the variables of `group`. This also holds for variables in the environment of the
#'   formula. Other variables, such as the knots of a spline, need not be columns of `newdata`.
#' @param se.fit whether to return standard errors. With `interval = "prediction"` these are the standard errors of new
#'   observations, otherwise those of the field.
#' @param interval `"prediction"`: the interval of a new observation, nugget included, for comparisons of predictions
#'   with observations; `"confidence"`: the interval of the field, without noise; `"none"`: no interval.
#' @param level the level of the interval.
#' @param type `"response"`: predictions on the scale of the response. `"terms"`: the trend and the process in two
#'   columns, without standard errors; their sum is the prediction of type `"link"`. `"link"`: predictions on the
#'   transformed scale of a fit with `transform`, or of the linear predictor of a fit with a [family][gp_families]; for
#'   other fits, the same as `"response"`.
#' @param coords the coordinates of `newdata`, a matrix, if the fit was given a matrix.
#' @param se how the standard errors of an exact or iterative fit are computed: `"exact"` solves a system for each
#'   point; `"local"` conditions each point on its nearest observations, as `method = "vecchia"` of [gp()] does.
#'   `"local"` is an approximation for many points: its time per point does not depend on the number of observations.
#' @param nmax,maxdist local kriging, as in package gstat: a point is predicted from its `nmax` nearest observations
#'   whose distance is at most `maxdist`. Distances are in the units of the coordinates, or in km for great-circle
#'   distances. The trend is estimated from the same observations, by generalised least squares, unless its coefficients
#'   are known; if there are too few observations to estimate the trend, the result is `NA`. Without `nmax` and
#'   `maxdist`, the default, the trend of the fit is used. With `estimate = "none"` in [gp()], predictions are local
#'   kriging with a given covariance. For a fit with a [family][gp_families] see the section about these fits.
#' @param block the size of rectangular blocks around the new points, one number for each coordinate; 0 means no
#'   averaging over this coordinate. Means of the field over the blocks are predicted, by a Gauss rule with four nodes
#'   along each coordinate, as in gstat. The covariates in `newdata` must be means over the block. If `newdata` has
#'   polygons, of sf, terra or sp, means over these polygons are predicted, and `block` is the approximate number of
#'   nodes in each polygon; default: 400. See the section about polygons.
#' @param cov whether to also return the joint covariance matrix of the errors of all predictions, on the scale of
#'   `type`. For several variables, `"variables"` adds columns with the covariances of the errors of each pair of
#'   variables at the same point, see [lmc()].
#' @param probs probabilities of quantiles, which are columns such as `q0.05` of the result.
#' @param above thresholds: columns such as `above500` of the result are the probabilities that the value exceeds a
#'   threshold.
#' @param control settings of the iterative method, and `neighbours` of new points, see [gp_control()]; default: the
#'   settings of the fit.
#' @param joint for fits by `method = "vecchia"` or `"vif"`: whether a new point is conditioned on other new points in
#'   addition to its nearest observations. Default: `TRUE` with `"vecchia"`, unless each new point is conditioned on all
#'   observations; `FALSE` with `"vif"` and for families with more than about 7000 scattered levels, for which each
#'   standard error requires a solution of the whole system. For a fit of a table: whether a new point is conditioned on
#'   values of the field. See the sections about joint predictions and about fits of tables.
#' @param sums predicts weighted sums of the values at the rows of `newdata` instead of the values themselves, such as
#'   totals over regions: a matrix with the weights of each sum in a column, or a vector for one sum. The result has a
#'   row for each sum. See the section about sums.
#' @param terms,exclude names of the parts that predictions include (`terms`) or omit (`exclude`): `"trend"`, and terms
#'   of the covariance as `print()` shows them without parameters, such as `"matern"`, `"(1 | site)"`, `"s(x)"` or
#'   `"svc(z) * matern"`; `"field"` stands for all terms that are neither effects nor smooths. Default: all. A smooth
#'   includes the columns that it has in the trend. See the section about parts.
#' @param what names of the columns of the result, such as `c("fit", "se.fit")`, in their order, instead of `se.fit`,
#'   `interval`, `probs` and `above`: `"fit"`, `"se.fit"`, `"lwr"` and `"upr"` (of `interval`, by default
#'   `"confidence"`), quantiles such as `"q0.05"` and probabilities such as `"above500"`; or `"trend"` and `"process"`.
#' @param derivative the name of a coordinate: the derivative of the field and its trend with respect to this coordinate
#'   is predicted, for fits by the exact method with a differentiable covariance. See the section about derivatives in
#'   [gp()].
#' @param ... for maps: `filename`, `zones`, and other arguments of predictions by windows, see [predict_maps]. Other
#'   arguments are an error.
#'
#' @details Quantiles and probabilities refer to a normal distribution: with `interval = "prediction"`, to the
#'   distribution of a new observation, otherwise to the distribution of the field.
#'
#'   A mean over a block is a mean of the field: its standard error does not contain the nugget, and `interval =
#'   "prediction"` is an error.
#'
#'   The standard errors include the uncertainty of the trend, as in universal kriging, but not the uncertainty of the
#'   covariance parameters, which [gp_posterior()] includes. The field has the microscale variation of [microscale()],
#'   but not the noise of the observations, `nugget()`: see [covariance_functions]. With `interval = "prediction"`,
#'   `se.fit` is the standard error of a new observation. Otherwise `se.fit` is the standard error of the field, that
#'   is, of a measurement without error, which is too small for new observations. If `se.fit = TRUE` is used without
#'   naming an interval, a message of class `kernops_field_se` reports this, once per session. The noise of a new
#'   observation is the nugget only: the model has no `known$noise` at new points.
#'
#' @section Fits with a family: The normal approximation of the posterior of the linear predictor is the posterior of a
#'   Gaussian model. The observations z of this model are the linear predictor at the mode plus the derivative of the
#'   log density divided by W, and their noise variance is 1 / W. Here W is the negative second derivative of the log
#'   density; for [student()], W is the expectation of the negative second derivative, which is positive. Joint
#'   covariances and means of the linear predictor over blocks (`type = "link"`) come from this Gaussian model. With
#'   `nmax` and `maxdist`, a point is predicted from the nearest observations z. The values z depend on the trend of the
#'   whole fit. Therefore the trend of the whole fit and its uncertainty are kept, and no local trend is estimated. If
#'   `nmax` is the number of observations, predictions are the same as without `nmax`. If single observations have
#'   little information, such as presence or absence, predictions require more neighbours than in kriging.
#'
#'   With `type = "response"`, `block` predicts the average over the block of the mean response, such as a prevalence; a
#'   [nugget()] is averaged out. The mean, its standard error and `cov` follow from the joint normal distribution of the
#'   linear predictor within and between blocks; for the logarithmic link these are the moments of log-normal variables.
#'   Limits of intervals, quantiles and probabilities come from 4,000 draws of the field within the block, with the
#'   `seed` of [gp_control()]. At points, `cov` is the covariance matrix of the means of the response given the field,
#'   or with `interval = "prediction"`, of new observations.
#'
#' @return The mean, a vector; with `se.fit`, `interval` or `type = "terms"` a data frame with the requested columns
#'   among `fit`, `se.fit`, `lwr`, `upr`, quantiles and probabilities, or `trend` and `process`. For points and maps of
#'   sf, stars, terra and sp, an object of the same class with these columns or layers, and without the variables of
#'   `newdata`; for `SpatialPixels`, a `SpatialPixelsDataFrame`. Rows and cells with missing values give `NA`. With `cov
#'   = TRUE`, a list with this result as `fit`, and the matrix `cov`, with a row for each row of `newdata` and the
#'   diagonal `se.fit^2`.
#'
#' @section Means over polygons: The mean over a polygon is a weighted mean over nodes: a grid cuts the polygon into
#' pieces of similar size, whose centroids are the nodes and whose areas are the weights. The rule is exact for
#' functions that are linear in the coordinates. The step of the grid is such that there are about `block` pieces, even
#' if a polygon is narrow or has several parts that are far from each other. With longitude and latitude, edges are
#' great circles and areas are computed on the sphere, also across the dateline and around a pole; after
#' `sf::sf_use_s2(FALSE)`, edges are straight in longitude and latitude. Parts that overlap count once, and an invalid
#' polygon is made valid as by `sf::st_make_valid()`. The mean over an empty polygon is missing. A polygon without an
#' area, and points or lines among polygons, are errors whose messages contain the rows. Local kriging uses the
#' observations that are nearest to the centroid.
#'
#' @section Sums and totals: With `sums`, all results refer to the sums: standard errors, intervals, quantiles, the
#'   probability that a sum is `above` a threshold, and the covariances of sums with `cov = TRUE`. If the weights are
#'   the areas of cells or polygons, a sum is a total; if the weights add up to 1, a mean; and with weights 1 and -1, a
#'   difference. The standard error follows from the joint distribution of all points, but the covariance matrix of the
#'   points is not computed: each sum of the field requires one solution of a system. Like a mean over a block, a sum
#'   does not contain the nugget and the microscale variation of single points. For a fit with `transform` or a family,
#'   a sum of responses over at most 500 points is computed from the covariance matrix of the points. For more points,
#'   such as the cells of an index of abundance, the moments come from draws of the field (500 to 4,000, with the `seed`
#'   of [gp_control()]). Only the part of the moments that is not linear in the field is computed from draws and has a
#'   Monte Carlo error: standard errors are accurate to about 1 %. The sum is `NA` if a row with a weight other than 0
#'   has missing values. [gp_exceedance()] predicts the area where the field exceeds a threshold.
#'
#' @section Parts: With `terms` or `exclude`, predictions are those of a part of the model given all observations, such
#'   as a smooth, or the field without the effects of sites. Standard errors, intervals, means over blocks and sums
#'   refer to the same part. The predictions of the parts add up to the prediction of the whole model; the variances of
#'   the parts do not add up to its variance. `newdata` must have the variables of all parts, but the values for omitted
#'   parts have no effect. An effect in `exclude` is 0 and adds no variance; the effect of a new level of `(1 | site)`
#'   has mean 0, too, but adds its variance. On the scale of the response of a family, the predicted mean is the mean of
#'   the inverse link of the sum of the parts.
#'
#' @section Classes of new data: variables of `newdata` have the classes that they had in the data of the fit. Integers
#'   and doubles are numbers, strings match the labels of factors. A `Date` is converted to a `POSIXct`, and vice versa,
#'   where a date is midnight in UTC. Times in different time zones are compared as instants. A `difftime` or a column
#'   of class units is converted to the unit of the fitted data. Any other class, such as a duration or a number in
#'   place of a date, and a unit that cannot be converted are errors. Levels of groups and random effects are matched by
#'   value, and levels of `a:b` by pairs of values. If levels are dates, a time that is midnight in UTC matches its
#'   date, and other times are an error. A number matches the label of a factor if all labels are numbers. A value that
#'   does not occur in the data of the fit is a new level.
#'
#'   If the coordinates of the fit were a matrix or spatial points, a data frame `newdata` must have columns with the
#'   names of the coordinates, or `coords` must be given.
#' @section Joint predictions: With `method = "vecchia"`, the new points follow the observations in a maximum-minimum
#'   distance ordering, and each new point is conditioned on its nearest observations and earlier new points (Katzfuss
#'   et al. 2020). Up to a third of these neighbours are replaced by observations farther away, from a small subset that
#'   covers the region of the data, so that a point between two tracks of dense observations depends on both tracks. In
#'   gaps of the data, such as clouds in satellite images, joint predictions are more accurate than predictions from the
#'   nearest observations alone (`joint = FALSE`) with the same number of neighbours. Predictions, standard errors,
#'   joint covariances, means over blocks and [simulate()][simulate.gp] follow from one joint distribution. A prediction
#'   depends slightly on the other new points. Millions of new points are predicted in tiles of 400,000 points, each
#'   together with the points on which the tile depends. Therefore memory is bounded, and the results are the same as
#'   for all points at once. With all points as neighbours the predictions are those of `method = "exact"`. Random
#'   effects and smooths are part of the joint distribution, also for a fit with a family.
#'
#'   If all observations have noise, new points are conditioned on the values of the field at the observations.
#'   Conditioning on the field requires fewer neighbours than conditioning on noisy observations: the default is twice
#'   the number of neighbours of the fit. With more than 20,000 observations, new points are conditioned on the field
#'   only if these predictions are more accurate. This is the case if 240 noisy observations are not enough neighbours,
#'   and if doubling the number of neighbours changes predictions at 200 sites less with the field than with noisy
#'   observations (see [gp_control()]). Computing the factor of the field takes about as long as the fit, and requires 5
#'   kB of memory for each observation. With more than 500,000 observations and up to three coordinates, points that are
#'   conditioned on the field are predicted for one cell of the data at a time, as for fits of tables (see the section
#'   about fits of tables), from a copy of the observations in temporary files. A prediction by cells does not depend on
#'   other new points. Sums, covariances and draws still come from the joint distribution given the observations; the
#'   diagonal of the covariance matrix of points has the variances of the predictions by cells.
#'
#'   If new points are conditioned on noisy observations instead of the field, the conditioning set of a new point has
#'   all of its nearest observations and, in addition, up to 30 earlier new points: fewer observations would make the
#'   standard errors of dense new points too small.
#'
#' @section Fits of tables: Predictions of a fit of a table, see [gp_table()], are computed for one cell at a time. A
#'   cell is a box that contains about 65,536 observations. New points in or near a cell are conditioned on values of
#'   the field at observations in and around the cell, with as many neighbours as joint predictions have. A prediction
#'   depends neither on other new points nor on how new points are divided into calls, chunks, windows and workers.
#'   Observations outside a halo around the cell are omitted, except for a coarse subset. The halo has six times the
#'   area of the disc that contains the observations for local kriging. A call takes about as long as a fit to the
#'   observations of all cells that have new points: a single new point takes some seconds. The fit keeps the field of
#'   the latest cell, so that further points in this cell take milliseconds; many points are best predicted in one call.
#'   `joint = FALSE` conditions new points on their nearest observations. These predictions are faster for few new
#'   points, but standard errors are larger if observations are noisy. New points are also conditioned on their nearest
#'   observations if an observation has no noise, and with more than three coordinates.
#'
#'   With `block`, `sums`, `cov`, and in [simulate()][simulate.gp], [gp_exceedance()] and `zones` of maps, new points in
#'   memory (not those in a table) have a joint distribution. This joint distribution is conditioned on the observations
#'   nearest to each new point and on a few observations that cover the whole table. The variances of single points
#'   equal the variances of predictions without `block`, `sums` and `cov`. If the observations do not fit into `memory`
#'   (or, without `memory`, if there are more than 5 million observations), an error of class `kernops_memory_error` is
#'   raised.
#'
#' @section Errors: class `kernops_input_error` if `newdata` lacks a coordinate or covariate, or if a variable has a new
#'   factor level, or a type that differs from its type in the fit; `kernops_crs_error`, also an input error, if the
#'   reference system of `newdata` differs from that of the data; `kernops_dim_error` if the number of coordinates
#'   differs.
#'
#' @references Katzfuss, M., Guinness, J., Gong, W. and Zilber, D. (2020) Vecchia approximations of Gaussian-process
#' predictions. *Journal of Agricultural, Biological and Environmental Statistics* 25, 383-414.
#'
#' Carr, J. R. and Palmer, J. A. (1993) Revisiting the accurate calculation of block-sample covariances
#' using Gauss quadrature. *Mathematical Geology* 25, 507-524.
#'
#' @seealso [gp()], [predict_maps] for maps larger than memory, [simulate()][simulate.gp] for draws, [gp_cv()] for
#'   cross-validation, [plot()][plot.gp].
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' predict(fit, data.frame(x = 1:3), se.fit = TRUE, interval = "prediction")
#' # quantiles of new observations, and the probability that a new observation is above 0.5
#' predict(fit, data.frame(x = 1:3), interval = "prediction", probs = c(0.1, 0.9), above = 0.5)
#' # from the 10 nearest observations
#' predict(fit, data.frame(x = 1:3), nmax = 10, interval = "confidence")
#' # from observations at a distance of at most 0.6; the trend and the process
#' predict(fit, data.frame(x = c(1, 11)), maxdist = 0.6, interval = "confidence")
#' predict(fit, data.frame(x = 1:3), type = "terms")
#' # means over intervals of length 1; joint covariances
#' predict(fit, data.frame(x = 1:3), block = 1, interval = "confidence")
#' # derivatives
#' predict(fit, data.frame(x = 1:3), derivative = "x", se.fit = TRUE, interval = "confidence")
#' predict(fit, data.frame(x = 1:3), cov = TRUE)$cov
#' # the field without the trend
#' predict(fit, data.frame(x = 1:3), terms = "matern", interval = "confidence")
#' # the integral from 0 to 10, and the difference of the values at both ends
#' grid <- data.frame(x = seq(0, 10, by = 0.1))
#' sums <- cbind(integral = rep(0.1, 101), difference = c(-1, rep(0, 99), 1))
#' predict(fit, grid, sums = sums, interval = "confidence")
#'
#' # counts: the mean over an interval, and the probability that this mean exceeds 2; joint
#' # covariances; local predictions
#' count <- rpois(40, exp(y))
#' of_counts <- gp(count ~ 1, coords = ~ x, covariance = matern(5/2), family = poisson())
#' predict(of_counts, data.frame(x = 1:3), block = 1, se.fit = TRUE, above = 2)
#' predict(of_counts, data.frame(x = 1:3), type = "link", cov = TRUE)$cov
#' predict(of_counts, data.frame(x = 1:3), nmax = 20, se.fit = TRUE)
#'
#' if (requireNamespace("sf", quietly = TRUE)) {
#'   places <- data.frame(x = runif(30), y = runif(30))
#'   places$z <- sin(5 * places$x) + places$y + rnorm(30, sd = 0.1)
#'   places <- sf::st_as_sf(places, coords = c("x", "y"))
#'   fit <- gp(z ~ 1, places)
#'   predict(fit, places[1:3, ], se.fit = TRUE, interval = "confidence")
#'   # means over polygons
#'   squares <- sf::st_sf(geometry = sf::st_make_grid(places, n = 2))
#'   print(predict(fit, squares, interval = "confidence"))
#'   # on a map
#'   if (requireNamespace("terra", quietly = TRUE)) {
#'     map <- terra::rast(nrows = 10, ncols = 10, extent = c(0, 1, 0, 1), crs = "")
#'     predict(fit, map, se.fit = TRUE, interval = "confidence")
#'   }
#'   if (requireNamespace("stars", quietly = TRUE)) {
#'     print(predict(fit, stars::st_as_stars(sf::st_bbox(places), nx = 5, ny = 5)))
#'   }
#'   if (requireNamespace("sp", quietly = TRUE)) {
#'     centres <- expand.grid(x = seq(0.1, 0.9, by = 0.2), y = seq(0.1, 0.9, by = 0.2))
#'     pixels <- sp::SpatialPixels(sp::SpatialPoints(centres))
#'     print(head(predict(fit, pixels, interval = "confidence")@data, 3))
#'   }
#' }
#' @export
predict.gp <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                       level = 0.95, type = c("response", "link", "terms"), coords = NULL, control = NULL,
                       se = c("exact", "local"), nmax = Inf, maxdist = Inf, block = NULL, cov = FALSE, probs = NULL,
                       above = NULL, joint = NULL, sums = NULL, terms = NULL, exclude = NULL, what = NULL,
                       derivative = NULL, ...) {
  options <- options_of_map(newdata, list(...))
  request <- prediction_request(as.list(environment()), object, c("response", "link", "terms"), missing(interval))
  fit <- object
  object <- with_parts(object, terms, exclude)
  if (length(control)) object <- with_control(object, control)
  object <- with_joint(object, joint)
  object <- with_derivative(object, derivative)
  request["derivative"] <- list(derivative)
  object$how$backend <- usable_backend(object$how$backend)
  with_trees(if (is.null(options)) predicted(object, fit, newdata, request) else
    predict_map(object, fit, newdata, request, options))
}

# Computes predictions: converts newdata to points, points to a predictive distribution, the distribution to columns,
# and columns to the class of newdata. The distribution is computed from `object`, which is the `fit` or posterior draws
# of its parameters.
predicted <- function(object, fit, newdata, request, call = caller_env()) {
  points <- points_of_parts(object, new_points(fit, newdata, request$coords, request$block, request$sums, call))
  points <- points_of_derivative(object, fit, points, newdata, request$derivative, call)
  predicted_at(object, fit, points, newdata, request, call)
}

# The predictions at points, a result of new_points() for `newdata`.
predicted_at <- function(object, fit, points, newdata, request, call = caller_env()) {
  check_prediction(points, request, call)
  table <- predicted_table(object, fit, points, request)
  result <- give_back_points(table, points, if (is.null(request$sums)) newdata, fit)
  if (!isTRUE(request$cov)) return(result)
  list(fit = result, cov = matrix_of_rows(covariance_at(object, points, request), fit, points))
}

# The columns of the predictions at complete points, that is, points without missing values.
predicted_table <- function(object, fit, points, request) {
  table <- table_of_columns(predicted_columns(object, points, request), fit, points, request)
  if (!identical(request$cov, "variables")) return(table)
  cbind(table, covariance_columns(fit, points, request$how, is_noisy(request)))
}

table_of_columns <- function(columns, fit, points, request) {
  if (!is.null(request$what)) columns <- columns[request$what]
  collapse(fit$parts$layout, as.data.frame(columns, optional = TRUE), points$variable)
}

predicted_columns <- function(object, points, request) UseMethod("predicted_columns")

predicted_columns.default <- function(object, points, request) {
  if (request$type != "terms") return(predictive_columns(predictive_at(object, points, request), request))
  predicted_moments(object, points, request$how, FALSE)[c("trend", "process")]
}

with_joint <- function(object, joint, call = caller_env()) {
  if (is.null(joint)) return(object)
  check_flag(joint, "joint", call)
  if (joint && !has_neighbours(object)) {
    rule <- paste("{.code joint = TRUE} is for fits by {.code method = \"vecchia\"} or {.val vif},",
                  "not {.val {object$method}}.")
    stop_kernops("input", c(rule,
                            i = "Predictions of other methods use all observations."), call = call)
  }
  object$vecchia$joint <- joint
  object
}

with_control <- function(object, control, call = caller_env()) {
  object$how$control <- as_control(control, object$how$control, call)
  if (is.numeric(control$neighbours)) {
    object$vecchia[c("local", "new")] <- control$neighbours
    object$vecchia["observed"] <- list(NULL)
  }
  object
}
