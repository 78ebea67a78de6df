# What the CPU backend adds to the formulas: threads, instruction sets, interrupts.

gaussian <- function(...) {
  args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)")
  keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args, backend = "cpu", ...)
}

test_that("the number of threads changes no bit of a result", {
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

test_that("the same call gives the same bits again", {
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

test_that("Ctrl-C ends a huge job within moments, and R lives on", {
  skip_on_os("windows")
  skip_on_cran()
  skip_if_not_in_library()
  result <- interrupt(quote({
    x <- matrix(runif(6e6), ncol = 3)
    args <- c("x = Vi(3)", "y = Vj(3)")
    op <- kernops::keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args, backend = "cpu")
    say_pid()
    start <- proc.time()[["elapsed"]]
    ended <- tryCatch({op(list(x, x)); "finished"}, interrupt = \(e) "interrupted")
    list(ended = ended, seconds = proc.time()[["elapsed"]] - start, afterwards = op(list(x[1:2, ], x[1:2, ])))
  }))
  expect_identical(result$ended, "interrupted")
  expect_lt(result$seconds, 1 + 1.5)
  expect_identical(dim(result$afterwards), c(2L, 1L))
})
