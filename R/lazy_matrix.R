# Symbolic matrices as matrices: shape, transposition, products, blocks of numbers, printing.

setMethod("dim", "LazyTensor", function(x) {
  points <- c(i_j_points(x, "i"), i_j_points(x, "j"))
  as.integer(c(points, if (entries(x) > 1) entries(x), x@points$batches))
})
setMethod("length", "LazyTensor", function(x) prod(dim(x)))

# The names of rows and columns are the names of the points along each axis.
setMethod("dimnames", "LazyTensor", function(x) {
  names <- list(point_names(x, "i"), point_names(x, "j"))
  if (all(vapply(names, is.null, NA))) NULL else c(names, rep(list(NULL), length(dim(x)) - 2))
})

point_names <- function(x, axis) {
  points <- Filter(function(v) v$axis == axis, x@variables)
  Reduce(`%||%`, lapply(unname(points), function(v) rownames(v$data)), NULL)
}

entries <- function(x) x@size %/% number_size(x)
number_size <- function(x) if (is_complex(x)) 2L else 1L

# The number of points along an axis: 1 if no variable has this axis, NA if the variables of this axis have no data.
i_j_points <- function(x, axis) {
  if (axis %in% x@points$axes) x@points[[axis]] else 1
}

#' @export
t.LazyTensor <- function(x) {
  swapped <- c(i = "j", j = "i", p = "p", m = "n", n = "m")
  renamed <- function(tokens) {
    axis <- sub(".*[.]([ijpmn]).*", "\\1", tokens)
    paste0(sub("[.].*", "", tokens), ".", swapped[axis], sub(".*[.][ijpmn]", "", tokens))
  }
  if (!is.null(x@ranges)) x@ranges <- swap_axes(x@ranges)
  x@points <- swap_points(x@points)
  x@variables <- Map(function(v) replace(v, "axis", swapped[[v$axis]]), x@variables)
  names(x@variables) <- renamed(names(x@variables))
  index <- c(IndexI = "IndexJ", IndexJ = "IndexI")
  rewritten(x, function(text) replace_words(text, paste0(token, "|Index[IJ]"), function(words) {
    ifelse(words %in% names(index), index[words], renamed(words))
  }))
}

setMethod("%*%", signature("LazyTensor", "ANY"), function(x, y) {
  `colnames<-`(x %*% right_hand_side(y, "y"), colnames(y))
})
setMethod("%*%", signature("ANY", "LazyTensor"), function(x, y) {
  transposed(t(y) %*% if (length(dim(x)) > 1) transposed(x) else x) # as in R, a vector x is a row
})
setMethod("%*%", signature("LazyTensor", "LazyTensor"), function(x, y) {
  if (entries(x) > 1) stop_kernops("dim", "{.code K %*% b} requires a matrix of scalars, not of vectors.", call = NULL)
  if (any(vapply(y@variables, function(v) v$axis == "i" || is_of_pairs(v), NA))) {
    stop_kernops("dim", c("The product of two symbolic matrices is not a symbolic matrix: it would have to be stored.",
                          i = "{.code K %*% (L %*% b)} multiplies a numeric matrix by both."), call = NULL)
  }
  summed <- c(dim(x)[[2]], i_j_points(y, "j"))
  if (!anyNA(summed) && summed[[1]] != summed[[2]]) {
    stop_kernops("dim", "The matrices of {.code %*%} are non-conformable: the inner dimensions are {summed}.",
                 call = NULL)
  }
  lazy_reduce(x * y, "Sum", "j")
})

# The tensor in which variables replace IndexI() and IndexJ(); the data of these variables are the indices of the
# points.
numbered <- function(x) {
  for (axis in c("i", "j")) {
    index <- paste0("Index", toupper(axis), "()")
    if (!any(grepl(index, c(x@formula, x@parts), fixed = TRUE))) next
    number <- variable(matrix(as.double(seq_len(i_j_points(x, axis)))), axis, "n")
    x <- rewritten(x, function(text) gsub(index, number@formula, text, fixed = TRUE))
    x@variables <- c(x@variables, number@variables)
  }
  x
}

# The variables, restricted to the chosen points along an axis.
points_at <- function(variables, axis, chosen) {
  lapply(variables, function(v) {
    if (v$axis == axis) v$data <- as.matrix(v$data)[chosen, , drop = FALSE]
    if (is_of_pairs(v)) v$data <- chosen_pair_points(v, axis, chosen)
    v
  })
}

