# Files in a work directory.

test_that("rows and objects that are read agree with those that were written", {
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

test_that("a stage of the computation is computed once", {
  store <- new_store(withr::local_tempdir(), "key")
  count <- 0
  compute <- function() count <<- count + 1
  expect_identical(stage_of(store, "a", compute), 1)
  expect_identical(stage_of(store, "a", compute), 1)
  expect_identical(stage_of(store, "b", compute), 2)
  expect_error(stage_of(store, "c", function() stop("no")), "no")
  expect_false(file.exists(in_store(store, "c")))
})

# Returns a function that writes files like a disk with space for `bytes` more bytes. Further bytes are lost without an
# error, as on a full disk with buffered writes; if `fails` is TRUE, writing them is an error.
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

test_that("a full disk is an error with a class, and no files are left", {
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

test_that("predictions on a full disk leave no files", {
  fit <- fit_of_table(table_data(300))
  before <- list.files(tempdir(), "^kernops-")
  replaced_locally(put_bytes = full_disk(100, FALSE))
  expect_error(predict(fit, gp_table(table_data(50))), class = "kernops_disk_error")
  expect_identical(list.files(tempdir(), "^kernops-"), before)
})

# Mounts a file system of `size` megabytes, and returns its path.
small_file_system <- function(size, frame = parent.frame()) {
  skip_on_os(c("windows", "mac", "solaris"))
  path <- withr::local_tempdir(.local_envir = frame)
  arguments <- c("-t", "tmpfs", "-o", paste0("size=", size, "m"), "tmpfs", path)
  status <- suppressWarnings(system2("mount", arguments, stdout = FALSE, stderr = FALSE))
  skip_if(status != 0, "a file system of a limited size can be mounted by root alone")
  withr::defer(system2("umount", c("-l", path)), frame)
  path
}

# Writes a file that leaves `left` bytes of a file system of `size` megabytes.
fill_file_system <- function(path, size, left) writeBin(raw(size * 2^20 - left), file.path(path, "filler"))

test_that("on a full file system, fits, predictions and maps are errors and leave no files", {
  small <- small_file_system(4)
  d <- table_data(1500)
  needed <- sum(file.size(list.files(fit_of_table(d, workdir = small)$blocks$store$path, full.names = TRUE)))
  unlink(list.files(small, full.names = TRUE), recursive = TRUE)
  for (share in c(0.05, 0.3, 0.6, 0.9)) {
    fill_file_system(small, 4, share * needed)
    expect_error(fit_of_table(d, workdir = small), "disk may be full", class = "kernops_disk_error")
    expect_identical(list.files(small), "filler")
  }
  unlink(file.path(small, "filler"))
  fit <- fit_of_table(d, workdir = small)
  before <- list.files(small, recursive = TRUE)
  fill_file_system(small, 4, needed + 3e4)
  expect_error(predict(fit, gp_table(table_data(1000)), se.fit = TRUE), class = "kernops_disk_error")
  expect_setequal(list.files(small, recursive = TRUE), c(before, "filler"))
  skip_if_not_installed("terra")
  map <- terra::rast(nrows = 70, ncols = 70, xmin = 0, xmax = 1, ymin = 0, ymax = 1, vals = 1, names = "w")
  unlink(file.path(small, "filler"))
  fill_file_system(small, 4, needed + 1.2e5)
  expect_error(predict(fit, map, filename = file.path(small, "map.tif"), what = "fit"), class = "kernops_error")
  expect_setequal(grep("map.tif.part", list.files(small, recursive = TRUE), value = TRUE, invert = TRUE),
                  c(before, "filler"))
})

test_that("a work directory that cannot be created is an error", {
  path <- withr::local_tempfile()
  writeLines("a file", path)
  expect_error(new_store(path, "key"), class = "kernops_disk_error")
})

test_that("an error in the computation of a value is not reported as a disk error", {
  path <- withr::local_tempfile()
  expect_error(write_object(path, stop("not a number")), "^not a number$")
})

test_that("the random sample of a table is independent of rows that were simulated after set.seed()", {
  set.seed(1)
  x <- runif(4000)
  scan <- scan_table(gp_table(data.frame(x = x)), "x", ~ x, 1000, seed = 1, max_rows = 400)
  expect_lt(abs(mean(scan$sample$x) - 0.5), 5 * sqrt(1 / 12 / 400))
})
