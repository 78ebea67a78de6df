# Values with a class, against base R, segment by segment.

groups <- c("a", "b", "a", "b", "b", "c", "a")
dates <- as.Date("2024-02-27") + c(5, 2, NA, 9, 1, 1, 5)
times <- as.POSIXct("2024-03-31 00:30", tz = "Europe/Berlin") + 3600 * c(1, 2.5, 3, 5, 6, 9, 1)
spans <- as.difftime(c(1, 2, 3, 4, 5.5, 6, 1), units = "hours")

# The result of `f` for each group, in the class that f returns.
by_group <- function(x, f, g = groups) do.call(c, unname(lapply(split(x, g), f)))
expect_groups <- function(got, expected) {
  for (kept in c("class", "tzone", "units")) expect_identical(attr(got, kept), attr(expected, kept))
  expect_equal(unname(got), expected)
}

test_that("results of dates, times and time differences keep class, units and time zone", {
  statistics <- list(min = min, max = max, mean = mean, median = stats::median, first = \(x) x[1],
                     last = \(x) x[length(x)], nth = \(x) sort(x)[1])
  for (x in list(dates, times, spans)) for (op in names(statistics)) {
    there <- !is.na(x)
    expect_groups(seg_reduce(x[there], g = groups[there], op = op),
                  by_group(x[there], statistics[[op]], groups[there]))
  }
})

test_that("missing dates propagate or are removed, and the result of an empty segment is NA or `empty`", {
  expect_identical(unname(seg_reduce(dates, g = groups, op = "max")), as.Date(c(NA, "2024-03-07", "2024-02-28")))
  expect_identical(seg_reduce(dates[1:4], lengths = c(2, 0, 2), op = "min", na.rm = TRUE),
                   as.Date(c("2024-02-29", NA, "2024-03-07")))
  some_day <- as.Date("1999-01-01")
  expect_identical(seg_reduce(dates[c(1, 3)], lengths = c(1, 0, 1), op = "min", na.rm = TRUE, empty = some_day),
                   c(dates[1], some_day, some_day))
  expect_identical(seg_scan(dates[1:3], op = "last", exclusive = TRUE, empty = some_day), c(some_day, dates[1:2]))
  expect_identical(seg_reduce(spans, lengths = c(0, 7)), as.difftime(c(0, 22.5), units = "hours"))
})

test_that("quantiles and ranges of times are times, and their spread is a time difference", {
  probs <- c(0.2, 0.5)
  got <- seg_reduce(times, g = groups, op = "quantile", probs = probs)
  expected <- t(sapply(split(as.numeric(times), groups), stats::quantile, probs))
  expect_identical(oldClass(got), oldClass(times))
  expect_equal(unclass(got), structure(expected, tzone = "Europe/Berlin"))
  expect_equal(c(unclass(seg_reduce(dates, g = groups, op = "range", na.rm = TRUE))),
               c(t(sapply(split(as.numeric(dates), groups), range, na.rm = TRUE))))
  expect_equal(seg_reduce(times, g = groups, op = "sd"),
               as.difftime(c(tapply(as.numeric(times), groups, stats::sd)), units = "secs"))
  expect_equal(seg_reduce(dates, g = groups, op = "iqr", na.rm = TRUE),
               as.difftime(c(tapply(as.numeric(dates), groups, stats::IQR, na.rm = TRUE)), units = "days"))
  expect_identical(seg_reduce(as.POSIXlt(times), g = groups, op = "max"), seg_reduce(times, g = groups, op = "max"))
})

test_that("scans, windows and transformations of times and time differences agree with base R", {
  sums <- stats::ave(as.numeric(spans), groups, FUN = cumsum)
  expect_equal(seg_scan(spans, g = groups), as.difftime(sums, units = "hours"))
  expect_equal(seg_scan(times, g = groups, op = "max"),
               .POSIXct(stats::ave(as.numeric(times), groups, FUN = cummax), "Europe/Berlin"))
  centre <- \(x) x - mean(x)
  expect_equal(seg_transform(times, "center", g = groups),
               as.difftime(stats::ave(as.numeric(times), groups, FUN = centre), units = "secs"))
  expect_equal(seg_transform(dates, "diff", g = groups, fill = 0),
               as.difftime(c(0, 0, NA, 7, -8, 0, NA), units = "days"))
  expect_equal(seg_transform(spans, "share", g = groups), stats::ave(as.numeric(spans), groups, FUN = prop.table))
  expect_equal(seg_roll(dates, 2, lengths = c(2, 5), op = "max", partial = TRUE, na.rm = TRUE),
               dates[c(1, 1, NA, 4, 4, 5, 7)])
})

