# Operations on values with several fields: a value is a row of numbers, one number for each field. Each field of the
# result has a formula, which may read all fields of both operands.

has_fields <- function(op) inherits(op, "seg_op") && !is.null(op$fields)

new_field_op <- function(formulas, identity, call = caller_env()) {
  fields <- check_field_names(names(formulas), call)
  names <- paste0(rep(c("a_", "b_"), each = length(fields)), fields)
  used <- vapply(names, \(name) any(grepl(paste0("\\b", name, "\\b"), formulas)), NA)
  if (!any(used)) {
    stop_kernops("input", "{.arg formula} must contain fields of {.code a} or {.code b}, such as {.code {names[[1]]}}.",
                 call = call)
  }
  # nests the calls of Concat(), because Concat() has two arguments
  vector <- Reduce(\(a, b) sprintf("Concat(%s, %s)", a, b), formulas)
  kernel <- keops_kernel(sprintf("Sum_Reduction(%s, 1)", vector), code_text(names[used], " = Vi(1)"),
                         precision = "float64", backend = "cpu")
  join <- function(a, b) {
    if (nrow(a) == 0) return(a)
    columns <- asplit(cbind(a, b), 2)[used]
    matrix(kernel(lapply(unname(columns), as.numeric)), nrow(a))
  }
  structure(list(formula = formulas, identity = check_field_identity(identity, fields, call), fields = fields,
                 join = join), class = "seg_op")
}

check_field_names <- function(fields, call) {
  valid <- !is.null(fields) && all(grepl("^[A-Za-z][A-Za-z0-9_]*$", fields)) && !anyDuplicated(fields)
  if (valid) return(fields)
  stop_kernops("input", c("Several formulas must have different names, those of the fields.",
                          i = "For example {.code c(n = \"a_n + b_n\", top = \"Max(a_top, b_top)\")}."), call = call)
}

check_field_identity <- function(identity, fields, call) {
  if (identical(identity, NA_real_)) identity <- stats::setNames(rep(NA_real_, length(fields)), fields)
  if (is_plain(identity) && setequal(names(identity), fields) && length(identity) == length(fields)) {
    return(as.numeric(identity[fields]))
  }
  stop_kernops("input", "{.arg identity} must have one number for each of the fields {.val {fields}}.", call = call)
}

# The fields of the values x that an operation reads, as a list of vectors or arrays of the same shape. Fields are
# columns of a data frame, elements of a list, or the parts `re` and `im` of complex numbers.
fields_of <- function(x, op, call = caller_env()) {
  if (is.complex(x)) x <- list(re = `attributes<-`(Re(x), attributes(x)), im = `attributes<-`(Im(x), attributes(x)))
  missing <- setdiff(op$fields, names(x))
  if (!is.list(x) || length(missing)) {
    stop_kernops("input", c("{.arg x} must be a data frame or list with the fields {.val {op$fields}} of {.arg op}.",
                            x = if (is.list(x)) "It has no {.val {missing}}." else "It is {.obj_type_friendly {x}}."),
                 call = call)
  }
  values <- unclass(x)[op$fields]
  plain <- vapply(values, is_plain, NA)
  shapes <- unique(lapply(values, \(field) dim(field) %||% length(field)))
  if (!all(plain) || length(shapes) > 1) {
    stop_kernops("input", "The fields {.val {op$fields}} of {.arg x} must be numbers of the same size.", call = call)
  }
  values
}

# For products of complex numbers, the operation on the fields `re` and `im`; in all other cases, `op` unchanged.
complex_op <- function(x, op) {
  if (!is.complex(x) || !identical(op, "prod")) return(op)
  the$complex_product <- the$complex_product %||%
    seg_op(c(re = "a_re * b_re - a_im * b_im", im = "a_re * b_im + a_im * b_re"), c(re = 1, im = 0))
}

field_matrix <- function(values) matrix(as.numeric(unlist(values)), ncol = length(values))

