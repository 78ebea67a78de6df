# Likelihoods and predictions of tables in several processes, against the computation in this process.

skip_without_future <- function() {
  skip_if_not_installed("future")
  skip_if_not_installed("future.apply")
}

test_that("work is divided into parts of consecutive units, and each unit is in exactly one part", {
  for (n in 1:9) for (count in 1:5) {
    parts <- consecutive_parts(seq_len(n) * 10, count)
    expect_identical(unlist(parts), seq_len(n) * 10)
    expect_length(parts, min(n, count))
    expect_lte(diff(range(lengths(parts))), 1)
  }
})

test_that("two and four workers give the same digits as one process, also if a worker dies", {
  skip_without_future()
  small_cells()
  d <- table_data(1200)
  fit <- fit_of_table(d)
  theta <- fit$theta * 1.1
  kind <- list(model = fit$model, precision = "float64", backend = "cpu")
  sums <- function() sums_of_units(fit$blocks, seq_along(fit$blocks$units), kind, theta, Inf, TRUE)
  expected <- sums()
  before <- future::plan("sequential")
  withr::defer(future::plan(before))
  for (workers in c(2, 4)) {
    future::plan("multisession", workers = workers)
    expect_identical(sums(), expected)
    expect_identical(sums(), expected)
    died <- future::value(future::future(Sys.getpid()))
    tools::pskill(died, tools::SIGKILL)
    expect_identical(sums(), expected)
    expect_identical(sums(), expected)
    alive <- unique(unlist(future.apply::future_lapply(1:8, function(k) Sys.getpid())))
    expect_false(died %in% alive)
  }
})

test_that("tables need only package future for workers", {
  skip_if_not_installed("future")
  replaced_locally(many_workers = function() FALSE)
  before <- future::plan("cluster", workers = parallel::makePSOCKcluster(2))
  withr::defer(future::plan(before))
  expect_identical(worker_pool()$count, future::nbrOfWorkers())
  processes <- unlist(over_units(1:4, function(k) Sys.getpid()))
  expect_length(unique(processes), 2)
  expect_false(Sys.getpid() %in% processes)
})

test_that("a warning says why workers run no tasks", {
  pool <- list(count = 2, start = function(...) stop("no free port"), renew = function() NULL)
  expect_warning(result <- units_elsewhere(1:3, sqrt, list(), pool)(), "no free port", class = "kernops_worker_warning")
  expect_identical(result, as.list(sqrt(1:3)))
})

# Returns a task. At unit k, the task kills the process that runs it, unless this process created the task. The
# operating system kills processes in the same way if memory is short.
ending_process <- function(task, k) {
  ends <- function(unit, ...) {
    if (unit == k && Sys.getpid() != main) tools::pskill(Sys.getpid(), tools::SIGKILL)
    task(unit, ...)
  }
  environment(ends) <- list2env(list(task = task, k = k, main = Sys.getpid()), parent = baseenv())
  ends
}

test_that("cells and neighbours by workers have the same digits as by one process, also if a worker dies", {
  skip_without_future()
  small_cells()
  d <- table_data(1200)
  new <- table_data(100, seed = 2)[c("x", "y", "w")]
  results <- function() {
    fit <- fit_of_table(d)
    units <- lapply(seq_along(fit$blocks$units), function(k) read_object(unit_path(fit$blocks, k)))
    list(fit$blocks[c("heads", "level", "rows")], order_of_table(fit), units, fit$loglik, fit$beta,
         predict(fit, new, se.fit = TRUE))
  }
  expected <- results()
  before <- future::plan("multisession", workers = 2)
  withr::defer(future::plan(before))
  expect_identical(results(), expected)
  renewed <- 0
  renew <- renew_workers
  replaced_locally(renew_workers = function() {
    renewed <<- renewed + 1
    renew()
  })
  for (name in c("order_cell", "write_unit")) local({
    local_constant(name, ending_process(get(name), 3), environment())
    expect_identical(results(), expected, label = name)
  })
  expect_identical(renewed, 2)
})

test_that("predictions by workers have the digits of predictions by one process, also if a worker dies", {
  skip_without_future()
  small_cells()
  fit <- fit_of_table(table_data(1200))
  new <- table_data(2000, seed = 2)[c("x", "y", "w")]
  predictions <- function() {
    list(predict(fit, new, se.fit = TRUE, interval = "prediction", above = 2),
         predict(fit, gp_table(new), what = c("fit", "se.fit"), interval = "confidence"),
         if (requireNamespace("terra", quietly = TRUE)) {
           map <- terra::rast(nrows = 20, ncols = 20, xmin = 0, xmax = 1, ymin = 0, ymax = 1, vals = 1, names = "w")
           terra::values(predict(fit, map, filename = withr::local_tempfile(fileext = ".tif"), window = 100))
         })
  }
  expected <- predictions()
  before <- future::plan("multisession", workers = 2)
  withr::defer(future::plan(before))
  expect_identical(predictions(), expected)
  tools::pskill(future::value(future::future(Sys.getpid())), tools::SIGKILL)
  expect_identical(predictions(), expected)
})

test_that("tasks of predictions contain neither the data nor the model frames of the fit", {
  small_cells()
  fit <- fit_of_table(table_data(3000))
  expect_lt(length(serialize(fit_for_tasks(fit), NULL)), 2e5)
})

# The functions of package mirai that mirai_pool() uses. Tasks are evaluated when they are created, from serialized
# values, as in another process. Tasks whose number is in `dead` return the error value of a daemon that died.
stand_in_for_mirai <- function(dead = integer()) {
  state <- new.env()
  state$tasks <- state$launched <- 0
  list(
    state = state, status = function() list(connections = 3),
    mirai = function(.expr, ..., .args = list()) {
      state$tasks <- state$tasks + 1
      if (state$tasks %in% dead) return(list(data = structure(19L, class = c("errorValue", "try-error"))))
      sent <- unserialize(serialize(.args, NULL))
      list(data = tryCatch(eval(substitute(.expr), sent, baseenv()), error = function(e) {
        structure(conditionMessage(e), class = c("miraiError", "errorValue", "try-error"))
      }))
    },
    call_mirai = identity, is_error_value = function(x) inherits(x, "errorValue"),
    is_mirai_error = function(x) inherits(x, "miraiError"),
    launch_local = function(n) state$launched <- state$launched + n
  )
}

test_that("daemons of mirai give the same digits as one process, also if a daemon dies", {
  small_cells()
  fit <- fit_of_table(table_data(1200))
  new <- table_data(500, seed = 2)[c("x", "y", "w")]
  kind <- list(model = fit$model, precision = "float64", backend = "cpu")
  results <- function() {
    list(sums_of_units(fit$blocks, seq_along(fit$blocks$units), kind, fit$theta * 1.1, Inf, TRUE),
         predict(fit, new, se.fit = TRUE, interval = "prediction"))
  }
  expected <- results()
  mirai <- stand_in_for_mirai(dead = 2)
  replaced_locally(mirai_functions = function() mirai)
  expect_identical(results(), expected)
  expect_identical(c(mirai$state$tasks, mirai$state$launched), c(6, 1))
  # an error in a task has the class of the error, and launches no daemon
  replaced_locally(sums_of_unit = function(...) stop_kernops("input", "no"))
  expect_error(results(), class = "kernops_input_error")
  expect_identical(mirai$state$launched, 1)
})
