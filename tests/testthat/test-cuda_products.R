# Inner products of long vectors: on a GPU, tensor cores multiply the entries as 16-bit numbers, scaled by powers of
# two.

vectors <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)
entries <- \(n, D) matrix(rnorm(n * D), n) / sqrt(D)
lengths <- c(16, 24, 40, 130, 330, 450)
longest <- \(x) sqrt(rowSums(x^2))

test_that("errors of inner products are proportional to the norms of the vectors", {
  withr::local_seed(1)
  for (D in lengths) {
    x <- entries(131, D) * 10^runif(131, -12, 12)
    y <- entries(67, D) * 10^runif(67, -3, 3)
    x[2, ] <- 0
    y[3, ] <- 0
    x[5, 2] <- 1e25  # too large to be scaled to 16-bit numbers
    x[6, ] <- entries(1, D) * 1e-30  # a GPU flushes values below 1e-38 to 0
    b <- rnorm(67)
    products <- tcrossprod(x, y)
    scale <- pmax(longest(x) * max(longest(y)), 1e-300)
    for_each_backend(\(kernel, precision) {
      near <- \(got, wanted, scale) expect_close(got, wanted, precision, scale = scale, info = paste("D =", D))
      near(kernel("Max_Reduction((x | y), 1)", vectors(D))(list(x, y)), apply(products, 1, max), scale)
      total <- kernel("Sum_Reduction((x | y) * b, 1)", vectors(D, "b = Vj(1)"))
      near(total(list(x, y, b)), products %*% b, scale * sum(abs(b)))
    })
  }
})

test_that("functions of inner products, their gradients and softmax are right", {
  withr::local_seed(2)
  for (D in lengths) {
    x <- entries(131, D) * runif(131)
    y <- entries(67, D) * 10^runif(67, -3, 0)
    y[3, ] <- 0
    b <- rnorm(67)
    u <- cbind(1, entries(67, 19))
    power <- exp(tcrossprod(x, y))
    for_each_backend(\(kernel, precision) {
      close <- \(actual, expected, ...) expect_close(actual, expected, precision, ..., info = paste("D =", D))
      near <- \(actual, expected) close(actual, expected, scale = max(abs(expected)))
      total <- kernel("Sum_Reduction(Exp((x | y)) * b, 1)", vectors(D, "b = Vj(1)"))
      near(total(list(x, y, b)), power %*% b)
      gradient <- keops_grad(total, "x")
      near(gradient(list(x, y, b, rep(1, 131))), power %*% (b * y))
      infinite <- replace(b, 5, Inf)
      expect_equal(gradient(list(x, y, infinite, rep(1, 131))), power %*% (infinite * y))
      close(kernel("Sum_Reduction(Square(1 + (x | y)), 0)", vectors(D))(list(x, y)), colSums((1 + log(power))^2))
      near(kernel("LogSumExp_Reduction((x | y), 1)", vectors(D))(list(x, y)), log(rowSums(power)))
      softmax <- kernel("SumSoftMaxWeight_Reduction((x | y), u, 1)", vectors(D, "u = Vj(20)"))
      near(softmax(list(x, y, u)), power %*% u / rowSums(power))
      # sums of differences x - y, which inner products do not determine
      moved <- kernel("Sum_Reduction(Exp((x | y)) * (x - y), 1)", vectors(D))
      near(moved(list(x, y)), rowSums(power) * x - power %*% y)
      both <- kernel("Sum_Reduction(Exp((x | y) - SqDist(x, y)), 1)", vectors(D))
      square <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * log(power)
      close(both(list(x, y)), rowSums(power * exp(-square)))
    })
  }
})

test_that("small entries of a vector contribute if the matching entries of the other vector are large", {
  withr::local_seed(4)
  D <- 40
  units <- 10^seq(6, -3, length.out = D)
  x <- entries(300, D) %*% diag(units)
  rates <- entries(67, D) %*% diag(1 / units)  # all products have about the same size
  for_each_backend(\(kernel, precision) {
    close <- \(y, x, scales) {
      products <- tcrossprod(x, y)
      scale <- apply(abs(x) %*% t(abs(y)), 1, max)
      largest <- kernel("Max_Reduction((x | y), 1)", vectors(D))
      expect_close(largest(list(x, y)), apply(products, 1, max), precision, scale = scale)
      total <- kernel("Sum_Reduction(Square((x | y)), 1)", vectors(D))
      expect_close(total(list(x, y)), rowSums(products^2), precision)
      moved <- kernel("Sum_Reduction(Sin((x | y)) * y, 1)", vectors(D))
      expect_close(moved(list(x, y)) %*% diag(scales), sin(products) %*% y %*% diag(scales), precision,
                   scale = max(abs(y %*% diag(scales))) * nrow(y))
    }
    close(rates, x, units)
    close(diag(1 / units), x, units)
    close(replace(rates, abs(rates) < 1e-4, 0), x, units)
    close(x[1:67, ] / 1e6, sign(x), 1e6 / units)  # the sums of sin(x | y) y have small entries
  })
})

test_that("sines and cosines of inner products are right for large and small angles", {
  withr::local_seed(3)
  for (D in c(16, 40, 330)) {
    x <- round(16 * entries(131, D) * 10^runif(131, -1, 4)) / 16  # products are exact in float32
    y <- round(16 * entries(67, D)) / 16
    b <- rnorm(67)
    angles <- tcrossprod(x, y)
    exact <- apply(abs(x) %*% t(abs(y)), 1, max) < 2^15
    expect_gt(sum(exact), 90)
    for_each_backend(\(kernel, precision) {
      kept <- \(m) m[exact, , drop = FALSE]
      near <- \(actual, expected) expect_close(kept(actual), kept(expected), precision, scale = sum(abs(b)))
      near(kernel("Sum_Reduction(Cos((x | y)) * b, 1)", vectors(D, "b = Vj(1)"))(list(x, y, b)), cos(angles) %*% b)
      far <- kernel("Sum_Reduction(Sin(64 * (x | y)) * b, 1)", vectors(D, "b = Vj(1)"))
      near(far(list(x, y, b)), sin(64 * angles) %*% b)
      odd <- kernel("Sum_Reduction(Cos((x | y)), 1)", vectors(D))(list(replace(x, 3:4, c(Inf, NaN)), y))
      expect_true(all(is.nan(odd[3:4])))
    })
  }
})
