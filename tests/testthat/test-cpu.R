# Features of the CPU backend: threads, instruction sets.

gaussian <- function(...) {
  args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)")
  keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args, backend = "cpu", ...)
}

test_that("the number of threads does not change a bit of a result", {
  withr::local_seed(1)
  sizes <- list(c(1, 1e6), c(3, 1e5), c(1000, 1000), c(1e5, 3))
  formulas <- c("Sum_Reduction(Exp(-SqDist(x, y)), 1)", "Sum_Reduction(Exp(-SqDist(x, y)), 0)",
                "LogSumExp_Reduction(x | y, 1)", "ArgKMin_Reduction(SqDist(x, y), 3, 1)")
  for (size in sizes) {
    input <- list(uniform(size[1], 2), uniform(size[2], 2))
    for (formula in formulas) {
      op <- keops_kernel(formula, c("x = Vi(2)", "y = Vj(2)"), backend = "cpu")
      on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(input))
      alone <- on_threads(1)
      for (n in c(2, 3, 8)) expect_identical(on_threads(n), alone, label = paste(formula, toString(size), n))
    }
  }
})

test_that("repeated calls give the same bits", {
  withr::local_seed(2)
  input <- list(uniform(500, 3), uniform(700, 3), uniform(700, 2))
  expect_identical(gaussian()(input), gaussian()(input))
})

small <- list(matrix(1, 5, 3), matrix(1, 7, 3), matrix(1, 7, 2))
with_option <- \(...) withr::with_options(list(...), gaussian()(small))
test_mistakes("kernops_input_error", alist(
  `no threads` = with_option(kernops.threads = 0),
  `negative threads` = with_option(kernops.threads = -1),
  `half a thread` = with_option(kernops.threads = 1.5),
  `threads in words` = with_option(kernops.threads = "two"),
  `missing number of threads` = with_option(kernops.threads = NA),
  `unknown instruction set` = with_option(kernops.isa = "abacus")
))

for (isa in c("baseline", "avx2", "avx512")) {
  test_that(paste("every instruction set computes the same sums:", isa), {
    skip_if_not(isa %in% kernops:::cpu_isas(), paste("this machine lacks", isa))
    withr::local_options(kernops.isa = isa)
    withr::local_seed(3)
    x <- uniform(100, 3)
    y <- uniform(333, 3)
    b <- uniform(333, 2)
    distances <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * x %*% t(y)
    nearest <- t(apply(distances, 1, order))[, 1:4]
    neighbours <- "ArgKMin_Reduction(SqDist(x, y), 4, 1)"
    for (precision in c("float64", "float32")) {
      kernel <- \(...) keops_kernel(..., precision = precision, backend = "cpu")
      expect_close(gaussian(precision = precision)(list(x, y, b)), exp(-distances) %*% b, precision)
      expect_identical(kernel(neighbours, c("x = Vi(3)", "y = Vj(3)"))(list(x, y)), nearest)
    }
  })
}

test_that("instruction sets agree in sums, relative to the sum of the absolute values of the terms", {
  withr::local_seed(4)
  xy <- c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(1)")
  bound <- c(float64 = 1e-12, float32 = 1e-5)
  # reductions, and the scales of their rounding errors
  pairs <- list(
    c("Sum_Reduction(Exp(-SqDist(x, y) / 100) * b, 1)", "Sum_Reduction(Exp(-SqDist(x, y) / 100) * Abs(b), 1)"),
    c("Sum_Reduction((x | y) * b, 1)", "Sum_Reduction((Abs(x) | Abs(y)) * Abs(b), 1)"),
    c("Mean_Reduction(Norm2(x - y) * b, 1)", "Mean_Reduction(Norm2(x - y) * Abs(b), 1)"),
    c("Var_Reduction((x | y) * b, 1)", "Mean_Reduction(Square((Abs(x) | Abs(y)) * b), 1)"),
    c("SumSoftMaxWeight_Reduction(Sin(Sum(x - y)), 1, b)", "SumSoftMaxWeight_Reduction(Sin(Sum(x - y)), 1, Abs(b))"),
    c("LogSumExp_Reduction(x | y, 1)", "Max_Reduction(1 + (Abs(x) | Abs(y)), 1)")
  )
  for (size in list(c(5, 1), c(60, 3), c(20001, 3), c(1000, 100))) {
    x <- uniform(20, size[2])
    y <- uniform(size[1], size[2])
    b <- uniform(size[1]) + 0.01
    b <- b - mean(b) * (size[1] > 5) # the terms of the sums cancel
    for (precision in names(bound)) for (pair in pairs) {
      run <- function(formula, isa) {
        withr::local_options(kernops.isa = isa)
        needed <- c(TRUE, TRUE, grepl("\\bb\\b", formula))
        args <- gsub("%d", size[2], xy, fixed = TRUE)[needed]
        op <- keops_kernel(formula, args, precision = precision, backend = "cpu")
        op(list(x = x, y = y, b = b)[needed])
      }
      expected <- run(pair[[1]], "baseline")
      scale <- run(pair[[2]], "baseline")
      for (isa in kernops:::cpu_isas())
        expect_lt(max(abs(run(pair[[1]], isa) - expected) / scale), bound[[precision]],
                  label = paste(pair[[1]], precision, isa, toString(size)))
    }
  }
})

test_that("instruction sets agree in sums of segments and axes, relative to the sum of the absolute values", {
  withr::local_seed(5)
  x <- rnorm(1e5) * 2^runif(1e5, -8, 8)
  for (length in c(1, 7, 100, 5000, 1e5)) {
    n <- 1e5 %/% length
    wanted <- matrix(x[seq_len(n * length)], length)
    sums <- \(isa) withr::with_options(list(kernops.isa = isa), cbind(
      seg_reduce(as.vector(wanted), lengths = rep(length, n)), axis_reduce(wanted, 1), axis_reduce(t(wanted), 2)
    ))
    expected <- sums("baseline")
    for (isa in kernops:::cpu_isas()) expect_lt(max(abs(sums(isa) - expected) / colSums(abs(wanted))), 1e-12)
  }
})
