#' Reductions of symbolic matrices
#'
#' `lazy_reduce()` applies any reduction of [keops_kernel()] to a symbolic matrix, over the axis `index`: `"j"` gives
#' one row for each i, `"i"` one row for each j. The other functions are short names of common reductions. R's `sum()`,
#' `prod()`, `min()`, `max()`, `any()`, `all()` and `mean()` are the corresponding reductions, with the index as their
#' second argument: `sum(K, "j")`. Likewise, `median(K, "j")` and `quantile(K, probs, "j")` are reductions.
#'
#' Without an index, these functions of R and `range()` return the same result as for an ordinary matrix: `sum(K)` is a
#' number, the sum of all entries. For a tensor with a vector for each pair, `sum()`, `mean()`, `min()`, `max()`,
#' `argmin()` and `argmax()` reduce the entries of each vector and return another tensor, as in `sum((x - y)^2)`; the
#' other functions are errors. For points of one entry the meaning is ambiguous, and `sum((x - y)^2)` is an error: use
#' `sqdist(x, y)` or `lazy_op("Sum", (x - y)^2)`, which have the same meaning for points with any number of entries.
#'
#' @param x a [LazyTensor].
#' @param index `"i"` or `"j"`; also 0 for `"i"` and 1 for `"j"`, as in formulas; the argument may also be called `axis`
#'   or `dim`. Note that `max(K, 1)` and `min(K, 0)` compare the entries of K with a number: use `max(K, "j")` or
#'   `max(K, index = 1)`.
#' @param reduction the name of a reduction, such as `"Sum"`.
#' @param K the number of smallest or largest values.
#' @param weights a [LazyTensor] of weights of the terms, such as `Vj(w)`.
#' @param probs the probabilities of `lazy_reduce(x, "Quantile", index)`.
#' @param ranges the pairs to reduce over, see [ranges]. Default: the ranges of `x`, see [with_ranges()]; all pairs if
#'   `x` has no ranges.
#' @param ... further arguments of [keops_kernel()], such as `precision`, `backend` and `sum_scheme`.
#'
#' @return A matrix with one row for each point of the axis that is not reduced (complex for complex tensors); positions
#'   are integers counted from 1. For a matrix of vectors of D entries, the K smallest or largest values are an array n
#'   x K x D. `min_argmin()`, `max_argmax()` and `Kmin_argKmin()` return a list of `values` and `positions`. If the
#'   variables have no data, the result is an operator as returned by [keops_kernel()].
#'
#' @seealso [LazyTensor], [lazy_op()]; [lazy_base] for `rowSums()` and the like; [keops_reductions()] for the reductions
#'   of formulas; [softmax()] and [logsumexp()] of arrays.
#' @examples
#' set.seed(1)
#' x <- Vi(matrix(runif(20), 10))
#' y <- Vj(matrix(runif(14), 7))
#' argKmin(sqdist(x, y), 3, "j")
#' logsumexp(-sqdist(x, y), "j")
#' sum(exp(-sqdist(x, y)), "i")
#' @aliases mean.LazyTensor median.LazyTensor quantile.LazyTensor
#' @name lazy_reduction
NULL

#' @rdname lazy_reduction
#' @export
lazy_reduce <- function(x, reduction, index, K = NULL, weights = NULL, ranges = NULL, probs = NULL, ...) {
  called <- if (identical(topenv(parent.frame()), topenv())) parent.frame() else environment() # names such as argmin()
  check_lazy(x, called)
  reduction <- sub("_Reduction$", "", check_text(reduction, "reduction", one = TRUE))
  if (!grepl("^[A-Za-z0-9_]+$", reduction)) { # tokens of variables contain a dot
    stop_kernops("formula", "There is no reduction {.val {reduction}}: see {.fn keops_reductions}.")
  }
  if (is_complex(x) && !reduction %in% c("Sum", "Mean")) {
    stop_undefined(paste0(reduction, "_Reduction"), "ComplexLazyTensor")
  }
  further <- list(...)
  if (missing(index)) index <- further$axis %||% further$dim # `axis` or `dim`, as in Python
  further <- further[!names(further) %in% c("axis", "dim")]
  if (is.null(index)) stop_index(NULL)
  if (is_complex_value(weights)) stop_kernops("input", "{.arg weights} must be real.")
  if (!is_lazy(weights) && length(weights) > 1) stop_kernops("input", call = called, c(
    "{.arg weights} must be a {.cls LazyTensor} or one number.",
    i = "{.code Vj(weights)} is a weight for each column, {.code Vi(weights)} one for each row."
  ))
  if ("na.rm" %in% names(further)) stop_na_rm()
  if (!is.null(K)) check_number(K, "K", least = 1, whole = TRUE, call = called)
  for (p in probs) check_number(p, "probs", least = 0, most = 1, call = called)
  parts <- c("%s", if (!is.null(weights)) "%s", code_number(c(K, probs, check_index(index))))
  template <- code_text(reduction, "_Reduction(", paste(parts, collapse = ", "), ")")
  of <- told_apart(lapply(c(list(x), if (!is.null(weights)) list(weights)), as_lazy))
  whole <- new("LazyTensor", variables = variables_of(of), size = 0L, parts = parts_of(of),
               formula = fill_in(template, vapply(of, function(t) t@formula, "")))
  if (!is.null(ranges)) ranges <- as_ranges(ranges)
  ranges <- common_ranges(c(lapply(of, function(t) t@ranges), list(ranges)))
  result <- do.call(compute, c(list(whole, is_complex(x), ranges), further))
  if (is.function(result)) result else extremes(result, reduction, K, entries(x))
}

