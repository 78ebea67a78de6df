# Diagnostic plots of a fit: the empirical variogram over that of the model, and cross-validation.

# The arguments of plot() for gp_variogram(), and all others.
split_settings <- function(arguments, drawn, call = caller_env()) {
  of_pairs <- names(arguments) %in% c("estimator", "cutoff", "width", "alpha", "tol", "cloud")
  settings <- arguments[of_pairs]
  if (length(settings) && !drawn) {
    stop_kernops("input", "{.arg {names(settings)}} {?is/are} for {.code which = \"variogram\"}.", call = call)
  }
  if (length(other <- intersect(names(settings), c("alpha", "tol", "cloud")))) {
    stop_kernops("input", c("The variogram of a fit has no {.arg {other}}.",
                            i = "{.code plot(gp_variogram(), fit)} draws one of any kind, and the model over it."),
                 call = call)
  }
  list(settings = settings, graphics = arguments[!of_pairs])
}

variogram_panels <- function(x, settings, call) {
  if (is_lmc(x$model$covariance)) return(panels_of_pairs(x, settings, call))
  parts <- variogram_of(x, settings)
  list(variogram_panel("Variogram", parts$xlab, parts$empirical, parts$model))
}

variogram_panel <- function(title, xlab, empirical, model, reach = max(empirical$upper)) {
  model <- distinct_curves(model)
  new_panel("curves", title, xlab, "semivariance", points = data.frame(x = empirical$dist, y = empirical$gamma),
            curves = data.frame(x = model$dist, fit = model$gamma, along = model$along), legend = "along",
            zero = TRUE, reach = reach)
}

# The longest curve if the others do not differ from it.
distinct_curves <- function(model) {
  curves <- split(model, model$along)
  longest <- curves[[which.max(vapply(curves, function(curve) max(curve$dist), 0))]]
  same <- vapply(curves, function(curve) {
    expected <- stats::approx(longest$dist, longest$gamma, curve$dist, rule = 2)$y
    isTRUE(all.equal(expected, curve$gamma, tolerance = 1e-2))
  }, NA)
  if (all(same)) longest else model
}

# The variogram of the response without its trend, nugget included, and the variogram of the model along each coordinate
# in which the covariance differs.
variogram_of <- function(x, settings = list()) {
  if (!is.null(x$family)) {
    stop_kernops("input", c("The variogram of a response does not show the covariance of a fit with a {.arg family}.",
                            i = "{.code which = \"covariance\"} draws the latter."))
  }
  x$data <- observed_data(x)
  residual <- x$data$y - if (ncol(x$data$x)) as.vector(x$data$x %*% x$beta) else 0
  globe <- on_globe(x$model)
  place <- function(u) if (globe) on_sphere(u) else u[, seq_len(x$model$d), drop = FALSE]
  # all pairs of more points take more than a second
  some <- unique(round(seq(1, length(residual), length.out = min(length(residual), 3000))))
  u <- x$data$u[some, , drop = FALSE]
  # pairs of different groups are beyond any distance
  apart <- apart_by_group(place(u), x$model, u, function() place(u))
  settings <- utils::modifyList(list(cutoff = largest_extent(place(u)) / 3), settings)
  empirical <- do.call(gp_variogram, c(list(apart, residual[some]), settings))
  curves <- covariance_curves(x)
  product <- covariance_product(x$model)
  origin <- x$data$u[1, , drop = FALSE]
  model <- lapply(curves$shown, function(k) {
    shifted <- origin[rep(1, 200), , drop = FALSE]
    shifted[, k] <- shifted[, k] + curves$reach[[k]] * seq(1e-6, 1, length.out = 200)
    covariance <- as.vector(product(list(theta = x$theta, x = shifted, y = origin, b = 1)))
    field <- as.vector(product(list(theta = x$theta, x = origin, y = origin, b = 1)))
    dist <- sqrt(rowSums((place(shifted) - place(origin[rep(1, 200), , drop = FALSE]))^2))
    data.frame(dist, gamma = field + nugget_of(x) - covariance, along = colnames(x$parts$u)[[k]])
  })
  model <- do.call(rbind, model)
  list(empirical = empirical, model = model[model$dist <= max(empirical$upper), ],
       xlab = distance_label(x))
}

#' @rdname plot.gp
#' @export
plot.gp_cv <- function(x, which = c("observed", "qq", "map"), ...) {
  if (missing(which) && !has_map(x)) which <- c("observed", "qq")
  check_subset(which, "which", c("observed", "qq", "map"))
  places <- if ("map" %in% which) map_places(x)
  before <- open_page(page_matrix(length(which)))
  on.exit(graphics::par(before))
  some <- drawn_rows(nrow(x))
  colour <- grDevices::adjustcolor(viridis(3)[[1]], 0.6)
  drawn <- function(x, y) graphics::points(x, y, pch = 16, cex = 0.6, col = colour)
  inner <- graphics::par("mar", "mgp")
  on.exit(graphics::par(inner), add = TRUE, after = FALSE)
  if ("observed" %in% which) {
    open_panel(x$fit, x$observed, "predicted without it", "observed", "Cross-validation", list(...))
    drawn(x$fit[some], x$observed[some])
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("qq" %in% which) {
    quantiles <- normal_quantiles(x$zscore)
    open_panel(quantiles$x, quantiles$y, "normal quantile", "standardised error", "Standardised errors", list())
    drawn(quantiles$x, quantiles$y)
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("map" %in% which) plot_errors_of_cv(x, places, some, list(...))
  invisible(x)
}

# Up to `most_drawn` ordered values beside the quantiles of the normal distribution.
normal_quantiles <- function(z) {
  z <- sort(z[is.finite(z)])
  some <- drawn_rows(length(z))
  data.frame(x = stats::qnorm(stats::ppoints(length(z)))[some], y = z[some])
}

# Triangles that point up are observations above their predictions.
plot_errors_of_cv <- function(x, places, some, arguments) {
  colours <- class_colours(2)
  words <- c("above", "below", "prediction")
  axes <- attr(x, "axes")
  open_panel(places$x, places$y, axes[[1]], axes[[2]], "Standardised errors", arguments, words,
             attr(x, "aspect") %||% 1)
  above <- x$zscore[some] >= 0
  graphics::points(places$x[some], places$y[some], pch = ifelse(above, 24, 25), cex = pmin(abs(x$zscore[some]), 4) / 2,
                   bg = colours[ifelse(above, 1, 2)])
  margin_legend(words, pch = c(24, 25, NA), pt.bg = c(colours, NA))
}

has_map <- function(cv) {
  u <- attr(cv, "coords")
  is.matrix(u) && nrow(u) == nrow(cv) && ncol(u) == 2
}

# The coordinates x and y of a map, which may be dates.
map_places <- function(cv) {
  if (!has_map(cv)) stop_kernops("input", "A map needs all observations of a fit with two coordinates.")
  u <- attr(cv, "coords")
  attr(cv, "places") %||% data.frame(x = u[, 1], y = u[, 2])
}
