# The formulas of symbolic matrices, and operators for later data.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("a tensor that was read from a file is not confused with new data at the same address", {
  new <- Vi(X, "x")
  old <- new
  old@variables[[1]]$data <- 10 * X # as if other data had the address of X when `old` was written to a file
  expect_equal(sum(new + old, "j"), 11 * X)
  expect_equal(sum(old + new * old, "j"), 10 * X + 10 * X^2)
  expect_equal(sum((new + old) + old, "j"), 21 * X)
  expect_length(attr(keops_formula((new + old) + old), "args"), 2)
  expect_equal(logsumexp(elem(old, 1), "j", weight = new^2), log(X^2) + 10 * X[, 1])
})

test_that("the constants 1, 1L and 1.0 share one compiled kernel", {
  rm(list = ls(cached("operators")), envir = cached("operators"))
  results <- lapply(list(1, 1L, 1.0, 7), \(one) sum(exp(-one * sqdist(Vi(X), Vj(Y))), "j"))
  expect_length(ls(cached("operators")), 1)
  expect_identical(results[[1]], results[[2]])
  expect_identical(results[[1]], results[[3]])
})

test_that("equal data become one variable", {
  x <- Vi(X)
  expect_length((x - Vi(X) + x)@variables, 1)
})

test_that("points and parameters without data may have as many entries as a formula accepts", {
  most <- 2^20
  expect_no_error(keops_kernel("Sum_Reduction(Sum(x), 1)", sprintf("x = Vi(%d)", most)))
  expect_error(keops_kernel("Sum_Reduction(Sum(x), 1)", sprintf("x = Vi(%d)", most + 1)), class = "kernops_error")
  expect_identical(c(dim(Vi(most))[3], dim(Pm(size = most))[3]), rep(1048576L, 2))
  expect_error(Vj(most + 1), class = "kernops_input_error")
  expect_error(Pm(size = most + 1), class = "kernops_input_error")
})

test_that("a right-hand side that is also a variable of the matrix becomes a separate variable", {
  b <- X[, 1, drop = FALSE]
  K <- exp(-sqdist(Vi(b), Vj(b)))
  dense <- exp(-outer(b[, 1], b[, 1], `-`)^2)
  expect_equal(solve(K, b, lambda = 10, tol = 1e-12), solve(dense + diag(10, 10), b), tolerance = 1e-9)
  weighted <- K * Vj(b)
  expect_equal(weighted %*% b, dense %*% b^2, tolerance = 1e-12)
})

