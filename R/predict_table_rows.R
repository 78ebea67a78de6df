# Predictions at the rows of a table that is read in chunks. New points are sorted by cells, as the observations are.
# For predictions at the observations (predict_table_observed.R), the observations are read from the files of the fit.

# The number of rows of a result that are in memory at a time.
result_rows <- 2^20

# Predictions at the rows of a table. The rows are sorted into one file for each cell, the rows of one cell are
# predicted at a time, and the results are sorted by rows.
predict_in_table <- function(object, source, request, filename, call = caller_env()) {
  if (!is.null(filename)) check_text(filename, "filename", one = TRUE)
  store <- new_store(NULL, "predictions", call, dirname(object$blocks$store$path))
  on.exit(remove_store(store))
  n <- sort_new_points(object, source, store, call)
  names <- predict_sorted(object, request, store)
  paste_results(store, n, names, filename, object$how$control$memory, call)
}

sort_new_points <- function(object, source, store, call) {
  first <- 1
  columns <- intersect(unique(c(all.vars(object$parts$terms), all.vars(object$parts$coords))), source$columns)
  scan_source(source, columns, chunk_rows(object$how$control$memory, length(columns)), function(chunk) {
    points <- points_of_source(object, data_source(spatial_parts(chunk)), NULL, call)
    sort_points_by_cell(object$blocks, points, first, store)
    first <<- first + nrow(chunk)
    say_progress(step = paste("sorted", first - 1, "new points"))
  }, call)
  first - 1
}

# Appends the points without missing values to the files of their cells. The row numbers of `points` start at `first`.
sort_points_by_cell <- function(blocks, points, first, store) {
  if (!any(points$complete)) return(invisible())
  of <- cells_near(blocks, blocks$near_of(points$u))
  values <- cbind(first - 1 + which(points$complete), points$offset, points$u, points$x)
  ordered <- split(order(of), sort(of))
  for (k in names(ordered)) append_rows(in_store(store, "new-", k), values[ordered[[k]], , drop = FALSE])
}

# Writes the predictions at the points that sort_points_by_cell() has sorted, and returns the names of the columns of
# the predictions.
predict_sorted <- function(object, request, store) {
  new <- in_store(store, "new-", seq_along(object$blocks$rows))
  on.exit(unlink(new))
  predict_cells(which(file.exists(new)), predict_cell, object, request, store)
}

# Writes predictions to files, each with a range of successive rows of the result. The function `task`, such as
# predict_cell(), computes the predictions of a cell. Returns the names of the columns.
predict_cells <- function(cells, task, object, request, store, ...) {
  names <- over_units(cells, task, fit_for_tasks(object), request, list(path = store$path), ...,
                      workers = workers_for_cells(object, cells, request))
  for (k in cells) {
    part_by_rows(in_store(store, "predicted-", k), c("row", names[[1]]), store)
    unlink(in_store(store, "predicted-", k))
  }
  if (length(names)) names[[1]]
}

# Writes the predictions of a cell and their row numbers to a file; returns the names of the columns.
predict_cell <- function(k, object, request, store) {
  d <- object$model$d
  beta <- object$beta %||% object$known$beta
  width <- 2 + d + length(beta)
  path <- in_store(store, "new-", k)
  predict_columns <- predictor_of_cell(object, k, request)
  write_cell(k, store, file.size(path) / (8 * width), object, function(skip) {
    values <- read_rows(path, paste0("v", seq_len(width)), skip, cell_rows)
    x <- unname(values[, -seq_len(2 + d), drop = FALSE])
    colnames(x) <- names(beta)
    points <- list(offset = unname(values[, 2]), u = unname(values[, 2 + seq_len(d), drop = FALSE]), x = x)
    columns <- predict_columns(points, object$blocks$near_of(points$u))
    list(rows = values[, 1], table = table_of_columns(columns, object, points, request))
  })
}

# Writes `count` rows of results and their row numbers to the file of cell k. table_of(skip) returns the next `rows` and
# their `table`, after the first `skip` rows.
write_cell <- function(k, store, count, object, table_of) {
  result <- in_store(store, "predicted-", k)
  unlink(partial_path(result))
  say_progress(fraction = k / length(object$blocks$rows))
  for (skip in seq(0, count - 1, by = cell_rows)) {
    part <- table_of(skip)
    append_rows(partial_path(result), cbind(part$rows, as.matrix(part$table)))
  }
  finish_file(result)
  names(part$table)
}

# Distributes the rows of the file `path` to the files of the result, each with a range of successive rows.
part_by_rows <- function(path, names, store) {
  for (skip in seq(0, file.size(path) / (8 * length(names)) - 1, by = result_rows)) {
    values <- read_rows(path, names, skip, result_rows)
    to <- (values[, "row"] - 1) %/% result_rows
    for (part in unique(to)) append_rows(in_store(store, "result-", part), values[to == part, , drop = FALSE])
  }
}

# The predictions in the order of the n rows, as a data frame or written to a file.
paste_results <- function(store, n, names, filename, memory, call) {
  if (is.null(filename)) check_result_memory(n * length(names), memory, call)
  parts <- lapply(seq(0, max(0, n - 1), by = result_rows), function(first) {
    table <- read_results(store, first, min(result_rows, n - first), names)
    if (is.null(filename)) return(as.data.frame(table))
    write_csv(table, filename, first > 0)
    NULL
  })
  if (!is.null(filename)) return(invisible(filename))
  table <- do.call(rbind, parts)
  if (identical(names, "fit")) table$fit else table
}

# Reads `count` results, beginning with row `first`; rows without a result have NA.
read_results <- function(store, first, count, names) {
  table <- matrix(NA_real_, count, length(names), dimnames = list(NULL, names))
  path <- in_store(store, "result-", first / result_rows)
  if (!file.exists(path)) return(table)
  values <- read_rows(path, c("row", names))
  table[values[, 1] - first, ] <- values[, -1]
  table
}

# Stops if `count` numbers and a copy of these numbers, which R makes, need more memory than the limit.
check_result_memory <- function(count, memory, call) {
  if (is.null(memory) || 16 * count <= memory_bytes(memory)) return(invisible())
  size <- size_text(16 * count)
  stop_kernops("memory", c("The results need about {size} of memory, more than {.arg memory} allows.",
                           i = "{.arg filename} writes them to a CSV file."), call = call)
}

write_csv <- function(table, path, append) {
  if (requireNamespace("data.table", quietly = TRUE)) {
    # writes NA: a missing value in a single column would be an empty line, and readers of CSV files ignore empty lines
    data.table::fwrite(as.data.frame(table), path, append = append, na = "NA", showProgress = FALSE)
  } else {
    utils::write.table(table, path, append = append, sep = ",", row.names = FALSE, col.names = !append)
  }
}
