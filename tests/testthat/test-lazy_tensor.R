# Symbolic matrices against dense ones of base R.

withr::with_seed(1, {
  X <- uniform(10, 3)
  Y <- uniform(6, 3)
  B <- uniform(6, 3)
})
dense_sqdist <- \(x, y) outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(\(i, j) sum((x[i, ] - y[j, ])^2)))
D2 <- dense_sqdist(X, Y)

test_that("functions of base R are what they were", {
  expect_identical(round(4.5), 4)
  expect_identical(sum(c(1:10, NA), na.rm = TRUE), 55L)
  expect_identical(log(8, 2), 3)
  expect_identical(max(3, 5), 5)
  expect_true(is.primitive(`%*%`))
  expect_identical(diag(2), matrix(c(1, 0, 0, 1), 2))
})

test_that("R's arithmetic and functions work entry by entry", {
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

test_that("operations that R lacks are functions", {
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
  path <- \(a, b) sum((a - b)^2) # gamma = 1, one entry: the soft minimum of nothing else
  same(softdtw(elem(x, 1), elem(y, 1), 1), \(a, b) path(a[[1]], b[[1]]))
  same(bspline(c(-2, 0, 2), elem(x, 1) + 0 * elem(y, 1), 1), \(a, b) 1 - abs(a[[1]]) / 2)
})

test_that("a symbolic matrix is a matrix", {
  K <- exp(-sqdist(Vi(X), Vj(Y)) / 2)
  dense <- exp(-D2 / 2)
  expect_identical(dim(K), c(10L, 6L))
  expect_equal(as.matrix(K), dense, tolerance = 1e-12)
  expect_equal(K %*% B, dense %*% B, tolerance = 1e-12)
  expect_equal(K %*% B[, 1], dense %*% B[, 1], tolerance = 1e-12)
  expect_equal(t(K) %*% (1:10), t(dense) %*% (1:10), tolerance = 1e-12)
  expect_equal((1:10) %*% K, (1:10) %*% dense, tolerance = 1e-12)
  expect_equal(t(X) %*% K, t(X) %*% dense, tolerance = 1e-12)
  expect_equal(K[2:4, -1], dense[2:4, -1], tolerance = 1e-12)
  expect_equal(K[3, 5], dense[3, 5], tolerance = 1e-12)
  expect_equal(K[, 2, drop = FALSE], dense[, 2, drop = FALSE], tolerance = 1e-12)
  expect_equal(as.matrix(t(K)), t(dense), tolerance = 1e-12)
  expect_equal(diag(K), diag(dense), tolerance = 1e-12)
  expect_identical(dim(Vi(X) - Vj(Y)), c(10L, 6L, 3L))
  expect_equal(as.matrix(Vi(X) - Vj(Y))[4, 2, ], X[4, ] - Y[2, ])
  band <- lazy_op("IndexI") <= lazy_op("IndexJ")
  expect_equal(as.matrix(band * K), (row(dense) <= col(dense)) * dense, tolerance = 1e-12)
  expect_equal(as.matrix(t(band * K)), t((row(dense) <= col(dense)) * dense), tolerance = 1e-12)
  G <- exp(-sqdist(Vi(X), Vj(X)))
  solution <- solve(G, X, lambda = 0.1, tol = 1e-12)
  expect_equal(solution, solve(as.matrix(G) + diag(0.1, 10), X), tolerance = 1e-8)
})

test_that("rows and columns are called as their points", {
  x <- `rownames<-`(X, letters[1:10])
  y <- `rownames<-`(Y, LETTERS[1:6])
  K <- exp(-sqdist(Vi(x), Vj(y)) / 2)
  dense <- matrix(exp(-D2 / 2), 10, dimnames = list(letters[1:10], LETTERS[1:6]))
  expect_identical(dimnames(K), dimnames(dense))
  expect_null(dimnames(exp(-sqdist(Vi(X), Vj(Y)))))
  expect_equal(as.matrix(K), dense)
  expect_equal(as.matrix(t(K)), t(dense))
  for (pick in alist(K["c", ], K[, "B"], K[c("a", "j"), c("F", "A")], K[-1, 2:3], K[3, 4], K[2, 2:3, drop = FALSE])) {
    expect_equal(eval(pick), eval(pick, list(K = dense)), info = deparse(pick))
  }
  named <- matrix(1:12, 6, dimnames = list(LETTERS[1:6], c("u", "v")))
  expect_equal(K %*% named, dense %*% named)
  expect_equal(t(K) %*% dense, t(dense) %*% dense)
  expect_equal(t(named) %*% t(K), t(named) %*% t(dense))
  expect_equal(diag(K), diag(dense))
  expect_equal(diag(sqdist(Vi(x), Vj(x))), diag(`dimnames<-`(matrix(0, 10, 10), list(letters[1:10], letters[1:10]))))
  expect_error(K["z", 1], class = "kernops_input_error")
})

test_that("blocks without rows or columns keep their shape", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- exp(-D2)
  for (pick in alist(K[0, ], K[, 0], K[0, 0], K[integer(), 2], K[0, 1:2, drop = FALSE])) {
    expect_equal(dim(eval(pick)), dim(eval(pick, list(K = dense))), info = deparse(pick))
  }
})

test_that("a product says nothing of its methods, and one number is a right-hand side of one point", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  expect_no_message(product <- K %*% Vj(B))
  expect_equal(product, exp(-D2) %*% B)
  one <- exp(-sqdist(Vi(X), Vj(Y[1, , drop = FALSE])))
  expect_equal(one %*% 5, 5 * exp(-D2[, 1, drop = FALSE]))
  expect_equal(5 %*% t(one), t(5 * exp(-D2[, 1, drop = FALSE])))
})

