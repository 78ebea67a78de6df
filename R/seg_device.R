# Matrices on the GPU: formulas that are evaluated entry by entry, and results of segments that are expanded to the rows
# of the values.

# Evaluates a formula entry by entry. `...` are numbers and gpu matrices of one size; some matrices may have one column.
# The result is a gpu matrix, in float64 unless all arguments are float32.
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

# For each value of x, the result of its segment; NaN outside all segments.
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

# A statistic of each segment, on the GPU.
device_reduce <- function(x, plan, op, na.rm = FALSE, w = NULL) {
  run_plan(x, plan, op, na.rm, NULL, "cuda", w, TRUE)
}

# For each of n rows, the sum of `eta` over the values that `row` assigns to it, column by column; row numbers are on
# the host.
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

# x on the GPU if the backend, or x itself, requires the GPU; otherwise NULL.
on_device <- function(x, backend) {
  if (is_gpu_matrix(x)) return(x)
  if (backend == "cuda") gpu_matrix(array(as.numeric(x), c(value_count(x), dim(x)[2] %||% 1)), "float64")
}

# The gradient: the result of on_gpu(x, eta) if x or the backend requires the GPU and the result is not NULL; otherwise
# the result of on_host(). With `stay`, the gradient stays on the GPU; otherwise it has the shape of x.
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

# Replaces NaN by 0; values outside all segments have the result NaN.
device_without_nan <- function(v) device_map("IfElse(0.5 - IsNaN(v), v, 0)", v = v)

# Numbers on the host or a GPU, as a matrix of the size of `like` on the GPU of `like`.
device_operand <- function(v, like) {
  if (is_gpu_matrix(v)) return(v)
  gpu_matrix(array(as.numeric(v), dim(like)), "float64", gpu_describe(like)$device)
}
