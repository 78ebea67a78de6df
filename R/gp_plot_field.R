# Panels of the field: a curve, a map, or points if the trend requires variables other than coordinates; and maps at new
# data.

# A list with an element for each name in `panel_names`. Each element is a list of panels, one for each variable of
# lmc().
field_panels <- function(x, panel_names, n, level, mask, newdata, call) {
  if (!is.null(newdata)) return(panels_at_rows(x, panel_names, newdata, call))
  kind <- field_kind(x)
  if (kind == "curve") return(curve_panels(x, panel_names, n %||% 200, level))
  if (kind == "map") return(map_panels(x, panel_names, observed_cells(x, n %||% 1e4, mask)))
  if (!identical(panel_names, "field") || is_lmc(x$model$covariance)) stop_between_observations(panel_names, call)
  list(field = list(observations_panel(x)))
}

stop_between_observations <- function(panel_names, call) {
  words <- c(field = "The field", se = "Standard errors")[panel_names[[length(panel_names)]]]
  if (is.na(words)) words <- "Quantiles and probabilities"
  stop_kernops("input", c(paste(words, "cannot be drawn between the observations of this fit: see {.fn plot.gp}."),
                          i = "{.arg newdata} has the points of a map, with the covariates of the fit."), call = call)
}

# The kind of plot of the field: "curve", "map", or "points" if the field cannot be drawn between the observations.
field_kind <- function(x) {
  if (!follows_coordinates(x)) return("points")
  wide <- all(apply(x$parts$u, 2, max) > apply(x$parts$u, 2, min))
  if (x$model$d == 1) "curve" else if (x$model$d == 2 && wide) "map" else "points"
}

# The parts (data) of a fit with one row for each row of the user's data. In a fit of several variables, `x$parts`
# itself has a row for each observation, and a row of the data contains several observations.
parts_by_row <- function(x) x$parts$whole %||% x$parts

# TRUE if all variables of the trend are coordinates with names, so that the trend can be computed anywhere.
follows_coordinates <- function(x) {
  if (length(x$parts$columns) || !all(x$parts$needed$trend %in% colnames(x$parts$u))) return(FALSE)
  if (inherits(x, "gp_blocks")) return(TRUE) # in fits of tables, coordinates are always variables
  data <- parts_by_row(x)
  some <- drawn_rows(nrow(data$u))
  u <- data$u[some, , drop = FALSE]
  again <- tryCatch(rows_as_points(x, coordinate_frame(x, u), u, NULL, caller_env()),
                    kernops_error = function(e) NULL)
  isTRUE(all.equal(unname(again$x), unname(data$x[some, , drop = FALSE]), check.attributes = FALSE)) &&
    isTRUE(all.equal(again$offset, data$offset[some]))
}

# Coordinates as variables, converted to the classes that the variables had in the data.
coordinate_frame <- function(x, u) {
  frame <- as.data.frame(u)
  classes <- x$parts$classes
  for (name in intersect(names(frame), names(classes))) frame[[name]] <- from_days(frame[[name]], classes[[name]])
  frame
}

# Tables of predictions, one for each variable. predict() is called with `newdata`, whose rows are the points u. A table
# has the columns `panel_names` and the limits of the band at `level`. Quantiles and probabilities are on the scale of
# the response.
prediction_tables <- function(x, panel_names, newdata, u, level = NULL) {
  columns <- c(field = "fit", se = "se.fit")[panel_names]
  columns[is.na(columns)] <- panel_names[is.na(columns)]
  on_response <- !panel_names %in% c("field", "se")
  band <- if (!is.null(level) && "field" %in% panel_names) c("lwr", "upr")
  variables <- response_names(x)
  before <- if (length(variables)) stats::setNames(paste0(variables, "."), variables) else ""
  predicted <- function(what, type, band = NULL) {
    if (!length(what)) return(NULL)
    table <- predict(x, newdata, coords = u, what = c(what, band), type = type, level = level %||% 0.95,
                     interval = if (length(band)) "confidence" else "none", terms = x$shown$terms,
                     exclude = x$shown$exclude)
    # a single column of predict() is a vector or, for several variables, has the names of the variables
    if (length(what) == 1 && !length(band)) stats::setNames(as.data.frame(table), paste0(before, what)) else table
  }
  table <- do.call(cbind, Filter(length, list(predicted(columns[!on_response], augment_scale(x), band),
                                              predicted(columns[on_response], "response"))))
  lapply(before, function(before) stats::setNames(table[paste0(before, c(columns, band))], c(panel_names, band)))
}

# A list with a list of panels for each name in `panel_names`; panel(what, table, variable) creates one panel.
panels_by_variable <- function(panel_names, tables, panel) {
  variables <- names(tables)
  stats::setNames(lapply(panel_names, function(what) lapply(seq_along(tables), function(k) {
    panel(what, tables[[k]], if (length(variables)) variables[[k]])
  })), panel_names)
}

curve_panels <- function(x, panel_names, n, level) {
  data <- parts_by_row(x)
  points <- matrix(seq(min(data$u), max(data$u), length.out = n), dimnames = list(NULL, colnames(data$u)))
  at_points <- coordinate_frame(x, points)
  tables <- prediction_tables(x, panel_names, at_points, points, level)
  panels_by_variable(panel_names, tables, function(what, table, variable) {
    curves <- data.frame(x = axis_values(x, 1, points[, 1]), fit = table[[what]])
    some <- drawn_rows(nrow(data$u))
    seen <- axis_values(x, 1, data$u[some, 1])
    if (what != "field") {
      return(new_panel("curves", field_title(x, what, variable), axis_label(x, 1), field_legend(x, what, variable),
                       curves = curves, rug = seen))
    }
    y <- if (is.null(variable)) data$y[some] else data$y[some, variable]
    curves[c("lwr", "upr")] <- table[c("lwr", "upr")]
    title <- paste0(paste(c("Field", variable), collapse = " of "), words_of_parts(x), " and ", 100 * level, "% band")
    new_panel("curves", title, axis_label(x, 1), field_words(x, variable),
              curves = curves, points = data.frame(x = seen, y = y))
  })
}
