# Operations that are composed of others: tensors, splines, soft dynamic time warping, derivatives in formulas.

# tensor() makes an array from entries in row-major order; flat() returns the entries of an array in row-major order.
tensor <- \(a, shape) aperm(array(a, rev(shape)), rev(seq_along(shape)))
flat <- \(t) as.vector(aperm(t, rev(seq_along(dim(t)))))

# Contraction by a loop over all index pairs.
tensor_dot <- function(a, b, sum_a, sum_b) {
  kept_a <- setdiff(seq_along(dim(a)), sum_a)
  kept_b <- setdiff(seq_along(dim(b)), sum_b)
  left <- matrix(aperm(a, c(kept_a, sum_a)), prod(dim(a)[kept_a]))
  right <- matrix(aperm(b, c(sum_b, kept_b)), ncol = prod(dim(b)[kept_b]))
  array(left %*% right, c(dim(a)[kept_a], dim(b)[kept_b]))
}

# Expects that the sum over j of a formula of x (Vi) and y (Vj) agrees with the sum of f(x_i, y_j) in plain R, and that
# the gradients of the two sums agree.
expect_pairwise <- function(formula, f, x, y, info = formula) {
  value <- \(x, y) t(vapply(seq_len(nrow(x)), \(i) Reduce(`+`, lapply(seq_len(nrow(y)), \(j) f(x[i, ], y[j, ]))),
                            f(x[1, ], y[1, ])))
  as_rows <- \(v) if (length(f(x[1, ], y[1, ])) == 1) t(v) else v
  expected <- as_rows(value(x, y))
  eta <- uniform(nrow(expected), ncol(expected))
  objective <- \(x, y) sum(eta * as_rows(value(x, y)))
  slope_x <- central_difference(\(x) objective(x, y), x)
  slope_y <- central_difference(\(y) objective(x, y), y)
  for_each_backend(function(kernel, precision) {
    op <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), sprintf(c("x = Vi(%d)", "y = Vj(%d)"), c(ncol(x), ncol(y))))
    expect_close(op(list(x, y)), expected, precision, info = info)
    expect_close(keops_grad(op, "x")(list(x, y, eta)), slope_x, precision, gradient_tolerance[[precision]])
    expect_close(keops_grad(op, "y")(list(x, y, eta)), slope_y, precision, gradient_tolerance[[precision]])
  })
}

test_that("TensorDot contracts any dimensions and permutes the rest", {
  withr::local_seed(1)
  shape_a <- c(2, 3, 2, 2, 4)
  shape_b <- c(2, 4, 2, 3, 2, 3)
  x <- uniform(2, prod(shape_a))
  y <- uniform(3, prod(shape_b))
  contracted <- \(a, b) tensor_dot(tensor(a, shape_a), tensor(b, shape_b), c(5, 1, 3), c(2, 5, 3))
  lists <- "[2,3,2,2,4], [2,4,2,3,2,3], [4,0,2], [1,4,2]"
  expect_pairwise(sprintf("TensorDot(x, y, %s)", lists), \(a, b) flat(contracted(a, b)), x, y)
  as_in_keops <- gsub("]", ")", gsub("[", "Ind(", lists, fixed = TRUE), fixed = TRUE)
  expect_pairwise(sprintf("TensorDot(x, y, %s)", as_in_keops), \(a, b) flat(contracted(a, b)), x, y)
  # `perm` moves dimension n of the product to position perm[n]
  moved <- \(a, b) flat(aperm(contracted(a, b), order(c(4, 3, 2, 0, 1))))
  expect_pairwise(sprintf("TensorDot(x, y, %s, [4,3,2,0,1])", lists), moved, x, y)
})

test_that("Kron is the Kronecker product of matrices and of tensors", {
  withr::local_seed(2)
  x <- uniform(2, 6)
  y <- uniform(3, 8)
  matrices <- \(a, b) flat(kronecker(tensor(a, c(2, 3)), tensor(b, c(4, 2))))
  expect_pairwise("Kron(x, y, [2,3], [4,2])", matrices, x, y)
  tensors <- \(a, b) flat(kronecker(tensor(a, c(3, 2, 1)), tensor(b, c(1, 2, 4))))
  expect_pairwise("Kron(x, y, [3,2,1], [1,2,4])", tensors, x, y)
  wide <- \(a, b) flat(kronecker(tensor(a, c(3, 2, 1, 2)), tensor(b, c(1, 2, 2, 3))))
  expect_pairwise("Kron(x, y, [3,2,1,2], [1,2,2,3])", wide, uniform(2, 12), uniform(2, 12))
})

