# Every test of for_each_backend() is also a test of the GPU, where there is one.

test_that("a machine without a GPU says so when it is asked for one", {
  skip_if("cuda" %in% backends(), "this machine has a GPU")
  refused <- \() keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "cuda")
  expect_s3_class(expect_error(refused(), class = "kernops_cuda_error"), "kernops_error")
  expect_match(cuda_refusal(), "CUDA")
})

test_that("a machine with a GPU runs the tests on it", {
  skip_if_not("cuda" %in% backends(), paste("tests ran on the CPU alone:", cuda_refusal()))
  withr::local_seed(1)
  x <- uniform(3000, 3)
  args <- c("x = Vi(3)", "y = Vj(3)")
  on <- \(backend) keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", args, backend = backend)(list(x, x))
  expect_close(on("cuda"), on("cpu"))
})

test_that("the CUDA text of an operator names its operations, and no more", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)"))
  expect_match(keops_source(op), "ops::SqDist")
  expect_match(keops_source(keops_kernel("Max_Reduction(x, 0)", "x = Vi(3)", precision = "float32")), "engines::Max<")
  expect_match(keops_source(op), "double")
  expect_error(keops_source(1), class = "kernops_input_error")
})
