# A gradient is a vector-Jacobian product: the derivative of <eta, op(input)> in one variable, in the shape of this
# variable.

square_distances <- \() keops_kernel("Sum_Reduction(SqDist(x, y), 0)", c("x = Vi(3)", "y = Vj(3)"))

test_that("the gradient of a sum of squared distances agrees with the closed form", {
  withr::local_seed(1)
  x <- uniform(10, 3)
  y <- uniform(15, 3)
  eta <- uniform(15)
  by <- \(var) keops_grad(square_distances(), var)(list(x = x, y = y, eta = eta))
  expect_close(by("x"), t(apply(x, 1, \(x_i) 2 * colSums(drop(eta) * (rep(x_i, each = 15) - y)))))
  expect_close(by("y"), t(sapply(1:15, \(j) -2 * eta[j] * colSums(x - rep(y[j, ], each = 10)))))
})

test_that("the gradient in a parameter is a single row", {
  withr::local_seed(2)
  input <- list(s = 0.7, x = uniform(6, 2), y = uniform(5, 2), eta = uniform(6))
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)), 1)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)"))
  distances <- as.matrix(dist(rbind(input$x, input$y)))[1:6, 7:11]^2
  expect_close(keops_grad(op, "s")(input), matrix(-sum(drop(input$eta) * distances * exp(-0.7 * distances))))
})

