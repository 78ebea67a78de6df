# Gradients of rolling windows on the GPU (seg_roll_grad.R has those of the CPU); NULL where the GPU does not support
# the windows.

device_roll_gradient <- function(op, x, eta, plan, windows, table) {
  n <- value_count(x)
  column <- \(v) device_like(matrix(replace(rep(0, n), table$rows, v), n, dim(x)[[2]]), x)
  roll <- \(v, windows, op) roll_by_backend(v, plan, windows, op, NULL, FALSE, NULL, "cuda", TRUE)
  eta <- device_map("IfElse(counts - 0.5, e, 0)", e = eta, counts = column(as.numeric(table$counts)))
  gradient <- if (op %in% c("sum", "mean")) {
    if (op == "mean") eta <- device_map("IfElse(n - 0.5, e / n, 0)", e = eta, n = column(table$length))
    device_spread_windows(eta, table, roll)
  } else {
    position <- roll(x, windows, paste0("arg", op))
    if (!is.null(position)) device_add_to_rows(eta, rows_of_positions(as.matrix(position), plan), n)
  }
  if (is.null(gradient) || all_covered(plan)) return(gradient)
  device_without_nan(gradient)
}

# For each value the sum of `eta` of the windows that it is in.
device_spread_windows <- function(eta, table, roll) {
  windows <- windows_around(table)
  if (!is.null(windows)) return(roll(eta, windows, "sum"))
  each <- windows_of_values(table)
  device_add_to_rows(eta[each$from, ], matrix(each$row, length(each$row), dim(eta)[[2]]), dim(eta)[[1]])
}
