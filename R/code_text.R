# Text that a parser reads, such as formulas and declarations. R's options OutDec, scipen and digits change paste(),
# format() and as.character() of numbers; they do not change sprintf() of %g and %d.

# Like paste0(), but numbers keep their exact value.
code_text <- function(..., collapse = NULL) {
  parts <- lapply(list(...), function(x) if (is.numeric(x)) code_number(x) else x)
  do.call(paste0, c(parts, list(collapse = collapse)))
}

# A number with 15 digits if these are read as the same double, otherwise with 17. "Inf" and "NaN" are numbers in
# formulas, too.
code_number <- function(x) {
  text <- ifelse(is.na(x), "NaN", sprintf("%.15g", x))
  longer <- !is.na(x) & as.numeric(text) != x
  text[longer] <- sprintf("%.17g", x[longer])
  text
}

# A text with names replaced by values: all names at once, so that no value is read as a name.
replace_names <- function(text, values) {
  matches <- gregexpr("(?<![A-Za-z0-9_.])[A-Za-z][A-Za-z0-9_.]*", text, perl = TRUE)
  words <- regmatches(text, matches)[[1]]
  known <- words %in% names(values)
  words[known] <- values[words[known]]
  regmatches(text, matches) <- list(words)
  text
}
