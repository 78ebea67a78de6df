# Sparse matrix times vector on the GPU.

spmv_on_gpu <- function(values, v, mul, add, plan, stay, call = caller_env()) {
  check_multiplication(mul, call)
  if (!is_gpu_matrix(v)) v <- `storage.mode<-`(unclass(v), "double")
  there <- entries_on_gpu(plan, if (is_gpu_matrix(v)) gpu_describe(v)$device else check_device(NULL)[[1]])
  formula <- if (mul %in% names(multiplications)) multiplications[[mul]] else mul
  custom <- inherits(add, "seg_op")
  row <- if (custom) 0L else match(add, segment_ops()$name) - 1L
  columns <- if (is.null(dim(v))) 1 else ncol(v)
  result <- spmv_run_gpu(segments(there$rows)$pointer, there$entries, values, there$order, v, value_count(v), columns,
                         row, if (custom) compiled_op(add), if (custom) add$identity, seg_compile(formula),
                         kernops_option("tile", 0), stay)
  if (stay) return(result)
  if (!custom) result <- settle_product(result, there$lengths, add)
  shape_product(result, v, plan)
}

# The entries row by row: their columns on the device, and where they stand in A. They stay with the plan.
entries_on_gpu <- function(plan, device) {
  cell <- plan$cell
  if (is.null(cell$entries) || is_null_pointer(cell$entries) || !identical(cell$device, device)) {
    at <- seg_values(segments(plan$rows)$pointer)
    cell$order <- if (is.unsorted(at$row, strictly = TRUE) || length(at$row) < length(plan$column)) as.integer(at$row)
    cell$lengths <- at$lengths
    cell$rows <- if (is.null(cell$order)) plan$rows else seg_plan(lengths = at$lengths)
    cell$entries <- spmv_upload(as.integer(plan$column[at$row] - 1), device)
    cell$device <- device
  }
  list(entries = cell$entries, order = cell$order %||% integer(), lengths = cell$lengths, rows = cell$rows)
}

# What stands for a result where there are too few entries, and its type.
settle_product <- function(result, lengths, add) {
  least <- switch(add, var = , sd = 2, first = , last = , argmin = , argmax = 1, 0)
  result[is.nan(result) & lengths < least] <- NA
  switch(with(segment_ops(), kind[name == add]), truth = result != 0, position = as.integer(result), result)
}
