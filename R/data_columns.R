# The columns of points other than the coordinates: numbers of groups and levels, covariates, and bases of smooths.
# Terms of the covariance read these columns: `leaf$sees` is the list of the columns that a leaf reads.
#
# A column is a list of
#   kind       "level": numbers of the levels of a factor; "number": the values of a variable; "smooth": values of the
#              random basis functions of a smooth (cov_smooth_effects.R); "time": a variable minus its `origin`, the
#              smallest value of the fit; "predictor": a model matrix (data_predictors.R); "zero": 0 at all points, for
#              noise without a field, because points have at least one column
#   formula    a one-sided formula, evaluated in the data
#   what       the name of the column in messages
#   values     for a level: the distinct values in the fit (level_values.R), and `levels`, the labels of these values
#   fitted     for other kinds: prototypes of the variables, with their classes and units (data_classes.R)
#   needed     the names of variables of the data, and `classes`, their prototypes
#   variables  for a smooth: its variables as expressions, and their `names`; `factors`, the variables that are numbers
#              of levels; `by_level`, the level of the factor `by`; `among`, the factor of a random smooth; `label`, the
#              call of the smooth, and `title`, its name in results. The column has the values of the variables until
#              the basis is constructed
#   width      the number of columns of points that this column has, if different from 1
new_column <- function(kind, formula, what, ...) list(kind = kind, formula = formula, what = what, ...)