# Splits a result of the engine, in which positions follow the values. For vectors, a result has K values for the first
# entry, then K values for the second entry, and so on.
extremes <- function(result, reduction, K, size) {
  if (grepl("_Arg", reduction)) {
    values <- seq_len(ncol(result) / 2)
    positions <- some_columns(result, -values)
    storage.mode(positions) <- "integer"
    return(list(values = by_entry(some_columns(result, values), K, size), positions = by_entry(positions, K, size)))
  }
  if (grepl("^(Arg)?KM", reduction)) by_entry(result, K, size) else result
}

by_entry <- function(x, K, size) {
  if (is.null(K) || size == 1) return(x)
  names <- rownames(x)
  batches <- batch_shape(x)
  array(aperm(array(x, c(nrow(x), size, K, prod(batches))), c(1, 3, 2, 4)), c(nrow(x), K, size, batches),
        if (!is.null(names)) c(list(names, NULL, NULL), rep(list(NULL), length(batches))))
}

compute <- function(whole, complex, ranges, ...) {
  about <- named(whole)
  variables <- whole@variables[about$tokens]
  unknown <- vapply(variables, function(v) is.null(v$data), NA)
  if (any(unknown) && !is.null(ranges)) {
    stop_kernops("input", "{.arg ranges} cannot be given without data: give them to the operator, with its data.")
  }
  if (any(unknown)) return(symbolic_operator(whole, about, unknown, ...))
  result <- operator_of(about$formula, about$args, ...)(lapply(unname(variables), variable_data), ranges = ranges)
  if (complex) as_complex_matrix(result) else result
}

# The operator of a formula. Numbers and parameters become constants of the operator. The function stops if points have
# data.
symbolic_operator <- function(whole, about, unknown, ...) {
  variables <- whole@variables[about$tokens]
  constant <- vapply(variables, function(v) v$axis == "p" && !is.null(v$data), NA)
  if (!all(unknown | constant)) {
    labels <- vapply(variables[!unknown & !constant], function(v) v$label, "")
    stop_kernops("input", c("Some variables have no data, but others do: {.code {labels}}.",
                            i = "Give data for all variables or for none."), call = NULL)
  }
  if (!is.null(batches_of(variables))) {
    stop_kernops("dim", "A parameter with batches cannot be a constant of an operator: declare it without data.",
                 call = NULL)
  }
  check_matrices(variables, constant, about)
  constants <- vapply(variables[constant], function(v) vector_text(t(v$data)), "")
  whole <- rewritten(whole, function(text) replace_words(text, token, function(words) {
    ifelse(words %in% names(constants), constants[words], words)
  }))
  about <- named(whole)
  keops_kernel(about$formula, about$args, ...)
}

# Stops if a matrix that becomes a constant of the formula does not have the shape that the formula requires.
check_matrices <- function(variables, constant, about) {
  matrices <- which(constant & vapply(variables, function(v) is.matrix(v$data), NA))
  if (length(matrices) == 0) return(invisible())
  kernel <- kernel_compile(about$formula, about$args)
  for (n in matrices) kernel_check_matrix(kernel, n, nrow(variables[[n]]$data), ncol(variables[[n]]$data))
}

# Numbers as a vector of a formula. The vector is nested as a balanced tree, because the parser limits the depth of
# nesting.
vector_text <- function(x) {
  parts <- code_text("(", as.vector(x), ")")
  while (length(parts) > 1) {
    pairs <- split(parts, (seq_along(parts) + 1) %/% 2)
    parts <- vapply(unname(pairs), function(pair) {
      if (length(pair) == 1) pair else code_text("Concat(", pair[[1]], ", ", pair[[2]], ")")
    }, "")
  }
  parts
}

