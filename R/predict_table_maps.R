# Maps larger than memory of fits of tables: the cells of all windows are sorted by the cells of the table and predicted
# there, as rows of a table of new points are, so that the field of a cell is made once. The windows then read their
# rows.

# f(count): the values of the next `count` cells of the windows that `record` lacks; `store` has their files.
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
  predict_cells(job$object, job$request, store)
  done <- 0
  from <- -1
  part <- NULL
  function(count) {
    values <- matrix(NA_real_, count, length(job$layers))
    for (first in seq(done %/% result_rows, (done + count - 1) %/% result_rows) * result_rows) {
      if (first != from) part <<- read_results(store, first, min(result_rows, total - first), job$layers)
      from <<- first
      rows <- seq(max(done, first), min(done + count, first + nrow(part)) - 1)
      values[rows - done + 1, ] <- part[rows - first + 1, ]
    }
    done <<- done + count
    values
  }
}

# The rows of each window of tile k that is not complete.
windows_left <- function(job, k, record) {
  rows <- seq_len(terra::nrow(job$tiles[[k]]$template))
  rows <- rows[rows > record$rows[[k]]]
  unname(split(rows, (seq_along(rows) - 1) %/% job$height[[k]]))
}
