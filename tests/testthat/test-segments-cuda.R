# The tests of segments once more, with the GPU for backend.

if (is.null(cuda_refusal())) {
  for (file in c("seg_reduce", "seg_op", "seg_plan", "seg_grad", "spmv", "reduce_by_key", "softmax")) local({
    withr::local_options(kernops.backend = "cuda")
    test_mistakes <- function(...) NULL # messages are those of the other run
    expect_snapshot <- function(...) NULL
    source(test_path(paste0("test-", file, ".R")), local = TRUE)
  })
}
