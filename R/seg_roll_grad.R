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
           partial = FALSE, plan = NULL) {
    x <- sortable(x)
    n <- value_count(x)
    align <- check_choice(align, "align", c("right", "center", "left"))
    plan <- disjoint_plan(offsets, lengths, g, plan, n)
    windows <- windows_of(plan, width, by, align, check_flag(partial, "partial"), n)
    check_eta(eta, dim(x) %||% length(x))
    table <- window_table(plan, windows)
    by_row <- \(v) replace(rep(0, n), table$rows, v)
    table$count <- by_row(table$length)
    numbers <- \(v) array(as.numeric(v), c(n, dim(x)[2] %||% 1))
    x_numbers <- numbers(x)
    eta <- numbers(eta)
    eta[!by_row(table$counts), ] <- 0
    place <- function(eta, op) {
      position <- roll_plan(x_numbers, plan, windows, op, NULL, FALSE, NULL)
      place_by_position(eta, position, plan)
    }
    gradient <- roll_gradients[[op]](x_numbers, eta, table, \(eta) spread_windows(eta, plan, table), place)
    shape_like(within_segments(gradient, plan), x)
  }
}

# For each value the sum of `eta` of the windows that it is in.
spread_windows <- function(eta, plan, table) {
  last <- table$first + table$length - 1
  positions <- seq_along(table$first) - 1
  if (is.unsorted(table$first) || is.unsorted(last)) return(spread_each(eta, table))
  earliest <- findInterval(positions - 0.5, last)
  latest <- findInterval(positions, table$first) - 1
  windows <- list(before = as.integer(pmax(positions - earliest, 0)), after = as.integer(pmax(latest - positions, 0)),
                  partial = TRUE)
  roll_plan(eta, plan, windows, "sum", NULL, FALSE, NULL)
}

# The same for windows in any order, value by value.
spread_each <- function(eta, table) {
  window <- rep(seq_along(table$first), table$length)
  row <- table$rows[sequence(table$length, table$first + 1)]
  add_to_rows(eta[table$rows[window], , drop = FALSE], matrix(row, length(row), ncol(eta)), nrow(eta))
}
