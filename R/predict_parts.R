# Predictions of some parts of the mean and the field: the trend, and the terms of the covariance.
#
# A term of the covariance that is left out is 0 at new points, but not at the observations. An indicator tells these
# apart, as a last column of the points: 0 for observations, 1 for new points. The formula of such a term is multiplied
# by 1 minus the indicator of both points. The result is the covariance of the whole field at the observations and of
# its other terms at new points, so that every conditioning predicts these.

# The terms of the covariance by their names, as lists of leaves by path, without noise.
covariance_terms <- function(covariance) {
  terms <- Filter(function(leaves) !identical(leaves[[1]]$label, "nugget"), added_terms(covariance))
  names <- vapply(terms, function(leaves) paste(vapply(leaves, `[[`, "", "label"), collapse = " * "), "")
  number <- stats::ave(seq_along(names), names, FUN = seq_along)
  stats::setNames(terms, paste0(names, ifelse(number > 1, number, "")))
}

# The fit whose new points have the chosen parts alone. Its list `hidden` tells whether the `trend` is left out, and has
# the names of the columns in the trend of all `smooths`, and of those that are left out, `columns`.
with_parts <- function(object, terms, exclude, call = caller_env()) {
  if (is.null(terms) && is.null(exclude)) return(object)
  if (is_lmc(object$model$covariance)) {
    stop_kernops("input", "{.arg terms} and {.arg exclude} are for fits of one variable.", call = call)
  }
  parts <- covariance_terms(object$model$covariance)
  names <- c("trend", names(parts))
  check_parts(terms, "terms", names, call)
  check_parts(exclude, "exclude", names, call)
  left_out <- union(if (!is.null(terms)) setdiff(names, terms), exclude)
  smooth <- lapply(parts, function(leaves) unlist(lapply(leaves, trend_of_smooth, object)))
  of_smooths <- as.character(unlist(smooth))
  first <- vapply(parts[names(parts) %in% left_out], function(leaves) names(leaves)[[1]], "")
  object <- with_indicator(object, first)
  object$hidden <- list(trend = "trend" %in% left_out, smooths = of_smooths,
                        columns = unlist(smooth[names(smooth) %in% left_out]))
  object
}

check_parts <- function(x, name, parts, call) {
  if (is.null(x) || is.character(x) && all(x %in% parts)) return(invisible())
  if (is.character(x)) x <- setdiff(x, parts)
  stop_kernops("input", c(paste0("{.arg ", name, "} must be among the parts of the fit, not ", shown(x), "."),
                          i = "The parts are {.val {parts}}."), call = call)
}

# The names of the columns that a smooth has in the trend.
trend_of_smooth <- function(leaf, object) {
  if (length(leaf$sees) && is_smooth_leaf(leaf)) colnames(settled_column(leaf, object)$trend)
}

# Adds the indicator to the points of a fit; the leaves at `paths` are left out where it is 1.
with_indicator <- function(object, paths) {
  model <- object$model
  width <- model$width
  model$covariance <- change_leaves(model$covariance, function(leaf, path) {
    leaf$positions <- leaf$positions %||% seq_len(width)
    replace(leaf, "indicator", list(if (path %in% paths) width + 1L))
  })
  model$width <- width + 1L
  model$formula <- covariance_text(model)
  object$model <- model
  object$data$u <- cbind(object$data$u, 0)
  object$cell <- new_cell()
  if (!is.null(object$effects)) object$effects <- new_cell()
  object
}

# New points with the indicator, and without the trend that is left out.
points_of_parts <- function(object, points) {
  if (is.null(object$hidden)) return(points)
  points$u <- cbind(points$u, 1)
  if (!is.null(points$blocks)) points$blocks$u <- cbind(points$blocks$u, 1)
  if (!is.null(points$centres)) points$centres <- cbind(points$centres, 1)
  hidden <- object$hidden
  names <- colnames(points$x)
  points$x[, names %in% hidden$columns | hidden$trend & !names %in% hidden$smooths] <- 0
  if (hidden$trend) points[c("offset", "total")] <- list(0 * points$offset, 0)
  points
}

# The factor of a leaf at points with an indicator.
shown_at <- function(leaf, u) if (is.null(leaf$indicator)) 1 else 1 - u[, leaf$indicator]

within_indicator <- function(text, leaf, points) {
  if (is.null(leaf$indicator)) return(text)
  shown <- code_text("(1 - Elem(", points, ", ", leaf$indicator - 1, "))")
  code_text("(", text, ") * ", shown[[1]], " * ", shown[[2]])
}
