# Files of a work directory.

test_that("rows and objects are read as they were written", {
  store <- new_store(NULL, "key")
  path <- in_store(store, "rows")
  a <- matrix(rnorm(12), 4, dimnames = list(NULL, c("a", "b", "c")))
  append_rows(path, a)
  append_rows(path, a[2:1, ])
  all <- rbind(a, a[2:1, ])
  expect_identical(read_rows(path, c("a", "b", "c")), all)
  expect_identical(read_rows(path, c("a", "b", "c"), skip = 1, count = 3), all[2:4, ])
  expect_identical(read_rows(path, c("a", "b", "c"), skip = 5, count = 3), all[6, , drop = FALSE])
  x <- list(1:3, "text", a)
  write_object(in_store(store, "x"), x)
  expect_identical(read_object(in_store(store, "x")), x)
  expect_false(any(grepl("part", list.files(store$path))))
})

test_that("a stage is computed once", {
  store <- new_store(withr::local_tempdir(), "key")
  count <- 0
  compute <- function() count <<- count + 1
  expect_identical(stage_of(store, "a", compute), 1)
  expect_identical(stage_of(store, "a", compute), 1)
  expect_identical(stage_of(store, "b", compute), 2)
  expect_error(stage_of(store, "c", function() stop("no")), "no")
  expect_false(file.exists(in_store(store, "c")))
})

# A disk with space for some bytes: further bytes are lost without an error, as on a full disk with buffered writes, or
# with an error.
full_disk <- function(bytes, fails) {
  left <- bytes
  function(path, x, mode) {
    con <- file(path, mode)
    on.exit(close(con))
    writeBin(x[seq_len(min(length(x), left))], con)
    if (length(x) > left && fails) stop("No space left on device")
    left <<- max(0, left - length(x))
  }
}

test_that("a disk that is full is an error with a class, and nothing is left behind", {
  small_cells()
  d <- table_data(1500)
  workdir <- withr::local_tempdir()
  fit_on_full_disk <- function(bytes, fails) {
    replaced_locally(put_bytes = full_disk(bytes, fails))
    fit_of_table(d, workdir = workdir)
  }
  for (fails in c(FALSE, TRUE)) for (bytes in c(1e3, 1e5, 2e5, 3e5)) {
    expect_error(fit_on_full_disk(bytes, fails), "disk may be full", class = "kernops_disk_error")
    expect_length(list.files(workdir), 0)
  }
})

test_that("predictions on a disk that is full leave nothing behind", {
  fit <- fit_of_table(table_data(300))
  before <- list.files(tempdir(), "^kernops-")
  replaced_locally(put_bytes = full_disk(100, FALSE))
  expect_error(predict(fit, gp_table(table_data(50))), class = "kernops_disk_error")
  expect_identical(list.files(tempdir(), "^kernops-"), before)
})

test_that("a work directory that cannot be made is an error", {
  path <- withr::local_tempfile()
  writeLines("a file", path)
  expect_error(new_store(path, "key"), class = "kernops_disk_error")
})

test_that("an error of a value is not one of the disk", {
  path <- withr::local_tempfile()
  expect_error(write_object(path, stop("not a number")), "^not a number$")
})
