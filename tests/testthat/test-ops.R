# Every operation of oracle_ops, against plain R: random sizes, with arguments of the kinds Vi, Vj, Vi + Vj and Pm.

# Operations without arguments, with lists as arguments, or with derivatives have separate tests.
tested_apart <- c("IndexI", "IndexJ", "BSpline", "TensorDot", "Kron", "SoftDTW_SqDist", "GradMatrix", "Diff",
                  "Divergence", "Laplacian", "TraceOperator", "AdjointOperator")

# Sums whose terms cancel. Rounding errors have the size of the terms, and the largest row sum estimates this size.
cancels <- "DiagSqDist"

# Operations that take microseconds per pair on the CPU, and hence are tested with fewer pairs.
slow <- c("BesselK", "BesselKOrder", "PowBesselKOrder", "PowBesselK", "MaternOrder", "Matern")

# The sum over j of u_i w_j value, in plain R.
sum_in_R <- function(value, u, w) {
  vapply(seq_len(ncol(value)), \(k) drop(u * matrix(value[, k], length(u)) %*% w), drop(u))
}

test_that("every operation has a reference computation in plain R, or a separate test", {
  expect_setequal(names(oracle_ops), setdiff(keops_ops()$name, tested_apart))
})

for (name in names(oracle_ops)) {
  test_that(paste(name, "agrees with plain R"), {
    withr::local_seed(sum(utf8ToInt(name)))
    u <- uniform(300)
    w <- uniform(if (name %in% slow) 100 else 300, low = 0.25)
    some_i <- sort(sample(300, 40)[1:12])
    for (trial in 1:4) {
      case <- random_case(name, 300, length(w), trial, some_i)
      expected <- sum_in_R(case$value(case$input), u[some_i], w)
      for_each_backend(function(kernel, precision) {
        op <- as_operator(case, kernel)
        actual <- op(c(list(u = u, w = w), case$input))
        scale <- if (name %in% cancels) max(row_scale(expected)) else row_scale(expected)
        expect_close(actual[some_i, , drop = FALSE], expected, precision, info = case$formula, scale = scale)
      })
    }
  })

  if (length(oracle_ops[[name]]$domains)) test_that(paste(name, "has the gradient of finite differences of plain R"), {
    withr::local_seed(sum(utf8ToInt(name)))
    u <- uniform(3)
    w <- uniform(4)
    for (trial in 1:3) {
      case <- random_case(name, 3, 4, trial)
      eta <- uniform(3, ncol(case$value(case$input)))
      along_eta <- \(input) sum(eta * sum_in_R(case$value(input), u, w))
      for (var in names(case$input)) {
        moved <- \(x) replace(case$input, var, list(x))
        objective <- \(x) if (oracle_ops[[name]]$flat) 0 else along_eta(moved(x))
        expected <- central_difference(objective, case$input[[var]])
        for_each_backend(function(kernel, precision) {
          gradient <- keops_grad(as_operator(case, kernel), var)
          expect_close(gradient(c(list(u = u, w = w), case$input, list(eta = eta))), expected, precision,
                       gradient_tolerance[[precision]], paste(case$formula, "by", var))
        })
      }
    }
  })
}

