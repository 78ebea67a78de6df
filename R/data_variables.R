# The variables of a formula with a value for each observation: new data must contain values of these variables.

# The names that R looks up when it evaluates the expression `e`; names after `$` and names of arguments in calls are
# not looked up.
names_used <- function(e) {
  if (is.symbol(e)) return(as.character(e))
  if (!is.call(e)) return(character())
  head <- if (is.symbol(e[[1]])) as.character(e[[1]]) else ""
  if (head %in% c("::", ":::")) return(character())
  if (head == "function") return(setdiff(names_used(e[[3]]), names(e[[2]])))
  parts <- as.list(e)[if (head %in% c("$", "@")) 2 else -1]
  parts <- c(if (!nzchar(head)) e[[1]], parts[nzchar(as.character(parts))]) # omits empty arguments, as in x[, 1]
  unique(unlist(lapply(parts, names_used)))
}

# The expressions in a formula that are evaluated, without the response.
expressions_of <- function(terms) as.list(attr(stats::delete.response(terms), "variables"))[-1]

# The names in the formula that are columns of the data, that are a term of the formula, or whose values in the
# environment of the formula have as many elements as there are observations. Other names are settings, such as knots.
point_variables <- function(terms, data, n) {
  expressions <- expressions_of(terms)
  from <- environment(terms) %||% globalenv()
  alone <- vapply(Filter(is.symbol, expressions), as.character, "")
  used <- unique(unlist(lapply(expressions, names_used)))
  Filter(function(name) name %in% c(names(data), alone) || n > 1 && NROW(get0(name, from)) == n, used)
}

needed_variables <- function(trend, coords, data, n) {
  list(trend = point_variables(trend, data, n),
       coords = if (inherits(coords, "formula")) point_variables(stats::terms(coords), data, n))
}

# Checks that new data contain the variables that had one value per observation in the fit. A variable of the same name
# that R finds outside the new data would have values of other points. For the same reason, expressions must contain at
# least one column of the data.
check_variables <- function(terms, needed, data, what, call) {
  has <- if (length(names(data))) "It has the columns {.code {names(data)}}." else "It has no named columns."
  if (length(lacking <- setdiff(needed, names(data)))) {
    stop_kernops("input", c("{.arg newdata} lacks {.code {lacking}} of the {what}.", i = has), call = call)
  }
  elsewhere <- Filter(function(e) !any(names_used(e) %in% names(data)), expressions_of(terms))
  if (!length(elsewhere)) return(invisible())
  stop_kernops("input", c("{.code {deparse1(elsewhere[[1]])}} of the {what} does not use any column of {.arg newdata}:
                           its values would not depend on the points.", i = has), call = call)
}
