# Likelihoods of tables and predictions in several processes: the oracle is the computation in this one.

skip_without_future <- function() {
  skip_if_not_installed("future")
  skip_if_not_installed("future.apply")
}

test_that("parts are consecutive, and each unit is in one part", {
  for (n in 1:9) for (count in 1:5) {
    parts <- consecutive_parts(seq_len(n) * 10, count)
    expect_identical(unlist(parts), seq_len(n) * 10)
    expect_length(parts, min(n, count))
    expect_lte(diff(range(lengths(parts))), 1)
  }
})

test_that("two and four workers give the digits of one process, also if a worker dies", {
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

test_that("predictions by workers have the digits of one process, also if a worker dies", {
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

test_that("tasks of predictions hold neither the data nor the frames of the fit", {
  small_cells()
  fit <- fit_of_table(table_data(3000))
  expect_lt(length(serialize(fit_for_tasks(fit), NULL)), 2e5)
})