test_that("results of factors keep the levels", {
  f <- factor(c("lo", "hi", "lo", NA, "hi", "mid", "lo"), c("lo", "mid", "hi"))
  expect_identical(seg_reduce(f, g = groups, op = "first"), setNames(f[c(1, 2, 6)], c("a", "b", "c")))
  expect_identical(unname(seg_reduce(f, g = groups, op = "mode")), factor(c("lo", "hi", "mid"), levels(f)))
  expect_identical(seg_reduce(f, g = groups, op = "n_distinct"), c(a = 1L, b = 2L, c = 1L))
  o <- factor(f, ordered = TRUE)
  expect_identical(unname(seg_reduce(o, g = groups, op = "max", na.rm = TRUE)),
                   factor(c("lo", "hi", "mid"), levels(f), ordered = TRUE))
  expect_identical(seg_reduce(o[1:2], lengths = c(2, 0), op = "min", empty = "hi"), o[1:2])
  expect_identical(seg_reduce(o, g = groups, op = "argmax", na.rm = TRUE), c(a = 1L, b = 1L, c = 1L))
  expect_identical(seg_scan(o, op = "max", na.rm = TRUE), o[c(1, 2, 2, 2, 2, 2, 2)])
})

test_that("strings are compared as by sort()", {
  s <- c("fig", "apple", NA, "date", "cherry", "banana", "fig")
  expect_identical(seg_reduce(s, g = groups, op = "max", na.rm = TRUE), c(a = "fig", b = "date", c = "banana"))
  expect_identical(seg_reduce(s, g = groups, op = "mode"), c(a = "fig", b = "apple", c = "banana"))
  expect_identical(seg_reduce(s, g = groups, op = "first"), c(a = "fig", b = "apple", c = "banana"))
  expect_identical(seg_sort(s, lengths = c(3, 4)), c(sort(s[1:3], na.last = TRUE), sort(s[4:7])))
  expect_identical(seg_rank(s, lengths = c(3, 4)), c(2, 1, NA, 3, 2, 1, 4))
  expect_identical(seg_reduce(character(), lengths = 0, op = "first", empty = "none"), "none")
})

test_that("reductions of complex numbers agree with base R", {
  z <- complex(real = c(1, 2, 3, NA, 5, 6, 7), imaginary = c(2, 0, -1, 1, 3, 1, 0))
  expect_equal(seg_reduce(z, lengths = c(3, 4)), c(sum(z[1:3]), sum(z[4:7])))
  expect_groups(seg_reduce(z, g = groups, op = "mean", na.rm = TRUE), by_group(z, \(z) mean(z, na.rm = TRUE)))
  expect_groups(seg_reduce(z, g = groups, op = "last"), by_group(z, \(z) z[length(z)]))
  expect_equal(seg_scan(z[-4], lengths = c(3, 3)), c(cumsum(z[1:3]), cumsum(z[5:7])))
  z[4] <- 4 - 2i
  expect_equal(seg_reduce(cbind(u = z, v = 2i * z), g = groups),
               cbind(u = by_group(z, sum), v = 2i * by_group(z, sum)), ignore_attr = TRUE)
  expect_groups(seg_reduce(z, g = groups, weights = 1:7), by_group(z * 1:7, sum))
  expect_identical(seg_reduce(c(1i, 1i, 2), lengths = 3, op = "n_distinct"), 2L)
})

test_that("if a class does not allow an operation, an error names the allowed operations", {
  expect_snapshot(error = TRUE, seg_reduce(dates, g = groups))
  expect_snapshot(error = TRUE, seg_reduce(factor(groups), lengths = 7, op = "max"))
  expect_snapshot(error = TRUE, seg_scan(1i * 1:7, op = "max"))
  expect_snapshot(error = TRUE, seg_reduce(times, lengths = 7, op = seg_op("a + b")))
  expect_snapshot(error = TRUE, seg_reduce(dates, lengths = c(7, 0), op = "max", empty = 3))
  expect_snapshot(error = TRUE, seg_transform(dates, "share", g = groups))
  expect_snapshot(error = TRUE, seg_reduce(dates, lengths = 7, op = "max", output = "gpu"))
  expect_snapshot(error = TRUE, seg_reduce(structure(list(1), class = "Date"), lengths = 1, op = "max"))
})
