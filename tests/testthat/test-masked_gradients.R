# Gradients of masked values, and gradients of distances at zero. In both cases, the product of a zero and an infinite
# derivative must be zero.

# An operator with a single term: the formula f(x) is inserted into a template that selects f(x) by the mask m.
masked_operator <- function(kernel, f, template) {
  formula <- sprintf("Sum_Reduction((%s) * w, 1)", sprintf(template, f))
  kernel(formula, c("x = Vi(1)", if (grepl("\\bm\\b", formula)) "m = Vi(1)", "w = Vj(1)"))
}

# The first and second derivatives of the operator in x, for each row.
slopes_of <- function(op, input) {
  by_x <- keops_grad(op, "x")
  one <- matrix(1, length(input[[1]]))
  list(by_x(c(input, list(one))), keops_grad(by_x, "x")(c(input, list(one, one))))
}

# For each formula, a value of x at which the formula or its derivative is infinite or NaN, and an ordinary value.
singular <- list(
  "Log(x)" = c(0, 0.5), "Log2(x)" = c(0, 0.5), "Log10(x)" = c(-1, 0.5), "Log1p(x)" = c(-1, 0.5),
  "XLogX(x)" = c(0, 0.5), "Sqrt(x)" = c(-1, 0.5), "Rsqrt(x)" = c(-1, 0.5), "Inv(x)" = c(0, 0.5), "3 / x" = c(0, 0.5),
  "x / (x * x)" = c(0, 0.5), "Pow(x, -3)" = c(0, 0.5), "Powf(x, 0.3)" = c(0, 0.5), "Powf(x, -0.3)" = c(0, 0.5),
  "Powf(x, x)" = c(-1, 0.5), "Exp(1 / x)" = c(0, 0.5), "Exp(x)" = c(2000, 0.5), "Exp2(x)" = c(5000, 0.5),
  "Sinh(x)" = c(2000, 0.5), "Cosh(x)" = c(-2000, 0.5), "Expm1(x)" = c(2000, 0.5), "Softplus(1 / x)" = c(0, 0.5),
  "Asin(x)" = c(2, 0.5), "Acos(x)" = c(-2, 0.5), "Tan(1 / x)" = c(0, 0.5), "Cos(1 / x)" = c(0, 2),
  "Atan2(x, 2 * x)" = c(0, 0.5), "Hypot(1 / x, 2)" = c(0, 0.5), "Mod(x, 2 * x, 0)" = c(0, 0.5),
  "Gamma(x)" = c(0, 0.5), "Lgamma(x)" = c(-1, 0.5), "Digamma(x)" = c(0, 0.5), "Polygamma(x, 2)" = c(0, 0.5),
  "BesselK(0.3, x)" = c(0, 0.5), "BesselK(1.5, x)" = c(-1, 0.5), "PowBesselK(0.3, x)" = c(-1, 0.5),
  "Matern(1.2, x)" = c(-1, 0.5), "Matern(x, 0.7)" = c(-1, 0.5), "SinXDivX(1 / x)" = c(0, 0.5),
  "Norm2(Concat(x, 2) / x)" = c(0, 0.5), "Normalize(Concat(x, 2 / x)) | Concat(x, x)" = c(0, 0.5),
  "Inv(Concat(x, 2)) | Concat(x, x)" = c(0, 0.5), "SqDist(Inv(Concat(x, 2)), Concat(x, x))" = c(0, 0.5),
  "Sum(MatVecMult(Log(Concat(x, Concat(x, Concat(x, x)))), Concat(x, 1)))" = c(0, 0.5),
  "Max(Concat(Log(x), Inv(x)))" = c(0, 0.5), "Elem(TensorProd(Concat(x, Inv(x)), Concat(x, x)), 2)" = c(0, 0.5),
  "ComplexAbs(ComplexLog(Concat(x, x)))" = c(0, 0.5), "Elem(ComplexDivide(Concat(1, x), Concat(x, x)), 1)" = c(0, 0.5),
  "ComplexAngle(Concat(x, x * x))" = c(0, 0.5), "ComplexAbs(ComplexExp(Concat(x, x)))" = c(2000, 0.5),
  "Sum(MatMult(Concat(Inv(x), x), Concat(x, Log(x)), 2))" = c(0, 0.5)
)

