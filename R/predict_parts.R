# Predictions of selected parts of the mean and the field. The parts are the trend and the terms of the covariance.
#
# A term of the covariance that the user omits is 0 at new points, but not at the observations. Therefore each term has
# an indicator, an additional column of the points. The indicator is 1 at new points where the term is omitted, and
# otherwise 0. The formula of a term is multiplied by 1 minus the indicator of x and by 1 minus the indicator of y. The
# result is the covariance of the whole field at the observations, and of the chosen terms at new points, so that every
# conditioning predicts the chosen terms. All choices of terms use the same model and the same results at the
# observations.

# A list of the terms of the covariance, without noise, named by their labels. Each term is a list of its leaves, named
# by path. The structures of lmc() have the names that the user gave in the call.
covariance_terms <- function(covariance) {
  labels <- function(leaves) unlist(lapply(Filter(Negate(is_coregion), leaves), `[[`, "label"))
  terms <- Filter(function(leaves) !"nugget" %in% labels(leaves), added_terms(covariance))
  names <- vapply(terms, function(leaves) paste(labels(leaves), collapse = " * "), "")
  number <- stats::ave(seq_along(names), names, FUN = seq_along)
  stats::setNames(terms, paste0(names, ifelse(number > 1, number, "")))
}

# Returns the fit, changed so that predictions at new points consist only of the chosen parts.
with_parts <- function(object, terms, exclude, call = caller_env()) {
  if (is.null(terms) && is.null(exclude)) return(object)
  parts <- covariance_terms(object$model$covariance)
  names <- c("trend", names(parts))
  fields <- names(Filter(is_field_term, parts))
  terms <- parts_by_name(terms, "terms", names, fields, call)
  exclude <- parts_by_name(exclude, "exclude", names, fields, call)
  left_out <- union(if (!is.null(terms)) setdiff(names, terms), exclude)
  replace(with_indicators(object), "left_out", list(left_out))
}

# TRUE for terms of the field; effects and smooths read columns of the data instead of coordinates.
is_field_term <- function(leaves) !all(vapply(Filter(Negate(is_coregion), leaves), is_effect, NA))

# The names of parts, with "field" replaced by the names of all terms of the field.
parts_by_name <- function(x, name, parts, fields, call) {
  if (length(fields)) x <- unlist(lapply(x, function(part) if (identical(part, "field")) fields else part))
  if (is.null(x) || is.character(x) && all(x %in% parts)) return(x)
  if (is.character(x)) x <- setdiff(x, parts)
  stop_kernops("input", c(paste0("{.arg ", name, "} must be among the parts of the fit, not ", shown(x), "."),
                          i = "The parts are {.val {parts}}.",
                          i = if (length(fields)) "{.val field} stands for {.val {fields}}."), call = call)
}

# For each term, the names of the columns that its smooths have in the trend.
trend_of_smooths <- function(object) {
  of_leaf <- function(leaf) {
    if (!length(leaf$sees) || !is_smooth_leaf(leaf)) return(NULL)
    names <- colnames(settled_basis(leaf, object)$trend)
    if (is.null(leaf$belongs)) names else paste(leaf$belongs$name, names, sep = ":")
  }
  lapply(covariance_terms(object$model$covariance), function(leaves) unlist(lapply(leaves, of_leaf)))
}

# Adds the indicators to the points of a fit; the first leaf of each term reads the indicator of the term.
with_indicators <- function(object) {
  model <- object$model
  width <- model$width
  first <- vapply(covariance_terms(model$covariance), function(leaves) names(leaves)[[1]], "")
  model$covariance <- change_leaves(model$covariance, function(leaf, path) {
    leaf$positions <- leaf$positions %||% seq_len(width)
    replace(leaf, "indicator", list(if (path %in% first) width + match(path, first)))
  })
  model$width <- width + length(first)
  model$formula <- covariance_text(model)
  object$model <- model
  object$data$u <- with_columns(object$data$u, numeric(length(first)))
  if (!is.null(object$data$nodes)) {
    object$data$nodes$u <- with_columns(object$data$nodes$u, numeric(length(first)))
  }
  object$cell <- new_cell()
  if (!is.null(object$effects)) object$effects <- new_cell()
  object
}

# Adds columns of constants to the points u.
with_columns <- function(u, values) cbind(u, matrix(rep(values, each = nrow(u)), nrow(u), length(values)))

# New points with indicators; columns of the trend that belong to omitted parts are set to 0.
points_of_parts <- function(object, points) {
  left_out <- object$left_out
  if (is.null(left_out)) return(points)
  smooths <- trend_of_smooths(object)
  indicators <- as.numeric(names(smooths) %in% left_out)
  points$u <- with_columns(points$u, indicators)
  if (!is.null(points$blocks)) points$blocks$u <- with_columns(points$blocks$u, indicators)
  if (!is.null(points$centres)) points$centres <- with_columns(points$centres, indicators)
  names <- colnames(points$x)
  hidden <- names %in% unlist(smooths[names(smooths) %in% left_out])
  if ("trend" %in% left_out) {
    hidden <- hidden | !names %in% unlist(smooths)
    points[c("offset", "total")] <- list(0 * points$offset, 0)
  }
  points$x[, hidden] <- 0
  points
}

# The factor by which a leaf is multiplied at points u: 1 minus the indicator.
shown_at <- function(leaf, u) if (is.null(leaf$indicator)) 1 else 1 - u[, leaf$indicator]

within_indicator <- function(text, leaf, points) {
  if (is.null(leaf$indicator)) return(text)
  shown <- code_text("(1 - Elem(", points, ", ", leaf$indicator - 1, "))")
  code_text("(", text, ") * ", shown[[1]], " * ", shown[[2]])
}