test_that("BSpline has the values and slopes of splines::splineDesign()", {
  skip_if_not_installed("splines")
  withr::local_seed(3)
  knots <- dyadic((0:8 + runif(9, -0.2, 0.2)) / 8)
  x <- uniform(20, low = 0.3, high = 0.7) / 8 + sample(3:5, 20, replace = TRUE) / 8 # away from the knots
  for (order in 0:3) for_each_backend(function(kernel, precision) {
    args <- c("k = Pm(9)", "x = Vi(1)", "w = Vj(1)")
    op <- kernel(sprintf("Sum_Reduction(BSpline(k, x, %d) * w, 1)", order), args)
    expected <- splines::splineDesign(knots, x, order + 1, outer.ok = TRUE)
    expect_close(op(list(knots, x, 1)), expected, precision)
    if (order == 0) return()
    slopes <- splines::splineDesign(knots, x, order + 1, rep(1, 20), outer.ok = TRUE)
    expect_close(keops_grad(op, "x")(list(knots, x, 1, matrix(1:(8 - order), 20, 8 - order, TRUE))),
                 slopes %*% (1:(8 - order)), precision, gradient_tolerance[[precision]])
    objective <- \(k) sum(splines::splineDesign(k, x, order + 1, outer.ok = TRUE) %*% (1:(8 - order)))
    expect_close(keops_grad(op, "k")(list(knots, x, 1, matrix(1:(8 - order), 20, 8 - order, TRUE))),
                 central_difference(objective, knots), precision, 10 * gradient_tolerance[[precision]])
  })
})

# Soft dynamic time warping cell by cell (Cuturi and Blondel 2017).
soft_dtw <- function(a, b, gamma) {
  soft_min <- \(v) min(v) - gamma * log(sum(exp((min(v) - v) / gamma)))
  cost <- matrix(Inf, length(a) + 1, length(b) + 1)
  cost[1, 1] <- 0
  for (i in seq_along(a)) for (j in seq_along(b)) {
    cost[i + 1, j + 1] <- (a[[i]] - b[[j]])^2 + soft_min(c(cost[i, j], cost[i, j + 1], cost[i + 1, j]))
  }
  cost[length(a) + 1, length(b) + 1]
}

test_that("SoftDTW_SqDist aligns series of any lengths, and has a gradient in its smoothing parameter too", {
  withr::local_seed(4)
  for (sizes in list(c(1, 1), c(1, 4), c(4, 1), c(3, 3), c(5, 3), c(3, 6))) {
    x <- uniform(3, sizes[[1]])
    y <- uniform(2, sizes[[2]])
    expect_pairwise("SoftDTW_SqDist(x, y, 0.5)", \(a, b) soft_dtw(a, b, 0.5), x, y, info = toString(sizes))
  }
  total <- \(gamma) sum(apply(x, 1, \(a) apply(y, 1, \(b) soft_dtw(a, b, gamma))))
  for_each_backend(function(kernel, precision) {
    op <- kernel("Sum_Reduction(SoftDTW_SqDist(x, y, g), 1)", c("x = Vi(3)", "y = Vj(6)", "g = Pm(1)"))
    by_gamma <- keops_grad(op, "g")(list(x, y, 0.5, rep(1, 3)))
    expect_close(by_gamma, central_difference(total, 0.5), precision, gradient_tolerance[[precision]])
  })
})

test_that("the trace and the adjoint of a linear map agree with the matrix of the map", {
  withr::local_seed(5)
  A <- matrix(rnorm(9), 3)
  B <- matrix(rnorm(6), 2)
  x <- matrix(rnorm(12), 4)
  u <- matrix(rnorm(10), 5)
  trace <- keops_kernel("Sum_Reduction(TraceOperator(Exp(-SqNorm2(y)) * MatVecMult(A, x), x), 1)",
                        c("A = Pm(9)", "x = Vi(3)", "y = Vj(2)"))
  expect_equal(trace(list(as.vector(t(A)), x, u)), matrix(sum(exp(-rowSums(u^2))) * sum(diag(A)), 4), tolerance = 1e-12)
  adjoint <- keops_kernel("Sum_Reduction(AdjointOperator(MatVecMult(B, x), x, u), 1)",
                          c("B = Pm(6)", "x = Vi(3)", "u = Vj(2)"))
  expect_equal(adjoint(list(as.vector(t(B)), x, u)), matrix(colSums(u %*% B), 4, 3, byrow = TRUE), tolerance = 1e-12)
})

