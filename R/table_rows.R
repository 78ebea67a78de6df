# Records are the rows of a table, converted to numbers, in the files of a work directory.

# The columns of a record: the number of the row, the response minus its known mean, the variance of noise, the weight,
# the coordinates that the model reads, and the columns of the trend whose coefficients are estimated. The column
# `level` is filled when the file of a cell is sorted (table_order.R). If the model has a known mean or an offset, the
# last column is the sum of known mean and offset.
record_columns <- function(d, p, offset = FALSE) {
  c("row", "level", "y", "noise", "weight", paste0("u", seq_len(d)), paste0("x", seq_len(p), recycle0 = TRUE),
    if (offset) "offset")
}

# TRUE if the mean of the response has a known part. `fit` is a fit, or a pilot, which is a fit to a sample of rows.
has_known_part <- function(fit) !is.null(fit$known$beta) || length(attr(fit$parts$terms, "offset")) > 0

# The records of a chunk; `first` is the row number of its first row in the table. `pilot` is a result of pilot_of(),
# with the quosures of `weights` and `noise`.
records_of_chunk <- function(pilot, chunk, first, call) {
  points <- points_of_source(pilot, data_source(spatial_parts(chunk)), NULL, call)
  complete <- points$complete
  terms <- pilot$parts$terms
  predvars <- attr(terms, "predvars") %||% attr(terms, "variables")
  response <- within_chunk(predvars[[attr(terms, "response") + 1]], chunk, environment(terms), call)
  y <- plain_response(response, call)
  weights <- value_of_chunk(pilot$quosures$weights, chunk, 1, call)
  noise <- value_of_chunk(pilot$quosures$noise, chunk, 0, call)
  per_row <- cbind(y, noise, weights)
  usable <- !is.na(rowSums(per_row))
  rows <- which(complete & usable)
  check_chunk_values(per_row[rows, , drop = FALSE], first - 1 + rows, call)
  missing <- setdiff(seq_len(nrow(chunk)), rows)
  if (length(missing)) act_on_missing(pilot$quosures$na.action, first - 1 + missing, call)
  at <- match(rows, which(complete))
  y <- transformed_rows(y[rows], first - 1 + rows, pilot$quosures$transform, call)
  x <- points$x[at, , drop = FALSE]
  known <- points$offset[at] + known_mean(x, pilot$known$beta)
  if (!is.null(pilot$known$beta)) x <- x[, 0, drop = FALSE]
  offset <- has_known_part(pilot)
  records <- cbind(first - 1 + rows, 0, y - known, noise[rows], weights[rows], points$u[at, , drop = FALSE], x,
                   if (offset) known)
  colnames(records) <- record_columns(ncol(points$u), ncol(x), offset)
  records
}

within_chunk <- function(e, chunk, env, call) {
  tryCatch(eval(e, chunk, env), error = function(e) {
    stop_kernops("input", "The response cannot be evaluated: {conditionMessage(e)}.", call = call)
  })
}

# The values of an argument of gp() such as `weights`, with a value for each row of a chunk.
value_of_chunk <- function(quosure, chunk, default, call) {
  value <- if (!is.null(quosure)) within_data(quosure, chunk, call)
  value <- value %||% default
  if (!is.numeric(value) || !length(value) %in% c(1, nrow(chunk))) {
    stop_kernops("dim", "{.arg weights} and {.code known$noise} must be numbers, one for each row of the table.",
                 call = call)
  }
  rep_len(as.numeric(value), nrow(chunk))
}

check_chunk_values <- function(values, rows, call) {
  bad <- function(wrong, what) {
    if (!any(wrong)) return(invisible())
    stop_kernops("input", paste(what, "see {cli::qty(sum(wrong))}row{?s} {rows[wrong]}."), call = call)
  }
  bad(!is.finite(values[, 1]), "The response must be finite:")
  bad(!is.finite(values[, 2]) | values[, 2] < 0, "{.code known$noise} must be finite and at least 0:")
  bad(!is.finite(values[, 3]) | values[, 3] <= 0, "{.arg weights} must be positive:")
}

# Checks `na.action`: returns if rows with missing values are to be omitted; raises an error in all other cases.
act_on_missing <- function(na.action, rows, call) {
  if (is.null(na.action)) return(invisible())
  action <- tryCatch(match.fun(na.action), error = function(e) NULL)
  if (identical(action, stats::na.omit) || identical(action, stats::na.exclude)) return(invisible())
  stop_kernops("input", c("{.arg na.action} stopped at {cli::qty(length(rows))}row{?s} {rows} of the table.",
                          i = "A table is read with {.fn na.omit} or {.fn na.fail}."), call = call)
}
