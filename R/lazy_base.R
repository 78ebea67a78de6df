# Methods of R's matrix functions for symbolic matrices. A method computes the result, or raises an error that names the
# function to use instead.

#' R's functions of matrices, for symbolic matrices
#'
#' `rowSums()`, `colSums()`, `rowMeans()`, `colMeans()`, `crossprod()`, `tcrossprod()` and `atan2()` work on symbolic
#' matrices without storing the matrices. For all other arguments, R's own functions are called.
#'
#' @section Functions that need the stored matrix: `eigen()`, `svd()`, `qr()`, `chol()`, `apply()`, `scale()`, `dist()`,
#'   `kmeans()`, `prcomp()` and others first convert K to an ordinary matrix. These functions accept up to `1e7` entries
#'   (80 MB), or as many as the option `kernops.dense_entries` allows; for more entries, they stop with an error that
#'   names an alternative. An explicit `as.matrix(K)` always makes the matrix. `RSpectra::eigs_sym(K, k)`, `eigs()` and
#'   `svds()` have methods for symbolic matrices, which compute the largest eigenvalues or singular values from products
#'   with K.
#'
#' @section Elementwise functions: `ifelse()`, `pmin()` and `pmax()` cannot return symbolic matrices. Write
#'   `if_else(condition, a, b)`, `min(K, x)` and `max(K, x)`, where the first argument of `min()` and `max()` must be
#'   symbolic.
#'
#' @section Functions of all entries: `summary()`, `median()`, `sort()`, `rev()`, `unique()`, `det()`, `cbind()`,
#'   `rbind()` and others are errors: write `summary(as.matrix(K))`. `sum(K)`, `mean(K)`, `min(K)`, `max(K)` and
#'   `range(K)` are computed without storing K.
#'
#' @section In packages: In a package that calls `kernops::Vi()` without importing kernops, names such as `rowSums` mean
#'   R's functions. Arithmetic, `sum()`, `%*%`, `rowSums()`, `colSums()`, `rowMeans()`, `colMeans()`, `diag()`, `t()`
#'   and `solve()` still work. `crossprod()` and `tcrossprod()` (before R 4.4.0) and `atan2()` (in all versions) cannot
#'   have methods in R and stop with R's own message: use `importFrom(kernops, crossprod, tcrossprod, atan2)`,
#'   `kernops::crossprod(K, x)`, or `t(K) %*% x`.
#'
#' @param x,y a [LazyTensor], or an argument of R's functions; `atan2(y, x)` is elementwise. One of the two matrices of
#'   a product must be numeric, with as many rows (`crossprod()`) or columns (`tcrossprod()`) as the other matrix.
#' @param na.rm must be `FALSE` for symbolic matrices.
#' @param dims must be 1 for symbolic matrices.
#' @param ... not used.
#'
#' @return `rowSums()` and so on: a vector, with the names of the points; products: a matrix; `atan2()`: a
#'   [LazyTensor].
#' @section Errors: class `kernops_dense_error` for a function that would store more numbers than
#'   `kernops.dense_entries`.
#' @seealso [lazy_reduction] for sums of vectors, weighted sums and other reductions.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(200), 100)
#' K <- exp(-sqdist(Vi(x), Vj(x)))
#' head(rowSums(K))
#' head(crossprod(K, x), 3)
#' if (requireNamespace("RSpectra", quietly = TRUE)) RSpectra::eigs_sym(K, 3)$values
#' @name lazy_base
#' @aliases rowSums,LazyTensor-method colSums,LazyTensor-method rowMeans,LazyTensor-method colMeans,LazyTensor-method
#'   crossprod,LazyTensor,ANY-method crossprod,ANY,LazyTensor-method crossprod,LazyTensor,LazyTensor-method
#'   tcrossprod,LazyTensor,ANY-method tcrossprod,ANY,LazyTensor-method tcrossprod,LazyTensor,LazyTensor-method
#'   atan2,LazyTensor,ANY-method atan2,ANY,LazyTensor-method atan2,LazyTensor,LazyTensor-method
#'   eigs_sym.LazyTensor eigs.LazyTensor svds.LazyTensor
#'   summary.LazyTensor rev.LazyTensor unique.LazyTensor duplicated.LazyTensor determinant.LazyTensor
#'   isSymmetric.LazyTensor
#'   cbind2,LazyTensor,ANY-method cbind2,ANY,LazyTensor-method cbind2,LazyTensor,LazyTensor-method
#'   cbind2,LazyTensor,missing-method
#'   rbind2,LazyTensor,ANY-method rbind2,ANY,LazyTensor-method rbind2,LazyTensor,LazyTensor-method
#'   rbind2,LazyTensor,missing-method
#' @usage
#' \S4method{rowSums}{LazyTensor}(x, na.rm = FALSE, dims = 1L, ...)
#' \S4method{crossprod}{LazyTensor,ANY}(x, y = NULL, ...)
#' \S4method{atan2}{LazyTensor,ANY}(y, x)
#' @exportMethod rowSums colSums rowMeans colMeans crossprod tcrossprod atan2 cbind2 rbind2
NULL

