# Sums of a scalar of each pair times x - y, for short vectors. Such sums occur in gradients of functions of the
# distance. Points are near or distant, and some scalars are very large or not finite.

points <- \(n, D, spread = 1) round(spread * matrix(rnorm(n * D), n) / sqrt(D) * 2^10) / 2^10
declared <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "w = Pm(%d)"), D), ...)
# Entry k of the sum over j of number[i, j] (x[i, k] - y[j, k]), where `of` is applied to each term.
sum_of_differences <- \(number, x, y, of = identity) {
  vapply(seq_len(ncol(x)), \(k) rowSums(of(number * outer(x[, k], y[, k], `-`))), numeric(nrow(x)))
}
# The scale of rounding errors: sums of the absolute values of the terms, because terms may cancel.
size_of_terms <- \(number, x, y) row_scale(sum_of_differences(number, x, y, abs))
sq_dist <- \(x, y, w) Reduce(`+`, lapply(seq_len(ncol(x)), \(k) w[k] * outer(x[, k], y[, k], `-`)^2))

# Calls body(kernel, x, y, close) for points near each other, for one point far from the others, and for mostly distant
# points; for few pairs, and for more than one tile.
for_each_case <- function(body, sizes = c(1, 2, 3, 4, 5, 8, 10)) {
  withr::local_seed(1)
  for (D in sizes) for (n in list(c(23, 31), c(300, 601))) for (spread in c(0.5, 1, 6)) {
    x <- points(n[1], D, spread)
    y <- points(n[2], D, spread)
    if (spread == 1) x[5, ] <- x[5, ] + 9
    for_each_backend(\(kernel, precision) {
      close <- \(...) expect_close(..., precision, info = toString(c(D, n, spread)))
      body(kernel, x, y, close)
    })
  }
}

test_that("gradients of a Gaussian of short vectors are right, in x and in y", {
  for_each_case(\(kernel, x, y, close) {
    D <- ncol(x)
    b <- runif(nrow(y)) - 0.3
    e <- runif(nrow(x))
    k <- exp(-0.7 * sq_dist(x, y, rep(1, D))) * outer(e, b)
    gauss <- kernel("Sum_Reduction(Exp(-0.7 * SqDist(x, y)) * b, 1)", c(declared(D)[1:2], "b = Vj(1)"))
    in_x <- keops_grad(gauss, "x")
    close(in_x(list(x, y, b, e)), -1.4 * sum_of_differences(k, x, y), scale = size_of_terms(k, x, y))
    in_y <- keops_grad(gauss, "y")(list(x, y, b, e))
    close(in_y, -1.4 * sum_of_differences(t(k), y, x), scale = size_of_terms(t(k), y, x))
    expect_identical(in_x(list(x, y, b, e)), in_x(list(x, y, b, e)))
  })
})

test_that("gradients are right if weights of the coordinates are zero or negative", {
  for_each_case(\(kernel, x, y, close) {
    D <- ncol(x)
    b <- runif(nrow(y))
    positive <- 0.5 + runif(D)
    for (w in list(positive, replace(positive, D, 0), replace(positive, 1, -0.01))) {
      k <- exp(-sq_dist(x, y, w)) * rep(b, each = nrow(x))
      gauss <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)) * b, 1)", declared(D, "b = Vj(1)"))
      gradient <- keops_grad(gauss, "x")(list(x, y, w, b, rep(1, nrow(x))))
      close(gradient, -2 * sum_of_differences(k, x, y) * rep(w, each = nrow(x)), scale = size_of_terms(k, x, y))
    }
  }, c(2, 3, 8))
})

test_that("kernel-weighted sums of y - x are right, with and without a weight of each y", {
  for_each_case(\(kernel, x, y, close) {
    D <- ncol(x)
    k <- exp(-0.4 * sq_dist(x, y, rep(1, D)))
    shift <- kernel("Sum_Reduction(Exp(-0.4 * SqDist(x, y)) * (y - x), 1)", declared(D)[1:2])
    close(shift(list(x, y)), -sum_of_differences(k, x, y), scale = size_of_terms(k, x, y))
    twice <- kernel("Sum_Reduction((Exp(-0.4 * SqDist(x, y)) * (b + Exp(-0.8 * SqDist(x, y)))) * (y - x), 1)",
                    c(declared(D)[1:2], "b = Vj(1)"))
    b <- runif(nrow(y))
    number <- k * (rep(b, each = nrow(x)) + k^2)
    close(twice(list(x, y, b)), -sum_of_differences(number, x, y), scale = size_of_terms(number, x, y))
  }, c(2, 5))
})

test_that("gradients at infinite, NaN, huge and tiny numbers agree with sums of differences x - y", {
  withr::local_seed(1)
  for (D in c(2, 6)) for (value in c(Inf, -Inf, NaN, 1e30, 1e-30)) {
    x <- points(40, D)
    y <- points(50, D)
    b <- replace(runif(50), 7, value)
    number <- exp(-0.7 * sq_dist(x, y, rep(1, D))) * rep(b, each = 40)
    want <- sum_of_differences(number, x, y)
    for_each_backend(\(kernel, precision) {
      sum <- kernel("Sum_Reduction((Exp(-0.7 * SqDist(x, y)) * b) * (x - y), 1)", c(declared(D)[1:2], "b = Vj(1)"))
      got <- sum(list(x, y, b))
      expect_identical(is.nan(got), is.nan(want))
      expect_identical(got[is.infinite(want)], want[is.infinite(want)])
      if (is.finite(value)) expect_close(got, want, precision, info = value)
    })
  }
})

test_that("sums of exponentials that grow with the distance are right until they overflow", {
  withr::local_seed(1)
  x <- pmin(pmax(points(300, 3), -1), 1)
  y <- pmin(pmax(points(80, 3), -1), 1)
  # the points of one pair are far apart, and the pair has a large weight
  x[9, ] <- c(-1.875, 0, 0)
  y[7, ] <- -x[9, ]
  b <- replace(runif(80), 7, 9e17)
  for (growth in c(0.5, 3, 6)) {
    number <- exp(growth * sq_dist(x, y, rep(1, 3))) * rep(b, each = 300)
    overflows <- apply(number, 1, max) > 1e39
    for_each_backend(\(kernel, precision) {
      sum <- kernel("Sum_Reduction((Exp(g * SqDist(x, y)) * b) * (x - y), 1)",
                    c(declared(3)[1:2], "b = Vj(1)", "g = Pm(1)"))
      got <- sum(list(x, y, b, growth))
      single <- precision == "float32"
      kept <- rowSums(number) < (if (single) 1e37 else Inf)
      expect_close(got[kept, ], sum_of_differences(number, x, y)[kept, ], precision, info = growth)
      expect_false(any(is.finite(got[single & overflows, ])))
    })
  }
})

test_that("all summation schemes give the same gradient", {
  withr::local_seed(1)
  x <- points(300, 3)
  y <- points(400, 3)
  number <- exp(-0.7 * sq_dist(x, y, rep(1, 3)))
  for_each_backend(\(kernel, precision) {
    for (scheme in c("auto", "direct_sum", "block_sum", "kahan_scheme")) {
      sum <- kernel("Sum_Reduction(Exp(-0.7 * SqDist(x, y)) * (x - y), 1)", declared(3)[1:2], sum_scheme = scheme)
      expect_close(sum(list(x, y)), sum_of_differences(number, x, y), precision, info = scheme)
    }
  })
})
