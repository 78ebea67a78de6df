# Levels are matched by value: the values of grouping variables are compared as numbers, instants or strings, never as
# printed text. The levels of a factor a:b are pairs of values of a and b. Therefore `values` are lists of vectors, such
# as one vector for a and one for b.

# For each of the `values`, the index of its level among the `known` levels, which are distinct. New levels get the next
# indices, and missing values get NA.
match_levels <- function(values, known = lapply(values, `[`, 0)) {
  here <- Reduce(`&`, lapply(values, function(x) !is.na(x)))
  keys <- Map(function(x, k) first_numbers(joint_keys(k, x[here])), values, known)
  level <- first_numbers(Reduce(function(a, b) a + (b - 1) * max(a, 1), keys))
  replace(rep(NA_real_, length(here)), here, level[seq_along(level) > length(known[[1]])])
}

# The sorted levels of `values`, and `of`, the index of the level of each value.
distinct_levels <- function(values) {
  of <- match_levels(values)
  first <- which(!duplicated(of) & !is.na(of))
  sorted <- do.call(order, unname(lapply(values, function(x) level_rank(x[first]))))
  list(values = lapply(values, function(x) x[first[sorted]]), of = match(of, sorted))
}

# Numbers that sort like the values. Only distinct strings are sorted, because R sorts strings slowly.
level_rank <- function(x) {
  if (is.factor(x)) return(as.integer(x))
  if (!is.character(x)) return(xtfrm(x))
  distinct <- unique(x)
  match(x, distinct[order(readable_text(distinct))])
}

# Replaces values that are close to a known value by this known value, because conversions of units have rounding
# errors.
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

# The names of levels, which are distinct and readable.
level_labels <- function(values) {
  each <- lapply(values, value_labels)
  if (length(each) == 1) return(each[[1]])
  pasted <- function(parts) do.call(paste, c(unname(parts), sep = ":"))
  labels <- pasted(each)
  same <- labels %in% labels[duplicated(labels)]
  labels[same] <- pasted(lapply(each, function(x) encodeString(x[same], quote = "\"")))
  labels
}
