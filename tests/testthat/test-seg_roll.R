# Rolling windows, against reductions of each window in plain R.

# `windows(k, n, row)` returns the first and the last position of the window at position k, counted within its segment.
oracle_roll <- function(x, positions, windows, reduce, partial = FALSE) {
  result <- rep(NA_real_, length(x))
  for (at in positions) for (k in seq_along(at)) {
    ends <- windows(k, length(at), at[k])
    if (!partial && (ends[1] < 1 || ends[2] > length(at))) next
    used <- max(ends[1], 1):min(ends[2], length(at))
    result[at[k]] <- as.numeric(reduce(x[at[used]], used))
  }
  result
}
by_name <- function(op, na.rm = FALSE) function(values, used) {
  kept <- !(na.rm & is.na(values))
  result <- oracle_segment[[op]](values[kept])
  if (op %in% c("argmin", "argmax") && !is.na(result)) used[kept][result] else result
}
fixed <- \(left, right) \(k, n, row) c(k - left, k + right)

lengths_here <- c(0, 1, 2, 0, 7, 30, 5)

for (op in names(oracle_segment)) test_that("the width is checked, and may be an integer or a double", {
  x <- c(3, 1, 2, 5)
  g <- c("b", "a", NA, "b")
  expect_identical(seg_roll(x, c(1L, 1L, 9L, 2L), g = g), seg_roll(x, c(1, 1, 9, 2), g = g))
  expect_identical(seg_roll(x, c(1, 1, 9, 2), g = g), c(3, 1, NA, 8))
  for (width in list(c(1, 2, 0, 1), c(1, NA, 1, 1), c(1L, NA, 1L, 1L), c(1, 2.5, 1, 1), c(1, 2, 3, 2^31))) {
    expect_error(seg_roll(x, width, g = g), "positive whole number; element [234]", class = "kernops_input_error")
  }
})

test_that(paste("fixed windows agree with plain R:", op), {
  withr::local_seed(1)
  list2env(segment_case(op, lengths_here, 4, levels = 1:5), environment())
  near <- \(actual, expected) expect_equal(as.numeric(actual), expected, tolerance = 1e-12)
  for (width in c(1, 2, 5)) for (align in c("right", "center", "left")) for (partial in c(FALSE, TRUE)) {
    left <- c(right = width - 1, center = (width - 1) %/% 2, left = 0)[[align]]
    windows <- fixed(left, width - 1 - left)
    roll <- \(x, ...) seg_roll(x, width, op = op, align = align, partial = partial, ...)
    near(roll(x, lengths = lengths_here), oracle_roll(x, by_lengths(lengths_here), windows, by_name(op), partial))
    near(roll(gaps, g = keys, na.rm = TRUE),
         oracle_roll(gaps, split(seq_len(n), keys), windows, by_name(op, TRUE), partial))
  }
})

test_that("order statistics in windows agree with plain R", {
  withr::local_seed(2)
  x <- round(rnorm(700), 1)
  keys <- sample(c("a", "b"), 700, TRUE, c(0.95, 0.05))
  positions <- split(seq_along(x), keys)
  for (width in c(1, 4, 31, 400)) {
    windows <- fixed(width - 1, 0)
    expected <- \(f) oracle_roll(x, positions, windows, \(values, used) f(values), TRUE)
    roll <- \(...) seg_roll(x, width, g = keys, partial = TRUE, ...)
    expect_equal(roll(op = "median"), expected(stats::median))
    for (type in c(1, 3, 6, 7)) {
      expect_equal(roll(op = "quantile", probs = 0.3, type = type),
                   expected(\(v) stats::quantile(v, 0.3, type = type, names = FALSE)))
    }
    if (width > 31) next
    expect_equal(roll(op = "mad"), expected(stats::mad))
    expect_identical(roll(op = "n_distinct"), as.integer(expected(\(v) length(unique(v)))))
  }
  both <- seg_roll(x, 5, op = "quantile", probs = c(0, 1), align = "center")
  expect_identical(dimnames(both), list(NULL, c("0%", "100%")))
  expect_identical(both[, 2], seg_roll(x, 5, op = "max", align = "center"))
  long <- rnorm(5000)
  expect_identical(seg_roll(long, 501, op = "median", align = "center")[251:4750],
                   c(stats::runmed(long, 501))[251:4750])
  expect_identical(seg_roll(c(1, NA, 3, 4), 2, op = "median"), c(NA, NA, NA, 3.5))
  expect_identical(seg_roll(c(1, NA, 3, 4), 2, op = "median", na.rm = TRUE), c(NA, 1, 3, 3.5))
})

