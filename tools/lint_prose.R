# Called by tools/lint. Reports sentences that open with a free relative clause, or with a genitive or a demonstrative
# without a noun, in comments, in titles of tests, and in Markdown pages. Such sentences have to be read twice; a
# sentence begins with its subject.

openings <- "What|Who|Whether|Of|Those|That of"
pattern <- sprintf("^(%1$s)\\b|[.;:!?] +(%1$s)\\b", openings)

# Paraphrases of terms of the field, such as "seen from" for "centred at", and verbs that treat a program as a person.
# Some of these words are right in their context, so that a small number is allowed. bench/HISTORY.md is not checked,
# because it is an archive.
paraphrases <- paste("seen from", "so many", "side by side", "by itself", "of (its|their) own", "one's own", "nobody",
                     "what is there", "what was made", "where it began", "sums so far", "exponents that weigh",
                     "\\btold\\b", "by turns", "no more than", "\\btakes in\\b", sep = "|")
most_paraphrases <- 19

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
files <- grep("\\.(png|svg|csv|txt|rds|bib)$|_snaps/|RcppExports", files, value = TRUE, invert = TRUE)
paraphrased <- character()
for (file in files) {
  prose <- prose_of(file, readLines(file, warn = FALSE))
  for (k in grep(pattern, prose, useBytes = TRUE)) {
    opening <- sub("^[.;:!?] +", "", regmatches(prose[[k]], regexpr(pattern, prose[[k]])))
    cat(sprintf("%s:%d: a sentence opens with \"%s\": begin with its subject\n", file, k, opening))
  }
  archived <- file %in% c("bench/HISTORY.md", "tools/lint_prose.R")
  lines <- if (archived) integer() else grep(paraphrases, prose, useBytes = TRUE)
  paraphrased <- c(paraphrased, sprintf("%s:%d", rep(file, length(lines)), lines))
}
if (length(paraphrased) > most_paraphrases) {
  cat(sprintf("%s: a paraphrase where the field has a word, one of %d\n", paraphrased, length(paraphrased)), sep = "")
}
