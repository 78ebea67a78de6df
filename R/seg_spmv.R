#' Sparse matrix times vector, over any semiring
#'
#' `spmv()` multiplies a sparse matrix by a vector or by the columns of a matrix, with any two operations as addition
#' and multiplication. For example, with `min` as addition and `+` as multiplication, a product is one step of a search
#' for shortest paths; with `or` and `and`, a product follows the edges of a graph.
#'
#' @param A a sparse matrix of package 'Matrix', preferably of class `dgRMatrix` or `dgCMatrix`, because other classes
#'   are converted to these; a numeric matrix, in which zeros are also entries; or a list of `offsets` (0-based, as for
#'   [seg_plan()]), `columns` (the 0-based column of each entry), `values` (the values of the entries) and optionally
#'   `sources`. Without `values`, the entries of `v` are reduced unchanged. `A` may also be a result of `spmv_plan(A)`,
#'   which contains the entries.
#' @param v a vector with an entry for each column of `A`, or a matrix with a row for each column of `A`.
#' @param mul the multiplication of an entry of `A` and an entry of `v`: `"*"`, `"+"`, `"min"`, `"max"`, `"and"`,
#'   `"or"`, a function of two vectors, or a string with a formula of `a` (from `A`) and `b` (from `v`). A function runs
#'   in R on the CPU, so that `v` is copied to the host if it is on the GPU; a formula avoids this copy.
#' @param add the reduction of a row: `"+"`, `"*"`, `"or"`, `"and"`, or an operation of [seg_reduce()] except `"range"`,
#'   such as `"min"`, `"logsumexp"` or a [seg_op()]; bit operations such as `"bit_and"` require products that are whole
#'   numbers, and run on the CPU. The result of a row without entries is the result of an empty segment: 0 for `"+"`,
#'   `Inf` for `"min"`.
#' @param plan a result of `spmv_plan()` for a matrix with the same pattern as `A`, whose values may differ. A plan
#'   avoids repeated analysis of `A`. With a plan, the entries of `A` are kept on the GPU until the plan is used with
#'   other entries: repeated products copy only `v`.
#' @param backend `"cpu"`, `"cuda"` or `"auto"`, which uses the GPU if `v` is a [gpu_matrix()]; the product then has the
#'   precision of `v`.
#' @param output `"host"`: an R vector or matrix. `"gpu"`: a `float64` [gpu_matrix()], if the GPU multiplies. `output`
#'   may also be a [gpu_matrix()] that is overwritten with the result, as in [seg_reduce()].
#'
#' @return A vector with an entry for each row of `A`, with the row names of `A`; a matrix if `v` is a matrix.
#'   `spmv_plan()`: an object for the argument `plan`.
#'
#' @section Errors: class `kernops_input_error` or `kernops_dim_error`.
#'
#' @seealso [seg_reduce()] for segments, [seg_op()] for user-defined operations.
#' @examples
#' A <- list(offsets = c(0, 2, 2, 3), columns = c(0, 2, 1), values = c(1, 2, 3))
#' spmv(A, c(10, 20, 30))
#' spmv(A, c(10, 20, 30), mul = "+", add = "min")
#' plan <- spmv_plan(A)
#' spmv(plan, c(1, 0, 0))
#' spmv(matrix(1:6, 2), c(1, 10, 100), mul = "+", add = "max")
#' @export
spmv <- function(A, v, mul = "*", add = "+", plan = NULL, backend = c("auto", "cpu", "cuda"),
                 output = c("host", "gpu")) {
  backend <- check_backend(backend)
  if (inherits(A, "spmv_plan") && is.null(plan)) {
    plan <- A
  } else {
    A <- as_compressed(A)
    if (is.null(plan)) {
      plan <- spmv_plan(A)
      temporary(plan$rows)
    } else {
      plan <- check_spmv_plan(plan, A)
    }
  }
  v <- check_values(v, backend, name = "v")
  stay <- check_target(output, v)
  if (value_count(v) != plan$columns && (plan$exact || value_count(v) < plan$columns)) {
    stop_kernops("dim", c("{.arg v} must have one entry for each column of {.arg A}.",
                          x = "{.arg A} has {plan$columns} column{?s}, {.arg v} has {value_count(v)}."))
  }
  add <- check_addition(add)
  values <- plan$values
  if (!is.function(mul) && !joins_bits(add)) {
    result <- multiply_entries(values, v, mul, add, plan, backend, stay)
    if (!is.null(result)) return(result)
  } else if (stay) {
    stop_kernops("input", paste("{.code output = \"gpu\"} supports neither a function {.arg mul} nor a bit",
                                "operation {.arg add}: the CPU computes these."))
  }
  if (is_gpu_matrix(v)) v <- as.matrix(v)
  product <- multiplication(mul)
  reduce <- function(v) {
    terms <- if (is.null(values)) v[plan$column] else product(values, v[plan$column])
    drop(reduce_plan(check_terms(terms, plan, add), plan$rows, add))
  }
  if (is.null(dim(v))) return(stats::setNames(reduce(v), plan$names))
  if (ncol(v) == 0) return(shape_product(reduce(numeric(nrow(v)))[0], v, plan))
  shape_product(unlist(lapply(seq_len(ncol(v)), \(k) reduce(v[, k]))), v, plan)
}