test_that("medians and quantiles of narrow and wide windows are right for infinite, equal and missing values", {
  withr::local_seed(7)
  x <- c(round(rnorm(150), 1), -Inf, Inf, Inf, 0, -0, 1e-310, 2^-30 * (1:40) + 1, rep(2, 20), 1e300, -1e300)
  x <- sample(c(x, -x))
  for (width in c(1, 2, 5, 32, 33, 200)) for (align in c("right", "center")) {
    left <- if (align == "right") width - 1 else (width - 1) %/% 2
    windows <- fixed(left, width - 1 - left)
    at <- list(seq_along(x))
    expected <- \(x, p, type) oracle_roll(x, at, windows, \(v, used) {
      if (anyNA(v)) NA else stats::quantile(v, p, type = type, names = FALSE)
    }, TRUE)
    rolled <- \(x, p, type) seg_roll(x, width, op = "quantile", probs = p, type = type, align = align, partial = TRUE)
    for (type in c(1, 2, 7)) for (p in c(0, 0.4, 0.5)) expect_identical(rolled(x, p, type), expected(x, p, type))
    gaps <- replace(x, c(100, 250), NA)
    expect_identical(rolled(gaps, 0.4, 3), expected(gaps, 0.4, 3))
  }
  long <- c(rnorm(40000), sample(100, 40000, TRUE) / 7, 1 + 1e-12 * runif(10000))
  for (width in c(3, 31, 33, 1001)) {
    inside <- (width + 1):(90000 - width)
    expect_identical(seg_roll(long, width, op = "median", align = "center")[inside],
                     c(stats::runmed(long, width))[inside])
  }
})

test_that("the ends of adaptive windows may move in one direction only, or be arbitrary", {
  withr::local_seed(3)
  x <- rnorm(60)
  steady <- pmin(1:60, 7)
  wild <- sample(20, 60, TRUE)
  keys <- rep(c("b", "a"), 30)
  for (width in list(steady, wild)) for (op in c("sum", "max", "argmax", "median", "var", "iqr")) {
    reduce <- switch(op, median = \(v, used) stats::median(v), iqr = \(v, used) stats::IQR(v), by_name(op))
    for (align in c("right", "left")) {
      windows <- if (align == "right") \(k, n, row) c(k - width[row] + 1, k) else \(k, n, row) c(k, k + width[row] - 1)
      expected <- oracle_roll(x, split(1:60, keys), windows, reduce)
      expect_equal(as.numeric(seg_roll(x, width, g = keys, op = op, align = align)), expected, tolerance = 1e-12)
    }
  }
})

test_that("windows in time agree with plain R", {
  withr::local_seed(4)
  time <- cumsum(sample(0:3, 50, TRUE))
  x <- rnorm(50)
  keys <- sample(3, 50, TRUE)
  inside <- list(right = \(t, s, w) s > t - w & s <= t, center = \(t, s, w) s > t - w / 2 & s <= t + w / 2,
                 left = \(t, s, w) s >= t & s < t + w)
  for (align in names(inside)) for (op in c("sum", "count", "first", "median")) {
    reduce <- if (op == "median") stats::median else oracle_segment[[op]]
    expected <- vapply(1:50, \(k) as.numeric(reduce(x[keys == keys[k] & inside[[align]](time[k], time, 4)])), 0)
    expect_equal(as.numeric(seg_roll(x, 4, g = keys, op = op, by = time, align = align)), expected)
    days <- as.Date("2024-02-27") + time
    expect_equal(as.numeric(seg_roll(x, 4, g = keys, op = op, by = days, align = align)), expected)
    hours <- as.POSIXct("2024-03-30", tz = "UTC") + 3600 * time
    expect_equal(as.numeric(seg_roll(x, as.difftime(4, units = "hours"), g = keys, op = op, by = hours, align = align)),
                 expected)
  }
  width <- sample(6, 50, TRUE) / 2
  expected <- vapply(1:50, \(k) sum(x[inside$right(time[k], time, width[k])]), 0)
  expect_equal(seg_roll(x, width, by = time), expected)
})