test_that("GradMatrix, Diff, Divergence and Laplacian are derivatives", {
  withr::local_seed(5)
  x <- uniform(3, 3)
  y <- uniform(2, 3)
  u <- c(0.5, -1, 2)
  field <- \(a, b) exp(-sum((a - b)^2)) * (a - b)
  by_a <- \(f, a, b) sapply(1:3, \(k) central_difference(\(a) f(a, b)[[k]], a))
  jacobian <- \(a, b) by_a(field, a, b)
  text <- "Exp(-SqDist(x, y)) * (x - y)"
  near <- function(formula, f) {
    expected <- t(sapply(1:3, \(i) rowSums(matrix(sapply(1:2, \(j) f(x[i, ], y[j, ])), ncol = 2))))
    expected <- matrix(expected, 3)
    for_each_backend(function(kernel, precision) {
      op <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), c("x = Vi(3)", "y = Vj(3)"))
      expect_close(op(list(x, y)), expected, precision, gradient_tolerance[[precision]])
    })
  }
  near(sprintf("GradMatrix(%s, x)", text), \(a, b) as.vector(jacobian(a, b)))
  along <- "Concat(0.5, Concat(-1, 2))"
  near(sprintf("Diff(%s, x, %s)", text, along), \(a, b) drop(u %*% jacobian(a, b)))
  near(sprintf("Divergence(%s, x)", text), \(a, b) sum(diag(jacobian(a, b))))
  gaussian_laplacian <- \(a, b) (4 * sum((a - b)^2) - 6) * exp(-sum((a - b)^2))
  near("Laplacian(Exp(-SqDist(x, y)), x)", gaussian_laplacian)
  near("Laplacian(Exp(-SqDist(x, y)), y)", gaussian_laplacian)
  near("Diff(x, y, x)", \(a, b) numeric(3))
})

test_that("a formula of complex numbers, its gradient and a Fourier sum agree with R", {
  withr::local_seed(6)
  f <- \(a, b) parts((as_complex(a) * as_complex(b)) * Re(as_complex(b)) + as_complex(a) + Re(as_complex(a)))
  formula <- paste("ComplexRealScal(ComplexReal(y), ComplexMult(x, y)) + x + Real2Complex(ComplexReal(x))")
  expect_pairwise(formula, f, uniform(3, 4), uniform(2, 4))
  places <- uniform(1000)
  weights <- complex(real = uniform(1000), imaginary = uniform(1000))
  frequencies <- matrix(seq(-8, 8, length.out = 33))
  expected <- exp(-1i * outer(drop(frequencies), drop(places))) %*% weights
  for_each_backend(function(kernel, precision) {
    op <- kernel("Sum_Reduction(ComplexMult(ComplexExp1j(-f * x), c), 1)", c("f = Vi(1)", "x = Vj(1)", "c = Vj(2)"))
    expect_close(op(list(frequencies, places, cbind(Re(weights), Im(weights)))), cbind(Re(expected), Im(expected)),
                 precision)
  })
})

test_that("special functions are accurate to 1e-12 over their range", {
  against <- function(formula, x, expected) {
    op <- keops_kernel(sprintf("Sum_Reduction(%s * w, 1)", formula), c("x = Vi(1)", "w = Vj(1)"))
    actual <- as.vector(op(list(x, 1)))
    off <- abs(actual - expected) > 1e-12 * abs(expected)
    expect(!any(off), paste(formula, "is off at", toString(utils::head(x[off]))))
  }
  x <- c(10^seq(-8, 2, length.out = 41), 0.5, 1.5, 3.25, 17)
  against("Gamma(x)", x, gamma(x))
  against("Lgamma(x)", x[abs(x - 1.5) > 1], lgamma(x[abs(x - 1.5) > 1]))
  for (p in 0:5) against(sprintf("Polygamma(x, %d)", p), x, psigamma(x, p))
  against("Polygamma(x, 2)", -c(0.3, 1.7, 20.25), psigamma(-c(0.3, 1.7, 20.25), 2))
  for (nu in c(0, 0.3, 1, 2.5, 7.75, 30)) {
    against(sprintf("BesselK(%g, x)", nu), x[x > 1e-6], besselK(x[x > 1e-6], nu))
  }
  against("BesselK(0.5, x)", 400, sqrt(pi / 800) * exp(-400))
  against("Matern(0.5, x)", x, exp(-x))
  against("Matern(1.5, x)", x, (1 + sqrt(3) * x) * exp(-sqrt(3) * x))
})

