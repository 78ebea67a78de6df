# Functions for matrices on the GPU: they evaluate formulas for each entry, and copy the result of a segment to the rows
# of its values.

# Evaluates a formula for each entry of gpu matrices. The arguments `...` are numbers and gpu matrices of the same size;
# matrices with one column are recycled. The result is a gpu matrix, in float32 if all matrices are float32, otherwise
# in float64.
device_map <- function(formula, ...) {
  values <- list(...)
  there <- vapply(values, is_gpu_matrix, NA)
  columns <- vapply(values[there], \(v) dim(v)[[2]], 0)
  single <- all(vapply(values[there], is_float32, NA))
  declared <- code_text(names(values), " = Pm(1)")
  declared[there] <- sprintf("%s = Vi(%.0f)", names(values)[there], columns)
  op <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", formula), declared, backend = "cuda",
                     precision = if (single) "float32" else "float64")
  op(values, output = "gpu")
}

is_float32 <- function(x) gpu_describe(x)$precision == "float32"

# For each value of x, the result of the segment that contains the value; NaN for values outside all segments.
device_expand <- function(results, x, plan) {
  spread <- function(v) {
    seg_gradient(segments(plan)$pointer, x, v, segment_operation("sum"), TRUE, segment_settings("cuda", TRUE))
  }
  expanded <- spread(results)
  if (all_covered(plan)) return(expanded)
  inside <- spread(rep(1, length(results)))
  device_map("IfElse(inside - 0.5, expanded, none)", expanded = expanded, inside = inside, none = NaN)
}

all_covered <- function(plan) with(segments(plan)$about, covered == values)

# Computes a statistic of each segment on the GPU, where the result stays.
device_reduce <- function(x, plan, op, na.rm = FALSE, w = NULL) {
  run_plan(x, plan, op, na.rm, NULL, "cuda", w, TRUE)
}

# Adds the values of `eta` to the rows of a result with n rows, in each column separately. `row`, a matrix on the host,
# has the row number for each value.
device_add_to_rows <- function(eta, row, n) {
  columns <- lapply(seq_len(ncol(row)), function(k) {
    run_plan(eta[, k], temporary(numbered_plan(as.integer(row[, k]), n)), "sum", stay = TRUE)
  })
  Reduce(\(a, b) device_map("Concat(a, b)", a = a, b = b), columns)
}

# Copies a matrix on the host to the GPU of `like`.
device_like <- function(x, like) {
  gpu_matrix(x, if (is_float32(like)) "float32" else "float64", gpu_describe(like)$device)
}

# Returns x as a gpu matrix if x is already on the GPU or if the backend is "cuda"; otherwise NULL.
on_device <- function(x, backend) {
  if (is_gpu_matrix(x)) return(x)
  if (backend == "cuda") gpu_matrix(array(as.numeric(x), c(value_count(x), dim(x)[2] %||% 1)), "float64")
}

# Computes a gradient. If x is on the GPU or the backend is "cuda", on_gpu(x, eta) computes the gradient. In all other
# cases, and if on_gpu() returns NULL, on_host() computes the gradient. With `stay`, the result is on the GPU; without
# `stay`, the result is on the host and has the shape of x.
gradient_by_backend <- function(x, eta, backend, stay, on_gpu, on_host, call = caller_env()) {
  there <- on_device(x, backend)
  if (stay && is.null(there)) stop_gpu_output(call)
  gradient <- if (length(there)) on_gpu(there, device_operand(eta, there))
  if (!is.null(gradient)) return(device_result(gradient, x, stay))
  gradient <- on_host()
  if (stay) device_like(gradient, there) else shape_like(gradient, x)
}

# The result as a gpu_matrix if `stay`; otherwise as numbers with the shape of x on the host.
device_result <- function(result, x, stay) if (stay) result else shape_like(c(as.matrix(result)), x)

# Numbers on the host or the GPU, as a matrix on the host with as many columns as x.
host_columns <- function(v, x) {
  array(as.numeric(if (is_gpu_matrix(v)) as.matrix(v) else v), c(value_count(x), dim(x)[2] %||% 1))
}

# Replaces NaN, the result for values outside all segments, by 0.
device_without_nan <- function(v) device_map("IfElse(0.5 - IsNaN(v), v, 0)", v = v)

# Numbers on the host or a GPU, as a matrix of the size of `like` on the GPU of `like`.
device_operand <- function(v, like) {
  if (is_gpu_matrix(v)) return(v)
  gpu_matrix(array(as.numeric(v), dim(like)), "float64", gpu_describe(like)$device)
}
