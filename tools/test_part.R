# Some tests of one file: `Rscript tools/test_part.R FILE k n` runs the k-th, (k + n)-th, ... test. The last line counts.
given <- commandArgs(TRUE)
part <- as.integer(given[[2]])
parts <- as.integer(given[[3]])

# Stands before that of testthat. Arguments of what called it must not be looked up from within.
calls <- 0L
test_that <- function(desc, code) {
  caller <- parent.frame()
  if (exists("env", caller, inherits = FALSE)) force(caller$env)
  calls <<- calls + 1L
  if ((calls - part) %% parts == 0) eval(as.call(list(testthat::test_that, desc, substitute(code))), caller)
}

# snapshots are files beside the tests: a copy for each process
copy <- tempfile("tests")
dir.create(copy)
file.copy("tests/testthat", copy, recursive = TRUE)
result <- as.data.frame(testthat::test_dir(
  file.path(copy, "testthat"), filter = paste0("^", given[[1]], "$"), package = "kernops", load_package = "installed",
  reporter = testthat::SummaryReporter$new(show_praise = FALSE, max_reports = Inf), stop_on_failure = FALSE
))
failed <- sum(result$failed) + sum(result$error)
cat(sprintf("\n%d passed, %d failed, %d skipped\n", sum(result$passed), failed, sum(result$skipped)))
