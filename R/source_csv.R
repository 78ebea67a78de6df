# Sources for files. A CSV file is divided into blocks of bytes, which data.table::fread() parses. Therefore the time is
# linear in the size of the file, and the memory does not depend on the size.

file_source <- function(path, ..., call = caller_env()) {
  if (!file.exists(path)) stop_kernops("input", "There is no file {.file {path}}.", call = call)
  if (is_parquet(path) || dir.exists(path)) return(parquet_source(path, call))
  need_package("data.table", "A CSV file", call)
  settings <- list(...)
  first <- NULL
  # the first lines determine the names of columns, and which columns are strings
  scan_csv(path, 1e4, settings, NULL, function(chunk) {
    first <<- chunk
    FALSE
  })
  if (is.null(first)) stop_kernops("input", "The file {.file {path}} is empty.", call = call)
  layout <- list(names = names(first), strings = names(first)[vapply(first, is.character, NA)])
  new_source(
    kind = paste("CSV,", path), columns = layout$names, stamp = file_stamp(path),
    scan = function(columns, size, visit) {
      scan_csv(path, size, c(settings, list(select = match(columns, layout$names))), layout, function(chunk) {
        visit(chunk)
        TRUE
      })
    }
  )
}

file_stamp <- function(path) {
  about <- file.info(path)
  c(normalizePath(path), about$size, as.numeric(about$mtime))
}

# Calls visit(chunk) for chunks of about `size` rows, until visit() returns FALSE. `layout` has the names of the
# columns, and the names of the columns of strings; it is NULL while the layout is being determined.
scan_csv <- function(path, size, settings, layout, visit) {
  con <- reading(path, gzfile(path, "rb"))
  on.exit(close(con))
  rest <- raw()
  begins <- TRUE
  repeat {
    bytes <- readBin(con, "raw", 64 * size)
    at_end <- !length(bytes)
    bytes <- c(rest, bytes)
    end <- if (at_end) length(bytes) else end_of_records(bytes)
    rest <- bytes[seq_len(length(bytes) - end) + end]
    if (end > 0) {
      header <- begins && !is.null(layout)
      chunk <- reading(path, read_records(bytes[seq_len(end)], settings, layout, header))
      begins <- FALSE
      if (nrow(chunk) && !visit(chunk)) break
    }
    if (at_end) break
  }
}

# Parses the bytes of complete records. If the layout is known, `header` is TRUE for the first bytes of the file, which
# contain the names of the columns.
read_records <- function(bytes, settings, layout, header) {
  # without a newline, fread() would treat text as the name of a file
  if (bytes[[length(bytes)]] != as.raw(10L)) bytes <- c(bytes, as.raw(10L))
  text <- list(text = rawToChar(bytes), data.table = FALSE, showProgress = FALSE)
  if (is.null(layout)) return(do.call(data.table::fread, c(text, settings)))
  chosen <- layout$names[settings$select]
  strings <- match(intersect(layout$strings, chosen), layout$names)
  named <- list(header = header, colClasses = if (length(strings)) list(character = strings))
  chunk <- do.call(data.table::fread, c(text, settings, Filter(Negate(is.null), named)))
  strings <- vapply(chunk, is.character, NA)
  # fread() does not convert doubled quotation marks to single ones
  chunk[strings] <- lapply(chunk[strings], function(x) gsub("\"\"", "\"", x, fixed = TRUE))
  stats::setNames(chunk, chosen)
}

# The position of the last newline outside of quotation marks, where the last complete record ends; 0 if no record is
# complete.
end_of_records <- function(bytes) {
  newline <- which(bytes == as.raw(10L))
  if (!length(newline)) return(0)
  quotes <- which(bytes == as.raw(34L))
  outside <- if (length(quotes)) findInterval(newline, quotes) %% 2 == 0 else rep(TRUE, length(newline))
  max(0, newline[outside])
}
