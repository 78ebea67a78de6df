# Likelihoods of tables in several processes: the oracle is the computation in this one.

skip_without_future <- function() {
  skip_if_not_installed("future")
  skip_if_not_installed("future.apply")
}

test_that("parts are consecutive, and all units are in one", {
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
  for (workers in c(2, 4)) {
    before <- future::plan("multisession", workers = workers)
    withr::defer(future::plan(before))
    expect_identical(sums(), expected)
    expect_identical(sums(), expected)
    died <- future::value(future::future(Sys.getpid()))
    tools::pskill(died, tools::SIGKILL)
    expect_identical(sums(), expected)
    expect_identical(sums(), expected)
    alive <- unique(unlist(future.apply::future_lapply(1:8, function(k) Sys.getpid())))
    expect_false(died %in% alive)
  }
  future::plan("sequential")
})