test_that("the address of a tensor that was read from a file is not that of new data", {
  new <- Vi(X, "x")
  old <- new
  old@variables[[1]]$data <- 10 * X # what was at this address in another session
  expect_equal(sum(new + old, "j"), 11 * X)
  expect_equal(sum(old + new * old, "j"), 10 * X + 10 * X^2)
  expect_equal(sum((new + old) + old, "j"), 21 * X)
  expect_length(attr(keops_formula((new + old) + old), "args"), 2)
  expect_equal(logsumexp(elem(old, 1), "j", weight = new^2), log(X^2) + 10 * X[, 1])
})

test_that("every reduction has its function", {
  S <- sqdist(Vi(X), Vj(Y))
  expect_equal(sum(S, "j"), matrix(rowSums(D2)), tolerance = 1e-12)
  expect_equal(sum_reduction(S, "i"), matrix(colSums(D2)), tolerance = 1e-12)
  expect_equal(sum(S, 1), sum(S, "j"))
  expect_equal(sum(S, 0), sum(S, "i"))
  expect_equal(drop(min(S, "j")), apply(D2, 1, min), tolerance = 1e-12)
  expect_equal(drop(max(S, index = "j")), apply(D2, 1, max), tolerance = 1e-12)
  expect_identical(drop(argmin(S, "j")), apply(D2, 1, which.min))
  expect_identical(drop(argmax(S, "j")), apply(D2, 1, which.max))
  expect_equal(min_argmin(S, "i"), cbind(apply(D2, 2, min), apply(D2, 2, which.min)), tolerance = 1e-12)
  expect_equal(max_argmax(S, "i"), cbind(apply(D2, 2, max), apply(D2, 2, which.max)), tolerance = 1e-12)
  expect_equal(Kmin(S, 2, "j"), t(apply(D2, 1, sort))[, 1:2], tolerance = 1e-12)
  expect_identical(argKmin(S, 2, "j"), t(apply(D2, 1, order))[, 1:2])
  expect_equal(Kmin_argKmin(S, 1, "j"), cbind(apply(D2, 1, min), apply(D2, 1, which.min)), tolerance = 1e-12)
  expect_equal(Kmax(S, 2, "j"), t(apply(-D2, 1, sort))[, 1:2] * -1, tolerance = 1e-12)
  expect_identical(argKmax(S, 2, "j"), t(apply(-D2, 1, order))[, 1:2])
  expect_equal(drop(logsumexp(S, "j")), log(rowSums(exp(D2))), tolerance = 1e-12)
  expect_equal(logsumexp(S, "j", weight = Vj(abs(B))), log(exp(D2) %*% abs(B)), tolerance = 1e-12)
  expect_equal(sumsoftmaxweight(S, Vj(B), "j"), exp(D2) %*% B / rowSums(exp(D2)), tolerance = 1e-12)
  expect_equal(sum(S, "j", precision = "float32"), matrix(rowSums(D2)), tolerance = 1e-5)
})

test_that("complex tensors take and give complex matrices", {
  withr::local_seed(1)
  random <- \(n, d) matrix(complex(real = uniform(n, d), imaginary = uniform(n, d)), n)
  a <- random(5, 2)
  b <- random(4, 2)
  each <- \(f) t(sapply(1:5, \(i) Reduce(`+`, lapply(1:4, \(j) f(a[i, ], b[j, ])))))
  for (case in alist(a * b, a + b, a - 2i * b, a / b, a * Re(b) + Im(a), exp(a * b), Conj(a) * b, 2 * a, a / 3, -a * b,
                     a^3 - b,
                     a * Mod(b), (a * b) * Re(b) + a + Re(a))) {
    lazy <- eval(case, list(a = Vi(a), b = Vj(b)))
    expect_s4_class(lazy, "ComplexLazyTensor")
    if (!"b" %in% all.vars(case)) lazy <- lazy + 0 * Vj(b)
    expect_equal(sum(lazy, "j"), each(\(a, b) eval(case)), tolerance = 1e-10, label = deparse(case))
  }
  expect_equal(sum(Mod(Vi(a) * Vj(b)) + Arg(Vj(b)) + abs(Vi(a)), "j"), each(\(a, b) Mod(a * b) + Arg(b) + Mod(a)),
               tolerance = 1e-10)
  expect_equal(drop(sum(sum(Vi(a) * Vj(b)), "j")), drop(each(\(a, b) sum(a * b))), tolerance = 1e-10)
  expect_equal(as.matrix(Vi(a[, 1]) * Vj(b[, 1])), outer(a[, 1], b[, 1]), tolerance = 1e-10)
  expect_equal(sum(exp1j(Vi(X)) * real2complex(Vj(Y)) + imag2complex(Vi(X)), "j"),
               exp(1i * X) * rep(colSums(Y), each = 10) + 6i * X, tolerance = 1e-10)
  waves <- exp(1i * Vi(X[, 1]) * Vj(Y[, 1]))
  expect_equal(sum(waves, "j"), matrix(rowSums(exp(1i * outer(X[, 1], Y[, 1])))), tolerance = 1e-10)
})

