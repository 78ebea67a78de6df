# Operations on matrices with a row for each observation. These functions use all threads and do not copy columns, so
# that a million rows take milliseconds. The corresponding functions of base R would allocate and write the matrix
# several times.

# A 2 x d matrix with the minimum and the maximum of each column of a matrix, or of a vector; Inf and -Inf if there are
# no values.
column_ranges <- function(x) columns_ranges(x, threads())

# The extent of each column, its maximum minus its minimum.
column_extents <- function(x) {
  ranges <- column_ranges(x)
  ranges[2, ] - ranges[1, ]
}

# The largest absolute value of each column.
column_sizes <- function(x) apply(abs(column_ranges(x)), 2, max)

# The indices of the columns with an entry that is not finite.
columns_with_gaps <- function(x) columns_not_finite(x, threads())

# The columns x[, columns, drop = FALSE], or x itself if all columns are chosen.
chosen_columns <- function(x, columns) {
  if (length(columns) == ncol(x) && all(columns == seq_len(ncol(x)))) x else x[, columns, drop = FALSE]
}

# The matrix (x - shift) / divisor * factor for the chosen columns, without names.
moved_columns <- function(x, columns = seq_len(ncol(x)), shift = 0, divisor = 1, factor = 1) {
  each <- function(values) rep_len(as.numeric(values), length(columns))
  columns_moved(x, columns, each(shift), each(divisor), each(factor), threads())
}

# The chosen rows of a matrix, or the chosen elements of a vector, without names.
gathered_rows <- function(x, rows) columns_rows(x, rows, threads())

# The matrix that qr.Q() returns for a result of qr() with full rank; the two matrices are bit-identical.
orthonormal_columns <- function(decomposed) columns_orthonormal(decomposed$qr, decomposed$qraux, threads())

# For each row, the index of the first row with the same values. If `digits` is positive, values are equal if they agree
# after rounding to this number of significant digits.
first_rows <- function(x, digits = 0) columns_first_rows(x, digits, threads())

# The indices of evenly spaced rows among n rows; at most `max_rows` indices.
spaced_rows <- function(n, max_rows) unique(round(seq(1, n, length.out = min(n, max_rows))))
