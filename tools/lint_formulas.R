# tools/lint: R's options OutDec, scipen and digits change how numbers are written, so that the parser of formulas would
# read wrong numbers or fail. Code must therefore write formulas by code_text(), or by sprintf() with %d.

formula_words <- function() {
  rows <- unlist(lapply(find("inst/include/kernops", "\\.def$"), readLines))
  row <- "^ *[A-Z]+\\( *([A-Z][A-Za-z0-9]*) *,.*"
  named <- unique(sub(row, "\\1", grep(row, rows, value = TRUE)))
  paste(c(named, "Vi", "Vj", "Pm", "Grad", "Diff", "Let", "[A-Za-z_]*_Reduction"), collapse = "|")
}

formatters <- c("format", "formatC", "prettyNum", "as.character", "deparse", "deparse1", "toString", "paste")
arithmetic <- c("+", "-", "*", "/", "^", "%/%", "%%", "length", "lengths", "nrow", "ncol", "NROW", "NCOL", "sum",
                "prod", "max", "min", "round", "signif", "as.numeric", "as.double", "as.integer")

# The arguments of a call of sprintf() that replace %s.
texts_of_sprintf <- function(call) {
  template <- gsub("%%", "", c(Filter(is.character, as.list(call[[2]])), "")[[1]], fixed = TRUE)
  kinds <- regmatches(template, gregexpr("%[0-9$.]*[a-z]", template))[[1]]
  as.list(call)[-(1:2)][grepl("s$", kinds)]
}

# The finding about a call that writes a formula, or NULL.
fault_of_formula <- function(call, name) {
  if (name %in% c("paste", "paste0")) return(sprintf("%s() writes a formula: use code_text()", name))
  given <- if (name == "sprintf") texts_of_sprintf(call) else as.list(call)[-1]
  wrong <- function(e) {
    calls_one_of(e, formatters[1:6]) || name == "sprintf" && (is.numeric(e) || calls_one_of(e, arithmetic))
  }
  if (any(vapply(given, wrong, NA))) "R's options change a number of this formula: use code_text(), or %d of sprintf()"
}

numbers_in_formulas <- function() {
  pattern <- paste0("\"[^\"]*\\b(", formula_words(), ")\\(")
  for (file in find("R", "\\.R$")) {
    parsed <- utils::getParseData(parse(file, keep.source = TRUE))
    writers <- c("paste", "paste0", "sprintf", "code_text")
    calls <- parsed[parsed$token == "SYMBOL_FUNCTION_CALL" & parsed$text %in% writers, ]
    for (k in seq_len(nrow(calls))) {
      text <- utils::getParseText(parsed, parsed$parent[parsed$id == calls$parent[[k]]])
      if (!grepl(pattern, text) || grepl("{.", text, fixed = TRUE)) next # messages contain markup
      fault <- fault_of_formula(str2lang(text), calls$text[[k]])
      say(rep(sprintf("%s:%d", file, calls$line1[[k]]), length(fault)), fault)
    }
  }
}
