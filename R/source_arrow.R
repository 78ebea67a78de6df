# Sources that package arrow reads: datasets, tables, queries on datasets and tables, and Parquet files.

is_arrow <- function(x) inherits(x, c("Dataset", "ArrowTabular", "arrow_dplyr_query"))

is_parquet <- function(x) is_string(x) && grepl("[.](parquet|pq)$", x, ignore.case = TRUE)

arrow_source <- function(x, kind = "data of Arrow", stamp = NULL) {
  new_source(kind = kind, columns = names(x), rows = as.numeric(nrow(x)), stamp = c(stamp, names(x), nrow(x)),
             scan = function(columns, size, visit) scan_batches(arrow_batches(x, columns), size, visit))
}

parquet_source <- function(path, call = caller_env()) {
  need_package("arrow", "A Parquet file", call)
  arrow_source(reading(path, arrow::open_dataset(path), call), paste("Parquet,", path), file_stamp(path))
}

# A RecordBatchReader for the given columns, which reads the next batches in advance.
arrow_batches <- function(x, columns) {
  need_package("arrow", "Data of Arrow")
  reading("the data of Arrow", arrow::Scanner$create(x, projection = columns)$ToRecordBatchReader())
}

# Calls visit() for the batches of a reader, divided into chunks of at most `size` rows. The function read_next_batch()
# returns NULL at the end.
scan_batches <- function(reader, size, visit) {
  repeat {
    batch <- reading("the data of Arrow", {
      batch <- reader$read_next_batch()
      if (!is.null(batch)) as.data.frame(batch)
    })
    if (is.null(batch)) break
    visit_rows(batch, size, visit)
  }
}

# Calls visit() for consecutive rows of a data frame, at most `size` at a time.
visit_rows <- function(frame, size, visit) {
  n <- nrow(frame)
  if (n <= size) return(if (n) visit(frame))
  for (first in seq(1, n, by = size)) visit(frame[first:min(n, first + size - 1), , drop = FALSE])
}
