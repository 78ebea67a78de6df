# Gradients of rolling sums, means and extrema. If the windows that contain a value are adjacent, the gradient of a
# rolling sum is a rolling sum of the incoming gradient.

roll_gradients <- list(
  sum = function(x, eta, table, spread, place) spread(eta),
  mean = function(x, eta, table, spread, place) spread(eta / table$count),
  min = function(x, eta, table, spread, place) place(eta, "argmin"),
  max = function(x, eta, table, spread, place) place(eta, "argmax")
)

roll_gradient <- function(op) {
  force(op)
  function(x, eta, width, offsets = NULL, lengths = NULL, g = NULL, by = NULL, align = c("right", "center", "left"),
           partial = FALSE, plan = NULL, output = c("host", "gpu")) {
    backend <- check_backend(c("auto", "cpu", "cuda"))
    x <- check_values(x, backend)
    stay <- check_output(output)
    n <- value_count(x)
    align <- check_choice(align, "align", c("right", "center", "left"))
    plan <- disjoint_plan(offsets, lengths, g, plan, n)
    windows <- windows_of(plan, width, by, align, check_flag(partial, "partial"), n)
    check_eta(eta, dim(x) %||% length(x))
    gradient_by_backend(x, eta, backend, stay, \(x, eta) device_roll_gradient(op, x, eta, plan, windows),
                        \() host_roll_gradient(op, x, eta, plan, windows))
  }
}

host_roll_gradient <- function(op, x, eta, plan, windows) {
  n <- value_count(x)
  table <- window_table(plan, windows)
  by_row <- \(v) replace(rep(0, n), table$rows, v)
  table$count <- by_row(table$length)
  eta <- host_columns(eta, x)
  x <- host_columns(x, x)
  eta[!by_row(table$counts), ] <- 0
  place <- function(eta, op) {
    place_by_position(eta, roll_plan(x, plan, windows, op, NULL, FALSE, NULL), plan)
  }
  gradient <- roll_gradients[[op]](x, eta, table, \(eta) spread_windows(eta, plan, windows, table), place)
  within_segments(gradient, plan)
}

# For each value, the sum of `eta` over the windows that contain the value.
spread_windows <- function(eta, plan, windows, table) {
  around <- windows_around(windows, table)
  if (!is.null(around)) return(roll_plan(eta, plan, around, "sum", NULL, FALSE, NULL))
  each <- windows_of_values(table)
  add_to_rows(eta[each$from, , drop = FALSE], matrix(each$row, length(each$row), ncol(eta)), nrow(eta))
}

# The windows that contain each value. If the first positions of successive windows never decrease, and their last
# positions never decrease, the windows that contain a value are adjacent, and are returned as a range of windows. In
# all other cases, the result is NULL. If all windows have the same width, the result is this width with left and right
# exchanged, and `table` is not read.
windows_around <- function(windows, table) {
  if (is_one_width(windows)) return(list(left = windows$right, right = windows$left, partial = TRUE))
  last <- table$first + table$length - 1
  positions <- seq_along(table$first) - 1
  if (is.unsorted(table$first) || is.unsorted(last)) return(NULL)
  earliest <- findInterval(positions - 0.5, last)
  latest <- findInterval(positions, table$first) - 1
  list(before = as.integer(pmax(positions - earliest, 0)), after = as.integer(pmax(latest - positions, 0)),
       partial = TRUE)
}

is_one_width <- function(windows) length(windows$left) == 1

# All pairs of a window and a value in the window: `row` is the row of the value, and `from` is the row of the value to
# which the window belongs.
windows_of_values <- function(table) {
  window <- rep(seq_along(table$first), table$length)
  list(from = table$rows[window], row = table$rows[sequence(table$length, table$first + 1)])
}