# Derivatives consist of operations that other tests compare on all backends. These many cases run on the CPU only.
for (f in names(singular)) test_that(paste("the derivatives of a masked value are those of the selected branch:", f), {
  place <- singular[[f]]
  for (precision in c("float64", "float32")) {
    kernel <- \(...) keops_kernel(..., precision = precision, backend = "cpu")
    bare <- slopes_of(masked_operator(kernel, f, "%s"), list(place[2], 1))
    for (template in c("IfElse(m, %s, 0)", "IfElse(-1 - m, 3, %s)", "2 * Mask(0 < m, %s)",
                       "IfElse(m, IfElse(m, %s, 1), x)")) {
      input <- list(rep(place, c(2, 3)), rep(c(-1, 1), c(2, 3)), 1)
      actual <- slopes_of(masked_operator(kernel, f, template), input)
      times <- if (startsWith(template, "2")) 2 else 1
      beside <- if (endsWith(template, ", x)")) 1 else 0
      expect_identical(actual[[1]][1:2], rep(beside, 2), label = paste(template, f))
      expect_identical(actual[[2]][1:2], c(0, 0), label = paste(template, f))
      for (n in 1:2) expect_close(actual[[n]][3:5, , drop = FALSE], times * bare[[n]][c(1, 1, 1), , drop = FALSE],
                                  precision, info = paste(template, f))
    }
  }
})

test_that("for each operation that selects, the branch that is not selected does not contribute to derivatives", {
  cases <- list(
    list("Max2(Log(x), -3)", c(0, 0.5), c(0, 2)), list("Min2(4, Inv(x))", c(0, 0.5), c(0, -4)),
    list("ReLU(2 + Log(x))", c(0, 0.5), c(0, 2)), list("Clamp(Log(x), -1, 1)", c(0, 0.5), c(0, 2)),
    list("Clamp(0.1, Log(x), 1)", c(0, 0.95), c(0, 0)), list("Min(Concat(2, Inv(x)))", c(0, 0.8), c(0, -1 / 0.64)),
    list("Powf(ReLU(x), 0.3)", c(-1, 0.5), c(0, 0.3 * 0.5^-0.7)), list("Sqrt(Max2(x, 0))", c(-1, 0.25), c(0, 1)),
    list("Powf((0.1 < x) * x, 0.3)", c(-1, 0.5), c(0, 0.3 * 0.5^-0.7)),
    list("(0.1 < x) * Powf(x, 0.3)", c(0, 0.5), c(0, 0.3 * 0.5^-0.7)),
    list("x * XLogX(x)", c(0, 0.5), c(0, log(0.5) + 0.5)), list("Powf(x, 0.3) * x", c(0, 0.5), c(0, 1.3 * 0.5^0.3)),
    list("Step(x - 0.1) * XLogX(x)", c(0, 0.5), c(0, log(0.5) + 1)),
    list("Mask(And(0 < x, x < 1), Log(x)) * Mask(0 < x, 1 / x)", c(0, 0.5), c(0, 4 - 4 * log(0.5))),
    # the branch that is not selected contains a condition that is NaN
    list("IfElse(x - 0.1, IfElse(Log(x) * 0, x * x, 1), 0)", c(0, 0.5), c(0, 1)),
    list("IfElse(x - 0.1, Max2(Log(x) + Inv(x), -9), 0)", c(0, 0.5), c(0, -2)),
    list("Exp(-IfElse(x - 0.1, Inv(x), 0))", c(0, 0.5), c(0, 4 * exp(-2))),
    list("IfElse(x - 0.1, Log(x), 0) + IfElse(x - 0.1, Inv(x), 0) * x", c(0, 0.5), c(0, 2)),
    list("IfElse(x - 0.1, Log(x), 0) + IfElse(x - 0.2, Inv(x), 0)", c(0, 0.5), c(0, -2)),
    list("Let(u, Log(x), IfElse(x - 0.1, u * u, 0) + IfElse(x - 0.1, 0, 3 * x))", c(0, 0.5), c(3, 4 * log(0.5)))
  )
  for (case in cases) for_each_backend(function(kernel, precision) {
    op <- masked_operator(kernel, case[[1]], "%s")
    expect_close(keops_grad(op, "x")(list(case[[2]], 1, c(1, 1))), cbind(case[[3]]), precision, info = case[[1]])
  })
})

