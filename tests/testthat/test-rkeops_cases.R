# The test cases of rkeops in rkeops' own spelling (see helper-keops_shim.R), against plain R.
#
# Cases without a counterpart: rkeops compares texts of formulas that contain addresses, and error messages of Python,
# word by word; rkeops refuses calls that work here (sizes 3 and 1 in `x | y` and atan2(), Vi(3), Re() of real tensors,
# +x). Functions that rkeops applies to the real and imaginary parts of complex tensors as two real entries (cos(),
# acos(), min(), step(), tensorprod()) are the complex functions here, or errors. If argKmin() has more neighbours than
# points, a missing position is NA here and 0 in rkeops.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y
list2env(rkeops_names, environment())

each <- function(f, over = "j") {
  pairs <- if (over == "j") \(i) lapply(1:6, \(j) f(X[i, ], Y[j, ])) else \(j) lapply(1:10, \(i) f(X[i, ], Y[j, ]))
  do.call(rbind, lapply(seq_len(if (over == "j") 10 else 6), \(k) Reduce(`+`, pairs(k))))
}

rkeops_formulas <- list(
  list("Sum_Reduction((x|y), 0)", c("x=Vi(3)", "y=Vj(3)"), list(X, Y), cbind(colSums(X %*% t(Y)))),
  list("Sum_Reduction(SqNorm2(x-y), 1)", c("x=Vi(0,3)", "y=Vj(1,3)"), list(X, Y), cbind(rowSums(D2))),
  list("Sum_Reduction(x+y, 0)", c("x=Vi(3)", "y=Pm(3)"), list(X, 1:3), t(colSums(X) + 10 * 1:3)),
  list("SumSoftMaxWeight_Reduction(SqNorm2(x-y), w, 1)", c("x=Vi(3)", "y=Vj(3)", "w=Vj(3)"), list(X, Y, B),
       exp(D2) %*% B / rowSums(exp(D2))),
  list("SumSoftMaxWeight_Reduction(SqNorm2(x-y), w, 1)", c("x=Vi(3)", "y=Vj(3)", "w=Vj(3)"), list(X, Y, 0 * B + 1),
       matrix(1, 10, 3)),
  list("Grad(Sum_Reduction(SqNorm2(x-y), 1),x,eta)", c("x=Vi(0,3)", "y=Vj(1,3)", "eta=Vi(2,1)"),
       list(X, Y, matrix(1, 10)), each(\(a, b) 2 * (a - b)))
)

test_that("operators of formulas accept input by position, by name in any order, and with points in columns", {
  for (case in rkeops_formulas) {
    op <- keops_kernel(case[[1]], case[[2]])
    names <- sub("=.*", "", case[[2]])
    input <- stats::setNames(case[[3]], names)
    expect_close(op(case[[3]], inner_dim = "col"), case[[4]], info = case[[1]])
    expect_close(op(rev(input)), case[[4]], info = case[[1]])
    turned <- lapply(input, \(v) if (is.matrix(v)) t(v) else v)
    expect_close(t(op(turned, inner_dim = "row")), case[[4]], info = case[[1]]) # rkeops does not transpose the result
    expect_error(do.call(op, unname(input)), class = "kernops_error")
    expect_error(op(unlist(input)), class = "kernops_error")
    expect_named(op(), c("formula", "args", "args_info", "sum_scheme"), ignore.order = TRUE)
  }
  expect_error(keops_kernel("Sum_Reduction((x|y, 1)", c("x=Vi(3)", "y=Vj(3)")), class = "kernops_formula_error")
})

# rkeops also tests the gradient in x of a sum over i with an eta for each i. That case is no gradient and is omitted:
# the sum has a result for each j, so that the gradient has an eta for each j.
test_that("gradients of operators select the variable by position from 0 or by name", {
  op <- keops_kernel("Sum_Reduction(SqNorm2(x-y), 1)", c("x=Vi(0,3)", "y=Vj(1,3)"))
  eta <- cbind(1:10 / 5)
  by_x <- c(eta) * each(\(a, b) 2 * (a - b))
  expect_close(keops_grad(op, var = 0)(list(X, Y, eta)), by_x)
  expect_close(keops_grad(op, var = "x")(list(X, Y, eta)), by_x)
  expect_close(t(keops_grad(op, var = "x")(list(t(X), t(Y), t(eta)), inner_dim = "row")), by_x)
  over_i <- keops_kernel("Sum_Reduction(SqNorm2(x-y), 0)", c("x=Vi(0,3)", "y=Vj(1,3)"))
  expect_close(keops_grad(over_i, var = 1)(list(X, Y, matrix(1, 6))), each(\(a, b) 2 * (b - a), "i"))
})

