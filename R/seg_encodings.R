# Encodings represent the values of a class by numbers.
#
# An encoding is a list of `parts` and `back`. `parts` is a list of vectors to which the operation is applied
# separately: a single vector, the real and the imaginary part, or the limbs of large integers. The function back()
# converts the list of the results for all parts to the final result.

encoding <- function(parts, back = \(results) results[[1]]) list(parts = parts, back = back)

# The names of the attributes that describe the shape.
shape_names <- c("names", "dim", "dimnames")
bare <- function(x, values = unclass(x)) {
  `attributes<-`(values, attributes(x)[intersect(names(attributes(x)), shape_names)])
}
with_class_of <- function(result, x) {
  kept <- attributes(x)[setdiff(names(attributes(x)), shape_names)]
  `attributes<-`(result, c(attributes(result), kept))
}

# Encodes values whose results have the class of x: numbers, and differences of dates or times.
as_stored <- function(x) encoding(list(bare(x)), \(results) with_class_of(results[[1]], x))
as_number <- function(x) encoding(list(bare(x)))
as_difference <- function(x) {
  unit <- if (inherits(x, "Date")) "days" else "secs"
  encoding(list(bare(x)), function(results) {
    `attributes<-`(results[[1]], c(attributes(results[[1]]), list(class = "difftime", units = unit)))
  })
}

# Encodes strings by their ranks in sorted order.
as_codes <- function(x) {
  levels <- sort_keys(unique(x[!is.na(x)]))
  encoding(list(bare(x, match(x, levels))), \(results) with_class_of(bare(results[[1]], levels[results[[1]]]), x))
}
as_code_numbers <- function(x) encoding(as_codes(x)$parts)

# Encodes complex numbers by their real and imaginary parts. If a number is missing, both parts are missing.
as_complex_parts <- function(x) {
  parts <- list(Re(x), Im(x))
  if (anyNA(x)) parts <- lapply(parts, \(part) replace(part, is.na(x), (parts[[1]] + parts[[2]])[is.na(x)]))
  encoding(lapply(parts, \(part) bare(x, part)), function(results) {
    bare(results[[1]], complex(real = results[[1]], imaginary = results[[2]]))
  })
}
as_complex_equal <- function(x) encoding(list(bare(x, match(x, unique(x[!is.na(x)])))))

# Computes an operation, which the caller has checked, by calling run(part, empty) for each part of the encoded values.
# count(part) returns the number of values in each segment.
run_encoded <- function(x, op, run, empty = NULL, count = NULL, name = "empty", call = caller_env()) {
  encoded <- value_rules[[class_of_values(x)]][[op]](x)
  none <- if (op %in% c("min", "max", "range")) NA # NA, because some classes have no infinite value
  result <- encoded$back(lapply(encoded$parts, run, none))
  if (is.null(empty)) return(result)
  alike <- identical(class(c(result)), class(c(x)))
  value <- if (alike) check_like(empty, x, name, call) else check_one(empty, name, call)
  none <- rep_len(count(encoded$parts[[1]]) %in% 0, length(result))
  `attributes<-`(replace(unclass(result), none, value), attributes(result))
}

# Checks that a value has the class of x, and returns the value in the form in which values of x are stored.
check_like <- function(value, x, name, call) {
  class <- class_of_values(x)
  stored <- if (length(value) == 1 && is.atomic(value)) stored_like(value, x, class)
  if (length(stored) == 1 && (is.na(value) || !is.na(stored))) return(stored)
  stop_kernops("input", "{.arg {name}} must be one value of class {.cls {class}}, not {.obj_type_friendly {value}}.",
               call = call)
}

stored_like <- function(value, x, class) {
  if (is.logical(value) && is.na(value)) return(if (class == "integer64") int64_of_doubles(NA_real_) else NA)
  switch(
    class,
    factor = , ordered = match(as.character(value), levels(x)),
    Date = , POSIXct = if (inherits(value, class)) as.numeric(value),
    difftime = if (inherits(value, class)) as.numeric(value, units = units(x)) else if (is_plain(value)) value,
    integer64 = if (inherits(value, class)) bare(value) else if (is_plain(value)) int64_of_doubles(as.numeric(value)),
    complex = if (is.complex(value) || is_plain(value)) as.complex(value),
    character = if (is.character(value)) value
  )
}

check_host_output <- function(stay, call = caller_env()) {
  if (!stay) return(invisible())
  stop_kernops("input", "{.code output = \"gpu\"} requires values that are plain numbers.", call = call)
}
