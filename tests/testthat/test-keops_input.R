# The input that an operator accepts, and the errors for other input.

xy <- c("x = Vi(3)", "y = Vj(3)")
dot <- \(axis = 0) keops_kernel(sprintf("Sum_Reduction((x|y), %d)", axis), xy)

test_that("inputs may be named in any order or ordered by position, and may have points in rows or columns", {
  withr::local_seed(2)
  x <- uniform(10, 3)
  y <- uniform(15, 3)
  value <- dot()(list(x = x, y = y))
  expect_identical(dot()(list(y = y, x = x)), value)
  expect_identical(dot()(list(x, y)), value)
  expect_identical(dot()(list(x = t(x), y = t(y)), inner_dim = "row"), t(value))
  expect_identical(dot()(list(t(y), t(x))[2:1], inner_dim = "row"), t(value))
})

test_that("points in columns give the results in the example of the help page", {
  op <- keops_kernel("Sum_Reduction(SqNorm2(x-y), 0)", xy)
  expect_identical(op(list(x = matrix(1:9, 3), y = matrix(3:8, 3)), inner_dim = "row"), t(c(63, 90)))
})

test_that("integer, logical, data frame and vector input gives the results of a matrix of doubles", {
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
  op <- keops_kernel("Sum_Reduction(s * SqDist(x, y) * b, 1)", args)
  x <- matrix(c(1, 2, 3, 4, 5, 6), 3)
  y <- matrix(c(1, 0, 1, 1), 2)
  b <- c(2, -1)
  value <- op(list(2, x, y, cbind(b)))
  expect_identical(op(list(2L, array(as.integer(x), dim(x)), y == 1, as.integer(b))), value)
  frames <- list(as.data.frame(x), data.frame(u = c(TRUE, FALSE), v = 1L), data.frame(b))
  expect_identical(op(c(list(2), frames)), value)
  expect_identical(op(list(matrix(2), x, y, b)), value)
})

test_that("the result keeps the names of the rows", {
  x <- matrix(1:6, 2, dimnames = list(c("a", "b"), c("u", "v", "w")))
  y <- matrix(1:9, 3, dimnames = list(letters[3:5], NULL))
  expect_identical(dimnames(dot(1)(list(x, y))), list(c("a", "b"), NULL))
  expect_identical(dimnames(dot(0)(list(x, y))), list(letters[3:5], NULL))
  expect_identical(dimnames(dot(1)(list(t(x), t(y)), inner_dim = "row")), list(NULL, c("a", "b")))
  expect_null(dimnames(dot(1)(list(unname(x), y))))
})

test_that("one-dimensional arrays, such as those of table(), are vectors with names", {
  op <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
  counts <- table(c("a", "b", "b"))
  expect_identical(op(list(counts, 1:3)), matrix(c(6, 12), 2, dimnames = list(c("a", "b"), NULL)))
  expect_identical(op(list(counts, 1:3), inner_dim = "row"), matrix(c(6, 12), 1, dimnames = list(NULL, c("a", "b"))))
})

test_that("an operator does not change its arguments", {
  x <- matrix(1, 2, 3)
  y <- matrix(2, 2, 3)
  invisible(dot(1)(list(x, y)))
  expect_identical(list(x, y), list(matrix(1, 2, 3), matrix(2, 2, 3)))
})

test_that("a parameter may be given as a matrix, for every operation that reads the parameter as a matrix", {
  withr::local_seed(12)
  A <- uniform(3, 2)
  B <- uniform(2, 4)
  X <- uniform(5, 2)
  U <- uniform(5, 3)
  sum_j <- \(formula, args, ...) keops_kernel(sprintf("Sum_Reduction(%s, 1)", formula), args)(list(...))
  expect_close(sum_j("MatVecMult(A, x)", c("A = Pm(6)", "x = Vi(2)"), A, X), X %*% t(A))
  expect_close(sum_j("MatVecMult(2 * A - Exp(A), x)", c("A = Pm(6)", "x = Vi(2)"), A, X), X %*% t(2 * A - exp(A)))
  expect_close(sum_j("VecMatMult(u, A)", c("A = Pm(6)", "u = Vi(3)"), A, U), U %*% A)
  expect_close(sum_j("MatVecMult(Transpose(A, 3, 2), u)", c("A = Pm(6)", "u = Vi(3)"), A, U), U %*% A)
  expect_close(sum_j("MatMult(A, B, 2)", c("A = Pm(6)", "B = Pm(8)"), A, B), t(as.vector(t(A %*% B))))
  expect_close(sum_j("TensorDot(A, B, [3, 2], [2, 4], [1], [0])", c("A = Pm(6)", "B = Pm(8)"), A, B),
               t(as.vector(t(A %*% B))))
  expect_close(sum_j("Kron(A, B, [3, 2], [2, 4])", c("A = Pm(6)", "B = Pm(8)"), A, B), t(as.vector(t(A %x% B))))
  S <- crossprod(uniform(2, 2))
  expect_close(sum_j("WeightedSqNorm(S, x)", c("S = Pm(4)", "x = Vi(2)"), S, X), cbind(rowSums(X %*% S * X)))
  # a vector contains the entries of a matrix row by row, also for points in columns and for batches
  op <- keops_kernel("Sum_Reduction(MatVecMult(A, x), 1)", c("A = Pm(6)", "x = Vi(2)"))
  expect_close(op(list(A, t(X)), inner_dim = "row"), A %*% t(X))
  expect_identical(op(list(c(t(A)), X)), op(list(A, X)))
  expect_identical(op(list(t(c(t(A))), X)), op(list(as.data.frame(A), X)))
  both <- op(list(array(c(A, -2 * A), c(3, 2, 2)), X))
  expect_close(both[, , 1], X %*% t(A))
  expect_close(both[, , 2], -2 * X %*% t(A))
})

