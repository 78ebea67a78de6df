# CRAN runs the tests listed in `core`, which take less than 100 s of CPU time: formulas, gradients, symbolic matrices,
# segments, solvers and fits, each against plain R on small data. tools/test runs all tests, and so does R CMD check if
# NOT_CRAN is true.
library(testthat)
library(kernops)

core <- c(
  "batches", "cov_kernels", "cpu", "data_frame", "lik_exact", "gp_methods", "data_new", "keops_grad", "keops_input",
  "keops_kernel", "solve_kernel", "kernels", "lazy_arithmetic", "lazy_base", "lazy_matrix", "lazy_reduction",
  "lazy_tensor", "ops_table", "seg_reduce_by_key", "reductions", "seg_empty", "seg_grad"
)
stopifnot(file.exists(file.path("testthat", paste0("test-", core, ".R"))))
on_cran <- !identical(Sys.getenv("NOT_CRAN"), "true")
test_check("kernops", filter = if (on_cran) paste0("^(", paste(core, collapse = "|"), ")$"))
