# Runs the tests on the installed package. Prints every failure, warning and skip in full, the files that took longest,
# and one line of counts. KERNOPS_TEST_PART and KERNOPS_TEST_DEADLINE select tests (tests/testthat/helper-chosen.R).

filter <- commandArgs(TRUE)
folder <- "tests/testthat"
if (nzchar(Sys.getenv("KERNOPS_TEST_PART"))) {
  # snapshots are files in the folder of the tests, so each process has a copy of this folder
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
  ))[c("file", "real", "passed", "failed", "error", "skipped")],
  error = function(e) {
    message(conditionMessage(e))
    data.frame(file = character(1), real = 0, passed = 0, failed = 1, error = FALSE, skipped = FALSE)
  }
)

seconds <- sort(tapply(results$real, sub("^test-(.*)[.]R$", "\\1", results$file), sum), decreasing = TRUE)
slowest <- utils::head(seconds[seconds >= 5], 20)
if (length(slowest)) cat("slowest files:", paste0(names(slowest), " ", round(slowest), " s", collapse = ", "), "\n")

cat(sprintf(
  "%d passed, %d failed, %d skipped\n",
  sum(results$passed), sum(results$failed) + sum(results$error), sum(results$skipped)
))
# a run without a passed test is a failure, unless the deadline skipped the tests
late <- isTRUE(as.numeric(Sys.time()) > as.numeric(Sys.getenv("KERNOPS_TEST_DEADLINE")))
bad <- any(results$failed > 0, results$error) || (sum(results$passed) == 0 && !late)
quit(status = as.integer(bad))
