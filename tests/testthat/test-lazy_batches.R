# Symbolic matrices of batches, against loops over the batches.

withr::local_seed(1)
cube <- function(...) array(stats::rnorm(prod(...)), c(...))
X <- cube(7, 2, 3)
Y <- cube(5, 2, 3)
B <- cube(5, 4, 3)
shared <- matrix(stats::rnorm(10), 5)

K_of <- \(x, y) exp(-sqdist(Vi(x), Vj(y)))
K <- K_of(X, Y)
# f(x, y, b) for each batch, in a loop.
loop <- function(f, x = X, y = Y, b = B) {
  each <- lapply(1:3, \(k) f(x[, , k], y[, , k], b[, , k]))
  array(unlist(each), c(dim(each[[1]]), 3))
}
dense <- loop(\(x, y, b) exp(-dense_sqdist(x, y)))

test_that("the batches are the last dimension of a symbolic matrix", {
  expect_identical(dim(K), c(7L, 5L, 3L))
  expect_identical(dim(Vi(X) - Vj(Y)), c(7L, 5L, 2L, 3L))
  expect_equal(as.array(K), dense)
  expect_equal(as.array(t(K)), aperm(dense, c(2, 1, 3)))
  expect_equal(K[2:3, -1], dense[2:3, -1, ])
  expect_equal(as.array(Vi(X) - Vj(Y)), loop(\(x, y, b) array(c(outer(x[, 1], y[, 1], "-"), outer(x[, 2], y[, 2], "-")),
                                                              c(7, 5, 2))))
  expect_false(is.matrix(K))
  expect_identical(dim(K_of(X[, , 1, drop = FALSE], shared)), c(7L, 5L, 1L))
  named <- K_of(`rownames<-`(X, letters[1:7]), Y)
  expect_identical(dimnames(named), list(letters[1:7], NULL, NULL))
  expect_identical(dimnames(named[c("b", "g"), ]), list(c("b", "g"), NULL, NULL))
  expect_identical(rownames(sum(named, "j")), letters[1:7])
  expect_snapshot(print(K))
})

test_that("products with arrays and with matrices agree with a loop", {
  for (make in list(K_of, \(x, y) exp(1i * sqdist(Vi(x), Vj(y))))) {
    k <- make(X, Y)
    one <- \(x, y) as.matrix(make(x, y))
    expect_equal(k %*% B, loop(\(x, y, b) one(x, y) %*% b))
    expect_equal(k %*% shared, loop(\(x, y, b) one(x, y) %*% shared))
    expect_equal(k %*% (1:5), loop(\(x, y, b) one(x, y) %*% (1:5)))
    expect_equal((1:7) %*% k, loop(\(x, y, b) (1:7) %*% one(x, y)))
    expect_equal(aperm(X, c(2, 1, 3)) %*% k, loop(\(x, y, b) t(x) %*% one(x, y)))
    expect_equal(crossprod(k, X), loop(\(x, y, b) t(one(x, y)) %*% x))
    expect_equal(crossprod(X, k), loop(\(x, y, b) t(x) %*% one(x, y)))
    expect_equal(tcrossprod(k, aperm(B, c(2, 1, 3))), loop(\(x, y, b) one(x, y) %*% b))
    expect_equal(tcrossprod(aperm(B, c(2, 1, 3)), k), loop(\(x, y, b) t(b) %*% t(one(x, y))))
  }
  expect_equal(K_of(X[, , 1], Y[, , 1]) %*% B, loop(\(x, y, b) dense[, , 1] %*% b))
  expect_equal(sum(Vi(X * (1 + 2i)) * Vj(B[, 1:2, ]), "j"),
               loop(\(x, y, b) x * (1 + 2i) * rep(colSums(b[, 1:2]), each = 7)))
})

test_that("reductions with weights, and positions of extrema, agree with a loop", {
  D <- sqdist(Vi(X), Vj(Y))
  expect_equal(sum(D, "j"), loop(\(x, y, b) cbind(rowSums(dense_sqdist(x, y)))))
  expect_equal(sum(D, "i"), loop(\(x, y, b) cbind(colSums(dense_sqdist(x, y)))))
  expect_equal(c(sum(K), mean(K), range(K)), c(sum(dense), mean(dense), range(dense)))
  expect_equal(logsumexp(D, "j", weight = Vj(abs(B))), loop(\(x, y, b) log(exp(dense_sqdist(x, y)) %*% abs(b))))
  expect_identical(argmin(D, "j"), loop(\(x, y, b) cbind(apply(dense_sqdist(x, y), 1, which.min))))
  both <- Kmin_argKmin(D, 2, "j")
  expect_equal(both$values, loop(\(x, y, b) t(apply(dense_sqdist(x, y), 1, \(d) sort(d)[1:2]))))
  expect_identical(both$positions, loop(\(x, y, b) t(apply(dense_sqdist(x, y), 1, \(d) order(d)[1:2]))))
  of_vectors <- Kmin(Vi(X) - Vj(Y), 2, "j")
  expect_identical(dim(of_vectors), c(7L, 2L, 2L, 3L))
  expect_equal(of_vectors[4, 2, , 3], c(sort(X[4, 1, 3] - Y[, 1, 3])[2], sort(X[4, 2, 3] - Y[, 2, 3])[2]))
  numbered <- lazy_op("IndexI") * lazy_op("IndexJ") * K
  expect_equal(as.array(numbered), dense * as.vector(outer(1:7, 1:5)))
})

