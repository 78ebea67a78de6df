# Code in the style of KeOps for R or Python.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("a single entry is recycled to several entries", {
  column <- Y[, 1, drop = FALSE]
  wide <- column[, c(1, 1, 1)]
  expect_equal(as.matrix(sqdist(Vi(X), Vj(column))), dense_sqdist(X, wide))
  expect_equal(sum(sqdist(Vi(X), 0.5), "j"), cbind(rowSums((X - 0.5)^2)))
  expect_equal(as.matrix(Vj(column) | Vi(X)), X %*% t(wide))
  scale <- diag(sqrt(1:3))
  expect_equal(as.matrix(weightedsqdist(Vi(X), Vj(column), 1:3)), dense_sqdist(X %*% scale, wide %*% scale))
  x <- Vi(X)
  y <- Vj(column)
  expect_equal(as.matrix(grad(sqdist(x, y), 1, y)), -2 * outer(1:10, 1:6, Vectorize(\(i, j) sum(X[i, ] - column[j]))))
  half <- keops_kernel("Sum_Reduction(RatCst(1, 2) * SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(1)"))
  expect_equal(half(list(X, column)), cbind(rowSums(dense_sqdist(X, wide)) / 2))
  expect_equal(sum(lazy_op("SymSqNorm", Pm(diag(3) + 1), x), "j"), cbind(rowSums(X %*% (diag(3) + 1) * X)))
})

test_that("the arguments axis, dim and weights of KeOps are accepted", {
  D <- sqdist(Vi(X), Vj(Y))
  for (same in alist(sum(D, axis = 1), sum(D, dim = 1))) expect_equal(eval(same), sum(D, "j"))
  expect_equal(mean(D, axis = 0), mean(D, "i"))
  expect_equal(min(D, axis = 1), min(D, "j"))
  expect_equal(argmin(D, dim = 1), argmin(D, "j"))
  expect_equal(argKmin(D, 2, axis = 1), argKmin(D, 2, "j"))
  expect_equal(logsumexp(D, axis = 1, weights = Vj(abs(B))), logsumexp(D, "j", Vj(abs(B))))
  expect_equal(sumsoftmaxweight(D, Vj(B), "j"), sumsoftmaxweight(D, "j", Vj(B)))
  expect_equal(sumsoftmaxweight(D, axis = 1, weights = Vj(B)), sumsoftmaxweight(D, "j", Vj(B)))
})

test_that("for numeric arguments, functions of kernops return numbers", {
  expect_identical(square(2), 4)
  expect_identical(relu(-2:2), c(0, 0, 0, 1, 2))
  expect_identical(inv(c(a = 2, b = 4)), c(a = 0.5, b = 0.25))
  expect_equal(rsqrt(matrix(c(1, 4, 9, 16), 2)), matrix(1 / 1:4, 2))
  expect_identical(clamp(1:5, 2, 3), c(2, 2, 3, 3, 3))
  expect_identical(mod(5:6, 3), c(2, 0))
  expect_identical(if_else(c(TRUE, FALSE, TRUE), 1:3, 0), c(1, 0, 3))
  expect_equal(c(norm2(c(3, 4)), sqnorm2(c(3, 4)), sqdist(1:2, 3:4), xlogx(2)), c(5, 25, 8, 2 * log(2)))
  expect_equal(normalize(c(3, 4)), c(0.6, 0.8))
  expect_equal(concat(1, 2:3), c(1, 2, 3))
  expect_identical(c(elem(5:6, 2), extract(1:5, 2, 2)), c(6L, 2L, 3L))
  expect_equal(exp1j(1), exp(1i))
  expect_equal(one_hot(2, 3), c(0, 1, 0))
  expect_equal(square(1i), -1 + 0i)
  expect_length(relu(rnorm(1e5)), 1e5)
})

test_that("conditions select values, and can be combined", {
  D <- sqdist(Vi(X), Vj(Y))
  expect_equal(as.matrix(if_else(D > 1, D, -1)), ifelse(D2 > 1, D2, -1))
  expect_equal(as.matrix(if_else(!(D > 1) & D > 0.5, 1, 0)), 1 * (!(D2 > 1) & D2 > 0.5))
  expect_equal(as.matrix(if_else(lazy_op("LessThan", D, 1), 1, 2)), ifelse(D2 < 1, 1, 2))
  expect_equal(as.matrix((D > 1) | (D < 0.5)), 1 * (D2 > 1 | D2 < 0.5))
  expect_equal(as.matrix(xor(D > 1, D > 0.5)), 1 * xor(D2 > 1, D2 > 0.5))
  expect_equal(as.matrix(if_else(D - 1, 1, 0)), 1 * (D2 >= 1))
})

