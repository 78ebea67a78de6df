# Gradients of rolling windows, computed on the GPU; seg_roll_grad.R computes them on the CPU. The result is NULL if the
# GPU does not support the windows.

device_roll_gradient <- function(op, x, eta, plan, windows) {
  roll <- \(v, windows, op) roll_by_backend(v, plan, windows, op, NULL, FALSE, NULL, "cuda", TRUE)
  if (!is_one_width(windows)) table <- window_table(plan, windows)
  count <- if (is_one_width(windows)) roll(x, windows, "count") else device_window_lengths(x, table)
  if (is.null(count)) return(NULL)
  share <- if (op == "mean") "e / n" else "e"
  eta <- device_map(code_text("IfElse(0.5 - IsNaN(n), ", share, ", 0)"), e = eta, n = count)
  gradient <- if (op %in% c("sum", "mean")) {
    device_spread_windows(eta, windows, table, roll)
  } else {
    position <- roll(x, windows, paste0("arg", op))
    if (!is.null(position)) device_add_to_rows(eta, rows_of_positions(as.matrix(position), plan), value_count(x))
  }
  if (is.null(gradient) || all_covered(plan)) return(gradient)
  device_without_nan(gradient)
}

# The number of values in the window of each row; NaN if the window has no result.
device_window_lengths <- function(x, table) {
  lengths <- replace(rep(NaN, dim(x)[[1]]), table$rows, ifelse(table$counts, table$length, NaN))
  device_like(matrix(lengths, dim(x)[[1]], dim(x)[[2]]), x)
}

# For each value, the sum of `eta` over the windows that contain the value.
device_spread_windows <- function(eta, windows, table, roll) {
  around <- windows_around(windows, table)
  if (!is.null(around)) return(roll(eta, around, "sum"))
  each <- windows_of_values(table)
  device_add_to_rows(eta[each$from, ], matrix(each$row, length(each$row), dim(eta)[[2]]), dim(eta)[[1]])
}
