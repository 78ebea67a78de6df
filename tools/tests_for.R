# Maps source files to their tests, by tests/map.txt and by name: `Rscript tools/tests_for.R FILE...` prints the names
# of the tests on one line.

read_map <- function(file = file.path("tests", "map.txt")) {
  lines <- grep("^[^#]", readLines(file), value = TRUE)
  words <- \(text) strsplit(trimws(text), " +")
  data.frame(files = I(words(sub(":.*", "", lines))), tests = I(words(sub(".*:", "", lines))))
}

tests_for <- function(file, map = read_map()) {
  matches <- vapply(map$files, \(patterns) any(vapply(utils::glob2rx(patterns), grepl, NA, file)), NA)
  # a star of a pattern must not match a slash, so that the depths of the paths are compared
  depth <- \(path) lengths(strsplit(path, "/", fixed = TRUE))
  matches <- matches & vapply(map$files, \(patterns) any(depth(patterns) == depth(file)), NA)
  name <- if (grepl("/test-.*[.]R$", file)) sub("^test-", "", basename(file)) else basename(file)
  name <- sub("[.][A-Za-z]+$", "", name)
  same <- if (file.exists(file.path("tests", "testthat", paste0("test-", name, ".R")))) name
  unique(c(same, unlist(map$tests[matches])))
}

if (sys.nframe() == 0) cat(unlist(lapply(commandArgs(TRUE), tests_for)), "\n")
