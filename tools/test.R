# Runs the tests on the installed package: every failure, warning and skip in full, then one line of counts.

filter <- commandArgs(TRUE)
results <- tryCatch(
  as.data.frame(testthat::test_dir(
    "tests/testthat",
    filter = if (length(filter)) paste(filter, collapse = "|"),
    package = "kernops", load_package = "installed",
    reporter = testthat::SummaryReporter$new(show_praise = FALSE, max_reports = Inf),
    stop_on_failure = FALSE
  )),
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