# The values of single pairs (i[k], j[k]). All variables are moved to axis i, with one point for each pair.
pair_values <- function(x, i, j) {
  of <- numbered(x)
  stored <- vapply(of@variables, is_of_pairs, NA)
  paired <- points_at(points_at(of@variables[!stored], "i", i), "j", j)
  of@variables[!stored] <- lapply(paired, function(v) if (v$axis == "j") replace(v, "axis", "i") else v)
  of@variables[stored] <- lapply(of@variables[stored], listed_pair_values, i, j)
  value <- matrix(stored_values(of), ncol = entries(x))
  value <- value[rep_len(seq_len(nrow(value)), length(i)), , drop = FALSE]
  without_others(value, x@ranges, i, j)
}

# The stored values of all pairs: a matrix, or an array with the entries of vectors as its last dimension. Values that
# depend on one axis only, or on no axis, are stored once.
stored_values <- function(x) {
  about <- named(x)
  value <- operator_of(about$formula, about$args, make = terms_kernel)(
    lapply(unname(x@variables[about$tokens]), variable_data)
  )
  if (!is_complex(x)) return(value)
  real <- seq(1, x@size, by = 2)
  size <- c(dim(value)[1:2], if (entries(x) > 1) entries(x))
  array(complex(real = value[, , real], imaginary = value[, , real + 1]), size)
}

# An operator that stores the values of `formula` for all pairs. Its settings come from the options of the package.
terms_kernel <- function(formula, args) {
  device <- check_device(NULL)
  kernel_operator(code_text("Sum_Reduction(", formula, ", 1)"), args, "auto", check_precision(precisions, precisions),
                  check_backend(c("auto", "cpu", "cuda"), device), device, stored = TRUE)
}

check_has_data <- function(x, call = caller_env()) {
  if (anyNA(dim(x)) || any(vapply(x@variables, function(v) is.null(v$data), NA))) {
    stop_kernops("input", "The variables of this {.cls LazyTensor} have no data yet.", call = call)
  }
}

# The block of the chosen rows and columns: a matrix, or an array with the entries of vectors as its last dimension. A
# block with fewer rows than columns is computed as a transposed block.
block <- function(x, rows, columns) {
  if (!is.null(x@points$batches)) return(block_of_batches(x, rows, columns))
  last <- if (entries(x) > 1) 3
  if (length(rows) < length(columns)) return(aperm(block(t(x), columns, rows), c(2, 1, last)))
  part <- numbered(x)
  part@variables <- points_at(points_at(part@variables, "i", rows), "j", columns)
  value <- stored_values(part)
  if (any(dim(value)[1:2] != c(length(rows), length(columns)))) {
    every <- function(k, n) rep_len(seq_len(dim(value)[[k]]), n)
    i <- every(1, length(rows))
    j <- every(2, length(columns))
    value <- if (is.null(last)) value[i, j, drop = FALSE] else value[i, j, , drop = FALSE]
  }
  value <- without_others(value, x@ranges, rep(rows, length(columns)), rep(columns, each = length(rows)))
  names <- dimnames(x)
  if (!is.null(names)) dimnames(value) <- list(names[[1]][rows], names[[2]][columns], NULL)[c(1, 2, last)]
  value
}

# The blocks of all batches; the last dimensions of the result are the batches.
block_of_batches <- function(x, rows, columns) {
  batches <- x@points$batches
  values <- lapply(seq_len(prod(batches)), function(k) block(at_batch(x, k), rows, columns))
  names <- dimnames(x)
  if (!is.null(names)) names[1:2] <- list(names[[1]][rows], names[[2]][columns])
  array(unlist(values) %||% numeric(), c(length(rows), length(columns), dim(x)[-(1:2)]), names)
}

# The tensor of the k-th batch, a symbolic matrix. The batches have the dimensions `shape`.
at_batch <- function(x, k, shape = x@points$batches) {
  x@variables <- lapply(x@variables, function(v) {
    if (is_of_pairs(v)) v else replace(v, "data", list(nth_batch(v$data, shape, k)))
  })
  x@points["batches"] <- list(NULL)
  x
}

#' @export
as.matrix.LazyTensor <- function(x, ...) {
  refuse_arguments("as.matrix.LazyTensor", list(...))
  dense(x, parent.frame())
}
#' @export
as.array.LazyTensor <- function(x, ...) {
  refuse_arguments("as.array.LazyTensor", list(...))
  dense(x, parent.frame())
}

# All values, for a function of R that requires the dense matrix.
dense <- function(x, frame) {
  check_has_data(x, frame)
  check_dense(x, frame)
  block(x, seq_len(dim(x)[[1]]), seq_len(dim(x)[[2]]))
}

#' @export
is.matrix.LazyTensor <- function(x) length(dim(x)) == 2
# This method serves functions of R that have no methods and call is.array(): diag() for objects other than matrices,
# and rowSums() and similar functions in packages that do not import the functions of kernops.
#' @export
is.array.LazyTensor <- function(x) {
  caller <- sys.function(sys.parent())
  if (identical(caller, base::diag)) stop_no_diagonal(x)
  return_margin(x, caller, parent.frame())
  TRUE
}

