# Many responses at the same points, from the arguments of gp().
#
# many_responses() returns a list of
#   kind       "independent" or "common"
#   values     the responses: a matrix, or a sparse matrix of package Matrix
#   by_row     TRUE if the rows of `values` are the responses, as in an assay
#   names, n   the names of the responses, and the number of points
#   formula, data  the arguments of gp(), with zeros in place of the responses
#   written    the formula as the user wrote it

many_responses <- function(responses, formula, data, call) {
  if (is.null(responses)) return(NULL)
  kind <- check_choice(responses, "responses", c("independent", "common"), call)
  check_model_formula(formula, call)
  if (is_table(data)) {
    stop_kernops("input", "{.arg responses} needs data in memory, not a table that is read in chunks.", call = call)
  }
  assays <- assays_of(data)
  if (!is.null(assays)) data <- sites_of(data, call)
  values <- if (is.null(assays)) evaluated_responses(formula, data, call) else assay_named(assays, formula[[2]], call)
  by_row <- !is.null(assays)
  check_responses(values, call)
  if (is.null(dim(values))) values <- matrix(values, dimnames = list(NULL, deparse1(formula[[2]])))
  count <- dim(values)[[if (by_row) 1 else 2]]
  n <- dim(values)[[if (by_row) 2 else 1]]
  if (!count || !n) stop_kernops("input", "There must be at least one response of at least one value, not {count}
                                           response{?s} of {n} value{?s}.", call = call)
  names <- dimnames(values)[[if (by_row) 1 else 2]] %||% paste0("response", seq_len(count))
  written <- formula
  formula[[2]] <- call("numeric", n)
  list(kind = kind, values = values, by_row = by_row, names = make.unique(names), n = n, formula = formula, data = data,
       written = written)
}

# The assays of an object like a SummarizedExperiment, in which features are rows and sites are columns; NULL for other
# data.
assays_of <- function(data) {
  if (is.list(data) && !is.data.frame(data) && all(c("assays", "colData") %in% names(data))) return(data$assays)
  if (!isS4(data) || !all(c("assays", "colData") %in% methods::slotNames(data))) return(NULL)
  assays <- methods::slot(data, "assays")
  if (isS4(assays)) assays <- methods::slot(assays, "data")
  plain_columns(assays)
}

# The columns of a DataFrame or another list of package S4Vectors.
plain_columns <- function(x) if (isS4(x)) methods::slot(x, "listData") else x

# The variables of the sites, with the coordinates of a SpatialExperiment.
sites_of <- function(data, call) {
  part <- function(name) if (isS4(data)) {
    if (name %in% methods::slotNames(data)) plain_columns(methods::slot(data, name))
  } else plain_columns(data[[name]])
  sites <- as.list(part("colData"))
  coordinates <- part("int_colData")$spatialCoords %||% part("spatialCoords")
  if (!is.null(coordinates)) sites <- c(sites, as.list(as.data.frame(as.matrix(coordinates))))
  sizes <- lengths(sites)
  if (length(unique(sizes)) > 1) {
    stop_kernops("dim", "The variables of {.code colData} have {unique(sizes)} values: they must agree.", call = call)
  }
  list2DF(sites)
}

assay_named <- function(assays, name, call) {
  wanted <- if (is.symbol(name)) as.character(name) else ""
  if (wanted %in% names(assays)) return(assays[[wanted]])
  stop_kernops("input", "The response of the formula must be the name of an assay: {.code {names(assays)}}.",
               call = call)
}

evaluated_responses <- function(formula, data, call) {
  source <- spatial_parts(data)
  variables <- without_response(source, formula)$data
  tryCatch(eval(formula[[2]], if (is.list(variables)) variables, environment(formula)), error = function(e) {
    stop_kernops("input", "The responses {.code {deparse1(formula[[2]])}} cannot be evaluated: {conditionMessage(e)}.",
                 call = call)
  })
}

check_responses <- function(values, call) {
  if (inherits(values, "Matrix")) {
    need_package("Matrix", "a sparse matrix of responses", call)
    if (inherits(values, c("dMatrix", "lMatrix"))) return(invisible())
  }
  plain <- (is.numeric(values) || is.logical(values)) && length(dim(values)) != 1 && length(dim(values)) < 3
  if (plain && !is.data.frame(values) && !inherits(values, c("integer64", "factor"))) return(invisible())
  stop_kernops("input", "{.arg responses} requires a numeric matrix with one column for each response, not
                         {.obj_type_friendly {values}}.", call = call)
}

# The chosen responses at the chosen points, as columns of doubles.
response_block <- function(responses, columns, rows = seq_len(responses$n)) {
  block <- if (responses$by_row) t(as.matrix(responses$values[columns, rows, drop = FALSE])) else
    as.matrix(responses$values[rows, columns, drop = FALSE])
  matrix(as.double(block), length(rows))
}

# The indices of the chosen responses, which the user gives as names or indices.
response_numbers <- function(responses, chosen, call = caller_env()) {
  if (is.null(chosen)) return(seq_along(responses$names))
  numbers <- if (is.character(chosen)) match(chosen, responses$names) else
    if (is.numeric(chosen)) match(chosen, seq_along(responses$names)) else NA
  if (length(numbers) && !anyNA(numbers)) return(numbers)
  stop_kernops("input", "Responses are selected by their names, or by numbers from 1 to {length(responses$names)}.",
               call = call)
}