test_that("entries of vectors are masked separately", {
  v <- rbind(c(0, 0.5, 2), c(1, 0, 0))
  gradient <- \(kernel, f) keops_grad(kernel(sprintf("Sum_Reduction((%s) * w, 1)", f), c("v = Vi(3)", "w = Vj(1)")),
                                      "v")(list(v, 1, c(1, 1)))
  inverse <- \(x) ifelse(x > 0.1, 1 / x, 0)
  for_each_backend(function(kernel, precision) {
    expect_close(gradient(kernel, "Sum(IfElse(v - 0.1, Log(v), 0))"), inverse(v), precision)
    expect_close(gradient(kernel, "Sum(Mask(0 < v, Log(v)))"), inverse(v), precision)
    expect_close(gradient(kernel, "IfElse(v - 0.1, v * Log(v), 0) | v"),
                 ifelse(v > 0.1, 2 * v * log(pmax(v, 0.1)) + v, 0), precision)
    expect_close(gradient(kernel, "Elem(Log(v), 2)")[1, , drop = FALSE], t(c(0, 0, 0.5)), precision)
    expect_close(gradient(kernel, "Elem(Log(Reverse(v) + (v == 9)), 1)")[1, , drop = FALSE], t(c(0, 2, 0)), precision)
    expect_close(gradient(kernel, "Sum(Extract(Inv(v), 1, 1))")[1, , drop = FALSE], t(c(0, -4, 0)), precision)
    expect_close(gradient(kernel, "IfElse(Sum(v) - 2, Sum(Log(v + (v == 0))), 0)"),
                 rbind(c(1, 2, 0.5), c(0, 0, 0)), precision)
  })
})

test_that("a pair potential without self-pairs has finite gradients and Hessians, in points and in parameters", {
  withr::local_seed(3)
  x <- uniform(6, 3)
  potential <- \(x, p) sum(apply(as.matrix(dist(x))^2, 1, \(q) sum(q[q > 0]^-p[1] * exp(-p[2] * q[q > 0]))))
  formulas <- c("IfElse(%s - 1e-9, Powf(%s, -Elem(p, 0)) * Exp(-Elem(p, 1) * %s), 0)",
                "Mask(IndexI() < IndexJ(), 2 * Powf(%s, -Elem(p, 0)) / Exp(Elem(p, 1) * %s))")
  for (formula in gsub("%s", "SqDist(x, y)", formulas, fixed = TRUE)) for_each_backend(function(kernel, precision) {
    op <- kernel(sprintf("Sum_Reduction(%s, 1)", formula), c("x = Vi(3)", "y = Vj(3)", "p = Pm(2)"))
    p <- c(0.6, 0.4)
    eta <- rep(1, 6)
    by_p <- central_difference(\(p) potential(x, p), p)
    expect_close(keops_grad(op, "p")(list(x, x, p, eta)), by_p, precision, gradient_tolerance[[precision]])
    by_x <- keops_grad(op, "x")(list(x, x, p, eta)) + keops_grad(op, "y")(list(x, x, p, eta))
    tolerance <- gradient_tolerance[[precision]]
    expect_close(by_x, central_difference(\(x) potential(x, p), x), precision, tolerance)
    by_xx <- keops_grad(keops_grad(op, "x"), "x")
    expect_true(all(is.finite(by_xx(list(x, x, p, eta, x)))))
    by_pp <- keops_grad(keops_grad(op, "p"), "p")(list(x, x, p, eta, c(1, 0)))
    curvature <- central_difference(\(p) central_difference(\(q) potential(x, c(q, p[2])), p[1])[1], p, 2^-6)
    expect_close(by_pp, curvature, precision, c(float64 = 1e-5, float32 = 1e-3)[[precision]])
  })
})

test_that("a factor of zero that is not a mask does not change second derivatives", {
  for (f in c("IfElse(m, Square(Log(x)), 0)", "(0 < m) * Square(Log(x))", "Mask(0 < m, Log(x) * Log(x))")) {
    slopes <- slopes_of(masked_operator(keops_kernel, f, "%s"), list(c(1, 0.5), c(1, 1), 1))
    expect_close(slopes[[2]], cbind(c(2, 8 * (1 - log(0.5)))), info = f)
  }
})

