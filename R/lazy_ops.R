#' Operations on symbolic matrices
#'
#' `lazy_op(name, ...)` applies any operation of [keops_ops()] to symbolic matrices and numbers and, where the operation
#' requires them, to integers or lists of integers. The other functions are short names of common operations. Operations
#' for which R has an operator or a function, such as `exp()` or `x + y`, are written as in R (see [LazyTensor]).
#'
#' The short names count entries from 1, as usual in R. Formula strings count entries from 0, as in 'KeOps'. `lazy_op()`
#' passes its arguments to the formula and also counts from 0: `elem(x, 1)` is `lazy_op("Elem", x, 0)`.
#'
#' tidyr, dplyr, magrittr and terra also have functions `extract()`, `if_else()`, `mod()` and `clamp()`. If such a
#' package is attached before kernops, the functions of kernops pass arguments that are not symbolic to the function of
#' that package. If terra or tidyr is attached after kernops, `clamp()` of terra and `extract()` of tidyr have methods
#' for symbolic matrices. If dplyr is attached after kernops, write `kernops::if_else()`.
#'
#' Vectors represent matrices and tensors in row-major order: in `matvecmult(x, y)`, x contains the first row of a
#' matrix, then the second row. A parameter may be an ordinary matrix, `Pm(A)`.
#'
#' @param name the name of an operation.
#' @param ... for `lazy_op()`, the arguments of the operation, in the order of [keops_ops()]; for `concat()`, vectors to
#'   concatenate; for `clamp()`, `extract()`, `if_else()` and `mod()`, arguments of functions of other packages.
#' @param x,y,f,a,b [LazyTensor]s or numbers. `if_else(f, a, b)` is a where the condition f, such as `K > 1`, is true,
#'   and b elsewhere. If f is a number and not a condition, the result is a where f is at least 0, as in 'KeOps'.
#' @param s weights: one number, a number for each entry of the vector, or all entries of a symmetric matrix.
#' @param m the position of the entry, counted from 1.
#' @param n the number of entries of the result.
#' @param d the number of entries to extract.
#' @param dim_x,dim_y the shapes of x and y as tensors, in row-major order: entries along the last dimension are
#'   adjacent.
#' @param sum_x,sum_y the dimensions of x and of y to contract, counted from 1: the first of `sum_x` with the first of
#'   `sum_y`, and so on.
#' @param perm for each dimension of the product, its new position, counted from 1.
#' @param order the order of the splines.
#' @param knots,gamma see `BSpline` and `SoftDTW_SqDist` in [keops_ops()]. The two series of `softdtw()` have at most
#'   4096 numbers together.
#' @param offset the lowest value of the result.
#'
#' @return A [LazyTensor], or numbers if all arguments are numbers: `relu(-1:1)` is `c(0, 0, 1)`.
#' @seealso [LazyTensor] for arithmetic, [lazy_reduction] for reductions, [keops_ops()] for the operations of formulas,
#'   [grad()] and [laplacian()] for derivatives.
#' @examples
#' set.seed(1)
#' x <- Vi(matrix(rnorm(20), 10))
#' y <- Vj(matrix(rnorm(14), 7))
#' sqdist(x, y) # nothing is computed yet
#' sqdist(x, y)[1:2, 1:3]
#' lazy_op("BesselK", 0.5, norm2(x - y))[1:2, 1:3]
#' sum(elem(x, 1) * elem(y, 2), "j")[1:3]
#' clamp(-2:2, -1, 1) # numbers in, numbers out
#' @aliases extract.LazyTensor
#' @export
lazy_op <- function(name, ...) {
  name <- check_text(name, "name", one = TRUE)
  rows <- ops_table()
  row <- rows[match(name, rows$name), ]
  if (is.na(row$name)) {
    stop_kernops("input", "There is no operation {.val {name}}: see {.fn keops_ops}.")
  }
  arguments <- list(...)
  slots <- trimws(strsplit(row$arguments, ",", fixed = TRUE)[[1]])
  literal <- grepl("^([pq]$|\\[)", slots[seq_along(arguments)])
  texts <- rep("%s", length(arguments))
  texts[literal] <- vapply(arguments[literal], integers_text, "")
  formula <- paste0(name, "(", paste(texts, collapse = ", "), ")")
  made <- combined(formula, arguments[!literal], makes_complex(name), takes_complex = takes_complex(name),
                   looks_inside = TRUE)
  if (is_lazy(made)) made@truth <- name %in% c("Equal", "NotEqual", "LessThan", "LessOrEqual", "And", "Or", "Not")
  made
}

makes_complex <- function(name) {
  real <- c("ComplexReal", "ComplexImag", "ComplexAbs", "ComplexSquareAbs", "ComplexAngle")
  grepl("^Complex|^Conj$|2Complex$", name) && !name %in% real
}
takes_complex <- function(name) grepl("^Complex|^Conj$", name) && name != "ComplexExp1j"

