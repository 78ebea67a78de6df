# Every test that uses for_each_backend() also tests the GPU if there is one.

test_that("requesting a GPU on a machine without a GPU is an error that gives the reason", {
  skip_if("cuda" %in% backends(), "this machine has a GPU")
  refused <- \() keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "cuda")
  expect_s3_class(expect_error(refused(), class = "kernops_cuda_error"), "kernops_error")
  expect_match(cuda_refusal(), "CUDA")
})

test_that("a machine with a GPU runs the tests on the GPU", {
  skip_if_not("cuda" %in% backends(), paste("tests ran on the CPU alone:", cuda_refusal()))
  withr::local_seed(1)
  x <- uniform(3000, 3)
  args <- c("x = Vi(3)", "y = Vj(3)")
  on <- \(backend) keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args, backend = backend)(list(x, x))
  expect_close(on("cuda"), on("cpu"))
})

test_that("the CUDA text of an operator contains its operations and no others", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)"))
  expect_match(keops_source(op), "ops::SqDist")
  largest <- keops_kernel("Max_Reduction(x, 0)", "x = Vi(3)", precision = "float32")
  expect_match(keops_source(largest), "accumulators::Max<")
  expect_match(keops_source(op), "double")
  expect_error(keops_source(1), class = "kernops_input_error")
})

test_that("a kernel subtracts the vectors of a pair once, and applies a factor of the row once per row", {
  for (distance in c("SqDist(x, y)", "SqDist(y, x)", "WeightedSqDist(w, x, y)")) for (v in c("x", "y")) {
    args <- c("x = Vi(3)", "y = Vj(3)", "w = Pm(3)", "b = Vj(1)", "e = Vi(1)")
    used <- c(TRUE, TRUE, grepl("w", distance), TRUE, TRUE)
    op <- keops_kernel(sprintf("Grad(Sum_Reduction(Exp(-%s) * b, 1), %s, e)", distance, v), args[used],
                       precision = "float32")
    text <- gsub("part<[0-9]+, 3>\\(o\\), ", "", keops_source(op))
    call_of <- \(op) regmatches(text, regexpr(sprintf("ops::%s, [^;]*;", op), text))
    arguments_of <- \(op) sub(".*>(\\(part.*\\));", "\\1", call_of(op))
    expect_identical(arguments_of("(Diag)?SqDist"), arguments_of("Subtract"))
    expect_match(text, "factor = [0-9]")
  }
})

test_that("squared distances in exponents are expanded into inner products if the expansion saves operations", {
  expands <- function(formula, D = 3) {
    declared <- c("s = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)", "e = Vi(1)")
    used <- vapply(c("\\bs\\b", "\\bx\\b", "\\by\\b", "\\bb\\b", "\\be\\b"), grepl, NA, formula)
    grepl("expands = true", keops_source(keops_kernel(formula, declared[used])), fixed = TRUE)
  }
  gauss <- "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)"
  expect_true(expands(gauss))
  expect_true(expands(gauss, 50))
  expect_true(expands("LogSumExp_Reduction(-s * SqDist(x, y), 1)"))
  expect_false(expands("Sum_Reduction(SqDist(x, y) * b, 1)"))       # cancellation would increase the relative error
  expect_true(expands("Sum_Reduction(Exp(-s * Norm2(x - y)) * b, 1)"))
  expect_true(expands("LogSumExp_Reduction(-s * Norm2(x - y), 1)"))
  expect_false(expands("Sum_Reduction(Exp(-s * Norm2(x - y)) * b, 1)", 50))
  expect_true(expands("Sum_Reduction((1 + s * Norm2(x - y)) * Exp(-s * Norm2(x - y)), 1)"))
  expect_true(expands("Sum_Reduction((1 + s * Norm2(x - y) + SqDist(x, y) * s^2) * Exp(-s * Norm2(x - y)), 1)"))
  expect_false(expands("Sum_Reduction(s * Norm2(x - y) * Exp(-s * Norm2(x - y)), 1)"))
  expect_false(expands("Sum_Reduction(SqDist(x, y) * Exp(-s * Norm2(x - y)), 1)"))
  expect_false(expands("Sum_Reduction((b + Norm2(x - y)) * Exp(-s * Norm2(x - y)), 1)"))
  expect_false(expands("Sum_Reduction(Exp(-s * Norm2(x - y)) * (x | y), 1)"))  # x and y are read anyway
  expect_false(expands(sprintf("Grad(%s, x, e)", gauss)))           # x - y is read anyway
  expect_true(expands(sprintf("Grad(%s, x, e)", gauss), 100))
})