# The result of the operation for each segment: a matrix with a row for each segment and a column for each field. With
# `na.rm`, rows with a missing field are omitted.
fold_fields <- function(values, lengths, op, na.rm) {
  values <- field_matrix(values)
  if (na.rm) {
    kept <- stats::complete.cases(values)
    before <- c(0, cumsum(kept))
    ends <- cumsum(lengths)
    lengths <- before[ends + 1] - before[ends - lengths + 1]
    values <- values[kept, , drop = FALSE]
  }
  result <- matrix(op$identity, length(lengths), length(op$fields), byrow = TRUE)
  filled <- lengths > 0
  result[filled, ] <- fold_pairs(values, lengths[filled], op$join)
  result
}

# Folds segments by a balanced tree. Each pass joins pairs of adjacent values within a segment. If a segment has an odd
# number of values, its last value is kept for the next pass.
fold_pairs <- function(values, lengths, join) {
  while (any(lengths > 1)) {
    place <- sequence(lengths)
    first <- which(place %% 2 == 1)
    pairs <- first[(place < rep(lengths, lengths))[first]]
    joined <- join(values[pairs, , drop = FALSE], values[pairs + 1, , drop = FALSE])
    values[pairs, ] <- joined
    values <- values[first, , drop = FALSE]
    lengths <- (lengths + 1) %/% 2
  }
  values
}

# Folds along the second of three dimensions without rearranging the array. slices_in() gives the sizes of the
# dimensions.
fold_middle <- function(values, sizes, join) {
  before <- sizes[[1]]
  length <- sizes[[2]]
  rows <- function(k, length) {
    c(outer(outer(seq_len(before), before * (k - 1), "+"), before * length * (seq_len(sizes[[3]]) - 1), "+"))
  }
  while (length > 1) {
    second <- 2 * seq_len(length %/% 2)
    to <- rows(second - 1, length)
    values[to, ] <- join(values[to, , drop = FALSE], values[rows(second, length), , drop = FALSE])
    values <- values[rows(seq(1, length, 2), length), , drop = FALSE]
    length <- (length + 1) %/% 2
  }
  values
}

complex_of_fields <- function(fields) complex(real = fields[, 1], imaginary = fields[, 2])

# The counterpart of check_associative() for values with fields; it tests 200 random triples of rows.
check_field_associative <- function(op, values, call = caller_env()) {
  if (!is.null(values)) rows <- field_matrix(fields_of(values, op, call))
  count <- length(op$fields)
  draw <- function(k) {
    if (is.null(values)) matrix(round(2048 * stats::rnorm(200 * count)) / 1024, 200) else
      rows[sample.int(nrow(rows), 200, replace = TRUE), , drop = FALSE]
  }
  triple <- with_seed(1, lapply(1:3, draw))
  first <- op$join(op$join(triple[[1]], triple[[2]]), triple[[3]])
  last <- op$join(triple[[1]], op$join(triple[[2]], triple[[3]]))
  size <- do.call(pmax, lapply(c(triple, list(first, last)), \(m) apply(abs(m), 1, max)))
  told <- is.finite(first) & is.finite(last)
  off <- which(told & abs(first - last) > 1e-6 * size, arr.ind = TRUE)
  if (nrow(off) <= sum(told) / 50) return(invisible())
  in_words <- \(m) paste0("(", toString(signif(m[off[1, 1], ], 6)), ")")
  stop_kernops("input", call = call, c(
    "{.arg formula} must be associative: adjacent values are combined in any order.",
    x = "For {in_words(triple[[1]])}, {in_words(triple[[2]])} and {in_words(triple[[3]])}, combining the first two first
         gives {in_words(first)}, combining the last two first gives {in_words(last)}.",
    i = "If it is associative for the numbers in your data, give some of them as {.arg values}."
  ))
}

refuse_with_fields <- function(..., call = caller_env()) {
  used <- names(Filter(Negate(is.null), list(...)))
  if (length(used) == 0) return(invisible())
  stop_kernops("input", "{.arg {used}} cannot be combined with an operation on several fields.", call = call)
}
