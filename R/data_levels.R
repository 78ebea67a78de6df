# Levels by value: grouping variables are matched as numbers, instants, strings, ..., never by printed text. A factor
# a:b has the pairs of values of a and b as levels. `values` are therefore lists of vectors, one for each of a and b.

# Numbers of the levels of `values` among the `known` levels, which are distinct; other levels receive the following
# numbers, missing values NA.
match_levels <- function(values, known = lapply(values, `[`, 0)) {
  here <- Reduce(`&`, lapply(values, function(x) !is.na(x)))
  keys <- Map(function(x, k) first_numbers(joint_keys(k, x[here])), values, known)
  level <- first_numbers(Reduce(function(a, b) a + (b - 1) * max(a, 1), keys))
  replace(rep(NA_real_, length(here)), here, level[seq_along(level) > length(known[[1]])])
}

# The levels of `values`, sorted, and the number `of` each value.
distinct_levels <- function(values) {
  of <- match_levels(values)
  first <- which(!duplicated(of) & !is.na(of))
  sorted <- do.call(order, unname(lapply(values, function(x) level_rank(x[first]))))
  list(values = lapply(values, function(x) x[first[sorted]]), of = match(of, sorted))
}

# Numbers in the order of the values; strings are sorted only once each, because sorting strings takes R long.
level_rank <- function(x) {
  if (is.factor(x)) return(as.integer(x))
  if (!is.character(x)) return(xtfrm(x))
  distinct <- unique(x)
  match(x, distinct[order(readable_text(distinct))])
}

# Replaces values that are close to a known value by it, because a conversion of units is subject to rounding.
snapped <- function(x, known) {
  if (!variable_kind(known) %in% c("duration", "units")) return(x)
  near <- match(signif(as.numeric(x), 14), signif(as.numeric(known), 14))
  near[as.numeric(x) %in% as.numeric(known)] <- NA
  x[!is.na(near)] <- known[near[!is.na(near)]]
  x
}

joint_keys <- function(x, y) {
  keys <- if (inherits(x, "integer64") || inherits(y, "integer64")) exact_digits else level_key
  c(keys(x), keys(y))
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