integers_text <- function(x) {
  if (!is.numeric(x) || anyNA(x) || any(x != floor(x)) || any(abs(x) > 1e9)) {
    stop_kernops("input", paste0("Sizes and positions must be whole numbers, not ", shown(x), "."), call = NULL)
  }
  if (length(x) > 1000) {
    stop_kernops("input", "A shape or a permutation must have at most 1000 numbers, not {length(x)}.", call = NULL)
  }
  text <- paste(sprintf("%.0f", x), collapse = ", ")
  if (length(x) == 1) text else paste0("[", text, "]")
}

listed <- function(x) paste0("[", gsub("^\\[|\\]$", "", integers_text(x)), "]")

#' @rdname lazy_op
#' @export
sqdist <- function(x, y) {
  complex <- is_complex_value(x) || is_complex_value(y)
  of <- if (complex) spread_alike("SqDist", list(as_complex(x), as_complex(y))) else list(x, y)
  combined("SqDist(%s, %s)", of, takes_complex = TRUE)
}
#' @rdname lazy_op
#' @export
sqnorm2 <- function(x) combined("SqNorm2(%s)", list(x), takes_complex = TRUE)
#' @rdname lazy_op
#' @export
norm2 <- function(x) combined("Norm2(%s)", list(x), takes_complex = TRUE)
#' @rdname lazy_op
#' @export
normalize <- function(x) combined("Normalize(%s)", list(x), is_complex(x))
#' @rdname lazy_op
#' @export
weightedsqnorm <- function(x, s) combined("WeightedSqNorm(%s, %s)", list(s, x))
#' @rdname lazy_op
#' @export
weightedsqdist <- function(x, y, s) combined("WeightedSqDist(%s, %s, %s)", list(s, x, y))
#' @rdname lazy_op
#' @export
rsqrt <- function(x) if (is_complex_value(x)) 1 / sqrt(x) else entrywise("Rsqrt(%s)", list(x))
#' @rdname lazy_op
#' @export
inv <- function(x) if (is_complex_value(x)) 1 / x else entrywise("Inv(%s)", list(x))
#' @rdname lazy_op
#' @export
square <- function(x) if (is_complex_value(x)) x * x else entrywise("Square(%s)", list(x))
#' @rdname lazy_op
#' @export
xlogx <- function(x) entrywise("XLogX(%s)", list(x))
#' @rdname lazy_op
#' @export
sinxdivx <- function(x) entrywise("SinXDivX(%s)", list(x))
#' @rdname lazy_op
#' @export
relu <- function(x) entrywise("ReLU(%s)", list(x))
#' @rdname lazy_op
#' @export
unit_step <- function(x) entrywise("Step(%s)", list(x))
#' @rdname lazy_op
#' @export
clamp <- function(x, a, b, ...) {
  if (belongs_elsewhere("clamp", if (!missing(x)) x)) return(hand_on("clamp", sys.call(), "x", x))
  refuse_arguments("clamp", list(...))
  entrywise("Clamp(%s, %s, %s)", list(x, a, b))
}
#' @rdname lazy_op
#' @export
if_else <- function(f, a, b, ...) {
  if (missing(f) || belongs_elsewhere("if_else", f, if (!missing(a)) a, if (!missing(b)) b)) {
    return(hand_on("if_else", sys.call(), "f", f))
  }
  refuse_arguments("if_else", list(...))
  if (is_complex_value(f)) stop_undefined("if_else", "ComplexLazyTensor")
  if (is_truth(f)) f <- f - 0.5 # for the number 0, if_else() selects the first value
  if (!is_complex_value(a) && !is_complex_value(b)) return(entrywise("IfElse(%s, %s, %s)", list(f, a, b)))
  f <- as_lazy(f)
  # repeats the condition, once for the real and once for the imaginary part of each entry
  if (f@size > 1) f <- combined("Real2Complex(%s) + Imag2Complex(%s)", list(f, f), TRUE)
  cases <- spread_alike("if_else", list(as_complex(a), as_complex(b), f))[1:2]
  combined("IfElse(%s, %s, %s)", c(list(f), cases), TRUE)
}
#' @rdname lazy_op
#' @export
mod <- function(x, n, offset = 0, ...) {
  if (belongs_elsewhere("mod", if (!missing(x)) x, if (!missing(n)) n)) return(hand_on("mod", sys.call(), "x", x))
  refuse_arguments("mod", list(...))
  entrywise("Mod(%s, %s, %s)", list(x, n, offset))
}
#' @rdname lazy_op
#' @export
elem <- function(x, m) {
  check_number(m, "m", least = 1, whole = TRUE, most = entries(as_lazy(x)))
  if (!is_lazy(x)) return(x[[m]])
  if (is_complex(x)) extract(x, m, 1) else lazy_op("Elem", x, m - 1)
}
#' @rdname lazy_op
#' @export
elemT <- function(x, m, n) {
  check_places(x, m, n)
  if (is_complex(as_lazy(x))) extractT(x, m, n) else lazy_op("ElemT", x, n, m - 1)
}
#' @rdname lazy_op
#' @export
extract <- function(x, m, d, ...) {
  if (missing(x) || "data" %in% ...names() || belongs_elsewhere("extract", x)) {
    return(hand_on("extract", sys.call(), "x", x))
  }
  refuse_arguments("extract", list(...))
  size <- entries(as_lazy(x))
  check_number(m, "m", least = 1, whole = TRUE, most = size)
  check_number(d, "d", least = 1, whole = TRUE, most = size - m + 1)
  if (!is_lazy(x)) return(x[m - 1 + seq_len(d)])
  at_places("Extract", x, m - 1, d)
}
#' @rdname lazy_op
#' @export
extractT <- function(x, m, n) {
  check_places(x, m, n)
  at_places("ExtractT", x, m - 1, n)
}
#' @rdname lazy_op
#' @export
concat <- function(x, ...) {
  all <- list(x, ...)
  complex <- any(vapply(all, is_complex_value, NA))
  if (complex) all <- lapply(all, as_complex)
  Reduce(function(x, y) combined("Concat(%s, %s)", list(x, y), complex), all)
}
#' @rdname lazy_op
#' @export
one_hot <- function(x, n) {
  as_lazy(x) # raises an error for objects without numbers
  lazy_op("OneHot", x - 1, n)
}
#' @rdname lazy_op
#' @export
matvecmult <- function(x, y) combined("MatVecMult(%s, %s)", list(x, y))
#' @rdname lazy_op
#' @export
vecmatmult <- function(x, y) combined("VecMatMult(%s, %s)", list(x, y))
#' @rdname lazy_op
#' @export
tensorprod <- function(x, y) combined("TensorProd(%s, %s)", list(x, y))
#' @rdname lazy_op
#' @export
tensordot <- function(x, y, dim_x, dim_y, sum_x, sum_y, perm = NULL) {
  shapes <- vapply(list(dim_x, dim_y), listed, "")
  check_contraction(dim_x, dim_y, sum_x, sum_y, perm)
  places <- vapply(c(list(sum_x, sum_y), if (!is.null(perm)) list(perm)), function(p) listed(p - 1), "")
  combined(code_text("TensorDot(%s, %s, ", toString(c(shapes, places)), ")"), list(x, y))
}