# The product of matrix and vector, computed by the backend. NULL if R must compute the products of entries, which the
# CPU then reduces. R must compute these products for some operations other than sums of products, and if results are
# missing, because R distinguishes NA and NaN.
multiply_entries <- function(values, v, mul, add, plan, backend, stay, call = caller_env()) {
  check_multiplication(mul, call)
  if (!is_gpu_matrix(v)) v <- `storage.mode<-`(unclass(v), "double")
  custom <- inherits(add, "seg_op")
  plain <- identical(mul, "*") && identical(add, "sum")
  formula <- if (mul %in% names(multiplications)) multiplications[[mul]] else mul
  result <- spmv_run(entries_of_plan(plan), if (plain) as_doubles(values) else values, v, segment_operation(add),
                     formula, plain, segment_settings(backend, stay))
  if (is.null(result) || stay) return(result)
  shape_product(if (custom || plain) result else settle_product(result, plan, add), v, plan)
}

as_doubles <- function(x) if (is.null(x)) NULL else as.numeric(x)

# The positions of the entries as a C++ object, which the plan keeps.
entries_of_plan <- function(plan) {
  cell <- plan$cell
  if (is.null(cell$entries) || is_null_pointer(cell$entries)) {
    cell$entries <- spmv_entries(segments(plan$rows)$pointer, plan$column)
  }
  cell$entries
}

# Sets the results of rows with too few entries to NA, and converts results to the type of the operation.
settle_product <- function(result, plan, add) {
  row <- statistic(add)
  if (row$least > 0) {
    few <- run_plan(numeric(length(plan$column)), plan$rows, "count") < row$least
    result[is.nan(result) & few] <- NA
  }
  switch(row$kind, truth = result != 0, position = as.integer(result), result)
}

shape_product <- function(result, v, plan) {
  if (is.null(dim(v))) return(stats::setNames(result, plan$names))
  matrix(result, plan$row_count, ncol(v),
         dimnames = if (!is.null(plan$names) || !is.null(colnames(v))) list(plan$names, colnames(v)))
}

additions <- c("+" = "sum", "*" = "prod", or = "any", and = "all")

check_addition <- function(add, call = caller_env()) {
  if (inherits(add, "seg_op")) return(add)
  check_choice(add, "add", c(names(additions), setdiff(segment_ops()$name, "range")), call)
  if (add %in% names(additions)) additions[[add]] else add
}

check_terms <- function(terms, plan, add, call = caller_env()) {
  if (!is_plain(terms) || length(terms) != length(plan$column)) {
    type <- if (is.object(terms)) class(terms) else typeof(terms)
    stop_kernops("input", c("{.arg mul} must return one number for each entry, {length(plan$column)} in total.",
                            x = "It returned {length(terms)} element{?s} of type {.cls {type}}."), call = call)
  }
  if (joins_bits(add)) check_whole_terms(terms, add, call)
  as.numeric(terms)
}

check_whole_terms <- function(terms, add, call) {
  wrong <- which(terms != floor(terms) | abs(terms) > 2^53)
  if (length(wrong) == 0) return(invisible())
  stop_kernops("input", c("The operation {.val {add}} requires products that are whole numbers of at most 2^53.",
                          x = "The product of entry {wrong[[1]]} is {terms[[wrong[[1]]]]}."), call = call)
}

# Converts a matrix to a class that spmv() reads. A dense matrix is converted to a list of entries with the size of the
# matrix as an attribute.
as_compressed <- function(A) {
  if (is.matrix(A) && is_plain(A)) {
    columns <- rep(seq_len(ncol(A)) - 1, nrow(A))
    return(structure(list(offsets = ncol(A) * seq(0, nrow(A)), columns = columns, values = c(t(A))), size = dim(A),
                     rows = rownames(A)))
  }
  if (!methods::is(A, "sparseMatrix") || inherits(A, c("dgCMatrix", "dgRMatrix"))) return(A)
  for (class in c("dMatrix", "generalMatrix", "CsparseMatrix")) A <- methods::as(A, class)
  A
}

#' @rdname spmv
#' @export
spmv_plan <- function(A) {
  A <- check_slots(as_compressed(A))
  if (inherits(A, "dgRMatrix")) {
    rows <- seg_plan(offsets = A@p, n = length(A@x))
    column <- A@j + 1L
  } else if (inherits(A, "dgCMatrix")) {
    rows <- numbered_plan(A@i + 1L, A@Dim[[1]])
    column <- rep(seq_len(A@Dim[[2]]), diff(A@p))
  } else if (is.list(A) && all(c("offsets", "columns") %in% names(A))) {
    rows <- seg_plan(offsets = A$offsets, sources = A$sources, n = length(A$columns))
    column <- as.integer(check_columns(A$columns) + 1)
  } else {
    stop_kernops("input",
                 c(paste("{.arg A} must be a {.cls dgRMatrix}, a {.cls dgCMatrix}, a matrix, or a list with",
                         "{.code offsets} and {.code columns}."),
                   x = "It is {.obj_type_friendly {A}}."))
  }
  size <- if (isS4(A)) A@Dim else attr(A, "size")
  structure(list(rows = rows, column = column, exact = !is.null(size), columns = size[2] %||% max(column, 0),
                 row_count = segments(rows)$about$segments, names = row_names(A), of = stored(A),
                 values = entries_of(A, length(column)), cell = new.env(parent = emptyenv())), class = "spmv_plan")
}

