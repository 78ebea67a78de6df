# Tables that are read in chunks, against the data frame that was written.

written <- function(n = 2500) {
  withr::local_seed(1)
  d <- data.frame(x = runif(n), y = round(rnorm(n), 3), k = seq_len(n),
                  s = sample(c("a", "b,c", "d\"e", "f\ng", NA), n, TRUE))
  d$y[[3]] <- NA
  d
}

# Reads all chunks of a source, and counts the chunks.
read_all <- function(source, columns = source$columns, size = 100) {
  chunks <- list()
  scan_source(source, columns, size, function(chunk) chunks[[length(chunks) + 1]] <<- chunk)
  list(rows = `rownames<-`(do.call(rbind, chunks), NULL), sizes = vapply(chunks, nrow, 0L))
}

expect_reads <- function(source, d, size = 100, most = size) {
  expect_identical(source$columns, names(d))
  all <- read_all(source, size = size)
  expect_equal(all$rows, d)
  expect_lte(max(all$sizes), most)
  expect_gt(length(all$sizes), 3)
  some <- rev(names(d))[1:2]
  expect_equal(read_all(source, some)$rows, d[some])
}

test_that("a data frame and a function are read in chunks", {
  d <- written()
  expect_reads(gp_table(d), d)
  reader <- function(chunk) if (chunk <= 10) d[(chunk - 1) * 250 + 1:250, ]
  expect_reads(gp_table(reader), d)
  expect_identical(gp_table(d)$rows, 2500)
  expect_identical(gp_table(gp_table(d)), gp_table(d))
})

test_that("a CSV file is read in pieces that end between records", {
  skip_if_not_installed("data.table")
  d <- written()
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(d, path, row.names = FALSE)
  expect_reads(gp_table(path), d, most = 2500)
  data.table::fwrite(d, path, sep = ";", dec = ",", na = "NA")
  expect_reads(gp_table(path, sep = ";", dec = ","), d, most = 2500)
  packed <- withr::local_tempfile(fileext = ".csv.gz")
  data.table::fwrite(d, packed, na = "NA")
  expect_reads(gp_table(packed), d, most = 2500)
  # no newline at the end, and a column that begins with integers
  writeLines(c("a,b", "1,2", "3,4.5"), path)
  writeBin(charToRaw("a,b\n1,2\n3,4.5"), path)
  expect_equal(read_all(gp_table(path), size = 0.1)$rows, data.frame(a = c(1, 3), b = c(2, 4.5)))
})

test_that("tables, queries and lazy tables of a database are read in chunks", {
  skip_if_not_installed("RSQLite")
  skip_if_not_installed("DBI")
  d <- written()
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "a table", d)
  expect_reads(gp_table(con, "a table"), d)
  few <- d[d$k > 500, ]
  expect_reads(gp_table(con, query = "SELECT * FROM `a table` WHERE k > 500;"), `rownames<-`(few, NULL))
  expect_identical(gp_table(con, "a table")$rows, 2500)
  skip_if_not_installed("dbplyr")
  skip_if_not_installed("dplyr")
  expect_reads(gp_table(dplyr::filter(dplyr::tbl(con, "a table"), k > 500)), `rownames<-`(few, NULL))
})

test_that("HDF5 matrices are read in chunks", {
  skip_if_not_installed("HDF5Array")
  d <- written()[c("x", "k")]
  values <- HDF5Array::writeHDF5Array(as.matrix(d), withr::local_tempfile(fileext = ".h5"))
  source <- gp_table(values, columns = c("x", "k"))
  all <- read_all(source)
  expect_equal(all$rows, d)
  expect_identical(max(all$sizes), 100L)
  expect_equal(read_all(source, "k")$rows, d["k"])
})

# An object with those functions of arrow::RecordBatchReader that scan_batches() calls.
batch_reader <- function(d, size) {
  first <- 1
  list(read_next_batch = function() {
    if (first > nrow(d)) return(NULL)
    batch <- d[first:min(nrow(d), first + size - 1), , drop = FALSE]
    first <<- first + size
    batch
  })
}

test_that("Arrow batches are read in chunks, by a substitute for the reader of package arrow", {
  d <- written()
  replaced_locally(arrow_batches = function(x, columns) {
    batch_reader(structure(x, class = "data.frame")[columns], 700)
  })
  x <- structure(d, class = c("ArrowTabular", "data.frame"))
  expect_reads(arrow_source(x), d)
  expect_true(is_table(x))
})

test_that("Parquet files and datasets of Arrow are read in chunks", {
  skip_if_not_installed("arrow")
  d <- written()
  path <- withr::local_tempfile(fileext = ".parquet")
  arrow::write_parquet(d, path)
  expect_reads(gp_table(path), d)
  expect_reads(gp_table(arrow::arrow_table(d)), d)
})

test_that("a table that cannot be read is an error with a class", {
  expect_error(gp_table(1), class = "kernops_input_error")
  expect_error(gp_table("no file.csv"), "There is no file", class = "kernops_input_error")
  expect_error(gp_table(data.frame(a = 1), table = "a"), "takes no argument", class = "kernops_input_error")
  expect_error(gp_table(function(chunk) 1), "must return a data frame", class = "kernops_input_error")
  expect_error(gp_table(function(chunk) stop("oops")), "cannot be read: oops", class = "kernops_input_error")
  expect_error(read_all(gp_table(data.frame(a = 1)), "b"), "no column `b`", class = "kernops_input_error")
  changing <- gp_table(function(chunk) if (chunk == 1) data.frame(a = 1, b = 1) else data.frame(a = 1))
  expect_error(read_all(changing), "Chunk 2", class = "kernops_input_error")
})

test_that("databases that cannot be read are errors", {
  skip_if_not_installed("RSQLite")
  skip_if_not_installed("DBI")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  expect_error(gp_table(con), "either", class = "kernops_input_error")
  expect_error(gp_table(con, "none"), "cannot be read", class = "kernops_input_error")
})

test_that("print() shows kind, rows and columns", {
  expect_snapshot(print(gp_table(data.frame(x = 1:3, y = 2))))
  expect_snapshot(print(gp_table(function(chunk) if (chunk == 1) data.frame(x = 1))))
})
