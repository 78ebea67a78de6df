# Coordinates of observations and of new points, from formulas, matrices and points.

# The matrix of coordinates. `fitted` are prototypes of the coordinates of a fit, whose classes and units new
# coordinates must have.
coordinates_of <- function(coords, source, env, call, fitted = NULL) {
  if (is.null(coords)) {
    if (!is.null(source$u)) return(source$u)
    stop_kernops("input", "{.arg coords} must give the coordinates: a formula such as {.code ~ x + y}, or a matrix.",
                 call = call)
  }
  coords <- coordinate_matrix(coordinate_variables(coords, source$data, call), fitted, call)
  if (!ncol(coords)) stop_kernops("input", "{.arg coords} must have at least one column.", call = call)
  colnames(coords) <- native_names(colnames(coords) %||% paste0("x", seq_len(ncol(coords))))
  if (is.data.frame(source$data) && nrow(source$data) > 0 && nrow(source$data) != nrow(coords)) {
    stop_kernops("dim", "{.arg coords} has {nrow(coords)} points, but {.arg data} has {nrow(source$data)} rows.",
                 call = call)
  }
  coords
}

# Converts names of columns to a formula: c("x", "y") becomes ~ x + y.
named_coordinates <- function(coords, data) {
  if (!is.character(coords) || !length(coords) || !all(coords %in% names(data))) return(coords)
  stats::reformulate(sprintf("`%s`", coords), env = emptyenv())
}

# The coordinates that the user gave as `coords`: a matrix, or a list of variables that keep their classes.
coordinate_variables <- function(coords, data, call) {
  if (inherits(coords, "formula")) return(coordinate_columns(coords, data, call))
  if (is.data.frame(coords)) {
    for (name in names(coords)) check_coordinate(coords[[name]], name, call)
    return(as.list(coords))
  }
  if (is.numeric(coords) && !inherits(coords, "integer64")) return(coords)
  stop_kernops("input", c("{.arg coords} must be a formula, names of columns of {.arg data}, or a numeric matrix.",
                          x = if (is.character(coords)) "{.val {setdiff(coords, names(data))}} {?is/are} not in
                                                        {.arg data}.",
                          i = if (is.character(coords)) "Write a formula without quotation marks, as in
                                                         {.code ~ x + y}."),
               call = call)
}

coordinate_matrix <- function(x, fitted, call) {
  if (is.list(x)) {
    if (length(unique(lengths(x))) > 1) stop_kernops("dim", "The coordinates must have equal lengths, not
                                                             {unique(lengths(x))}.", call = call)
    like <- if (length(fitted) == length(x)) if (setequal(names(x), names(fitted))) fitted[names(x)] else fitted
    for (k in seq_along(x)) x[[k]] <- as.vector(in_days(as_fitted(x[[k]], like[[k]], names(x)[[k]], call)))
    return(do.call(cbind, x))
  }
  x <- as.matrix(x)
  if (!inherits(x, "units")) return(x)
  u <- matrix(as.numeric(as_fitted(x, fitted[[1]], "coords", call)), nrow(x))
  `dimnames<-`(u, dimnames(x))
}

coordinate_columns <- function(formula, data, call) {
  terms <- if (length(formula) == 2 && !"." %in% all.vars(formula)) stats::terms(formula)
  if (any(attr(terms, "order") > 1)) {
    stop_kernops("input", "Coordinates must be joined by {.code +}, as in {.code ~ x + y}.", call = call)
  }
  names <- attr(terms, "term.labels")
  calls <- stats::setNames(attr(terms, "predvars") %||% lapply(names, str2lang), names)
  if (!length(names)) {
    stop_kernops("input", "{.arg coords} must be one-sided and name variables, as in {.code ~ x + y}.", call = call)
  }
  columns <- lapply(names, function(name) {
    value <- tryCatch(eval(calls[[name]], data, environment(formula)), error = function(e) {
      stop_kernops("input", "The coordinate {.code {name}} was not found: {conditionMessage(e)}.", call = call)
    })
    check_coordinate(value, name, call)
    if (inherits(value, "POSIXlt")) as.POSIXct(value) else value
  })
  stats::setNames(columns, names)
}

check_coordinate <- function(value, name, call) {
  refuse_integer64(stats::setNames(list(value), name), call)
  if (NCOL(value) > 1) {
    stop_kernops("input", c("The coordinate {.code {name}} must be one variable, not {ncol(value)}.",
                            i = "To use a matrix as {.arg coords}, give it without {.code ~}."), call = call)
  }
  missing <- is.logical(value) && all(is.na(value))
  if (is.numeric(in_days(value)) || missing) return(invisible())
  stop_kernops("input", "The coordinate {.code {name}} must be numeric.", call = call)
}

# A formula of coordinates that can be evaluated for new data. For example, scale(x) uses the mean and the standard
# deviation of x in the fit.
lasting_coordinates <- function(coords, data) {
  if (!inherits(coords, "formula")) return(coords)
  terms <- stats::terms(coords)
  calls <- lapply(attr(terms, "term.labels"), str2lang)
  values <- lapply(calls, eval, data, environment(coords))
  structure(terms, predvars = Map(stats::makepredictcall, values, calls))
}

# The prototypes of coordinates by name; NULL for a matrix or points without names.
fitted_coordinates <- function(coords, data, call) {
  if (is.null(coords)) return(NULL)
  values <- coordinate_variables(coords, data, call)
  if (is.list(values)) return(lapply(values, prototype))
  values <- as.matrix(values)
  stats::setNames(rep(list(prototype(values)), ncol(values)), colnames(values))
}

# TRUE if the columns of the coordinates have names.
has_names <- function(coords) length(colnames(coords)) > 0

# The empty coordinates of a covariance without a field.
no_coordinates <- function(formula, data) {
  n <- if (is.data.frame(data)) nrow(data) else NROW(eval(formula[[2]], data, environment(formula)))
  matrix(0, n, 0)
}
