# Checks for tools/lint; prints one line for each finding.

find <- function(folders, pattern) {
  sort(list.files(folders, pattern, recursive = TRUE, full.names = TRUE), method = "radix")
}
say <- function(where, what) if (length(where)) cat(paste0(where, ": ", what, "\n"), sep = "")

# ---- lintr, for the files that changed since the last run ----

lint_r <- function() {
  if (!requireNamespace("lintr", quietly = TRUE)) {
    return(message("lint: lintr is missing, so R code was not looked at"))
  }
  cache <- file.path(".lib", "lintr")
  dir.create(cache, recursive = TRUE, showWarnings = FALSE)
  lint_file <- function(file) {
    findings <- as.data.frame(lintr::lint(file, cache = cache))
    table_row <- grepl("^#' \\|", findings$line)
    findings <- findings[!(findings$linter == "line_length_linter" & table_row), ]
    sprintf("%s:%s: %s [%s]", rep(file, nrow(findings)), findings$line_number, findings$message, findings$linter)
  }
  cores <- if (.Platform$OS.type == "unix") parallel::detectCores() else 1
  files <- find(c("R", "tests", "tools", "bench"), "[.]R$")
  writeLines(unlist(parallel::mclapply(files, lint_file, mc.cores = cores)))
}

# ---- Functions of more than 40 lines without a comment `long: reason` directly above ----

most_lines <- 40

say_long <- function(file, lines, first, last) {
  # an Rcpp attribute may stand between the comment and the function
  above <- c("", "", lines)
  reason <- grepl("^ *(//|#) long: .", above[first + 1]) | grepl("^ *(//|#) long: .", above[first])
  long <- last - first + 1 > most_lines & !reason
  say(sprintf("%s:%d", rep(file, sum(long)), first[long]),
      sprintf("a function of %d lines, more than %d; cut it, or say above it why not: `long: reason`",
              (last - first + 1)[long], most_lines))
}

long_in_r <- function(file) {
  parsed <- utils::getParseData(parse(file, keep.source = TRUE))
  parents <- parsed$parent[parsed$token %in% c("FUNCTION", "'\\\\'")]
  functions <- parsed[parsed$id %in% parents, ]
  # a long function inside a reported function is not reported
  within <- vapply(seq_len(nrow(functions)), \(k) any(functions$line1 <= functions$line1[[k]] &
    functions$line2 >= functions$line2[[k]] & functions$line2 - functions$line1 > most_lines &
    functions$id != functions$id[[k]]), NA)
  functions <- functions[!within, ]
  say_long(file, readLines(file), functions$line1, functions$line2)
}

# Removes comments, strings, and directives with their continuation lines from C++ code.
bare_code <- function(lines) {
  continued <- c(FALSE, grepl("\\\\$", lines[-length(lines)]))
  directive <- grepl("^ *#", lines)
  for (k in which(continued)) directive[[k]] <- directive[[k - 1]]
  lines[directive] <- ""
  lines <- gsub("'(\\\\.|[^'\\\\])'", "0", lines)
  lines <- gsub('"(\\\\.|[^"\\\\])*"', '""', lines)
  lines <- sub("//.*", "", lines)
  gsub("/\\*.*?\\*/", "", lines)
}

# Finds functions by counting braces: an outer brace opens a function if the text since the last ; { or } contains a
# parenthesis, unless the brace opens a struct or namespace, or follows a name immediately (the initialiser of a
# member).
long_in_cpp <- function(file) {
  lines <- readLines(file)
  code <- bare_code(lines)
  places <- gregexpr("[{};]|\\b(public|private|protected):", code)
  kinds <- character()
  first <- last <- start <- integer()
  header <- ""
  header_line <- NA
  add <- function(text, line) {
    if (is.na(header_line) && grepl("[^ ]", text)) header_line <<- line
    header <<- paste(header, text)
  }
  forget <- function() {
    header <<- ""
    header_line <<- NA
  }
  for (line in seq_along(code)) {
    token_positions <- places[[line]]
    tokens <- regmatches(code[line], places[line])[[1]]
    from <- 1
    for (k in seq_along(tokens)) {
      text <- substr(code[line], from, token_positions[[k]] - 1)
      add(text, line)
      from <- token_positions[[k]] + nchar(tokens[[k]])
      if (tokens[[k]] == "{") {
        plain <- gsub("<[^<>]*>", "", gsub("<[^<>]*>", "", header))
        kind <- if (length(kinds) && !utils::tail(kinds, 1) %in% "scope") "block"
          else if (grepl("[A-Za-z0-9_]$", header) && grepl("\\)\\s*:", header)) "member"
          else if (grepl("\\b(namespace|struct|class|union|enum|extern)\\b[^()]*$", plain)) "scope"
          else if (grepl("(", plain, fixed = TRUE)) "function" else "block"
        kinds <- c(kinds, kind)
        start <- c(start, header_line)
        if (kind != "member") forget()
      } else if (tokens[[k]] == "}") {
        if (length(kinds) == 0) return(say(paste0(file, ":", line), "braces do not balance"))
        kind <- utils::tail(kinds, 1)
        if (kind == "function") {
          first <- c(first, utils::tail(start, 1))
          last <- c(last, line)
        }
        kinds <- kinds[-length(kinds)]
        start <- start[-length(start)]
        if (kind != "member") forget()
      } else {
        forget()
      }
    }
    add(substring(code[line], from), line)
  }
  say_long(file, lines, first, last)
}

