# The input of an operator of keops_kernel(): checks, and the values of its variables in order.

check_text <- function(x, name, one, call = caller_env()) {
  if (is.character(x) && !anyNA(x) && (length(x) == 1 || !one)) {
    if (!any(Encoding(x) == "bytes") && all(validUTF8(text <- enc2utf8(x)))) return(text)
    stop_kernops("formula", c("{.arg {name}} is not valid UTF-8: {.val {x}}.",
                              i = "{.code iconv(x, \"latin1\", \"UTF-8\")} converts text of another encoding."),
                 call = call)
  }
  what <- if (one) "one string" else "a character vector such as {.code c(\"x = Vi(3)\", \"y = Vj(3)\")}"
  stop_kernops("formula", paste0("{.arg {name}} must be ", what, "."), call = call)
}

inner_dim_is_row <- function(inner_dim) {
  if (identical(inner_dim, "col")) return(FALSE)
  if (identical(inner_dim, "row")) return(TRUE)
  stop_kernops("input", "{.arg inner_dim} must be {.val col} or {.val row}.")
}

output_stays <- function(output, backend, device, call = caller_env()) {
  if (check_choice(output, "output", c("host", "gpu"), call) == "host") return(FALSE)
  if (backend == "cpu") {
    stop_kernops("input", call = call,
                 "{.code output = \"gpu\"} needs the backend {.val auto} or {.val cuda}, not {.val cpu}.")
  }
  check_gpu(device, call)
  TRUE
}

# The values in `input`, in the order of the variables `names`. Data frames are converted to matrices.
match_input <- function(input, names, backend, pairs = integer()) {
  if (!is.list(input) || is.data.frame(input)) {
    stop_kernops("input", "{.arg input} must be a list with a value for each of {.code {names}}.")
  }
  labels <- names(input)
  if (!is.null(labels)) {
    place <- match(names, labels)
    if (anyNA(place) || length(labels) != length(names) || anyDuplicated(labels)) stop_names(labels, names)
    input <- input[place]
  } else if (length(input) != length(names)) {
    stop_kernops("input", c("{.arg input} must have {length(names)} element{?s}, not {length(input)}.",
                            i = "The variables are {.code {names}}."))
  }
  if (!has_objects(input)) return(input)
  tables <- seq_along(input) %in% pairs & vapply(input, inherits, NA, "kernops_lookup")
  objects <- vapply(input, is.object, NA) & !tables
  there <- vapply(input, is_gpu_matrix, NA)
  for (n in which(objects & !there)) input[[n]] <- plain_numbers(input[[n]], names[[n]])
  if (backend == "cpu" && any(there)) {
    stop_kernops("input", c("The backend {.val cpu} cannot read a {.cls gpu_matrix}: {.code {names[there]}}.",
                            i = "The backend {.val auto} runs where the data are; {.fn as.matrix} copies them back."))
  }
  input
}

# TRUE if a value has a class. The function uses a loop, because a call of an operator takes only a few microseconds,
# and vapply() would add noticeably to this time.
has_objects <- function(input) {
  for (x in input) if (is.object(x)) return(TRUE)
  FALSE
}
has_batch_axes <- function(input) {
  for (x in input) if (length(attr(x, "dim")) > 3) return(TRUE)
  FALSE
}

# The numbers in an object with a class. A data frame is converted to a matrix; for other classes, an error names the
# class.
plain_numbers <- function(x, name, call = NULL) {
  if (is.data.frame(x)) return(as.matrix(check_numeric_columns(x, name, call)))
  if (inherits(x, "dist")) {
    stop_kernops("input", c("{.arg {name}} must contain points, not distances (a {.cls dist}).",
                            i = "Formulas compute distances from points, as in {.code SqDist(x, y)}."), call = call)
  }
  if (inherits(x, c("Matrix", "sparseMatrix"))) {
    stop_kernops("input", c("{.arg {name}} must be an ordinary matrix, not a {.cls {class(x)[[1]]}}.",
                            i = "{.code as.matrix()} converts it."), call = call)
  }
  if (is.factor(x)) {
    stop_kernops("input", c("{.arg {name}} must be numeric, not {.cls {class(x)[[1]]}}.",
                            i = "{.code model.matrix()} codes factors as numbers."), call = call)
  }
  if (inherits(x, "integer64")) {
    stop_kernops("input", c("{.arg {name}} must be of type double or integer, not {.cls integer64}.",
                            i = "{.code as.double()} converts it."), call = call)
  }
  x
}

check_numeric_columns <- function(x, name, call) {
  odd <- names(x)[!vapply(x, is_plain, NA)]
  if (length(odd) == 0) return(x)
  stop_kernops("input", c("All columns of the data frame {.arg {name}} must be numeric: {.code {odd}} {?is/are} not.",
                          i = "Remove columns that are not coordinates; {.code model.matrix()} codes factors
                               as numbers."), call = call)
}

stop_names <- function(labels, names) {
  if (!all(nzchar(labels))) {
    stop_kernops("input", c("Some elements of {.arg input} have names, others do not.",
                            i = "Name all of {.code {names}}, or none: they are then taken in this order."))
  }
  lacking <- setdiff(names, labels)
  unknown <- setdiff(labels, names)
  twice <- unique(labels[duplicated(labels)])
  stop_kernops("input", c(
    "The names of {.arg input} do not match the variables {.code {names}}.",
    x = if (length(lacking)) "Missing: {.code {lacking}}.",
    x = if (length(unknown)) "Unknown: {.code {unknown}}.",
    x = if (length(twice)) "Given twice: {.code {twice}}."
  ))
}
