# The layout of observations: how rows of the data become observations, and how results of observations become rows.
#
#   single       an observation is a row
#   several      an observation is a value of one of several variables; observations are sorted by variable. The layout
#                has the `variables`; for each observation the number of its `variable` and of its `row`; the number of
#                columns of points `beside` the coordinates; and the names of `idle` columns, which are removed from the
#                trend
#   functionals  an observation is a value of the field, or a derivative: see data_functionals.R
#   averages     an observation is a weighted sum of the field over points: see data_averages.R
#
# The generic functions of a layout:
#   expand(layout, points)                 repeats new points, one for each row, for each variable
#   collapse(layout, table, ...)           converts a table of expanded points to a table of rows, with columns for each
#                                           variable
#   observation_sites(layout, u, parts)    the points of observations with coordinates u, with the columns that the
#                                           formula of a covariance reads
#   new_sites(layout, u, z, variable)      new points, with the columns that the formula reads
#   observation_nodes(layout, center, which)  the nodes of the averages `which`, with coordinates relative to `center`,
#                                          as targets without a trend; NULL if observations are values at points
#   mean_columns(layout, n)                the trend of a mean for each variable
#   keep_observations(layout, rows)        the layout of some of the observations
#   observation_labels(layout, labels)     names of observations from the names of rows

new_layout <- function(kind, ...) {
  structure(list(...), class = c(paste0("layout_", kind), if (kind == "means") "layout_single", "layout"))
}

expand <- function(layout, points) UseMethod("expand")
collapse <- function(layout, table, ...) UseMethod("collapse")
observation_sites <- function(layout, u, parts) UseMethod("observation_sites")
new_sites <- function(layout, u, z, variable) UseMethod("new_sites")
observation_nodes <- function(layout, center, which = NULL) UseMethod("observation_nodes")
mean_columns <- function(layout, n) UseMethod("mean_columns")
keep_observations <- function(layout, rows) UseMethod("keep_observations")
observation_labels <- function(layout, labels) UseMethod("observation_labels")

expand.layout_single <- function(layout, points) points
collapse.layout_single <- function(layout, table, ...) table
observation_sites.layout_single <- function(layout, u, parts) unname(if (length(parts$z)) cbind(u, parts$z) else u)
new_sites.layout_single <- function(layout, u, z, variable) unname(cbind(u, z))
observation_nodes.layout <- function(layout, center, which = NULL) NULL
mean_columns.layout_single <- function(layout, n) matrix(1, n, 1)
keep_observations.layout_single <- function(layout, rows) layout
observation_labels.layout_single <- function(layout, labels) labels

# The columns of points of several variables. After the coordinates in space come the index of the variable, counted
# from 0, and two columns for the noise. The first of these columns is the index of the row of the data, because the
# noise of observations of one row may be correlated. The second column is the standard deviation of the noise in units
# of the nugget, or 0 at points without an observation. The columns `z` of effects come last.
at_variables <- function(u, variable, row = rep(0, nrow(u)), scale = rep(0, nrow(u)), z = NULL) {
  unname(cbind(u, variable - 1, row, scale, z))
}

extra_coordinates <- 3L

# The number of columns of points that come before the columns of groups, levels and covariates.
space_columns <- function(model) model$d + if (is_lmc(model$covariance)) extra_coordinates else 0L

expand.layout_several <- function(layout, points) {
  p <- length(layout$names)
  n <- nrow(points$u)
  repeated <- function(u) {
    all <- u[rep(seq_len(nrow(u)), p), , drop = FALSE]
    space <- seq_len(ncol(u) - layout$beside)
    at_variables(all[, space, drop = FALSE], rep(seq_len(p), each = nrow(u)), z = all[, -space, drop = FALSE])
  }
  points$variable <- rep(seq_len(p), each = n)
  points$u <- repeated(points$u)
  points$x <- trend_of_each(points$x[rep(seq_len(n), p), , drop = FALSE], points$variable, layout$names)
  points$x <- points$x[, !colnames(points$x) %in% layout$idle, drop = FALSE]
  points$offset <- rep(points$offset, p)
  points$total <- rep(points$total, p)
  if (!is.null(points$blocks)) {
    blocks <- points$blocks
    points$blocks <- list(u = repeated(blocks$u), weight = rep(blocks$weight, p),
                          of = rep(blocks$of, p) + n * rep(seq_len(p) - 1, each = length(blocks$of)))
  }
  points
}

