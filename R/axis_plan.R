#' Plan a reduction over dimensions of an array
#'
#' `axis_plan()` stores the quantities that [axis_reduce()], [softmax()] and [logsumexp()] compute from the shape of an
#' array. The plan can be used again for any values and any operation. A plan contains only a few numbers for each
#' dimension (strides, not positions), so its size does not depend on the size of the array.
#'
#' @param dim the dimensions of the arrays, as returned by `dim()`; for vectors, the length.
#' @param dims the dimensions to reduce: distinct whole numbers from 1 to `length(dim)`.
#'
#' @return An object of class `axis_plan`, a list. The class has a `print()` method, and plans can be saved. Adjacent
#'   dimensions form one run if all of them are reduced or all of them are kept. For each run, `plan$runs` contains the
#'   `size`, the `stride` in the array, and whether the run is `reduced`. The column `number` contains the stride in the
#'   result or, for reduced runs, in the slice.
#'
#' @section Errors: class `kernops_dim_error`.
#'
#' @seealso [axis_reduce()], which accepts a plan; [seg_plan()] for segments.
#' @examples
#' plan <- axis_plan(c(4, 3, 2), c(1, 3))
#' plan
#' axis_reduce(array(1:24, c(4, 3, 2)), op = "max", plan = plan)
#' @export
axis_plan <- function(dim, dims) {
  if (!is_plain_numeric(dim) || length(dim) == 0 || !all(is.finite(dim)) || any(dim < 0 | dim != floor(dim))) {
    stop_kernops("dim", "{.arg dim} must contain one non-negative whole number for each dimension.")
  }
  plan_axes(as.numeric(dim), dims)
}

plan_axes <- function(dim, dims, call = caller_env()) {
  dims <- check_dims(dims, length(dim), call)
  structure(list(dim = dim, dims = dims, runs = axis_runs(dim, seq_along(dim) %in% dims)), class = "axis_plan")
}

check_dims <- function(dims, max_dim, call) {
  if (!is_plain_numeric(dims) || anyNA(dims)) {
    stop_kernops("dim", "{.arg dims} must contain dimension numbers from 1 to {max_dim}.", call = call)
  }
  wrong <- dims[dims < 1 | dims > max_dim | dims != floor(dims)]
  if (length(wrong)) {
    stop_kernops("dim", c("{.arg dims} must contain dimension numbers from 1 to {max_dim}.",
                          x = "There is no dimension {wrong[[1]]}."), call = call)
  }
  if (anyDuplicated(dims)) {
    twice <- dims[anyDuplicated(dims)]
    stop_kernops("dim", c("{.arg dims} must contain each dimension once.",
                          x = "Dimension {twice} is given twice."), call = call)
  }
  as.integer(if (is.unsorted(dims)) sort(dims) else dims)
}

# The runs of an array: groups of adjacent dimensions that are all kept or all reduced; dimensions of size 1 are
# dropped. If a dimension has size 0, the result has two runs, whose sizes are the number of results and the number of
# values per slice.
axis_runs <- function(dim, reduced) {
  if (any(dim == 0)) {
    size <- c(prod(dim[!reduced]), prod(dim[reduced]))
    return(cbind(size = size, stride = 0, number = 1, reduced = 0:1))
  }
  stride <- cumprod(c(1, dim))[seq_along(dim)]
  kept_before <- cumprod(c(1, ifelse(reduced, 1, dim)))[seq_along(dim)]
  number <- ifelse(reduced, stride / kept_before, kept_before)
  counts <- dim != 1
  run <- cumsum(c(TRUE, diff(reduced[counts]) != 0))[seq_len(sum(counts))]
  first <- which(counts)[!duplicated(run)]
  size <- c(stride[first][-1], prod(dim)) / stride[first]
  cbind(size = size, stride = stride[first], number = number[first], reduced = as.numeric(reduced[first]))
}

#' @export
print.axis_plan <- function(x, ...) {
  size <- format(x$dim, scientific = FALSE, trim = TRUE)
  shown <- ifelse(seq_along(size) %in% x$dims, paste0("[", size, "]"), size)
  slices <- prod(x$dim[!seq_along(x$dim) %in% x$dims])
  cli::cat_line("<axis_plan> ", paste(shown, collapse = " x "), ": ", in_digits(slices), " slices of ",
                in_digits(prod(x$dim[x$dims])), " values, ", nrow(x$runs), " runs")
  invisible(x)
}
