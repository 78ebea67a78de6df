# A source is an object that represents a table that is read in chunks. gp() uses sources to fit tables that are larger
# than memory.
#
# A source is a list of the arguments of new_source():
#   kind       a description of the source, for print() and messages
#   columns    the names of the columns
#   rows       the number of rows; NA if the number is only known after all rows have been read
#   stamp      strings that change if the content changes, as far as this can be detected without reading the content.
#              The stamp is part of the key of a work directory
#   scan(columns, size, visit)  calls visit(chunk) for consecutive chunks, from the first row on. A chunk is a data
#              frame with the columns `columns` and about `size` rows; any number of rows is allowed.
#   read       NULL, or read(number), which returns a chunk in any process, and NULL after the last chunk
#
# The kinds of sources are database connections and dbplyr (source_database.R), Arrow and Parquet (source_arrow.R), CSV
# files (source_csv.R), HDF5 and other delayed matrices (source_array.R), reader functions and data frames
# (source_reader.R).
new_source <- function(kind, columns, scan, rows = NA_real_, stamp = NULL, read = NULL) {
  structure(mget(names(formals())), class = "gp_table")
}

#' Tables that are read in chunks
#'
#' `gp_table()` describes a table that [gp()] reads in chunks, so that the table need not fit into memory. If
#' `gp_table()` needs no argument other than `x`, `x` can also be given directly as `data` of [gp()].
#'
#' @param x the source of the rows:
#'   * a connection of package DBI, such as those of RSQLite, duckdb and RPostgres, with `table` or `query`;
#'   * a lazy table of dbplyr;
#'   * a dataset, table or query of package arrow, such as `arrow::open_dataset("directory")`;
#'   * the path of a file: CSV (possibly compressed by gzip), read by `data.table::fread()`, or Parquet, read by package
#'     arrow;
#'   * a matrix of HDF5Array or another `DelayedMatrix` with one row for each observation;
#'   * a function that reads chunks: `x(1)`, `x(2)`, ... return consecutive chunks as data frames, and `NULL` after the
#'     last chunk. Each pass over the data begins with `x(1)` again, and a fit makes one pass;
#'   * a data frame.
#' @param table the name of a table, a string or a result of `DBI::Id()`.
#' @param query instead of `table`, a query in SQL that returns the rows.
#' @param columns the names of the columns of a matrix without column names.
#' @param parallel for a function `x`: `TRUE` if worker processes (of `future::plan()` or mirai) may call `x` for
#'   different chunks at the same time. With `TRUE`, the function may use only objects of its own environment and of
#'   packages, and must return `NULL` for each number above the number of chunks.
#' @param ... arguments of `data.table::fread()` for a CSV file, such as `sep`, `dec` and `na.strings`.
#'
#' @details The source should return the rows in the same order in each pass. The order affects estimates only through
#'   the choice of observations for starting values, and through ties of distances.
#'
#' @section Methods of fits: `fitted()`, `residuals()` and [predict()][predict.gp] without `newdata` return a value for
#'   each row of the table, and `NA` for rows that the fit omits. These functions read the files of one cell of the fit
#'   at a time (see [predict()][predict.gp]). With `filename` they write a CSV file, so that the values need not fit
#'   into memory. `summary()` and [plot()][plot.gp] show the residuals of a sample of rows. `simulate()` draws only at
#'   new points. `model.frame()`, `model.matrix()`, `weights()`, `hatvalues()`, `rstandard()`, `cooks.distance()`,
#'   [gp_cv()], [certify()], [gp_posterior()], profile intervals and [`augment()`][gp_broom] without `newdata` need all
#'   observations at once. For fits of tables, they stop with an error of class `kernops_input_error`, whose message
#'   suggests an alternative.
#'
#' @section Memory: A fit reads chunks of the table, and at most some cells of about 65,536 rows are in memory at a
#'   time. In predictions, each process has the field of one cell in memory, which takes 0.5 to 1 GB for any number of
#'   cells. `memory` of [gp_control()] limits the memory of fits and of predictions, including that of the workers on
#'   this machine.
#'
#' @section Errors: class `kernops_input_error` for a table that does not exist or cannot be read, for a required
#'   package that is not installed, and for a chunk whose columns differ from those of the first chunk.
#'
#' @aliases model.frame.gp_blocks
#' @aliases model.matrix.gp_blocks weights.gp_blocks hatvalues.gp_blocks rstandard.gp_blocks cooks.distance.gp_blocks
#' @return An object of class `gp_table`, which has a `print()` method.
#' @seealso [gp()] and its section about tables; [predict()][predict.gp].
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write.csv(datasets::quakes, path, row.names = FALSE)
#' if (requireNamespace("data.table", quietly = TRUE)) gp_table(path)
#' # a function that makes three chunks of 100 rows
#' gp_table(function(chunk) if (chunk <= 3) data.frame(x = (chunk - 1) * 100 + 1:100, z = 0))
#' if (requireNamespace("RSQLite", quietly = TRUE)) {
#'   con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
#'   DBI::dbWriteTable(con, "quakes", datasets::quakes)
#'   print(gp_table(con, "quakes"))
#'   print(gp_table(con, query = "SELECT long, lat, mag FROM quakes WHERE depth < 100"))
#'   DBI::dbDisconnect(con)
#' }
#' @export
gp_table <- function(x, table = NULL, query = NULL, columns = NULL, parallel = FALSE, ...) {
  takes <- c(table = !is.null(table), query = !is.null(query), columns = !is.null(columns),
             parallel = !isFALSE(parallel), ... = ...length() > 0)
  check_table_arguments(x, names(takes)[takes])
  if (inherits(x, "gp_table")) return(x)
  if (inherits(x, "DBIConnection")) return(database_source(x, table, query))
  if (inherits(x, "tbl_sql")) return(lazy_table_source(x))
  if (is_arrow(x)) return(arrow_source(x))
  if (is_string(x)) return(file_source(x, ...))
  if (is_delayed(x)) return(array_source(x, columns))
  if (is.function(x)) return(reader_source(x, check_flag(parallel, "parallel")))
  frame_source(x)
}