test_that("one complex entry repeats where the others are several, real or complex", {
  z <- X[, 1] + 1i * X[, 2]
  Z <- Vi(z)
  W <- Vi(X + 1i * X[, 3:1])
  R <- Vi(X)
  same <- \(lazy, expected) expect_equal(sum(lazy, "j"), expected, tolerance = 1e-12, label = deparse(substitute(lazy)))
  same(1i * R, 1i * X)
  same(R * Z, X * z)
  same(exp(1i * R), exp(1i * X))
  same(R / Z, X / z)
  same(Z / R, z / X)
  same(R - Z, X - z)
  same(W * Z, (X + 1i * X[, 3:1]) * z)
})

test_that("conditions choose complex entries as wholes", {
  z <- X[, 1] + 1i * X[, 2]
  w <- X[, 2] - 3i * X[, 3]
  f <- cbind(X[, 1] - 0.5, 0.4 - X[, 2])
  chosen <- \(a, b) unname(ifelse(f >= 0, a, b))
  both <- \(x) cbind(x, x)
  same <- \(lazy, expected) expect_equal(sum(lazy, "j"), expected, tolerance = 1e-12, label = deparse(substitute(lazy)))
  same(if_else(Vi(f), Vi(both(z)), Vi(both(w))), chosen(both(z), both(w)))
  same(if_else(Vi(f), Vi(z), Vi(both(w))), chosen(both(z), both(w)))
  same(if_else(Vi(f), Vi(z), Vi(w)), chosen(both(z), both(w)))
  same(if_else(Vi(f), Vi(z), 2), chosen(both(z), 2))
  same(if_else(Vi(f[, 1]), Vi(both(z)), 1i), unname(ifelse(both(f[, 1]) >= 0, both(z), 1i)))
  expect_error(if_else(Vi(f), Vi(X + 1i), Vi(w)), class = "kernops_formula_error")
})

test_that("what knows nothing of complex numbers refuses them", {
  z <- X + 1i * X[, 3:1]
  Z <- Vi(z)
  for (refused in alist(square(Z), inv(Z), relu(Z), clamp(Z, 0, 1), mod(Z, 2), tensorprod(Z, Z), matvecmult(Z, Z), !Z,
                        max(Z, Vj(Y + 0i)), lazy_op("Exp", Z), lazy_op("Mult", Z, 2), real2complex(Z), exp1j(Z),
                        sumsoftmaxweight(Re(elem(Z, 1)), Z, "i"), solve(elem(Z, 1) * Vj(Y[, 1]), 1:10))) {
    expect_error(eval(refused), class = "kernops_input_error", label = deparse(refused))
  }
  same <- \(lazy, expected) expect_equal(sum(lazy, "j"), as.matrix(expected), tolerance = 1e-12)
  same(round(Z, 1), round(z, 1))
  same(lazy_op("ComplexExp", Z), exp(z))
  same(lazy_op("Conj", Z) * 1i, Conj(z) * 1i)
  same(lazy_op("ComplexAbs", Z), Mod(z))
  same(if_else(Re(elem(Z, 1)) - 0.5, Z, 2), ifelse(Re(z[, 1]) >= 0.5, 1, 0) * z + ifelse(Re(z[, 1]) >= 0.5, 0, 2))
  same(concat(Vi(X), Z), cbind(X + 0i, z))
  same(normalize(Z) * 1i, 1i * z / sqrt(rowSums(Mod(z)^2)))
  same(sqdist(Z, 2), rowSums(Mod(z - 2)^2))
})

test_that("systems with complex right-hand sides", {
  K <- exp(-sqdist(Vi(X), Vj(X)))
  b <- cbind(u = X[, 1] + 1i * X[, 2], v = X[, 3])
  expected <- solve(unname(exp(-as.matrix(dist(X))^2)) + diag(10), b)
  fit <- solve(K, b, lambda = 1, tol = 1e-12)
  expect_identical(colnames(fit), c("u", "v"))
  expect_equal(unname(fit), unname(expected), tolerance = 1e-8)
})

