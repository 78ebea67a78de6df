# tools/lint: comments with a sentence that opens with a free relative clause, or with a genitive or a demonstrative
# without a noun. Such sentences have to be read twice; a sentence begins with its subject.

openings <- "What|Who|Whether|Of|Those|That of"
pattern <- sprintf("^(%1$s)\\b|[.;:!?] +(%1$s)\\b", openings)

folders <- c("R", "src", "inst/include", "inst/cuda", "tools", "tests", "bench")
files <- system2("git", c("ls-files", folders), stdout = TRUE)
for (file in grep("\\.(md|png|svg|csv|txt|rds)$|_snaps/|RcppExports", files, value = TRUE, invert = TRUE)) {
  lines <- readLines(file, warn = FALSE)
  is_comment <- grepl("(^|\\s)(//|#'?)\\s", lines)
  comment <- ifelse(is_comment, sub("^(|.*?\\s)(//|#'?)\\s+([*] )?", "", lines, perl = TRUE), "")
  for (k in grep(pattern, comment, useBytes = TRUE)) {
    opening <- sub("^[.;:!?] +", "", regmatches(comment[[k]], regexpr(pattern, comment[[k]])))
    cat(sprintf("%s:%d: a sentence opens with \"%s\": begin with its subject\n", file, k, opening))
  }
}