test_that("each call of Pm() creates a parameter, and plain numbers are constants", {
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

test_that("without data, a reduction is an operator, which has gradients", {
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

test_that("operators for later data may contain infinite numbers and NaN", {
  D <- sqdist(Vi(3), Vj(3))
  op <- min(if_else(-D, Inf, D), "j") # the distance to the nearest other point
  S <- `diag<-`(dense_sqdist(X, X), Inf)
  expect_equal(op(list(X, X)), matrix(apply(S, 1, min)), tolerance = 1e-12)
  expect_equal(sum(NaN * D, "j")(list(X, Y)), matrix(NaN, 10))
  expect_equal(max(-Inf + D, "j")(list(X, Y)), matrix(-Inf, 10))
})

test_that("grad() differentiates the value of each pair", {
  x <- Vi(X)
  by_x <- sum(grad(exp(-sqdist(x, Vj(Y))), 1, x), "j")
  value <- \(x) sum(exp(-dense_sqdist(x, Y)))
  expect_close(by_x, central_difference(value, X), "float64", 1e-6)
  K <- exp(-sqdist(x, Vj(Y)))
  for (same in alist(grad(K, gradin = 1, var = x), grad(K, gradin = 1, x), grad(K, var = x, eta = 1))) {
    expect_identical(sum(eval(same), "j"), by_x)
  }
})

test_that("a variable that was saved apart from its formula is not confused with the variables of the formula", {
  reread <- function(x) unserialize(serialize(x, NULL))
  x <- Vi(3)
  f <- exp(-sqdist(x, Vj(3)))
  expect_error(grad(reread(f), 1, reread(x)), "not a variable of", class = "kernops_input_error")
  both <- reread(list(f = f, x = x))
  value <- \(x) sum(exp(-dense_sqdist(x, Y)))
  expect_close(sum(grad(both$f, 1, both$x), "j")(list(X, Y)), central_difference(value, X), "float64", 1e-6)
})

test_that("operators for later data may contain vectors and complex numbers", {
  shifted <- sum(Pm(c(1, -2)) * Vi(2) + c(0.1, 3), "i")
  expect_identical(shifted(list(X[, 1:2])), rbind(colSums(t(t(X[, 1:2]) * c(1, -2) + c(0.1, 3)))))
  waves <- sum(exp(1i * sum(Vi(3) * Vj(3))), "j")
  expected <- rowSums(exp(1i * X %*% t(Y)))
  expect_equal(waves(list(X, Y)), cbind(Re(expected), Im(expected)), tolerance = 1e-12)
})

test_that("numbers in an operator for later data are not confused with variables of similar names", {
  amp <- 2
  op <- sum(amp * exp(-sqdist(Vi(3), Vj(3))) * Pm(amp), "j")
  expect_equal(op(list(X, Y)), matrix(rowSums(4 * exp(-D2))), tolerance = 1e-12)
})

test_that("long formulas are not truncated", {
  x <- Vi(X)
  long <- Reduce(`+`, lapply(1:400, \(k) k * x))
  expect_gt(nchar(keops_formula(long)), 3000)
  expect_equal(sum(long, "j"), sum(1:400) * X, tolerance = 1e-12)
})

# Thirty steps, each of which uses the previous expression three times.
deep <- function(e) {
  for (k in 1:30) e <- sin(e) * cos(e) + 0.3 * e
  e
}

test_that("common subexpressions occur once in the text of an expression", {
  x <- Vi(X)
  y <- Vj(Y)
  steps <- deep(exp(-sqdist(x, y)))
  expect_lt(nchar(keops_formula(steps)), 6000)
  values <- deep(exp(-D2))
  expect_equal(as.matrix(steps), values)
  expect_equal(as.matrix(t(steps)), t(values))
  expect_equal(steps %*% B, values %*% B)
  expect_equal(steps[2:3, 4], values[2:3, 4])
  expect_equal(as.matrix(t(steps * lazy_op("IndexI")) * t(steps)), t(values^2 * row(values)))
  expect_equal(sum(deep(steps - y), "j"), sapply(1:3, \(k) rowSums(deep(values - rep(Y[, k], each = 10)))))
  weighted <- sum(logsumexp(steps, "j", weight = abs(steps)))
  expect_equal(weighted, sum(log(rowSums(exp(values) * abs(values)))))
  slope <- central_difference(\(X) sum(deep(exp(-dense_sqdist(X, Y)))), X)
  expect_equal(sum(grad(steps, 1, x), "j"), slope, tolerance = 1e-6)
  objective <- keops_objective(steps, x)
  expect_equal(objective$gr(X), as.vector(slope), tolerance = 1e-6)
  expect_equal(deep(exp(-sqdist(Vi(3), Vj(3)))) %*% Vj(3) |> (\(op) op(list(X, Y, B)))(), values %*% B)
  square <- 2 + deep(exp(-sqdist(x, Vj(X))))
  dense <- 2 + deep(exp(-dense_sqdist(X, X)))
  expect_equal(suppressMessages(solve(square, X, 5, tol = 1e-12)), solve(dense + diag(5, 10), X), tolerance = 1e-8)
})

test_that("a subexpression that is used once gets no name", {
  x <- Vi(X)
  long <- Reduce(`+`, lapply(1:20, \(k) sin(k * x)))
  expect_no_match(keops_formula(long), "Let")
  expect_match(keops_formula(long * long), "^Let[(]part, ")
  expect_equal(sum(long * long, "j"), Reduce(`+`, lapply(1:20, \(k) sin(k * X)))^2)
})

test_that("subexpressions of tensors that were saved are distinguished by their data", {
  long <- function(x) Reduce(`+`, lapply(1:20, \(k) sin(k * x)))
  one <- long(Vi(X))
  other <- one
  other@variables <- lapply(other@variables, \(v) if (v$axis == "i") replace(v, "data", list(-v$data)) else v)
  expect_equal(sum((one * one) / (other * other + 1), "j"), long(X)^2 / (long(-X)^2 + 1))
})