test_that("complex entries are taken and put as wholes", {
  z <- X + 1i * X[, 3:1]
  Z <- Vi(z)
  expect_equal(sum(elem(Z, 2), "j"), z[, 2, drop = FALSE])
  expect_equal(sum(extract(Z, 2, 2), "j"), z[, 2:3])
  expect_equal(sum(elemT(elem(Z, 3), 2, 4), "j"), unname(cbind(0, z[, 3], 0, 0)))
  expect_equal(sum(extractT(extract(Z, 1, 2), 2, 4), "j"), unname(cbind(0, z[, 1:2], 0)))
})

test_that("a tensor keeps the data it was made from", {
  x <- X + 0
  K <- sqdist(Vi(x), Vj(Y))
  x[1] <- 99
  expect_equal(as.matrix(K), D2, tolerance = 1e-12)
})

test_that("no points have no sums, and the mean without an axis is that of the entries", {
  none <- matrix(0, 0, 3)
  expect_identical(sum(sqdist(Vi(X), Vj(none)), "j"), matrix(0, 10, 1))
  expect_identical(sum(sqdist(Vi(none), Vj(Y)), "j"), matrix(0, 0, 1))
  expect_identical(dim(Vi(none) - Vj(Y)), c(0L, 6L, 3L))
  expect_equal(sum(mean(Vi(X)), "j"), matrix(rowMeans(X)), tolerance = 1e-12)
  expect_equal(mean(sqdist(Vi(X), Vj(Y)), "j"), matrix(rowMeans(D2)), tolerance = 1e-12)
})

test_that("without an axis, R's summaries of a matrix of numbers are numbers", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- exp(-D2)
  same <- \(lazy, expected) expect_equal(lazy, expected, tolerance = 1e-12, label = deparse(substitute(lazy)))
  for (f in c(sum, mean, min, max, range, prod)) same(f(K), f(dense))
  same(sum(t(K) * 2), 2 * sum(dense))
  same(mean(sqnorm2(Vi(X))), mean(rowSums(X^2)))
  same(max(sqnorm2(Vj(Y))), max(rowSums(Y^2)))
  same(sum(norm2(Pm(3:4))), 5)
  same(sum(sqdist(Vi(X[, 1]), Vj(Y[, 1]))), sum(outer(X[, 1], Y[, 1], `-`)^2))
  expect_identical(c(any(K > 2), any(K > 0.5), all(K < 2), all(K < 0.5)), c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(c(any(Vi(X[, 1]) > 0), all(Vi(X[, 1]) > 0)), c(any(X[, 1] > 0), all(X[, 1] > 0)))
  same(range(Vi(X[, 1]) - Vj(Y[, 1])), range(outer(X[, 1], Y[, 1], `-`)))
  z <- outer(1:10, 1:6, \(i, j) mapply(\(i, j) sum(X[i, ] * Y[j, ] * 1i), i, j))
  same(sum(sum(Vi(X) * Vj(Y * 1i))), sum(z))
  same(mean(sum(Vi(X) * Vj(Y * 1i))), mean(z))
  none <- sqdist(Vi(X), Vj(matrix(0, 0, 3)))
  expect_identical(c(sum(none), mean(none), min(none)), c(0, NaN, Inf))
  expect_identical(sum(NaN * K), NaN)
  # of vectors, over their entries; of vectors of one entry, too, where it is said
  expect_equal(dim(sum(Vi(X) * Vj(Y))), c(10, 6))
  expect_equal(sum(lazy_op("Sum", Vi(X[, 1])), "j"), X[, 1, drop = FALSE])
})

test_that("ranges choose the pairs of a reduction", {
  rows <- rbind(c(1, 4), c(5, 10))
  columns <- rbind(c(1, 2), c(3, 6))
  ranges <- from_matrix(rows, columns, diag(2) == 1)
  keep <- outer(1:10 > 4, 1:6 > 2, `==`)
  expect_equal(sum(sqdist(Vi(X), Vj(Y)), "j", ranges = ranges), matrix(rowSums(D2 * keep)), tolerance = 1e-12)
  expect_identical(drop(argmin(sqdist(Vi(X), Vj(Y)), "j", ranges = ranges)),
                   apply(ifelse(keep, D2, Inf), 1, which.min))
})

test_that("1, 1L and 1.0 are one compiled kernel", {
  rm(list = ls(cached("operators")), envir = cached("operators"))
  results <- lapply(list(1, 1L, 1.0, 7), \(one) sum(exp(-one * sqdist(Vi(X), Vj(Y))), "j"))
  expect_length(ls(cached("operators")), 1)
  expect_identical(results[[1]], results[[2]])
  expect_identical(results[[1]], results[[3]])
})

test_that("the same data are one variable", {
  x <- Vi(X)
  expect_length((x - Vi(X) + x)@variables, 1)
})

