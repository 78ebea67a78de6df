# Distances with a weight for each coordinate. For long vectors, the engine multiplies the coordinates by the square
# roots of the weights before it computes contractions (sums over the entries of two vectors) and sums of vectors. For
# short vectors, gradients are multiplied by the weights after the summation.

points <- \(n, D, offset = 0) offset + round(matrix(rnorm(n * D), n) / sqrt(D) * 2^10) / 2^10
sq_dist <- \(x, y, w) outer(drop(x^2 %*% w), drop(y^2 %*% w), `+`) - 2 * tcrossprod(t(t(x) * w), y)
arguments <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "w = Pm(%d)"), D), ...)
by_column <- \(x, w) t(t(x) * w)

# Calls body(kernel, D, x, y, w, close) for few and for many points. In some cases, all points are far from the origin,
# or one point is so far from the others that the squared distances in exponents are not expanded into norms and inner
# products. Weights are positive, or some weights are 0 or negative.
for_each_case <- function(body, sizes = c(3, 12, 17, 33, 100, 170, 300)) {
  withr::local_seed(1)
  for (D in sizes) for (n in list(c(61, 67), c(523, 1100))) {
    positive <- 0.5 + runif(D)
    weights <- list(positive = positive, zeros = replace(positive, c(2, D), 0), negative = replace(positive, 3, -0.2))
    for (kind in names(weights)) for (offset in if (n[1] < 100 && kind == "positive") c(0, 1e4) else 0) {
      x <- points(n[1], D, offset)
      y <- points(n[2], D, offset)
      if (kind == "positive") x[5, 1] <- x[5, 1] + 8
      for_each_backend(\(kernel, precision) {
        close <- \(...) expect_close(..., precision, info = toString(c(D, n, kind, offset)))
        body(kernel, D, x, y, weights[[kind]], close)
      })
    }
  }
}
# Points relative to the first row of x, and the Gaussian kernel of the points.
near <- \(x, y, w) {
  from_first <- \(z) by_column(z, 1) - rep(x[1, ], each = nrow(z))
  list(x = from_first(x), y = from_first(y), k = exp(-sq_dist(from_first(x), from_first(y), w)))
}

test_that("sums and gradients of distances with weights are right", {
  for_each_case(\(kernel, D, x, y, w, close) {
    b <- runif(nrow(y))
    e <- runif(nrow(x))
    seen <- near(x, y, w)
    gauss <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)) * b, 1)", arguments(D, "b = Vj(1)"))
    close(gauss(list(x, y, w, b)), seen$k %*% b)
    k <- seen$k * outer(e, b)
    gradient <- keops_grad(gauss, "x")
    close(gradient(list(x, y, w, b, e)), -2 * by_column(seen$x * rowSums(k) - k %*% seen$y, w))
    close(keops_grad(gauss, "y")(list(x, y, w, b, e)), 2 * by_column(crossprod(k, seen$x) - seen$y * colSums(k), w))
    expect_identical(gradient(list(x, y, w, b, e)), gradient(list(x, y, w, b, e)))
  })
})

test_that("weighted distances are right in sums with many entries per pair", {
  for_each_case(\(kernel, D, x, y, w, close) {
    u <- matrix(runif(nrow(y) * 20), nrow(y))
    k <- near(x, y, w)$k
    wide <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)) * u, 1)", arguments(D, "u = Vj(20)"))
    close(wide(list(x, y, w, u)), k %*% u)
    softmax <- kernel("SumSoftMaxWeight_Reduction(-WeightedSqDist(w, x, y), u, 1)", arguments(D, "u = Vj(20)"))
    close(softmax(list(x, y, w, u)), k %*% u / rowSums(k))
  }, c(17, 33, 170))
})

test_that("Hessians of weighted distances times vectors are right", {
  for_each_case(\(kernel, D, x, y, w, close) {
    b <- runif(nrow(y))
    h <- points(nrow(x), D)
    seen <- near(x, y, w)
    k <- seen$k * rep(b, each = nrow(x))
    along <- drop((seen$x * h) %*% w) - tcrossprod(by_column(h, w), seen$y)
    second <- \(by) kernel(
      sprintf("Grad(Grad(Sum_Reduction(Exp(-WeightedSqDist(w, x, y)) * b, 1), x, 1), %s, h)", by),
      arguments(D, "b = Vj(1)", sprintf("h = Vi(%d)", D))
    )
    data <- list(x, y, w, b, h)
    kd <- k * along
    close(second("x")(data), by_column(-2 * h * rowSums(k) + 4 * (seen$x * rowSums(kd) - kd %*% seen$y), w))
    close(second("y")(data), by_column(2 * crossprod(k, h) - 4 * (crossprod(kd, seen$x) - seen$y * colSums(kd)), w))
  }, c(33, 100))
})

