# tools/lint: prints, one per line, the words of help pages, vignettes and Markdown files that are neither in a
# dictionary nor in inst/WORDLIST. inst/WORDLIST contains the terms of the field and the names of packages and people.

if (!requireNamespace("spelling", quietly = TRUE)) {
  message("lint: the R package spelling is missing, so words were not checked")
} else {
  words <- spelling::spell_check_package(".")
  known <- readLines(file.path("inst", "WORDLIST"))
  pages <- c("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")
  extra <- spelling::spell_check_files(pages, ignore = known, lang = "en_GB")
  found <- rbind(words, extra)
  for (k in seq_len(nrow(found))) {
    cat(sprintf("%s: unknown word \"%s\"\n", paste(found$found[[k]], collapse = ", "), found$word[[k]]))
  }
}