test_that("products conform as those of matrices do", {
  column <- Vi(X[, 1])
  expect_equal(column %*% 5, X[, 1, drop = FALSE] %*% 5)
  expect_equal(column %*% t(1:4), X[, 1] %*% t(1:4))
  expect_equal(Vj(Y[, 1]) %*% (1:6), t(Y[, 1]) %*% (1:6))
  expect_equal((1:10) %*% column, (1:10) %*% X[, 1])
  for (unfit in alist(column %*% (1:5), (1:5) %*% Vj(Y[, 1]), column %*% Vj(Y[, 1]), Pm(2) %*% (1:5))) {
    expect_error(eval(unfit), class = "kernops_dim_error", label = deparse(unfit))
  }
  expect_s3_class(exp(-sqdist(Vi(3), Vj(3))) %*% Vj(2), "keops_kernel")
})

test_that("points and parameters without data have as many entries as formulas take", {
  most <- 2^20
  expect_no_error(keops_kernel("Sum_Reduction(Sum(x), 1)", sprintf("x = Vi(%d)", most)))
  expect_error(keops_kernel("Sum_Reduction(Sum(x), 1)", sprintf("x = Vi(%d)", most + 1)), class = "kernops_error")
  expect_identical(c(dim(Vi(most))[3], dim(Pm(size = most))[3]), rep(1048576L, 2))
  expect_error(Vj(most + 1), class = "kernops_input_error")
  expect_error(Pm(size = most + 1), class = "kernops_input_error")
})

test_that("a right-hand side is no variable of the matrix, though it has the data of one", {
  b <- X[, 1, drop = FALSE]
  K <- exp(-sqdist(Vi(b), Vj(b)))
  dense <- exp(-outer(b[, 1], b[, 1], `-`)^2)
  expect_equal(solve(K, b, lambda = 10, tol = 1e-12), solve(dense + diag(10, 10), b), tolerance = 1e-9)
  weighted <- K * Vj(b)
  expect_equal(weighted %*% b, dense %*% b^2, tolerance = 1e-12)
})

test_that("a matrix parameter is that matrix", {
  withr::local_seed(14)
  A <- matrix(rnorm(6), 3)
  U <- matrix(rnorm(15), 5)
  S <- crossprod(matrix(rnorm(4), 2))
  Z <- matrix(rnorm(10), 5)
  expect_equal(sum(matvecmult(Pm(A), Vi(Z)), "j"), Z %*% t(A))
  expect_equal(sum(matvecmult(2 * Pm(A), Vi(Z)), "j"), 2 * Z %*% t(A))
  expect_equal(sum(vecmatmult(Vi(U), Pm(A)), "j"), U %*% A)
  expect_equal(sum(tensordot(Pm(A), Vi(Z), c(3, 2), 2, 2, 1), "j"), Z %*% t(A))
  expect_equal(sum(weightedsqnorm(Vi(Z), Pm(S)), "j"), cbind(rowSums(Z %*% S * Z)))
  K <- exp(-sqdist(matvecmult(Pm(A), Vi(Z)), Vj(U)))
  expect_equal(as.matrix(K), exp(-outer(1:5, 1:5, Vectorize(\(i, j) sum((A %*% Z[i, ] - U[j, ])^2)))))
  expect_equal(K[2:3, 1], as.matrix(K)[2:3, 1])
  expect_equal(sum(matvecmult(Pm(A), Vi(2)), "j")(list(Z)), Z %*% t(A))
  a <- Pm(A)
  gradient <- sum(grad(sum(matvecmult(a, Vi(Z))), 1, a), "j")
  expect_equal(gradient, t(apply(Z, 1, \(z) rep(z, 3))))
  for (row in list(A[1, ], t(A[1, ]), cbind(A[1, ]))) expect_equal(sum(matvecmult(Pm(row), Vi(Z)), "j"), Z %*% A[1, ])
  for (unfit in alist(matvecmult(Pm(t(A)), Vi(Z)), Pm(A) * concat(Vi(Z), concat(Vi(Z), Vi(Z))),
                      tensorprod(Pm(A), Vi(Z)), matvecmult(Pm(t(A)), Vi(2)), matvecmult(concat(Pm(A), Pm(A)), Vi(Z)))) {
    expect_error(sum(eval(unfit), "j"), "the parameter", class = "kernops_dim_error", label = deparse1(unfit))
  }
  expect_error(Pm(array(1, c(2, 3, 4))), class = "kernops_dim_error")
})

test_that("each call of Pm() makes a parameter, and numbers are none", {
  number <- 3
  a <- Pm(number)
  b <- Pm(number)
  expect_equal(drop(as.matrix(grad(a * b^2, 1, a))), 9)
  expect_equal(drop(as.matrix(grad(a * b^2, 1, b))), 18)
  made <- lapply(1:2, function(k) Pm(3))
  expect_equal(drop(as.matrix(grad(made[[1]] * made[[2]]^2, 1, made[[1]]))), 9)
  p <- 2
  P <- Pm(p)
  expect_equal(drop(as.matrix(grad(p * P, 1, P))), 2)
  expect_length((P * P + 1 / P)@variables, 2)
  expect_length((p * Vi(X) + p)@variables, 2)
})

