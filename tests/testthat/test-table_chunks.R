# Chunks of a table in files: reading by workers, and conversion to records in other processes.

# Returns a function that reads the table d: for each chunk number, it returns the 250 rows of the chunk, and NULL after
# the last chunk.
table_in_chunks <- function(d) {
  force(d)
  function(number) {
    rows <- (number - 1) * 250 + seq_len(250)
    if (rows[[1]] <= nrow(d)) d[rows[rows <= nrow(d)], ]
  }
}

test_that("the number of rows and the sample do not depend on the process that reads, or on the division into files", {
  d <- table_data(1110)
  d$kind[[1001]] <- "rare"
  scan_of <- function(...) {
    store <- new_store(NULL, "key")
    scan <- scan_table(gp_table(...), names(d), z ~ kind, 1e5, seed = 1, store, max_rows = 100)
    saved <- lapply(seq_along(scan$first), function(k) read_object(in_store(store, "chunks-", k)))
    expect_identical(do.call(rbind, do.call(c, saved)), d)
    scan[c("n", "sample")]
  }
  expected <- scan_table(gp_table(d), names(d), z ~ kind, 1e5, seed = 1, max_rows = 100)[c("n", "sample")]
  expect_identical(expected$n, 1110)
  expect_identical(nrow(expected$sample), 100L)
  expect_true("rare" %in% expected$sample$kind)
  expect_identical(scan_of(d), expected)
  expect_identical(scan_of(table_in_chunks(d)), expected)
  expect_identical(scan_of(table_in_chunks(d), parallel = TRUE), expected)
  replaced_locally(file_rows = 300)
  expect_identical(scan_of(table_in_chunks(d)), expected)
})

test_that("fits with rows read by workers have the same digits as fits with rows read by this process", {
  skip_if_not_installed("future")
  skip_if_not_installed("future.apply")
  small_cells()
  replaced_locally(file_rows = 200)
  read <- table_in_chunks(table_data(1200))
  results <- function(parallel) {
    fit <- gp(z ~ w + kind, gp_table(read, parallel = parallel), ~ x + y, known_covariance(), weights = weight,
              estimate = "none", neighbours = 10)
    list(fit$blocks$heads, fit$blocks$rows, fit$loglik, fit$beta)
  }
  expected <- results(FALSE)
  expect_identical(results(TRUE), expected)
  before <- future::plan("multisession", workers = 2)
  withr::defer(future::plan(before))
  expect_identical(results(FALSE), expected)
  expect_identical(results(TRUE), expected)
  failing <- function(number) if (number < 3) read(number) else stop("no such chunk")
  expect_error(gp(z ~ w, gp_table(failing, parallel = TRUE), ~ x + y, known_covariance(), estimate = "none"),
               "no such chunk", class = "kernops_input_error")
})

test_that("only expressions of columns and of functions of R are evaluated in other processes", {
  twice <- function(x) 2 * x
  portable <- function(formula) is_portable(formula, environment(formula), c("x", "z"))
  expect_true(portable(z ~ x + I(x^2) + log(x) * stats::poly(x, 2)))
  expect_true(portable(z ~ .))
  expect_true(portable(z ~ splines::ns(x, df = 3) + TRUE))
  expect_false(portable(z ~ twice(x)))
  expect_false(portable(z ~ x + y))
  log <- function(x) x
  expect_false(portable(z ~ log(x)))
})

test_that("rows with functions of the user are converted in this process, with the same result", {
  small_cells()
  d <- table_data(900)
  twice <- function(x) 2 * x
  fit <- fit_of_table(d, z ~ twice(w))
  expect_equal(fit$loglik, fit_of_table(d, z ~ w)$loglik)
  expect_equal(2 * fit$beta[[2]], fit_of_table(d, z ~ w)$beta[[2]])
})

