# Levels by value: grouping variables are matched as numbers, instants, strings, ..., never by printed text. A factor
# a:b has the pairs of values of a and b as levels. `values` are therefore lists of vectors, one for each of a and b.

# Numbers of the levels of `values` among those `known`, which are distinct; other levels have the numbers that follow,
# missing values are NA.
match_levels <- function(values, known = lapply(values, `[`, 0)) {
  here <- Reduce(`&`, lapply(values, function(x) !is.na(x)))
  keys <- Map(function(x, k) first_numbers(joint_keys(k, x[here])), values, known)
  level <- first_numbers(Reduce(function(a, b) a + (b - 1) * max(a, 1), keys))
  replace(rep(NA_real_, length(here)), here, level[seq_along(level) > length(known[[1]])])
}

# Numbers of keys in the order in which they appear first.
first_numbers <- function(key) match(key, unique(key)) + 0

# The levels of `values`, sorted, and the number `of` each value.
distinct_levels <- function(values) {
  of <- match_levels(values)
  first <- which(!duplicated(of) & !is.na(of))
  sorted <- do.call(order, unname(lapply(values, function(x) level_rank(x[first]))))
  list(values = lapply(values, function(x) x[first[sorted]]), of = match(of, sorted))
}

# Numbers in the order of the values; strings are sorted once each, which takes R long.
level_rank <- function(x) {
  if (is.factor(x)) return(as.integer(x))
  if (!is.character(x)) return(xtfrm(x))
  distinct <- unique(x)
  match(x, distinct[order(readable_text(distinct))])
}

# A conversion of units is subject to rounding: values next to one that is known are that one.
snapped <- function(x, known) {
  if (!variable_kind(known) %in% c("duration", "units")) return(x)
  near <- match(signif(as.numeric(x), 14), signif(as.numeric(known), 14))
  near[as.numeric(x) %in% as.numeric(known)] <- NA
  x[!is.na(near)] <- known[near[!is.na(near)]]
  x
}

# Numbers or strings that are equal where values of one class are.
level_key <- function(x) {
  if (is.factor(x)) x <- as.character(x)
  if (is.character(x)) return(enc2utf8(as.vector(unclass(x)))) # match() compares bytes where strings are "bytes"
  if (inherits(x, "integer64")) return(exact_digits(x)) # as doubles, many are NaN
  if (is.raw(x)) as.integer(x) else as.vector(unclass(x))
}

joint_keys <- function(x, y) {
  keys <- if (inherits(x, "integer64") || inherits(y, "integer64")) exact_digits else level_key
  c(keys(x), keys(y))
}

exact_digits <- function(x) {
  if (inherits(x, "integer64")) {
    rlang::check_installed("bit64", "to compare values of class integer64.")
    return(as.character(x))
  }
  ifelse(x == round(x), sprintf("%.0f", x + 0), sprintf("%a", as.numeric(x)))
}

# Distinct and readable names of levels.
level_labels <- function(values) {
  each <- lapply(values, value_labels)
  if (length(each) == 1) return(each[[1]])
  pasted <- function(parts) do.call(paste, c(unname(parts), sep = ":"))
  labels <- pasted(each)
  same <- labels %in% labels[duplicated(labels)]
  labels[same] <- pasted(lapply(each, function(x) encodeString(x[same], quote = "\"")))
  labels
}

# The same label for equal values only.
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
  unit <- if (inherits(x, c("difftime", "units"))) paste0(" ", unit_text(x))
  if (!is.null(unit) || is.double(x) && !is.object(x)) return(paste0(sprintf(digits, as.numeric(x)), unit))
  as.character(x)
}

# With as many parts as distinguish them; half a unit of the last digit rounds, as format() truncates.
text_of_times <- function(x) {
  fractions <- c("%Y-%m-%d %H:%M:%OS3", "%Y-%m-%d %H:%M:%OS6", "%Y-%m-%d %H:%M:%OS6 %Z")
  text <- format(x)
  for (k in 1:3) if (anyDuplicated(text)) text <- format(x + 0.5 * 10^-(3 * min(k, 2)), fractions[[k]])
  text
}

# Variables of one kind can be converted to each other. Classes that only describe numbers and strings have no kind of
# their own.
variable_kind <- function(x) {
  if (inherits(x, c("Date", "POSIXt"))) return("time")
  if (inherits(x, "difftime")) return("duration")
  if (inherits(x, "units")) return("units")
  if (is.factor(x) || is.character(x)) return("text")
  own <- setdiff(oldClass(x), c("AsIs", "labelled", "haven_labelled", "vctrs_vctr", "integer64", "integer", "double",
                                "numeric", "logical", "noquote"))
  if (length(own) && length(dim(x)) != 2) return(own[[1]])
  if (is.numeric(x)) "number" else typeof(x)
}

unit_text <- function(x) as.character(units(x))
