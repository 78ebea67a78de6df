# Every operation and reduction compiles for GPUs, where there is the compiler but no GPU to run what it makes.

skip_unless_only_compiler <- function() {
  skip_on_cran()
  skip_without_nvrtc()
  skip_if("cuda" %in% backends(), "the GPU compiles and runs them all in other tests")
}

expect_compiles <- function(op, single, architecture) {
  expect_gt(cuda_compile(cuda_sources(environment(op)$kernel, single)[[1]], architecture), 0)
}

# Values in one precision for one architecture, gradients in the other for the other.
for (name in names(oracle_ops)) test_that(paste(name, "compiles for GPUs, and so does its gradient"), {
  skip_unless_only_compiler()
  withr::local_seed(1)
  case <- random_case(name, 3, 4, trial = 1)
  op <- as_operator(case, keops_kernel)
  expect_compiles(op, TRUE, "sm_80")
  if (length(case$input)) expect_compiles(keops_grad(op, names(case$input)[[1]]), FALSE, "sm_90")
})

test_that("every reduction compiles for GPUs", {
  skip_unless_only_compiler()
  table <- keops_reductions()
  for (n in seq_len(nrow(table))) {
    arguments <- gsub("p", "3", gsub("w", "b", sub("f", "SqDist(x, y) + Sum(b)", table$arguments[[n]])))
    formula <- sprintf("%s_Reduction(%s, 1)", table$name[[n]], arguments)
    op <- keops_kernel(formula, c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)"))
    expect_compiles(op, TRUE, "sm_90")
    expect_compiles(op, FALSE, "sm_80")
  }
})
