# tools/lint: every source has a test, and a test covers every message of the C++ code. Prints one line for each
# finding.

source(file.path("tools", "tests_for.R"))
say <- function(where, text) if (length(where)) cat(paste0(where, ": ", text, "\n"), sep = "")
files_in <- \(folder, pattern) sort(list.files(folder, pattern, recursive = TRUE, full.names = TRUE), method = "radix")

# ---- tests/map.txt and the names of test files cover R/ and src/ ----

map_covers_sources <- function(map = read_map()) {
  generated <- c("R/RcppExports.R", "src/RcppExports.cpp")
  sources <- setdiff(c(files_in("R", "[.]R$"), files_in("src", "[.]cpp$")), generated)
  untested <- sources[lengths(lapply(sources, tests_for, map)) == 0]
  say(untested, "has no test of its name and no line in tests/map.txt")
  unmatched <- Filter(\(pattern) !length(Sys.glob(pattern)), unlist(map$files))
  if (length(unmatched)) say("tests/map.txt", sprintf("no file matches %s", unmatched))
  tests <- unique(unlist(map$tests))
  missing <- tests[!file.exists(file.path("tests", "testthat", paste0("test-", tests, ".R")))]
  if (length(missing)) say("tests/map.txt", sprintf("there is no test-%s.R", missing))
}

# ---- A C++ message is tested if its longest string literal is in a snapshot or in a test ----

# Messages that no test can cause, with the reason.
unreachable <- c(
  "a matrix of R has at most" = "needs 2^31 results",
  "a sum over both axes is returned to the host: `output = \"gpu\"` is not supported" = "is for bench/ alone",
  "there are too many points and neighbours for a preconditioner" = "needs 2^31 neighbours",
  "too many variables or columns for a decomposition on the GPU" = "R checks the rank",
  "the entries of a matrix can be stored for a single batch only" = "R checks the batches",
  "the array has too many dimensions to be reduced" = "R joins dimensions",
  "The exact method cannot be used on the GPU:" = "needs a GPU without cuSOLVER",
  "the plan is for" = "R checks the length",
  "`output = \"gpu\"` needs a matrix." = "R passes the rows of the result",
  "` must be a vector, a matrix or, for batches, an array of 3 dimensions," = "R joins batches"
)

longest_literal <- function(statement) {
  literals <- regmatches(statement, gregexpr('"(\\\\.|[^"\\\\])*"', statement))[[1]]
  literals <- trimws(gsub("\\\\(.)", "\\1", gsub('^"|"$', "", literals)))
  if (length(literals)) literals[[which.max(nchar(literals))]] else ""
}
messages_of <- function(file) {
  text <- paste(readLines(file), collapse = "\n")
  thrown <- gregexpr("throw (InputError|FormulaError)\\([^;]*;", text)
  statements <- regmatches(text, thrown)[[1]]
  line <- \(position) nchar(gsub("[^\n]", "", substr(text, 1, position))) + 1L
  lines <- vapply(as.vector(thrown[[1]])[seq_along(statements)], line, 0L)
  longest <- vapply(statements, longest_literal, "")
  data.frame(where = sprintf("%s:%d", rep(file, length(lines)), lines), text = longest)[nchar(longest) >= 10, ]
}

messages_are_tested <- function() {
  seen <- unlist(lapply(c(files_in("tests/testthat/_snaps", "[.]md$"), files_in("tests/testthat", "[.]R$")), readLines))
  # cli and testthat wrap lines, and R code escapes quotes
  seen <- gsub('\\"', '"', seen, fixed = TRUE)
  seen <- gsub("\\s+", " ", paste(gsub("^ *([!ixv>] )?", "", seen), collapse = " "))
  messages <- do.call(rbind, lapply(files_in("src", "[.](cpp|h)$"), messages_of))
  untested <- !vapply(messages$text, grepl, NA, seen, fixed = TRUE) & !messages$text %in% names(unreachable)
  say(messages$where[untested], sprintf("no test shows the message \"%s\"", messages$text[untested]))
}

map_covers_sources()
messages_are_tested()
