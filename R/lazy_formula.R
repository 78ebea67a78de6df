# Converts tensors to operators. The tokens of variables are replaced by readable names, and each formula is compiled
# once.

token <- "[A-Za-z][A-Za-z0-9]*[.][ijpmn][0-9a-f]+"

# A tensor of `formula`, a text in which each %s stands for one of the tensors and numbers in `arguments`. The C++ code
# computes the size of the formula, or reports a mistake. A complex entry is stored as two numbers; most operations do
# not support complex entries. `looks_inside`: TRUE if the result depends on more than the sizes of the tensors, as for
# derivatives. The result is numeric if all arguments are numeric.
combined <- function(formula, arguments, complex = FALSE, call = NULL, takes_complex = complex, looks_inside = FALSE) {
  symbolic <- length(arguments) == 0 || any(vapply(arguments, is_lazy, NA))
  arguments <- told_apart(lapply(arguments, as_lazy, call = call))
  if (!takes_complex && any(vapply(arguments, is_complex, NA))) {
    stop_undefined(sub("[(].*", "", formula), "ComplexLazyTensor")
  }
  check_vectors(name_of_operation(formula), arguments, call)
  variables <- variables_of(arguments)
  arguments <- lapply(arguments, as_part)
  text <- fill_in(formula, vapply(arguments, function(x) x@formula, ""))
  made <- new(if (complex) "ComplexLazyTensor" else "LazyTensor", formula = text, variables = variables, size = 0L,
              parts = parts_of(arguments), points = joint_points(arguments, variables, call),
              ranges = common_ranges(lapply(arguments, function(x) x@ranges), call))
  made@size <- if (looks_inside) size_of(made) else size_by_sizes(formula, arguments) %||% size_of(made)
  if (symbolic) made else as.vector(stored_values(made))
}

# Applies combined() entry by entry to numbers of any shape.
entrywise <- function(formula, arguments, call = caller_env()) {
  if (any(vapply(arguments, is_lazy, NA))) return(combined(formula, arguments))
  n <- if (all(lengths(arguments) > 0)) max(lengths(arguments)) else 0
  shape <- attributes(arguments[[1]])
  points <- lapply(arguments, function(x) variable(matrix(rep_len(as.vector(check_numbers(x, call)), n)), "i", "x"))
  value <- as.vector(stored_values(combined(formula, points)))
  if (length(arguments[[1]]) == n && is_plain(arguments[[1]])) attributes(value) <- shape
  value
}

# Renames variables that have the same token but differ. If a tensor is saved and read again, the address in a token may
# belong to other data, so such a variable gets a new token.
told_apart <- function(tensors) {
  if (length(tensors) < 2 || all_alike(lapply(tensors, function(x) x@variables))) return(tensors)
  known <- list()
  free_token <- function(token, variable) {
    while (!is.null(known[[token]]) && !identical(known[[token]], variable)) token <- paste0(token, "0")
    known[[token]] <<- variable
    token
  }
  lapply(tensors, function(x) {
    tokens <- mapply(free_token, names(x@variables), x@variables)
    if (all(tokens == names(tokens))) return(x)
    x <- rewritten(x, function(text) replace_words(text, token, function(words) unname(tokens[words])))
    names(x@variables) <- tokens
    x
  })
}

# TRUE if each name stands for the same variable in all lists that contain the name.
all_alike <- function(lists) {
  known <- lists[[1]]
  for (variables in lists[-1]) {
    common <- intersect(names(variables), names(known))
    if (!identical(known[common], variables[common])) return(FALSE)
    known <- joined(known, variables)
  }
  TRUE
}

# Joins two named lists or vectors; a name in both of them keeps its element in `x`.
joined <- function(x, y) c(x, y[!names(y) %in% names(x)])

replace_words <- function(text, pattern, by) {
  places <- gregexpr(pattern, text)
  regmatches(text, places) <- list(by(regmatches(text, places)[[1]]))
  text
}

variables_of <- function(tensors) Reduce(joined, lapply(tensors, function(x) x@variables), list())

# A replacement for sprintf(), which truncates long texts.
fill_in <- function(template, texts) {
  pieces <- strsplit(paste0(template, " "), "%s", fixed = TRUE)[[1]]
  trimws(paste0(c(rbind(pieces, c(texts, ""))), collapse = ""))
}