as_complex_matrix <- function(x) {
  columns <- matrix(x, nrow(x))
  real <- seq(1, length.out = ncol(columns) / 2, by = 2)
  z <- complex(real = columns[, real], imaginary = columns[, real + 1])
  size <- c(nrow(x), ncol(x) / 2, batch_shape(x))
  array(z, size, if (!is.null(rownames(x))) c(list(rownames(x)), rep(list(NULL), length(size) - 1)))
}

check_index <- function(index) {
  place <- if (is.atomic(index) && length(index) == 1) match(index, c("i", "j", "0", "1"))
  if (is.null(place) || is.na(place)) stop_index(index)
  (place - 1) %% 2
}

stop_index <- function(index) {
  stop_kernops("input", c("{.arg index} must be {.val i} or {.val j}, the axis to reduce over.",
                          x = if (is.atomic(index) && length(index)) "It is {.val {index}}.",
                          i = "{.code sum(K, \"j\")} gives one row for each i, {.code sum(K, \"i\")} one for each j."))
}

summaries <- c(sum = "Sum", prod = "Prod", min = "Min", max = "Max", any = "Any", all = "All")

# sum(K, "j") reduces over an axis. sum(K) is a number; for vectors, it adds the entries of each vector. max(x, y) is
# the larger of x and y, entry by entry.
setMethod("Summary", "LazyTensor", function(x, ..., na.rm = FALSE) {
  others <- list(...)
  if (!isFALSE(na.rm)) stop_na_rm()
  if (length(others) == 0 && entries(x) > 1) return(entries_summary(x, .Generic))
  if (length(others) == 0) {
    if (.Generic %in% c("sum", "min", "max")) check_scalars(x, .Generic)
    return(total(x, .Generic))
  }
  if (!.Generic %in% names(summaries)) stop_undefined(.Generic)
  second <- others[[1]]
  if (.Generic %in% c("min", "max") && (is_lazy(second) || is.null(names(others)) && is.numeric(second))) {
    op <- c(min = "Min2(%s, %s)", max = "Max2(%s, %s)")[[.Generic]]
    return(Reduce(function(a, b) combined(op, list(a, b)), others, x))
  }
  do.call(lazy_reduce, c(list(x, summaries[[.Generic]]), with_index(others, .Generic)))
})

# Names an unnamed argument `index`, if no argument has this name.
with_index <- function(others, generic) {
  nameless <- which(!nzchar(rlang::names2(others)))
  if (length(nameless) > if ("index" %in% names(others)) 0 else 1) {
    stop_further_arguments(paste0("{.fn ", generic, "} over an axis"), others[nameless], call = NULL)
  }
  names(others)[nameless] <- "index"
  others
}

stop_na_rm <- function() {
  stop_kernops("input", c("Reductions of symbolic matrices do not support {.arg na.rm}.",
                          i = "Remove the points with missing values first."), call = NULL)
}

stop_undefined <- function(name, what = "LazyTensor") {
  stop_kernops("input", call = NULL, c("{.fn {name}} is not defined for a {.cls {what}}.",
                                       i = if (what == "LazyTensor" && exists(name, asNamespace("stats")))
                                         "{.code {name}(as.matrix(K))} uses the stored matrix."))
}

entries_summary <- function(x, generic) {
  if (is_complex(x) && generic == "sum") return(combined("ComplexSum(%s)", list(x), complex = TRUE))
  if (is_complex(x)) stop_undefined(generic, "ComplexLazyTensor")
  if (generic %in% c("sum", "min", "max")) return(combined(paste0(summaries[[generic]], "(%s)"), list(x)))
  if (generic == "range") stop_undefined(generic)
  stop_kernops("input", "{.fn {generic}} requires the axis to reduce over, {.val i} or {.val j}.", call = NULL)
}

# The result of a function of R, such as sum(), for all values of the matrix, computed from the results for the rows.
total <- function(x, generic) {
  if (generic == "range") return(c(total(x, "min"), total(x, "max")))
  if (any(vapply(x@variables, function(v) is.null(v$data), NA))) {
    stop_kernops("input", c("{.fn {generic}} cannot be computed: variables of this {.cls LazyTensor} have no data.",
                            i = "{.code {generic}(K, \"j\")} gives an operator for later data."), call = NULL)
  }
  rows <- lazy_reduce(x, summaries[[generic]], "j")
  get(generic, baseenv())(if (generic %in% c("any", "all")) rows != 0 else rows)
}

