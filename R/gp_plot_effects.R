# Panels of random effects, effects of time and smooths, with confidence bands.

# One panel or several panels for each effect, in the order of the terms of the covariance. With a family, effects are
# on the scale of the linear predictor.
effect_panels <- function(x, level, call = caller_env()) {
  object <- with_indicators(x)
  leaves <- added_effects(object$model$covariance)
  leaves <- unlist(lapply(unname(leaves), effect_of_each, object), recursive = FALSE)
  if (!length(leaves)) {
    stop_kernops("input", "The fit has no effects, such as {.code (1 | g)}, {.code s(x)} or {.code ar1(year)}.",
                 call = call)
  }
  object$prepared <- conditioning_for(object)
  half <- stats::qnorm((1 + level) / 2)
  panels <- lapply(leaves, function(leaf) {
    if (is_smooth_leaf(leaf)) smooth_panels(object, leaf, half, call) else coefficient_panels(object, leaf, half)
  })
  unlist(panels, recursive = FALSE)
}

# Adds columns to a table: the mean and the limits of the confidence band.
with_limits <- function(table, moments, half) {
  se <- sqrt(pmax(0, moments$variance))
  cbind(table, fit = moments$process, lwr = moments$process - half * se, upr = moments$process + half * se)
}

# The panels of an effect: one for each coefficient of a random effect, or the curve of an effect of time.
coefficient_panels <- function(object, leaf, half) {
  column <- settled_column(leaf, object)
  coefficients <- leaf$effect %||% "(Intercept)"
  lapply(seq_along(coefficients), function(k) {
    moments <- effect_moments(object$prepared, coefficient_targets(object, leaf, column, k), TRUE)
    if (!is.null(column$times)) {
      times <- from_days(column$times + column$origin, column$fitted[[1]])
      return(new_panel("curves", leaf$label, deparse1(column$formula[[2]]), "effect",
                       curves = with_limits(data.frame(x = times), moments, half), rug = times))
    }
    title <- if (identical(coefficients, "(Intercept)")) leaf$label else paste0(leaf$label, ": ", coefficients[[k]])
    new_panel("levels", title, "effect", deparse1(column$formula[[2]]),
              table = with_limits(data.frame(level = column$levels), moments, half))
  })
}

# Points at the given values of the variables of a smooth; indicators switch off all other terms. The unpenalised
# functions of the smooth are columns of the trend.
smooth_points <- function(object, leaf, values, level = NULL) {
  column <- settled_basis(leaf, object)
  functions <- smooth_functions(column, values)
  n <- nrow(values)
  u <- object$data$u[rep(1, n), , drop = FALSE]
  terms <- covariance_terms(object$model$covariance)
  u[, unlist(lapply(terms, function(leaves) leaves[[1]]$indicator))] <- 1
  u[, leaf$indicator] <- 0
  if (!is.null(leaf$belongs)) u[, leaf$belongs$column + 0:2] <- rep(c(leaf$belongs$number - 1, 0, 0), each = n)
  u[, setdiff(leaf$dims, leaf$level)] <- functions$values
  if (!is.null(level)) u[, leaf$level] <- level
  names <- colnames(object$parts$x)
  x <- matrix(0, n, length(names), dimnames = list(NULL, names))
  x[, paste0(leaf$belongs$name, ":"[!is.null(leaf$belongs)], colnames(functions$trend))] <- functions$trend
  list(u = u, x = x, offset = numeric(n), total = 0)
}

smooth_moments <- function(object, leaf, values, level = NULL) {
  moments <- predicted_moments(object, smooth_points(object, leaf, values, level), field_request$how, TRUE)
  moments$process <- moments$trend + moments$process
  moments
}

# The panels of a smooth. A smooth of two numeric variables has maps of the smooth and of its standard errors. Other
# smooths have a curve along each numeric variable, at the medians of the other variables, for each level of factors. If
# all variables are factors, the panel shows the effects of the levels.
smooth_panels <- function(object, leaf, half, call) {
  column <- settled_basis(leaf, object)
  if (is.null(column$sample)) {
    stop_kernops("input", "This fit was saved by an earlier version: {.fn update} it to plot {.code {leaf$label}}.",
                 call = call)
  }
  spec <- column$spec
  hidden <- if (spec$by != "NA") spec$by
  numeric <- setdiff(column$names, c(names(column$factors), hidden))
  levels <- levels_of_smooth(object, leaf, column, hidden)
  if (!length(numeric)) return(list(panel_of_levels(object, leaf, column, levels, half)))
  if (length(numeric) == 2 && is.null(levels)) return(surface_panels(object, leaf, column, numeric))
  lapply(numeric, function(name) smooth_curves(object, leaf, column, name, levels, half))
}

# Values of the variables of a smooth at n points: the median of each variable, and 1 for a numeric `by`.
median_values <- function(column, n) {
  middle <- apply(column$sample, 2, stats::median)
  middle[names(column$factors)] <- 1
  by <- column$spec$by
  if (by != "NA") middle[[by]] <- if (is.null(column$by_level)) 1 else match(column$by_level, column$factors[[by]])
  matrix(rep(middle, each = n), n, dimnames = list(NULL, column$names))
}

# A table of the combinations of the levels of the factors of a smooth: the `label`; for each factor in the basis, a
# column with the number of its level; and, for a random smooth, the number `.level` of its level. NULL if the smooth
# has no factors.
levels_of_smooth <- function(object, leaf, column, hidden) {
  known <- column$factors[setdiff(names(column$factors), hidden)]
  if (!is.null(leaf$level)) known <- c(known, list(.level = settled_column(leaf, object)$levels))
  if (!length(known)) return(NULL)
  numbers <- expand.grid(lapply(known, seq_along))
  labels <- do.call(paste, c(unname(Map(function(levels, k) levels[k], known, numbers)), sep = ":"))
  cbind(numbers, label = labels)
}
