# Symbolic matrices: a tensor consists of a formula and the data of its variables.
#
# In the formula, a token such as x.i7f3a represents a variable: a label, the axis, and an address. The token of points
# contains the address of their data, so that two variables with the same data are one variable, wherever the variables
# were created. The tensor keeps a reference to the data. Therefore the address is not reused, and R copies the data if
# the user changes them. Numbers are handled in the same way: if exp(-2 * D) occurs twice in a formula, it is computed
# once. Results of Pm(), points without data and right-hand sides have the address of a newly created object: each of
# them is a separate variable.

#' Symbolic matrices
#'
#' A `LazyTensor` is a matrix with an entry (or a vector of entries) for each pair of a row of `x` and a row of `y`. The
#' matrix is not stored: arithmetic with it creates a formula, and a reduction such as `sum(K, "j")` or `K %*% b`
#' computes the formula as [keops_kernel()] does. `Vi(x)` represents the points that index rows, `Vj(y)` the points that
#' index columns, `Pm(p)` parameters, and `Vij(A)` stored numbers of all pairs, an ordinary matrix.
#'
#' @section Arithmetic: `+ - * / ^ %% %/%`, comparisons, `& !`, and the functions of R's groups Math (`exp()`, `abs()`,
#'   `round()`, ...) and Complex work elementwise; a vector of one entry is recycled. `x | y` is the dot product or, for
#'   two conditions such as `K > 1`, the logical or. `sum(x)`, `min(x)` and `max(x)` without an index reduce the entries
#'   of each vector; for a matrix of numbers they return one number (see [lazy_reduction]). `max(x, y)` is the
#'   elementwise maximum, where `x` must be symbolic: `max(x, 0)`, not `max(0, x)`. For arguments that are not symbolic,
#'   R's functions are unchanged (see [lazy_base]). See [lazy_op()] for all operations and [lazy_reduction] for
#'   reductions.
#'
#' @section Matrices: `dim()`, `t()`, `K[i, j]` (a block, as an ordinary matrix), `as.matrix()`, `diag()`, `K %*% b` and
#'   `b %*% K`, `solve(K, b)` by [kernel_solve()]. Rows and columns have the names of their points. A tensor without
#'   points on an axis has one row or column.
#'
#' @section Data: A tensor keeps the values that its data had when it was created. Numbers, such as the 2 in `2 * K`,
#'   are parameters: a formula with another number uses the same kernel, and `2L` and `2` are equivalent. Integer
#'   exponents are part of the formula. Points created twice from the same matrix, as in `Vi(x) - Vi(x)`, are one
#'   variable. Each call of `Pm()`, and each call without data, creates a new variable.
#'
#' @section Matrices as parameters: In `matvecmult(Pm(A), Vi(x))` the parameter is the matrix `A`, so that each row of
#'   the result is `A %*% x`. A parameter can also be a matrix in `vecmatmult()`, `tensordot()`, `kron()` and
#'   `weightedsqnorm()`, and after elementwise arithmetic. An error is raised if an operation requires a matrix of
#'   another shape, or if no operation reads the parameter as a matrix. If entries of a point or of a result represent a
#'   matrix, they are in row-major order: the entries of an array `a` are `as.vector(aperm(a))`.
#'
#' @section Batches: An array n x D x B represents B matrices of points, one for each of B batches. `Vi(x)`, `Vj(y)` and
#'   `Pm(p)` accept arrays; points that all batches share have one batch or no batch dimension. The matrix then has a
#'   last dimension B, and so have results: `sum(K, "j")` is n x p x B, and `K %*% b` is n x p x B for b of n x p or n x
#'   p x B. `solve(K, b)` solves one system for each batch. A parameter is an array 1 x D x B, or r x c x B for
#'   matrices. Arrays may have several dimensions of batches, as described in [keops_kernel()]. The ranges of
#'   [with_ranges()] are the same for all batches. Single entries, `rowSums()` and `diag()` are available for matrices
#'   without batches only.
#'
#' @section Stored terms: `Vij(A)` combines formulas with numbers that are known for each pair, as in `sum(Vij(A) *
#'   exp(-sqdist(Vi(x), Vj(y))), "j")`. Ranges, batches, `solve()` and data on a GPU are not available for such
#'   matrices; [keops_kernel()] describes stored terms.
#'
#' @section Without data: `Vi(3)` and `Vj(3)` are points of 3 entries without data, `Pm(size = 3)` is a parameter of 3
#'   entries without data. A reduction of such variables is an operator as returned by [keops_kernel()]. The arguments
#'   of the operator are in the order in which the variables appear in the formula. Numbers and parameters with data are
#'   constants of the operator. For complex tensors, the result of the operator has interleaved real and imaginary
#'   parts.
#'
#' @param x a matrix with one point in each row (a vector is one column), an array n x D x B of batches, a data frame of
#'   numbers, or a [gpu_matrix()];
#'   for `Vij`, an M x N matrix, an array M x N x size, or entries of a table by [lookup_terms()];
#'   for `Pm`, a vector, or a matrix that an operation reads, such as `A` in `matvecmult(Pm(A), Vi(x))`. Complex numbers
#'   give a `ComplexLazyTensor`. For `Vi` and `Vj`, one whole number is the number of entries of points without data;
#'   give a single point of one entry as `matrix(x)`.
#' @param name the name of the variable in formulas: letters and digits. Default: the name of the argument, or a
#'   generated name.
#' @param size for a parameter without data, the number of its entries.
#' @param index the axis: `"i"`, `"j"`, `"ij"` for numbers of pairs, or `NA` for a parameter.
#'
#' @return An object of S4 class `LazyTensor`.
#' @section Vectors: A vector without dimensions has one entry for each point, such as weights or values of a function.
#'   A row that lost its dimensions, such as `x[1, ]` or `colMeans(x)`, would not be one point, but several points of
#'   one entry. Therefore the distance of such a vector to points of several entries is an error of class
#'   `kernops_dim_error`, and so is a sum, comparison or product of such a vector and points of several entries: write
#'   `Vj(x[1, , drop = FALSE])` or `Vj(rbind(v))`. A vector w with a number for each point may multiply points, as in
#'   `Vj(w) * Vj(y)`, except if its length equals the number of entries of each point; `Vj(cbind(w)) * Vj(y)` is always
#'   possible.
#'
#' @section Errors: class `kernops_formula_error`, with the position in the formula, if sizes do not match;
#'   `kernops_dim_error` and `kernops_input_error` for invalid data.
#'
#' @seealso [lazy_op()] for operations, [lazy_reduction] for reductions, [lazy_base] for R's functions of matrices,
#'   [solve()][solve.LazyTensor] for linear systems, [grad()] and [laplacian()] for derivatives, [keops_formula()] for
#'   the formula; [keops_kernel()] for formulas as strings; `vignette("start", "kernops")`.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(300), 100)
#' y <- matrix(runif(600), 200)
#' b <- rnorm(200)
#' K <- exp(-sqdist(Vi(x), Vj(y)) / (2 * 0.5^2))
#' K
#' v <- K %*% b # 100 x 1, the matrix is never formed
#' all.equal(v, as.matrix(K) %*% b)
#' nearest <- argmin(sqdist(Vi(x), Vj(y)), "j")
#' nearest[1:5]
#'
#' # stored weights for all pairs
#' A <- matrix(runif(100 * 200), 100)
#' all.equal((Vij(A) * K) %*% b, (A * as.matrix(K)) %*% b)
#'
#' # an operator without data
#' op <- sum(exp(-sqdist(Vi(3), Vj(3))) * Vj(1), "j")
#' head(op(list(x, y, b)), 3)
#' @name LazyTensor
#' @aliases as.matrix.LazyTensor as.array.LazyTensor t.LazyTensor is.matrix.LazyTensor is.array.LazyTensor
#'   $,LazyTensor-method
#'   is.na.LazyTensor anyNA.LazyTensor
#'   LazyTensor-class ComplexLazyTensor-class
#'   Ops,LazyTensor,LazyTensor-method Ops,LazyTensor,ANY-method Ops,ANY,LazyTensor-method
#'   +,LazyTensor,missing-method -,LazyTensor,missing-method !,LazyTensor-method
#'   Math,LazyTensor-method Math,ComplexLazyTensor-method log,LazyTensor-method log,ComplexLazyTensor-method
#'   round,LazyTensor-method
#'   signif,LazyTensor-method
#'   Complex,LazyTensor-method Complex,ComplexLazyTensor-method Summary,LazyTensor-method
#'   %*%,LazyTensor,ANY-method %*%,ANY,LazyTensor-method %*%,LazyTensor,LazyTensor-method
#'   [,LazyTensor-method [<-,LazyTensor-method
#'   dim,LazyTensor-method dimnames,LazyTensor-method length,LazyTensor-method show,LazyTensor-method
#' @exportClass LazyTensor
#' @exportClass ComplexLazyTensor
NULL