stop_no_diagonal <- function(x) {
  check_one_batch(x, "Diagonals")
  stop_kernops("dim", "{.fn diag} requires a matrix of scalars: entries of K are vectors of {entries(x)} numbers.",
               call = NULL)
}

setMethod("[", "LazyTensor", function(x, i, j, ..., drop = TRUE) {
  indices <- nargs() - 1 - !missing(drop)
  if (indices == 1 && !missing(i)) return(single_entries(x, i))
  if (indices != 2) {
    stop_kernops("input", "A {.cls LazyTensor} is indexed by rows and columns, as in {.code K[i, j]}.", call = NULL)
  }
  check_has_data(x)
  all <- dim(x)
  rows <- if (missing(i)) seq_len(all[[1]]) else positions(i, all[[1]], "row", point_names(x, "i"))
  columns <- if (missing(j)) seq_len(all[[2]]) else check_column(j, x)
  value <- block(x, rows, columns)
  if (drop) drop(value) else value
})

check_column <- function(j, x) {
  if (entries(x) > 1 && i_j_points(x, "j") == 1 && !all(j %in% c(0, 1, -1))) stop_entries(x)
  positions(j, dim(x)[[2]], "column", point_names(x, "j"), call = NULL)
}

# Single entries. As for any matrix, k in K[k] numbers the entries column by column. K[cbind(i, j)], which diag() calls,
# has the entries at rows i and columns j.
single_entries <- function(x, index) {
  pairs <- is.matrix(index) && ncol(index) == 2
  if (!pairs && entries(x) > 1) stop_entries(x)
  check_has_data(x, NULL)
  check_one_batch(x, "{.code K[k]} and {.code K[cbind(i, j)]}")
  size <- dim(x)
  i <- if (pairs) index[, 1] else (index - 1) %% size[[1]] + 1
  j <- if (pairs) index[, 2] else (index - 1) %/% size[[1]] + 1
  fits <- is.numeric(index) && !anyNA(index) && all(i >= 1 & i <= size[[1]] & j >= 1 & j <= size[[2]])
  if (!fits) {
    stop_kernops("input", c("The index must be numbers of entries, of a matrix of {size[[1]]} x {size[[2]]}.",
                            i = "{.code K[i, j]} is a block, {.code K[cbind(i, j)]} has an entry for each pair."),
                 call = NULL)
  }
  drop(pair_values(x, i, j))
}

check_one_batch <- function(x, what) {
  if (is.null(x@points$batches)) return(invisible())
  stop_kernops("dim", paste(what, "are not defined for a {.cls LazyTensor} with batches."), call = NULL)
}

# Stops for x[, 2]. In a matrix of points this index would choose a coordinate, but x is a matrix of vectors.
stop_entries <- function(x) {
  stop_kernops("input", call = NULL, c(
    "{.code x[i, j]} chooses rows and columns of a {.cls LazyTensor}, not entries of its vectors.",
    x = "This is a matrix of {dim(x)[[1]]} x {dim(x)[[2]]}, with vectors of {entries(x)} entries.",
    i = "{.code elem(x, 2)} is the second entry, {.code extract(x, 1, 3)} are three entries from the first."
  ))
}

#' @exportMethod "[<-"
setMethod("[<-", "LazyTensor", function(x, i, j, ..., value) {
  stop_kernops("input", c("A {.cls LazyTensor} is a formula: its entries cannot be assigned.",
                          i = "{.code if_else(condition, K, L)} selects elementwise; {.fn as.matrix} computes it."),
               call = NULL)
})

# Calls in the style of Python, such as K$exp().
setMethod("$", "LazyTensor", function(x, name) {
  stop_kernops("input", c("A {.cls LazyTensor} has no component {.field {name}}.",
                          i = "Operations are functions, as in {.code exp(K)} and {.code sum(K, \"j\")}."))
})

setMethod("show", "LazyTensor", function(object) {
  about <- named(object)
  shape <- ifelse(is.na(dim(object)), "?", in_digits(dim(object)))
  cli::cat_line("<", class(object), "> ", paste(shape, collapse = " x "))
  cli::cat_line("  formula    ", about$formula)
  cli::cat_line("  variables  ", paste(about$args, collapse = ", "))
  batches <- object@points$batches
  if (!is.null(batches)) cli::cat_line("  batches    ", paste(batches, collapse = " x "))
  if (!is.null(object@ranges)) cli::cat_line("  ranges     ", about_ranges(object@ranges))
  if (!anyNA(dim(object))) {
    bytes <- prod(dim(object)) * (if (is_complex(object)) 16 else 8)
    cli::cat_line("  dense      ", size_text(bytes))
  }
})