# Second derivatives consist of the operations above, which all backends have. These tests therefore run on the CPU
# only.
for (name in names(oracle_ops)) if (length(oracle_ops[[name]]$domains)) {
  test_that(paste(name, "has second derivatives, and the derivatives within formulas agree"), {
    withr::local_seed(sum(utf8ToInt(name)))
    case <- random_case(name, 2, 3, 1)
    var <- names(case$input)[[1]]
    size <- ncol(case$input[[var]])
    D <- ncol(case$value(case$input))
    input <- c(case$input, list(u = uniform(2), w = uniform(3), d = uniform(1, size), g = uniform(1, D)))
    args <- c(case$args, sprintf(c("u = Vi(1)", "w = Vj(1)", "d = Pm(%d)", "g = Pm(%d)"), c(1L, 1L, size, D)))
    sum_of <- function(template, input, ...) {
      formula <- sprintf("Sum_Reduction(u * w * (%s), 1)", sprintf(template, ...))
      used <- names(input) %in% all.names(str2lang(formula))
      keops_kernel(formula, args[used])(input[used])
    }
    f <- case$formula

    by_var <- keops_grad(as_operator(case, keops_kernel), var)
    eta <- list(eta = uniform(2, D))
    eta2 <- uniform(nrow(case$input[[var]]), size)
    first <- c(case$input, input[c("u", "w")], eta)
    along_eta2 <- \(x) if (oracle_ops[[name]]$flat) 0 else sum(eta2 * by_var(replace(first, var, list(x))))
    expect_close(keops_grad(by_var, var)(c(first, list(eta2 = eta2))),
                 central_difference(along_eta2, case$input[[var]]), "float64", 1e-5)

    along <- sum_of("d | Grad(%s, %s, g)", input, f, var)
    expect_close(sum_of("g | Diff(%s, %s, d)", input, f, var), along)
    expect_close(sum_of("g | MatVecMult(GradMatrix(%s, %s), d)", input, f, var), along)
    laplacian <- sum_of("Laplacian(g | %s, %s)", input, f, var)
    expect_close(sum_of("Divergence(Grad(g | %s, %s, 1), %s)", input, f, var, var), laplacian)
    if (oracle_ops[[name]]$flat) return()
    curvature <- function(k) {
      slope <- \(h) sum_of("Elem(Grad(g | %s, %s, 1), %d)",
                           replace(input, var, list(input[[var]] + h * (col(input[[var]]) == k))), f, var, k - 1L)
      (8 * (slope(1e-4) - slope(-1e-4)) - (slope(2e-4) - slope(-2e-4))) / 12e-4
    }
    expect_close(laplacian, Reduce(`+`, lapply(seq_len(size), curvature)), "float64", 1e-5)
  })
}

test_that("IndexI() and IndexJ() count rows and columns from 1", {
  for_each_backend(function(kernel, precision) {
    op <- kernel("Sum_Reduction((IndexI() < IndexJ()) * IndexJ() * u * w, 1)", c("u = Vi(1)", "w = Vj(1)"))
    mask <- outer(1:4, 1:6, `<`)
    expect_close(op(list(u = rep(1, 4), w = rep(1, 6))), mask %*% 1:6, precision)
  })
})

test_that("exponentials of numbers far below the range are 0, and do not change the results of other rows", {
  x <- c(-1e30, -Inf, -1, -2000, NaN, -750, 0, -1e5, -20, Inf, -300, 1, -5e3)
  for (precision in c("float64", "float32")) {
    for (f in c("Exp(x * y)", "Exp2(x * y)")) {
      sums <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), c("x = Vi(1)", "y = Vj(1)"), precision = precision)
      base <- if (f == "Exp(x * y)") exp(1) else 2
      expected <- replace(base^x, 5, NaN)
      if (precision == "float32") expected[expected < 1e-45] <- 0
      # the rows in SIMD lanes (one column), and the columns in SIMD lanes
      for (columns in c(1, 40)) {
        got <- as.vector(sums(list(x, rep(1, columns)))) / columns
        expect_equal(got, expected, tolerance = if (precision == "float64") 1e-12 else 1e-5)
        expect_identical(got == 0, expected == 0)
      }
    }
  }
})

test_that("exponentials in the range of subnormal doubles have the accuracy of these numbers", {
  x <- c(-708.5, -715.25, -730, -740, -745)
  sums <- keops_kernel("Sum_Reduction(Exp(x * y), 1)", c("x = Vi(1)", "y = Vj(1)"))
  expect_lte(max(abs(as.vector(sums(list(x, 1))) - exp(x))), 2^-1074)
})