test_that("gradients of symbolic matrices have the reduction as an argument", {
  x_i <- Vi(X)
  y_j <- Vj(Y)
  one_i <- Vi(matrix(1, 10))
  one_j <- Vj(matrix(1, 6))
  expect_close(grad(sqnorm2(x_i - y_j), one_i, "Sum", var = x_i, "j"), each(\(a, b) 2 * (a - b)))
  expect_close(grad(sqnorm2(y_j - x_i), one_j, "Sum", var = y_j, "i"), each(\(a, b) 2 * (b - a), "i"))
  expect_error(grad(sqnorm2(x_i - y_j), Vi(matrix(1, 12)), "Sum", var = x_i, "j"), class = "kernops_error")
  expect_error(grad(sqnorm2(x_i - y_j), one_i, 2, var = x_i, "j"), class = "kernops_error")
})

test_that("functions return the class of a tensor and its number of entries", {
  z <- matrix(1i^(-6:5), 4)
  for (real in list(LazyTensor(X, "i"), LazyTensor(X, index = "j"), LazyTensor(1:7), LazyTensor(3), LazyTensor(3.14),
                    Vi(X), Vj(X), Pm(1:7))) {
    expect_true(is.LazyTensor(real))
    expect_false(is.ComplexLazyTensor(real))
  }
  for (complex in list(LazyTensor(z, "i", is_complex = TRUE), LazyTensor(z, "i"), Vi(z), Vj(X, is_complex = TRUE),
                       LazyTensor(3 + 2i), Pm(z[, 1]), real2complex(Vi(X)), imag2complex(Pm(2)), exp1j(Vi(X)))) {
    expect_true(is.LazyTensor(complex) && is.ComplexLazyTensor(complex))
  }
  sizes <- list(Vi(X), Vj(Y), Pm(1:7), Pm(3), Vi(z), Pm(3i), sqdist(Vi(X), Vj(Y)), concat(Vi(X), Pm(5)))
  expect_equal(vapply(sizes, get_inner_dim, 0), c(3, 3, 7, 1, 3, 1, 1, 4))
  expect_equal(sum(Vi(z), "i"), t(colSums(z)))
  for (mistake in expression(LazyTensor(Vi(X)), LazyTensor("x"), LazyTensor(X, "k"), Vi(Vi(X)), Vi("3"), Vj("3"),
                             Pm("a"), Vi(X) + Vj(Y[, c(1:3, 1:3, 1)]), Vi(X) | Vj(Y[, 1:2]))) {
    expect_error(eval(mistake), class = "kernops_error", label = deparse(mistake))
  }
})

