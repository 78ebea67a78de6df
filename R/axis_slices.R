# C++ computes user-defined formulas, order statistics and moments along axes of arrays as operations on segments.
# Slices are columns of matrices within the array; R rearranges the array only if the reduced dimensions are not
# adjacent.

reduce_slices <- function(x, dims, op, details, keepdims, na.rm, plan, backend, output, call = caller_env()) {
  check_array(x, call)
  stay <- check_output(output, call)
  check_flag(keepdims, "keepdims", call)
  check_flag(na.rm, "na.rm", call)
  plan <- plan_for(x, dims, plan, call)
  backend <- check_backend(backend, call = call)
  if (stay && !is_for_gpu(x, backend)) stop_gpu_output(call)
  columns <- !inherits(op, "seg_op") && length(plan$dim) == 2 && identical(as.numeric(plan$dims), 1)
  there <- if (columns && all(plan$dim > 0)) on_device(x, backend)
  result <- if (is.null(there)) host_slices(x, op, details, na.rm, plan) else
    device_columns(there, op, details, na.rm, stay)
  if (is_gpu_matrix(result)) return(result)
  if (is_order_op(op)) result <- settle_in_order(result, x, op)
  outputs <- max(length(details$probs), 1)
  if (stay) return(gpu_matrix(matrix(t(matrix(as.numeric(result), outputs)), stayed_rows(plan, op))))
  shaped(result, x, plan, keepdims, if (outputs > 1) percentages(details$probs))
}

# The results of `op` for all slices of an array on the host, one slice after another.
host_slices <- function(x, op, details, na.rm, plan) {
  values <- if (is_gpu_matrix(x)) as.matrix(x) else x
  if (is.null(details)) fold_slices(values, op, na.rm, plan) else order_slices(values, op, details, na.rm, plan)
}

# The results of `op` for each column of a gpu_matrix.
device_columns <- function(x, op, details, na.rm, stay) {
  column <- temporary(seg_plan(lengths = dim(x)[[1]]))
  if (is.null(details)) return(reduce_moments(x, column, op, na.rm, NULL, NULL, stay))
  result <- run_in_order(x, column, c(details, list(na.rm = na.rm, empty = NULL)), NULL, "cuda", stay)
  if (stay) result else c(t(matrix(result, dim(x)[[2]])))
}

# Returns a list of two elements. `x` is the array or, if the reduced dimensions are not adjacent, the values of the
# array slice by slice. `sizes` has three products of sizes: of the dimensions before the reduced dimensions, of the
# reduced dimensions, and of the dimensions after the reduced dimensions.
slices_in <- function(x, plan) {
  runs <- plan$runs
  reduced <- which(runs[, "reduced"] == 1)
  slice <- prod(plan$dim[plan$dims])
  if (any(plan$dim == 0) || length(reduced) != 1) {
    rearranged <- if (length(reduced) > 1) slice_by_slice(x, plan) else as.vector(x)
    return(list(x = rearranged, sizes = c(1, slice, prod(plan$dim[kept_dims(plan)]))))
  }
  before <- runs[reduced, "stride"]
  list(x = if (is.object(x)) unclass(x) else x, sizes = c(before, slice, prod(plan$dim) / (before * slice)))
}

order_slices <- function(x, op, details, na.rm, plan) {
  slices <- slices_in(x, plan)
  how <- c(details, list(na.rm = na.rm, empty = NULL))
  result <- axis_order_statistic(slices$x, slices$sizes, how, segment_settings("cpu", FALSE))
  outputs <- max(length(details$probs), 1)
  if (outputs > 1) result <- aperm(array(result, c(slices$sizes[1], outputs, slices$sizes[3])), c(2, 1, 3))
  c(result)
}

# Reduces slices by a user-defined formula, or computes their moments. For moments, the values are first arranged slice
# by slice.
fold_slices <- function(x, op, na.rm, plan) {
  if (inherits(op, "seg_op")) {
    slices <- slices_in(x, plan)
    return(axis_fold(slices$x, slices$sizes, segment_operation(op), na.rm, segment_settings("cpu", FALSE)))
  }
  reduce_moments(slice_by_slice(x, plan), temporary(slices_of(plan)), op, na.rm, NULL, NULL, FALSE)
}
