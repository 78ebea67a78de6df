# Reductions of symbolic matrices, against dense matrices in base R.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("every reduction has a function for symbolic matrices", {
  S <- sqdist(Vi(X), Vj(Y))
  expect_equal(sum(S, "j"), matrix(rowSums(D2)), tolerance = 1e-12)
  expect_equal(sum_reduction(S, "i"), matrix(colSums(D2)), tolerance = 1e-12)
  expect_equal(sum(S, 1), sum(S, "j"))
  expect_equal(sum(S, 0), sum(S, "i"))
  expect_equal(drop(min(S, "j")), apply(D2, 1, min), tolerance = 1e-12)
  expect_equal(drop(max(S, index = "j")), apply(D2, 1, max), tolerance = 1e-12)
  expect_identical(drop(argmin(S, "j")), apply(D2, 1, which.min))
  expect_identical(drop(argmax(S, "j")), apply(D2, 1, which.max))
  both <- \(dense, least, where) list(values = cbind(apply(dense, 2, least)), positions = cbind(apply(dense, 2, where)))
  expect_equal(min_argmin(S, "i"), both(D2, min, which.min), tolerance = 1e-12)
  expect_equal(max_argmax(S, "i"), both(D2, max, which.max), tolerance = 1e-12)
  expect_equal(Kmin(S, 2, "j"), t(apply(D2, 1, sort))[, 1:2], tolerance = 1e-12)
  expect_identical(argKmin(S, 2, "j"), t(apply(D2, 1, order))[, 1:2])
  expect_equal(Kmin_argKmin(S, 1, "j"), both(t(D2), min, which.min), tolerance = 1e-12)
  expect_equal(Kmax(S, 2, "j"), t(apply(-D2, 1, sort))[, 1:2] * -1, tolerance = 1e-12)
  expect_identical(argKmax(S, 2, "j"), t(apply(-D2, 1, order))[, 1:2])
  expect_equal(drop(logsumexp(S, "j")), log(rowSums(exp(D2))), tolerance = 1e-12)
  expect_equal(logsumexp(S, "j", weight = Vj(abs(B))), log(exp(D2) %*% abs(B)), tolerance = 1e-12)
  expect_equal(sumsoftmaxweight(S, Vj(B), "j"), exp(D2) %*% B / rowSums(exp(D2)), tolerance = 1e-12)
  expect_equal(sum(S, "j", precision = "float32"), matrix(rowSums(D2)), tolerance = 1e-5)
})

test_that("the K smallest values of vectors are an array, computed entry by entry", {
  rownames(X) <- letters[1:10]
  each <- \(f) aperm(array(sapply(1:3, \(d) t(apply(outer(X[, d], Y[, d], `-`), 1, f)[1:2, ])), c(10, 2, 3)), 1:3)
  named <- \(a) `dimnames<-`(a, list(letters[1:10], NULL, NULL))
  V <- Vi(X) - Vj(Y)
  expect_equal(Kmin(V, 2, "j"), named(each(sort)))
  expect_identical(argKmin(V, 2, "j"), named(each(order)))
  expect_equal(Kmin_argKmin(V, 2, "j"), list(values = named(each(sort)), positions = named(each(order))))
  expect_type(min_argmin(V, "j")$positions, "integer")
  expect_identical(dim(min_argmin(V, "j")$values), c(10L, 3L))
  expect_s3_class(Kmin_argKmin(sqdist(Vi(3), Vj(3)), 2, "j"), "keops_kernel")
})

test_that("sums over no points are 0 or empty, and mean() of points averages their entries", {
  none <- matrix(0, 0, 3)
  expect_identical(sum(sqdist(Vi(X), Vj(none)), "j"), matrix(0, 10, 1))
  expect_identical(sum(sqdist(Vi(none), Vj(Y)), "j"), matrix(0, 0, 1))
  expect_identical(dim(Vi(none) - Vj(Y)), c(0L, 6L, 3L))
  expect_equal(sum(mean(Vi(X)), "j"), matrix(rowMeans(X)), tolerance = 1e-12)
  expect_equal(mean(sqdist(Vi(X), Vj(Y)), "j"), matrix(rowMeans(D2)), tolerance = 1e-12)
})

test_that("without an axis, R's summaries of a symbolic matrix of scalars are numbers", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- exp(-D2)
  same <- \(lazy, expected) expect_equal(lazy, expected, tolerance = 1e-12, label = deparse(substitute(lazy)))
  for (f in c(sum, mean, min, max, range, prod)) same(f(K), f(dense))
  same(sum(t(K) * 2), 2 * sum(dense))
  same(mean(sqnorm2(Vi(X))), mean(rowSums(X^2)))
  same(max(sqnorm2(Vj(Y))), max(rowSums(Y^2)))
  same(sum(norm2(Pm(3:4))), 5)
  same(sum(sqdist(Vi(X[, 1]), Vj(Y[, 1]))), sum(outer(X[, 1], Y[, 1], `-`)^2))
  expect_identical(c(any(K > 2), any(K > 0.5), all(K < 2), all(K < 0.5)), c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(c(any(Vi(X[, 1]) > 0), all(Vi(X[, 1]) > 0)), c(any(X[, 1] > 0), all(X[, 1] > 0)))
  same(range(Vi(X[, 1]) - Vj(Y[, 1])), range(outer(X[, 1], Y[, 1], `-`)))
  z <- outer(1:10, 1:6, \(i, j) mapply(\(i, j) sum(X[i, ] * Y[j, ] * 1i), i, j))
  same(sum(sum(Vi(X) * Vj(Y * 1i))), sum(z))
  same(mean(sum(Vi(X) * Vj(Y * 1i))), mean(z))
  none <- sqdist(Vi(X), Vj(matrix(0, 0, 3)))
  expect_identical(c(sum(none), mean(none), min(none)), c(0, NaN, Inf))
  expect_identical(sum(NaN * K), NaN)
  # sum() of a tensor of vectors sums their entries; lazy_op() sums the entries of vectors of size one, too
  expect_equal(dim(sum(Vi(X) * Vj(Y))), c(10, 6))
  expect_equal(sum(lazy_op("Sum", Vi(X[, 1])), "j"), X[, 1, drop = FALSE])
})

test_that("ranges select the pairs of a reduction", {
  rows <- rbind(c(1, 4), c(5, 10))
  columns <- rbind(c(1, 2), c(3, 6))
  ranges <- from_matrix(rows, columns, diag(2) == 1)
  keep <- outer(1:10 > 4, 1:6 > 2, `==`)
  expect_equal(sum(sqdist(Vi(X), Vj(Y)), "j", ranges = ranges), matrix(rowSums(D2 * keep)), tolerance = 1e-12)
  expect_identical(drop(argmin(sqdist(Vi(X), Vj(Y)), "j", ranges = ranges)),
                   apply(ifelse(keep, D2, Inf), 1, which.min))
})

test_that("the argument `index` of R's reductions is found at any position", {
  S <- sqdist(Vi(X), Vj(Y))
  everything <- from_matrix(cbind(1, 10), cbind(1, 6), matrix(TRUE))
  expect_equal(sum(S, ranges = everything, index = "j"), matrix(rowSums(D2)))
  expect_equal(min(S, ranges = everything, "i"), matrix(apply(D2, 2, min)))
  expect_equal(sum(S, precision = "float64", 1), matrix(rowSums(D2)))
  expect_error(sum(S, precision = "float64"), "index", class = "kernops_input_error")
})