# TRUE for data that gp() and predict() read in chunks.
is_table <- function(x) {
  inherits(x, c("gp_table", "DBIConnection", "tbl_sql")) || is_arrow(x) || is_delayed(x) || is_string(x) ||
    is.function(x)
}

# Checks that the user gave no arguments of gp_table() that this kind of source does not use.
check_table_arguments <- function(x, used, call = caller_env()) {
  known <- inherits(x, "DBIConnection") || is_table(x) || is.data.frame(x)
  if (!known) {
    stop_kernops("input", paste0("{.arg x} must be a table, such as a connection of {.pkg DBI} or the path of a file,
                                  not ", shown(x), "."), call = call)
  }
  takes <- if (inherits(x, "DBIConnection")) c("table", "query") else if (is_delayed(x)) "columns" else
    if (is_string(x) && !is_parquet(x)) "..." else if (is.function(x)) "parallel"
  odd <- setdiff(used, takes)
  if (!length(odd)) return(invisible())
  stop_kernops("input", "A table of class {.cls {class(x)}} takes no argument {.arg {odd}}.", call = call)
}

#' @export
print.gp_table <- function(x, ...) {
  rows <- if (is.na(x$rows)) "an unknown number of rows" else counted(format(x$rows, big.mark = ","), "row")
  cli::cat_line("<gp_table> ", x$kind, ", ", rows)
  cat_labelled("columns", x$columns, ",")
  invisible(x)
}

# Calls visit(chunk) for all chunks of the source, after the columns of the source and of each chunk are checked.
scan_source <- function(source, columns, size, visit, call = caller_env()) {
  lacking <- setdiff(columns, source$columns)
  if (length(lacking)) {
    stop_kernops("input", "The table has no column {.code {lacking}}.", call = call)
  }
  source$scan(columns, size, function(chunk) {
    if (!is.data.frame(chunk) || !all(columns %in% names(chunk))) {
      stop_kernops("input", "Each chunk of the table must be a data frame with the columns {.code {columns}}.",
                   call = call)
    }
    visit(as.data.frame(chunk)[columns])
  })
}

# Evaluates code that reads a source. Errors of other packages are raised again as errors of class
# `kernops_input_error`.
reading <- function(what, code, call = caller_env()) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "kernops_error")) rlang::cnd_signal(e)
    stop_kernops("input", "{what} cannot be read: {conditionMessage(e)}", call = call)
  })
}
