# Statistics of segments that require sorted values. The table of these statistics is src/order/order_statistics.def.

order_ops <- function() the$order_ops <- the$order_ops %||% seg_order_table()

is_order_op <- function(op) is.character(op) && op %in% order_ops()$name

# Checks the arguments that only order statistics have, and returns them in the form that the C++ code reads.
order_details <- function(op, probs, type, nth, call = caller_env()) {
  check_number(type, "type", least = 1, most = 9, whole = TRUE, call = call)
  check_nth(nth, call)
  list(op = match(op, order_ops()$name) - 1L, probs = if (op == "quantile") check_probs(probs, call) else numeric(),
       type = as.integer(type), nth = as.numeric(nth))
}

check_probs <- function(probs, call) {
  if (is_plain_numeric(probs) && length(probs) && !anyNA(probs) && all(probs >= 0 & probs <= 1)) {
    return(as.numeric(probs))
  }
  wrong <- if (is_plain_numeric(probs)) which(is.na(probs) | probs < 0 | probs > 1)
  received <- if (length(wrong)) "Element {wrong[[1]]} is {probs[[wrong[[1]]]]}." else
    "It is {.obj_type_friendly {probs}}."
  stop_kernops("input", c("{.arg probs} must be numbers from 0 to 1.", x = received), call = call)
}

check_nth <- function(nth, call) {
  most <- 2^53
  check_number(nth, "nth", least = -most, most = most, whole = TRUE, call = call)
  if (nth == 0) {
    stop_kernops("input", "{.arg nth} must be 1 or more, or -1 or less to count from the largest value; it is 0.",
                 call = call)
  }
}

# The counterpart of reduce_plan() for order statistics.
reduce_in_order <- function(x, plan, op, details, na.rm, w, empty, backend, stay, call = caller_env()) {
  if (!is.null(empty)) empty <- check_one(empty, "empty", call)
  if (!is_gpu_matrix(x)) x <- unclass(x)
  if (!is.null(w)) w <- check_frequencies(w, x, op, call)
  how <- c(details, list(na.rm = na.rm, empty = empty))
  result <- run_in_order(x, plan, how, w, backend, stay)
  if (stay) return(result)
  result <- settle_in_order(result, x, op)
  probs <- details$probs
  shape_by_segment(result, x, plan, op, if (length(probs) > 1) percentages(probs))
}

# Names of quantiles such as "25%", which quantile() also uses.
percentages <- function(probs) paste0(formatC(100 * probs, format = "fg", width = 1, digits = 7), "%")

run_in_order <- function(x, plan, how, w = NULL, backend = "cpu", stay = FALSE) {
  settings <- segment_settings(backend, stay, progress = progress_bar())
  seg_order_statistic(segments(plan)$pointer, x, w, how, settings)
}

# Converts results to the types of base R. Results that are values of x have the type of x. Medians are doubles, because
# a median may be between two values.
settle_in_order <- function(result, x, op) {
  if (op == "n_distinct") return(as_integers(result, op))
  if (!op %in% c("nth", "mode") || is.double(x) || is_gpu_matrix(x)) return(result)
  if (is.logical(x) && all(result %in% c(0, 1, NA))) return(result != 0)
  as_integers(result, op)
}

check_frequencies <- function(w, x, op, call) {
  takes <- with(order_ops(), name[weights])
  if (!op %in% takes) {
    stop_kernops("input", "{.arg weights} is available for {.val {takes}}, not for {.val {op}}.", call = call)
  }
  w <- check_weight_numbers(w, x, call)
  wrong <- which(is.na(w) | w < 0)
  if (length(wrong)) {
    stop_kernops("input", "{.arg weights} must not be negative or missing here; element {wrong[[1]]} is
                           {w[[wrong[[1]]]]}.", call = call)
  }
  w
}
