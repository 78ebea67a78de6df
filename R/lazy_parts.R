# Expressions that are used several times are written once: a long expression that joins another one becomes a part of
# it, to which the text refers by a token such as p.s7f3a, derived from the text of the part.

part_token <- "p[.]s[0-9a-f]{32}"
long_text <- 200 # number of characters from which a text is not repeated

as_part <- function(x) {
  if (nchar(x@formula) <= long_text) return(x)
  part <- name_of_part(x@formula)
  x@parts[[part]] <- x@formula
  x@formula <- part
  x
}

name_of_part <- function(text) paste0("p.s", rlang::hash(text))

# Parts in an order in which each part refers to earlier parts only.
parts_of <- function(tensors) Reduce(joined, lapply(tensors, function(x) x@parts), character())

# The tensor with `change` applied to its text and to its parts, which are renamed accordingly.
rewritten <- function(x, change) {
  renamed <- character()
  follow <- function(text) replace_words(change(text), part_token, function(words) unname(renamed[words]))
  parts <- character()
  for (part in names(x@parts)) {
    text <- follow(x@parts[[part]])
    renamed[[part]] <- name_of_part(text)
    parts[[renamed[[part]]]] <- text
  }
  x@formula <- follow(x@formula)
  x@parts <- parts
  x
}

longest_text <- 1000 # number of characters: the parser limits how deeply one text is nested

# The text with all its parts. A part is named, as in Let(a, f, g), which is g with f for a, or written in place if it
# is used once and the text stays short.
whole_formula <- function(x) {
  texts <- c(x@parts, x@formula)
  uses <- table(unlist(words_of(texts, part_token)))
  placed <- character()
  filled <- function(text) {
    inside <- Filter(function(word) uses[[word]] == 1, words_of(text, part_token)[[1]])
    if (length(inside) == 0 || nchar(text) + sum(nchar(x@parts[inside])) > longest_text) return(text)
    placed <<- c(placed, inside)
    replace_words(text, part_token, function(words) unname(ifelse(words %in% inside, x@parts[words], words)))
  }
  for (part in names(x@parts)) x@parts[[part]] <- filled(x@parts[[part]])
  body <- filled(x@formula)
  named <- setdiff(intersect(names(x@parts), names(uses)), placed)
  if (length(named) == 0) return(body)
  code_text("Let(", paste0(named, ", ", x@parts[named], ", ", collapse = ""), body, ")")
}

words_of <- function(texts, pattern) regmatches(texts, gregexpr(pattern, texts))