test_that("operations at special points have the values that the help page promises", {
  promised <- list(
    list("Rsqrt(x)", 0, 0), list("XLogX(x)", 0, 0), list("SinXDivX(x)", 0, 1),
    list("SphericalBesselJ(x, 0)", 0, 1),
    list("SphericalBesselJ(x, 2)", 0, 0), list("Step(x)", 0, 1), list("Sign(x)", 0, 0), list("ReLU(x)", 0, 0),
    list("IfElse(x, 5, 7)", 0, 5), list("Mask(x, 1 / x)", 0, 0), list("Mask(x, x)", 2, 2), list("Pow(x, 0)", 0, 1),
    list("Normalize(x)", c(0, 0), 0), list("Norm2(x)", c(0, 0), 0),
    list("Round(x)", 0.5, 0), list("Round(x, 0)", 0.5, 0),
    list("Mod(x, 3)", -1, 2), list("IsNaN(x)", NaN, 1), list("IsNaN(x)", Inf, 0), list("Signif(x, 3)", Inf, Inf),
    list("Signif(x, 2)", 123456, 120000), list("Signif(x, 2)", -0.00012345, -0.00012), list("Signif(x, 3)", 0, 0),
    list("Signif(x, 0)", 0.27, 0.3), list("SinPi(x)", 1e15, 0), list("CosPi(x)", 0.5, 0),
    list("Asinh(x)", 1e30, asinh(1e30)), list("Asinh(x)", -1e-20, -1e-20), list("Asinh(x)", -Inf, -Inf),
    list("Acosh(x)", 1.5, acosh(1.5)), list("Acosh(x)", 0.5, NaN), list("Acosh(x)", Inf, Inf),
    list("Atanh(x)", 1, Inf), list("Atanh(x)", 1e-20, 1e-20),
    list("OneHot(x, 1)", 0.4, 1), list("OneHot(x, 1)", -0.6, 0),
    list("DiffClampInt(x, 0, 1)", 1.5, 0), list("DiffClampInt(x, 0, 1)", 1, 1), list("Round(x, 0)", 1.5, 2),
    list("Round(x, 0)", 2.5, 2), list("Round(x, 0)", -0.5, 0), list("Round(x, -1)", 25, 20),
    list("Round(x, 2)", Inf, Inf), list("Round(x, 400)", 1.5, 1.5),
    list("Round(x, -400)", 1.5, 0), list("ArgMax(x)", c(1, 3, 3), 1), list("ArgMin(x)", c(2, 1, 1), 1),
    list("Clamp(x, 2, 1)", 5, 1), list("Mod(x, 3, 0)", -1, 2), list("Mod(x, 3, -1)", 2, -1),
    list("Exp(x)", -Inf, 0), list("Softplus(x)", 800, 800), list("Softplus(x)", -800, 0),
    list("Sigmoid(x)", -800, 0), list("Sigmoid(x)", 800, 1),
    list("Hypot(x, x)", 3e30, 3e30 * sqrt(2)), list("Zero(1) * x", 2, 0)
  )
  for (case in promised) {
    for (precision in c("float64", "float32")) {
      value <- value_of(case[[1]], x = case[[2]], precision = precision)
      label <- paste(case[[1]], "at", toString(case[[2]]), "in", precision)
      expect_equal(unique(value), case[[3]], tolerance = 1e-6, label = label)
    }
  }
})

# A NaN in any argument of an operation gives NaN. The exceptions are these operations, which select entries or pad
# vectors with zeros.
keeps_numbers <- c("IsNaN", "IfElse", "Mask", "Factorize", "Concat", "ElemT", "ExtractT", "Real2Complex",
                   "Imag2Complex")
gives_places <- c("ArgMax", "ArgMin")
# A formula and arguments for each operation that has a separate test.
nan_apart <- list(
  BSpline = list("BSpline(a, b, 1)", a = 0:3, b = 1.5),
  TensorDot = list("TensorDot(a, b, [2,2], [2,2], [1], [0])", a = 1:4, b = 1:4),
  Kron = list("Kron(a, b, [2,1], [1,2])", a = 1:2, b = 3:4),
  SoftDTW_SqDist = list("SoftDTW_SqDist(a, b, c)", a = 1:2, b = 1:3, c = 0.5),
  GradMatrix = list("GradMatrix(Exp(a), a)", a = 1:2),
  Diff = list("Diff(Exp(a), a, b)", a = 1:2, b = 1:2),
  Divergence = list("Divergence(Exp(a), a)", a = 1:2),
  Laplacian = list("Laplacian(Sum(Exp(a)), a)", a = 1:2),
  TraceOperator = list("TraceOperator(Sum(a) * u, u)", a = 1:2),
  AdjointOperator = list("AdjointOperator(3 * a, a, a)", a = 1:2)
)

# A case with vectors of two entries: the formula, the input, and value(input) in plain R.
nan_case <- function(name) {
  if (name %in% names(nan_apart)) return(list(formula = nan_apart[[name]][[1]], input = nan_apart[[name]][-1]))
  op <- oracle_ops[[name]]
  integers <- as.list(op$integers(2, 2))
  input <- Map(\(domain, size) domain(size), op$domains, op$sizes(2, 2))
  names(input) <- letters[seq_along(input)]
  value <- \(input) op$rows(1, lapply(unname(input), t), integers)
  formula <- sprintf("%s(%s)", name, toString(c(names(input), integers)))
  list(formula = formula, input = input, value = value)
}

