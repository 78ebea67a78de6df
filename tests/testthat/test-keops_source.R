test_that("the text of keops_source() names the kernel and the reason for its choice", {
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(100)", "y = Vj(100)"), precision = "float32")
  first <- \(...) strsplit(keops_source(op, ...), "\n")[[1]][1:2]
  expect_snapshot({
    first(device = "sm_90")
    first(device = "sm_80")
    first(rows = 10, device = "sm_75")
  })
  kernel <- "PairKernel<Formula, Wide<%s>, States<Row>, AllPairs>"
  expect_match(keops_source(op, device = "sm_90"), sprintf(kernel, "Warpgroups, 2, 8, 1"))
  expect_match(keops_source(op, device = "sm_80"), sprintf(kernel, "Halves, 4, 4"))
})

test_that("the chosen kernel depends on the numbers of rows and columns", {
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(1000)", "y = Vj(1000)"))
  expect_match(keops_source(op, device = "sm_80"), "^// panels")
  expect_match(keops_source(op, rows = 100, device = "sm_80"), "^// wide")
  expect_match(keops_source(op, columns = 100, device = "sm_80"), "^// wide")
})

test_that("sizes and GPUs that do not exist are refused", {
  op <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  expect_snapshot(error = TRUE, {
    keops_source(op, rows = 0)
    keops_source(op, columns = 1.5)
    keops_source(op, columns = c(1, 2))
    keops_source(op, rows = NA)
    keops_source(op, device = "H100")
    keops_source(op, device = TRUE)
  })
  expect_error(keops_source(op, device = -1), class = "kernops_input_error")
  expect_error(keops_source(op, device = 12345), class = "kernops_cuda_error")  # with and without a driver
})

on_gpu <- function(op) {
  assign("backend", "cuda", environment(op))
  op
}
soft <- \() keops_kernel("LogSumExp_Reduction(-SqDist(x, y), 1)", c("x = Vi(64)", "y = Vj(64)"), precision = "float32")

test_that("an operator of a GPU prints the kernels of its reductions", {
  skip_if(nzchar(cuda_driver()), "the GPU of this machine is printed")
  expect_snapshot(print(on_gpu(soft())))
  expect_snapshot(print(on_gpu(keops_grad(soft(), "x"))))
})

test_that("an operator of another backend prints no GPU kernels", {
  expect_no_match(capture.output(print(soft())), "^  kernel ")
  expect_match(capture.output(print(on_gpu(soft()))), "^  kernel     on sm_[0-9]+, 1e5 x 1e5 pairs$", all = FALSE)
})
