# Runs the tests on the installed package: every failure, warning and skip in full, then one line of counts. With
# KERNOPS_TEST_PART=k/n in the environment, runs the k-th, (k + n)-th, ... test of each file; with
# KERNOPS_TEST_DEADLINE, in seconds since 1970, tests that would begin later are skipped (helper-deadline.R).

filter <- commandArgs(TRUE)
folder <- "tests/testthat"
if (nzchar(part <- Sys.getenv("KERNOPS_TEST_PART"))) {
  part <- as.integer(strsplit(part, "/", fixed = TRUE)[[1]])
  count <- 0L
  # masks the function of testthat; the expression of `env` must not be evaluated here
  test_that <- function(desc, code) {
    caller <- parent.frame()
    if (exists("env", caller, inherits = FALSE)) force(caller$env)
    count <<- count + 1L
    if ((count - part[[1]]) %% part[[2]] == 0) eval(as.call(list(testthat::test_that, desc, substitute(code))), caller)
  }
  # snapshots are files beside the tests: a copy for each process
  file.copy(folder, tempdir(), recursive = TRUE)
  folder <- file.path(tempdir(), "testthat")
}

results <- tryCatch(
  as.data.frame(testthat::test_dir(
    folder,
    filter = if (length(filter)) paste(filter, collapse = "|"),
    package = "kernops", load_package = "installed",
    reporter = testthat::SummaryReporter$new(show_praise = FALSE, max_reports = Inf),
    stop_on_failure = FALSE
  ))[c("passed", "failed", "error", "skipped")],
  error = function(e) {
    message(conditionMessage(e))
    data.frame(passed = 0, failed = 1, error = FALSE, skipped = FALSE)
  }
)

cat(sprintf(
  "%d passed, %d failed, %d skipped\n",
  sum(results$passed), sum(results$failed) + sum(results$error), sum(results$skipped)
))
bad <- any(results$failed > 0, results$error) || sum(results$passed) == 0
quit(status = as.integer(bad))
