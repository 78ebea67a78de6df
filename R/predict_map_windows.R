# Windows of a map, which are groups of rows: the points of a window, and the predictions at these points.

window_of_tile <- function(job, k, rows) {
  window <- job$tiles[[k]]$read(rows)
  if (is.null(job$masks)) return(window)
  masked <- is.na(job$masks[[k]]$read(rows)$u[, 1])
  window$data[masked, ] <- NA
  window$u[masked, ] <- NA
  window
}

points_of_window <- function(job, window) {
  points_of_parts(job$object, new_points(job$fit, window, NULL, job$request$block, NULL, job$call))
}

# A list of the `points` of complete cells, which have no missing values; the `table` of the predictions at these
# points, or NULL if no cell is complete; and the `values` of all cells.
predict_window <- function(job, k, rows) {
  if (!is.null(job$next_values)) return(window_by_cells(job, k, rows))
  points <- points_of_window(job, window_of_tile(job, k, rows))
  values <- matrix(NA_real_, length(points$complete), length(job$layers))
  if (!any(points$complete)) return(list(values = values))
  if (job$joint) points$among <- among_cells(job$whole, k, rows, sum(points$complete))
  table <- predicted_table(job$object, job$fit, points, request_of_windows(job))
  values[points$complete, ] <- as.matrix(table[job$layers])
  list(points = points, table = table, values = values)
}

# The request with which each window is predicted. Zones require all columns of predictions; a map without zones
# requires only the columns `what`.
request_of_windows <- function(job) {
  if (is.null(job$zones)) job$request else replace(job$request, "what", list(NULL))
}