test_that("reductions of masked values have finite gradients", {
  withr::local_seed(4)
  x <- uniform(5, 2)
  q <- as.matrix(dist(x))^2
  diag(q) <- NA
  args <- c("x = Vi(2)", "y = Vj(2)")
  towards <- \(weight) t(sapply(1:5, \(i) colSums(weight[i, -i] * 2 * (rep(x[i, ], each = 4) - x[-i, ]))))
  softmax <- \(f) exp(f - log(rowSums(exp(f), na.rm = TRUE)))
  for_each_backend(function(kernel, precision) {
    gradient <- \(f) keops_grad(kernel(f, args), "x")(list(x, x, rep(1, 5)))
    expect_close(gradient("LogSumExp_Reduction(IfElse(SqDist(x, y) - 1e-9, -2 * Log(SqDist(x, y)), -Inf), 1)"),
                 towards(softmax(-2 * log(q)) * -2 / q), precision)
    expect_close(gradient("Max_Reduction(IfElse(SqDist(x, y) - 1e-9, Inv(SqDist(x, y)), -1), 1)"),
                 towards(-(q == apply(q, 1, min, na.rm = TRUE)) / q^2), precision)
    expect_close(gradient("Min_Reduction(-Log(SqDist(x, y)), 1)"),
                 towards(-(q == apply(q, 1, max, na.rm = TRUE)) / q), precision)
    expect_close(gradient("SumSoftMaxWeight_Reduction(-SqDist(x, y), Mask(0 < SqDist(x, y), Log(SqDist(x, y))), 1)"),
                 {
                   k <- exp(-q)
                   l <- log(q)
                   total <- 1 + rowSums(k, na.rm = TRUE)
                   mean <- rowSums(k * l, na.rm = TRUE) / total
                   towards(k / total * (1 / q - l + mean))
                 }, precision)
  })
})

test_that("masks work in symbolic matrices, in derivatives within formulas and in objectives", {
  withr::local_seed(5)
  x <- uniform(7, 2)
  D <- sqdist(Vi(x), Vj(x))
  ob <- keops_objective(if_else(D > 0, 1 / D, 0), Vi(x))
  by_i <- t(sapply(1:7, \(i) colSums(-2 * (rep(x[i, ], each = 6) - x[-i, ]) / as.matrix(dist(x))[i, -i]^4)))
  expect_close(matrix(ob$gr(x), 7), by_i)
  expect_equal(value_of("Laplacian(Mask(0 < SqNorm2(x), Log(SqNorm2(x))), x)", x = c(0, 0, 0)), 0)
  expect_equal(value_of("Laplacian(Mask(0 < SqNorm2(x), Log(SqNorm2(x))), x)", x = c(1, 2, 2)), 2 / 9)
  expect_equal(value_of("Diff(IfElse(x - 1, Inv(x), 0), x, 1)", x = 0), 0)
  expect_equal(value_of("Sum(GradMatrix(IfElse(Sum(x) - 1, Log(x), 0), x))", x = c(0, 0)), 0)
})

