# Gradients of rolling sums, means and extrema. A value is in the windows of a run of neighbours, so that the gradient
# of a sum is itself a rolling sum of the incoming gradient.

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
    table <- window_table(plan, windows)
    gradient_by_backend(x, eta, backend, stay, \(x, eta) device_roll_gradient(op, x, eta, plan, windows, table),
                        \() host_roll_gradient(op, x, eta, plan, windows, table))
  }
}

host_roll_gradient <- function(op, x, eta, plan, windows, table) {
  n <- value_count(x)
  by_row <- \(v) replace(rep(0, n), table$rows, v)
  table$count <- by_row(table$length)
  eta <- host_columns(eta, x)
  x <- host_columns(x, x)
  eta[!by_row(table$counts), ] <- 0
  place <- function(eta, op) {
    place_by_position(eta, roll_plan(x, plan, windows, op, NULL, FALSE, NULL), plan)
  }
  gradient <- roll_gradients[[op]](x, eta, table, \(eta) spread_windows(eta, plan, table), place)
  within_segments(gradient, plan)
}

# For each value the sum of `eta` of the windows that it is in.
spread_windows <- function(eta, plan, table) {
  windows <- windows_around(table)
  if (!is.null(windows)) return(roll_plan(eta, plan, windows, "sum", NULL, FALSE, NULL))
  each <- windows_of_values(table)
  add_to_rows(eta[each$from, , drop = FALSE], matrix(each$row, length(each$row), ncol(eta)), nrow(eta))
}

# The windows that contain each value are neighbours, if no window begins or ends before the previous one: themselves a
# window; otherwise NULL.
windows_around <- function(table) {
  last <- table$first + table$length - 1
  positions <- seq_along(table$first) - 1
  if (is.unsorted(table$first) || is.unsorted(last)) return(NULL)
  earliest <- findInterval(positions - 0.5, last)
  latest <- findInterval(positions, table$first) - 1
  list(before = as.integer(pmax(positions - earliest, 0)), after = as.integer(pmax(latest - positions, 0)),
       partial = TRUE)
}

# The rows of the values of each window, and of the value `from` to which the window belongs.
windows_of_values <- function(table) {
  window <- rep(seq_along(table$first), table$length)
  list(from = table$rows[window], row = table$rows[sequence(table$length, table$first + 1)])
}