test_that("a weighted difference in a sum may also occur in another operation, or have the opposite sign", {
  withr::local_seed(2)
  formulas <- list("Exp(-WeightedSqDist(w, x, y)) * Sum(x - y) * (w * (x - y))" =
                     \(w, d) exp(-sum(w * d^2)) * sum(d) * w * d,
                   "Inv(1 + WeightedSqDist(w, x, y)) * (w * (y - x))" = \(w, d) -w * d / (1 + sum(w * d^2)),
                   "Exp(-WeightedSqDist(w, x, y)) * (w * (x - y)) * b" = \(w, d) exp(-sum(w * d^2)) * w * d)
  for (weights in list(c(2, 0, 0.5), c(0.5, -0.2, 2))) for (offset in c(0, 1e4)) for (n in c(61, 523)) {
    x <- points(n, 3, offset)
    y <- points(n + 6, 3, offset)
    for_each_backend(\(kernel, precision) for (formula in names(formulas)) {
      term <- \(one, other) formulas[[formula]](weights, one - other)
      expected <- t(apply(x[1:20, ], 1, \(one) rowSums(apply(y, 1, \(other) term(one, other)))))
      reads_b <- grepl("b$", formula)
      sums <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), arguments(3, if (reads_b) "b = Vj(1)"))
      actual <- sums(c(list(x, y, weights), if (reads_b) list(rep(1, n + 6))))
      expect_close(actual[1:20, ], expected, precision, scale = max(abs(expected)),
                   info = toString(c(formula, weights, offset)))
    })
  }
})

test_that("a factor that is taken out of a sum may also occur in another operation", {
  withr::local_seed(1)
  x <- points(61, 3)
  y <- points(67, 3)
  w <- c(0.5, 2, -1)
  formulas <- list(
    "(w * (x - y)) * Exp(-SqNorm2(w * (x - y)))" = \(d) d * exp(-sum(d^2)),
    "(w * (x - y)) * (w * (x - y))" = \(d) d * d,
    "(w * (x - y)) * Norm2(w * (x - y))" = \(d) d * sqrt(sum(d^2)),
    "Exp(-Norm2(w * (x - y))) * (w * (x - y)) + w" = \(d) exp(-sqrt(sum(d^2))) * d + w
  )
  for_each_backend(\(kernel, precision) for (formula in names(formulas)) {
    term <- formulas[[formula]]
    expected <- t(apply(x, 1, \(one) rowSums(apply(y, 1, \(other) term(w * (one - other))))))
    sums <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), arguments(3))
    expect_close(sums(list(x, y, w)), expected, precision, scale = max(abs(expected)), info = formula)
  })
})

test_that("sums of inner products with weighted differences agree with plain R", {
  withr::local_seed(1)
  x <- points(31, 7)
  y <- points(37, 7)
  w <- 2^sample(-1:1, 7, TRUE)
  along <- "(((w * (x - y)) | y) * (y - x)) * ((w * (x - y)) | x)"
  formulas <- list(\(x, y) sum(w * (x - y) * y) * sum(w * (x - y) * x) * (y - x),
                   \(x, y) (y + (x + y) * sum(w * (y - x) * y)) * sum(w * (y - x) * x))
  names(formulas) <- c(along, "((w * (y - x)) | x) * (y + (((x - y) + y + y) * ((w * (y - x)) | y)))")
  for_each_backend(\(kernel, precision) for (formula in names(formulas)) {
    term <- formulas[[formula]]
    expected <- t(apply(x, 1, \(one) rowSums(apply(y, 1, \(other) term(one, other)))))
    sums <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), arguments(7))
    expect_close(sums(list(x, y, w)), expected, precision, scale = max(abs(expected)), info = formula)
  })
})
