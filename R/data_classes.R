# Classes of variables. New data are converted to the classes of the fitted data. Dates and times are both instants, so
# dates are converted to times and times to dates. Durations and quantities are converted to the unit of the fit. Any
# other difference of classes is an error.

# The kind of a variable. Variables of the same kind can be converted to each other's classes. A class that only adds a
# description to numbers or strings does not define a separate kind.
variable_kind <- function(x) {
  if (inherits(x, c("Date", "POSIXt"))) return("time")
  if (inherits(x, "difftime")) return("duration")
  if (inherits(x, "units")) return("units")
  if (is.factor(x) || is.character(x)) return("text")
  classes <- setdiff(oldClass(x), c("AsIs", "labelled", "haven_labelled", "vctrs_vctr", "integer64", "integer",
                                    "double", "numeric", "logical", "noquote"))
  if (length(classes) && length(dim(x)) != 2) return(classes[[1]])
  if (is.numeric(x)) "number" else typeof(x)
}

# Converts x to the class and the unit of `fitted`, the variable of the fit. With `exact`, x contains levels of a
# grouping variable, which must match exactly: if the fit has dates, a time other than midnight is an error; if the fit
# has a factor, a number in x may be the label of a level.
as_fitted <- function(x, fitted, name, call, exact = FALSE) {
  if (is.null(fitted)) return(x)
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (is.logical(x) && all(is.na(x)) && is.null(dim(x))) return(fitted[rep(NA_integer_, length(x))])
  kind <- variable_kind(fitted)
  if (exact && is.factor(fitted) && variable_kind(x) == "number") x <- numbers_as_labels(x, levels(fitted))
  if (variable_kind(x) != kind) stop_other_class(x, fitted, name, call)
  switch(kind, time = as_fitted_time(x, fitted, name, call, exact), duration = as_fitted_duration(x, fitted),
         units = as_fitted_unit(x, fitted, name, call), text = as_fitted_text(x, fitted), x)
}

# Converts the integer codes of a factor to the codes of the fit, because a formula may contain as.integer(g); new
# levels get the next codes.
as_fitted_text <- function(x, fitted) {
  if (!is.factor(fitted)) return(if (is.factor(x)) as.character(x) else x)
  if (is.factor(x) && identical(levels(x), levels(fitted)) && is.ordered(x) == is.ordered(fitted)) return(x)
  new <- setdiff(if (is.factor(x)) levels(x) else unique(x[!is.na(x)]), levels(fitted))
  factor(as.character(x), c(levels(fitted), new), exclude = NULL, ordered = is.ordered(fitted))
}