# The column of the argument `group` of gp(). `group` is a formula, the name of a variable, or an expression in
# variables of the data.
group_column <- function(group, data, call) {
  value <- within_data(group, data, call)
  if (is.null(value)) return(NULL)
  if (is_string(value) && native_names(value) %in% names(data)) {
    value <- stats::as.formula(call("~", as.name(native_names(value))), rlang::quo_get_env(group))
  }
  formula <- if (inherits(value, "formula")) value else {
    stats::as.formula(call("~", rlang::quo_get_expr(group)), rlang::quo_get_env(group))
  }
  if (length(formula) != 2 || !length(all.vars(formula))) {
    stop_kernops("input", "{.arg group} must be a one-sided formula such as {.code ~ day}, or a variable of
                           {.arg data}.", call = call)
  }
  new_column("level", formula, "groups")
}

is_string <- function(x) is.character(x) && length(x) == 1 && !is.na(x)

# The columns of points for the group, the terms of the covariance and the predictors.
seen_columns <- function(covariance, group, predictors = list()) {
  columns <- c(Filter(length, list(group)), do.call(c, lapply(leaves_of(covariance), `[[`, "sees")), predictors)
  columns[!duplicated(vapply(columns, column_key, ""))]
}

column_key <- function(column) {
  paste(c(column$kind, column$label %||% deparse1(column$formula[[2]]), column$by_level), collapse = " ")
}

# The values of columns at the rows of the data, as numbers. For a smooth, these are the values of its variables.
column_values <- function(columns, data, n, call) {
  do.call(cbind, c(list(matrix(0, n, 0)), lapply(columns, values_of_column, data, n, call)))
}

values_of_column <- function(column, data, n, call) {
  data <- as_fitted_variables(data, column$classes, call, exact = column$kind == "level")
  if (column$kind == "zero") return(matrix(0, n, 1))
  if (column$kind == "level") return(numbered_levels(column, data, n, call))
  if (column$kind == "predictor") return(predictor_values(column, data, n, call))
  values <- covariates(column, data, n, call)
  for (k in seq_along(values)) {
    values[[k]] <- as.numeric(in_days(as_fitted(values[[k]], column$fitted[[k]], names(values)[[k]], call)))
  }
  do.call(cbind, values) - (column$origin %||% 0)
}

covariates <- function(column, data, n, call) {
  variables <- column$variables %||% list(column$formula[[2]])
  values <- lapply(variables, evaluated_variable, column, as_covariate, data, n, call)
  stats::setNames(values, vapply(variables, deparse1, ""))
}

numbered_levels <- function(column, data, n, call) {
  values <- grouping_variables(column, data, n, call)
  if (is.null(column$values)) return(distinct_levels(values)$of)
  values <- Map(as_fitted, values, column$values, names(values), list(call), exact = TRUE)
  match_levels(Map(snapped, values, column$values), column$values)
}

grouping_variables <- function(column, data, n, call) {
  evaluated_variable(column$formula[[2]], column, as_level, data, n, call)
}

evaluated_variable <- function(e, column, by, data, n, call) {
  name <- deparse1(e)
  values <- tryCatch(by(e, data, environment(column$formula)), error = function(e) {
    stop_kernops("input", "The {column$what} {.code {name}} cannot be evaluated: {conditionMessage(e)}.", call = call)
  })
  size <- if (is.list(values)) lengths(values) else length(values)
  if (all(size == n)) return(values)
  stop_kernops("dim", "The {column$what} {.code {name}} must have one value for each of the {n} points, not
                       {size[size != n][[1]]}.", call = call)
}

as_covariate <- function(e, data, env) {
  values <- eval(e, data, env)
  numeric <- variable_kind(values) %in% c("number", "logical", "time", "duration", "units")
  if (!numeric || NCOL(values) > 1 || inherits(values, "integer64")) stop("it is not a numeric variable")
  values
}

# The grouping variables of a factor: for a:b, these are a and b. factor(a) has the levels of a.
as_level <- function(e, data, env) {
  called <- if (is.call(e)) deparse1(e[[1]]) else ""
  if (called == ":") return(do.call(c, lapply(as.list(e)[-1], as_level, data, env)))
  if (called == "(" || called %in% c("factor", "as.factor") && length(e) == 2) return(as_level(e[[2]], data, env))
  values <- eval(e, data, env)
  if (inherits(values, "POSIXlt")) values <- as.POSIXct(values)
  if (!is.atomic(values) || is.null(values) || length(dim(values)) > 1) stop("it is not one variable")
  if (inherits(values, "integer64")) rlang::check_installed("bit64", "to compare values of class integer64.")
  stats::setNames(list(if (length(dim(values))) c(values) else values), deparse1(e))
}

# Prepares the columns for the observations that are used, with levels and bases: returns a list of the `columns`, their
# `values` as columns of points, and the columns of the `trend` that smooths add.
settled_columns <- function(columns, values, data, n, call) {
  positions <- split_widths(lengths(lapply(columns, `[[`, "variables")))
  settled <- with_trees(Map(function(column, k) {
    column$needed <- point_variables(stats::terms(column$formula), data, n)
    column$classes <- prototypes(column$needed, data, environment(column$formula))
    settle_column(column, values[, k, drop = FALSE], data, n, call)
  }, columns, positions))
  columns <- lapply(settled, `[[`, "column")
  c(list(columns = columns), columns_at_points(columns, lapply(settled, `[[`, "values"), nrow(values)))
}

# Adds the levels or the basis to a column, and returns the column and its values.
settle_column <- function(column, values, data, n, call) {
  if (column$kind == "zero") return(list(column = column, values = values))
  if (column$kind == "predictor") return(settled_predictor(column, as.vector(values), data, n, call))
  if (column$kind == "level") {
    used <- sort(unique(as.vector(values)))
    column$values <- lapply(distinct_levels(grouping_variables(column, data, n, call))$values, `[`, used)
    column$levels <- level_labels(column$values)
    values[] <- match(values, used)
  } else column$fitted <- lapply(covariates(column, data, n, call), prototype)
  if (column$kind == "time") {
    column <- with_times(column, as.vector(values), data, n, call)
    values <- values - column$origin
  }
  if (is_smooth_column(column)) column <- with_basis(column, values, call)
  list(column = column, values = values)
}

# A column of times with its origin. The column also stores the distinct times of the observations and their labels.
with_times <- function(column, used, data, n, call) {
  all <- values_of_column(column, data, n, call)
  times <- sort(unique(used))
  labels <- value_labels(covariates(column, data, n, call)[[1]][match(times, all)])
  column[c("origin", "times", "levels")] <- list(times[[1]], times - times[[1]], labels)
  column
}

# The columns of new points, and the columns that smooths add to the trend.
new_columns <- function(parts, data, n, call) {
  for (column in parts$columns) {
    check_variables(stats::terms(column$formula), column$needed, data, column$what, call)
  }
  columns_at_points(parts$columns, lapply(parts$columns, values_of_column, data, n, call), n)
}

# The columns of n points, and the columns that smooths add to the trend, from one element of `values` for each column.
columns_at_points <- function(columns, values, n) {
  parts <- with_trees(Map(function(column, values) {
    if (is_smooth_column(column)) smooth_functions(column, as.matrix(values)) else list(values = values)
  }, columns, values))
  # omits NULL elements, because cbind() would treat them as columns if there are no rows
  bound <- function(name) {
    do.call(cbind, c(list(matrix(0, n, 0)), Filter(Negate(is.null), unname(lapply(parts, `[[`, name)))))
  }
  list(values = bound("values"), trend = bound("trend"))
}

# The column numbers of adjacent blocks with the given widths; a width of 0 counts as one column.
split_widths <- function(widths) {
  widths <- pmax(as.integer(widths), 1L)
  Map(function(last, width) seq(to = last, length.out = width), cumsum(widths), widths)
}

# The positions of columns among the columns of points that follow the coordinates. The result is named by the keys of
# the columns.
column_places <- function(columns) {
  stats::setNames(split_widths(vapply(columns, function(column) column$width %||% 1L, 1L)),
                  vapply(columns, column_key, ""))
}

# The covariance for points with d coordinates followed by `columns`. `group` is TRUE if the first of the columns is the
# group.
placed <- function(covariance, d, columns, group, call) {
  before <- d + if (is_lmc(covariance)) extra_coordinates else 0L
  places <- column_places(columns)
  change_leaves(covariance, function(leaf, path) {
    leaf$positions <- leaf$group <- NULL # an earlier fit may have set these
    if (isTRUE(leaf$placed) || is_coregion(leaf)) leaf["dims"] <- list(NULL)
    if (!length(columns)) return(leaf)
    if (length(leaf$sees)) {
      seen <- match(vapply(leaf$sees, column_key, ""), names(places))
      if (is_smooth_leaf(leaf)) leaf <- settled_smooth(leaf, columns[[seen[[1]]]], call)
      leaf$dims <- before + unlist(places[seen], use.names = FALSE)
      leaf$level <- if (has_level(leaf)) leaf$dims[[length(leaf$dims)]]
      return(leaf)
    }
    check_leaf_dims(leaf, d, call)
    leaf$positions <- seq_len(d)
    if (group) leaf$group <- d + 1L
    leaf
  })
}

# TRUE for a leaf whose last column has indices of levels.
has_level <- function(leaf) leaf$sees[[length(leaf$sees)]]$kind == "level"

# The column of a fit that corresponds to a column that a leaf reads. The default is the last column, such as the
# levels; for the basis of a smooth, pass the first column that the leaf reads.
settled_column <- function(leaf, object, column = leaf$sees[[length(leaf$sees)]]) {
  columns <- object$parts$columns
  columns[[match(column_key(column), vapply(columns, column_key, ""))]]
}
settled_basis <- function(leaf, object) settled_column(leaf, object, leaf$sees[[1]])

# Stops for fits of several variables, which do not support groups.
check_grouped <- function(covariance, call) {
  if (is_lmc(covariance)) stop_kernops("input", "{.arg group} requires a single response.", call = call)
}

# The centred coordinates of the points, followed by their other columns.
points_of <- function(u, center, z) unname(cbind(centred(u, center), z))

# The columns that link observations: a term of the covariance correlates two observations only if the values of one of
# these columns are equal. NULL if a term correlates all observations.
linking_columns <- function(model) {
  leaves <- Filter(function(leaf) leaf$label != "nugget", leaves_of(model$covariance))
  by <- unique(lapply(leaves, function(leaf) leaf$group %||% leaf$level))
  if (all(lengths(by) > 0)) unlist(by)
}

# The index of the block of each observation. Observations of different blocks are uncorrelated.
separate_blocks <- function(model, u) {
  by <- linking_columns(model)
  if (is.null(by)) return(rep(1L, nrow(u)))
  block <- match(u[, by[[1]]], unique(u[, by[[1]]]))
  # all observations of a level get the smallest block index among them; repeated until no index changes
  repeat {
    before <- block
    for (k in by) block <- stats::ave(block, u[, k], FUN = min)
    if (identical(block, before)) return(block)
  }
}

# The indices of the points u that may be correlated with the observations `rows`.
seen_from <- function(object, rows, u) {
  agree <- lapply(linking_columns(object$model), function(k) u[, k] %in% object$data$u[rows, k])
  which(Reduce(`|`, agree))
}