test_that("an error in a row names the row of the table, whichever file has it", {
  replaced_locally(file_rows = 200)
  d <- table_data(700)
  d$z[c(555, 650)] <- Inf
  for (chunk in c(100, 250)) {
    expect_error(fit_of_table(d), "must be finite: see row", class = "kernops_input_error")
  }
  error <- tryCatch(gp(z ~ w, table_in_chunks(d), ~ x + y, known_covariance(), estimate = "none"), error = identity)
  expect_match(conditionMessage(error), "555 and 650")
})

test_that("a cell uses the first heads, and all heads whose distance from its box is at most the length of the box", {
  small_cells()
  fit <- fit_of_table(table_data(3000))
  blocks <- fit$blocks
  tasks <- blocks_for_units(blocks)
  near <- blocks$head_near()
  for (k in which(blocks$rows > blocks$first)) {
    box <- box_of_cell(blocks, k)
    gaps <- pmax(t(box[1, ] - t(near)), t(t(near) - box[2, ]), 0)
    chosen <- sqrt(rowSums(gaps^2)) <= max(box[2, ] - box[1, ])
    chosen[seq_len(max(blocks$first))] <- TRUE
    expect_identical(heads_near_cell(tasks, k), blocks$heads[chosen, , drop = FALSE])
  }
  expect_true(any(!chosen))
})

test_that("typical records in memory agree with typical records that are read from the files", {
  small_cells()
  replaced_locally(typical_heads = 500)
  fit <- fit_of_table(table_data(8000))
  blocks <- fit$blocks
  expect_gt(nrow(blocks$typical), 500)
  expect_identical(typical_records(blocks), typical_records(replace(blocks, "typical", list(NULL))))
})

test_that("tasks that convert rows do not contain the sample of the table or the environment of the user", {
  large <- rnorm(1e6)
  replaced_locally(pilot_for_tasks = local({
    original <- pilot_for_tasks
    function(pilot) {
      trimmed <- original(pilot)
      expect_lt(length(serialize(trimmed, NULL)), 1e5)
      trimmed
    }
  }))
  fit_of_table(table_data(5000), z ~ w + kind)
})

test_that("workers share the cores of their machine, unless the number of threads is set", {
  withr::local_options(kernops.threads = NULL)
  withr::local_envvar(KERNOPS_THREADS = NA, OMP_THREAD_LIMIT = NA, "_R_CHECK_LIMIT_CORES_" = NA)
  replaced_locally(default_threads = function() 16L)
  threads_in <- function(count, host) unlist(shared_tasks(1, function(k) threads(), list(), count, host))
  expect_identical(threads_in(8, host_name()), 2L)
  expect_identical(threads_in(32, host_name()), 1L)
  expect_identical(threads_in(8, "another host"), 16L)
  expect_identical(threads(), 16L)
  withr::local_options(kernops.threads = 3)
  expect_identical(threads_in(8, host_name()), 3L)
})

test_that("the number of cores respects the list of allowed cores and the quota of a container", {
  cores <- parallel::detectCores()
  root <- withr::local_tempdir()
  expect_identical(available_cores(root), cores)
  write_in <- function(path, text) {
    dir.create(file.path(root, dirname(path)), recursive = TRUE, showWarnings = FALSE)
    writeLines(text, file.path(root, path))
  }
  write_in("proc/self/status", c("Name:\tR", "Cpus_allowed:\t1", "Cpus_allowed_list:\t0"))
  expect_identical(available_cores(root), 1L)
  write_in("proc/self/status", "Cpus_allowed_list:\t0-1,8-1023")
  expect_identical(available_cores(root), cores)
  write_in("sys/fs/cgroup/cpu.max", "max 100000")
  expect_identical(available_cores(root), cores)
  write_in("sys/fs/cgroup/cpu.max", "50000 100000")
  expect_identical(available_cores(root), 1L)
  unlink(file.path(root, "sys/fs/cgroup/cpu.max"))
  write_in("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")
  write_in("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
  expect_identical(available_cores(root), cores)
  write_in("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "90000")
  expect_identical(available_cores(root), 1L)
})
