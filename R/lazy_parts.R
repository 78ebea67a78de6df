# Long expressions that are used several times are written once. If an expression contains a long expression, the long
# expression becomes a part, and the text of the containing expression refers to this part by a token such as p.s7f3a.
# The token is derived from the text of the part.

part_token <- "p[.]s[0-9a-f]{32}"
long_text <- 200 # a text of more characters becomes a part

as_part <- function(x) {
  if (nchar(x@formula) <= long_text) return(x)
  part <- name_of_part(x@formula)
  x@parts[[part]] <- x@formula
  x@formula <- part
  x
}

name_of_part <- function(text) paste0("p.s", rlang::hash(text))

# The parts of all tensors, ordered such that each part refers to earlier parts only.
parts_of <- function(tensors) Reduce(joined, lapply(tensors, function(x) x@parts), character())

# Applies `change` to the text of a tensor and to its parts, and renames the parts accordingly.
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

longest_text <- 1000 # maximum length of a text with inserted parts; the parser limits the depth of nesting

# The text with all its parts. A part is named by Let(a, f, g), which means g with f in place of a. If a part is used
# once and the text stays short, the part is inserted in place of its token.
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
