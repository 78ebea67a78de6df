# Reductions of segments and axes by an operation on several fields.

reduce_fields <- function(x, op, segments, na.rm, call = caller_env()) {
  values <- fields_of(x, op, call)
  if (is.data.frame(x)) {
    keys <- frame_keys(x, segments, call)
    segments <- grouped_by(segments, keys$columns)
  }
  count <- length(values[[1]])
  plan <- make_plan(segments$offsets, segments$lengths, segments$g, segments$plan, segments$sources, count,
                    segments$sort, "`x`", call = call)
  from <- seg_values(segments(plan)$pointer)
  result <- fold_fields(lapply(values, `[`, from$row), from$lengths, op, na.rm)
  if (is.complex(x)) return(stats::setNames(complex_of_fields(result), plan$names))
  columns <- stats::setNames(columns_of_matrix(result), op$fields)
  if (!is.data.frame(x)) return(lapply(columns, stats::setNames, plan$names))
  groups <- group_columns(keys$columns, plan, segments$sort)
  frame_like(c(groups, columns), .set_row_names(nrow(result)), x)
}

columns_of_matrix <- function(m) lapply(seq_len(ncol(m)), \(k) m[, k])

# `x` is a list of arrays, or a complex array.
reduce_axis_fields <- function(x, op, dims, keepdims, na.rm, plan, call = caller_env()) {
  values <- fields_of(x, op, call)
  plan <- plan_for(values[[1]], dims, plan, call)
  slice <- prod(plan$dim[plan$dims])
  if (na.rm || slice == 0) {
    lengths <- rep(slice, prod(plan$dim[kept_dims(plan)]))
    result <- fold_fields(lapply(values, slice_by_slice, plan), lengths, op, na.rm)
  } else {
    parts <- lapply(values, slices_in, plan)
    result <- fold_middle(field_matrix(lapply(parts, `[[`, "x")), parts[[1]]$sizes, op$join)
  }
  one <- \(v) shaped(v, values[[1]], plan, keepdims)
  if (is.complex(x)) return(one(complex_of_fields(result)))
  stats::setNames(lapply(columns_of_matrix(result), one), op$fields)
}
