# tools/lint: comments, titles of tests and pages with a sentence that opens with a free relative clause, or with a
# genitive or a demonstrative without a noun. Such sentences have to be read twice; a sentence begins with its subject.

openings <- "What|Who|Whether|Of|Those|That of"
pattern <- sprintf("^(%1$s)\\b|[.;:!?] +(%1$s)\\b", openings)

# The part of each line that is prose: a comment, the title of a test, a line of a page.
prose_of <- function(file, lines) {
  if (grepl("\\.R?md$", file)) return(sub("^(#+|[*-]) +", "", lines))
  title <- sub('^test_that\\("(.)(.*)", \\{$', "\\U\\1\\E\\2", lines, perl = TRUE)
  is_comment <- grepl("(^|\\s)(//|#'?)\\s", lines)
  comment <- ifelse(is_comment, sub("^(|.*?\\s)(//|#'?)\\s+([*] )?", "", lines, perl = TRUE), "")
  ifelse(title != lines, title, comment)
}

folders <- c("R", "src", "inst/include", "inst/cuda", "tools", "tests", "bench", "vignettes", "*.md")
files <- system2("git", c("ls-files", shQuote(folders)), stdout = TRUE)
for (file in grep("\\.(png|svg|csv|txt|rds|bib)$|_snaps/|RcppExports", files, value = TRUE, invert = TRUE)) {
  prose <- prose_of(file, readLines(file, warn = FALSE))
  for (k in grep(pattern, prose, useBytes = TRUE)) {
    opening <- sub("^[.;:!?] +", "", regmatches(prose[[k]], regexpr(pattern, prose[[k]])))
    cat(sprintf("%s:%d: a sentence opens with \"%s\": begin with its subject\n", file, k, opening))
  }
}
