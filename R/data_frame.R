# Converts the user's arguments to numerical data: response, trend, coordinates, noise.

# gp_data() converts a result of spatial_parts() to a list of y, x (trend), u (coordinates), z (the columns of
# data_columns.R), offset, noise, weights, and a description by which new data are converted in the same way.
# `arguments` is a list of weights, noise, subset and na.action.
gp_data <- function(formula, source, coords, arguments, family, several, columns, placed, call) {
  check_model_formula(formula, call)
  used <- lapply(c(list(formula, if (inherits(coords, "formula")) coords), lapply(columns, `[[`, "formula")), all.vars)
  check_distinct_names(unlist(used), source$data, "data", call)
  bare <- !placed && is.null(coords) && is.null(source$u)
  u <- if (bare) no_coordinates(formula, source$data) else coordinates_of(coords, source, environment(formula), call)
  if (bare && !length(columns)) columns <- list(new_column("zero", ~ 1, "points"))
  n <- nrow(u)
  d <- ncol(u)
  kept <- subset_numbers(arguments$subset, n, call)
  points <- if (length(columns)) cbind(u, column_values(columns, source$data, n, call)) else u
  frame <- trend_frame(formula, source$data, points, arguments$weights, arguments$noise, arguments$na.action,
                       call, kept, several)
  refuse_integer64(frame, call)
  points <- unname_rows(frame[["(coords)"]])
  columns <- settled_columns(columns, points[, seq_len(ncol(points)) > d, drop = FALSE], source$data, n, call)
  rows <- kept[row_numbers(frame, nrow(points))]
  terms <- attr(frame, "terms")
  # row names are removed, because the names of many rows would take longer than all other steps of this function
  x <- unname_rows(trend_matrix(terms, frame, call))
  if (!several) columns <- without_repeated_trend(columns, x)
  response <- response_values(frame, formula, family, several, rows, call)
  per_row <- \(name, default) as.vector(frame[[name]] %||% rep(default, NROW(response$y)))
  parts <- list(y = response$y, x = if (ncol(columns$trend)) cbind(x, columns$trend) else x,
                u = chosen_columns(points, seq_len(d)), z = columns$values, columns = columns$columns,
                offset = trend_offset(frame, call) %||% rep(0, NROW(response$y)), noise = per_row("(noise)", 0),
                weights = response$weights %||% per_row("(weights)", 1), censored = response$censored,
                terms = terms, frame = frame, contrasts = attr(x, "contrasts"),
                xlevels = stats::.getXlevels(terms, frame),
                na.action = attr(frame, "na.action"), rows = rows, total = n)
  parts <- c(parts, data_description(terms, coords, source, n, environment(formula), call))
  parts <- if (several) by_variable(parts, call) else c(parts, list(layout = new_layout("single")))
  check_gp_values(parts, call)
  parts
}