#' @export
print.spmv_plan <- function(x, ...) {
  cli::cat_line("<spmv_plan> ", in_digits(x$row_count), " x ", in_digits(x$columns), ", ",
                in_digits(length(x$column)), " entries")
  invisible(x)
}

# Stops if indices of a sparse matrix exceed its dimensions. Such a matrix exists if the user assigned values to its
# slots.
check_slots <- function(A, call = caller_env()) {
  if (!isS4(A)) return(A)
  wrong <- methods::validObject(A, test = TRUE)
  if (isTRUE(wrong)) return(A)
  stop_kernops("input", c("{.arg A} must be a valid sparse matrix.", x = "{wrong}"), call = call)
}

check_columns <- function(columns, call = caller_env()) {
  if (!is_plain_numeric(columns)) {
    stop_kernops("input", paste("{.code columns} of {.arg A} must be non-negative whole numbers,",
                                "not {.obj_type_friendly {columns}}."), call = call)
  }
  wrong <- which(is.na(columns) | columns < 0 | columns != floor(columns) | columns >= .Machine$integer.max)
  if (length(wrong) == 0) return(columns)
  first <- wrong[[1]]
  stop_kernops("input",
               "{.code columns} of {.arg A} must be non-negative whole numbers; element {first} is {columns[[first]]}.",
               call = call)
}

check_spmv_plan <- function(plan, A, call = caller_env()) {
  if (!inherits(plan, "spmv_plan")) {
    stop_kernops("input", "{.arg plan} must be made by {.fn spmv_plan}, not {.obj_type_friendly {plan}}.", call = call)
  }
  if (identical(plan$of, stored(A))) {
    plan["names"] <- list(row_names(A))
    plan["values"] <- list(entries_of(A, length(plan$column), call))
    return(plan)
  }
  stop_kernops("input", c("{.arg plan} must be the plan of {.arg A}.",
                          x = "It was made for a matrix with other entries, size or class."), call = call)
}

row_names <- function(A) if (isS4(A)) A@Dimnames[[1]] else attr(A, "rows")

# The class, the size and the positions of the entries of a sparse matrix A. A plan that was created for another matrix
# can be used for A if both matrices have the same class, size and positions.
stored <- function(A) {
  if (isS4(A)) return(list(class(A)[[1]], A@Dim, A@p, if (inherits(A, "dgRMatrix")) A@j else A@i))
  if (is.list(A)) unclass(A)[c("offsets", "columns", "sources")]
}

entries_of <- function(A, count, call = caller_env()) {
  if (is.list(A)) check_elements(A, call)
  values <- if (is.list(A)) A$values else A@x
  if (is.null(values)) return(NULL)
  if (!is_plain(values)) {
    stop_kernops("input", "{.code values} of {.arg A} must be numeric, not {.obj_type_friendly {values}}.", call = call)
  }
  if (length(values) == count) return(values)
  stop_kernops("dim", "{.arg A} must have one value for each of the {count} entr{?y/ies}, not {length(values)}.",
               call = call)
}

# Raises an error if a list has elements with unknown names. A list without `values` is valid, so that a misspelt name
# `values` would change the result without an error.
check_elements <- function(A, call) {
  unknown <- setdiff(names(A), c("offsets", "columns", "values", "sources"))
  if (length(unknown) == 0) return(invisible())
  stop_kernops("input", c(paste("A list {.arg A} must have {.code offsets} and {.code columns}, and optionally",
                                "{.code values} and {.code sources}."),
                          x = "It must not have {.code {unknown}}."), call = call)
}

multiplication <- function(mul, call = caller_env()) {
  if (is.function(mul)) return(mul)
  known <- list("*" = `*`, "+" = `+`, min = pmin, max = pmax, and = \(a, b) a != 0 & b != 0,
                or = \(a, b) a != 0 | b != 0)
  check_multiplication(mul, call)
  known[[mul]] %||% \(a, b) of_pairs(new_seg_op(mul), a, b)
}

check_multiplication <- function(mul, call) {
  check_text(mul, "mul", one = TRUE, call = call)
  if (grepl("^[a-z]+$", mul)) check_choice(mul, "mul", names(multiplications), call)
}

multiplications <- c("*" = "a * b", "+" = "a + b", min = "Min2(a, b)", max = "Max2(a, b)", and = "And(a, b)",
                     or = "Or(a, b)")
