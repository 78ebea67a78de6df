# The argument `subset`, and coordinates that are dates or times.

seen <- withr::with_seed(81, transform(smooth_case(50), day = as.Date("2024-02-20") + sort(sample(200, 50)), v = 1:50))

test_that("a fit with a subset agrees with a fit of the selected rows", {
  fit <- function(...) gp(z ~ w, ..., coords = ~ a + b, covariance = given(), estimate = "none", weights = v)
  rows <- which(seen$w > 0)
  by_rows <- fit(seen[rows, ])
  for (ours in list(fit(seen, subset = w > 0), fit(seen, subset = rows), fit(seen, subset = -which(seen$w <= 0)))) {
    expect_equal(logLik(ours), logLik(by_rows))
    expect_equal(predict(ours, seen), predict(by_rows, seen))
    expect_identical(ours$parts$rows, rows)
    expect_equal(fitted(ours), fitted(by_rows))
  }
  gaps <- seen
  gaps$z[rows[1:2]] <- NA
  some <- fit(gaps, subset = w > 0)
  expect_identical(some$parts$rows, rows[-(1:2)])
  expect_equal(logLik(some), logLik(fit(seen[rows[-(1:2)], ])))
  # labels of all rows of the data
  labels <- rep(1:5, 10)
  expect_identical(gp_cv(some, labels)$fold, labels[rows[-(1:2)]])
})

test_that("a subset also applies to variables of the environment", {
  outside <- seen$z
  ours <- gp(outside ~ 1, seen, ~ a + b, given(), estimate = "none", subset = 11:40)
  expect_equal(logLik(ours), logLik(gp(z ~ 1, seen[11:40, ], ~ a + b, given(), estimate = "none")))
})

test_that("coordinates that are dates or times are measured in days", {
  by <- function(data, coords) gp(z ~ 1, data, coords, exponential(1, 30) + nugget(0.1), estimate = "none")
  numbers <- transform(seen, t = as.numeric(day))
  new <- data.frame(t = 19800.25)
  expected <- predict(by(numbers, ~ t), new, se.fit = TRUE)
  moment <- as.POSIXct("2024-03-18 06:00", tz = "UTC")
  dates <- by(seen, ~ day)
  times <- by(transform(seen, day = as.POSIXct(as.numeric(day) * 86400, origin = "1970-01-01", tz = "UTC")), ~ day)
  since <- by(transform(seen, day = day - as.Date("1970-01-01")), ~ day)
  for (fit in list(dates, times)) {
    expect_equal(predict(fit, data.frame(day = moment), se.fit = TRUE), expected)
    expect_equal(logLik(fit), logLik(by(numbers, ~ t)))
  }
  # a duration is not a date
  expect_equal(predict(since, data.frame(day = as.difftime(19800.25, units = "days")), se.fit = TRUE), expected)
  expect_equal(predict(since, data.frame(day = as.difftime(19800.25 * 24, units = "hours")), se.fit = TRUE), expected)
  expect_error(predict(since, data.frame(day = moment)), "<difftime>.*<POSIXct", class = "kernops_input_error")
  expect_error(predict(dates, data.frame(day = as.difftime(9, units = "days"))), class = "kernops_input_error")
  expect_equal(predict(times, data.frame(day = as.Date("2024-03-18"))), predict(dates, data.frame(
    day = as.Date("2024-03-18"))))
})

by_day <- gp(z ~ 1, seen, ~ day, exponential(1, 30) + nugget(0.1), estimate = "none")
test_mistakes("kernops_input_error", alist(
  `a number for a date` = predict(by_day, data.frame(day = 12)),
  `a subset of another length` = gp(z ~ 1, seen, ~ a + b, given(), estimate = "none", subset = c(TRUE, FALSE)),
  `a row that is not there` = gp(z ~ 1, seen, ~ a + b, given(), estimate = "none", subset = 51),
  `a row twice` = gp(z ~ 1, seen, ~ a + b, given(), estimate = "none", subset = c(1, 1))
))
