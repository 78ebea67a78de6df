# Panels: the contents of plot() and autoplot(), which gp_plot_draw.R and gp_autoplot_panels.R draw.
#
# A panel is a list of `kind`, `title`, `xlab`, `ylab` and the following elements, which depend on the kind:
#   map     `axes`, two vectors, and the matrix `z`; `aspect`; `points`, the observations; `legend`, the name of z
#   values  a `table` of x, y and value; `aspect`, `legend`
#   curves  `curves`, a table of x, fit, optional limits lwr and upr, and `along`, the value that identifies a curve;
#           `points`, a table of x and y; `rug`, values of x; `line`, intercept and slope of a reference line; `zero`:
#           TRUE if the axes begin at 0; `legend`, the name of `along`
#   levels  a `table` of level, fit, lwr and upr
new_panel <- function(kind, title, xlab, ylab, ...) list(kind = kind, title = title, xlab = xlab, ylab = ylab, ...)

# The panels `panel_names` of a fit, in order.
panels_of <- function(x, panel_names, n, level, mask, newdata, settings, call = caller_env()) {
  check_level(level, call)
  check_flag(mask, "mask", call)
  if (!is.null(n)) check_number(n, "n", least = 2, whole = TRUE, call = call)
  fields <- setdiff(panel_names, c("residuals", "covariance", "variogram", "effects"))
  fields <- if (length(fields)) field_panels(x, fields, n, level, mask, newdata, call)
  each <- lapply(panel_names, function(name) {
    switch(name, residuals = list(residual_panel(x)), covariance = list(covariance_panel(x)),
           variogram = variogram_panels(x, settings, call), effects = effect_panels(x, level, call), fields[[name]])
  })
  do.call(c, each)
}

# The fit with the element `shown`: the parts of the mean and the field that its plots include. If `terms` and `exclude`
# are NULL, plots include all parts.
with_shown_parts <- function(x, terms, exclude) {
  if (is.null(terms) && is.null(exclude)) x else replace(x, "shown", list(list(terms = terms, exclude = exclude)))
}

# A text that names the shown parts, such as ": trend, matern", and is appended to a title.
words_of_parts <- function(x) {
  parts <- x$shown
  if (is.null(parts)) return("")
  words <- c(toString(parts$terms), if (length(parts$exclude)) paste("without", toString(parts$exclude)))
  paste0(": ", paste(words[nzchar(words)], collapse = " "))
}

panels_of_fit <- c("field", "se", "residuals", "covariance", "variogram", "effects")
panels_of_several <- c("variogram", "field", "se", "effects")

# Checks the names of panels. Panels of quantiles and probabilities have the column names that predict() returns.
names_of_panels <- function(which, x, newdata, default, call = caller_env()) {
  known <- if (!is.null(newdata)) c("field", "se") else
    if (is_lmc(x$model$covariance)) panels_of_several else panels_of_fit
  if (x$model$d == 0) known <- c("residuals", if (has_effects(x$model)) "effects")
  if (default) return(default_panels(x, which, newdata, known))
  text <- is.character(which) && length(which)
  named <- text && "field" %in% known & grepl(paste(level_pattern(c("q", "above")), collapse = "|"), which)
  if (!text || !all(named | which %in% known)) {
    other <- if (is.character(which)) setdiff(which[!named], known) else which
    more <- "Quantiles such as {.val q0.9} and probabilities such as {.val above500} are panels, too."
    stop_kernops("input", c(paste0("{.arg which} must be among {.val {known}}, not ", shown(other), "."),
                            i = if ("field" %in% known) more), call = call)
  }
  if (any(named)) which[named] <- names_of_columns(which[named], call)
  which
}

default_panels <- function(x, panel_names, newdata, known) {
  if (!is.null(newdata)) return("field")
  if (x$model$d == 0) return(rev(known))
  if (is_lmc(x$model$covariance)) "variogram" else panel_names
}

# The name of a coordinate on an axis, with the unit of the reference system.
axis_label <- function(x, k) {
  name <- colnames(x$parts$u)[[k]]
  if (x$parts$long_lat && identical(name, c("X", "Y")[k])) return(c("longitude", "latitude")[[k]])
  unit <- if (!x$parts$long_lat && isTRUE(name %in% c("X", "Y", "x", "y"))) unit_of_system(x$parts$crs)
  if (is.null(unit)) name else paste0(name, " (", unit, ")")
}

# The name of the field, or of the variable `variable`, on the scale of the plot.
field_words <- function(x, variable = NULL) {
  name <- variable %||% response_name(x)
  if (!is.null(x$transform)) {
    lambda <- x$transform$lambda
    return(if (lambda == 0) paste0("log(", name, ")") else paste0("Box-Cox ", signif(lambda, 3), " of ", name))
  }
  kind <- x$family$density$response
  if (is.null(kind)) return(name)
  response <- if (is.call(x$formula[[2]]) && kind == "binomial") deparse1(x$formula[[2]][[2]]) else name
  paste(if (kind == "binomial") "Probability of" else "Mean of", response)
}

# The name of the response, for plots of quantiles and probabilities, which are on the scale of the response.
response_words <- function(x, variable = NULL) {
  if (is.null(x$family)) return(variable %||% response_name(x))
  words <- field_words(x, variable)
  paste0("the ", tolower(substr(words, 1, 1)), substring(words, 2))
}

field_title <- function(x, what, variable = NULL) paste0(title_of_column(x, what, variable), words_of_parts(x))

title_of_column <- function(x, what, variable) {
  level <- sub("^(q|above)", "", what)
  if (what == "field") return(if (is.null(x$family)) paste("Field of", field_words(x, variable)) else field_words(x))
  if (what == "se") return(paste("Standard errors of", variable %||% "the field"))
  words <- response_words(x, variable)
  if (startsWith(what, "q")) return(paste("Quantile", level, "of", words))
  paste("Probability that", words, "exceeds", level)
}

# The name of the values of a map, for the legend.
field_legend <- function(x, what, variable = NULL) {
  if (what == "field") return(field_words(x, variable))
  if (what == "se") "standard error" else if (startsWith(what, "q")) "quantile" else "probability"
}
