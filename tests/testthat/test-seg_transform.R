# Transformed values of segments, against ave() and loops in plain R.

test_that("centred values, scaled values, shares and statistics for each value agree with ave()", {
  withr::local_seed(1)
  x <- rexp(100)
  keys <- sample(letters[1:5], 100, TRUE)
  by <- \(f) ave(x, keys, FUN = f)
  expected <- list(center = by(\(v) v - mean(v)), scale = by(\(v) (v - mean(v)) / stats::sd(v)),
                   share = by(\(v) v / sum(v)), max = by(max), median = by(stats::median), skewness = by(\(v) {
                     mean((v - mean(v))^3) / mean((v - mean(v))^2)^1.5
                   }), count = by(length), argmin = by(which.min), var = by(stats::var))
  for (op in names(expected)) expect_equal(seg_transform(x, op, g = keys), expected[[op]], label = op)
  expect_equal(seg_transform(x, "quantile", g = keys, probs = 0.9), by(\(v) stats::quantile(v, 0.9)))
  expect_equal(seg_transform(x, "mean", g = keys, weights = 1:100),
               unname(seg_reduce(x, g = keys, op = "mean", weights = 1:100)[keys]))
  expect_equal(seg_transform(x, seg_op("a + b"), g = keys), by(sum))
  expect_equal(seg_transform(x, "center", lengths = c(40, 60)), ave(x, rep(1:2, c(40, 60)), FUN = \(v) v - mean(v)))
  expect_equal(seg_transform(x, "scale"), c(scale(x)))
  m <- cbind(u = x, v = 1 / x)
  expect_equal(seg_transform(m, "share", g = keys)[, "v"], ave(1 / x, keys, FUN = \(v) v / sum(v)))
  gaps <- replace(x, 7, NA)
  expect_identical(which(is.na(seg_transform(gaps, "center", g = keys, na.rm = TRUE))), 7L)
  expect_identical(is.na(seg_transform(gaps, "center", g = keys)), keys == keys[7])
})

test_that("lags, leads and differences by group agree with loops, for any kind of vector", {
  withr::local_seed(2)
  keys <- sample(3, 40, TRUE)
  lag <- function(x, n) {
    from <- seq_along(x) - n
    x[replace(from, from < 1 | from > length(x), NA)]
  }
  for (x in list(rnorm(40), sample(40L), sample(letters, 40, TRUE), sample(c(TRUE, FALSE, NA), 40, TRUE))) {
    for (n in 0:3) {
      expected <- function(n) {
        for (k in 1:3) x[keys == k] <- lag(x[keys == k], n)
        x
      }
      expect_identical(seg_transform(x, "lag", g = keys, n = n), expected(n))
      expect_identical(seg_transform(x, "lead", g = keys, n = n), expected(-n))
      if (is.numeric(x)) expect_identical(seg_transform(x, "diff", g = keys, n = n), x - expected(n))
    }
  }
  days <- as.Date("2024-01-01") + 0:3
  expect_identical(seg_transform(days, "lag", lengths = c(2, 2)), days[c(NA, 1, NA, 3)])
  f <- factor(c("u", "v", "u"))
  expect_identical(seg_transform(f, "lead"), f[c(2, 3, NA)])
  expect_identical(seg_transform(c(a = 1, b = 2), "lag", fill = 0), c(a = 0, b = 1))
  expect_identical(seg_transform(c(1, 4, 9), "diff", fill = 0), c(0, 3, 5))
  expect_identical(seg_transform(c(1, 4, 9), "lag", g = c(1, NA, 1), fill = 0), c(0, NA, 1))
  m <- matrix(1:6, 3, dimnames = list(letters[1:3], NULL))
  expect_identical(seg_transform(m, "lag"), matrix(c(NA, 1:2, NA, 4:5), 3, dimnames = list(letters[1:3], NULL)))
  expect_identical(seg_transform(numeric(), "lag"), numeric())
})

test_that("gaps are filled from the previous or the next value", {
  x <- c(NA, 1, NA, NA, 2, NA)
  expect_identical(seg_transform(x, "fill_down"), c(NA, 1, 1, 1, 2, 2))
  expect_identical(seg_transform(x, "fill_up"), c(1, 1, 2, 2, 2, NA))
  expect_identical(seg_transform(x, "fill_down", lengths = c(3, 3)), c(NA, 1, 1, NA, 2, 2))
  expect_identical(seg_transform(x, "fill_up", g = c(1, 2, 1, 2, 1, 2)), c(2, 1, 2, NA, 2, NA))
  expect_identical(seg_transform(c("a", NA, "b"), "fill_down"), c("a", "a", "b"))
  days <- as.Date(c("2024-01-01", NA, "2024-01-03"))
  expect_identical(seg_transform(days, "fill_up"), days[c(1, 3, 3)])
  m <- cbind(x, rev(x))
  expect_identical(seg_transform(m, "fill_down")[, 2], c(NA, 2, 2, 2, 1, 1))
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, {
    seg_transform(1:3, "softmax")
    seg_transform("a", "center")
    seg_transform(list(1), "lag")
    seg_transform(1:3, "lag", n = -1)
    seg_transform(1:3, "lag", fill = 1:2)
    seg_transform(1:3, "lag", fill = "a")
    seg_transform(1:3, "quantile")
    seg_transform(1:3, "lag", weights = 1:3)
    seg_transform(1:3, "center", lengths = 2)
  })
})
