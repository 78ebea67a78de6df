# Covariances, correlations, regression lines and higher moments of segments, against base R.

test_that("covariances, correlations and slopes of segments agree with R, with and without weights", {
  withr::local_seed(1)
  n <- 300
  x <- 1e6 + rnorm(n)
  y <- x / 2 + rnorm(n)
  part <- sample(c("a", "b", "c", "d"), n, TRUE, c(10, 10, 10, 0.1))
  part[1] <- "e" # segment "e" has a single value
  w <- sample(0:3, n, TRUE)
  rows <- split(seq_len(n), part)
  by <- \(f) vapply(rows, f, 0)
  expect_equal(seg_cov(x, y, g = part), by(\(k) stats::cov(x[k], y[k])), tolerance = 1e-9)
  expect_equal(seg_cor(x, y, g = part), by(\(k) if (length(k) > 1) stats::cor(x[k], y[k]) else NA), tolerance = 1e-9)
  line <- seg_slope(x, y, g = part)
  expect_identical(dimnames(line), list(names(rows), c("intercept", "slope")))
  expect_equal(line[1:3, "slope"], by(\(k) stats::cov(x[k], y[k]) / stats::var(x[k]))[1:3], tolerance = 1e-8)
  expect_identical(line["e", ], c(intercept = NA_real_, slope = NA_real_))
  again <- rep(seq_len(n), w)
  repeated <- seg_cov(x[again], y[again], g = part[again])
  expect_equal(seg_cov(x, y, g = part, weights = w)[1:3], repeated[1:3], tolerance = 1e-9)
  weighted <- stats::lm(y ~ x, weights = w, subset = part == "b")
  line <- seg_slope(x - 1e6, y, g = part, weights = w)
  expect_equal(line["b", "slope"], stats::coef(weighted)[["x"]], tolerance = 1e-7)
})

test_that("missing pairs, matrices and calls without segments agree with R", {
  x <- c(1, 2, NA, 4, 5, 6)
  y <- c(2, NA, 1, 3, 3, 7)
  expect_identical(seg_cov(x, y, lengths = c(3, 3)), c(NA, stats::cov(x[4:6], y[4:6])))
  expect_equal(seg_cov(x, y, na.rm = TRUE), stats::cov(x, y, use = "complete.obs"))
  expect_equal(seg_cor(x, y, lengths = c(0, 6), na.rm = TRUE), c(NA, stats::cor(x, y, use = "complete.obs")))
  expect_identical(is.nan(seg_cov(c(NaN, 1, 2), c(1, 2, 3))), TRUE)
  expect_identical(seg_cor(c(1, 2, 3), c(5, 5, 5)), NaN)
  m <- cbind(u = c(1, 2, 4), v = c(3, 5, 1))
  k <- cbind(c(2, 2, 1), c(4, 4, 5))
  expect_equal(seg_cov(m, k), rbind(c(u = stats::cov(m[, 1], k[, 1]), v = stats::cov(m[, 2], k[, 2]))))
  expect_identical(dim(seg_slope(m, k, lengths = c(1, 2))), c(2L, 2L, 2L))
  expect_identical(seg_cov(numeric(), numeric(), lengths = c(0, 0)), c(NA_real_, NA_real_))
  expect_identical(seg_cov(1:3, c(TRUE, FALSE, TRUE), g = c("a", NA, "a")), c(a = 0))
})

test_that("skewness and kurtosis of segments agree with their formulas", {
  withr::local_seed(2)
  moment <- function(x, k) mean((x - mean(x))^k)
  x <- rexp(200) + 1e4
  part <- sample(3, 200, TRUE)
  plain <- list(skewness = \(x) moment(x, 3) / moment(x, 2)^1.5, kurtosis = \(x) moment(x, 4) / moment(x, 2)^2)
  for (op in names(plain)) {
    expect_equal(seg_reduce(x, g = part, op = op), c(tapply(x, part, plain[[op]])), tolerance = 1e-9)
    w <- sample(0:2, 200, TRUE)
    again <- rep(1:200, w)
    expect_equal(seg_reduce(x, g = part, op = op, weights = w), seg_reduce(x[again], g = part[again], op = op))
    gaps <- replace(x, 3, NA)
    expect_equal(seg_reduce(gaps, lengths = 200, op = op, na.rm = TRUE), plain[[op]](x[-3]), tolerance = 1e-9)
    expect_identical(seg_reduce(gaps, lengths = c(100, 100), op = op)[1], NA_real_)
    expect_identical(seg_reduce(numeric(), lengths = c(0, 0), op = op, empty = 7), c(7, 7))
    both <- seg_reduce(cbind(x, 2 * x), g = part, op = op)
    expect_equal(both[, 1], both[, 2], ignore_attr = TRUE)
  }
  expect_identical(seg_reduce(c(2, 2), lengths = 2, op = "skewness"), NaN)
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, {
    seg_cov(1:3, 1:2)
    seg_cor(1:3, "a")
    seg_slope(1:3, 1:3, weights = c(1, 1))
    seg_cov(1:3, 1:3, weights = c(1, -1, 1))
    seg_cov(1:3, 1:3, na.rm = 2)
    seg_reduce(1:3, lengths = 2, sources = 0, op = "skewness")
  })
})