# Calls of rkeops with tensors, each with its value for one pair of vectors.
rkeops_calls <- alist(
  x_i + 3 == a + 3, 3.14 - x_i == 3.14 - a, x_i * 3L == 3 * a, 3.14 / (x_i + 2) == 3.14 / (a + 2),
  (x_i + 2)^y_j == (a + 2)^b, (x_i + 2)^(-0.5) == 1 / sqrt(a + 2), 3.14^x_i == 3.14^a, (x_i + 2)^0.314 == (a + 2)^0.314,
  inv(x_i + 2 + y_j) == 1 / (a + 2 + b), step(x_i - y_j) == as.numeric(a >= b), relu(x_i + y_j) == pmax(a + b, 0),
  atan2(x_i, y_j) == atan2(a, b), round(x_i - y_j, 3) == round(a - b, 3), xlogx(abs(y_j)) == abs(b) * log(abs(b)),
  sinxdivx(x_i) == sin(a) / a, clamp(x_i, y_j, 1) == pmin(pmax(a, b), 1), clamp(0.5, y_j, 3) == pmin(pmax(0.5, b), 3),
  clampint(3 * x_i, -1, 2) == pmin(pmax(3 * a, -1), 2), ifelse(x_i, y_j, 3) == base::ifelse(a >= 0, b, 3),
  ifelse(x_i, 2, 3) == base::ifelse(a >= 0, 2, 3), mod(x_i, 2) == a %% 2, mod(x_i, 0.5, 3) == (a - 3) %% 0.5 + 3,
  sqdist(x_i, 3) == sum((a - 3)^2), weightedsqnorm(x_i, y_j) == sum(b * a^2), weightedsqnorm(x_i, 3) == 3 * sum(a^2),
  weightedsqdist(x_i, y_j, x_i) == sum(a * (a - b)^2), weightedsqdist(x_i, 2, 3) == 3 * sum((a - 2)^2),
  elem(x_i, 2) * elem(y_j, 0) == a[[3]] * b[[1]], elemT(elem(y_j, 1), 2, 3) == c(0, 0, b[[2]]),
  extract(x_i * y_j, 1, 2) == (a * b)[2:3], extractT(x_i, 1, 8) == c(0, a, 0, 0, 0, 0), concat(x_i, y_j) == c(a, b),
  one_hot(Pm(2), 3) * y_j == c(0, 0, b[[3]]), matvecmult(x_i, Pm(1:3)) == sum(a * 1:3),
  matvecmult(x_i, Pm(3.14)) == 3.14 * a, vecmatmult(Pm(1:3), y_j) == sum(b * 1:3), vecmatmult(Pm(2), x_i) == 2 * a,
  tensorprod(x_i, y_j) == as.vector(b %o% a), normalize(x_i) == a / sqrt(sum(a^2)), argmin(x_i) == which.min(a) - 1,
  argmax(x_i - y_j) == which.max(a - b) - 1, x_i + y_j + Pm(1:3) + y_j + x_i == 2 * a + 2 * b + 1:3
)

test_that("operations on tensors and numbers are right", {
  x_i <- LazyTensor(X, index = "i")
  y_j <- LazyTensor(Y, index = "j")
  for (call in rkeops_calls) {
    lazy <- eval(call[[2]])
    expect_true(is.LazyTensor(lazy), label = deparse(call[[2]]))
    plain <- \(a, b) eval(call[[3]], list(a = a, b = b), baseenv())
    expect_close(sum(lazy + 0 * (x_i | y_j), "j"), each(plain), tolerance = 1e-9, info = deparse(call[[2]]))
  }
  expect_close(x_i %*% y_j, X * rep(colSums(Y), each = 10))
  expect_close(x_i %*% Pm(2), 2 * X)
  expect_equal(c(square(6), rsqrt(4), inv(10), xlogx(1), xlogx(0), sinxdivx(0)), c(36, 0.5, 0.1, 0, 0, 1))
  expect_equal(relu(matrix(-9:10, 10)), matrix(c(rep(0, 10), 1:10), 10))
  expect_equal(ifelse(c(TRUE, FALSE), 10, 1), c(10, 1))
  for (mistake in expression(elem(x_i, 3.14), elem(x_i, 4), elem(x_i, -1), elemT(x_i, 2, 3), elemT(Pm(1), 3, 3),
                             extract(x_i, 2, 3), extract(x_i, -1, 2), extractT(x_i, 7, 8), one_hot(x_i, 7),
                             matvecmult(x_i, Pm(1:4)), vecmatmult(Pm(1:4), y_j), round(x_i, X),
                             clamp(x_i, y_j, Pm(1:7)), exp1j(Vi(X + 1i)), real2complex(Vi(X + 1i)),
                             imag2complex(Vi(X + 1i)))) {
    expect_error(eval(mistake), class = "kernops_error", label = deparse(mistake))
  }
})