# Functions of distances that are differentiable at coincident points, each with its derivative in the distance r.
of_distance <- list(
  "Powf(SqDist(x, y), 0.75)" = \(r) 1.5 * r^0.5, "SqDist(x, y)^0.6" = \(r) 1.2 * r^0.2,
  "Powf(SqDist(x, y), p)" = \(r) 1.4 * r^0.4, "(p * SqDist(x, y))^0.6" = \(r) 0.7^0.6 * 1.2 * r^0.2,
  "Powf(SqDist(x, y) / Square(p), p)" = \(r) 0.7^-1.4 * 1.4 * r^0.4, "Norm2(x - y)^1.2" = \(r) 1.2 * r^0.2,
  "Powf(WeightedSqDist(p, x, y), 0.75)" = \(r) 0.7^0.75 * 1.5 * r^0.5,
  "Powf(WeightedSqDist(A, x, y), 0.75)" = \(r) 1.5 * r^0.5, "Sqrt(Powf(SqDist(x, y), 1.5))" = \(r) 1.5 * r^0.5,
  "Exp(-Powf(SqDist(x, y), p))" = \(r) -1.4 * r^0.4 * exp(-r^1.4),
  "1 / (1 + SqDist(x, y)^0.7)" = \(r) -1.4 * r^0.4 / (1 + r^1.4)^2,
  "XLogX(SqDist(x, y))" = \(r) 2 * r * (2 * log(r) + 1),
  "SqDist(x, y) * XLogX(SqDist(x, y))" = \(r) 2 * r^3 * (4 * log(r) + 1),
  "XLogX(Norm2(x - y)) * SqDist(x, y)" = \(r) r^2 * (3 * log(r) + 1),
  "XLogX(Powf(SqDist(x, y), 0.75))" = \(r) 1.5 * r^0.5 * (1.5 * log(r) + 1),
  "Powf(Log1p(SqDist(x, y)), 0.75)" = \(r) 1.5 * log1p(r^2)^-0.25 * r / (1 + r^2),
  "Powf(1 - Exp(-SqDist(x, y)), 0.75)" = \(r) 1.5 * (1 - exp(-r^2))^-0.25 * r * exp(-r^2),
  "Powf(1 - Cos(Norm2(x - y)), 0.75)" = \(r) 0.75 * (1 - cos(r))^-0.25 * sin(r),
  "Powf(SqDist(Elem(x, 0), Elem(y, 0)) + Square(Elem(x, 1) - Elem(y, 1)), 0.75)" = \(r) 1.5 * r^0.5
)
for (f in names(of_distance)) test_that(paste("the gradient at coincident points is its limit:", f), {
  withr::local_seed(sum(utf8ToInt(f)))
  x <- uniform(5, 2)
  r <- as.matrix(dist(x))
  diag(r) <- NA
  slope <- of_distance[[f]](r) / r
  expected <- t(sapply(1:5, \(i) colSums(slope[i, -i] * (rep(x[i, ], each = 4) - x[-i, ]))))
  used <- c(p = grepl("\\bp\\b", f), A = grepl("\\bA\\b", f))
  for_each_backend(function(kernel, precision) {
    op <- kernel(sprintf("Sum_Reduction(%s, 1)", f), c("x = Vi(2)", "y = Vj(2)", c("p = Pm(1)", "A = Pm(4)")[used]))
    input <- c(list(x, x), list(0.7, c(1, 0, 0, 1))[used])
    expect_close(keops_grad(op, "x")(c(input, list(rep(1, 5)))), expected, precision)
    if (used[["p"]]) expect_true(all(is.finite(keops_grad(op, "p")(c(input, list(rep(1, 5)))))))
  })
})

test_that("second derivatives of powers are right at coincident points if they exist", {
  at_0 <- function(f, p = numeric()) {
    op <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), c("x = Vi(2)", "y = Vj(2)", if (length(p)) "p = Pm(1)"))
    input <- c(list(t(c(1, 2)), t(c(1, 2))), p)
    c(keops_grad(keops_grad(op, "x"), "x")(c(input, list(1, t(c(1, 0))))))
  }
  for (f in c("Powf(SqDist(x, y), 1.25)", "SqDist(x, y)^1.5", "Powf(SqDist(x, y), 2.1)",
              "SqDist(x, y) * XLogX(SqDist(x, y))"))
    expect_identical(at_0(f), c(0, 0), label = f)
  for (f in c("Powf(Acos(1 - 0.5 * SqDist(x, y)), 1.2)", "Powf(Abs(Elem(x - y, 0)), 0.5)", "XLogX(Max(Abs(x - y)))"))
    expect_identical(at_0(f), c(0, 0), label = f)
  expect_identical(at_0("Powf(SqDist(x, y), p)", 1), c(2, 0))
  expect_identical(at_0("Powf(SqDist(x, y), p)", 1.25), c(0, 0))
  expect_identical(at_0("Powf(3 * SqDist(x, y), p)", 1), c(6, 0))
})

test_that("an infinite derivative without a mask stays infinite", {
  by_x <- \(f, x) c(keops_grad(masked_operator(keops_kernel, f, "%s"), "x")(list(x, 1, 1)))
  for (f in c("Powf(x, 0.3)", "Log(x)", "IfElse(x, Powf(x, 0.3), 0)", "Mask(x == 0, Powf(x, 0.3))"))
    expect_identical(by_x(f, 0), Inf, label = f)
  for (f in c("-XLogX(x)", "IfElse(1 - x, -XLogX(x), 0)")) expect_identical(by_x(f, 0), Inf, label = f)
})

test_that("gradients of formulas without masks contain no masks", {
  for (f in c("Exp(-SqDist(x, y))", "Exp(-Norm2(x - y))", "Log(1 + SqDist(x, y))", "Powf(1 + SqDist(x, y), -0.7)",
              "Powf(SqDist(x, y), 1.5)", "(x | y)^-3")) {
    op <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), c("x = Vi(3)", "y = Vj(3)"))
    expect_no_match(keops_source(keops_grad(op, "x")), "ops::(Mask|Or)", label = f)
  }
})
