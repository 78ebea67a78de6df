# Gradients of order statistics: each result is a mean of at most two chosen values, which receive its gradient.

order_gradient <- function(op) {
  force(op)
  if (op == "top") return(top_gradient)
  function(x, eta, offsets = NULL, lengths = NULL, g = NULL, plan = NULL, na.rm = FALSE,
           probs = c(0, 0.25, 0.5, 0.75, 1), type = 7, nth = 1) {
    x <- sortable(x)
    plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
    quartiles <- op == "iqr"
    if (quartiles) probs <- c(0.25, 0.75)
    details <- order_details(if (quartiles) "quantile" else op, probs, type, nth)
    outputs <- max(length(details$probs), 1)
    check_eta(eta, c(segment_count(plan), dim(x)[2], if (!quartiles && outputs > 1) outputs))
    if (quartiles) eta <- c(-as.numeric(eta), eta)
    how <- c(details, list(na.rm = check_flag(na.rm, "na.rm"), empty = NULL, places = TRUE))
    chosen <- run_in_order(x, plan, how)
    to_chosen_values(chosen, eta, x, plan, outputs)
  }
}

# `chosen` has for each segment, column and output two positions and the share of the second one.
to_chosen_values <- function(chosen, eta, x, plan, outputs) {
  columns <- dim(x)[2] %||% 1
  size <- c(segment_count(plan), columns, outputs)
  chosen <- array(chosen, c(size[1:2], 3, size[3]))
  by_column <- \(v) matrix(aperm(array(v, size), c(1, 3, 2)), ncol = columns)
  rows <- \(k) by_column(rows_at_positions(chosen[, , k, , drop = FALSE], plan))
  share <- by_column(chosen[, , 3, ])
  eta <- by_column(as.numeric(eta))
  shape_like(add_to_rows(rbind(eta * (1 - share), eta * share), rbind(rows(1), rows(2)), value_count(x)), x)
}

top_gradient <- function(x, eta, k, offsets = NULL, lengths = NULL, g = NULL, decreasing = TRUE, plan = NULL) {
  x <- sortable(x)
  plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
  top <- seg_top(x, k, plan = plan, decreasing = decreasing)
  check_eta(eta, dim(top$rows))
  columns <- dim(x)[2] %||% 1
  by_column <- \(v) matrix(aperm(array(v, c(segment_count(plan), columns, k)), c(1, 3, 2)), ncol = columns)
  shape_like(add_to_rows(by_column(as.numeric(eta)), by_column(top$rows), value_count(x)), x)
}
