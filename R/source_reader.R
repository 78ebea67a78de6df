# Sources that are R objects: functions that return chunks, and data frames.

reader_source <- function(read, parallel = FALSE, call = caller_env()) {
  chunk_of <- chunk_reader(read)
  first <- chunk_of(1)
  if (!is.data.frame(first)) {
    stop_kernops("input", "The function must return a data frame for the first chunk, not
                           {.obj_type_friendly {first}}.", call = call)
  }
  new_source(
    kind = "a function", columns = names(first), stamp = c(deparse(read), names(first), nrow(first)),
    scan = function(columns, size, visit) {
      number <- 1
      while (!is.null(chunk <- chunk_of(number))) {
        check_chunk(chunk, columns, number)
        visit_rows(chunk, size, visit)
        number <- number + 1
      }
    },
    read = if (parallel) chunk_of
  )
}

# Returns a function that calls the user's function `read`. The environment of the result contains only `read`, because
# the environment is sent to other processes.
chunk_reader <- function(read) {
  force(read)
  function(number) reading("the table", read(number))
}

check_chunk <- function(chunk, columns, number, call = caller_env()) {
  if (is.data.frame(chunk) && all(columns %in% names(chunk))) return(invisible())
  stop_kernops("input", "Chunk {number} of the table must be a data frame with the columns {.code {columns}}.",
               call = call)
}

frame_source <- function(x) {
  new_source(kind = "a data frame", columns = names(x), rows = as.numeric(nrow(x)), stamp = rlang::hash(x),
             scan = function(columns, size, visit) visit_rows(x, size, visit))
}
