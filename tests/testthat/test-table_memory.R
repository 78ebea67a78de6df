# The memory of fits of tables and of their predictions, for all processes together.

test_that("workers share the memory that this process leaves", {
  expect_identical(workers_within(NULL, 1e9), Inf)
  for (memory in c(1e9, 4e9, 1e10)) for (each in c(1e8, 1e9, 5e9)) for (main in c(0, 5e8)) {
    count <- workers_within(memory, each, main)
    alone <- bytes_of_r + main + each <= memory
    expect_identical(count > 0, alone)
    if (count > 1) expect_lte(bytes_of_r + main + count * (bytes_of_r + each), memory)
    if (alone) expect_gt(bytes_of_r + main + max(2, count + 1) * (bytes_of_r + each), memory)
  }
})

test_that("the workers of a fit and the units kept in memory need at most `memory` bytes", {
  pilot <- list(data = list(u = matrix(0, 1, 2), x = matrix(0, 1, 2)))
  processes <- 20
  replaced_locally(worker_count = function() processes)
  expect_identical(limits_of_fit(NULL, 1e7, pilot, 30, "cpu"), list(workers = Inf, units = Inf))
  for (memory in c(1e9, 2e9, 8e9, 3.2e10)) for (n in c(1e5, 1e7, 1e8)) {
    parts <- memory_of_fit(n, pilot, 30)
    limits <- limits_of_fit(memory, n, pilot, 30, "cpu")
    running <- min(limits$workers, processes)
    # only this process computes, a case that check_table_memory() checks
    if (limits$workers == 1 && limits$units == 0) next
    used <- bytes_of_r + parts$heads + parts$task + if (running > 1) running * bytes_of_r + (running - 1) * parts$task
                                                    else 0
    expect_lte(used + limits$units * parts$unit, memory)
    expect_gt(used + (limits$units + 1) * parts$unit, memory)
  }
  # a process that uses a GPU needs more memory
  expect_lt(limits_of_fit(1.6e10, 1e8, pilot, 30, "cuda")$workers, limits_of_fit(1.6e10, 1e8, pilot, 30, "cpu")$workers)
})

test_that("the tasks of a likelihood run in at most as many workers as the fit may use", {
  small_cells()
  fit <- fit_of_table(table_data(1200))
  kind <- list(model = fit$model, precision = "float64", backend = "cpu")
  sums <- function() sums_of_units(fit$blocks, seq_along(fit$blocks$units), kind, fit$theta, Inf, TRUE)
  expected <- sums()
  replaced_locally(worker_pool = function() stop("workers"))
  expect_error(sums(), "workers")
  fit$blocks$limits <- list(workers = 1, units = 0)
  expect_identical(sums(), expected)
})

test_that("the number of records of a field is estimated from the boxes of cells", {
  small_cells(1000)
  fit <- fit_of_table(table_data(8000))
  blocks <- fit_for_tasks(fit)$blocks
  cells <- seq_along(blocks$rows)
  counted <- vapply(cells, function(k) nrow(records_of_field(blocks, k, 10)), 0L)
  about <- records_near_cells(blocks, cells, 10)
  expect_gt(min(about / counted), 0.8)
  expect_lt(max(about / counted), 1.5)
})

test_that("predictions respect the bound `memory`, which does not change their digits", {
  small_cells()
  fit <- fit_of_table(table_data(1200))
  new <- table_data(100, seed = 2)[c("x", "y", "w")]
  columns <- function(...) predict(fit, new, se.fit = TRUE, ...)
  expected <- columns()
  replaced_locally(worker_pool = function() stop("this process alone"))
  expect_error(columns(), "this process alone")
  expect_error(columns(control = list(memory = "100 GB")), "this process alone")
  expect_identical(columns(control = list(memory = 4e8)), expected)
  fit$how$control$memory <- 1e8
  expect_error(columns(), "need about", class = "kernops_memory_error")
  expect_error(predict(fit, gp_table(new)), "need about", class = "kernops_memory_error")
  expect_error(predict(fit), "need about", class = "kernops_memory_error")
  expect_error(columns(control = list(neighbours = 20)), "need about", class = "kernops_memory_error")
  expect_identical(columns(control = list(memory = "400 MB")), expected)
  expect_error(columns(joint = FALSE), "this process alone")
})

# Peaks of the memory of another process, in kB: at the start, and after predictions in the first `cells` cells.
peaks_of_predictions <- function(fit, d, cells) {
  folder <- withr::local_tempdir()
  files <- file.path(folder, c("script.R", "in.rds", "out.rds"))
  saveRDS(list(fit = fit, d = d, cells = cells), files[[2]])
  body <- bquote({
    .libPaths(.(.libPaths()))
    suppressMessages(library(kernops))
    inner <- asNamespace("kernops")
    given <- readRDS(.(files[[2]]))
    blocks <- given$fit$blocks
    row_in <- function(k) inner$read_rows(inner$in_store(blocks$store, "cell-", k), blocks$columns, 0, 1)[[1]]
    rows <- vapply(seq_along(blocks$rows), row_in, 0)
    peak <- function(name = "VmHWM") {
      as.numeric(gsub("[^0-9]", "", grep(name, readLines("/proc/self/status"), value = TRUE)))
    }
    gc()
    peaks <- peak("VmRSS")
    for (count in given$cells) {
      predict(given$fit, given$d[rows[seq_len(count)], ], se.fit = TRUE)
      peaks <- c(peaks, peak())
    }
    saveRDS(peaks, .(files[[3]]))
  })
  writeLines(deparse(body), files[[1]])
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", files[[1]]), env = "R_TESTS=", stdout = FALSE,
          stderr = FALSE)
  readRDS(files[[3]])
}

test_that("the memory of predictions does not grow with the number of cells", {
  skip_on_cran()
  skip_if_not(file.exists("/proc/self/status"), "the peak of the memory of a process is in /proc")
  skip_if(nzchar(Sys.getenv("ASAN_OPTIONS")), "AddressSanitizer keeps freed memory")
  skip_if_not_in_library()
  replaced_locally(cell_rows = 12500)
  d <- table_data(1e5)
  fit <- fit_of_table(d, neighbours = 20, workdir = withr::local_tempdir())
  expect_length(fit$blocks$rows, 8)
  peaks <- peaks_of_predictions(fit, d, c(2, 8))
  expect_gt(peaks[[2]] - peaks[[1]], 5e4) # a field has more than 50 MB
  expect_lt(peaks[[3]] - peaks[[1]], 1.5 * (peaks[[2]] - peaks[[1]]))
})
