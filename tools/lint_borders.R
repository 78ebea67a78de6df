# tools/lint: dependencies between the parts of the C++ code. Prints one line for each finding.

say <- function(where, text) if (length(where)) cat(paste0(where, ": ", text, "\n"), sep = "")
sources_in <- function(folder) {
  sort(list.files(folder, "[.](cpp|h|cuh)$", recursive = TRUE, full.names = TRUE), method = "radix")
}

# ---- A function that R calls has at most 7 arguments: all settings are in one list (src/settings.cpp) ----

most_arguments <- 7

entry_points_are_narrow <- function() {
  for (definition in parse("R/RcppExports.R", keep.source = FALSE)) {
    count <- length(definition[[3]][[2]])
    if (count > most_arguments) {
      name <- as.character(definition[[2]])
      say("R/RcppExports.R", sprintf("%s() has %d arguments, more than %d", name, count, most_arguments))
    }
  }
}

# ---- The includes that each folder may have ----

includes_of <- function(file) {
  lines <- grep('^#include "', readLines(file), value = TRUE)
  sub('^#include "([^"]*)".*', "\\1", lines)
}

stays_within <- function(files, forbidden, allowed = character()) {
  for (file in files) {
    beyond <- setdiff(grep(forbidden, includes_of(file), value = TRUE), allowed)
    if (length(beyond)) say(file, sprintf("must not include %s", beyond))
  }
}

# ---- A set of operations is a column of ops.def or segments.def ----

# sets_are_columns() finds sets of operations that are listed outside the tables. `free_sets` has the files that may
# list sets of operations, with the purpose of these sets.
free_sets <- c("src/cuda/segments/source.cpp" = "kernels to compile at installation, and kernels to test")

id <- "(OpId|StatisticId)::\\w+"
set_of_ids <- paste0("(case ", id, ":\\s*){3}|\\{\\s*\\{?", id, "[^;()]*?", id, "[^;()]*?", id)

names_in <- function(table, kind) {
  row <- paste0("^", kind, "\\( *([A-Za-z0-9_]+),.*")
  sub(row, "\\1", grep(row, readLines(file.path("inst/include/kernops", table)), value = TRUE))
}
named <- c(names_in("ops.def", "OP"), names_in("segments.def", "STATISTIC"))

lists_names <- function(code) {
  lists <- regmatches(code, gregexpr('\\{ *"\\w+"(, *"\\w+"){2,} *\\}', code))[[1]]
  any(vapply(regmatches(lists, gregexpr("\\w+", lists)), \(words) sum(words %in% named) >= 3, NA))
}

sets_are_columns <- function(file) {
  code <- paste(sub("//.*", "", readLines(file)), collapse = " ")
  statements <- strsplit(code, "[;{}]")[[1]]
  asked <- lengths(regmatches(statements, gregexpr(paste0("(is\\(([^(),]+, )?|== ?)", id), statements)))
  if (grepl(set_of_ids, code, perl = TRUE) || any(asked >= 3) || lists_names(code)) {
    say(file, "lists operations: make the set a column of ops.def or segments.def")
  }
}

entry_points_are_narrow()
stays_within(sources_in("src/formula"), "^(run|cpu|cuda|segments|axes|dense)/", allowed = "run/errors.h")
stays_within("src/run/errors.h", ".")
stays_within(c("src/border.h", "src/border.cpp"), "^cuda/")
for (file in setdiff(sources_in(c("src", "inst/include")), names(free_sets))) sets_are_columns(file)
