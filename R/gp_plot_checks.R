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

plot_variogram <- function(x, n, level, ..., settings, mask) {
  parts <- variogram_of(x, settings)
  draw_with(graphics::plot, x = parts$empirical$dist, y = parts$empirical$gamma, pch = 16, las = 1,
            xlim = c(0, max(parts$empirical$upper)), ylim = range(0, parts$empirical$gamma, parts$model$gamma),
            xlab = parts$xlab, ylab = "semivariance", main = "Variogram", overrides = list(...))
  along <- unique(parts$model$along)
  colours <- viridis(length(along) + 1)
  for (k in seq_along(along)) {
    with(parts$model[parts$model$along == along[[k]], ], graphics::lines(dist, gamma, col = colours[[k]], lwd = 2,
                                                                         lty = k))
  }
  if (length(along) > 1) {
    graphics::legend("bottomright", paste("along", along), lty = seq_along(along), col = colours, lwd = 2, bty = "n")
  }
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
  # all pairs of more points take seconds
  some <- unique(round(seq(1, length(residual), length.out = min(length(residual), 2e4))))
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
       xlab = if (globe) "distance in km" else if (measures_degrees(x)) "distance in degrees" else "distance")
}

#' @rdname plot.gp
#' @export
plot.gp_cv <- function(x, which = c("observed", "qq", "map"), ...) {
  if (missing(which) && !has_map(x)) which <- c("observed", "qq")
  check_subset(which, "which", c("observed", "qq", "map"))
  coords <- if ("map" %in% which) map_coordinates(x)
  before <- panels(length(which))
  on.exit(graphics::par(before))
  colour <- grDevices::adjustcolor(viridis(3)[[1]], 0.6)
  if ("observed" %in% which) {
    draw_with(graphics::plot, x = x$fit, y = x$observed, pch = 16, cex = 0.6, las = 1, col = colour,
              xlab = "predicted without it", ylab = "observed", main = "Cross-validation", overrides = list(...))
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("qq" %in% which) {
    stats::qqnorm(x$zscore, pch = 16, cex = 0.6, las = 1, col = colour, main = "Standardised errors")
    graphics::abline(0, 1, lty = 2, col = "grey40")
  }
  if ("map" %in% which) {
    draw_with(graphics::plot, x = coords[, 1], y = coords[, 2], asp = 1, las = 1, pch = ifelse(x$zscore < 0, 25, 24),
              cex = pmin(abs(x$zscore), 4) / 2, bg = ifelse(x$zscore < 0, viridis(3)[[1]], viridis(3)[[3]]),
              xlab = colnames(coords)[[1]], ylab = colnames(coords)[[2]], main = "Standardised errors",
              overrides = list(...))
  }
  invisible(x)
}

has_map <- function(cv) {
  u <- attr(cv, "coords")
  is.matrix(u) && nrow(u) == nrow(cv) && ncol(u) == 2
}

map_coordinates <- function(cv) {
  if (has_map(cv)) return(attr(cv, "coords"))
  stop_kernops("input", "A map needs all observations of a fit with two coordinates.")
}
