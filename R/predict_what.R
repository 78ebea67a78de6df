# The argument `what` of predict() has names of columns. These names determine other arguments, such as `probs`.

# Adds the arguments that the columns `what` require.
with_what <- function(arguments, unnamed, call) {
  what <- arguments[["what"]]
  if (is.null(what)) return(arguments)
  arguments$what <- names_of_columns(what, call)
  if (any(columns_of_terms %in% what)) arguments$type <- "terms"
  if ("se.fit" %in% what) arguments$se.fit <- TRUE
  if (any(c("lwr", "upr") %in% what)) {
    if (unnamed) arguments$interval <- "confidence"
    if (identical(arguments$interval, "none")) {
      stop_kernops("input", "The columns {.val lwr} and {.val upr} need an {.arg interval}.", call = call)
    }
  }
  levels <- lapply(c(probs = "q", above = "above"), levels_in_names, what)
  arguments[names(levels)] <- Map(function(level, name) unique(c(arguments[[name]], level)), levels, names(levels))
  arguments
}

columns_of_terms <- c("trend", "process")

# The names of the columns `what`, written as level_columns() writes them.
names_of_columns <- function(what, call) {
  plain <- c("fit", "se.fit", "lwr", "upr")
  valid <- is.character(what) && length(what) && !anyDuplicated(what)
  if (valid && all(what %in% columns_of_terms)) return(what)
  if (valid) for (name in c("q", "above")) {
    named <- grepl(level_pattern(name), what)
    what[named] <- as.character(names(level_columns(list(), name, levels_in_names(name, what), identity)))
    plain <- c(plain, what[named])
  }
  if (valid && all(what %in% plain)) return(what)
  stop_kernops("input", c(
    "{.arg what} must be different names of columns, not {.val {what}}.",
    i = "Columns are {.val {c('fit', 'se.fit', 'lwr', 'upr')}}, quantiles such as {.val q0.05}, probabilities such as
         {.val above500}; or {.val {columns_of_terms}}."
  ), call = call)
}

# The numbers in names of columns, such as 0.05 in q0.05.
levels_in_names <- function(name, what) {
  pattern <- level_pattern(name)
  as.numeric(sub(pattern, "\\1", grep(pattern, what, value = TRUE)))
}

level_pattern <- function(name) paste0("^", name, "([-+]?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?)$")