test_that("formulas combine the values of a window in their order", {
  withr::local_seed(5)
  x <- runif(200, -1, 1)
  latest <- seg_op("Step(Abs(b) - 0.5) * b + (1 - Step(Abs(b) - 0.5)) * a", identity = 7)
  fold <- \(values, used) Reduce(\(a, b) if (abs(b) >= 0.5) b else a, values)
  for (width in c(1, 2, 7, 64)) {
    expect_identical(seg_roll(x, width, lengths = c(150, 50), op = latest, partial = TRUE),
                     oracle_roll(x, by_lengths(c(150, 50)), fixed(width - 1, 0), fold, TRUE))
  }
  expect_equal(seg_roll(x, 9, op = seg_op("a + b"), align = "center"), seg_roll(x, 9, align = "center"))
  gaps <- seg_roll(c(NA, 1, NA, 2), 2, op = latest, na.rm = TRUE, partial = TRUE)
  expect_identical(gaps, c(7, 1, 1, 2))
})

test_that("long segments are accurate for any number of threads", {
  withr::local_seed(6)
  x <- rnorm(150000)
  mean_of <- \(threads) with_threads(threads, seg_roll(x, 100, lengths = c(10, 149990), op = "mean", partial = TRUE))
  expect_identical(mean_of(1), mean_of(3))
  sums <- cumsum(c(0, x[-(1:10)]))
  expect_equal(mean_of(1)[110:150000], (sums[101:149991] - sums[1:149891]) / 100, tolerance = 1e-8)
  median_of <- \(threads) with_threads(threads, seg_roll(x, 11, op = "median"))
  expect_identical(median_of(1), median_of(3))
  expect_identical(seg_roll(c(1e16, 1, 1, 1, Inf, 1, 2), 2), c(NA, 1e16, 2, 2, Inf, Inf, 3))
})

test_that("shapes, types and names of results are those of the values", {
  x <- matrix(c(3L, 1L, 2L, 4L, 6L, 5L), 3, dimnames = list(letters[1:3], c("u", "v")))
  expect_identical(seg_roll(x, 2), `dimnames<-`(cbind(c(NA, 4L, 3L), c(NA, 10L, 11L)), dimnames(x)))
  expect_identical(dim(seg_roll(x, 2, op = "range")), c(3L, 2L, 2L))
  expect_identical(seg_roll(c(a = 1, b = 2), 1), c(a = 1, b = 2))
  expect_identical(seg_roll(c(TRUE, FALSE, TRUE), 2, op = "any"), c(NA, TRUE, TRUE))
  expect_identical(seg_roll(c(1, 2, 3), 2, g = c("a", NA, "a")), c(NA, NA, 4))
  expect_identical(seg_roll(c(1, NA, NaN, 2), 2, partial = TRUE), c(1, NA, NA, NaN))
  expect_identical(is.nan(seg_roll(c(NA, NaN), 2, op = "last", partial = TRUE)), c(FALSE, TRUE))
  expect_identical(seg_roll(c(NA, 2), 1, na.rm = TRUE, op = "max", empty = 0), c(0, 2))
  expect_identical(seg_roll(c(1, 2), 5), c(NA_real_, NA_real_))
  expect_identical(seg_roll(numeric(), 3), numeric())
  expect_identical(seg_roll(1:4, 2, plan = seg_plan(lengths = c(2, 2))), c(NA, 3L, NA, 7L))
  expect_identical(seg_roll(c(5L, 3L, 6L), 2, op = "bit_and"), c(NA, 1L, 2L))
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, {
    seg_roll(1:3, 0)
    seg_roll(1:3, 1.5)
    seg_roll(1:3, c(1, 2))
    seg_roll(1:3, NA)
    seg_roll(1:3, 2, by = c(1, 3, 2))
    seg_roll(1:3, 2, by = c(1, NA, 2))
    seg_roll(1:3, 2, by = letters[1:3])
    seg_roll(1:3, sum, by = 1:3)
    seg_roll(1:3, 2, op = "softmax")
    seg_roll(1:3, 2, align = "middle")
    seg_roll(1:3, 2, lengths = 2)
  })
})