test_that("in a product of a weight and an expanded exponential, the weight includes the factor of the column", {
  weighs <- function(formula) {
    declared <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "B = Vj(2)")
    used <- c(TRUE, TRUE, grepl("\\bb\\b", formula), grepl("\\bB\\b", formula))
    grepl("expands = true, weighted = true", keops_source(keops_kernel(formula, declared[used])), fixed = TRUE)
  }
  expect_true(weighs("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)"))
  expect_true(weighs("Sum_Reduction(Exp(-SqDist(x, y)), 1)"))
  expect_false(weighs("Sum_Reduction(Exp(-SqDist(x, y)) * B, 1)"))
  expect_false(weighs("Sum_Reduction(Exp(-SqDist(x, y)) * (x | y), 1)"))
  expect_false(weighs("Sum_Reduction(Exp(-SqDist(x, y)) / (1 + Exp(-SqDist(x, y))), 1)"))
  expect_false(weighs("LogSumExp_Reduction(-SqDist(x, y), b, 1)"))
})

# Terms of both signs cancel in a sum, and the rounding error of the sum has the size of a term. The terms of all rows
# have about the same size. The largest sum is therefore the scale of the errors, also for rows whose sum is near 0.
expect_near <- function(actual, expected, precision) {
  expect_close(actual, expected, precision, scale = max(row_scale(expected)))
}

test_that("sums are right near and far from the origin, for scales of both signs", {
  withr::local_seed(1)
  for (D in c(1, 3, 17, 50)) {
    x <- round(64 * uniform(300, D)) / 64  # exact in float32, also when shifted
    y <- round(64 * uniform(270, D)) / 64
    b <- rnorm(270)
    squares <- Reduce(`+`, lapply(seq_len(D), \(d) outer(x[, d], y[, d], `-`)^2))
    for_each_backend(\(kernel, precision) {
      gauss <- kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)",
                      c("s = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), "b = Vj(1)"))
      points <- c("s = Pm(1)", sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D))
      soft <- kernel("LogSumExp_Reduction(s * SqDist(x, y), 1)", points)
      laplace <- kernel("Sum_Reduction(Exp(-s * Norm2(x - y)) * b, 1)", c(points, "b = Vj(1)"))
      matern <- kernel("Sum_Reduction((1 + s * Norm2(x - y) + s^2 / 3 * SqDist(x, y)) * Exp(-s * Norm2(x - y)) * b, 1)",
                       c(points, "b = Vj(1)"))
      softer <- kernel("LogSumExp_Reduction(s * Norm2(x - y), 1)", points)
      for (s in c(-1, 0, 1, 40) / D) for (moved in c(0, 4, 2^12)) {
        expect_near(gauss(list(s, x + moved, y + moved, b)), exp(-s * squares) %*% b, precision)
        expect_close(soft(list(s, x + moved, y + moved)), log(rowSums(exp(s * squares))), precision)
        expect_near(laplace(list(s, x + moved, y + moved, b)), exp(-s * sqrt(squares)) %*% b, precision)
        expect_near(matern(list(s, x + moved, y + moved, b)),
                    ((1 + s * sqrt(squares) + s^2 / 3 * squares) * exp(-s * sqrt(squares))) %*% b, precision)
        expect_close(softer(list(s, x + moved, y + moved)), log(rowSums(exp(s * sqrt(squares)))), precision)
      }
      half_far <- x + 2^12 * (seq_len(300) %% 2)
      expected <- exp(-squares / D) %*% b * (seq_len(300) %% 2 == 0)
      expect_near(gauss(list(1 / D, half_far, y, b)), expected, precision)
      expected <- exp(-40 * sqrt(squares)) %*% b * (seq_len(300) %% 2 == 0)
      expect_near(laplace(list(40, half_far, y, b)), expected, precision)
    })
  }
})

test_that("sums are right for weights of any size, and without weights", {
  withr::local_seed(2)
  x <- uniform(300, 3)
  y <- uniform(700, 3)
  b <- cbind(rnorm(700), rnorm(700))
  power <- exp(-Reduce(`+`, lapply(1:3, \(d) outer(x[, d], y[, d], `-`)^2)))
  args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)")
  for_each_backend(\(kernel, precision) {
    weighted <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args)
    one <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", replace(args, 3, "b = Vj(1)"))
    for (size in 10^c(-30, -17, 0, 17, 30)) {
      expect_near(weighted(list(x, y, size * b)) / size, power %*% b, precision)
      expect_near(one(list(x, y, size * b[, 1])) / size, power %*% b[, 1], precision)
    }
    odd <- replace(b, cbind(c(3, 400, 650), c(1, 2, 2)), c(0, Inf, NaN))
    expect_near(weighted(list(x, y, odd)), power %*% odd, precision)
    for (k in 1:2) expect_near(one(list(x, y, odd[, k])), power %*% odd[, k], precision)
    expect_close(kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args[1:2])(list(x, y)), rowSums(power), precision)
    line <- list(x[, 1, drop = FALSE], y[, 1, drop = FALSE])
    itself <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
    expect_near(itself(line), exp(-outer(x[, 1], y[, 1], `-`)^2) %*% y[, 1], precision)
    twice <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * (Exp(-SqDist(x, y)) + 1), 1)", args[1:2])
    expect_close(twice(list(x, y)), rowSums(power^2 + power), precision)
  })
})