test_that("Bessel functions of large orders are exact or are refused at once", {
  by_x <- \(f, x, ...) as.vector(keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), "x = Vi(1)", ...)(list(x)))
  bessel <- \(x, nu) suppressWarnings(besselJ(x, nu)) # besselJ() warns that the smallest numbers are not exact
  for (n in c(1, 2, 5:8, 20, 50, 100, 300, 999, 1000)) {
    x <- c(n * c(0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 1, 1.002, 1.02, 2, 5) + 0.5, 1e-3, 0)
    expected <- c(sqrt(pi / 2 / x[-13]) * bessel(x[-13], n + 0.5), 0)
    spherical <- sprintf("SphericalBesselJ(x, %d)", n)
    seen <- expected == 0 | expected > 1e-290
    expect_equal(by_x(spherical, x)[seen] / expected[seen], ifelse(expected[seen] == 0, NaN, 1), tolerance = 1e-11)
    expect_equal(by_x(spherical, -x), (-1)^n * by_x(spherical, x))
    expect_close(cbind(by_x(spherical, x, precision = "float32")), cbind(expected), "float32", info = n)
    # Only the CPU is tested, because GPUs use the Bessel functions of CUDA.
    expect_equal(by_x(sprintf("BesselJ(x, %d)", n), x, backend = "cpu"), bessel(x, n), tolerance = 1e-11)
  }
  for (call in c("SphericalBesselJ(x, 1e9)", "SphericalBesselJ(x, 1001)", "BesselJ(x, 1e9)", "BesselJ(x, -1001)",
                 "BesselKOrder(x, 2, 1e9)", "BesselKOrder(2, x, 17)", "Polygamma(x, 1e9)",
                 "SphericalBesselJ(2, 1e9)")) {
    took <- system.time(expect_error(by_x(call, 1), "an order from", class = "kernops_formula_error"))
    expect_lt(took[["elapsed"]], 1)
  }
})

test_that("modified Bessel functions are exact wherever their values are finite numbers", {
  op <- keops_kernel("Sum_Reduction(BesselK(v, x), 1)", c("v = Vi(1)", "x = Vi(1)"))
  grid <- expand.grid(v = c(0, 0.3, 1, 10, 100, 500, 1000, 1e4), x = c(1e-5, 0.1, 1, 5, 90, 400, 690))
  expected <- suppressWarnings(besselK(grid$x, grid$v))
  number <- is.finite(expected) & expected > 1e-290
  expect_gt(sum(number), 30)
  expect_equal(op(unname(as.list(grid)))[number] / expected[number], rep(1, sum(number)), tolerance = 1e-11)
  # uniform expansion DLMF 10.41.4, whose next term is of the order 1 / v^2
  uniform <- function(v, z) {
    w <- sqrt(1 + z^2)
    p <- 1 / w
    log(pi / 2 / v) / 2 - v * (w + log(z / (1 + w))) - log(w) / 2 + log1p(-(3 * p - 5 * p^3) / (24 * v))
  }
  for (v in c(1e4, 1e6, 1e8)) {
    z <- 0.66 + 0.0027434
    took <- system.time(value <- op(list(v, v * z)))
    expect_equal(log(value), matrix(uniform(v, z)), tolerance = 1e-6)
    expect_lt(took[["elapsed"]], 1)
  }
  huge <- op(list(c(1e300, 1e10, 1e300, 0, 3), c(1e300, 1e-300, 1, Inf, Inf)))
  expect_identical(huge, cbind(c(0, Inf, Inf, 0, 0)))
})

test_that("Bessel functions whose order is a parameter agree with Bessel functions whose order varies by row", {
  withr::local_seed(5)
  x <- c(2^runif(3000, -34, 9.7), 2^-30, 511.99, 512, 700, 2000)
  for (p in 0:2) for (nu in c(0, 0.5, 1.3, -1.3, 2.5, 6.5, 12.5, 13.5, 20.2, 50)) {
    formula <- sprintf("Sum_Reduction(BesselKOrder(v, x, %d), 1)", p)
    for_each_backend(\(kernel, precision) {
      by_pair <- kernel(formula, c("v = Vi(1)", "x = Vi(1)"))(list(rep(nu, length(x)), x))
      expect_close(kernel(formula, c("v = Pm(1)", "x = Vi(1)"))(list(nu, x)), by_pair, precision,
                   c(float64 = 1e-12, float32 = 1e-6)[[precision]], scale = pmax(abs(by_pair), 1e-300), info = nu)
    })
  }
  few <- x[x > 0.1 & x < 50][1:100]
  by_order <- \(nu, p) bessel_k_order(nu, few, p)
  for (p in 1:3) for (nu in c(0.5, 1.3, 4)) {
    op <- keops_kernel(sprintf("Sum_Reduction(BesselKOrder(v, x, %d), 1)", p), c("v = Pm(1)", "x = Vi(1)"))
    expect_equal(c(op(list(nu, few))) / by_order(nu, p), rep(1, 100), tolerance = 1e-12)
  }
})

