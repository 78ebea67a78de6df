# The seconds that each part of a fit takes.

paddock <- withr::with_seed(73, {
  d <- transform(smooth_case(120), g = sample(letters[1:5], 120, TRUE))
  transform(d, z = z + rnorm(5)[match(g, letters)], k = rpois(120, exp(z / 2)))
})

test_that("a clock counts the time of a part, minus the time of the parts nested in it", {
  wait <- \(seconds) Sys.sleep(seconds)
  clock <- kernops:::new_clock()
  timed <- kernops:::timed
  kernops:::with_clock(clock, "search", {
    wait(0.05)
    timed("field", {
      wait(0.1)
      timed("trend", wait(0.2))
      try(timed("effects", stop("no")), silent = TRUE)
    })
    timed("trend", wait(0.05))
  })
  wait(0.3) # the clock does not count this time
  table <- kernops:::cost_table(clock)
  expect_identical(row.names(table), c("field", "effects and smooths", "trend", "search and the rest"))
  expect_identical(table$calls, c(1, 1, 2, 1))
  expect_true(all(table$seconds >= c(0.1, 0, 0.25, 0.05) & table$seconds < c(0.2, 0.1, 0.35, 0.15)))
  expect_equal(sum(table$share), 1)
  expect_null(kernops:::the$clock)
  expect_identical(timed("field", 3), 3)
})

test_that("summary() has the time of each part of each method, and these times add up to the time of the fit", {
  parts <- list(exact = "trend", vecchia = c("neighbours", "effects and smooths"), iterative = "trend",
                vif = "neighbours")
  for (method in names(parts)) {
    whole <- system.time(fit <- gp(z ~ w + (1 | g), paddock, ~ a + b, method = method, maxit = 3) |>
      suppressWarnings())[["elapsed"]]
    table <- suppressWarnings(summary(fit, cost = TRUE))$cost
    expect_true(all(c("data and bases", "field", "search and the rest", parts[[method]]) %in% row.names(table)))
    expect_lt(sum(table$seconds), whole + 0.01)
    expect_gt(sum(table$seconds), 0.5 * whole)
  }
})

test_that("summary() prints the table of times on request", {
  fit <- suppressWarnings(gp(k ~ w, paddock, ~ a + b, matern(3/2), family = poisson(), maxit = 3))
  quiet <- \(code) suppressWarnings(code, classes = "kernops_no_standard_error")
  shown <- capture.output(print(quiet(summary(fit, cost = TRUE))))
  expect_match(shown, "^Seconds of the fit by part, [0-9.]+ in all:", all = FALSE)
  expect_match(shown, "^mode and posterior +[0-9.]+ +[0-9]+ % +[0-9]+", all = FALSE)
  expect_false(any(grepl("Seconds", capture.output(print(quiet(summary(fit)))))))
  expect_null(quiet(summary(fit))$cost)
})

test_mistakes("kernops_error", alist(
  `cost that is no flag` = summary(gp(z ~ 1, paddock, ~ a + b, given(), estimate = "none"), cost = 3)
))
