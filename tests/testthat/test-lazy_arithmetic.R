# Arithmetic and functions of symbolic matrices, against dense matrices in base R.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("R's arithmetic and functions apply entry by entry", {
  x <- Vi(X)
  y <- Vj(Y)
  each <- \(f) t(sapply(1:10, \(i) Reduce(`+`, lapply(1:6, \(j) f(X[i, ], Y[j, ])))))
  p <- 2.5
  cases <- alist(a + b, a - b, a * b, a / (b + 3), -a + b, (a - b)^2, (a - b)^3, (abs(a) + 2)^b, abs(a - b)^0.5,
                 exp(a * b), log(a + b + 4), log(a + b + 4, 2), sqrt(abs(a - b)), abs(a) * sign(b), round(a * b, 1),
                 floor(3 * a + b), ceiling(3 * a + b), trunc(3 * a + b), (a < b) + 2 * (a >= b), (a == a) + (a != b),
                 (3 * a + b) %% 2, (3 * a + b) %/% 2, (a > 0) & (b > 0), !(a > b), p * a + b * 2L, tan(a + b),
                  atan(a / b),
                 sinh(a) * cosh(b), tanh(a - b), expm1(a) * log1p(abs(b)), asin(a / 2) + acos(b / 2), lgamma(a + b + 3),
                 digamma(a + b + 3), trigamma(a + b + 3), log2(a + 2) + log10(b + 2), cos(a) * sin(b), gamma(a + b + 3),
                 a + c(1, 2, 3) * b)
  for (case in cases) {
    lazy <- sum(eval(case, list(a = x, b = y, p = p)), "j")
    expect_close(lazy, each(\(a, b) eval(case, list(a = a, b = b, p = p)) + 0), "float64", 1e-9, info = deparse(case))
  }
  scalar <- alist(a | b, sum(a * b), max(a - b), min(a + b), sqdist(a, b), sqnorm2(a - b), norm2(a - b))
  plain <- list(sqdist = \(a, b) sum((a - b)^2), sqnorm2 = \(a) sum(a^2), norm2 = \(a) sqrt(sum(a^2)),
                `|` = \(a, b) sum(a * b))
  for (case in scalar) {
    expected <- each(\(a, b) eval(case, c(list(a = a, b = b), plain)))
    expect_close(sum(eval(case, list(a = x, b = y)), "j"), t(expected), "float64", info = deparse(case))
  }
  expect_close(sum(max(x, y), "j"), each(pmax), "float64")
  expect_close(sum(min(x, y, 0), "j"), each(\(a, b) pmin(a, b, 0)), "float64")
})

