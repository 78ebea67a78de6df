# Weights of the values of segments.

test_that("a weight has the effect of repeated values", {
  withr::local_seed(5)
  x <- rnorm(200)
  w <- sample(0:3, 200, replace = TRUE)
  g <- sample(4, 200, replace = TRUE)
  for (op in c("sum", "mean", "var", "sd", "logsumexp")) {
    expect_equal(seg_reduce(x, g = g, op = op, w = w), seg_reduce(rep(x, w), g = rep(g, w), op = op),
                 tolerance = 1e-12, label = op)
  }
  expect_equal(seg_reduce(x, g = g, w = w > 1), seg_reduce(x[w > 1], g = g[w > 1]), tolerance = 1e-12)
  for (op in c("sum", "mean", "var", "logsumexp")) {
    of_weighted <- \(x) seg_reduce(x, g = g, op = op, w = w)
    expect_identical(of_weighted(replace(x, w == 0, c(Inf, NA, NaN))), of_weighted(replace(x, w == 0, 0)))
    lengths <- c(120, 0, 80)
    expect_identical(seg_reduce(x, lengths = lengths, op = op, w = w, empty = -9)[[2]], -9, label = op)
  }
  for (op in c("mean", "var", "sd")) { # with overlapping segments
    each <- vapply(list(1:50, 21:90), \(at) seg_reduce(x[at], lengths = length(at), op = op, w = w[at]), 0)
    expect_equal(seg_reduce(x, lengths = c(50, 70), sources = c(0, 20), op = op, w = w), each, tolerance = 1e-12)
  }
  gaps <- replace(x, 1:20, NA)
  expect_equal(seg_reduce(gaps, g = g, op = "mean", w = w, na.rm = TRUE),
               seg_reduce(rep(gaps, w), g = rep(g, w), op = "mean", na.rm = TRUE), tolerance = 1e-12)
})

test_that("weights apply to infinite values and empty segments", {
  x <- c(Inf, 1, NA, 2, NaN, 3, -Inf, Inf)
  w <- c(2, 1, 1, 3, 1, 0, 1, 1)
  for (op in c("sum", "mean", "var", "sd", "logsumexp")) for (na.rm in c(FALSE, TRUE)) for (lengths in list(
    rep(1, 8), rep(2, 4), c(4, 4))) {
    of_groups <- \(x, g, ...) seg_reduce(x, g = factor(g, seq_along(lengths)), op = op, na.rm = na.rm, empty = -9, ...)
    g <- rep(seq_along(lengths), lengths)
    expect_equal(of_groups(x, g, w = w), of_groups(rep(x, w), rep(g, w)), info = paste(op, na.rm))
    expect_equal(of_groups(cbind(x, 1), g, w = w), of_groups(cbind(x, 1)[rep(1:8, w), ], rep(g, w)))
  }
})

test_that("weights may be given for groups without values", {
  for (op in c("sum", "mean", "var", "sd", "logsumexp")) {
    of_none <- \(x) seg_reduce(x, g = c(NA_integer_, NA, NA), op = op, w = c(1, 0, 2))
    expect_equal(of_none(c(1, 2, 3)), stats::setNames(numeric(), character()), info = op)
    expect_identical(dim(of_none(cbind(c(1, 2, 3), 4))), c(0L, 2L), info = op)
  }
})

test_that("runs of keys accept weights", {
  expect_identical(reduce_by_key(c("a", "a", "b"), c(1, 2, 3), weights = c(1, 10, 100))$values, c(21, 300))
})