test_that("powers times Bessel functions, and their derivatives in the order, agree with base R", {
  withr::local_seed(7)
  x <- c(2^runif(2000, -20, 6.5), 2^-18, 7.999, 8, 31.999, 32, 63.9)
  for (nu in c(0.1, 0.4, 0.5, 1.1, 1.5, 2.6, 7.9, 8.1, 20)) for (order in nu - c(0, 1)) for (p in 0:1) {
    expected <- pow_bessel_k_order(order, x, p)
    value <- x^order * besselK(x, abs(order))
    if (p == 0) expect_equal(expected / value, rep(1, length(x)), tolerance = 1e-12)
    formula <- sprintf("Sum_Reduction(PowBesselKOrder(v, x, %d), 1)", p)
    for_each_backend(function(kernel, precision) {
      if (precision == "float32" && nu == 20) return()  # the values exceed the range of float32
      for (declared in c("v = Pm(1)", "v = Vi(1)")) {
        v <- if (declared == "v = Pm(1)") order else rep(order, length(x))
        op <- kernel(formula, c(declared, "x = Vi(1)"))
        # near a zero of the derivative, errors are relative to the terms of the derivative
        scale <- value * if (p) 1 + abs(log(x)) else 1
        expect_close(op(list(v, x)), cbind(expected), precision, c(float64 = 1e-10, float32 = 1e-5)[[precision]],
                     paste(order, p, declared), scale = pmax(scale, 1e-30))
      }
    })
  }
})

test_that("high derivatives in the order of powers times Bessel functions agree with sums in plain R", {
  withr::local_seed(8)
  x <- 2^runif(200, -20, 5)
  t <- seq(-32, 32, by = 1 / 32)
  for (nu in c(0.1, -0.9, 3, 7.9)) for (p in c(2, 5, 9, 16)) {
    terms <- outer(log(x), t, `+`)^p * exp(outer(nu * log(x), nu * t, `+`) - outer(x, cosh(t))) / 64
    for (declared in c("v = Pm(1)", "v = Vi(1)")) {
      op <- keops_kernel(sprintf("Sum_Reduction(PowBesselKOrder(v, x, %d), 1)", p), c(declared, "x = Vi(1)"))
      v <- if (declared == "v = Pm(1)") nu else rep(nu, length(x))
      expect_close(op(list(v, x)), cbind(rowSums(terms)), info = paste(nu, p, declared), scale = rowSums(abs(terms)))
    }
  }
})

test_that("at 0, powers times Bessel functions and their derivatives in the order agree with gamma functions", {
  for (nu in c(0.3, 1, 2.7)) for (declared in c("v = Pm(1)", "v = Vi(1)")) {
    at_zero <- \(p) c(keops_kernel(sprintf("Sum_Reduction(PowBesselKOrder(v, x, %d), 1)", p), c(declared, "x = Vi(1)"))(
      list(nu, 0)))
    value <- 2^(nu - 1) * gamma(nu)
    slope <- log(2) + digamma(nu)
    curvature <- slope^2 + trigamma(nu)
    expected <- value * c(1, slope, curvature, slope * curvature + 2 * slope * trigamma(nu) + psigamma(nu, 2))
    expect_equal(vapply(0:3, at_zero, 0), expected, tolerance = 1e-12)
  }
})

test_that("Bessel functions of half-integer order agree with their closed forms, spherical Bessel functions", {
  x <- 10^seq(-12, 2.7, length.out = 50)
  polynomial <- \(n) colSums(exp(lgamma(n + 0:n + 1) - lfactorial(0:n) - lfactorial(n - 0:n) - outer(0:n, log(2 * x))))
  for (n in 0:14) for (sign in c(1, -1)) {
    expected <- sqrt(pi / 2 / x) * exp(-x) * polynomial(n)
    number <- is.finite(expected) & expected > 1e-290
    nu <- sign * (n + 0.5)
    for (declared in c("v = Pm(1)", "v = Vi(1)")) {
      value <- \(f) c(keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), c(declared, "x = Vi(1)"))(list(v, x)))
      v <- if (declared == "v = Pm(1)") nu else rep(nu, 50)
      expect_equal((value("BesselK(v, x)") / expected)[number], rep(1, sum(number)), tolerance = 1e-12)
      scaled <- x^nu * expected
      number <- number & is.finite(scaled) & scaled > 1e-290
      expect_equal((value("PowBesselK(v, x)") / scaled)[number], rep(1, sum(number)), tolerance = 1e-12)
    }
  }
})

