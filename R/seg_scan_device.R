# Gradients of scans, computed on the GPU by scans in the opposite direction; seg_scan_grad.R computes them on the CPU.

# run(v, op, back) scans a gpu matrix. The direction is that of the original scan or, if `back` is TRUE, the opposite
# direction.
device_scan_gradients <- list(
  sum = function(x, eta, run, ...) run(eta, back = TRUE),
  mean = function(x, eta, run, ...) run(device_map("e / n", e = eta, n = run(x, "count")), back = TRUE),
  var = function(x, eta, run, plan, ...) {
    x <- device_map("x - m", x = x, m = device_expand(device_reduce(x, plan, "mean"), x, plan))
    share <- device_map("IfElse(n - 1.5, 2 * e / (n - 1), 0)", e = eta, n = run(x, "count"))
    moment <- run(device_map("s * m", s = share, m = run(x, "mean")), back = TRUE)
    device_map("x * t - m", x = x, t = run(share, back = TRUE), m = moment)
  },
  # the gradient of x_j is exp(x_j) times the sum of eta_k exp(-y_k) over the results k from j on; the sums of positive
  # and of negative terms are computed separately, because they are sums of logarithms
  logsumexp = function(x, eta, run, ...) {
    y <- run(x, "logsumexp")
    part <- function(formula) {
      run(device_map(code_text("Log(ReLU(", formula, ")) - y"), e = eta, y = y), "logsumexp", back = TRUE)
    }
    device_map("Exp(x + p) - Exp(x + n)", x = x, p = part("e"), n = part("0 - e"))
  },
  min = function(x, eta, run, place, ...) place(eta, run(x, "argmin")),
  max = function(x, eta, run, place, ...) place(eta, run(x, "argmax"))
)

device_scan_gradient <- function(op, x, eta, plan, exclusive, reverse) {
  run <- function(v, op = "sum", back = FALSE, exclusive = FALSE) {
    scan_plan(v, plan, op, list(exclusive = exclusive, reverse = reverse != back), FALSE, NULL, "cuda", TRUE)
  }
  if (exclusive) { # the exclusive result at a value is the inclusive result at the previous value
    eta <- device_without_nan(run(eta, if (reverse) "last" else "first", back = TRUE, exclusive = TRUE))
  }
  place <- function(eta, position) {
    device_add_to_rows(eta, rows_of_positions(as.matrix(position), plan), value_count(x))
  }
  gradient <- device_scan_gradients[[op]](x, eta, run, plan = plan, place = place)
  if (all_covered(plan)) return(gradient)
  device_without_nan(gradient)
}
