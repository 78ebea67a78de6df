# Operators for lists of pairs: each pair of the list is one point i of the operator. With such lists, operators store
# the terms of all pairs, and compute derivatives at the pairs that a median or quantile chooses.

# The values of all variables at a list of pairs. Pair k consists of row i[k] of the result and point j[k] of the
# reduced axis.
at_listed_pairs <- function(input, about, i, j) {
  Map(function(x, category, size) {
    if (category == "Pm") return(x)
    if (category != "Vij") return(as.matrix(x)[if (category == about$axis) i else j, , drop = FALSE])
    rows <- if (about$axis == "Vi") i else j
    columns <- if (about$axis == "Vi") j else i
    if (inherits(x, "kernops_lookup")) return(cbind(x$table[cbind(x$i[rows], x$j[columns])]))
    x <- array(x, c(dim(x)[1:2], size))
    matrix(x[cbind(rep(rows, size), rep(columns, size), rep(seq_len(size), each = length(rows)))], ncol = size)
  }, input, about$variables$category[seq_along(input)], about$variables$size[seq_along(input)])
}

# The terms of all pairs in some rows, computed from a list of these pairs.
listed_terms <- function(inner, input, about) {
  by_rows <- about$axis == "Vi"
  all <- vapply(input[about$variables$category == "Vij"], function(x) dim(x)[1:2], numeric(2))[, 1]
  if (!by_rows) all <- rev(all)
  i <- rep(seq_len(all[[1]]), all[[2]])
  terms <- inner(at_listed_pairs(input, about, i, rep(seq_len(all[[2]]), each = all[[1]])))
  array(terms, c(all, if (ncol(terms) > 1) ncol(terms)))
}

# The values of a pair variable (a variable with a value for each pair), for the chosen rows or for the chosen columns.
some_pairs <- function(x, chosen, by_rows) {
  if (inherits(x, "kernops_lookup")) {
    axis <- if (by_rows) "i" else "j"
    return(replace(x, axis, list(x[[axis]][chosen])))
  }
  if (length(dim(x)) == 2) return(if (by_rows) x[chosen, , drop = FALSE] else x[, chosen, drop = FALSE])
  if (by_rows) x[chosen, , , drop = FALSE] else x[, chosen, , drop = FALSE]
}

# An operator that returns the terms of all pairs as a matrix with rows i and columns j. The operator has the interface
# of kernel_operator(). Internally, the points i are a list of pairs.
stored_pairs_operator <- function(formula, args, sum_scheme, precision, backend, device) {
  pairs <- which(is_pair_variable(args))
  if (grepl("\\bIndex[IJ]?\\b", formula)) refuse_in_pairs("positions of points", args[pairs])
  listed <- sub("^(.*=\\s*)V(i|j|ij)(\\s*\\(.*)$", "\\1Vi\\3", args)
  inner <- kernel_operator(formula, listed, sum_scheme, precision, backend, device)
  about <- environment(inner)$about
  about$variables$category <- sub("^.*=\\s*(Vij|Vi|Vj|Pm).*$", "\\1", args)
  about$axis <- "Vi"
  names <- about$variables$name
  live_kernel <- environment(inner)$live_kernel
  settings <- environment(inner)$settings
  op <- function(input) {
    input <- match_input(input, names, backend, pairs)
    size <- check_pair_values(input, about, pairs)
    blocks <- by_row_blocks(input, about, size[[2]], function(part, rows) {
      terms <- listed_terms(inner, part, about)
      matrix(terms, length(rows))
    })
    array(do.call(rbind, blocks), c(size, if (about$size > 1) about$size))
  }
  structure(op, class = "keops_kernel")
}