for (name in unique(keops_ops()$name[grepl("[abc]|f", keops_ops()$arguments)])) {
  test_that(paste("NaN in an argument gives NaN:", name), {
    expect(name %in% c(names(oracle_ops), names(nan_apart)), paste("there is no case for", name))
    withr::local_seed(sum(utf8ToInt(name)))
    case <- nan_case(name)
    for (argument in names(case$input)) for (precision in c("float64", "float32")) {
      missing <- case$input
      missing[[argument]][] <- NaN
      value <- do.call(value_of, c(list(case$formula), missing, precision = precision))
      label <- paste(case$formula, "where", argument, "is NaN, in", precision)
      if (name %in% gives_places) {
        expect_identical(value, 0, label = label)
      } else if (name %in% keeps_numbers) {
        expect_identical(is.nan(value), is.na(as.vector(case$value(missing))), label = label)
      } else {
        expect_identical(value, rep(NaN, length(value)), label = label)
      }
    }
  })
}

test_that("gradients at special points have the documented value instead of NaN", {
  by_x <- function(formula, x) {
    op <- keops_kernel(sprintf("Sum_Reduction(%s * w, 1)", formula), c("x = Vi(1)", "w = Vj(1)"))
    as.vector(keops_grad(op, "x")(list(x = x, w = 1, eta = 1)))
  }
  expect_identical(by_x("Norm2(x)", 0), 0)
  expect_identical(by_x("SinXDivX(x)", 0), 0)
  expect_identical(by_x("Rsqrt(x)", 0), 0)
  expect_identical(by_x("Abs(x)", 0), 0)
  expect_identical(by_x("Pow(x, 1)", 0), 1)
  expect_identical(by_x("Square(x)", 0), 0)
})

test_that("Mod is exact and within its range for numbers of any size", {
  in_R <- \(a, b, c) (a - c) %% b + c
  whole <- expand.grid(a = c(0, 1, 5, 6, -5, -6, 2^20 + 1, -2^20 - 1), b = c(3, -3, 2, 0.75), c = c(0, 1, -2))
  far <- expand.grid(a = c(1, 3, 1e7, -1e7, 1e15, 1e-20, -1e-20), b = c(0.1, -0.1, 1), c = c(0, 1))
  for_each_backend(function(kernel, precision) {
    args <- c("a = Vi(1)", "b = Vi(1)", "c = Vi(1)")
    mod <- \(cases) drop(kernel("Sum_Reduction(Mod(a, b, c) * w, 1)", c(args, "w = Vj(1)"))(c(cases, w = 1)))
    expect_identical(mod(whole), do.call(in_R, whole))
    beyond <- with(far, (mod(far) - c) / b)
    expect_true(all(beyond >= -1e-6 & beyond <= 1 + 1e-6))
    if (precision == "float64") expect_true(with(far, all((mod(far) - c) / b >= 0 & mod(far) != c + b)))
  })
  expect_identical(value_of("Mod(x, Inf, 0)", x = 5), 5)
  expect_identical(value_of("Mod(x, 0, 0)", x = 5), NaN)
})

test_that("gradients of moduli and angles are right if squares overflow or underflow", {
  for_each_backend(function(kernel, precision) {
    args <- c("x = Vi(2)", "w = Vj(1)")
    for (scale in list(float64 = c(1, 1e160, 1e-170), float32 = c(1, 1e20, 1e-24))[[precision]]) {
      by_x <- \(f) keops_grad(kernel(sprintf("Sum_Reduction(%s * w, 1)", f), args), "x")(list(t(c(3, 4)) * scale, 1, 1))
      for (f in c("Hypot(Elem(x, 0), Elem(x, 1))", "ComplexAbs(x)")) expect_close(by_x(f), t(c(0.6, 0.8)), precision)
      for (f in c("Atan2(Elem(x, 1), Elem(x, 0))", "ComplexAngle(x)")) {
        expect_close(by_x(f) * scale, t(c(-4, 3)) / 25, precision)
      }
    }
    at_0 <- keops_grad(kernel("Sum_Reduction(Hypot(Elem(x, 0), Elem(x, 1)) * w, 1)", args), "x")
    expect_identical(at_0(list(t(c(0, 0)), 1, 1)), t(c(0, 0)))
  })
})
