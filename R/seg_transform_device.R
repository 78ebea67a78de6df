# Transformations of values that the GPU computes. The results have the precision of the values.

device_transform <- function(x, op, plan, n, fill, na.rm, ...) {
  statistic <- function(op) {
    device_expand(seg_reduce(x, plan = plan, op = op, na.rm = na.rm, output = "gpu", ...), x, plan)
  }
  scan <- function(op, reverse) seg_scan(x, plan = plan, op = op, reverse = reverse, na.rm = TRUE, output = "gpu")
  name <- if (inherits(op, "seg_op")) "formula" else op
  switch(name,
    center = device_map("x - m", x = x, m = statistic("mean")),
    scale = device_map("(x - m) / s", x = x, m = statistic("mean"), s = statistic("sd")),
    share = device_map("x / s", x = x, s = statistic("sum")),
    lag = device_move(x, plan, n, fill), lead = device_move(x, plan, -n, fill),
    diff = device_move(x, plan, n, fill, "x - moved", x = x),
    fill_down = scan("last", FALSE), fill_up = scan("first", TRUE),
    statistic(op)
  )
}

# Evaluates a formula for each value; `moved` in the formula is the value n positions earlier in the segment. If the
# segment has no such value, the result is `fill`. Outside all segments, the result is NaN.
device_move <- function(values, plan, n, fill, formula = "moved", ...) {
  check_fill(fill, 1)
  rows <- moved_rows(plan, n, value_count(values))
  moved <- values[replace(rows, is.na(rows), 1), ]
  kind <- ifelse(!is.na(rows), 1, ifelse(is.na(segment_numbers(plan)), -1, 0))
  kind <- device_like(matrix(kind, length(kind), dim(values)[[2]]), values)
  device_map(code_text("IfElse(kind - 0.5, ", formula, ", IfElse(kind + 0.5, fill, none))"), moved = moved, kind = kind,
             fill = if (is.na(fill)) NaN else as.numeric(fill), none = NaN, ...)
}
