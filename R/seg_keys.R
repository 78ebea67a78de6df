# Converts keys, which identify the group of each value, to the indices of groups. Keys are a vector of any type, a
# factor, or a combination of several such vectors and factors.

# The groups in the form that seg_from_groups() requires, and the names of the groups.
group_numbers <- function(g, sort, call) {
  if (inherits(g, "GRP")) {
    keys <- lapply(as.list(g$groups), as.character)
    return(numbered_groups(as.integer(g$group.id), g$N.groups, if (length(keys)) do.call(paste, c(keys, sep = "."))))
  }
  g <- check_keys(g, "g", call)
  if (is.list(g)) return(joint_numbers(g, sort, call))
  if (is.complex(g)) return(complex_numbers(g, sort, call))
  if (is.factor(g)) return(level_numbers(g, sort))
  numbers <- key_numbers(g, sort)
  numbers$names <- if (is.character(g) && isTRUE(numbers$ascii)) numbers$keys else key_names(numbers$keys)
  numbers[c("input", "base", "span", "rows", "count", "names")]
}

# The groups in the form of group_numbers(), if `numbers` are already indices of groups, counted from 1.
numbered_groups <- function(numbers, count, names = NULL) {
  list(input = numbers, base = 1L, span = count, rows = NULL, count = count, names = names)
}

# Checks keys, which may be a vector, a factor, or a list of vectors and factors, in which case each value has several
# keys.
check_keys <- function(keys, name, call) {
  if (inherits(keys, "POSIXlt")) keys <- as.POSIXct(keys)
  if (is.list(keys) && length(keys) && (is.data.frame(keys) || !is.object(keys))) {
    columns <- lapply(unclass(keys), check_key, name, call, i = "Each column is a key.")
    sizes <- lengths(columns)
    if (all(sizes == sizes[[1]])) return(columns)
    wrong <- which(sizes != sizes[[1]])[[1]]
    stop_kernops("input", "The keys in {.arg {name}} must have equal lengths: key 1 has {sizes[[1]]} value{?s},
                           key {wrong} has {sizes[[wrong]]}.", call = call)
  }
  check_key(keys, name, call)
}

check_key <- function(key, name, call, i = NULL) {
  if (inherits(key, "POSIXlt")) key <- as.POSIXct(key)
  if (length(dim(key)) == 1 || length(dim(key)) == 2 && ncol(key) == 1) key <- c(key) # argmin() returns such a matrix
  if (is.atomic(key) && !is.null(key) && length(dim(key)) < 2) return(key)
  stop_kernops("input", c("{.arg {name}} must be a vector, a factor, or a list of them, not
                           {.obj_type_friendly {key}}.", i = i), call = call)
}

level_numbers <- function(g, sort) {
  if (sort) return(numbered_groups(g, nlevels(g), levels(g)))
  numbers <- seg_number_keys(as.integer(g), FALSE)
  numbers$names <- levels(g)[as.integer(g)[numbers$first]]
  numbers
}

# The groups by several keys: the distinct combinations of keys that occur. The indices of two keys are combined into
# one number, and the distinct combined numbers are numbered from 1 again. These numbers are then combined with the
# indices of the next key.
joint_numbers <- function(columns, sort, call) {
  each <- lapply(unname(columns), group_numbers, TRUE, call)
  rows <- lapply(each, group_rows)
  joint <- list(rows = rows[[1]], count = each[[1]]$count)
  for (k in seq_along(each)) {
    if (k > 1) joint$rows <- pair_numbers(joint, rows[[k]], each[[k]]$count)
    numbers <- seg_number_keys(joint$rows, sort || k < length(each))
    joint <- list(rows = group_rows(numbers), count = numbers$count)
  }
  labels <- Map(\(of, row) of$names[row[numbers$first]], each, rows)
  numbers$names <- make.unique(do.call(paste, c(labels, sep = ".")), sep = ".")
  numbers
}

# Combines each pair of indices into one number. The numbers sort by the first index, and by the second index among
# pairs with equal first indices.
pair_numbers <- function(joint, rows, count) {
  as_number <- if (joint$count * count < .Machine$integer.max) as.integer else as.numeric
  (as_number(joint$rows) - 1L) * as_number(count) + rows
}

# The groups by complex keys. The real and the imaginary part are used as two keys; a number with a missing part is
# missing.
complex_numbers <- function(g, sort, call) {
  g[is.na(g)] <- NA
  numbers <- joint_numbers(list(Re(g), Im(g)), sort, call)
  numbers$names <- key_names(g[numbers$first])
  numbers
}

# The index of the group of each value, from 1 on; NA for values in no group.
group_rows <- function(groups) {
  codes <- as.integer(groups$input) - groups$base + 1L
  if (is.null(groups$rows)) codes else groups$rows[codes] + 1L
}

# The indices of the distinct keys in a vector, and the distinct keys.
key_numbers <- function(g, sort) {
  numbers <- seg_number_keys(if (is.raw(g)) as.integer(g) else g, sort)
  numbers$keys <- take_keys(g, numbers$first)
  if (is.character(g) && !(numbers$collated && numbers$ascii)) settle_strings(numbers, sort) else numbers
}

# Merges strings that are equal but have different encodings into one key, and sorts keys in the order of the locale.
settle_strings <- function(numbers, sort) {
  if (numbers$ascii && !is.unsorted(numbers$keys)) return(numbers)
  text <- level_key(numbers$keys)
  keys <- numbers$keys[!duplicated(text)]
  if (sort && (is_bytes(keys) || is.unsorted(keys))) keys <- sort_keys(keys)
  row <- match(text, level_key(keys))
  rows <- numbers$rows %||% (seq_len(numbers$span) - 1L)
  if (length(keys) < length(text)) {
    numbers$input <- row[rows[numbers$input + 1L] + 1L]
    return(c(numbered_groups(numbers$input, length(keys)), list(keys = keys)))
  }
  numbers$rows <- row[rows + 1L] - 1L
  replace(numbers, "keys", list(keys))
}

is_bytes <- function(keys) is.character(keys) && any(Encoding(keys) == "bytes")

# Sorts keys. Strings that are marked as bytes are sorted by their printed form, because R cannot sort them.
sort_keys <- function(keys) if (is_bytes(keys)) keys[order(readable_text(keys))] else sort(keys, na.last = TRUE)

# The names of groups. These are the names that tapply() would give or, if two of these names are equal, names with more
# digits. Names of integers are always distinct, so they are not compared, and R converts the integers to strings only
# when the names are read.
key_names <- function(keys) {
  if (inherits(keys, "integer64")) return(exact_digits(keys))
  names <- if (!is_bytes(keys)) as.character(keys)
  if (is.integer(keys) && !is.object(keys)) return(names)
  if (is.null(names) || anyDuplicated(names)) value_labels(keys) else names
}

# The keys at `places`. Keys may have class integer64 even if 'bit64' is not loaded, and may consist of several vectors.
take_keys <- function(keys, places) {
  if (is.data.frame(keys)) return(`rownames<-`(keys[places, , drop = FALSE], NULL))
  if (is.list(keys)) return(lapply(keys, take_keys, places))
  taken <- keys[places]
  if (inherits(keys, "integer64")) oldClass(taken) <- oldClass(keys)
  taken
}
