# The plots of plot(), for ggplot2.

# Declares columns that aesthetics name, for codetools.
utils::globalVariables(c("dist", "gamma", "along", "lwr", "upr", "fit", "observed", "zscore", "x", "y", "value"))

#' @rdname plot.gp
#' @method autoplot gp
#' @rawNamespace S3method(ggplot2::autoplot, gp)
autoplot.gp <- function(object, which = c("field", "se", "variogram"), n = NULL, level = 0.95, mask = TRUE, ...) {
  which <- check_choice(which, "which", c("field", "se", "variogram"))
  refuse_several(object, "{.fn autoplot} is", "{.fn plot} draws variograms and cross-variograms.")
  check_flag(mask, "mask")
  arguments <- split_settings(list(...), which == "variogram")
  if (length(arguments$graphics)) stop_further_arguments("{.fn autoplot}", arguments$graphics)
  if (which == "variogram") return(autoplot_variogram(object, arguments$settings))
  draw <- list(map = autoplot_map, curve = autoplot_curve, points = autoplot_points)[[field_kind(object)]]
  draw(object, which, n, level, mask)
}

autoplot_map <- function(object, which, n, level, mask) {
  names <- colnames(object$parts$u)
  map <- map_of(object, n %||% 1e4, mask, if (which == "field") "fit" else "se.fit")
  cells <- data.frame(expand.grid(x = map$axes[[1]], y = map$axes[[2]]), value = as.vector(map$z))
  ggplot2::ggplot(cells[!is.na(cells$value), ], ggplot2::aes(x, y, fill = value)) + ggplot2::geom_raster() +
    ggplot2::scale_fill_viridis_c() + ggplot2::coord_fixed(map_aspect(object)) +
    ggplot2::labs(x = names[[1]], y = names[[2]],
                  fill = if (which == "field") field_words(object) else "standard error",
                  title = if (which == "field") map_title(object) else "Standard errors of the field")
}

autoplot_curve <- function(object, which, n, level, mask) {
  if (which == "se") {
    table <- errors_of_curve(object, n %||% 200)
    return(ggplot2::ggplot(table, ggplot2::aes(x, value)) + ggplot2::geom_line() +
             ggplot2::labs(x = colnames(object$parts$u), y = "standard error"))
  }
  curve <- curve_of(object, n %||% 200, level)
  seen <- data.frame(x = object$parts$u[, 1], y = object$parts$y)
  ggplot2::ggplot(data.frame(x = curve$points, curve$band), ggplot2::aes(x)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = lwr, ymax = upr), alpha = 0.3) +
    ggplot2::geom_line(ggplot2::aes(y = fit)) + ggplot2::geom_point(ggplot2::aes(x, y), seen, size = 0.8) +
    ggplot2::labs(x = colnames(object$parts$u), y = response_name(object))
}

autoplot_points <- function(object, which, n, level, mask) {
  if (which == "se") stop_between_observations()
  points <- observations_of(object)
  ggplot2::ggplot(points$table, ggplot2::aes(x, y, colour = value)) + ggplot2::geom_point() +
    ggplot2::scale_colour_viridis_c() + ggplot2::labs(x = points$names[[1]], y = points$names[[2]], colour = "fitted") +
    if (!is.na(points$aspect)) ggplot2::coord_fixed(points$aspect)
}

autoplot_variogram <- function(object, settings) {
  parts <- variogram_of(object, settings)
  autoplot.gp_variogram(parts$empirical) +
    ggplot2::geom_line(ggplot2::aes(dist, gamma, linetype = along), parts$model) +
    ggplot2::labs(x = parts$xlab, linetype = "along")
}

#' @rdname plot.gp
#' @method autoplot gp_variogram
#' @rawNamespace S3method(ggplot2::autoplot, gp_variogram)
autoplot.gp_variogram <- function(object, model = NULL, ...) {
  if (...length()) stop_further_arguments("{.fn autoplot}", list(...), "model")
  curves <- if (!is.null(model)) variogram_curves(object, model)
  table <- data.frame(dist = object$dist, gamma = object$gamma, along = factor(direction_words(object$id, object)))
  points <- if (nlevels(table$along) > 1) ggplot2::geom_point(ggplot2::aes(colour = along)) else ggplot2::geom_point()
  lines <- if (!is.null(model)) {
    curves$along <- factor(direction_words(object$id[[1]], curves), levels(table$along))
    ggplot2::geom_line(if (nlevels(table$along) > 1) ggplot2::aes(colour = along), curves)
  }
  ggplot2::ggplot(table, ggplot2::aes(dist, gamma)) + points + lines + ggplot2::expand_limits(x = 0, y = 0) +
    ggplot2::labs(x = "distance", y = "semivariance", colour = "variable and direction")
}

# Such as "zinc, 45 degrees"; the name of the variable alone where there is one direction.
direction_words <- function(id, table) {
  if (is.null(table) || !nrow(table)) return(character())
  angle <- paste0(table$dir.hor, " degrees", ifelse(table$dir.ver != 0, paste(" up", table$dir.ver), ""))
  ids <- if (length(unique(id)) > 1) paste0(id, ", ") else ""
  paste0(ids, angle)
}

#' @rdname plot.gp
#' @method autoplot gp_cv
#' @rawNamespace S3method(ggplot2::autoplot, gp_cv)
autoplot.gp_cv <- function(object, which = c("observed", "qq", "map"), ...) {
  if (...length()) stop_further_arguments("{.fn autoplot}", list(...), "which")
  which <- check_choice(which, "which", c("observed", "qq", "map"))
  table <- as.data.frame(unclass(object)[c("observed", "fit", "zscore")])
  if (which == "observed") {
    return(ggplot2::ggplot(table, ggplot2::aes(fit, observed)) + ggplot2::geom_abline(linetype = 2) +
             ggplot2::geom_point() + ggplot2::labs(x = "predicted without it", y = "observed"))
  }
  if (which == "qq") {
    return(ggplot2::ggplot(table, ggplot2::aes(sample = zscore)) + ggplot2::geom_abline(linetype = 2) +
             ggplot2::stat_qq() + ggplot2::labs(x = "normal quantile", y = "standardised error"))
  }
  coords <- map_coordinates(object)
  ggplot2::ggplot(data.frame(x = coords[, 1], y = coords[, 2], table), ggplot2::aes(x, y, colour = zscore)) +
    ggplot2::geom_point() + ggplot2::scale_colour_gradient2() + ggplot2::coord_fixed(attr(object, "aspect") %||% 1) +
    ggplot2::labs(x = colnames(coords)[[1]], y = colnames(coords)[[2]], colour = "standardised error")
}