# ---- Makevars.win lists all sources, files named in ARCHITECTURE.md exist, code does not compare names of operations,
# and no two R functions have the same name

objects_listed <- function() {
  lines <- paste(readLines("src/Makevars.win"), collapse = "\n")
  listed <- sub(".*\nOBJECTS = *", "", gsub("\\\\\n", "", lines))
  listed <- strsplit(trimws(sub("\n.*", "", listed)), " +")[[1]]
  there <- sub("cpp$", "o", sub("^src/", "", find("src", "\\.cpp$")))
  say(rep("src/Makevars.win", length(setdiff(there, listed))), sprintf("OBJECTS lacks %s", setdiff(there, listed)))
  say(rep("src/Makevars.win", length(setdiff(listed, there))),
      sprintf("OBJECTS has %s, which has no source", setdiff(listed, there)))
  if (setequal(listed, there) && !identical(listed, there)) say("src/Makevars.win", "OBJECTS is not sorted (LC_ALL=C)")
}

paths_exist <- function(file = "ARCHITECTURE.md") {
  lines <- readLines(file)
  homes <- c("", "src/", "inst/include/kernops/", "inst/include/", "inst/", "R/")
  for (line in seq_along(lines)) {
    quoted <- gsub("`", "", regmatches(lines[line], gregexpr("`[^`]+`", lines[line]))[[1]])
    path <- "^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$"
    quoted <- quoted[grepl(path, quoted) & (grepl("/", quoted) | grepl("\\.(R|cpp|h|cuh?|def|md|txt)$", quoted))]
    for (name in quoted) {
      if (!length(Sys.glob(paste0(homes, name)))) say(sprintf("%s:%d", file, line), sprintf("there is no `%s`", name))
    }
  }
}

# All properties of an operation are columns of its table; code must not compare names of operations.
names_compared <- function() {
  for (file in find("src", "\\.(cpp|h)$")) {
    lines <- readLines(file)
    at <- grep("\\.(name|group) == \"", lines)
    say(sprintf("%s:%d", rep(file, length(at)), at), sprintf("compares a name: %s", trimws(lines[at])))
  }
}

# If two functions have the same name, R silently uses the last one.
names_taken_twice <- function() {
  owner <- character()
  for (file in find("R", "\\.R$")) {
    for (part in as.list(parse(file))) {
      if (!is.call(part) || !identical(part[[1]], as.name("<-")) || !is.name(part[[2]])) next
      name <- as.character(part[[2]])
      if (name %in% names(owner)) say(file, sprintf("defines %s, as %s does", name, owner[[name]]))
      owner[[name]] <- file
    }
  }
}

# By default, each call through Rcpp creates .Random.seed, which package future reports as an unreliable use of random
# numbers.
exports_without_rng <- function() {
  for (file in find("src", "\\.cpp$")) {
    line <- grep("[[Rcpp::export]]", readLines(file), fixed = TRUE)
    say(sprintf("%s:%d", rep(file, length(line)), line), "write [[Rcpp::export(rng = false)]]")
  }
}

calls_one_of <- function(e, functions) is.call(e) && is.name(e[[1]]) && as.character(e[[1]]) %in% functions
source("tools/lint_formulas.R")
source("tools/lint_skips.R")

lint_r()
names_taken_twice()
exports_without_rng()
numbers_in_formulas()
tests_without_skip()
for (file in setdiff(find("R", "\\.R$"), "R/RcppExports.R")) long_in_r(file)
for (file in setdiff(find(c("src", "inst/include"), "\\.(cpp|h|cuh)$"), "src/RcppExports.cpp")) long_in_cpp(file)
objects_listed()
paths_exist()
names_compared()
