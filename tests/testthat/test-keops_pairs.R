# Variables of pairs, Vij: stored terms and lookups in tables, against the matrices of plain R.

p <- withr::with_seed(1, list(x = matrix(rnorm(24), 12, dimnames = list(letters[1:12], NULL)), y = matrix(rnorm(14), 7),
                              A = matrix(runif(84), 12), s = 0.7))
args <- c("x = Vi(2)", "y = Vj(2)", "A = Vij(1)", "s = Pm(1)")
K <- with(p, exp(-s * outer(1:12, 1:7, Vectorize(\(i, j) sum((x[i, ] - y[j, ])^2)))))

test_that("reductions over both axes use the values of pairs", {
  sums <- keops_kernel("Sum_Reduction(A * Exp(-s * SqDist(x, y)), 1)", args)
  expect_equal(sums(p), cbind(rowSums(p$A * K)), tolerance = 1e-12, ignore_attr = TRUE)
  expect_identical(rownames(sums(p)), letters[1:12])
  expect_equal(sums(unname(p)), sums(p))
  columns <- keops_kernel("Sum_Reduction(A * Exp(-s * SqDist(x, y)), 0)", args)
  expect_equal(columns(p), cbind(colSums(p$A * K)), tolerance = 1e-12, ignore_attr = TRUE)
  nearest <- keops_kernel("ArgMin_Reduction(A + s * SqDist(x, y), 1)", args)
  expect_identical(as.vector(nearest(p)), apply(p$A - log(K), 1, which.min))
  log_sum <- keops_kernel("LogSumExp_Reduction(A, 1)", "A = Vij(1)")
  expect_equal(log_sum(list(p$A)), cbind(log(rowSums(exp(p$A)))), tolerance = 1e-12)
  vectors <- keops_kernel("Max_Reduction(A * s, 0)", c("A = Vij(2)", "s = Pm(1)"))
  both <- array(c(p$A, -p$A), c(12, 7, 2))
  expect_equal(vectors(list(both, 2)), 2 * cbind(apply(p$A, 2, max), apply(-p$A, 2, max)), tolerance = 1e-12)
  expect_output(print(sums), "A = Vij(1)", fixed = TRUE)
})

test_that("lookups are entries of a table", {
  i <- rep(1:3, 4)
  j <- c(2, 1, 2, 2, 1, 1, 2)
  table <- matrix(c(1, -2, 3, 0.5, 4, -1), 3)
  for (axis in 0:1) {
    op <- keops_kernel(sprintf("Sum_Reduction(A * Exp(-s * SqDist(x, y)), %d)", axis), args)
    expect_equal(op(replace(p, "A", list(lookup_terms(table, i, j)))), op(replace(p, "A", list(table[i, j]))))
  }
  expect_output(print(lookup_terms(table, i, j)), "12 x 7 terms from a table 3 x 2")
})

test_that("gradients of sums in points and parameters are differences", {
  op <- keops_kernel("Sum_Reduction(A * Exp(-s * SqDist(x, y)), 1)", args)
  e <- seq_len(12) / 12
  value <- \(p) sum(op(p) * e)
  for (name in c("x", "y", "s")) {
    gradient <- keops_grad(op, name)(c(p, list(eta = e)))
    numeric <- p[[name]]
    for (k in seq_along(numeric)) {
      near <- vapply(c(-1, 1) * 1e-5, \(h) value(replace(p, name, list(replace(p[[name]], k, p[[name]][[k]] + h)))), 0)
      numeric[[k]] <- diff(near) / 2e-5
    }
    expect_equal(as.vector(gradient), as.vector(numeric), tolerance = 1e-7)
  }
})

test_that("many rows are computed in blocks", {
  A <- withr::with_seed(4, matrix(runif(2500 * 2000), 2500))
  op <- keops_kernel("Sum_Reduction(A * A, 1)", "A = Vij(1)", backend = "cpu")
  expect_equal(as.vector(op(list(A))), rowSums(A^2), tolerance = 1e-12)
  op <- keops_kernel("Sum_Reduction(A, 0)", "A = Vij(1)", backend = "cpu")
  expect_equal(as.vector(op(list(A))), colSums(A), tolerance = 1e-12)
})

test_that("a GPU computes the same", {
  skip_without_gpu()
  op <- keops_kernel("Sum_Reduction(A * Exp(-s * SqDist(x, y)), 1)", args, backend = "cuda")
  expect_equal(op(p), cbind(rowSums(p$A * K)), tolerance = 1e-10, ignore_attr = TRUE)
})

sums <- keops_kernel("Sum_Reduction(A * SqDist(x, y), 1)", args[1:3])
test_mistakes("kernops_error", alist(
  shape = sums(list(p$x, p$y, p$A[1:3, ])),
  vector = sums(list(p$x, p$y, 1:12)),
  ranges = sums(p[1:3], ranges = list(1)),
  batches = sums(list(array(1, c(12, 2, 2)), p$y, p$A)),
  gradient = keops_grad(sums, "A"),
  several = keops_grad(keops_kernel("LogSumExp_Reduction(A * SqDist(x, y), 1)", args[1:3]), "y"),
  position = keops_kernel("Sum_Reduction(A * IndexJ(), 1)", "A = Vij(1)"),
  numbers = lookup_terms(diag(2), 1:3, 1:2),
  table = lookup_terms(1:2, 1, 1)
))
