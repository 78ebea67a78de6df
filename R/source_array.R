# Sources for matrices of package DelayedArray, such as matrices of HDF5Array. Chunks of rows are read by their row
# numbers.

is_delayed <- function(x) inherits(x, "DelayedMatrix")

array_source <- function(x, columns = NULL, call = caller_env()) {
  need_package("DelayedArray", "A matrix of class DelayedMatrix", call)
  names <- columns %||% colnames(x)
  if (!is.character(names) || anyNA(names) || length(names) != ncol(x)) {
    stop_kernops("input", c("The {ncol(x)} column{?s} of the matrix need {cli::qty(ncol(x))}{?a name/names}.",
                            i = "{.arg columns} of {.fn gp_table} gives them."), call = call)
  }
  new_source(
    kind = paste("a matrix of class", class(x)[[1]]), columns = names, rows = as.numeric(nrow(x)),
    stamp = c(class(x)[[1]], dim(x), file_of_array(x)),
    scan = function(columns, size, visit) {
      n <- nrow(x)
      k <- match(columns, names)
      for (first in seq(1, by = size, length.out = ceiling(n / size))) {
        rows <- first:min(n, first + size - 1)
        values <- reading("the matrix", DelayedArray::extract_array(x, list(rows, k)))
        visit(list2DF(stats::setNames(lapply(seq_along(k), function(j) values[, j]), columns)))
      }
    }
  )
}

# The stamp of the file of an HDF5 matrix; NULL for other matrices.
file_of_array <- function(x) {
  path <- tryCatch(DelayedArray::path(x), error = function(e) NULL)
  if (is_string(path) && file.exists(path)) file_stamp(path)
}