test_that("without data, a reduction is an operator that has gradients", {
  withr::local_seed(20)
  op <- sum(exp(-2 * sqdist(Vi(3, "x"), Vj(3, "y"))) * Vj(3, "b"), "j")
  expect_s3_class(op, "keops_kernel")
  expect_equal(op(list(X, Y, B)), exp(-2 * D2) %*% B, tolerance = 1e-12)
  eta <- uniform(10, 3)
  value <- \(x) sum(eta * exp(-2 * dense_sqdist(x, Y)) %*% B)
  expect_close(keops_grad(op, "x")(list(X, Y, B, eta)), central_difference(value, X), "float64", 1e-6)
  scaled <- sum(exp(-Pm(size = 1, name = "s") * sqdist(Vi(3), Vj(3))), "j")
  expect_equal(scaled(list(s = 2, X, Y) |> unname()), matrix(rowSums(exp(-2 * D2))), tolerance = 1e-12)
})

test_that("numbers that are not finite have a place in operators for later data", {
  D <- sqdist(Vi(3), Vj(3))
  op <- min(if_else(-D, Inf, D), "j") # but for the point itself
  S <- `diag<-`(dense_sqdist(X, X), Inf)
  expect_equal(op(list(X, X)), matrix(apply(S, 1, min)), tolerance = 1e-12)
  expect_equal(sum(NaN * D, "j")(list(X, Y)), matrix(NaN, 10))
  expect_equal(max(-Inf + D, "j")(list(X, Y)), matrix(-Inf, 10))
})

test_that("grad() differentiates pair by pair", {
  x <- Vi(X)
  by_x <- sum(grad(exp(-sqdist(x, Vj(Y))), 1, x), "j")
  value <- \(x) sum(exp(-dense_sqdist(x, Y)))
  expect_close(by_x, central_difference(value, X), "float64", 1e-6)
})

test_that("a variable that was saved apart from its formula is told from the formula's own", {
  reread <- function(x) unserialize(serialize(x, NULL))
  x <- Vi(3)
  f <- exp(-sqdist(x, Vj(3)))
  expect_error(grad(reread(f), 1, reread(x)), "no variable of", class = "kernops_input_error")
  both <- reread(list(f = f, x = x))
  value <- \(x) sum(exp(-dense_sqdist(x, Y)))
  expect_close(sum(grad(both$f, 1, both$x), "j")(list(X, Y)), central_difference(value, X), "float64", 1e-6)
})

test_that("the incoming gradient of complex values is complex: real numbers are so, and one repeats", {
  z <- X + 1i * X[, 3:1]
  w <- X[, 2:1] - 1i * X[, 3]
  Z <- Vi(z)
  same <- \(lazy, expected) expect_equal(sum(lazy, "j"), expected, tolerance = 1e-12, label = deparse(substitute(lazy)))
  same(grad(Z * (2 + 3i), 1, Z), matrix(2 - 3i, 10, 3))
  same(grad(Z * (2 + 3i), 1i, Z), matrix((2 - 3i) * 1i, 10, 3))
  same(grad(Z * Vi(z^2), 1i, Z), Conj(z^2) * 1i)
  same(grad(Z * Vi(z^2), Vi(X), Z), Conj(z^2) * X)
  same(grad(Mod(elem(Z, 1)), 1, Z), cbind(z[, 1] / Mod(z[, 1]), 0, 0))
  expect_error(grad(Re(Z), 1i, Z), "must be real", class = "kernops_input_error")
  expect_error(grad(Z * Z, Vi(w), Z), class = "kernops_error")
})

test_that("whole quotients are those of R where quotients round up", {
  a <- c(1, 5.5, -5.5, 0.9, -1, 7, 0, Inf, NaN, 1e300)
  b <- c(0.1, -0.1, 0.3, 3, -3, 0)
  expect_identical(as.matrix(Vi(a) %/% Vj(b)) + 0, outer(a, b, `%/%`) + 0)
  expect_identical(drop(as.matrix(Vi(a) %/% 0.1)), a %/% 0.1)
  expect_identical(drop(as.matrix(5.5 %/% Vi(c(b, Inf)))), 5.5 %/% c(b, Inf))
})

test_that("numbers of several entries, and complex ones, have a place in operators for later data", {
  shifted <- sum(Pm(c(1, -2)) * Vi(2) + c(0.1, 3), "i")
  expect_identical(shifted(list(X[, 1:2])), rbind(colSums(t(t(X[, 1:2]) * c(1, -2) + c(0.1, 3)))))
  waves <- sum(exp(1i * sum(Vi(3) * Vj(3))), "j")
  expected <- rowSums(exp(1i * X %*% t(Y)))
  expect_equal(waves(list(X, Y)), cbind(Re(expected), Im(expected)), tolerance = 1e-12)
})

