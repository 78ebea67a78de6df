# Predictions and residuals at the observations of a fit of a table. The files of the cells contain the observations, so
# the table is not read again.

# Predictions in the order of the table; rows that the fit omits have `NA`. If `residuals` is a kind of residuals, the
# result contains these residuals instead.
predict_observed <- function(object, request, filename, residuals = NULL, call = caller_env()) {
  if (!is.null(filename)) check_text(filename, "filename", one = TRUE)
  blocks <- object$blocks
  if (is.null(filename)) check_result_memory(blocks$read, object$how$control$memory, call)
  store <- new_store(NULL, "observed", call, dirname(blocks$store$path))
  on.exit(remove_store(store))
  names <- predict_cells(which(blocks$rows > 0), observed_cell, with_mean_as_offset(object), request, store, residuals)
  results <- paste_results(store, blocks$read, names, filename, object$how$control$memory, call)
  if (is.null(residuals) || !is.null(filename)) results else results$residual
}

# The counterpart of predict_cell() for the observations of cell k.
observed_cell <- function(k, object, request, store, residuals) {
  blocks <- object$blocks
  path <- in_store(blocks$store, "cell-", k)
  predict_columns <- predictor_of_cell(object, k, request)
  write_cell(k, store, blocks$rows[[k]], object, function(skip) {
    records <- read_rows(path, blocks$columns, skip, cell_rows)
    points <- points_of_records(records, names(object$beta))
    columns <- predict_columns(points, blocks$near_of(points$u))
    if (!is.null(residuals)) columns <- list(residual = residuals_of_records(object, records, columns$fit, residuals))
    list(rows = records[, "row"], table = table_of_columns(columns, object, points, request))
  })
}

# Removes known coefficients of the trend from the fit, because the offset in the records already includes the known
# mean.
with_mean_as_offset <- function(object) {
  if (is.null(object$known$beta)) object else replace(object, "known", list(NULL))
}

points_of_records <- function(records, trend) {
  x <- design_of_records(records)
  colnames(x) <- trend
  offset <- if ("offset" %in% colnames(records)) unname(records[, "offset"]) else numeric(nrow(records))
  list(offset = offset, u = coordinates_of_records(records), x = x)
}

# The residuals of records. The response in records is the response minus the offset.
residuals_of_records <- function(object, records, fitted, kind) {
  off <- records[, "y"] - fitted
  if ("offset" %in% colnames(records)) off <- off + records[, "offset"]
  if (kind == "response") return(unname(off))
  variance <- records[, "noise"] + nugget_of(object) / records[, "weight"]
  unname(off / sqrt(ifelse(variance > 0, variance, NA)))
}

#' @rdname gp_methods
#' @export
fitted.gp_blocks <- function(object, filename = NULL, ...) {
  no_further("fitted", ...)
  predict.gp_blocks(object, type = "link", filename = filename)
}

#' @rdname gp_methods
#' @export
residuals.gp_blocks <- function(object, type = c("response", "pearson"), filename = NULL, ...) {
  no_further("residuals", ...)
  type <- check_choice(type, "type", c("response", "pearson"))
  object$how$backend <- usable_backend(object$how$backend)
  with_trees(with_bar("Predicting", predict_observed(object, mean_request, filename, type)))
}