test_that("parameters of batches, also matrices, agree with a loop", {
  scale <- cube(1, 2, 3)
  A <- cube(4, 2, 3)
  expect_equal(sum(Vi(X) * Pm(scale), "j"), loop(\(x, y, b) x * rep(b, each = 7), b = scale))
  expect_equal(sum(matvecmult(Pm(A), Vi(X)), "j"), loop(\(x, y, b) x %*% t(b), b = A))
  expect_equal(sum(matvecmult(Pm(A), Vi(shared)), "j"), loop(\(x, y, b) shared %*% t(b), b = A))
  expect_identical(dim(Pm(A)), c(1L, 1L, 8L, 3L))
})

test_that("several batch dimensions are computed", {
  x <- cube(7, 2, 3)
  y <- cube(5, 2, 1, 2)
  several <- K_of(x, y)
  expect_identical(dim(several), c(7L, 5L, 3L, 2L))
  each <- function(f) {
    values <- lapply(1:2, \(l) lapply(1:3, \(k) f(x[, , k], y[, , 1, l])))
    array(unlist(values), c(dim(values[[1]][[1]]), 3, 2))
  }
  expect_equal(as.array(several), each(\(x, y) exp(-dense_sqdist(x, y))))
  expect_equal(several %*% shared, each(\(x, y) exp(-dense_sqdist(x, y)) %*% shared))
  expect_equal(argKmin(sqdist(Vi(x), Vj(y)), 2, "j"), each(\(x, y) t(apply(dense_sqdist(x, y), 1, \(d) order(d)[1:2]))))
})

test_that("a system is solved for each batch", {
  square <- K_of(X, X)
  one <- \(x, lambda = 0.5) exp(-dense_sqdist(x, x)) + diag(lambda, 7)
  right <- cube(7, 2, 3)
  solved <- \(K, b, ...) solve(K, b, 0.5, tol = 1e-12, precond = "none", ...)
  expect_equal(solved(square, right), loop(\(x, y, b) solve(one(x), b), b = right), tolerance = 1e-9)
  expect_equal(solved(square, 1:7), loop(\(x, y, b) solve(one(x), cbind(1:7))), tolerance = 1e-9)
  expect_equal(solved(square, right * 1i), loop(\(x, y, b) solve(one(x), b) * 1i, b = right), tolerance = 1e-9)
  expect_equal(solved(K_of(X[, , 2], X[, , 2]), right), loop(\(x, y, b) solve(one(X[, , 2]), b), b = right),
               tolerance = 1e-9)
})

test_that("solutions have the names of the right-hand side", {
  square <- K_of(X, X)
  names_of <- \(b) dimnames(solve(square, b, 0.5, precond = "none"))
  named <- array(cube(7, 2, 3), c(7, 2, 3), list(letters[1:7], c("u", "v"), month.abb[1:3]))
  expect_identical(names_of(named), dimnames(named))
  expect_identical(names_of(named * 1i), dimnames(named))
  expect_identical(names_of(named[, , 1]), list(letters[1:7], c("u", "v"), NULL))
  expect_identical(names_of(named[, , 1, drop = FALSE]), list(letters[1:7], c("u", "v"), NULL))
  expect_identical(names_of(named[, 1, 1]), list(letters[1:7], NULL, NULL))
  expect_null(names_of(unname(named)))
})

test_that("derivatives and ranges of batches agree with a loop", {
  x <- Vi(X)
  D <- sqdist(x, Vj(Y))
  expect_equal(sum(grad(D, 1, x), "j"), loop(\(x, y, b) 2 * (5 * x - rep(colSums(y), each = 7))))
  common <- Vj(shared)
  objective <- keops_objective(exp(-sqdist(x, common)), x, common)
  value <- \(par) sum(vapply(1:3, \(k) sum(exp(-dense_sqdist(array(par[1:42], c(7, 2, 3))[, , k],
                                                            matrix(par[-(1:42)], 5)))), 0))
  expect_equal(objective$fn(objective$par), value(c(X, shared)))
  expect_equal(objective$gr(objective$par), c(central_difference(value, c(X, shared))), tolerance = 1e-6)
  expect_identical(objective$split(objective$par), list(X, shared))
  there <- outer(1:7, 1:5, \(i, j) (i <= 3) == (j <= 2))
  restricted <- with_ranges(K, from_matrix(rbind(c(1, 3), c(4, 7)), rbind(c(1, 2), c(3, 5)), diag(2) == 1))
  expect_equal(as.array(restricted), dense * as.vector(there))
  expect_equal(restricted %*% B, loop(\(x, y, b) (exp(-dense_sqdist(x, y)) * there) %*% b))
  expect_equal(mean(restricted), sum(dense * as.vector(there)) / (3 * sum(there)))
})

wide <- cube(5, 2, 2)
test_mistakes("kernops_dim_error", alist(
  `batches that do not match` = K_of(X, wide),
  `a right-hand side of other batches` = K %*% wide,
  `single entries of batches` = K[3],
  `entries of pairs of batches` = K[cbind(1, 2)],
  `sums of rows of batches` = rowSums(K),
  `diagonals of batches` = diag(K),
  `the diagonal of a matrix of vectors` = diag(Vi(X[, , 1]) - Vj(Y[, , 1])),
  `a constant of batches` = sum(Vi(2) * Pm(cube(1, 2, 3)), "j"),
  `a system that is not square` = solve(K, 1:7),
  `a parameter that is no such matrix` = sum(matvecmult(Pm(cube(2, 4, 3)), Vi(X)), "j")
))
if (requireNamespace("RSpectra", quietly = TRUE)) test_mistakes("kernops_dim_error", alist(
  `eigenvalues of batches` = RSpectra::eigs_sym(K_of(X, X), 2)
))
