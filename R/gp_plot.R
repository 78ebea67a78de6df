#' Plot a Gaussian process fit
#'
#' Draws one panel for each element of `which`: the field (a curve with a confidence band for one coordinate, a map to
#' scale for two coordinates), its standard errors, the residuals against the fitted values, the covariance as a
#' function of distance or along each coordinate, and the empirical variogram with that of the model.
#'
#' @param x,object a fit of [gp()]; for `autoplot()` also a result of [gp_cv()] or [gp_variogram()].
#' @param which `"field"`, `"se"` (standard errors of the field, as a map or a curve), `"residuals"`, `"covariance"`,
#'   `"variogram"`; for [gp_cv()] `"observed"` (against predictions), `"qq"` (standardised errors against normal
#'   quantiles) and `"map"` (standardised errors at their points). `autoplot()` takes one of the first two or
#'   `"variogram"`, and one of those of [gp_cv()].
#' @param model a fit of [gp()], a covariance or a variogram model of gstat, whose variogram is drawn over the empirical
#'   one, along each of its directions. Clouds, directional and robust variograms are drawn in the same way.
#' @param mask whether to draw a map within the convex hull of the observations only.
#' @param newdata new points with covariates, such as a grid, to draw maps of a fit whose trend has covariates: a data
#'   frame, or points or a map of sf, stars, terra or sp. `which` is then `"field"` (the default), `"se"` or both.
#' @param add an overlay of maps: lines, polygons or points of sf, terra or sp, such as a coastline, or a function
#'   without arguments that draws.
#' @param n the approximate number of points at which the field is drawn; default: 200 for a curve, 100 x 100 for a map.
#' @param level the level of the band around a curve.
#' @param ... further arguments of [plot()][graphics::plot.default] or [image()][graphics::image]; for the variogram of
#'   a fit also `estimator`, `cutoff` and `width` of [gp_variogram()], which `autoplot()` takes, too.
#' @return `x`, invisibly; for `autoplot()` an object of ggplot2.
#' @details The field cannot be drawn between the observations if the trend has variables other than the coordinates (by
#'   name), if there are more than two coordinates, or if the points lie on a line along one of two coordinates. Then
#'   only the observations are drawn, over the first two coordinates, coloured by their fitted values.
#'
#'   If there are more than 5,000 observations, 5,000 of them are drawn at equal steps, and none over a map. Margins
#'   follow the labels. Coordinates that are dates have an axis of dates.
#'
#'   The empirical variogram is that of the response minus its trend, which is lower than that of the model at long
#'   distances if the trend has many coefficients. If there are more than 20,000 observations, a sample of 20,000 is
#'   used. Fits with `transform` are drawn on the transformed scale. The methods of `autoplot()` are found once ggplot2
#'   is loaded.
#'
#'   For a fit with several variables ([lmc()]), `plot()` draws the variograms and cross-variograms of the residuals
#'   with those of the model along each coordinate.
#' @seealso [gp()], [predict()][predict.gp], [gp_cv()], [gp_variogram()].
#' @examples
#' set.seed(1)
#' u <- seq(0, 10, length.out = 40)
#' y <- sin(u) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ u, covariance = matern(5/2) + nugget())
#' plot(fit)
#' plot(fit, c("se", "variogram"))
#' plot(fit, "variogram", estimator = "cressie", cutoff = 5)
#' plot(gp_cv(fit))
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   ggplot2::autoplot(fit)
#' }
#' # a robust variogram in two directions, and the model
#' set.seed(1)
#' d <- data.frame(a = runif(200), b = runif(200))
#' d$z <- sin(6 * d$a) + d$b + rnorm(200, sd = 0.1)
#' plot(gp_variogram(z ~ 1, d, coords = ~ a + b, alpha = c(0, 90), estimator = "cressie"),
#'      gp(z ~ 1, d, ~ a + b))
#' @aliases plot.gp_cv plot.gp_variogram autoplot.gp autoplot.gp_cv autoplot.gp_variogram
#' @export
plot.gp <- function(x, which = c("field", "residuals", "covariance"), n = NULL, level = 0.95, mask = TRUE,
                    newdata = NULL, add = NULL, ...) {
  if (!is.null(newdata)) return(plot_newdata(x, newdata, which, missing(which), ..., add = add))
  if (is_lmc(x$model$covariance)) return(plot_several(x, which, missing(which), ...))
  draw <- list(field = plot_field, se = plot_errors, residuals = plot_residuals, covariance = plot_covariance,
               variogram = plot_variogram)
  check_subset(which, "which", names(draw))
  check_flag(mask, "mask")
  if (!is.null(n)) check_number(n, "n", least = 2, whole = TRUE)
  arguments <- split_settings(list(...), "variogram" %in% which)
  before <- panels(length(which))
  on.exit(graphics::par(before))
  for (name in which) {
    settings <- if (name == "variogram") list(settings = arguments$settings) else
      if (name %in% c("field", "se")) list(add = add)
    do.call(draw[[name]], c(list(x, n, level, mask = mask), settings, arguments$graphics))
  }
  invisible(x)
}

# Maps at the points of newdata.
plot_newdata <- function(x, newdata, which, default, ..., add, call = caller_env()) {
  if (default) which <- "field"
  check_subset(which, "which", c("field", "se"), call)
  before <- panels(length(which))
  on.exit(graphics::par(before))
  for (name in which) {
    plot_map_of_rows(x, newdata, if (name == "se") "se.fit" else "fit",
                     if (name == "se") "Standard errors of the field" else map_title(x), ..., add = add, call = call)
  }
  invisible(x)
}

map_title <- function(x) if (is.null(x$family)) paste("Field of", response_name(x)) else field_words(x)

# The first one of three panels takes the left half.
panels <- function(count) {
  if (count == 3) {
    before <- graphics::par("mfrow")
    graphics::layout(matrix(c(1, 1, 2, 3), 2))
    return(list(mfrow = before))
  }
  if (count > 1) graphics::par(mfrow = if (count == 2) c(1, 2) else c(ceiling(count / 2), 2))
}

# f(...), where arguments of the user replace the defaults.
draw_with <- function(f, ..., overrides) do.call(f, utils::modifyList(list(...), overrides))

viridis <- function(n) grDevices::hcl.colors(n, "viridis")

response_name <- function(x) deparse1(x$formula[[2]])