#' @rdname LazyTensor
#' @export
LazyTensor <- function(x, index = NA, name = NULL) {
  name <- name %||% label_of(substitute(x))
  if (identical(index, "p") || is.logical(index) && identical(is.na(index), TRUE)) return(Pm(x, name = name))
  if (identical(index, "i")) return(Vi(x, name))
  if (identical(index, "j")) return(Vj(x, name))
  if (identical(index, "ij")) return(Vij(x, name))
  stop_kernops("input", "{.arg index} must be {.val i}, {.val j}, {.val ij} or {.code NA}.")
}

#' @rdname LazyTensor
#' @export
Vi <- function(x, name = NULL) points(x, "i", name %||% label_of(substitute(x), "x"))

#' @rdname LazyTensor
#' @export
Vj <- function(x, name = NULL) points(x, "j", name %||% label_of(substitute(x), "y"))

#' @rdname LazyTensor
#' @export
Pm <- function(x, size = NULL, name = NULL) {
  name <- check_label(name %||% label_of(substitute(x)))
  if (is.null(size)) return(variable(parameter_data(check_numbers(x)), "p", name, mark = new.env()))
  if (!missing(x)) stop_kernops("input", "Give {.fn Pm} either numbers or the {.arg size} of later ones, not both.")
  check_number(size, "size", least = 1, whole = TRUE, most = most_entries)
  symbol(size, "p", name)
}

