# Runs code with the mirror of the sources that `tools/install --compiled` maintains; see tools/try.

words <- commandArgs(TRUE)
build <- Sys.getenv("KERNOPS_BUILD")
suppressMessages(pkgload::load_all(build, compile = FALSE, quiet = TRUE, helpers = FALSE, attach_testthat = FALSE))
namespace <- asNamespace("kernops")

test <- function(names) {
  summary_reporter <- \() testthat::SummaryReporter$new(show_praise = FALSE, max_reports = Inf)
  results <- lapply(names, function(name) {
    as.data.frame(testthat::test_file(
      file.path("tests", "testthat", paste0("test-", name, ".R")), package = "kernops", load_package = "none",
      env = new.env(parent = namespace), reporter = summary_reporter(), stop_on_failure = FALSE
    ))
  })
  results <- do.call(rbind, results)
  failed <- sum(results$failed) + sum(results$error)
  cat(sprintf("%d passed, %d failed, %d skipped\n", sum(results$passed), failed, sum(results$skipped)))
  quit(status = as.integer(failed > 0 || !any(results$passed > 0)))
}

run_file <- function(file, arguments) {
  commandArgs <- function(...) arguments # nolint: the file gets the arguments that follow its name
  source(file, local = list2env(list(commandArgs = commandArgs), parent = globalenv()), chdir = FALSE)
}

if (length(words) == 0) stop("tools/try needs a file, -e CODE or --test NAME") else
  if (words[[1]] == "--test") test(words[-1]) else
    if (words[[1]] == "-e") for (e in parse(text = words[-1])) {
      value <- withVisible(eval(e, globalenv()))
      if (value$visible) print(value$value)
    } else invisible(run_file(words[[1]], words[-1]))
