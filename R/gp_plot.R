#' Plot a Gaussian process fit
#'
#' Draws one panel for each element of `which`: the field (a curve with a confidence band for one coordinate, a map to
#' scale for two coordinates), its standard errors, quantiles and probabilities of exceedance, random effects and
#' smooths with bands, the residuals against the fitted values, the covariance as a function of distance or along each
#' coordinate, and the empirical variogram with the variogram of the model.
#'
#' @param x,object a fit of [gp()]; for `autoplot()` also a result of [gp_cv()] or [gp_variogram()].
#' @param which names of panels: `"field"`, `"se"` (standard errors of the field), quantiles such as `"q0.9"` and
#'   probabilities such as `"above500"` (of the field), as maps or curves; `"effects"`, see the section about effects;
#'   `"residuals"`, `"covariance"`, `"variogram"`. Fits of several variables have the panels `"variogram"` (the
#'   default), `"effects"`, and a map or a curve of each variable. Panels for [gp_cv()] are `"observed"` (against
#'   predictions), `"qq"` (standardised errors against normal quantiles) and `"map"` (standardised errors at their
#'   points); `autoplot()` draws one of these panels.
#' @param model a fit of [gp()], a covariance or a variogram model of gstat. The variogram of the model is drawn over
#'   the empirical variogram, along each direction of the empirical variogram. The model is also drawn over clouds and
#'   over directional and robust variograms.
#' @param mask whether to draw a map within the convex hull of the observations only.
#' @param newdata new points with covariates, such as a grid, to draw maps of a fit whose trend has covariates: a data
#'   frame, or points or a map of sf, stars, terra or sp. `which` is then `"field"` (the default), `"se"`, quantiles and
#'   probabilities.
#' @param add an overlay of maps: lines, polygons or points of sf, terra or sp, such as a coastline, or a function
#'   without arguments that draws the overlay; for `autoplot()`, a function that returns layers of ggplot2.
#' @param terms,exclude parts of the field that maps and curves include (`terms`) or omit (`exclude`), as in
#'   [predict()][predict.gp].
#' @param n the approximate number of points at which the field is drawn; default: 200 for a curve, 100 x 100 for a map.
#' @param level the level of the band around a curve, and of the intervals of effects.
#' @param ... arguments of [plot()][graphics::plot.default] for the limits, labels and axes of panels, such as `xlim`,
#'   `main` and `asp`. For maps also `col`, `breaks`, `zlim` and `useRaster` of [image()][graphics::image], which also
#'   apply to the legend. For the variogram of a fit also `estimator`, `cutoff` and `width` of [gp_variogram()];
#'   `autoplot()` also accepts these three arguments.
#' @return `x`, invisibly. `autoplot()` returns an object of ggplot2, or for several panels a list of such objects, of
#'   class `gp_panels`, whose `print()` method draws all panels on a page.
#' @details The field cannot be drawn between the observations if the trend has variables that are not coordinates, if
#'   there are more than two coordinates, or if the points lie on a line along one of two coordinates. In these cases
#'   only the observations are drawn, over the first two coordinates, coloured by their fitted values.
#'
#'   If there are more than 5,000 observations, every panel of observations draws 5,000 observations, evenly spaced over
#'   the rows, and maps draw no observations; fitted values and residuals are drawn for 1,000 observations. The margins
#'   are as wide as the labels require. Coordinates that are dates have an axis of dates. Distances have the unit of the
#'   reference system.
#'
#'   The empirical variogram is computed from the response minus its trend; at long distances it is lower than the
#'   variogram of the model if the trend has many coefficients. If there are more than 3,000 observations, a sample of
#'   3,000 is used. For a fit with several variables ([lmc()]), the panel shows the variograms and cross-variograms of
#'   the residuals, and the variograms of the model along each coordinate. The methods of `autoplot()` are registered
#'   when ggplot2 is loaded.
#'
#'   Fits with `transform` are drawn on the transformed scale, but quantiles and probabilities on the scale of the
#'   response.
#' @section Effects: `"effects"` has a panel for each term, with intervals at `level` given the parameters of the
#'   covariance: the predicted effects of levels from the smallest to the largest effect, as returned by
#'   [`ranef()`][ranef.gp]; curves of effects of time and of smooths of one variable, with a curve for each level of a
#'   factor; maps of smooths of two variables and of their standard errors within the convex hull of the data. A smooth
#'   of more than two variables has a curve along each variable, at the medians of the other variables. A numeric `by`
#'   variable is set to 1. Bands are drawn for up to six curves. With a [family][gp_families], effects are on the scale
#'   of the link.
#' @section Errors: class `kernops_input_error` for panels that a fit does not have, and for other invalid arguments.
#' @seealso [gp()], [predict()][predict.gp], [gp_cv()], [gp_variogram()].
#' @examples
#' set.seed(1)
#' u <- seq(0, 10, length.out = 40)
#' y <- sin(u) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ u, covariance = matern(5/2) + nugget())
#' plot(fit)
#' plot(fit, c("se", "variogram"))
#' plot(fit, "variogram", estimator = "cressie", cutoff = 5)
#' plot(fit, c("q0.1", "above0.5"))
#' plot(gp_cv(fit))
#' # effects with intervals
#' site <- rep(letters[1:8], 5)
#' plot(gp(y ~ (1 | site), coords = ~ u, covariance = matern(5/2) + nugget()), "effects")
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
                    newdata = NULL, add = NULL, terms = NULL, exclude = NULL, ...) {
  which <- names_of_panels(which, x, newdata, missing(which))
  shown <- with_observations(x)
  arguments <- split_settings(list(...), "variogram" %in% which)
  panels <- panels_of(with_shown_parts(shown, terms, exclude), which, n, level, mask, newdata, arguments$settings)
  check_overlay(add)
  kinds <- vapply(panels, `[[`, "", "kind")
  check_drawn(arguments$graphics, plot.gp, any(c("map", "values") %in% kinds))
  before <- open_page(page_of_panels(panels, which, is_lmc(x$model$covariance)))
  on.exit(graphics::par(before))
  for (panel in panels) draw_panel(panel, arguments$graphics, add)
  invisible(x)
}

viridis <- function(n) grDevices::hcl.colors(n, "viridis")

response_name <- function(x) deparse1(x$formula[[2]])