# Reductions over x = Vi(2), y = Vj(2), s = Pm(2), with the functions f and w of one pair that they reduce, in plain R.
gauss <- \(x, y, s) exp(-sum(s * (x - y)^2))
waves <- \(x, y, s) s * sin(x + 2 * y)
wave <- \(x, y, s) sum(waves(x, y, s))
differentiable <- list(
  list("Sum", "Exp(-WeightedSqDist(s, x, y)) * x * y", f = \(x, y, s) gauss(x, y, s) * x * y),
  list("LogSumExp", "s | Sin(x + 2 * y)", f = wave),
  list("LogSumExp", "s | Sin(x + 2 * y)", ", Exp(x | y)", f = wave, w = \(x, y, s) exp(sum(x * y))),
  list("LogSumExp", "s | Sin(x + 2 * y)", ", Exp(x * y)", f = wave, w = \(x, y, s) exp(x * y)),
  list("SumSoftMaxWeight", "s | Sin(x + 2 * y)", ", x * y + s", f = wave, w = \(x, y, s) x * y + s),
  list("Max_SumShiftExp", "s | Sin(x + 2 * y)", f = wave),
  list("Max_SumShiftExpWeight", "s | Sin(x + 2 * y)", ", x * y + s", f = wave, w = \(x, y, s) x * y + s),
  list("Min", "s * Sin(x + 2 * y)", f = waves),
  list("Max", "s * Sin(x + 2 * y)", f = waves),
  list("Min_ArgMin", "s * Sin(x + 2 * y)", f = waves),
  list("Max_ArgMax", "s * Sin(x + 2 * y)", f = waves),
  list("KMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("KMin_ArgKMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("KMax", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("KMax_ArgKMax", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("Prod", "s * Sin(x + 2 * y)", f = waves),
  list("Mean", "s * Sin(x + 2 * y)", f = waves),
  list("Var", "s * Sin(x + 2 * y)", f = waves),
  list("ArgMin", "s * Sin(x + 2 * y)", f = waves),
  list("ArgMax", "s * Sin(x + 2 * y)", f = waves),
  list("ArgKMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3)
)
xys <- c("x = Vi(2)", "y = Vj(2)", "s = Pm(2)")

for (case in differentiable) for (axis in 0:1) {
  option <- if (is.null(names(case)) || names(case)[3] == "") case[[3]] else ""
  formula <- sprintf("%s_Reduction(%s%s, %d)", case[[1]], case[[2]], option, axis)
  test_that(paste("the gradient agrees with finite differences:", formula), {
    withr::local_seed(3)
    input <- list(x = uniform(5, 2), y = uniform(6, 2), s = c(0.75, 1.25))
    value <- \(input) oracle_reduce(case$f, case[[1]], input$x, input$y, input$s, axis, case$K, case$w)
    eta <- uniform(nrow(value(input)), ncol(value(input)))
    for (var in names(input)) {
      expected <- central_difference(\(v) sum(eta * value(replace(input, var, list(v)))), input[[var]])
      for_each_backend(function(kernel, precision) {
        gradient <- keops_grad(kernel(formula, xys), var)(c(input, list(eta = eta)))
        expect_close(gradient, expected, precision, gradient_tolerance[[precision]], paste("by", var))
      })
    }
  })
}

test_that("the gradient of an extremum belongs to the first of several equal values", {
  op <- keops_kernel("Max_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  expect_identical(keops_grad(op, 2)(list(x = 1, y = c(1, 5, 5), eta = 3)), cbind(c(0, 3, 0)))
  expect_identical(keops_grad(op, "y")(list(x = 1, y = c(1, 5, 5), eta = 3)), cbind(c(0, 3, 0)))
})

test_that("gradients can be nested: each order agrees with finite differences of the order below", {
  withr::local_seed(4)
  nested <- list(
    list("Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 1)", c("x", "y", "s")),
    list("Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 0)", c("x", "x", "y")),
    list("Sum_Reduction(Exp(-s * Norm2(x - y)), 1)", c("x", "y", "x")),
    list("LogSumExp_Reduction(-s * SqDist(x, y), 1)", c("x", "x", "s")),
    list("LogSumExp_Reduction(-s * SqDist(x, y), 0)", c("y", "x")),
    list("SumSoftMaxWeight_Reduction(s * SqDist(x, y), x * y, 1)", c("y", "s"))
  )
  for (case in nested) {
    op <- keops_kernel(case[[1]], c("x = Vi(2)", "y = Vj(2)", "s = Pm(1)"))
    input <- list(uniform(4, 2), uniform(5, 2), 0.5)
    for (order in seq_along(case[[2]])) {
      var <- match(case[[2]][order], c("x", "y", "s"))
      eta <- do.call(uniform, as.list(dim(op(input))))
      lower <- op
      along_eta <- \(v) sum(eta * lower(replace(input, var, list(v))))
      expected <- central_difference(along_eta, input[[var]])
      op <- keops_grad(op, case[[2]][order])
      input <- c(input, list(eta))
      expect_close(op(input), expected, tolerance = 1e-6, info = paste(case[[1]], "order", order))
    }
  }
})

test_that("many nested gradients of a log of sums share common subexpressions", {
  op <- keops_kernel("LogSumExp_Reduction(-SqDist(x,y)*Sin(x|y)/(1+(x|x)),1)", c("x = Vi(2)", "y = Vj(2)"))
  took <- system.time(for (order in 1:8) op <- keops_grad(op, "x"))[["elapsed"]]
  if (!nzchar(Sys.getenv("ASAN_OPTIONS"))) expect_lt(took, 5) # code with sanitizers is several times slower
  # the eighth derivative of log(exp(x a) + exp(x b)) is (b - a)^8 times that of log(1 + exp(z)) at z = x (b - a)
  op <- keops_kernel("LogSumExp_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  for (order in 1:8) op <- keops_grad(op, "x")
  y <- c(-0.4, 0.7)
  x <- c(-1.2, 0.3, 2)
  s <- plogis(x * diff(y))
  polynomial <- c(0, 1) # a polynomial in s, where the derivative of s is s - s^2
  for (order in 2:8) {
    slope <- polynomial[-1] * seq_len(length(polynomial) - 1)
    polynomial <- c(0, slope, 0) - c(0, 0, slope)
  }
  expected <- diff(y)^8 * colSums(polynomial * t(outer(s, seq_along(polynomial) - 1, `^`)))
  expect_close(op(c(list(x, y), rep(list(c(1, 1, 1)), 8))), cbind(expected), tolerance = 1e-9)
})

test_that("Grad() in a formula string agrees with keops_grad()", {
  withr::local_seed(5)
  input <- list(x = uniform(4, 2), y = uniform(5, 2), s = 0.5, e = uniform(4))
  args <- c("x = Vi(2)", "y = Vj(2)", "s = Pm(1)", "e = Vi(1)")
  by_string <- \(formula) keops_kernel(formula, args)(input)
  by_function <- function(formula, var) {
    keops_grad(keops_kernel(formula, args[1:3]), var)(c(input[1:3], list(eta = input$e)))
  }
  gaussian <- "Exp(-s * SqDist(x, y))"
  whole <- sprintf("Sum_Reduction(%s, 1)", gaussian)
  for (var in c("x", "y", "s")) {
    expect_close(by_string(sprintf("Grad(%s, %s, e)", whole, var)), by_function(whole, var), info = var)
  }
  expect_close(by_string(sprintf("Sum_Reduction(Grad(%s, x, e), 1)", gaussian)), by_function(whole, "x"))
  expect_close(by_string(sprintf("Sum_Reduction(Grad(%s, y, e), 0)", gaussian)), by_function(whole, "y"))
  twice <- by_string(sprintf("Sum_Reduction(Grad(Sum(Grad(%s, x, e)), x, 1), 1)", gaussian))
  expect_identical(dim(twice), c(4L, 2L))
})

test_that("a variable is selected by its name or its position, counted from 1", {
  withr::local_seed(20)
  input <- list(x = uniform(4, 3), y = uniform(5, 3), eta = uniform(5))
  by <- \(var) keops_grad(square_distances(), var)(input)
  expect_identical(by(1), by("x"))
  expect_identical(by(2L), by("y"))
})

test_that("the incoming gradient eta is given by name, or as the last input, with points in rows or columns", {
  withr::local_seed(21)
  x <- uniform(4, 3)
  y <- uniform(5, 3)
  eta <- uniform(5)
  gradient <- keops_grad(square_distances(), "x")
  expect_identical(gradient(list(eta = eta, y = y, x = x)), gradient(list(x, y, eta)))
  in_rows <- gradient(list(x = t(x), y = t(y), eta = t(eta)), inner_dim = "row")
  expect_identical(t(in_rows), gradient(list(x, y, eta)))
})

input <- list(x = matrix(1, 4, 3), y = matrix(1, 5, 3))
forged <- list(structure(\(x) x, class = "keops_kernel"), structure(list(), class = "keops_kernel"))
test_mistakes("kernops_input_error", alist(
  `a function that says it is an operator` = keops_grad(forged[[1]], "x"),
  `a list that says it is an operator` = keops_source(forged[[2]]),
  `unknown variable` = keops_grad(square_distances(), "z"),
  `position too large` = keops_grad(square_distances(), 3),
  `position from 0` = keops_grad(square_distances(), 0),
  `negative position` = keops_grad(square_distances(), -1),
  `position between two` = keops_grad(square_distances(), 0.5),
  `two variables` = keops_grad(square_distances(), c("x", "y")),
  `no variable` = keops_grad(square_distances(), NULL),
  `missing value for a variable` = keops_grad(square_distances(), NA),
  `no operator` = keops_grad(sum, "x"),
  `no eta` = keops_grad(square_distances(), "x")(input)
))
test_mistakes("kernops_dim_error", alist(
  `eta with rows of x` = keops_grad(square_distances(), "x")(c(input, list(eta = 1:4))),
  `eta with columns of x` = keops_grad(square_distances(), "x")(c(input, list(eta = matrix(1, 5, 3))))
))
