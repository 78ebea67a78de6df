# The plots of plot(), drawn by ggplot2.

# Declares the names of columns in aesthetics; otherwise codetools would report them as undefined variables.
utils::globalVariables(c("dist", "gamma", "along", "lwr", "upr", "fit", "observed", "zscore", "x", "y", "value",
                         "level", "part"))

#' @rdname plot.gp
#' @method autoplot gp
#' @rawNamespace S3method(ggplot2::autoplot, gp)
autoplot.gp <- function(object, which = "field", n = NULL, level = 0.95, mask = TRUE, newdata = NULL, add = NULL,
                        terms = NULL, exclude = NULL, ...) {
  which <- names_of_panels(which, object, newdata, missing(which))
  object <- with_observations(object)
  arguments <- split_settings(list(...), "variogram" %in% which)
  if (length(arguments$graphics)) {
    stop_further_arguments("{.fn autoplot}", arguments$graphics, setdiff(names(formals()), c("object", "...")))
  }
  panels <- panels_of(with_shown_parts(object, terms, exclude), which, n, level, mask, newdata, arguments$settings)
  check_overlay(add)
  plots <- lapply(panels, ggplot_of_panel, overlay_layer(add))
  if (length(plots) == 1) plots[[1]] else structure(plots, class = "gp_panels")
}

#' @export
print.gp_panels <- function(x, ...) {
  no_further("print", ...)
  numbers <- page_matrix(length(x), page_shape())
  cex <- page_cex(numbers)
  small <- ggplot2::theme(text = ggplot2::element_text(size = 11 * cex), plot.title.position = "plot",
                          legend.key.size = grid::unit(1.2 * cex, "lines"))
  place <- function(k) {
    on_page <- which(numbers == 1 + (k - 1) %% max(numbers), arr.ind = TRUE)
    grid::viewport(layout.pos.row = range(on_page[, 1]), layout.pos.col = range(on_page[, 2]))
  }
  for (k in seq_along(x)) {
    if ((k - 1) %% max(numbers) == 0) {
      grid::grid.newpage()
      grid::pushViewport(grid::viewport(layout = grid::grid.layout(nrow(numbers), ncol(numbers))))
    }
    print(x[[k]] + small, vp = place(k))
  }
  invisible(x)
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
    ggplot2::labs(x = distance_words(attr(object, "unit")), y = "semivariance",
                  colour = "variable and direction", title = "Variogram") + wide_margin() +
    if (nlevels(table$along) > 1) ggplot2::scale_colour_manual(values = class_colours(nlevels(table$along)))
}

# Labels such as "zinc, 45 degrees"; only the name of the variable if there is one direction.
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
  some <- table[drawn_rows(nrow(table)), ]
  diagonal <- ggplot2::geom_abline(linetype = 2, colour = "grey40")
  if (which == "observed") {
    return(ggplot2::ggplot(some, ggplot2::aes(fit, observed)) + diagonal + ggplot2::geom_point(alpha = 0.6) +
             ggplot2::labs(x = "predicted without it", y = "observed", title = "Cross-validation") + wide_margin())
  }
  if (which == "qq") {
    return(ggplot2::ggplot(normal_quantiles(table$zscore), ggplot2::aes(x, y)) + diagonal +
             ggplot2::geom_point(alpha = 0.6) +
             ggplot2::labs(x = "normal quantile", y = "standardised error", title = "Standardised errors") +
             wide_margin())
  }
  axes <- attr(object, "axes")
  aspect <- attr(object, "aspect") %||% 1
  ggplot2::ggplot(cbind(map_places(object)[drawn_rows(nrow(table)), ], some), ggplot2::aes(x, y, fill = zscore)) +
    ggplot2::geom_point(shape = 21, size = 2, stroke = 0.2) + ggplot2::scale_fill_gradient2() +
    ggplot_scale(list(aspect = aspect)) + wide_margin() +
    ggplot2::labs(x = axes[[1]], y = axes[[2]], fill = "standardised error", title = "Standardised errors")
}
