# Predictions of maps larger than memory by fits of tables. The observations of a table are divided into table cells
# (table_cells.R). The map cells of all windows are sorted by the table cell that contains them, like the rows of a
# table of new points. The map cells in one table cell are predicted together, so that the field of a table cell is
# computed once. Each window then reads the results of its rows.

# Returns a function f(count). Each call returns the values of the next `count` map cells in the windows that `record`
# does not yet mark as finished, as a matrix with the columns that the map or its zones need. `store` has the files of
# these values.
values_by_cells <- function(job, record, store) {
  total <- 0
  for (k in which(!record$complete)) {
    for (rows in windows_left(job, k, record)) {
      points <- points_of_window(job, window_of_tile(job, k, rows))
      sort_points_by_cell(job$object$blocks, points, total + 1, store)
      total <- total + length(points$complete)
      say_progress(step = paste("sorted", total, "cells"))
    }
  }
  names <- predict_sorted(job$object, request_of_windows(job), store) %||% job$layers
  done <- 0
  from <- -1
  part <- NULL
  function(count) {
    values <- matrix(NA_real_, count, length(names), dimnames = list(NULL, names))
    for (first in seq(done %/% result_rows, (done + count - 1) %/% result_rows) * result_rows) {
      if (first != from) part <<- read_results(store, first, min(result_rows, total - first), names)
      from <<- first
      rows <- seq(max(done, first), min(done + count, first + nrow(part)) - 1)
      values[rows - done + 1, ] <- part[rows - first + 1, ]
    }
    done <<- done + count
    values
  }
}

# The predictions of a window, in the form of predict_window().
window_by_cells <- function(job, k, rows) {
  values <- job$next_values(length(rows) * terra::ncol(job$tiles[[k]]$template))
  window <- list(values = values[, job$layers, drop = FALSE])
  if (is.null(job$zones)) return(window)
  points <- points_of_window(job, window_of_tile(job, k, rows))
  if (!any(points$complete)) return(window)
  c(window, list(points = points, table = as.data.frame(values[points$complete, , drop = FALSE])))
}

# A list with the rows of each unfinished window of tile k.
windows_left <- function(job, k, record) {
  rows <- seq_len(terra::nrow(job$tiles[[k]]$template))
  rows <- rows[rows > record$rows[[k]]]
  unname(split(rows, (seq_along(rows) - 1) %/% job$height[[k]]))
}
