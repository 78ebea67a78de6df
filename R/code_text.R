# Text for a parser, such as formulas and declarations. R's options OutDec, scipen and digits change how paste(),
# format() and as.character() write numbers, but not how sprintf() writes numbers with %g and %d.

# The counterpart of paste0() that keeps the exact values of numbers.
code_text <- function(..., collapse = NULL) {
  parts <- lapply(list(...), function(x) if (is.numeric(x)) code_number(x) else x)
  do.call(paste0, c(parts, list(collapse = collapse)))
}

# The text of a number: 15 digits if R reads these digits as the same double, otherwise 17 digits. Formulas also accept
# "Inf" and "NaN".
code_number <- function(x) {
  text <- ifelse(is.na(x), "NaN", sprintf("%.15g", x))
  longer <- !is.na(x) & as.numeric(text) != x
  text[longer] <- sprintf("%.17g", x[longer])
  text
}

# Replaces names in a text by values. All names are replaced at once, so that a value is never read as a name.
replace_names <- function(text, values) {
  matches <- gregexpr("(?<![A-Za-z0-9_.])[A-Za-z][A-Za-z0-9_.]*", text, perl = TRUE)
  words <- regmatches(text, matches)[[1]]
  known <- words %in% names(values)
  words[known] <- values[words[known]]
  regmatches(text, matches) <- list(words)
  text
}
