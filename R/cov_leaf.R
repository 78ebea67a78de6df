# The leaves of a covariance: each leaf is a base kernel with a geometry and parameters.

# The leaf of a stationary kernel. `...` are the arguments of the constructor for the geometry, `dims` and `fixed`.
stationary <- function(kernel, parameters, ..., call = caller_env()) {
  arguments <- leaf_arguments(kernel, list(...), call)
  geometry <- choose_geometry(kernel, parameters, arguments, call)
  parameters <- c(parameters, geometry$parameters)
  new_leaf(kernel, parameters, arguments$fixed %||% character(), arguments$dims, geometry, call)
}

ranged <- function(kernel, variance, range, ..., call = caller_env()) {
  stationary(kernel, list(variance = variance, range = range), ..., call = call)
}

leaf_arguments <- function(kernel, arguments, call) {
  takes <- c(if (is.null(kernel$geometry)) geometry_arguments else "ard", "dims", "fixed")
  place <- pmatch(names(arguments), takes)
  if (length(arguments) && (is.null(names(arguments)) || anyNA(place))) {
    known <- c(setdiff(names(formals(kernel$label)), "..."), takes)
    stop_further_arguments(paste0("{.fn ", kernel$label, "}"), arguments[is.na(place)], known, call)
  }
  stats::setNames(arguments, takes[place])
}

new_leaf <- function(kernel, parameters, fixed = character(), dims = NULL, geometry = no_geometry,
                     call = caller_env()) {
  check_subset(fixed, "fixed", names(parameters), call)
  for (name in names(parameters)) check_parameter(parameters[[name]], name, kernel$by_formula, call)
  if (length(lacking <- fixed[vapply(parameters[fixed], is.null, NA)])) {
    stop_kernops("input", "{.arg {lacking}} must have a value if it is fixed.", call = call)
  }
  if (!is.null(dims) && !(is.numeric(dims) && length(dims) && all(is.finite(dims) & dims >= 1 & dims == floor(dims)) &&
                          !anyDuplicated(dims))) {
    stop_kernops("input", "{.arg dims} must contain coordinate numbers, counted from 1, such as {.code 1:2}.",
                 call = call)
  }
  structure(list(kind = "leaf", label = kernel$label, kernel = kernel, geometry = geometry, parameters = parameters,
                 fixed = unique(fixed), dims = dims), class = "kernops_covariance")
}

# The columns of points that a leaf reads. `leaf$positions` are the columns of the coordinates if points also have other
# columns.
leaf_dims <- function(leaf, d) as.numeric(leaf$dims %||% leaf$positions %||% seq_len(d))

check_parameter <- function(x, name, by_formula, call) {
  if (is.null(x)) return()
  if (!is.numeric(x) || !length(x) || !all(is.finite(x))) {
    stop_kernops("input", "{.arg {name}} must be finite and numeric, or {.code NULL} to be estimated.", call = call)
  }
  if (by_formula || name == "center") return()
  if (length(x) > 1 && !name %in% c("range", "angle", "ratio")) {
    stop_kernops("input", "{.arg {name}} must be one number, not {length(x)}.", call = call)
  }
  if (name == "ratio" && any(x > 1)) {
    stop_kernops("input", "{.arg ratio} must be at most 1, not {.val {x}}: {.arg angle} is the direction of the
                           longest range.", call = call)
  }
  if (name == "interaction") check_interaction(x, call)
  if (!name %in% c("angle", "interaction")) check_positive(x, name, call)
}

check_positive <- function(x, name, call = caller_env()) {
  if (!all(x > 0)) stop_kernops("input", "{.arg {name}} must be positive, not {.val {x}}.", call = call)
}

check_subset <- function(x, name, choices, call = caller_env()) {
  if (is.null(x) || (is.character(x) && all(x %in% choices))) return(invisible())
  if (is.character(x)) x <- setdiff(x, choices)
  stop_kernops("input", paste0("{.arg {name}} must be among {.val {choices}}, not ", shown(x), "."), call = call)
}

format_leaf <- function(x) {
  parameters <- Filter(function(v) !all(is.na(v)), x$parameters)
  if (x$label == "linear" && identical(parameters$center, 0)) parameters$center <- NULL
  values <- vapply(parameters, function(v) {
    text <- signif(v, 4)
    if (length(v) > 1) paste0("c(", toString(text), ")") else paste(text)
  }, "")
  marks <- ifelse(names(parameters) %in% setdiff(x$fixed, "center"), " (fixed)", "")
  open <- "nu" %in% names(x$parameters) && is.null(parameters$nu)
  shown <- c(if (x$kernel$by_formula) deparse(x$kernel$constants$formula), x$kernel$words, if (open) "nu = NA",
             if (length(parameters)) paste0(names(parameters), " = ", values, marks),
             if (length(x$geometry$spread) && is.null(parameters$range)) "ard = TRUE", x$geometry$words,
             if (!is.null(x$dims) && !isTRUE(x$placed) && !length(x$sees))
               paste0("dims = ", paste(x$dims, collapse = ",")))
  if (length(x$sees) && !length(shown)) return(x$label)
  paste0(x$label, "(", toString(shown), ")")
}
