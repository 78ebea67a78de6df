# Gradients of order statistics. An order statistic is a weighted mean of at most two values, and the gradient for each
# of these values is the incoming gradient times the weight of the value.

order_gradient <- function(op) {
  force(op)
  if (op == "top") return(top_gradient)
  function(x, eta, offsets = NULL, lengths = NULL, g = NULL, plan = NULL, na.rm = FALSE,
           probs = c(0, 0.25, 0.5, 0.75, 1), type = 7, nth = 1, output = c("host", "gpu")) {
    details <- order_details(op, probs, type, nth)
    how <- c(details, list(na.rm = check_flag(na.rm, "na.rm"), decreasing = FALSE, following = 1))
    run_order_gradient(x, eta, list(offsets, lengths, g, plan), how, max(length(details$probs), 1), output)
  }
}

# The gradient of seg_top(), whose results are the first k values in sorted order.
top_gradient <- function(x, eta, k, offsets = NULL, lengths = NULL, g = NULL, decreasing = TRUE, plan = NULL,
                         output = c("host", "gpu")) {
  check_number(k, "k", least = 1, whole = TRUE, most = .Machine$integer.max)
  check_flag(decreasing, "decreasing")
  how <- c(order_details("nth", NULL, 7, 1), list(na.rm = TRUE, decreasing = decreasing, following = k))
  run_order_gradient(x, eta, list(offsets, lengths, g, plan), how, k, output)
}

# Computes the gradient of an order statistic. `by` has the arguments of disjoint_plan() that define the segments.
run_order_gradient <- function(x, eta, by, how, outputs, output, call = caller_env()) {
  backend <- check_backend(c("auto", "cpu", "cuda"), call = call)
  x <- check_values(x, backend, call)
  stay <- check_output(output, call)
  plan <- do.call(disjoint_plan, c(by, list(value_count(x), call)))
  check_eta(eta, c(segment_count(plan), dim(x)[2], if (outputs > 1) outputs), call)
  if (!is_gpu_matrix(x)) x <- unclass(x)
  settings <- segment_settings(backend, stay, progress = progress_bar())
  gradient <- seg_order_gradient(segments(plan)$pointer, x, as_numbers(eta), c(how, list(empty = NULL)), settings)
  if (stay) gradient else shape_like(gradient, x)
}