as_lazy <- function(x, call = caller_env()) {
  if (is_lazy(x)) return(x)
  if (is.data.frame(x) || length(dim(x)) > 0) {
    stop_kernops("input", c("A matrix cannot be combined with a {.cls LazyTensor}.",
                            i = paste("Declare what its rows are: {.code Vi(x)}, {.code Vj(x)} or, for parameters,",
                                      "{.code Pm(x)}; {.code Vij(x)} has a number for each pair.")), call = call)
  }
  if (length(x) == 0 || !(is.numeric(x) || is.logical(x) || is.complex(x))) {
    stop_kernops("input", "A {.cls LazyTensor} cannot be combined with
                           {.obj_type_friendly {x}}.", call = call)
  }
  variable(as.vector(check_numbers(x, call)), "p", "p")
}

size_of <- function(x) {
  about <- named(x)
  formula_size(about$formula, about$args)
}

# The number of entries of a formula, from the sizes of its arguments, so that a long formula is not compiled again for
# each operation. NULL if the sizes do not match. The caller then reports the error with the whole formula.
size_by_sizes <- function(formula, arguments) {
  names <- paste0("x", seq_along(arguments))
  args <- sprintf("%s = Vi(%d)", names, vapply(arguments, function(x) x@size, 1L))
  tryCatch(formula_size(fill_in(formula, names), args), kernops_error = function(e) NULL)
}

# The number of entries of a formula of declared variables. Each pair of a formula and its declarations is compiled
# once.
formula_size <- function(formula, args) {
  args <- sub("Vij(", "Vi(", args, fixed = TRUE)
  known <- cached("sizes")
  key <- rlang::hash(list(formula, args))
  if (is.null(known[[key]])) {
    known[[key]] <- kernel_describe(kernel_compile(code_text("Sum_Reduction(", formula, ", 1)"), args))$size
  }
  known[[key]]
}

# The formula with readable names, and the declarations and tokens of its variables in the order of appearance in the
# formula.
named <- function(x) {
  text <- whole_formula(x)
  tokens <- unique(words_of(text, token)[[1]])
  shared <- unique(words_of(text, part_token)[[1]])
  labels <- c(vapply(tokens, function(t) x@variables[[t]]$label, ""), rep("part", length(shared)))
  names <- stats::setNames(make.unique(as.character(labels), sep = "_"), c(tokens, shared))
  formula <- replace_words(text, paste0(token, "|", part_token), function(words) unname(names[words]))
  declared <- vapply(tokens, function(t) {
    sprintf("%s = %s(%d)", names[[t]], categories[[x@variables[[t]]$axis]], x@variables[[t]]$size)
  }, "")
  list(formula = formula, args = unname(declared), tokens = tokens)
}

categories <- c(i = "Vi", j = "Vj", p = "Pm", m = "Vij", n = "Vij")

common_points <- function(variables, axis, call = caller_env()) {
  stored <- Filter(function(v) (v$axis == axis || is_of_pairs(v)) && !is.null(v$data), variables)
  counts <- vapply(stored, function(v) if (is_of_pairs(v)) pair_points(v, axis) else nrow(v$data), 1)
  if (length(unique(counts)) > 1) {
    labels <- vapply(stored, function(v) v$label, "")
    shown <- paste0(labels, " (", counts, ")")
    stop_kernops("dim", "All variables of axis {axis} must have the same number of points: {shown}.", call = call)
  }
  if (length(counts)) counts[[1]] else NA_real_
}

batches_of <- function(variables, call = caller_env()) {
  shapes <- lapply(variables, function(v) if (!is_of_pairs(v)) batch_shape(v$data))
  common_batches(shapes, lapply(variables, function(v) v$label), call)
}

# Operators are cached by their arguments, so that a tensor that is reduced repeatedly is compiled once.
operator_of <- function(formula, args, ..., make = keops_kernel) {
  options <- lapply(c("precision", "backend", "device"), kernops_option)
  key <- rlang::hash(list(formula, args, list(...), options, identical(make, keops_kernel)))
  known <- cached("operators")
  if (is.null(known[[key]])) known[[key]] <- make(formula, args, ...)
  known[[key]]
}

# The cache with the name `what`, an environment that lasts for the session. A cache with more than `max_entries`
# entries is emptied first.
cached <- function(what, max_entries = 500) {
  if (is.null(the[[what]]) || length(the[[what]]) > max_entries) the[[what]] <- new.env(parent = emptyenv())
  the[[what]]
}

#' The formula of a symbolic matrix
#'
#' Returns the formula of a symbolic matrix as a string, in the language of [keops_kernel()].
#'
#' @param x a [LazyTensor].
#' @return `keops_formula()`: a string with the formula. The attribute `args` contains the declarations of the
#'   variables; if [with_ranges()] restricts `x`, the attribute `ranges` contains its ranges.
#' @seealso [keops_kernel()], which takes formulas; [LazyTensor]; [keops_source()] for the CUDA source of an operator.
#' @examples
#' keops_formula(exp(-sqdist(Vi(matrix(0, 4, 3)), Vj(matrix(0, 5, 3)))))
#' @export
keops_formula <- function(x) {
  check_lazy(x)
  about <- named(x)
  structure(about$formula, args = about$args, ranges = x@ranges)
}

check_lazy <- function(x, call = caller_env(), arg = "x") {
  if (!is_lazy(x)) stop_kernops("input", "{.arg {arg}} must be a {.cls LazyTensor}, as from {.fn Vi}.", call = call)
}