check_model_formula <- function(formula, call) {
  if (inherits(formula, "formula") && length(formula) == 3) return(invisible())
  stop_kernops("input", c("{.arg formula} must have a response and a trend, as in {.code y ~ 1}.",
                          i = if (is.character(formula)) "Write a formula without quotation marks; {.fn as.formula}
                                                          converts strings."), call = call)
}

# The response of a model frame as numbers. For a family, the result also contains the weights of the observations.
response_values <- function(frame, formula, family, several, rows, call) {
  y <- frame[[attr(attr(frame, "terms"), "response")]]
  if (several) return(list(y = response_columns(y, formula[[2]], call)))
  if (is.null(family)) return(list(y = plain_response(y, call)))
  family_response(family, y, as.vector(frame[["(weights)"]]), rows, call)
}

# The requirements on new data: names and classes of variables, and the kind of coordinates.
data_description <- function(terms, coords, source, n, env, call) {
  needed <- needed_variables(terms, coords, source$data, n)
  of_source <- is.null(coords)
  list(coords = lasting_coordinates(coords, source$data), needed = needed,
       classes = prototypes(unlist(needed), source$data, env),
       fitted_coords = fitted_coordinates(coords, source$data, call), points = !is.null(source$u),
       named = has_names(coords %||% source$u), long_lat = of_source && source$long_lat,
       crs = if (of_source) source$crs, kind = if (of_source) source$kind)
}

# The model matrix of the trend, or of the linear predictor that `what` names.
trend_matrix <- function(terms, frame, call, what = "trend") {
  if (!nrow(frame)) stop_kernops("input", "There are no observations without missing values.", call = call)
  for (name in setdiff(names(attr(terms, "dataClasses")), names(frame)[attr(terms, "response")])) {
    x <- frame[[name]]
    if (!(is.factor(x) || is.character(x)) || length(unique(x)) > 1) next
    stop_kernops("input", c("A factor of the {what} must have at least two levels, but {.code {name}} has the level
                             {.val {as.character(x[[1]])}} only, among the observations used.",
                            i = "Leave {.code {name}} out of the {what}."), call = call)
  }
  tryCatch(stats::model.matrix(terms, frame), error = function(e) {
    stop_kernops("input", "The {what} cannot be computed: {conditionMessage(e)}.", call = call)
  })
}

trend_offset <- function(frame, call) {
  offset <- tryCatch(stats::model.offset(frame), error = function(e) {
    stop_kernops("input", "The offset must be numeric: {conditionMessage(e)}.", call = call)
  })
  if (!is.null(offset)) as.vector(in_days(offset))
}

plain_response <- function(y, call) {
  if (NCOL(y) > 1) {
    stop_kernops("input", c("The response must be one variable, not {ncol(y)}.",
                            i = "{.code covariance = lmc(matern(3/2), nugget())} is a model of several variables."),
                 call = call)
  }
  if (!is.numeric(y) && !is.logical(y)) {
    stop_kernops("input", "The response must be numeric, not {.cls {class(y)[[1]]}}.", call = call)
  }
  storage.mode(y) <- "double"
  as.vector(y)
}

# The value of an argument that may refer to variables of the data, like the argument `weights` of lm().
within_data <- function(quosure, values, call) {
  check_distinct_names(all.vars(rlang::quo_get_expr(quosure)), values, "data", call)
  mask <- if (is.list(values)) as.list(values)[!duplicated(names(values))]
  tryCatch(rlang::eval_tidy(quosure, mask), error = function(e) {
    stop_kernops("input", "{.code {rlang::as_label(quosure)}} cannot be evaluated: {conditionMessage(e)}.", call = call)
  })
}

noise_values <- function(noise, values, call) {
  if (!inherits(noise, "formula")) return(noise)
  within_data(rlang::new_quosure(noise[[length(noise)]], environment(noise)), values, call)
}

# Stops for columns of class integer64, because R would read their bits as doubles.
refuse_integer64 <- function(columns, call) {
  odd <- names(columns)[vapply(columns, inherits, NA, "integer64")]
  if (!length(odd)) return(invisible())
  stop_kernops("input", c("{.code {odd}} must be of type double or integer, not {.cls integer64}.",
                          i = "{.fn as.double} converts them."), call = call)
}

# The indices of the rows of the user's data that were kept.
row_numbers <- function(frame, n) {
  left_out <- attr(frame, "na.action")
  if (is.null(left_out)) seq_len(n) else seq_len(n + length(left_out))[-left_out]
}

unname_rows <- function(u) {
  if (!is.null(rownames(u))) dimnames(u) <- if (!is.null(colnames(u))) list(NULL, colnames(u))
  `storage.mode<-`(u, "double")
}

# The rows of the data that `subset` selects.
subset_numbers <- function(subset, n, call) {
  rows <- seq_len(n)
  if (is.null(subset)) return(rows)
  fits <- is.logical(subset) && length(subset) == n || is.numeric(subset) && all(abs(subset) <= n, na.rm = TRUE)
  if (!fits) {
    stop_kernops("input", "{.arg subset} must be {n} logical values, or numbers of rows up to {n}.", call = call)
  }
  rows <- rows[if (is.logical(subset)) which(subset) else subset]
  if (anyDuplicated(rows)) stop_kernops("input", "{.arg subset} must not select a row twice.", call = call)
  rows
}

trend_frame <- function(formula, data, u, weights, noise, na.action, call, rows = seq_len(nrow(u)), several = FALSE) {
  n <- nrow(u)
  per_point <- function(x, name, least) {
    if (is.null(x)) return(NULL)
    if (is.numeric(x) && (variable_kind(x) != "number" || inherits(x, "integer64"))) {
      stop_kernops("input", "{.arg {name}} must be plain numbers, not of class {.cls {class(x)}}.", call = call)
    }
    if (!is.numeric(x) || !length(x) %in% c(1, n)) {
      stop_kernops("dim", "{.arg {name}} must be one number or one for each of the {n} observations.", call = call)
    }
    if (any(x < least | (least == 0 & name == "weights" & x == 0), na.rm = TRUE)) {
      stop_kernops("input", "{.arg {name}} must be {if (name == 'weights') 'positive' else 'at least 0'}.", call = call)
    }
    rep_len(x, n)
  }
  extra <- Filter(Negate(is.null), list(weights = per_point(weights, "weights", 0),
                                        noise = per_point(noise, "known$noise", 0)))
  act <- if_incomplete(na.action, call, several)
  if (length(rows) < n || is.unsorted(rows)) extra$subset <- rows
  tryCatch(
    do.call(stats::model.frame, c(list(formula, data, coords = u, na.action = act, drop.unused.levels = TRUE), extra),
            quote = TRUE),
    error = function(e) {
      if (inherits(e, "kernops_error")) rlang::cnd_signal(e)
      refuse_covariance(formula, data, call)
      refuse_unknown(formula, data, call)
      stop_kernops("input", c("The variables of {.arg formula} and {.arg coords} must have one value for each
                               observation.",
                              x = "{conditionMessage(e)}"), call = call)
    }
  )
}

# Stops if a variable of the formula is a covariance.
refuse_covariance <- function(formula, data, call) {
  for (variable in as.list(attr(stats::terms(formula, data = data), "variables"))[-1]) {
    value <- tryCatch(eval(variable, data, environment(formula)), error = function(e) NULL)
    if (!is_covariance(value)) next
    term <- deparse1(variable)
    stop_kernops("input", c("{.code {term}} of {.arg formula} is a covariance.",
                            i = "Add it to {.arg covariance}, such as {.code matern(3/2) + {term}}."), call = call)
  }
}

# Stops if a variable of the formula is neither in the data nor in the environment of the formula.
refuse_unknown <- function(formula, data, call) {
  is_known <- function(name) name %in% c(".", names(data)) || exists(name, envir = environment(formula))
  unknown <- Filter(Negate(is_known), all.vars(formula))
  if (!length(unknown)) return()
  similar <- unlist(lapply(unknown, similar_name, names(data)))
  stop_kernops("input", call = call, c(
    "{.code {unknown}} of {.arg formula} {?is/are} not in {.arg data}.",
    i = if (length(similar)) "Did you mean {.or {.code {similar}}}?"
  ))
}

# Applies na.action to incomplete data only, because most functions for na.action also copy complete data.
if_incomplete <- function(na.action, call, several = FALSE) {
  if (is.null(na.action)) return(NULL)
  act <- tryCatch(match.fun(na.action), error = function(e) {
    stop_kernops("input", "{.arg na.action} must be a function such as {.fn na.omit}, or the name of one.", call = call)
  })
  function(frame, ...) {
    if (!anyNA(frame, recursive = TRUE)) return(frame)
    tryCatch(if (several) act_on_rows(act, frame, ...) else act(frame, ...), error = function(e) {
      rows <- which(!stats::complete.cases(frame))
      stop_kernops("input", c("{.arg na.action} stopped at {cli::qty(length(rows))}row{?s} {rows}.",
                              x = "{conditionMessage(e)}"), call = call)
    })
  }
}

check_gp_values <- function(parts, call) {
  n <- length(parts$y)
  if (n == 0) stop_kernops("input", "There are no observations without missing values.", call = call)
  words <- c(y = "response", u = "coordinates", x = "trend", offset = "offset", noise = "noise", weights = "weights")
  for (name in names(words)) {
    if (all_finite(parts[[name]])) next
    bad <- which(rowSums(!is.finite(as.matrix(parts[[name]]))) > 0)
    stop_kernops("input", "The {words[[name]]} must be finite: see {cli::qty(length(bad))}row{?s} {parts$rows[bad]}.",
                 call = call)
  }
  check_magnitudes(parts, call)
}

# TRUE if all entries are finite. A finite sum implies that all terms are finite, and computing the sum needs no memory.
all_finite <- function(x) is.double(x) && is.finite(sum(x)) || all(is.finite(x))

need_package <- function(name, why, call = caller_env()) {
  if (!requireNamespace(name, quietly = TRUE)) {
    stop_kernops("input", "{why} needs the package {.pkg {name}}, which is not installed.", call = call)
  }
}
