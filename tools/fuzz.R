# One part of tools/fuzz: `Rscript tools/fuzz.R PART SECONDS SEED` runs tools/fuzzer/PART.R, whose function `run_part()`
# attacks the package until `there_is_time()` is FALSE. A finding is an error without class kernops_error, a call that
# takes more than a second of a core, or a value that differs from the oracle in plain R; each finding is a line. The
# file FUZZ_LAST names the current attack, so that tools/fuzz can name it when R dies.

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
  # R takes seconds to print many numbers
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

# The value of `call` must be near that of `oracle`, or the call must be refused if `may_refuse`. A refusal has class
# kernops_error.
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

# A call that must be refused.
must_refuse <- function(label, call) {
  begin_attack(label)
  value <- tryCatch(quietly(call()), error = identity)
  if (!inherits(value, "error")) report(label, " is not refused")
  else if (!inherits(value, "kernops_error")) report_error(label, value)
}

pick <- \(x) x[[sample(length(x), 1)]]
# A time, and other representations of times and strings.
origin <- as.POSIXct("2024-01-03", tz = "UTC")
in_zone <- function(x, zone) `attr<-`(x, "tzone", zone)
latin1 <- \(x) iconv(enc2utf8(x), "UTF-8", "latin1")

source(file.path("tools", "fuzzer", paste0(part, ".R")))
run_part()
cat("fuzz: ", part, ", ", length(findings), " findings\n", sep = "")
quit(status = as.integer(length(findings) > 0))
