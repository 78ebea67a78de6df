# Stored values of pairs in symbolic matrices, against matrices in plain R.

p <- withr::with_seed(1, list(x = matrix(rnorm(24), 12), y = matrix(rnorm(14), 7), A = matrix(runif(84), 12)))
D <- p$A * exp(-0.7 * unname(as.matrix(dist(rbind(p$x, p$y))))[1:12, 13:19]^2)
A <- Vij(p$A)
x <- Vi(p$x)
K <- A * exp(-0.7 * sqdist(x, Vj(p$y)))

test_that("reductions and products agree with those of the stored matrix", {
  expect_equal(sum(K, "j"), cbind(rowSums(D)), tolerance = 1e-12)
  expect_equal(sum(K, "i"), cbind(colSums(D)), tolerance = 1e-12)
  expect_equal(c(sum(K), max(K)), c(sum(D), max(D)), tolerance = 1e-12)
  expect_equal(K %*% diag(7), D, tolerance = 1e-12)
  expect_equal(rowSums(K), rowSums(D), tolerance = 1e-12)
  expect_equal(logsumexp(K, "i"), cbind(log(colSums(exp(D)))), tolerance = 1e-12)
  expect_equal(as.vector(argmin(K, "j")), apply(D, 1, which.min))
  expect_equal(lazy_reduce(K, "Median", "j"), cbind(apply(D, 1, median)), tolerance = 1e-12)
  expect_equal(sum(A, "i"), cbind(colSums(p$A)), tolerance = 1e-12)
  expect_output(print(K), "A = Vij(1)", fixed = TRUE)
  expect_identical(keops_formula(LazyTensor(p$A, "ij", "A")), keops_formula(A))
})

test_that("blocks, entries and the transpose agree with those of the stored matrix", {
  expect_identical(dim(K), c(12L, 7L))
  expect_equal(as.matrix(K), D, tolerance = 1e-12)
  expect_equal(as.matrix(t(K)), t(D), tolerance = 1e-12)
  expect_equal(sum(t(K), "j"), cbind(colSums(D)), tolerance = 1e-12)
  expect_equal(t(t(K))[2:3, c(1, 5)], D[2:3, c(1, 5)], tolerance = 1e-12)
  expect_equal(t(K)[c(1, 5), 2:9], t(D)[c(1, 5), 2:9], tolerance = 1e-12)
  expect_equal(t(K)[cbind(2:4, 1:3)], D[cbind(1:3, 2:4)], tolerance = 1e-12)
  vectors <- array(c(p$A, D), c(12, 7, 2))
  expect_equal(as.array(Vij(vectors) * 2), 2 * vectors)
  expect_equal(as.matrix(sum(t(Vij(vectors)))), t(p$A + D), tolerance = 1e-12)
  table <- lookup_terms(matrix(1:4, 2), rep(1:2, 6), c(1, 2, 1, 2, 1, 1, 2))
  values <- matrix(1:4, 2)[rep(1:2, 6), c(1, 2, 1, 2, 1, 1, 2)]
  expect_equal(as.matrix(Vij(table)), values)
  expect_equal(t(Vij(table))[2:4, 3], values[3, 2:4])
  expect_equal(sum(t(Vij(table)) * Vj(p$x[, 1]), "j"), t(values) %*% p$x[, 1], tolerance = 1e-12)
})

test_that("derivatives agree with those of the stored matrix", {
  expect_equal(sum(grad(K, 1, A), "j"), cbind(rowSums(D / p$A)), tolerance = 1e-12)
  objective <- keops_objective(K, A, x)
  expect_equal(objective$gr(objective$par)[1:84], as.vector(D / p$A), tolerance = 1e-12)
  expect_length(objective$split(objective$par), 2)
})

test_mistakes("kernops_error", alist(
  vector = Vij(1:3),
  lazy = Vij(A),
  shape = A + Vi(p$y),
  solve = solve(Vij(diag(3)), 1:3),
  ranges = sum(with_ranges(A, from_matrix(cbind(1, 12), cbind(1, 7), matrix(TRUE))), "j"),
  product = K %*% t(A)
))