# Stops for sum(x) if x has one entry for each point. Users may expect a number, but sum(x) of vectors, as in sum((x -
# y)^2), is symbolic.
check_scalars <- function(x, generic) {
  wider <- x
  wider@variables <- lapply(x@variables, function(v) {
    if (v$axis %in% c("i", "j") && v$size == number_size(x)) v$size <- 2L * v$size
    v
  })
  size <- tryCatch(size_of(wider), kernops_error = function(e) NA)
  if (identical(as.numeric(size), as.numeric(x@size))) return(invisible())
  op <- if (is_complex(x)) c(sum = "ComplexSum")[generic] else summaries[generic]
  stop_kernops("input", c(
    "{.fn {generic}} requires the axis to reduce over here, as in {.code {generic}(K, \"j\")}.",
    x = "Without an axis it reduces the vector of each pair, but for points of one entry this is ambiguous.",
    i = "{.code {generic}({generic}(K, \"j\"))} reduces all numbers of the matrix.",
    i = if (!is.na(op)) "{.code lazy_op(\"{op}\", K)} reduces the vector of each pair, for any number of entries."
  ), call = NULL)
}

#' @export
mean.LazyTensor <- function(x, index, ...) {
  if (!missing(index) || any(c("axis", "dim") %in% ...names())) return(lazy_reduce(x, "Mean", index, ...))
  if ("na.rm" %in% ...names()) stop_na_rm()
  if (...length()) stop_index(NULL)
  if (entries(x) > 1) return(sum(x) / entries(x))
  check_scalars(x, "mean")
  total(x, "sum") / (if (is.null(x@ranges)) length(x) else pair_count(x@ranges) * prod(x@points$batches))
}

# The second argument of median() is called `na.rm`; in median(K, "j"), this argument is the index.
#' @export
#' @importFrom stats median
median.LazyTensor <- function(x, na.rm, ...) {
  if (missing(na.rm)) return(lazy_reduce(x, "Median", ...))
  if (is.logical(na.rm)) stop_na_rm()
  lazy_reduce(x, "Median", na.rm, ...)
}

#' @export
#' @importFrom stats quantile
quantile.LazyTensor <- function(x, probs = seq(0, 1, 0.25), index, ...) {
  lazy_reduce(x, "Quantile", index, probs = probs, ...)
}

#' @rdname lazy_reduction
#' @export
sum_reduction <- function(x, index, ...) lazy_reduce(x, "Sum", index, ...)
#' @rdname lazy_reduction
#' @export
min_reduction <- function(x, index, ...) lazy_reduce(x, "Min", index, ...)
#' @rdname lazy_reduction
#' @export
max_reduction <- function(x, index, ...) lazy_reduce(x, "Max", index, ...)
#' @rdname lazy_reduction
#' @export
argmin <- function(x, index, ...) {
  if (missing(index) && has_entries(x, ...)) lazy_op("ArgMin", x) + 1 else lazy_reduce(x, "ArgMin", index, ...)
}
#' @rdname lazy_reduction
#' @export
argmax <- function(x, index, ...) {
  if (missing(index) && has_entries(x, ...)) lazy_op("ArgMax", x) + 1 else lazy_reduce(x, "ArgMax", index, ...)
}
# TRUE if a call without further arguments, such as min(x), reduces over the entries of vectors.
has_entries <- function(x, ...) is_lazy(x) && entries(x) > 1 && ...length() == 0
#' @rdname lazy_reduction
#' @export
min_argmin <- function(x, index, ...) lazy_reduce(x, "Min_ArgMin", index, ...)
#' @rdname lazy_reduction
#' @export
max_argmax <- function(x, index, ...) lazy_reduce(x, "Max_ArgMax", index, ...)
#' @rdname lazy_reduction
#' @export
Kmin <- function(x, K, index, ...) lazy_reduce(x, "KMin", index, K = K, ...)
#' @rdname lazy_reduction
#' @export
argKmin <- function(x, K, index, ...) lazy_reduce(x, "ArgKMin", index, K = K, ...)
#' @rdname lazy_reduction
#' @export
Kmax <- function(x, K, index, ...) lazy_reduce(x, "KMax", index, K = K, ...)
#' @rdname lazy_reduction
#' @export
argKmax <- function(x, K, index, ...) lazy_reduce(x, "ArgKMax", index, K = K, ...)
#' @rdname lazy_reduction
#' @export
Kmin_argKmin <- function(x, K, index, ...) lazy_reduce(x, "KMin_ArgKMin", index, K = K, ...)
#' @rdname lazy_reduction
#' @export
sumsoftmaxweight <- function(x, index, weights = NULL, ...) {
  if (!missing(index) && is_lazy(index)) return(lazy_reduce(x, "SumSoftMaxWeight", weights, weights = index, ...))
  lazy_reduce(x, "SumSoftMaxWeight", index, weights = weights, ...)
}
#' @rdname lazy_reduction
#' @export
logsumexp.LazyTensor <- function(x, index, weights = NULL, ...) {
  lazy_reduce(x, "LogSumExp", index, weights = weights, ...)
}
