# tools/coverage runs this script, which runs covr over a copy of the sources, in the folder COVERAGE_HOME.

home <- Sys.getenv("COVERAGE_HOME")
filter <- commandArgs(TRUE)
run <- bquote(testthat::test_dir(
  .(file.path(getwd(), "tests", "testthat")), filter = .(if (length(filter)) paste(filter, collapse = "|")),
  package = "kernops", load_package = "installed", reporter = "minimal", stop_on_failure = FALSE
))
options(configure.args = "--without-cuda")
found <- covr::package_coverage(
  file.path(home, "work"), type = "none", code = paste(deparse(run), collapse = "\n"), quiet = FALSE, clean = FALSE,
  install_path = file.path(home, "library"), line_exclusions = list("R/RcppExports.R", "src/RcppExports.cpp")
)

lines <- covr::tally_coverage(found, by = "line")
lines <- lines[!startsWith(lines$filename, "src/cuda/"), ] # the tests run without a GPU
lines$run <- lines$value > 0
per_file <- stats::aggregate(cbind(run, all = 1) ~ filename, lines, sum)
per_file$left <- per_file$all - per_file$run
worst <- utils::head(per_file[order(-per_file$left), ], 10)
cat(sprintf("%5d of %5d lines not run: %s\n", worst$left, worst$all, worst$filename), sep = "")
figure <- function(language, files) {
  some <- per_file[grepl(files, per_file$filename), ]
  cat(sprintf("coverage: %s %.1f %% of %d lines\n", language, 100 * sum(some$run) / sum(some$all), sum(some$all)))
}
figure("R", "\\.R$")
figure("C++", "\\.(cpp|h)$")