test_that("complex functions agree with R", {
  z <- cbind(X[, 1] + 1i * X[, 2], X[, 3] - 1i)
  Z <- Vi(z)
  for (f in list(log, sqrt, exp, sin, cos, tan, sinh, cosh, tanh, log2, log10, \(x) log(x, 3), \(x) x^0.5, \(x) x^-2,
                 \(x) x^(1 + 2i), \(x) 2^x, \(x) x^x, square, inv)) {
    expect_equal(sum(f(Z), "j"), f(z), tolerance = 1e-12)
  }
  expect_equal(sum(rsqrt(Z), "j"), 1 / sqrt(z), tolerance = 1e-12)
  expect_equal(as.matrix(Z | Vj(z)), z %*% t(z), tolerance = 1e-12)
})

test_that("derivatives have the short names of KeOps", {
  x <- Vi(X)
  y <- Vj(Y)
  K <- exp(-sqdist(x, y))
  difference <- \(i, j) X[i, ] - Y[j, ]
  pairs <- \(f) outer(1:10, 1:6, Vectorize(f))
  expect_equal(as.matrix(laplacian(K, x)), exp(-D2) * (4 * D2 - 6))
  expect_equal(as.matrix(divergence((x - y)^3, x)), pairs(\(i, j) 3 * sum(difference(i, j)^2)))
  expect_equal(sum(grad_matrix(x^2, x), "j"), t(apply(X, 1, \(v) diag(2 * v))))
  expect_equal(as.matrix(jvp(sqdist(x, y), x, y)), pairs(\(i, j) 2 * sum(difference(i, j) * Y[j, ])))
  expect_equal(sum(hvp(K, x, y), "j")[4, ], Reduce(`+`, lapply(1:6, \(j) {
    d <- difference(4, j)
    exp(-sum(d^2)) * (4 * d * sum(d * Y[j, ]) - 2 * Y[j, ])
  })))
})

test_that("an objective returns its value and gradient for optim() and nlm()", {
  A <- matrix(c(2, 0.5, 0.3, 0, 1, 0.2), 2)
  centre <- Pm(c(1, -1))
  map <- Pm(A)
  K <- exp(-0.1 * sqdist(matvecmult(map, Vi(X)), centre)) * Vj(B[, 1])
  objective <- keops_objective(K, centre, map)
  value <- function(par) {
    moved <- X %*% t(matrix(par[-(1:2)], 2))
    sum(exp(-0.1 * colSums((t(moved) - par[1:2])^2))) * sum(B[, 1])
  }
  par <- objective$par
  expect_identical(par, c(1, -1, A))
  expect_equal(objective$fn(par + 0.1), value(par + 0.1))
  expect_equal(objective$gr(par), as.vector(central_difference(value, par)), tolerance = 1e-6)
  expect_equal(attr(objective$fn(par, gradient = TRUE), "gradient"), objective$gr(par))
  expect_identical(objective$split(par), list(c(1, -1), A))
  near <- keops_objective(sqdist(Vi(X), centre <- Pm(c(0, 0, 0))), centre)
  expect_equal(optim(near$par, near$fn, near$gr, method = "BFGS")$par, colMeans(X), tolerance = 1e-5)
  expect_equal(nlm(near$fn, near$par, gradient = TRUE)$estimate, colMeans(X), tolerance = 1e-4)
  points <- Vi(X)
  expect_equal(keops_objective(sqdist(points, Vj(Y)), points)$gr(X), as.vector(12 * X - rep(2 * colSums(Y), each = 10)))
})

test_mistakes("kernops_error", alist(
  `an axis of vectors` = sum(sqdist(Vi(X), Vj(Y)), axis = 2),
  `nothing to optimise` = keops_objective(sqdist(Vi(X), Vj(Y))),
  `a derivative by something else` = laplacian(sqdist(Vi(X), Vj(Y)), Vi(X + 1)),
  `an order of complex numbers` = Vi(X + 1i) < Vj(Y)
))
