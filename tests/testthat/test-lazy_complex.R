# Symbolic matrices of complex numbers, against dense matrices in base R.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("complex tensors accept and return complex matrices", {
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

test_that("a single complex entry is recycled to several real or complex entries", {
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

test_that("inverse trigonometric functions and their gradients agree with R, also near 0 and branch cuts", {
  withr::local_seed(2)
  near_0 <- 10^runif(300, -12, 2) * exp(1i * runif(300, -pi, pi))
  on_axes <- c(0, 0.3, -0.3, 1, -1, 2, -2, 0.5i, -0.5i, 2i, -2i) # numbers on the real axis and on the imaginary axis
  relative <- \(a, b) max(Mod(a - b) / Mod(b))
  z <- c(near_0, near_0 + 1, near_0 - 1, near_0 + 1i, near_0 - 1i)
  Z <- Vi(z)
  slopes <- list(asin = \(z) 1 / (sqrt(1 - z) * sqrt(1 + z)), acos = \(z) -1 / (sqrt(1 - z) * sqrt(1 + z)),
                 atan = \(z) 1 / (1 + z^2))
  for (name in names(slopes)) {
    f <- get(name)
    expect_lt(relative(sum(f(Z), "j"), f(z)), 1e-14)
    wide <- unname(cbind(on_axes, 3 * on_axes))
    expect_equal(sum(f(Vi(wide)), "j"), f(wide), tolerance = 1e-14)
    smooth <- c(on_axes[c(1:3, 8:9)], z[abs(abs(z^2) - 1) > 0.01])
    S <- Vi(smooth)
    expect_lt(relative(sum(grad(f(S), 1, S), "j"), Conj(slopes[[name]](smooth))), 1e-10)
  }
})

test_that("conditions select complex entries, with their real and imaginary parts", {
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

test_that("operations without a complex version refuse complex numbers", {
  z <- X + 1i * X[, 3:1]
  Z <- Vi(z)
  for (refused in alist(relu(Z), clamp(Z, 0, 1), mod(Z, 2), tensorprod(Z, Z), matvecmult(Z, Z), !Z,
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

test_that("systems with complex right-hand sides are solved", {
  K <- exp(-sqdist(Vi(X), Vj(X)))
  b <- cbind(u = X[, 1] + 1i * X[, 2], v = X[, 3])
  expected <- solve(unname(exp(-as.matrix(dist(X))^2)) + diag(10), b)
  fit <- solve(K, b, lambda = 1, tol = 1e-12)
  expect_identical(colnames(fit), c("u", "v"))
  expect_equal(unname(fit), unname(expected), tolerance = 1e-8)
})

test_that("extraction and insertion treat a complex entry as one entry", {
  z <- X + 1i * X[, 3:1]
  Z <- Vi(z)
  expect_equal(sum(elem(Z, 2), "j"), z[, 2, drop = FALSE])
  expect_equal(sum(extract(Z, 2, 2), "j"), z[, 2:3])
  expect_equal(sum(elemT(elem(Z, 3), 2, 4), "j"), unname(cbind(0, z[, 3], 0, 0)))
  expect_equal(sum(extractT(extract(Z, 1, 2), 2, 4), "j"), unname(cbind(0, z[, 1:2], 0)))
})

test_that("the incoming gradient of complex values may be real, and a single number is recycled", {
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