test_that("blocks of any shape are those of the dense matrix, whatever stands beside infinite entries", {
  inverse <- 1 / sqdist(Vi(X), Vj(rbind(X, X)))
  dense <- 1 / dense_sqdist(X, rbind(X, X))
  expect_equal(as.matrix(inverse), dense)
  waves <- exp(1i * (Vi(X) - Vj(rbind(X, X)))) * lazy_op("IndexJ")
  each <- sapply(1:20, \(j) exp(1i * t(t(X) - rbind(X, X)[j, ])) * j, simplify = "array") |> aperm(c(1, 3, 2))
  for (at in list(list(3, 1:20), list(1:10, 17), list(c(2, 2, 9), 20:3), list(4, 4), list(0, 2:3), list(-1, 0))) {
    i <- at[[1]]
    j <- at[[2]]
    expect_equal(inverse[i, j, drop = FALSE], dense[i, j, drop = FALSE])
    expect_equal(waves[i, j, drop = FALSE], each[i, j, , drop = FALSE])
  }
})

test_that("solve() says which shape is not square", {
  expect_error(solve(sqdist(Vi(X), Vj(Y)), 1:6), "square matrix of scalars: K is 10 x 6", class = "kernops_dim_error")
  expect_error(solve(Vi(X) - Vj(X), 1:10), "square matrix of scalars: K is 10 x 10 x 3", class = "kernops_dim_error")
})

test_that("the numbers in an operator for later data are told apart from variables with such names", {
  amp <- 2
  op <- sum(amp * exp(-sqdist(Vi(3), Vj(3))) * Pm(amp), "j")
  expect_equal(op(list(X, Y)), matrix(rowSums(4 * exp(-D2))), tolerance = 1e-12)
})

test_that("the index of R's reductions is found wherever it stands", {
  S <- sqdist(Vi(X), Vj(Y))
  everything <- from_matrix(cbind(1, 10), cbind(1, 6), matrix(TRUE))
  expect_equal(sum(S, ranges = everything, index = "j"), matrix(rowSums(D2)))
  expect_equal(min(S, ranges = everything, "i"), matrix(apply(D2, 2, min)))
  expect_equal(sum(S, precision = "float64", 1), matrix(rowSums(D2)))
  expect_error(sum(S, precision = "float64"), "index", class = "kernops_input_error")
})

test_that("long formulas stay whole", {
  x <- Vi(X)
  long <- Reduce(`+`, lapply(1:400, \(k) k * x))
  expect_gt(nchar(keops_formula(long)), 3000)
  expect_equal(sum(long, "j"), sum(1:400) * X, tolerance = 1e-12)
})

test_that("k-means by argmin, nearest neighbours and spectra agree with those who specialise in them", {
  withr::local_seed(1)
  points <- matrix(runif(2e5), 1e5)
  centres <- points[1:50, ]
  nearest <- drop(argmin(sqdist(Vi(points), Vj(centres)), "j"))
  some <- sample(1e5, 200)
  expect_identical(nearest[some], apply(dense_sqdist(points[some, ], centres), 1, which.min))
  for (iteration in 1:5) {
    cluster <- drop(argmin(sqdist(Vi(points), Vj(centres)), "j"))
    centres <- rowsum(points, cluster) / tabulate(cluster, 50)
  }
  expect_warning(lloyd <- kmeans(points, points[1:50, ], iter.max = 5, algorithm = "Lloyd"), "did not converge")
  expect_equal(unname(centres), unname(lloyd$centers), tolerance = 1e-12)
  skip_if_not_installed("RSpectra")
  K <- exp(-sqdist(Vi(points[1:300, ]), Vj(points[1:300, ])) * 4)
  leading <- RSpectra::eigs_sym(\(v, K) drop(K %*% v), k = 5, n = 300, args = K)
  expect_equal(leading$values, eigen(as.matrix(K))$values[1:5], tolerance = 1e-10)
  skip_if_not_installed("FNN")
  among <- matrix(runif(3e5), 1e5)
  expect_identical(argKmin(sqdist(Vi(among[1:10000, ]), Vj(among)), 10, "j"),
                   matrix(FNN::knnx.index(among, among[1:10000, ], 10), 10000))
})

test_that("a tensor is shown with its shape, formula and size", {
  x <- X
  y <- Y
  expect_snapshot(exp(-sqdist(Vi(x), Vj(y)) / 2))
  expect_snapshot(sqdist(Vi(3), Vj(3)))
  expect_snapshot(Vi(x * 1i) * Vj(y))
})

