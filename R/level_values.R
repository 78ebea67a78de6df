# Keys and labels of values. Two values of the same class have the same key and the same label exactly if the values are
# equal.

# Converts keys to numbers, in the order of their first appearance.
first_numbers <- function(key) match(key, unique(key)) + 0

# Keys of values of the same class: numbers or strings. Two keys are equal exactly if the values are equal.
level_key <- function(x) {
  if (is.factor(x)) x <- as.character(x)
  if (is.character(x)) return(enc2utf8(as.vector(unclass(x)))) # match() compares bytes of strings marked "bytes"
  if (inherits(x, "integer64")) return(exact_digits(x)) # as doubles, many integers would be NaN
  if (is.raw(x)) as.integer(x) else as.vector(unclass(x))
}

exact_digits <- function(x) {
  if (inherits(x, "integer64")) {
    rlang::check_installed("bit64", "to compare values of class integer64.")
    return(as.character(x))
  }
  ifelse(x == round(x), sprintf("%.0f", x + 0), sprintf("%a", as.numeric(x)))
}

# Labels of values. Two labels are equal only if the values are equal.
value_labels <- function(x) {
  number <- first_numbers(level_key(x))
  distinct <- x[!duplicated(number)]
  labels <- text_of_values(distinct, "%.15g")
  if (anyDuplicated(labels)) labels <- text_of_values(distinct, "%.17g")
  make.unique(labels)[number]
}

text_of_values <- function(x, digits) {
  if (is.factor(x) || is.character(x)) {
    text <- as.character(x)
    return(readable_text(replace(text, is.na(text), "<NA>")))
  }
  if (inherits(x, "POSIXct")) return(text_of_times(x))
  if (inherits(x, "Date")) {
    days <- as.numeric(x)
    return(if (all(days == round(days))) format(x) else text_of_times(.POSIXct(days * 86400, "UTC")))
  }
  unit <- if (inherits(x, c("difftime", "units"))) paste0(" ", as.character(units(x)))
  if (!is.null(unit) || is.double(x) && !is.object(x)) return(paste0(sprintf(digits, as.numeric(x)), unit))
  as.character(x)
}

# Times as text, with only as many parts (seconds, digits) as are necessary to distinguish the times. Half a unit of the
# last digit is added, because format() truncates.
text_of_times <- function(x) {
  fractions <- c("%Y-%m-%d %H:%M:%OS3", "%Y-%m-%d %H:%M:%OS6", "%Y-%m-%d %H:%M:%OS6 %Z")
  text <- format(x)
  for (k in 1:3) if (anyDuplicated(text)) text <- format(x + 0.5 * 10^-(3 * min(k, 2)), fractions[[k]])
  text
}
