# One part of tools/fuzz: `Rscript tools/fuzz.R PART SECONDS SEED` runs tools/fuzzer/PART.R, whose function `run_part()`
# calls the package with random or invalid input until `there_is_time()` is FALSE. A finding is an error without class
# kernops_error, a call that takes more than a second of a core, or a value that differs from the oracle in plain R.
# Each finding is printed on one line. The file FUZZ_LAST names the current call, so that tools/fuzz can report this
# call if R dies.

suppressMessages(library(kernops))
arguments <- commandArgs(TRUE)
part <- arguments[[1]]
end <- proc.time()[["elapsed"]] + as.numeric(arguments[[2]])
set.seed(as.integer(arguments[[3]]))
there_is_time <- \() proc.time()[["elapsed"]] < end
findings <- character()
report <- function(...) {
  finding <- paste0(...)
  if (!finding %in% findings) cat("fuzz: ", finding, "\n", sep = "")
  findings <<- union(findings, finding)
}

quietly <- \(code) suppressMessages(suppressWarnings(code))

# The error that a call raises, or NULL.
error_of <- function(call) {
  # printing a call with many numbers would take seconds
  tryCatch({
    utils::capture.output(quietly({value <- call(); if (is.object(value)) print(value)}))
    NULL
  }, error = identity)
}
begin_attack <- function(label) writeLines(label, Sys.getenv("FUZZ_LAST", nullfile()))
report_error <- function(label, error) {
  report(label, ": ", class(error)[[1]], ": ", substr(gsub("\n", " ", conditionMessage(error)), 1, 100))
}
attack <- function(label, call) {
  begin_attack(label)
  seconds <- sum(system.time(error <- error_of(call))[c("user.self", "sys.self")])
  if (seconds > 1) report(label, ": ", round(seconds, 1), " s")
  if (!is.null(error) && !inherits(error, "kernops_error")) report_error(label, error)
}

# Checks that the value of `call` is near the value of `oracle`. If `may_refuse`, the call may instead raise an error of
# class kernops_error.
compare <- function(label, call, oracle, tolerance = 1e-8, may_refuse = FALSE) {
  begin_attack(label)
  expected <- quietly(oracle())
  value <- tryCatch(quietly(call()), error = identity)
  if (inherits(value, "error")) {
    if (!(may_refuse && inherits(value, "kernops_error"))) report_error(label, value)
  } else if (!isTRUE(all.equal(as.vector(value), as.vector(expected), tolerance = tolerance))) {
    report(label, ": ", deparse1(utils::head(as.vector(value), 3)), " instead of ",
           deparse1(utils::head(as.vector(expected), 3)))
  }
}

# Checks that a call raises an error of class kernops_error.
must_refuse <- function(label, call) {
  begin_attack(label)
  value <- tryCatch(quietly(call()), error = identity)
  if (!inherits(value, "error")) report(label, " is not refused")
  else if (!inherits(value, "kernops_error")) report_error(label, value)
}

pick <- \(x) x[[sample(length(x), 1)]]
# Writes times and strings in other representations.
origin <- as.POSIXct("2024-01-03", tz = "UTC")
in_zone <- function(x, zone) `attr<-`(x, "tzone", zone)
latin1 <- \(x) iconv(enc2utf8(x), "UTF-8", "latin1")

source(file.path("tools", "fuzzer", paste0(part, ".R")))
run_part()
cat("fuzz: ", part, ", ", length(findings), " findings\n", sep = "")
quit(status = as.integer(length(findings) > 0))