test_that("the gradient in a matrix is a matrix, at any order", {
  withr::local_seed(13)
  A <- uniform(3, 2)
  X <- uniform(5, 2)
  Y <- uniform(4, 3)
  op <- keops_kernel("Sum_Reduction(Sin(MatVecMult(A, x) | y), 1)", c("A = Pm(6)", "x = Vi(2)", "y = Vj(3)"))
  eta <- uniform(5)
  value <- \(A) sum(c(eta) * sin(X %*% t(A) %*% t(Y)))
  grad <- keops_grad(op, "A")
  expected <- central_difference(value, A)
  expect_close(grad(list(A, X, Y, eta)), expected, tolerance = 1e-6)
  expect_close(grad(list(c(t(A)), X, Y, eta)), t(c(t(expected))), tolerance = 1e-6)
  expect_close(grad(list(A, t(X), t(Y), t(eta)), inner_dim = "row"), expected, tolerance = 1e-6)
  along <- uniform(3, 2)
  second <- keops_grad(grad, "A")(list(A, X, Y, eta, along))
  expect_close(second, central_difference(\(A) sum(along * grad(list(A, X, Y, eta))), A), tolerance = 1e-6)
  by_x <- keops_grad(grad, "x")(list(A, X, Y, eta, along))
  expect_close(by_x, central_difference(\(X) sum(along * grad(list(A, X, Y, eta))), X), tolerance = 1e-6)
  some <- array(c(A, 2 * A), c(3, 2, 2))
  each <- grad(list(some, X, Y, eta))
  expect_close(each[, , 1], expected, tolerance = 1e-6)
  expect_close(each[, , 2], grad(list(2 * A, X, Y, eta)))
  shared <- grad(list(A, array(c(X, X), c(5, 2, 2)), Y, eta))
  expect_close(shared, 2 * expected, tolerance = 1e-6)
})

weighted <- keops_kernel("Sum_Reduction(s * (x|y) * b, 1)", c("s = Pm(1)", xy, "b = Vj(1)"))
good <- list(s = 2, x = matrix(1, 4, 3), y = matrix(1, 5, 3), b = matrix(1, 5, 1))
with_x <- \(x) weighted(replace(good, "x", list(x)))
renamed <- \(...) stats::setNames(good, c(...))
test_mistakes("kernops_input_error", alist(
  `unknown inner_dim` = weighted(good, inner_dim = "diagonal"),
  `missing variable` = weighted(good[-2]),
  `extra variable` = weighted(c(good, list(z = 1))),
  `unknown variable` = weighted(renamed("s", "x", "z", "b")),
  `variable given twice` = weighted(renamed("s", "x", "x", "b")),
  `some names only` = weighted(renamed("s", "x", "", "b")),
  `too few by position` = weighted(unname(good)[1:3]),
  `empty list` = weighted(list()),
  `NULL input` = weighted(NULL),
  `input that is no list` = weighted(matrix(1, 4, 3)),
  `text` = with_x(matrix("1", 4, 3)),
  `NULL variable` = with_x(NULL),
  `function` = with_x(mean),
  `complex numbers` = with_x(matrix(1i, 4, 3)),
  `factor` = with_x(factor(1:4)),
  `list` = with_x(list(1, 2, 3)),
  `data frame with text` = with_x(data.frame(name = letters[1:4], 1, 2)),
  `data frame with a factor` = with_x(iris[1:4, 3:5]),
  `numbers of bit64` = with_x(structure(matrix(5e-324, 4, 3), class = "integer64")),
  `data frame with numbers of bit64` = with_x(list2DF(list(a = 1, b = 2, n = structure(5e-324, class = "integer64")))),
  `distances` = with_x(dist(matrix(1:8, 4)))
))
test_mistakes("kernops_input_error", alist(
  `sparse matrix` = with_x(Matrix::Matrix(diag(3), sparse = TRUE))
), needs = "Matrix")
reads_matrix <- function(formula, A) {
  op <- keops_kernel(sprintf("Sum_Reduction(Sum(%s), 1)", formula), c("A = Pm(6)", "x = Vi(2)"))
  op(list(A = A, x = matrix(1, 4, 2)))
}
test_mistakes("kernops_dim_error", alist(
  `too few columns` = with_x(matrix(1, 4, 2)),
  `points in columns` = with_x(matrix(1, 3, 4)),
  `points in rows, said to be in columns` = weighted(good, inner_dim = "row"),
  `vector for three columns` = with_x(1:4),
  `unequal numbers of points` = weighted(replace(good, "b", list(1:6))),
  `parameter too long` = weighted(replace(good, "s", list(1:2))),
  `parameter too short` = weighted(replace(good, "s", list(numeric()))),
  `a matrix of another shape` = reads_matrix("MatVecMult(A, x)", matrix(1, 2, 3)),
  `a matrix that is read as a vector` = reads_matrix("A * Concat(x, Concat(x, x))", matrix(1, 2, 3)),
  `a matrix of one tensor product` = reads_matrix("TensorProd(A, x)", matrix(1, 3, 2)),
  `a matrix read in two shapes` =
    reads_matrix("Sum(MatVecMult(A, x)) + Sum(MatVecMult(A, Concat(x, Elem(x, 0))))", matrix(1, 3, 2))
))
