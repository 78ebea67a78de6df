test_that("values in no group have a missing softmax", {
  withr::local_seed(1)
  for (n in c(3, 40, 3000)) {
    x <- rnorm(n)
    g <- sample(c(NA, 1:3), n, TRUE)
    other <- rep(1e300, n) # the next call reuses memory with these numbers
    rm(other)
    expected <- rep(NA_real_, n)
    for (rows in split(seq_len(n), g)) expected[rows] <- exp(x[rows]) / sum(exp(x[rows]))
    expect_equal(seg_softmax(x, g = g), expected, tolerance = 1e-14)
    expect_equal(seg_reduce(x, g = g, op = "softmax"), expected, tolerance = 1e-14)
    expect_equal(seg_softmax(cbind(x, x), g = factor(g)), cbind(x = expected, x = expected), tolerance = 1e-14)
  }
})