# `prefixed`: TRUE if the names of columns are prefixed with the names of the variables; FALSE if the names of columns
# are the names of the variables.
collapse.layout_several <- function(layout, table, variable, prefixed = ncol(table) > 1, ...) {
  do.call(cbind, lapply(seq_along(layout$names), function(k) {
    part <- table[variable == k, , drop = FALSE]
    names(part) <- if (prefixed) paste(layout$names[[k]], names(part), sep = ".") else layout$names[[k]]
    rownames(part) <- NULL
    part
  }))
}

observation_sites.layout_several <- function(layout, u, parts) {
  at_variables(u, layout$variable, layout$row, 1 / sqrt(parts$weights), parts$z)
}

new_sites.layout_several <- function(layout, u, z, variable) at_variables(u, variable, z = z)

mean_columns.layout_several <- function(layout, n) diag(length(layout$names))[layout$variable, , drop = FALSE]

keep_observations.layout_several <- function(layout, rows) {
  layout[c("variable", "row")] <- lapply(layout[c("variable", "row")], `[`, rows)
  layout
}

observation_labels.layout_several <- function(layout, labels) {
  paste(labels[layout$row], layout$names[layout$variable], sep = ":")
}

# Splits the parts of gp_data(). The matrix y has one row for each row of the data; the result has a row for each value
# of y.
by_variable <- function(parts, call) {
  seen <- which(!is.na(parts$y), arr.ind = TRUE)
  names <- colnames(parts$y)
  if (length(empty <- setdiff(seq_along(names), seen[, 2]))) {
    stop_kernops("input", "There are no observations of {.val {names[empty]}}.", call = call)
  }
  row <- unname(seen[, 1])
  parts$whole <- parts[c("y", "x", "u", "z", "offset")]
  parts$layout <- new_layout("several", names = names, variable = unname(seen[, 2]), row = row, beside = ncol(parts$z))
  parts$y <- parts$y[seen]
  parts$x <- trend_of_each(parts$x[row, , drop = FALSE], parts$layout$variable, names)
  for (name in c("u", "z")) parts[[name]] <- parts[[name]][row, , drop = FALSE]
  for (name in c("offset", "noise", "weights", "rows")) parts[[name]] <- parts[[name]][row]
  parts
}

# The matrix of the trend with a separate block of columns for each variable.
trend_of_each <- function(x, variable, names) {
  all <- do.call(cbind, lapply(seq_along(names), function(k) x * (variable == k)))
  colnames(all) <- if (ncol(x)) paste(rep(names, each = ncol(x)), colnames(x), sep = ":")
  all
}

# Layouts of values and derivatives, see data_functionals.R.

expand.layout_functionals <- function(layout, points) {
  points$u <- as_functionals(layout, points$u)
  if (!is.null(points$blocks)) points$blocks$u <- as_functionals(layout, points$blocks$u)
  points
}

collapse.layout_functionals <- function(layout, table, ...) table

observation_sites.layout_functionals <- function(layout, u, parts) {
  as_functionals(layout, cbind(u, parts$z), layout$coordinate)
}

new_sites.layout_functionals <- function(layout, u, z, variable) {
  as_functionals(layout, cbind(u, z), variable)
}

mean_columns.layout_functionals <- function(layout, n) matrix(as.numeric(layout$coordinate == 0), n, 1)

keep_observations.layout_functionals <- function(layout, rows) {
  layout[c("coordinate", "row")] <- lapply(layout[c("coordinate", "row")], `[`, rows)
  layout
}

observation_labels.layout_functionals <- function(layout, labels) {
  paste0(labels[layout$row], c("", paste0(":", layout$coordinates))[layout$coordinate + 1])
}
