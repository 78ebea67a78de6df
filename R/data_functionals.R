# Observations of derivatives: a row of the data contains the value of the response and the derivatives of the response
# with respect to some coordinates. See data_layout.R for layouts, and cov_derivatives.R for the covariances of values
# and derivatives.
#
# Layout "functionals": first the values of all rows, then the observed derivatives:
#   coordinates  the names of the coordinates
#   row          for each observation, the number of its row
#   coordinate   for each observation, the number of the coordinate of the derivative; 0 for a value
#   formulas     the user's formulas

# The argument `derivatives` of gp(): a list of formulas such as dy_dx ~ x.
check_derivatives <- function(derivatives, family, covariance, transform, method, call) {
  if (is.null(derivatives)) return(invisible())
  two_sided <- function(f) inherits(f, "formula") && length(f) == 3 && is.name(f[[3]])
  if (!is.list(derivatives) || !length(derivatives) || !all(vapply(derivatives, two_sided, NA))) {
    stop_kernops("input", "{.arg derivatives} must be a list of formulas such as {.code dy_dx ~ x}: a column of
                           derivatives, and the coordinate.", call = call)
  }
  refuse_with_functionals("derivatives", family, covariance, transform, method, call)
}

# Stops for parts of a model that are not supported with observations of derivatives or averages.
refuse_with_functionals <- function(name, family, covariance, transform, method, call) {
  other <- if (!is.null(family)) "a {.arg family}" else if (is_lmc(covariance)) "several responses" else
    if (!is.null(transform)) "a {.arg transform}" else
      if (!method %in% c("auto", "exact")) "{.code method = \"{method}\"}"
  if (!is.null(other)) {
    rule <- "{.arg {name}} are for one Gaussian response and the exact method, not for "
    stop_kernops("input", paste0(rule, other, "."), call = call)
  }
}

# Adds the derivatives as observations to the parts of gp_data(). `noise` is the noise variance of the derivatives.
with_derivatives <- function(parts, derivatives, noise, source, call) {
  n <- length(parts$y)
  d <- ncol(parts$u)
  check_derivable_coordinates(parts$coords, call)
  names <- vapply(derivatives, function(f) deparse1(f[[3]]), "")
  if (length(unknown <- setdiff(names, colnames(parts$u)))) {
    stop_kernops("input", "{.code {unknown}} {?is/are} not among the coordinates {.code {colnames(parts$u)}}.",
                 call = call)
  }
  if (anyDuplicated(names)) {
    stop_kernops("input", "{.arg derivatives} name the coordinate {.code {names[duplicated(names)][[1]]}} twice.",
                 call = call)
  }
  noise <- derivative_noise(noise, length(names), call)
  blocks <- Map(function(f, name, noise) {
    y <- within_data(rlang::new_quosure(f[[2]], environment(f)), source$data, call)
    if (!is.numeric(y) || length(y) != parts$total) {
      stop_kernops("dim", "{.code {deparse1(f[[2]])}} must be numbers, one for each of the {parts$total} row{?s}.",
                   call = call)
    }
    warn_unused_derivatives(y, parts$rows, deparse1(f[[2]]))
    row <- which(is.finite(y[parts$rows]))
    data <- if (is.null(source$data)) NULL else source$data[parts$rows[row], , drop = FALSE]
    slope <- trend_derivative(parts, data, name, length(row), call)
    list(y = as.numeric(y[parts$rows][row]), x = slope$x, offset = slope$offset, row = row,
         noise = rep(noise, length(row)), label = rep(name, length(row)))
  }, derivatives, names, noise)
  parts$whole <- parts[c("y", "x", "u", "z", "offset")]
  joined <- function(name) unlist(lapply(blocks, `[[`, name))
  row <- c(seq_len(n), joined("row"))
  of <- match(c(rep("", n), joined("label")), colnames(parts$u), nomatch = 0L)
  parts$layout <- new_layout("functionals", coordinates = colnames(parts$u), row = row, coordinate = of,
                             formulas = derivatives)
  parts$x <- do.call(rbind, c(list(parts$x), lapply(blocks, `[[`, "x")))
  for (name in c("y", "offset", "noise")) parts[[name]] <- c(parts[[name]], joined(name))
  for (name in c("u", "z")) parts[[name]] <- parts[[name]][row, , drop = FALSE]
  parts$rows <- parts$rows[row]
  parts$weights <- c(parts$weights, rep(Inf, length(row) - n)) # the infinite weight removes the nugget of derivatives
  parts
}

# Warns about derivatives in rows of the data that are not among `rows`, the rows with observations.
warn_unused_derivatives <- function(y, rows, label) {
  unused <- length(setdiff(which(is.finite(y)), rows))
  if (!unused) return(invisible())
  cli::cli_warn(c("{.code {label}} has {unused} derivative{?s} in rows without a complete observation, which
                   {?is/are} not used.", i = "Give these rows a response, or remove {cli::qty(unused)}{?it/them}."),
                class = c("kernops_unused_derivatives", "kernops_warning"))
}

derivative_noise <- function(noise, count, call) {
  if (is.null(noise)) return(rep(0, count))
  if (is.numeric(noise) && length(noise) %in% c(1, count) && all(is.finite(noise) & noise >= 0)) {
    return(rep_len(noise, count))
  }
  stop_kernops("input", "{.code known$derivative_noise} must be variances of at least 0: one number, or one for each of
                         the {count} derivative{?s}.", call = call)
}

check_derivable_coordinates <- function(coords, call) {
  check_plain_coordinates(coords, "The coordinates must be plain variables for derivatives", call)
}

# The derivative of the trend and the offset with respect to the coordinate `name`, at n rows of the data.
trend_derivative <- function(parts, data, name, n, call) {
  terms <- stats::delete.response(parts$terms)
  columns <- colnames((parts$whole %||% parts)$x)
  none <- list(x = matrix(0, n, length(columns), dimnames = list(NULL, columns)), offset = numeric(n))
  if (!name %in% all.vars(terms) || !n) return(none)
  at <- function(shift) {
    data[[name]] <- data[[name]] + shift
    new_trend(parts, terms, data, call)
  }
  slope <- central_slope(at, 1e-3 * extent_of((parts$whole %||% parts)$u[, name]))
  none$x[, colnames(slope$x)] <- slope$x
  if (length(slope$offset) == n) none$offset <- slope$offset
  none
}

# The nodes and weights of the central difference of sixth order, for steps of size 1.
sixth_order <- list(shifts = c(-3, -2, -1, 1, 2, 3), weights = c(-1, 9, -45, 45, -9, 1) / 60)

# Returns the central differences of sixth order of two vectors, which the function at(shift) returns as a list. These
# differences are exact for polynomials up to degree 6.
central_slope <- function(at, step) {
  near <- lapply(step * sixth_order$shifts, at)
  weights <- sixth_order$weights / step
  lapply(stats::setNames(nm = c("x", "offset")), function(name) Reduce(`+`, Map(function(point, weight) {
    if (is.null(point[[name]])) 0 else weight * point[[name]]
  }, near, weights)))
}

# Adds to points the columns that mark each point as a value of the field or as a derivative. `coordinate` has, for each
# point, the index of the coordinate of the derivative, or 0 for a value.
as_functionals <- function(layout, u, coordinate = NULL) {
  d <- length(layout$coordinates)
  unname(cbind(u, functional_columns(nrow(u), d, 1 * outer(coordinate %||% numeric(nrow(u)), seq_len(d), `==`))))
}
