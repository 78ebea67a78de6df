# Code paths that only GPU kernels have, compared with the CPU and with plain R.

expect_near <- function(actual, expected, precision) {
  expect_close(actual, expected, precision, scale = max(row_scale(expected)))
}

test_that("distances with a weight for each coordinate are right for any signs, near and far from the origin", {
  withr::local_seed(1)
  for (D in c(2, 8)) {
    x <- round(64 * uniform(300, D)) / 64  # exact in float32, also when shifted
    y <- round(64 * uniform(270, D)) / 64
    b <- rnorm(270)
    args <- c(sprintf(c("s = Pm(%d)", "x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)")
    scales <- rep_len(c(2, 0.5, 1, 0.25), D)
    for_each_backend(\(kernel, precision) {
      gauss <- kernel("Sum_Reduction(Exp(-WeightedSqDist(s, x, y)) * b, 1)", args)
      soft <- kernel("LogSumExp_Reduction(-WeightedSqDist(s, x, y), 1)", args[-4])
      root <- "Sqrt(WeightedSqDist(s, x, y))"
      laplace <- kernel(sprintf("Sum_Reduction(Exp(-%s) * b, 1)", root), args)
      matern <- kernel(sprintf("Sum_Reduction((1 + %1$s) * Exp(-%1$s) * b, 1)", root), args)
      cauchy <- kernel("Sum_Reduction(b / (1 + WeightedSqDist(s, x, y)), 1)", args)
      weights <- list(scales, replace(scales, 1, 0), replace(scales, 2, -0.5), -scales, 40 * scales)
      for (s in weights) for (moved in c(0, 4, 2^12)) {
        squares <- Reduce(`+`, lapply(seq_len(D), \(d) s[d] * outer(x[, d], y[, d], `-`)^2))
        data <- list(s, x + moved, y + moved, b)
        expect_near(gauss(data), exp(-squares) %*% b, precision)
        expect_close(soft(data[-4]), log(rowSums(exp(-squares))), precision)
        if (min(s) < 0) next
        expect_near(laplace(data), exp(-sqrt(squares)) %*% b, precision)
        expect_near(matern(data), ((1 + sqrt(squares)) * exp(-sqrt(squares))) %*% b, precision)
        expect_near(cauchy(data), (1 / (1 + squares)) %*% b, precision)
      }
    })
  }
})

test_that("exponents are expanded if the weights of a distance are parameters", {
  expands <- function(formula) {
    op <- keops_kernel(formula, c("s = Pm(8)", "x = Vi(8)", "y = Vj(8)"), precision = "float32")
    grepl("expands = true", keops_source(op), fixed = TRUE)
  }
  expect_true(expands("Sum_Reduction(Exp(-WeightedSqDist(s, x, y)), 1)"))
  expect_true(expands("Sum_Reduction(Exp(-WeightedSqDist(Inv(Square(s)), x, y)), 1)"))
  expect_true(expands("Sum_Reduction(Exp(-Sqrt(WeightedSqDist(s, x, y))), 1)"))
  expect_false(expands("Sum_Reduction(Exp(-WeightedSqDist(s + x, x, y)), 1)"))  # here the weights differ by row
})

test_that("sines and cosines of small, large and zero arguments are right", {
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

test_that("the cosine of every float32 number is right to 2e-7", {
  withr::local_seed(3)
  x <- matrix(c(10^runif(5000, -6, 3), pi * (1:300) / 2, 1e7 * runif(100)))
  x[] <- readBin(writeBin(c(x), raw(), size = 4), "numeric", length(x), size = 4)  # rounded to float32
  for_each_backend(\(kernel, precision) {
    for (name in c("Cos", "Sin")) {
      each <- kernel(sprintf("Sum_Reduction(%s(x + y), 1)", name), c("x = Vi(1)", "y = Vj(1)"))
      expect_lt(max(abs(each(list(x, matrix(0))) - get(tolower(name))(x))), if (precision == "float32") 2e-7 else 1e-12)
    }
  })
})