test_that("operations that R lacks are functions of kernops", {
  x <- Vi(X)
  y <- Vj(Y)
  each <- \(f) rbind(sapply(1:10, \(i) Reduce(`+`, lapply(1:6, \(j) f(X[i, ], Y[j, ])))))
  same <- \(lazy, f) expect_close(sum(lazy, "j"), t(each(f)), "float64", info = deparse(substitute(lazy)))
  same(elem(x, 2) * elem(y, 3), \(a, b) a[[2]] * b[[3]])
  same(extract(x * y, 2, 2), \(a, b) (a * b)[2:3])
  same(extractT(elem(x, 1) * elem(y, 1), 2, 4), \(a, b) c(0, a[[1]] * b[[1]], 0, 0))
  same(elemT(elem(x, 1) * elem(y, 1), 2, 4), \(a, b) c(0, a[[1]] * b[[1]], 0, 0))
  same(concat(x, y, 2), \(a, b) c(a, b, 2))
  same(clamp(x + y, -0.5, 0.5), \(a, b) pmin(pmax(a + b, -0.5), 0.5))
  same(if_else(x - y, x, 2 * y), \(a, b) ifelse(a >= b, a, 2 * b))
  same(mod(x + y, 1, -0.5), \(a, b) (a + b + 0.5) %% 1 - 0.5)
  same(relu(x - y) + unit_step(x - y), \(a, b) pmax(a - b, 0) + (a >= b))
  same(rsqrt(square(x) + 1) * inv(y + 3), \(a, b) 1 / sqrt(a^2 + 1) / (b + 3))
  same(tensorprod(x, y), \(a, b) as.vector(t(a %o% b)))
  same(matvecmult(tensorprod(x, y), y), \(a, b) a * sum(b^2))
  same(vecmatmult(x, tensorprod(x, y)), \(a, b) sum(a^2) * b)
  same(weightedsqdist(x, y, c(1, 2, 3)), \(a, b) sum(1:3 * (a - b)^2))
  same(weightedsqnorm(x - y, 2), \(a, b) 2 * sum((a - b)^2))
  same(normalize(x) * y, \(a, b) a / sqrt(sum(a^2)) * b)
  same(sinxdivx(x + y + 3) + xlogx(x + y + 3), \(a, b) sin(a + b + 3) / (a + b + 3) + (a + b + 3) * log(a + b + 3))
  same(one_hot(Vi(rep(2, 10)), 3) * y, \(a, b) c(0, 1, 0) * b)
  same(lazy_op("BesselK", 0.5, norm2(x - y)), \(a, b) besselK(sqrt(sum((a - b)^2)), 0.5))
  same(kron(x, y, c(3, 1), c(1, 3)), \(a, b) as.vector(t(kronecker(matrix(a, 3), matrix(b, 1)))))
  same(tensordot(x, y, 3, 3, 1, 1), \(a, b) sum(a * b))
  path <- \(a, b) sum((a - b)^2) # soft minimum with gamma = 1 of a single path
  same(softdtw(elem(x, 1), elem(y, 1), 1), \(a, b) path(a[[1]], b[[1]]))
  same(bspline(c(-2, 0, 2), elem(x, 1) + 0 * elem(y, 1), 1), \(a, b) 1 - abs(a[[1]]) / 2)
})

test_that("integer division and modulo agree with R if quotients round up", {
  a <- c(1, 5.5, -5.5, 0.9, -1, 7, 0, Inf, NaN, 1e300)
  b <- c(0.1, -0.1, 0.3, 3, -3, 0)
  expect_identical(as.matrix(Vi(a) %/% Vj(b)) + 0, outer(a, b, `%/%`) + 0)
  expect_identical(drop(as.matrix(Vi(a) %/% 0.1)), a %/% 0.1)
  expect_identical(drop(as.matrix(5.5 %/% Vi(c(b, Inf)))), 5.5 %/% c(b, Inf))
})

test_that("inverse hyperbolic functions, functions of multiples of pi, rounding and missing values agree with R", {
  x <- matrix(c(-2.34567, -1, 0, 0.25, 0.5, 123.456), 6)
  y <- matrix(c(0.3, 1, -0.01234), 3)
  K <- Vi(x) * Vj(y)
  dense <- x %*% t(y)
  for (f in list(asinh, sinpi, cospi, \(x) tanpi(x / 7), \(x) atanh(tanh(x)), \(x) acosh(1 + x^2), \(x) signif(x, 2),
                 \(x) signif(x))) {
    expect_equal(as.matrix(f(K)), f(dense), tolerance = 1e-12)
  }
  one <- Vj(matrix(1))
  extreme <- Vi(c(1e300, -1e300, 1 + 1e-10, 1.2345e-305))
  expect_equal(as.vector(sum(asinh(extreme) * one, "j")), asinh(c(1e300, -1e300, 1 + 1e-10, 0)), tolerance = 1e-12)
  expect_equal(as.vector(sum(acosh(extreme) * one, "j"))[c(1, 3)], acosh(c(1e300, 1 + 1e-10)), tolerance = 1e-12)
  expect_equal(as.vector(sum(signif(extreme, 2) * one, "j")), signif(c(1e300, -1e300, 1, 1.2345e-305), 2),
               tolerance = 1e-12)
  expect_identical(as.matrix(is.na(log(K))), suppressWarnings(is.na(log(dense))) + 0)
  expect_error(signif(K, NA), class = "kernops_input_error")
})
