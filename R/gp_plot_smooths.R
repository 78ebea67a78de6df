# Panels of one smooth: the effects of levels, curves, or the map of a surface.

panel_of_levels <- function(object, leaf, column, levels, half) {
  values <- median_values(column, nrow(levels))
  factors <- intersect(names(levels), column$names)
  values[, factors] <- as.matrix(levels[factors])
  moments <- smooth_moments(object, leaf, values, levels$.level)
  new_panel("levels", leaf$label, "effect", paste(factors, collapse = ":"),
            table = with_limits(data.frame(level = levels$label), moments, half))
}

# Curves along the variable `name`, one for each combination of levels. A level has the same colour in all panels.
smooth_curves <- function(object, leaf, column, name, levels, half, n = 200) {
  count <- max(1, NROW(levels))
  at <- seq(min(column$sample[, name]), max(column$sample[, name]), length.out = n)
  values <- median_values(column, n * count)
  values[, name] <- rep(at, count)
  of <- rep(seq_len(count), each = n)
  factors <- intersect(names(levels), column$names)
  if (length(factors)) values[, factors] <- as.matrix(levels[of, factors, drop = FALSE])
  moments <- smooth_moments(object, leaf, values, levels$.level[of])
  variable <- function(v) in_fitted_class(column, name, v)
  table <- data.frame(x = variable(rep(at, count)))
  if (!is.null(levels)) table$along <- levels$label[of]
  others <- setdiff(colnames(column$sample), c(name, names(column$factors), column$spec$by))
  middle <- values[1, others]
  fixed <- if (length(others)) paste0(" (", paste(others, "=", signif(middle, 3), collapse = ", "), ")")
  new_panel("curves", leaf$label, paste0(name, fixed), "effect", curves = with_limits(table, moments, half),
            rug = variable(column$sample[, name]), legend = "level")
}

# The values of a variable in the class that it had in the data, such as a date.
in_fitted_class <- function(column, name, values) {
  fitted <- column$fitted[[match(name, column$names)]]
  if (inherits(fitted, c("Date", "POSIXct"))) from_days(values, fitted) else values
}

# A map of a smooth within the convex hull of the values of its variables in the data.
surface_panels <- function(object, leaf, column, names, steps = 50) {
  seen <- column$sample[, names]
  axes <- lapply(1:2, function(k) seq(min(seen[, k]), max(seen[, k]), length.out = steps))
  grid <- as.matrix(expand.grid(axes))
  scale <- apply(seen, 2, function(v) diff(range(v)))
  shown <- in_hull(t(t(grid) / scale), t(t(seen) / scale), 1 / steps)
  values <- median_values(column, sum(shown))
  values[, names] <- grid[shown, ]
  moments <- smooth_moments(object, leaf, values)
  surface <- function(values, title, legend) {
    z <- matrix(replace(rep(NA_real_, nrow(grid)), shown, values), steps)
    new_panel("map", title, names[[1]], names[[2]], z = z, aspect = NA, legend = legend,
              axes = lapply(1:2, function(k) in_fitted_class(column, names[[k]], axes[[k]])))
  }
  list(surface(moments$process, leaf$label, "effect"),
       surface(sqrt(pmax(0, moments$variance)), paste("Standard errors of", leaf$label), "standard error"))
}
