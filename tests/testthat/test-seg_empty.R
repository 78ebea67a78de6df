# Types of results, missing values, and empty segments.

test_that("results of integers are integers; a sum beyond their range is a double, with a warning", {
  big <- .Machine$integer.max
  expect_identical(seg_reduce(c(1L, 2L, 3L), lengths = c(2, 1)), c(3L, 3L))
  expect_warning(sums <- seg_reduce(c(big, big, 1L), lengths = c(2, 1)), class = "kernops_overflow_warning")
  expect_identical(sums, c(2 * big, 1))
  cancel <- c(rep(big, 1e6), rep(-big, 1e6), 1L)
  expect_identical(seg_reduce(cancel, lengths = length(cancel)), 1L)
  expect_identical(seg_reduce(cancel, g = rep(1:2, c(1e6 + 5, 1e6 - 4))[order(cancel %% 7)], op = "count"),
                   c(`1` = 1000005L, `2` = 999996L))
  expect_identical(seg_reduce(c(TRUE, FALSE, NA), lengths = c(2, 1)), c(1L, NA))
  expect_identical(seg_reduce(c(TRUE, FALSE, NA), lengths = c(2, 1), op = "any"), c(TRUE, NA))
  expect_identical(seg_reduce(3:1, lengths = c(2, 1, 0), op = "max"), c(3, 1, -Inf))
  expect_identical(seg_reduce(3:1, lengths = c(2, 1), op = "max"), c(3L, 1L))
  expect_identical(seg_reduce(c(5L, NA), lengths = c(1, 1), op = "mean"), c(5, NA))
})

test_that("the first and the last value are returned unchanged", {
  expect_identical(seg_reduce(c(TRUE, FALSE, NA), lengths = c(2, 1, 0), op = "first"), c(TRUE, NA, NA))
  expect_identical(seg_reduce(c(NaN, NA, NA, NaN), lengths = c(2, 2), op = "first"), c(NaN, NA))
  expect_identical(seg_reduce(c(NaN, NA, NA, NaN), g = c("b", "b", "a", "a"), op = "last"), c(a = NaN, b = NA))
  expect_identical(seg_reduce(c(NA, 5L), lengths = 2, op = "first"), NA_integer_)
})

test_that("a softmax of values with NA is NA", {
  x <- c(1, NaN, NA, 1, NA, 2, 2)
  for (g in list(c(1, 1, 2, 2, 3, 4, 4), c(5, 5, 2, 2, 3, 4, 4))) {
    expect_identical(seg_softmax(x, g = g), c(NaN, NaN, NA, NA, NA, 0.5, 0.5))
    expect_identical(seg_softmax(x, g = g, na.rm = TRUE), c(1, NaN, NA, 1, NA, 0.5, 0.5))
    expect_identical(seg_softmax(c(1L, 1L, NA, 1L, NA, 2L, 2L), g = g), c(0.5, 0.5, NA, NA, NA, 0.5, 0.5))
  }
  expect_identical(seg_softmax(c(NA, 2L), lengths = 2, na.rm = TRUE), c(NA, 1))
})

test_that("NA takes precedence over NaN, in any order of values", {
  withr::local_seed(3)
  for (length in c(3, 20, 5000)) {
    x <- replace(rnorm(3 * length), c(length, length + 1, 2 * length, 2 * length + 2), c(NaN, NaN, NA, NaN))
    for (g in list(rep(1:3, each = length), rep(c(3, 1, 2), each = length))) for (op in c("sum", "max", "mean",
                                                                                          "var")) {
      result <- seg_reduce(x, g = g, op = op)[as.character(unique(g))]
      expect_identical(is.na(result) & !is.nan(result), c(FALSE, TRUE, FALSE), ignore_attr = TRUE,
                       label = paste(op, length))
      expect_identical(is.nan(result), c(TRUE, FALSE, TRUE), ignore_attr = TRUE, label = paste(op, length))
    }
  }
})

test_that("results of empty segments are the identity of the operation, or the value of `empty`", {
  of_nothing <- list(sum = 0, prod = 1, min = Inf, max = -Inf, mean = NaN, var = NA_real_, count = 0L, any = FALSE,
                     all = TRUE,
                     argmin = NA_integer_, logsumexp = -Inf, first = NA_real_)
  for (op in names(of_nothing)) for (segments in c(0, 1, 5)) {
    expect_identical(seg_reduce(numeric(), lengths = rep(0, segments), op = op), rep(of_nothing[[op]], segments),
                     label = op)
  }
  expect_identical(seg_reduce(c(1, 2), lengths = c(0, 2, 0), op = "max", empty = -9), c(-9, 2, -9))
  expect_identical(seg_reduce(c(NA, 2), lengths = c(1, 1, 0), op = "max", empty = -9, na.rm = TRUE), c(-9, 2, -9))
  expect_identical(dim(seg_reduce(matrix(0, 0, 3), lengths = c(0, 0))), c(2L, 3L))
  expect_identical(seg_reduce(numeric(), g = character()), stats::setNames(numeric(), character()))
})

test_that("empty segments do not change the type and the other results, also if missing values are removed", {
  of <- \(x, op, ...) seg_reduce(x, lengths = c(1, 2), op = op, na.rm = TRUE, ...)
  expect_identical(of(c(TRUE, FALSE, TRUE), "any", empty = FALSE), c(TRUE, TRUE))
  expect_identical(of(c(NA, FALSE, TRUE), "all", empty = NA), c(NA, FALSE))
  expect_identical(of(3:1, "max", empty = 0), c(3L, 2L))
  expect_identical(of(c(NA, 5L, 7L), "max", empty = 0), c(0L, 7L))
  expect_identical(of(c(NA, 5, 7), "argmin", empty = 0), c(0L, 1L))
  expect_identical(of(c(NA, 5L, 7L), "sum", empty = 0.5), c(0.5, 12))
  expect_identical(expect_silent(seg_reduce(1:2, lengths = c(2, 0), empty = 1e10)), c(3, 1e10))
  expect_warning(seg_reduce(c(.Machine$integer.max, 1L), lengths = c(0, 2), empty = 1e10), "result 2")
  for (op in c("var", "sd", "first")) {
    expect_identical(seg_reduce(c(2, 2), lengths = c(2, 0), op = op, empty = NaN)[[2]], NaN, label = op)
  }
  expect_identical(seg_reduce(c(2, 2, 3, 4), lengths = c(2, 1, 1), w = c(1, 1, 1, 0), op = "var", empty = NaN),
                   c(0, NA, NaN))
})

test_that("the value of `empty` may have any type, and an array of one dimension is a vector", {
  expect_identical(seg_reduce(c(1, 2), lengths = c(2, 0), op = "argmin", empty = 0), c(1L, 0L))
  expect_identical(seg_reduce(c(1, 2), lengths = c(2, 0), op = "any", empty = NA), c(TRUE, NA))
  expect_identical(seg_reduce(NaN, lengths = c(1, 0), op = "any", empty = -1), c(NA, -1))
  expect_identical(seg_reduce(c(NA, 2L), lengths = c(1, 1, 0), op = "first", empty = Inf), c(NA, 2, Inf))
  for (other in c(Inf, 0.5)) {
    expect_identical(expect_silent(seg_reduce(1:2, lengths = c(2, 0), empty = other)), c(3, other))
  }
  expect_identical(seg_reduce(as.table(c(1, 2, 3)), lengths = c(1, 2)), c(1, 5))
  expect_identical(seg_reduce(matrix(0, 4, 0), lengths = c(1, 3)), matrix(0, 2, 0))
})