setMethod("rowSums", "LazyTensor", function(x, na.rm = FALSE, dims = 1L) margin(x, "Sum", "j", na.rm, dims))
setMethod("colSums", "LazyTensor", function(x, na.rm = FALSE, dims = 1L) margin(x, "Sum", "i", na.rm, dims))
setMethod("rowMeans", "LazyTensor", function(x, na.rm = FALSE, dims = 1L) margin(x, "Mean", "j", na.rm, dims))
setMethod("colMeans", "LazyTensor", function(x, na.rm = FALSE, dims = 1L) margin(x, "Mean", "i", na.rm, dims))

# rowSums() and similar functions of package base have no methods, but call dim(). If `caller` is such a function, this
# function makes `caller` return the result of the method.
return_margin <- function(x, caller, frame) {
  for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
    if (!identical(caller, get(name, baseenv()))) next
    value <- get(name, topenv())(x, frame$na.rm, frame$dims)
    rlang::eval_bare(call("return", value), frame)
  }
}

# Reductions of rows or columns as vectors, like rowSums(). Raises an error for points with several entries, because R
# would also reduce over the entries.
margin <- function(x, reduction, index, na.rm, dims) {
  if (!isFALSE(na.rm)) stop_na_rm()
  check_one_batch(x, "Sums and means of rows and columns as vectors")
  if (entries(x) > 1 || dims != 1) {
    stop_kernops("dim", c("Sums and means of rows and columns require a matrix of scalars.",
                          i = "{.code sum(K, \"j\")} has a vector for each row, {.code mean(K, \"i\")} one for each
                               column."), call = NULL)
  }
  result <- lazy_reduce(x, reduction, index)
  if (is.function(result)) result else stats::setNames(as.vector(result), rownames(result))
}

setMethod("crossprod", signature("LazyTensor", "ANY"), function(x, y) crossproduct(x, if (!missing(y)) y, t(x)))
setMethod("crossprod", signature("ANY", "LazyTensor"), function(x, y) transposed(as_array(x)) %*% y)
setMethod("crossprod", signature("LazyTensor", "LazyTensor"), function(x, y) t(x) %*% y)
setMethod("tcrossprod", signature("LazyTensor", "ANY"), function(x, y) crossproduct(x, turned(y)))
setMethod("tcrossprod", signature("ANY", "LazyTensor"), function(x, y) as_array(x) %*% t(y))
setMethod("tcrossprod", signature("LazyTensor", "LazyTensor"), function(x, y) x %*% t(y))

# The transpose of y. An object without rows, such as a function, is returned unchanged, so that `%*%` reports the
# error.
turned <- function(y) {
  has_none <- is.null(y) || is.function(y) || is.language(y) || typeof(y) == "environment" && !is.object(y)
  if (has_none) y else transposed(y)
}
as_array <- function(x) if (length(dim(x)) > 2) x else as.matrix(x)

# crossprod(x) is t(x) %*% x, and crossprod(x, y) is t(x) %*% y.
crossproduct <- function(x, by, left = x) if (is.null(by)) left %*% x else left %*% by

setMethod("atan2", signature("LazyTensor", "LazyTensor"), function(y, x) combined("Atan2(%s, %s)", list(y, x)))
setMethod("atan2", signature("LazyTensor", "ANY"), function(y, x) combined("Atan2(%s, %s)", list(y, x)))
setMethod("atan2", signature("ANY", "LazyTensor"), function(y, x) combined("Atan2(%s, %s)", list(y, x)))

# ---- functions that symbolic matrices do not support

#' @export
is.na.LazyTensor <- function(x) {
  by <- asked_by(parent.frame(), "is.na")
  if (by == "is.na" && !is_complex(x)) return(condition("IsNaN(%s)", list(x)))
  if (!by %in% c("pmin", "pmax")) stop_undefined(by)
  short <- sub("p", "", by)
  stop_kernops("input", c("{.fn {by}} is not defined for a {.cls LazyTensor}.",
                          i = "{.code {short}(K, x)} is elementwise, if its first argument is symbolic."), call = NULL)
}
#' @export
anyNA.LazyTensor <- function(x, recursive = FALSE) stop_undefined(asked_by(parent.frame(), "anyNA"))
#' @export
summary.LazyTensor <- function(object, ...) stop_undefined("summary")
#' @export
rev.LazyTensor <- function(x) stop_undefined("rev")
#' @export
unique.LazyTensor <- function(x, incomparables = FALSE, ...) stop_undefined("unique")
#' @export
duplicated.LazyTensor <- function(x, incomparables = FALSE, ...) stop_undefined("duplicated")
#' @export
determinant.LazyTensor <- function(x, logarithm = TRUE, ...) stop_undefined("determinant")
#' @export
isSymmetric.LazyTensor <- function(object, ...) stop_undefined("isSymmetric")
refuse_to_bind <- function(name) {
  refuse <- function(x, y, ...) stop_undefined(name)
  generic <- paste0(name, "2")
  for (second in c("missing", "ANY", "LazyTensor")) setMethod(generic, signature("LazyTensor", second), refuse)
  setMethod(generic, signature("ANY", "LazyTensor"), refuse)
}
refuse_to_bind("cbind")
refuse_to_bind("rbind")

# ifelse() converts its condition to logical, and this conversion calls the following method.
methods::setAs("LazyTensor", "logical", function(from) {
  stop_kernops("input", c("A {.cls LazyTensor} is a formula: it cannot be computed as {.code TRUE} or {.code FALSE}.",
                          i = "{.code if_else(condition, a, b)} selects elementwise."), call = NULL)
})

# Functions of R, and the calls that replace them for large symbolic matrices.
instead <- c(
  eigen = "RSpectra::eigs_sym(K, k)", prcomp = "RSpectra::svds(K, k)", svd = "RSpectra::svds(K, k)",
  La.svd = "RSpectra::svds(K, k)", qr.default = "solve(K, b)", chol.default = "solve(K, b)",
  apply = "sum(K, \"j\")", dist = "sqdist(Vi(x), Vj(x))",
  kmeans = "argmin(sqdist(Vi(x), Vj(centers)), \"j\")"
)

# Stops if a function of R requests a large dense matrix. A direct call of as.matrix() by the user is allowed.
check_dense <- function(x, frame) {
  most <- counting_option("dense_entries", 1e7)
  asks <- name_of_frame(frame)
  unseen <- is_of_r(frame) && !asks %in% c("lapply", "vapply", "mapply")
  if (length(x) <= most || !unseen) return(invisible())
  bytes <- size_text(8 * length(x) * number_size(x))
  size <- paste(in_digits(dim(x)), collapse = " x ")
  other <- instead[asks]
  asks <- sub("[.]default$", "", asks)
  stop_kernops("dense", call = NULL, c(
    "{.fn {asks}} would store this symbolic matrix as {size} numbers, {bytes}.",
    i = if (!is.na(other)) "{.code {other}} needs no stored matrix.",
    i = "{.code {asks}(as.matrix(K))} stores it; {.code options(kernops.dense_entries = Inf)} always does."
  ))
}

is_of_r <- function(frame) environmentName(topenv(frame)) %in% c("base", "stats")

# The function of R that called a method directly or through the generic function of the method.
asked_by <- function(frame, generic) {
  by <- if (is_of_r(frame)) sub("[.]default$", "", name_of_frame(frame)) else ""
  if (nzchar(by)) by else generic
}

name_of_frame <- function(frame) rlang::call_name(rlang::frame_call(frame) %||% quote(none())) %||% ""

# ---- Eigenvalues by RSpectra, from products with the matrix

products <- function(K, call = caller_env()) {
  check_has_data(K, call)
  if (is_complex(K) || length(dim(K)) > 2) {
    stop_kernops("dim", "{.pkg RSpectra} requires a matrix of real scalars.", call = call)
  }
  function(v, args) as.vector(K %*% v)
}

check_square <- function(K, call = caller_env()) {
  shape <- paste(dim(K), collapse = " x ")
  if (dim(K)[[1]] != dim(K)[[2]]) stop_kernops("dim", "A square matrix is required: K is {shape}.", call = call)
}

#' @exportS3Method RSpectra::eigs_sym
eigs_sym.LazyTensor <- function(A, k, which = "LM", sigma = NULL, opts = list(), ...) {
  refuse_arguments("eigs_sym.LazyTensor", list(...))
  spectrum(RSpectra::eigs_sym, A, k, which, sigma, opts)
}
#' @exportS3Method RSpectra::eigs
eigs.LazyTensor <- function(A, k, which = "LM", sigma = NULL, opts = list(), ...) {
  refuse_arguments("eigs.LazyTensor", list(...))
  spectrum(RSpectra::eigs, A, k, which, sigma, opts)
}
#' @exportS3Method RSpectra::svds
svds.LazyTensor <- function(A, k, nu = k, nv = k, opts = list(), ...) {
  refuse_arguments("svds.LazyTensor", list(...))
  RSpectra::svds(products(A), k, nu, nv, opts, Atrans = products(t(A)), dim = dim(A))
}

spectrum <- function(of, K, k, which, sigma, opts, call = caller_env()) {
  product <- products(K, call)
  check_square(K, call)
  if (!is.null(sigma)) {
    stop_kernops("input", c("Eigenvalues next to {.arg sigma} are not available for a {.cls LazyTensor}.",
                            i = "{.code which = \"SA\"} computes the smallest ones."), call = call)
  }
  of(product, k, which = which, opts = opts, n = dim(K)[[1]])
}
