# Gradients of scans. The gradient of a scan is a scan in the opposite direction, so it takes linear time.
#
# If y_k is the result at k, the gradient of x_j is the sum of eta_k dy_k / dx_j over the results k from j on. If dy_k /
# dx_j is a product of factors, one factor for each step from j to k, this sum is a linear recurrence.

# For each operation, a function that computes the gradient of sum(eta * y). The argument run(v, op, reverse, exclusive)
# scans the columns of v, in the direction opposite to the original scan if `reverse` is TRUE. The argument recur(v,
# factor) computes the recurrence r_k = v_k + factor_k r_(k + 1), also in the opposite direction.
scan_gradients <- list(
  sum = function(x, eta, run, ...) run(eta, reverse = TRUE),
  mean = function(x, eta, run, ...) run(eta / run(x, "count"), reverse = TRUE),
  var = function(x, eta, run, center, ...) {
    x <- center(x)
    share <- 2 * eta / (run(x, "count") - 1)
    share[!is.finite(share)] <- 0 # the variance of a single value is NA
    x * run(share, reverse = TRUE) - run(share * run(x, "mean"), reverse = TRUE)
  },
  min = function(x, eta, run, place, ...) place(eta, run(x, "argmin")),
  max = function(x, eta, run, place, ...) place(eta, run(x, "argmax")),
  prod = function(x, eta, run, recur, following, ...) run(x, "prod", exclusive = TRUE) * recur(eta, following(x)),
  logsumexp = function(x, eta, run, recur, following, ...) {
    y <- run(x, "logsumexp")
    fraction <- exp(y - following(y))
    fraction[is.na(fraction)] <- 0 # NA at the last value, or if y is -Inf at two adjacent values
    exp(x - y) * recur(eta, fraction)
  }
)

scan_gradient <- function(op) {
  force(op)
  function(x, eta, offsets = NULL, lengths = NULL, g = NULL, exclusive = FALSE, reverse = FALSE, plan = NULL,
           output = c("host", "gpu")) {
    backend <- check_backend(c("auto", "cpu", "cuda"))
    x <- check_values(x, backend)
    stay <- check_output(output)
    plan <- disjoint_plan(offsets, lengths, g, plan, value_count(x))
    check_eta(eta, dim(x) %||% length(x))
    check_flag(exclusive, "exclusive")
    check_flag(reverse, "reverse")
    on_gpu <- \(x, eta) if (op != "prod") device_scan_gradient(op, x, eta, plan, exclusive, reverse)
    gradient_by_backend(x, eta, backend, stay, on_gpu, \() host_scan_gradient(op, x, eta, plan, exclusive, reverse))
  }
}

host_scan_gradient <- function(op, x, eta, plan, exclusive, reverse) {
  verbs <- scan_verbs(plan, reverse)
  eta <- host_columns(eta, x)
  if (exclusive) eta <- replace_missing(verbs$following(eta))
  within_segments(do.call(scan_gradients[[op]], c(list(host_columns(x, x), eta), verbs)), plan)
}

replace_missing <- function(v) replace(v, is.na(v), 0)

# Sets the gradient of values outside all segments to 0.
within_segments <- function(gradient, plan) {
  about <- segments(plan)$about
  if (about$covered < about$values) gradient[-seg_values(segments(plan)$pointer)$row, ] <- 0
  gradient
}

# The functions run(), recur(), following(), center() and place(), which the elements of `scan_gradients` call.
# `reverse` is the direction of the original scan.
scan_verbs <- function(plan, reverse) {
  pointer <- segments(plan)$pointer
  backward <- reverse
  run <- function(v, op = "sum", reverse = FALSE, exclusive = FALSE) {
    scan_plan(v, plan, op, list(exclusive = exclusive, reverse = reverse != backward))
  }
  nearest <- if (backward) "last" else "first"
  list(
    run = run, following = \(v) run(v, nearest, reverse = TRUE, exclusive = TRUE),
    recur = \(v, factor) seg_recurrence(pointer, v, replace_missing(factor), !backward),
    center = function(x) x - expand_segments(reduce_plan(x, plan, "mean"), plan),
    place = function(eta, position) place_by_position(eta, position, plan)
  )
}

# For each value, the row of `results` that belongs to the segment of the value.
expand_segments <- function(results, plan) {
  at_rows <- seg_values(segments(plan)$pointer)
  owner <- rep(NA_integer_, segments(plan)$about$values)
  owner[at_rows$row] <- rep(seq_along(at_rows$lengths), at_rows$lengths)
  unname(results)[owner, , drop = FALSE]
}

# Adds each element of `eta` to the gradient of the value at `position` in the segment.
place_by_position <- function(eta, position, plan) {
  add_to_rows(eta, array(rows_of_positions(position, plan), dim(eta)), nrow(eta))
}

# Converts positions within segments to rows of the values. Row k of `position` belongs to the segment of value k.
rows_of_positions <- function(position, plan) {
  from <- seg_values(segments(plan)$pointer)
  before <- expand_segments(as.matrix(cumsum(from$lengths) - from$lengths), plan)
  array(from$row[c(before) + position], dim(position))
}

# Adds the values of `eta` to the rows of a result with n rows, in each column separately. `row` has the row number for
# each value; values with a missing row number are omitted.
add_to_rows <- function(eta, row, n) {
  sums <- function(k) run_plan(eta[, k], temporary(numbered_plan(as.integer(row[, k]), n)), "sum")
  array(unlist(lapply(seq_len(ncol(eta)), sums)), c(n, ncol(eta)))
}
