# Chooses the method that reduces windows. The compiled code of a backend reduces most operations directly. For a
# formula, the CPU combines results for windows whose lengths are powers of two. For all other operations, the CPU
# reduces the windows as overlapping segments.

# Reduces windows on the GPU, or on the CPU if the GPU does not support the operation.
roll_anywhere <- function(x, plan, windows, op, details, na.rm, empty, backend, stay) {
  on_gpu <- backend == "cuda" || is_gpu_matrix(x)
  if (stay && !on_gpu) stop_gpu_output()
  result <- if (on_gpu && rolls_directly(op)) {
    roll_by_backend(x, plan, windows, op, details, na.rm, empty, backend, stay)
  }
  if (is_gpu_matrix(result)) return(result)
  if (is.null(result)) {
    x <- if (is_gpu_matrix(x)) as.matrix(x) else x
    result <- roll_plan(x, plan, windows, op, details, na.rm, empty)
  }
  if (stay) to_gpu(matrix(as.numeric(result), value_count(x)), stay) else result
}

# TRUE for operations that backends reduce directly; for other operations, windows are reduced as overlapping segments.
rolls_directly <- function(op) !is_order_op(op) || op %in% c("median", "quantile")

roll_plan <- function(x, plan, windows, op, details, na.rm, empty) {
  if (inherits(op, "seg_op")) return(roll_formula(x, plan, windows, op, na.rm, empty))
  result <- if (rolls_directly(op)) roll_by_backend(x, plan, windows, op, details, na.rm, empty, "cpu", FALSE)
  result %||% roll_as_segments(x, plan, windows, op, details, na.rm, empty)
}

# The results computed by a backend; NULL if the backend does not support the operation or the windows.
roll_by_backend <- function(x, plan, windows, op, details, na.rm, empty, backend, stay) {
  formula <- inherits(op, "seg_op")
  probs <- if (!formula) switch(op, median = 0.5, quantile = details$probs)
  run <- function(op, probs = NULL, stay = FALSE) {
    how <- c(segment_operation(op, if (formula) empty),
             list(probs = as.numeric(probs), type = if (identical(op, "quantile")) details$type else 2L, na.rm = na.rm))
    seg_roll_run(segments(plan)$pointer, x, windows, how, segment_settings(backend, stay, progress = progress_bar()))
  }
  result <- run(op, probs, if (is.null(empty) || formula) stay else FALSE)
  if (is.null(result) || is_gpu_matrix(result)) return(result)
  if (formula) return(shape_like(result, x))
  delayedAssign("left", run("count"))
  if (!is.null(empty)) result[rep_len(left %in% 0, length(result))] <- empty
  if (length(probs)) return(shape_rolled(result, x, if (length(probs) > 1) percentages(probs)))
  shape_rolled(settle_kind(result, x, op, left, empty, NULL), x, if (op == "range") c("min", "max"))
}

shape_rolled <- function(result, x, outputs) {
  if (is.null(outputs)) return(shape_like(result, x))
  size <- dim(x) %||% length(x)
  names <- if (is.null(dim(x))) list(names(x)) else dimnames(x) %||% list(NULL, NULL)
  array(result, c(size, length(outputs)), c(names, list(outputs)))
}

# A list of vectors with an element for each position. Positions number the values of all segments, one segment after
# the other. The vectors are `rows`, the row of x; `first`, the first position of the window, from 0; `length`, the
# number of values in the window; `before`, the position of the first value of the window in its segment; and `counts`,
# which is TRUE if the window has a result.
window_table <- function(plan, windows) {
  from <- seg_values(segments(plan)$pointer)
  n <- rep(from$lengths, from$lengths)
  start <- rep(cumsum(from$lengths) - from$lengths, from$lengths)
  k <- seq_along(n) - 1 - start
  left <- windows$before %||% windows$left
  right <- windows$after %||% windows$right
  first <- pmax(k - left, 0)
  list(rows = from$row, first = start + first, length = pmin(k + right, n - 1) - first + 1, before = first,
       counts = windows$partial | (k >= left & k + right < n))
}

roll_as_segments <- function(x, plan, windows, op, details, na.rm, empty) {
  table <- window_table(plan, windows)
  values <- if (is.null(dim(x))) x[table$rows] else x[table$rows, , drop = FALSE]
  overlapping <- temporary(seg_plan(lengths = table$length, sources = table$first, n = length(table$rows)))
  result <- if (is.null(details)) reduce_plan(values, overlapping, op, na.rm, NULL, empty) else
    reduce_in_order(values, overlapping, op, details, na.rm, NULL, empty, "cpu", FALSE)
  if (op %in% c("argmin", "argmax")) result <- result + as.integer(table$before)
  put_back(result, x, table, dim(result)[length(dim(x)) + 2], dimnames(result)[[length(dim(x)) + 2]])
}

# Converts results in the order of positions to the order of the rows of x. The result is NA for windows without a
# result and for rows outside all segments.
put_back <- function(result, x, table, outputs = NULL, names = NULL) {
  columns <- dim(x)[2] %||% 1
  result <- matrix(result, ncol = columns * (if (length(outputs) && !is.na(outputs)) outputs else 1))
  result[!table$counts, ] <- NA
  all <- matrix(result[NA_integer_], value_count(x), ncol(result))
  all[table$rows, ] <- result
  if (ncol(result) == columns) shape_like(c(all), x) else shape_rolled(c(all), x, names)
}

# Reduces windows by a formula. The result for 2^k values is combined from the results for two windows of half the size.
# The result for a window of any length is combined from results for adjacent windows whose lengths are powers of two.
roll_formula <- function(x, plan, windows, op, na.rm, empty) {
  table <- window_table(plan, windows)
  x_numeric <- if (is.null(dim(x))) matrix(as.numeric(x)) else matrix(as.numeric(x), nrow(x))
  roll <- function(values) {
    kept <- if (na.rm) !is.na(values) else rep(TRUE, length(values))
    before <- c(0, cumsum(kept))
    first <- before[table$first + 1]
    length <- before[table$first + table$length + 1] - first
    replace(fold_windows(values[kept], first, length, op), length == 0, empty %||% op$identity)
  }
  result <- apply(x_numeric[table$rows, , drop = FALSE], 2, roll, simplify = FALSE)
  put_back(unlist(result), x, table)
}

fold_windows <- function(values, first, length, op) {
  result <- rep(NA_real_, length(first))
  started <- rep(FALSE, length(first))
  power <- values # power[m] is the result for `size` values, from value m on
  size <- 1
  while (any(length > 0)) {
    odd <- which(length %% 2 == 1)
    joined <- power[first[odd] + 1]
    again <- started[odd]
    joined[again] <- of_pairs(op, result[odd][again], joined[again])
    result[odd] <- joined
    started[odd] <- TRUE
    first[odd] <- first[odd] + size
    length <- length %/% 2
    most <- length(power) - size
    if (any(length > 0)) power <- of_pairs(op, power[seq_len(most)], power[size + seq_len(most)])
    size <- 2 * size
  }
  result
}
