# Expressions that are used several times are written once: an expression of some length that joins another one becomes
# a part of it, which the text refers to by a token such as p.s7f3a, made from the text of the part.

part_token <- "p[.]s[0-9a-f]{32}"
long_text <- 200 # characters, shorter than which a text is repeated

as_part <- function(x) {
  if (nchar(x@formula) <= long_text) return(x)
  part <- name_of_part(x@formula)
  x@parts[[part]] <- x@formula
  x@formula <- part
  x
}

name_of_part <- function(text) paste0("p.s", rlang::hash(text))

# In an order in which each refers to earlier ones.
parts_of <- function(tensors) {
  all <- c(character(), unlist(lapply(tensors, function(x) x@parts)))
  all[!duplicated(names(all))]
}

# The tensor with its text changed, and that of its parts, which have other names then.
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

# The text with all its parts: in place where they are used once, else by name, as in Let(a, f, g), which is g with f
# for a.
whole_formula <- function(x) {
  texts <- c(x@parts, x@formula)
  uses <- table(unlist(regmatches(texts, gregexpr(part_token, texts))))
  once <- names(uses)[uses == 1]
  filled <- function(text) {
    replace_words(text, part_token, function(words) unname(ifelse(words %in% once, x@parts[words], words)))
  }
  for (part in names(x@parts)) x@parts[[part]] <- filled(x@parts[[part]])
  shared <- intersect(names(x@parts), setdiff(names(uses), once))
  body <- filled(x@formula)
  if (length(shared) == 0) return(body)
  code_text("Let(", paste0(shared, ", ", x@parts[shared], ", ", collapse = ""), body, ")")
}