# Checks the positions of dimensions, which are counted from 1.
check_contraction <- function(dim_x, dim_y, sum_x, sum_y, perm, call = caller_env()) {
  check_dimensions(sum_x, length(dim_x), "sum_x", call)
  check_dimensions(sum_y, length(dim_y), "sum_y", call)
  if (length(sum_x) != length(sum_y) || any(dim_x[sum_x] != dim_y[sum_y])) {
    stop_kernops("dim", "The dimensions {.arg sum_x} and {.arg sum_y} must have pairwise equal lengths.", call = call)
  }
  left <- length(dim_x) + length(dim_y) - 2 * length(sum_x)
  if (is.null(perm)) return(invisible())
  check_dimensions(perm, left, "perm", call)
  if (length(perm) != left) stop_kernops("input", "{.arg perm} must contain the numbers from 1 to {left}.", call = call)
}

check_dimensions <- function(dims, count, name, call) {
  fits <- (is.numeric(dims) || is.null(dims)) && all(dims %in% seq_len(count)) && !anyDuplicated(dims)
  if (!fits) stop_kernops("input", "{.arg {name}} must contain distinct numbers from 1 to {count}.", call = call)
}
#' @rdname lazy_op
#' @export
kron <- function(x, y, dim_x, dim_y) {
  combined(code_text("Kron(%s, %s, ", listed(dim_x), ", ", listed(dim_y), ")"), list(x, y))
}
#' @rdname lazy_op
#' @export
bspline <- function(knots, x, order) lazy_op("BSpline", knots, x, order)
#' @rdname lazy_op
#' @export
softdtw <- function(x, y, gamma) combined("SoftDTW_SqDist(%s, %s, %s)", list(x, y, gamma))

#' @rdname lazy_op
#' @export
real2complex <- function(x) combined("Real2Complex(%s)", list(x), complex = TRUE, takes_complex = FALSE)
#' @rdname lazy_op
#' @export
imag2complex <- function(x) combined("Imag2Complex(%s)", list(x), complex = TRUE, takes_complex = FALSE)
#' @rdname lazy_op
#' @export
exp1j <- function(x) combined("ComplexExp1j(%s)", list(x), complex = TRUE, takes_complex = FALSE)

# Applies an operation to entries at given positions; a complex entry has two numbers.
at_places <- function(op, x, from, count) {
  x <- as_lazy(x)
  places <- c(integers_text(from * number_size(x)), integers_text(count * number_size(x)))
  combined(paste0(op, "(%s, ", toString(places), ")"), list(x), is_complex(x))
}

# Stops if the entries of x do not fit into n entries from position m on.
check_places <- function(x, m, n, call = caller_env()) {
  check_number(m, "m", least = 1, whole = TRUE, call = call)
  check_number(n, "n", least = m - 1 + entries(as_lazy(x)), whole = TRUE, call = call)
}
