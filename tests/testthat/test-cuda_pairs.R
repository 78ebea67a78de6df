# What the kernels of a GPU do in a way of their own, next to the CPU and the oracle.

expect_near <- function(actual, expected, precision) {
  expect_close(actual, expected, precision, scale = max(row_scale(expected)))
}

test_that("sines and cosines of few turns, of many, and of none", {
  withr::local_seed(2)
  y <- round(64 * uniform(500, 1)) / 64
  b <- cbind(rnorm(500), 1)
  sizes <- list(few = rep(1, 600), thousand = rep(1000, 600), many = rep(1e5, 600), both = 10^runif(600, -1, 5))
  for_each_backend(\(kernel, precision) {
    args <- c("x = Vi(1)", "y = Vj(1)", "b = Vj(2)")
    for (size in sizes) {
      x <- round(64 * size * uniform(600, 1)) / 64  # differences are exact in float32
      angles <- outer(x[, 1], y[, 1], `-`)
      data <- list(x, y, b)
      expect_near(kernel("Sum_Reduction(Cos(x - y) * b, 1)", args)(data), cos(angles) %*% b, precision)
      expect_near(kernel("Sum_Reduction(Sin(x - y) * b, 1)", args)(data), sin(angles) %*% b, precision)
      decays <- kernel("Sum_Reduction(Exp(-Square(x - y)) * Cos(x - y) * b, 1)", args)
      expect_near(decays(data), (exp(-angles^2) * cos(angles)) %*% b, precision)
      expect_near(kernel("Max_Reduction(Cos(x - y), 1)", args[-3])(data[-3]), apply(cos(angles), 1, max), precision)
    }
    odd <- kernel("Sum_Reduction(Cos(x - y), 1)", args[-3])(list(replace(x, 3:5, c(Inf, -Inf, NaN)), y))
    expect_true(all(is.nan(odd[3:5])))
    expect_near(odd[-(3:5), , drop = FALSE], rowSums(cos(angles))[-(3:5)], precision)
  })
})

test_that("each cosine of a float is right to 2e-7", {
  withr::local_seed(3)
  x <- matrix(c(10^runif(5000, -6, 3), pi * (1:300) / 2, 1e7 * runif(100)))
  x[] <- readBin(writeBin(c(x), raw(), size = 4), "numeric", length(x), size = 4)  # rounded to floats
  for_each_backend(\(kernel, precision) {
    for (name in c("Cos", "Sin")) {
      each <- kernel(sprintf("Sum_Reduction(%s(x + y), 1)", name), c("x = Vi(1)", "y = Vj(1)"))
      expect_lt(max(abs(each(list(x, matrix(0))) - get(tolower(name))(x))), if (precision == "float32") 2e-7 else 1e-12)
    }
  })
})