stop_other_class <- function(x, fitted, name, call, hint = NULL) {
  stop_kernops("input", c("'{name}' was fitted with class {.cls {class(fitted)}}, but it is of class {.cls {class(x)}}
                           in {.arg newdata}.", i = hint), call = call)
}

# The labels of a factor that are equal to the numbers x; x is unchanged if some labels of the factor are not numbers.
numbers_as_labels <- function(x, labels) {
  numbers <- suppressWarnings(as.numeric(readable_text(labels)))
  if (anyNA(numbers) || inherits(x, "integer64")) return(x)
  x <- as.numeric(x)
  label <- labels[match(x, numbers)]
  other <- is.na(label) & !is.na(x)
  replace(label, other, sprintf("%.15g", x[other]))
}

# A date is converted to midnight in UTC. Times get the time zone of the fit, so that expressions such as format(t,
# "%H") have the same values as in the fit.
as_fitted_time <- function(x, fitted, name, call, exact) {
  to_date <- inherits(fitted, "Date")
  if (inherits(x, "Date") != to_date && exact) check_midnight(x, fitted, name, call)
  if (to_date) return(if (inherits(x, "Date")) x else .Date(as.numeric(x) / 86400))
  .POSIXct(if (inherits(x, "Date")) as.numeric(x) * 86400 else as.numeric(x), attr(fitted, "tzone"))
}

check_midnight <- function(x, fitted, name, call) {
  times <- if (inherits(x, "Date")) .POSIXct(as.numeric(x) * 86400, attr(fitted, "tzone")) else x
  times <- times[!is.na(times)]
  if (all(as.numeric(times) %% 86400 == 0) && all(format(times, "%H%M%S") == "000000")) return(invisible())
  stop_other_class(x, fitted, name, call, "{.fn as.Date} or {.fn as.POSIXct} converts {.arg newdata}; a date equals the
                                           time of midnight in UTC.")
}

as_fitted_duration <- function(x, fitted) {
  unit <- units(fitted)
  if (units(x) == unit) x else .difftime(as.numeric(x, units = unit), unit, oldClass(fitted))
}

as_fitted_unit <- function(x, fitted, name, call) {
  if (identical(attr(x, "units"), attr(fitted, "units"))) return(x)
  need_package("units", "a variable of class units", call)
  tryCatch(units::set_units(x, units(fitted), mode = "standard"), error = function(e) {
    stop_kernops("input", "'{name}' has the unit {.val {unit_text(x)}} in {.arg newdata}, which cannot be converted to
                           the unit of the fit, {.val {unit_text(fitted)}}.", call = call)
  })
}

# The variables of new data, a data frame or list, converted to the classes of the fit.
as_fitted_variables <- function(data, fitted, call, exact = FALSE) {
  if (!is.list(data)) return(data)
  for (name in intersect(names(fitted), names(data))) {
    data[[name]] <- as_fitted(data[[name]], fitted[[name]], name, call, exact)
  }
  data
}

# The class, unit, zone and levels of a variable; NULL for a list, whose class is not checked.
prototype <- function(x) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (is.atomic(x)) x[0]
}

prototypes <- function(names, data, env) {
  values <- lapply(stats::setNames(names, names), function(name) data[[name]] %||% get0(name, env))
  Filter(Negate(is.null), lapply(values, prototype))
}

# Dates, times and durations as numbers for coordinates, in days. Quantities keep their unit.
in_days <- function(x) {
  if (inherits(x, "POSIXt")) return(as.numeric(as.POSIXct(x)) / 86400)
  if (inherits(x, "difftime")) return(as.numeric(x, units = "days"))
  if (inherits(x, c("Date", "units"))) as.numeric(x) else x
}

# Coordinates as variables of the class of the fit: the inverse of in_days().
from_days <- function(x, fitted) {
  if (inherits(fitted, "POSIXct")) return(.POSIXct(x * 86400, attr(fitted, "tzone")))
  if (inherits(fitted, "difftime")) return(as_fitted_duration(.difftime(x, "days"), fitted))
  if (inherits(fitted, "units")) return(units::set_units(x, units(fitted), mode = "standard"))
  if (inherits(fitted, "Date")) .Date(x) else x
}

# The variables and coordinates of data. Names are converted to the encoding in which R evaluates symbols.
data_source <- function(parts) {
  data <- parts$data
  if (!is.list(data)) return(parts)
  native <- native_names(as.character(names(data)))
  if (length(native) && !identical(native, names(data))) names(data) <- native
  for (k in which(vapply(data, inherits, NA, "POSIXlt"))) data[[k]] <- as.POSIXct(data[[k]])
  parts$data <- data
  parts
}

native_names <- function(names) enc2native(enc2utf8(names))

# Stops for a name that two columns have, because the name is ambiguous.
check_distinct_names <- function(used, data, argument, call) {
  names <- if (is.list(data)) names(data)
  twice <- unique(names[duplicated(names)])
  if (!"." %in% used) twice <- intersect(twice, used)
  if (!length(twice)) return(invisible())
  stop_kernops("input", c("Variables must have different names, but {.arg {argument}} has
                           {sum(names == twice[[1]])} columns {.code {twice[[1]]}}.",
                          i = "{.fn make.unique} makes names different."), call = call)
}

unit_text <- function(x) as.character(units(x))