test_that("reductions of points of one axis, and of parameters, are right", {
  small <- matrix(c(2, 4, 6, 3, 2, 8, 9, 1, 3), 3)
  x_i <- Vi(small)
  of_columns <- \(f) t(apply(small, 2, f))
  expect_equal(sum(x_i, index = "i"), of_columns(sum))
  expect_equal(sum(x_i, "j"), small)
  expect_equal(sum(Vj(small), "j"), of_columns(sum))
  expect_equal(min(x_i, "i"), of_columns(min))
  expect_equal(max_reduction(x_i, "j"), small)
  expect_equal(min(Pm(1:3), "j"), t(1:3))
  expect_true(is.LazyTensor(sum(Pm(1:3))) && is.ComplexLazyTensor(sum(Pm(1:3 + 2i))) && is.LazyTensor(max(x_i)))
  expect_equal(argmin_reduction(x_i, "i"), of_columns(which.min) - 1)
  expect_equal(min_argmin(x_i, "i"), list(of_columns(min), of_columns(which.min) - 1))
  expect_equal(max_argmax_reduction(x_i, "j"), list(small, 0 * small))
  two <- apply(small, 2, \(v) sort(v)[1:2])
  places <- apply(small, 2, \(v) order(v)[1:2]) - 1
  expect_equal(Kmin(x_i, 2, "i"), array(two, c(1, 2, 3)))
  expect_equal(argKmin_reduction(x_i, 2, "i"), array(places, c(1, 2, 3)))
  expect_equal(Kmin_argKmin(x_i, 2, "i"), list(array(two, c(1, 2, 3)), array(places, c(1, 2, 3))))
  expect_equal(Kmin_reduction(x_i, 1, "j"), array(small, c(3, 1, 3)))
  expect_equal(Kmin(x_i, 2, "j"), aperm(array(c(small, 0 * small + Inf), c(3, 3, 2)), c(1, 3, 2)))
  expect_equal(reduction.LazyTensor(x_i, "Sum", "i"), of_columns(sum))
  expect_equal(dim(reduction.LazyTensor(x_i, "KMin", "i", opt_arg = 2)), c(1, 2, 3))
  for (mistake in expression(sum(x_i, "b"), sum(x_i, 2), sum_reduction(small, "i"), argmin(3, "i"),
                             min_argmin(x_i, "b"), Kmin(x_i, 3.14, "i"), argKmin(x_i, 2, "k"),
                             reduction.LazyTensor(x_i, 2, "i"))) {
    expect_error(eval(mistake), class = "kernops_error", label = deparse(mistake))
  }
})

test_that("weighted reductions of pairs are right", {
  V_ij <- Vi(X) - Vj(Y)
  S_ij <- sum(V_ij^2)
  expect_close(logsumexp_reduction(S_ij, "i"), cbind(log(colSums(exp(D2)))))
  expect_close(sumsoftmaxweight(S_ij, "i", Vj(B)), B) # the weight is constant in a sum over i
  expect_close(sumsoftmaxweight(S_ij, "j", Vj(B)), exp(D2) %*% B / rowSums(exp(D2)))
  shares <- each(\(a, b) exp(sum((a - b)^2)) * (a - b))
  expect_close(sumsoftmaxweight_reduction(S_ij, "j", V_ij), shares / rowSums(exp(D2)))
  expect_close(Kmin_reduction(S_ij, 2, "i"), t(apply(D2, 2, sort))[, 1:2])
  expect_equal(argKmin(S_ij, 2, "i"), t(apply(D2, 2, order))[, 1:2] - 1)
  expect_error(sumsoftmaxweight(S_ij, "9", V_ij), class = "kernops_error")
  expect_error(logsumexp(S_ij, "9"), class = "kernops_error")
})

test_that("functions of complex tensors are right", {
  z <- matrix((2 + 1i)^(-2:3), 2)
  for (f in list(Re, Im, Mod, Arg, Conj, exp, log, inv, square, sqrt, rsqrt, \(z) z^3, \(z) z * 2, \(z) 2i * z,
                 \(z) 3 / z, \(z) z - 3.3, \(z) round(z, 1), \(z) abs(-z))) {
    expect_equal(sum(f(Vi(z)), "j"), f(z), tolerance = 1e-12)
  }
  expect_close(sqnorm2(Vi(z)) |> sum("j"), cbind(rowSums(Mod(z)^2)))
  expect_close(sqdist(Vi(z), Vi(Re(z))) |> sum("j"), cbind(rowSums(Im(z)^2)))
})