# The data of a parameter. A matrix stays a matrix, because some operations read matrices; a single row or column
# becomes a vector. Arrays are batches of matrices or vectors.
parameter_data <- function(x) {
  if (length(dim(x)) > 2 || length(dim(x)) == 2 && all(dim(x) > 1)) unname(x) else as.vector(x)
}

# The right-hand side of a solver. A single number is one point. The right-hand side is a separate variable, even if a
# variable of the matrix has the same data.
right_hand_side <- function(b, arg) {
  if (is.null(b)) stop_kernops("input", "{.arg {arg}} must be numeric, not {.code NULL}.", call = NULL)
  points(if (is.null(dim(b)) && is.atomic(b) && !is.object(b)) as.matrix(b) else b, "j", "b", NULL, arg, new.env())
}

points <- function(x, axis, name, call = caller_env(), arg = "x", mark = NULL) {
  check_label(name, call)
  if (is_lazy(x)) stop_kernops("input", "{.arg {arg}} is already a {.cls LazyTensor}.", call = call)
  if (is.numeric(x) && length(x) == 1 && is.null(dim(x))) return(symbol(check_size(x, call), axis, name))
  if (!is_gpu_matrix(x)) x <- check_numbers(x, call, arg)
  if (length(dim(x)) > 1) return(variable(x, axis, name, mark))
  variable(as.matrix(x), axis, name, mark, vector = length(x))
}

most_entries <- 2^20 # the maximum number of entries of a variable in a formula

# Checks a number of entries, which must be a whole number in the allowed range.
check_size <- function(x, call) {
  if (is.finite(x) && x >= 1 && x <= most_entries && x == floor(x)) return(x)
  stop_kernops("input", c("A single number is the number of entries of points without data: it must be a whole
                           number from 1 to {most_entries}, not {x}.",
                          i = "For a single point of one entry, use {.code matrix({x})}."), call = call)
}

check_numbers <- function(x, call = caller_env(), arg = "x") {
  x <- plain_numbers(x, arg, call)
  if (length(x) == 0 && !isTRUE(ncol(x) > 0)) stop_kernops("input", "{.arg {arg}} must not be empty.", call = call)
  if (is.numeric(x) || is.logical(x) || is.complex(x)) return(x)
  what <- if (is.object(x)) class(x)[[1]] else typeof(x)
  stop_kernops("input", "{.arg {arg}} must be numeric, not {.cls {what}}.", call = call)
}

label_of <- function(expression, default = "p") {
  text <- if (is.symbol(expression)) gsub("[^A-Za-z0-9]", "", as.character(expression)) else ""
  if (grepl("^[A-Za-z]", text)) text else default
}

check_label <- function(name, call = caller_env()) {
  if (is.character(name) && length(name) == 1 && grepl("^[A-Za-z][A-Za-z0-9]*$", name)) return(name)
  stop_kernops("input", "{.arg name} must consist of letters and digits, such as {.val x1}.", call = call)
}

# A tensor of one variable with data. The real and imaginary parts of complex numbers alternate.
variable <- function(data, axis, label, mark = NULL, vector = NULL) {
  complex <- is.complex(data)
  if (complex) data <- interleaved(data)
  if (!is_gpu_matrix(data) && !is.double(data)) storage.mode(data) <- "double"
  size <- as.integer(if (axis != "p") ncol(data) else if (is.null(batch_shape(data))) length(data) else
    prod(dim(data)[1:2]))
  leaf(list(data = data, axis = axis, size = size, label = label, mark = mark), complex, vector)
}

symbol <- function(size, axis, label) {
  leaf(list(data = NULL, axis = axis, size = as.integer(size), label = label, mark = new.env()))
}

leaf <- function(variable, complex = FALSE, vector = NULL) {
  address <- rlang::obj_address(variable$mark %||% variable$data)
  token <- paste0(variable$label, ".", variable$axis, sub("^0x", "", address))
  new(if (complex) "ComplexLazyTensor" else "LazyTensor", formula = token,
      variables = stats::setNames(list(variable), token), size = variable$size,
      points = points_of_variable(variable, if (complex) variable$size / 2 else variable$size, vector))
}

interleaved <- function(z) {
  if (is.null(dim(z))) return(as.vector(rbind(Re(z), Im(z))))
  columns <- matrix(z, nrow(z))
  count <- ncol(columns)
  both <- cbind(Re(columns), Im(columns))[, as.vector(rbind(seq_len(count), count + seq_len(count))), drop = FALSE]
  array(both, dim(z) * replace(rep(1L, length(dim(z))), 2, 2L), if (!is.null(rownames(z))) list(rownames(z), NULL))
}

is_lazy <- function(x) is(x, "LazyTensor")
is_complex <- function(x) is(x, "ComplexLazyTensor")
