# predict() for fits of tables: new points in memory, in a table that is read in chunks (predict_table_rows.R), the
# observations (predict_table_observed.R), or the cells of a map (predict_table_maps.R).

#' @rdname predict.gp
#' @param filename the path of a CSV file to which predictions are written, with a line for each row of a table that is
#'   read in chunks, see [gp_table()]. The table is `newdata` or, without `newdata`, the table of the fit. By default,
#'   predictions are returned. For maps, see [predict_maps].
#' @export
predict.gp_blocks <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                              level = 0.95, type = c("response", "link", "terms"), coords = NULL, control = NULL,
                              nmax = Inf, maxdist = Inf, block = NULL, cov = FALSE, probs = NULL, above = NULL,
                              joint = NULL, sums = NULL, terms = NULL, exclude = NULL, what = NULL, filename = NULL,
                              ...) {
  request <- prediction_request(as.list(environment()), object, c("response", "link", "terms"), missing(interval))
  options <- if (is_map(newdata) || is_tiles(newdata)) options_of_map(newdata, c(list(...), filename = filename)) else {
    refuse_arguments("predict.gp_blocks", list(...), "{.fn predict} of a fit of a table")
  }
  of_table <- is_table(newdata) || is.null(newdata) && is.null(coords)
  if (!is.null(filename) && is.null(options) && !of_table) {
    stop_kernops("input", "{.arg filename} is for {.arg newdata} in a map, or in a table, a result of {.fn gp_table}.")
  }
  in_memory <- is.null(options) && !of_table
  if (!in_memory) check_plain_request(request)
  object <- with_joint(with_chosen_parts(object, terms, exclude, request, options), joint)
  if (length(control)) object <- with_control_of_tasks(object, control)
  if (is.numeric(control$neighbours)) {
    most <- min(control$neighbours, nobs.gp(object))
    object$vecchia[c("halo", "local", "new")] <- list(object$vecchia$local, most, most)
  }
  object$how$backend <- usable_backend(object$how$backend)
  with_trees(if (!is.null(options)) predict_map(object, object, newdata, request, options) else with_bar("Predicting",
    if (in_memory) predict_in_memory(object, newdata, request) else
      if (is.null(newdata)) predict_observed(object, request, filename) else
        predict_in_table(object, gp_table(newdata), request, filename)
  ))
}

# If `control` has no bound on memory, the bound of the fit is kept.
with_control_of_tasks <- function(object, control, call = caller_env()) {
  if (is.list(control)) control$memory <- control$memory %||% object$how$control$memory
  replace(object, "how", list(replace(object$how, "control", list(as_control(control, object$how$control, call)))))
}

# Computes predictions that depend on the joint distribution of new points; these require a fit in memory, see
# joint_fit().
predict_in_memory <- function(object, newdata, request, call = caller_env()) {
  points <- new_points(object, newdata, request$coords, request$block, request$sums, call)
  fit <- object
  if (!is.null(points$blocks) || isTRUE(request$cov)) {
    check_joint_request(request, call)
    object <- joint_fit(object, nodes_of(points)$u, call)
  }
  predicted_at(object, fit, points, newdata, request, call)
}

# The fit whose predictions include only the chosen parts. Fits to the observations of a cell use the indicators of
# parts that predict_parts.R explains.
with_chosen_parts <- function(object, terms, exclude, request, options, call = caller_env()) {
  if (is.null(terms) && is.null(exclude)) return(object)
  with_parts(object, terms, exclude, call) # checks the names
  joint <- c(block = !is.null(request$block), cov = !isFALSE(request$cov), sums = !is.null(request$sums),
             zones = !is.null(options$zones))
  if (any(joint)) {
    stop_kernops("input", c("{.arg {names(which(joint))}} cannot be combined with {.arg terms} and {.arg exclude} for a
                             fit of a table.", i = "A data frame of the rows takes both."), call = call)
  }
  replace(object, "chosen", list(list(terms = terms, exclude = exclude)))
}

with_chosen <- function(object) with_parts(object, object$chosen$terms, object$chosen$exclude)

check_plain_request <- function(request, call = caller_env()) {
  given <- c(block = !is.null(request$block), cov = !isFALSE(request$cov), sums = !is.null(request$sums))
  if (!any(given)) return(invisible())
  stop_kernops("input", c("{.arg {names(which(given))}} need{?s/} {.arg newdata} in memory, not a table or a map that is
                           predicted by windows.", i = "{.arg zones} gives means and totals over parts of a map."),
               call = call)
}

check_joint_request <- function(request, call) {
  if (!is_local_trend(request$how)) return(invisible())
  stop_kernops("input", "{.arg nmax} and {.arg maxdist} of a fit of a table are for points, without {.arg block},
                         {.arg cov} and {.arg sums}.", call = call)
}