test_that("a Matern covariance has the same bits for any number of threads, in each call and instruction set", {
  withr::local_seed(6)
  op <- keops_kernel("Max_Reduction(Matern(s, Norm2(x - y)), 1)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)"),
                     backend = "cpu")
  input <- list(0.8 + 1 / 7, matrix(runif(600), 300), 2 + matrix(runif(2000), 1000))
  with <- \(n, isa) withr::with_options(list(kernops.threads = n, kernops.isa = isa), op(input))
  first <- with(3, NULL)
  for (n in 1:2) for (isa in kernops:::cpu_isas()) expect_equal(with(n, isa), first, tolerance = 1e-15)
  expect_identical(with(1, NULL), first)
})

test_that("special functions are exact at special points", {
  promised <- list(
    list("Matern(0.7, x)", 0, 1), list("PowBesselK(1.5, x)", 0, 2^0.5 * gamma(1.5)), list("PowBesselK(-1, x)", 0, 0),
    list("BesselK(1, x)", 0, Inf), list("BesselK(1, x)", -1, NaN), list("Digamma(x)", 0, NaN),
    list("Digamma(x)", -3, NaN), list("Digamma(x)", Inf, Inf), list("Polygamma(x, 1)", NaN, NaN),
    list("BesselJ0(x)", 0, 1), list("ComplexAbs(x)", c(3, 4), 5), list("BesselK(x, 1)", NaN, NaN)
  )
  for (case in promised) {
    expect_equal(unique(value_of(case[[1]], x = case[[2]])), case[[3]], label = paste(case[[1]], "at", case[[2]]))
  }
  op <- keops_kernel("Sum_Reduction(Matern(s, Norm2(x - y)), 1)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)"))
  input <- list(0.8, matrix(0, 1, 2), matrix(0, 1, 2), 1)
  expect_identical(keops_grad(op, "x")(input), matrix(0, 1, 2))
  expect_equal(keops_grad(op, "s")(input), matrix(0), tolerance = 1e-12)
})

make <- \(formula) keops_kernel(sprintf("Sum_Reduction(%s, 1)", formula), c("x = Vi(6)", "y = Vj(6)"))
test_mistakes("kernops_formula_error", alist(
  `a shape of another size` = make("TensorDot(x, y, [2,2], [2,3], [0], [0])"),
  `contracted dimensions of other lengths` = make("TensorDot(x, y, [2,3], [2,3], [0], [1])"),
  `a contracted dimension twice` = make("TensorDot(x, y, [2,3], [2,3], [0,0], [0,0])"),
  `a dimension that is not there` = make("TensorDot(x, y, [2,3], [2,3], [2], [0])"),
  `no permutation` = make("TensorDot(x, y, [2,3], [2,3], [0], [0], [0,2])"),
  `too few lists` = make("TensorDot(x, y, [2,3])"),
  `no integers in a list` = make("Kron(x, y, [2,x], [2,3])"),
  `shapes of other lengths` = make("Kron(x, y, [6], [2,3])"),
  `a smoothing that is a vector` = make("SoftDTW_SqDist(x, y, y)"),
  `series that are too long` = make("SoftDTW_SqDist(SumT(Elem(x, 0), 4091), y, 1)"),
  `a derivative by no variable` = make("Laplacian(SqDist(x, y), x + y)"),
  `a trace of a map that is not linear` = make("TraceOperator(x * SqDist(x, y), x)"),
  `an adjoint of a map that is not linear` = make("AdjointOperator(x * x, x, y)"),
  `an adjoint at a vector of another size` = make("AdjointOperator(2 * x, x, SqDist(x, y))"),
  `a divergence of a scalar` = make("Divergence(SqDist(x, y), x)"),
  `a direction of another size` = make("Diff(x + y, x, 1)"),
  `an odd complex vector` = keops_kernel("Sum_Reduction(Conj(x), 1)", "x = Vj(3)")
))
