# Random effects, smooths and effects of time in addition to lmc(). Each effect belongs to one variable: `belongs` of a
# leaf is a list of the `name` of the variable and, after with_variables(), the `number` of the variable and the
# `column` of points with numbers of variables. A leaf without a name represents an effect for each variable; `term` is
# the key of such a leaf.

# The sum of an lmc() and effects; NULL for other arguments.
lmc_with_effects <- function(a, b) {
  if (!is_lmc(a)) return(lmc_with_effects(b, a))
  if (is_covariance(b) && !is_lmc(b) && all(lengths(added_terms(b)) == 1) && all_leaves(b, is_effect)) {
    return(with_lmc_class(join_parts("+", a, b)))
  }
}

with_lmc_class <- function(x, variables = NULL) {
  if (!is_lmc(x)) class(x) <- c("kernops_lmc", class(x))
  x$variables <- variables
  x
}

# Marks the leaf of an effect as belonging to a variable. The user writes the variable before the effect in a formula,
# such as `zinc:(1 | g)`, or on the left side of the formula of the effect.
belonging_to <- function(leaf, e, each = FALSE) {
  if (is.null(e)) return(leaf)
  leaf$belongs <- list(name = deparse1(e, backtick = FALSE), term = if (each) leaf_key(leaf))
  leaf$label <- paste0(leaf$belongs$name, ":", leaf$label)
  leaf
}

# The formula of an effect without its left side, and the `variable` on the left side, which is NULL without a left
# side.
sides_of_effect <- function(effect) {
  if (!inherits(effect, "formula") || length(effect) < 3) return(list(formula = effect))
  list(formula = effect[-2], variable = effect[[2]])
}

is_effect_of_variable <- function(e) {
  is.call(e) && identical(e[[1]], quote(`:`)) && !is.null(effect_behind(e))
}

# The random effect or the smooth after the name of a variable, as in `zinc:(1 | g)`.
effect_behind <- function(e) {
  effect <- e[[3]]
  if (is_smooth(effect)) return(effect)
  if (is.call(effect) && identical(effect[[1]], quote(`(`)) && is_bar(effect[[2]])) effect[[2]]
}

check_no_variable <- function(covariance, call) {
  for (leaf in leaves_of(covariance)) if (!is.null(leaf$belongs)) {
    stop_kernops("input", c("{.code {leaf$label}} names a variable, but the fit has a single response.",
                            i = "Leave the left side of the effect empty, as in {.code ~ 1 | g}."),
                 call = call)
  }
}

# An effect of a named variable, or the sum of the effects of all variables that have no more specific effect in `keys`.
effects_of_variables <- function(leaf, variables, keys, call) {
  if (length(unknown <- setdiff(leaf$belongs$name, variables))) {
    stop_kernops("input", c("{.code {leaf$label}} names the variable {.val {unknown}}, but the variables are
                             {.val {variables}}."), call = call)
  }
  one <- function(name) {
    if (is.null(leaf$belongs)) leaf <- belonging_to(leaf, as.name(name), each = TRUE)
    leaf$belongs$number <- match(name, variables)
    leaf
  }
  names <- leaf$belongs$name %||% variables[!paste0(variables, ":", leaf_key(leaf)) %in% keys]
  if (!length(names)) {
    stop_kernops("input", "{.code {leaf$label}} is given twice: each variable already has this effect.", call = call)
  }
  Reduce(function(a, b) join_parts("+", a, b), lapply(names, one))
}

# The keys of the effects that a covariance already contains, so that the same effects in a formula are not added again.
known_effects <- function(covariance) {
  leaves <- unname(leaves_of(covariance))
  c(vapply(leaves, leaf_key, ""), unlist(lapply(leaves, function(leaf) leaf$belongs$term)))
}

# An indicator: 1 at points of the variable of an effect, otherwise 0.
seen_by <- function(leaf, u) {
  if (is.null(leaf$belongs)) 1 else as.numeric(u[, leaf$belongs$column] == leaf$belongs$number - 1)
}

within_variable <- function(text, leaf, points) {
  if (is.null(leaf$belongs)) return(text)
  seen <- code_text("Equal(Elem(", points, ", ", leaf$belongs$column - 1, "), ", leaf$belongs$number - 1, ")")
  code_text("(", text, ") * ", seen[[1]], " * ", seen[[2]])
}

# The names of idle trend columns. Each smooth has trend columns for all variables; the columns for a variable to which
# the smooth does not belong are idle.
idle_columns <- function(covariance, columns, variables) {
  leaves <- Filter(is_smooth_leaf, leaves_of(covariance))
  keys <- vapply(leaves, function(leaf) column_key(leaf$sees[[1]]), "")
  unlist(lapply(Filter(is_smooth_column, columns), function(column) {
    of <- vapply(leaves[keys == column_key(column)], function(leaf) leaf$belongs$name, "")
    outer(setdiff(variables, of), colnames(column$trend), paste, sep = ":")
  }))
}

# Removes the columns that idle_columns() names from the parts of gp_data().
without_idle_trend <- function(parts, covariance) {
  idle <- idle_columns(covariance, parts$columns, parts$layout$names)
  if (!length(idle)) return(parts)
  parts$layout$idle <- idle
  parts$x <- parts$x[, setdiff(colnames(parts$x), idle), drop = FALSE]
  parts
}
