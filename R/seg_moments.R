# Skewness and kurtosis of segments, computed from moments about the mean of each segment.

moment_ops <- c("skewness", "kurtosis")
is_moment_op <- function(op) is.character(op) && op %in% moment_ops

reduce_moments <- function(x, plan, op, na.rm, w, empty, stay, call = caller_env()) {
  if (!is.null(empty)) empty <- check_one(empty, "empty", call)
  if (!is_gpu_matrix(x)) x <- unclass(x)
  if (!is.null(w)) w <- check_weights(w, x, "var", call)
  refuse_sources(plan, call)
  order <- if (op == "skewness") 3 else 4
  if (is_gpu_matrix(x)) {
    result <- device_moments(x, plan, order, na.rm, w)
    if (stay && is.null(empty) && is.null(attr(stay, "into"))) return(result)
    result <- c(as.matrix(result))
  } else {
    result <- host_moments(x, plan, order, na.rm, w)
  }
  none <- c(run_plan(x, plan, "count", na.rm, NULL, "auto", w)) %in% 0
  result[none] <- empty %||% NA
  if (stay) to_gpu(matrix(result, segment_count(plan)), stay) else shape_by_segment(result, x, plan, op)
}

host_moments <- function(x, plan, order, na.rm, w) {
  mean_of <- function(v) c(run_plan(v, plan, "mean", na.rm, NULL, "cpu", w))
  from_mean <- from_centre(x, mean_of(x), plan)
  mean_of(from_mean^order) / mean_of(from_mean^2)^(order / 2)
}