test_mistakes("kernops_error", alist(
  `other numbers of points` = Vi(X) + Vi(Y),
  `a matrix that is no variable` = Vi(X) + matrix(1, 2, 2),
  `sizes that do not fit` = sqdist(Vi(X), c(1, 2)),
  `text` = Vi("a"),
  `an array` = Vi(array(1, c(2, 2, 2))),
  `no axis` = prod(Vi(X)),
  `no axis, and vectors for a range` = range(Vi(X)),
  `no axis, and points of one entry` = sum((Vi(X[, 1]) - Vj(Y[, 1]))^2),
  `no axis, and points of one complex entry` = sum(Vi(X[, 1]) * Vj(Y[, 1] * 1i)),
  `no axis, and a column that weights` = max(sqdist(Vi(X), Vj(Y)) * Vj(Y[, 1])),
  `no axis, and a mean over points of one entry` = mean(Vi(X[, 1])),
  `no axis, and no data` = sum(sqdist(Vi(3), Vj(3))),
  `a mean with something else for the axis` = mean(sqdist(Vi(X), Vj(Y)), na.rm = TRUE),
  `the largest of complex numbers without an axis` = max(sum(Vi(X) * Vj(Y * 1i))),
  `missing numbers` = anyNA(sqdist(Vi(X), Vj(Y))),
  `an axis that does not exist` = sum(Vi(X), "k"),
  `an unknown operation` = lazy_op("Gauss", Vi(X)),
  `a function without a symbolic twin` = cumsum(Vi(X)),
  `some data only` = sum(sqdist(Vi(X), Vj(3)), "j"),
  `numbers of what has none` = as.matrix(Vi(3) - Vj(3)),
  `an entry out of reach` = elem(Vi(X), 4),
  `one index` = sqdist(Vi(X), Vj(Y))[3],
  `entries that are set` = local({K <- sqdist(Vi(X), Vj(Y)); K[1, 1] <- 0}),
  `a product of symbolic matrices` = sqdist(Vi(X), Vj(Y)) %*% sqdist(Vi(Y), Vj(X)),
  `distances for points` = Vi(dist(X)),
  `a data frame with a factor` = Vi(iris),
  `a sparse matrix` = Vi(Matrix::Matrix(X, sparse = TRUE)),
  `a factor` = Vi(iris$Species),
  `nothing` = Vi(NULL),
  `one number that is no size` = Vi(2.5),
  `too many arguments` = lazy_op("Exp", Vi(X), Vj(Y)),
  `a tensor for an index` = sumsoftmaxweight(sqdist(Vi(X), Vj(Y)), "j", Vj(Y)),
  `no reduction of this name` = lazy_reduce(Vi(X), "Foo", "j"),
  `no index` = argmin(sqdist(Vi(X), Vj(Y))),
  `ranges without data` = sum(sqdist(Vi(3), Vj(3)), "j", ranges = list()),
  `rows that are not there` = sqdist(Vi(X), Vj(Y))[11, 1],
  `the inverse` = solve(sqdist(Vi(X), Vj(X))),
  `a derivative by an expression` = grad(Vi(X), 1, Vi(X) + 1),
  `a derivative by a variable of something else` = grad(sqdist(Vi(X), Vj(Y)), 1, Vi(X + 1)),
  `na.rm of a sum` = sum(Vi(X), "j", na.rm = TRUE),
  `na.rm of a mean` = mean(Vi(X), "j", na.rm = TRUE),
  `a product with nothing` = sqdist(Vi(X), Vj(Y)) %*% NULL,
  `a product with words` = sqdist(Vi(X), Vj(Y)) %*% "a",
  `a system with a symbolic right-hand side` = solve(sqdist(Vi(X), Vj(X)), Vj(X)),
  `the largest of complex numbers` = max(Vi(X + 1i), "j"),
  `a product of complex numbers` = prod(Vi(X + 1i), "j"),
  `the largest entry of complex numbers` = max(Vi(X + 1i)),
  `a name with spaces` = Vi(X, "my x"),
  `an index of LazyTensor()` = LazyTensor(X, "k"),
  `a tensor for an exponent` = lazy_op("Pow", Vi(X), Vj(Y)),
  `a tensor for an entry` = elem(Vi(X), Vj(Y)),
  `a tensor for a number of entries` = extract(Vi(X), 1, Vj(Y)),
  `a tensor for the width of a vector` = one_hot(elem(Vi(X), 1), Vj(Y)),
  `a tensor for a shape` = tensordot(Vi(X), Vj(Y), Vj(Y), 3, 1, 1),
  `a dimension out of reach` = tensordot(Vi(X), Vj(Y), 3, 3, 2, 1),
  `dimensions of other lengths` = tensordot(Vi(X), elem(Vj(Y), 1), 3, 1, 1, 1),
  `no permutation` = tensordot(Vi(X), Vj(Y), 3, 3, NULL, NULL, c(3, 1)),
  `entries out of reach` = extract(Vi(X), 2, 3),
  `entries put out of reach` = extractT(Vi(X), 2, 3),
  `an entry put out of reach` = elemT(elem(Vi(X), 1), 4, 3),
  `more entries than a formula takes` = Vi(1e10),
  `more entries than a formula takes, of a parameter` = Pm(size = 1e10),
  `a derivative of a number` = grad(5, 1, Vi(X)),
  `words for a bound` = clamp(Vi(X), "low", 1),
  `no numbers for a factor` = Vi(X) * numeric(),
  `digits that count from the first` = signif(Vi(X), 2),
  `two indices` = sum(sqdist(Vi(X), Vj(Y)), "j", "j"),
  `a column times too many numbers` = Vi(X[, 1]) %*% 1:6,
  `numbers for a parameter, and their size` = Pm(1:3, size = 2),
  `vectors times a vector` = (Vi(X) - Vj(Y)) %*% 1:6
))
