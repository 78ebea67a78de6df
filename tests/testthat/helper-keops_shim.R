# Functions of kernops under the names that scripts for rkeops and PyKeOps use. Most lines only rename a function; the
# other lines also convert arguments or results. Positions count from 0 in rkeops and PyKeOps, and from 1 in kernops. In
# rkeops, the argument `is_complex` marks real data that are to be read as complex numbers. An index, an axis or a
# weight may have a different position among the arguments than in kernops. In PyKeOps, the axis of the entries of a
# vector is -1 or 2.

from_0 <- \(f) \(x, m, ...) f(x, m + 1, ...)
to_0 <- function(f) function(...) {
  found <- f(...)
  if (is.list(found)) unname(replace(found, 2, list(found[[2]] - 1))) else found - 1
}

rkeops_names <- local({
  data <- \(x, is_complex) if (is_complex) x + 0i else x
  list(
    LazyTensor = \(x, index = NA, is_complex = FALSE) kernops::LazyTensor(data(x, is_complex), index),
    Vi = \(x, is_complex = FALSE) kernops::Vi(data(x, is_complex)),
    Vj = \(x, is_complex = FALSE) kernops::Vj(data(x, is_complex)),
    is.LazyTensor = \(x) methods::is(x, "LazyTensor"), is.ComplexLazyTensor = \(x) methods::is(x, "ComplexLazyTensor"),
    get_inner_dim = \(x) c(dim(x), 1)[[3]],
    elem = from_0(elem), elemT = from_0(elemT), extract = from_0(extract), extractT = from_0(extractT),
    one_hot = \(x, D) kernops::one_hot(x + 1, D), ifelse = if_else, step = unit_step, clampint = clamp,
    `%*%` = \(x, y) if (methods::is(x, "LazyTensor")) sum(x * y, "j") else base::`%*%`(x, y),
    reduction.LazyTensor = \(x, opstr, index, opt_arg = NULL) lazy_reduce(x, opstr, index, K = opt_arg),
    argmin = to_0(argmin), argmax = to_0(argmax), argmin_reduction = to_0(argmin), argmax_reduction = to_0(argmax),
    min_argmin = to_0(min_argmin), min_argmin_reduction = to_0(min_argmin), max_argmax = to_0(max_argmax),
    max_argmax_reduction = to_0(max_argmax), argKmin = to_0(argKmin), argKmin_reduction = to_0(argKmin),
    Kmin_argKmin = to_0(Kmin_argKmin), Kmin_argKmin_reduction = to_0(Kmin_argKmin), Kmin_reduction = Kmin,
    logsumexp_reduction = logsumexp, sumsoftmaxweight_reduction = sumsoftmaxweight,
    grad = \(f, gradin, opstr, var, index) lazy_reduce(kernops::grad(f, gradin, var), opstr, index),
    keops_grad = \(op, var) kernops::keops_grad(op, if (is.numeric(var)) var + 1 else var)
  )
})

# For pipes: x.sum(dim = 1) is x |> py$sum(dim = 1).
pykeops_names <- local({
  reduced <- \(f) \(x, dim, ...) f(x, index = dim, ...)
  along <- \(f, name) \(x, dim, ...) if (dim %in% c(-1, 2)) lazy_op(name, x) else f(x, index = dim, ...)
  nearest <- \(f) \(x, K, dim, ...) f(x, K, index = dim, ...)
  list(
    Vi = Vi, Vj = Vj, Pm = Pm, sqdist = sqdist, sqnorm2 = sqnorm2, norm2 = norm2, normalize = normalize,
    weightedsqnorm = weightedsqnorm, weightedsqdist = weightedsqdist, power = `^`, square = square, sqrt = sqrt,
    rsqrt = rsqrt, exp = exp, log = log, xlogx = xlogx, sin = sin, cos = cos, sinxdivx = sinxdivx, asin = asin,
    acos = acos, atan = atan, atan2 = atan2, abs = abs, sign = sign, round = round, step = unit_step, relu = relu,
    clamp = clamp, ifelse = if_else, mod = \(x, modulus, offset = 0) mod(x, modulus, offset),
    sinc = \(x) sinxdivx(pi * x), concat = concat, elem = from_0(elem), extract = from_0(extract),
    one_hot = \(x, D) one_hot(x + 1, D), matvecmult = matvecmult, vecmatmult = vecmatmult, tensorprod = tensorprod,
    keops_kron = kron, real = Re, imag = Im, angle = Arg, conj = Conj, exp1j = exp1j,
    keops_tensordot = \(x, y, dims_x, dims_y, sum_x, sum_y, permute = NULL) {
      tensordot(x, y, dims_x, dims_y, sum_x + 1, sum_y + 1, if (!is.null(permute)) permute + 1)
    },
    sum = along(sum_reduction, "Sum"), min = along(min_reduction, "Min"), max = along(max_reduction, "Max"),
    argmin = along(to_0(argmin), "ArgMin"), argmax = along(to_0(argmax), "ArgMax"), sum_reduction = reduced(sum),
    min_argmin = reduced(to_0(min_argmin)), max_argmax = reduced(to_0(max_argmax)), logsumexp = reduced(logsumexp),
    sumsoftmaxweight = \(x, weight, axis) sumsoftmaxweight(x, axis = axis, weights = weight),
    Kmin = nearest(Kmin), argKmin = nearest(to_0(argKmin)), Kmin_argKmin = nearest(to_0(Kmin_argKmin)),
    T = t, t = t, matmul = \(K, b, ...) sum(K * Vj(b), "j", ...), solve = \(K, b, alpha) solve(K, b, lambda = alpha)
  )
})

Genred <- function(formula, aliases, reduction_op = "Sum", axis = 0, opt_arg = NULL, formula2 = NULL) {
  op <- keops_kernel(paste0(reduction_op, "_Reduction(", toString(c(formula, opt_arg, formula2, axis)), ")"), aliases)
  if (grepl("^Arg", reduction_op)) \(...) op(list(...)) - 1 else \(...) op(list(...))
}

KernelSolve <- function(formula, aliases, varinvalias, axis = 0) {
  op <- keops_kernel(paste0("Sum_Reduction(", formula, ", ", axis, ")"), aliases)
  names <- trimws(sub("=.*", "", aliases))
  \(..., alpha) kernel_solve(op, varinvalias, stats::setNames(list(...), names), lambda = alpha, tol = 1e-12)
}
