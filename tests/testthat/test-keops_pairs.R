# Variables of pairs, Vij: stored terms and lookups in tables, against matrices in plain R.

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
  middle <- keops_kernel("Median_Reduction(A * s, 0)", args[3:4])
  expect_equal(middle(p[3:4]), cbind(apply(p$A * p$s, 2, median)), tolerance = 1e-12)
})

test_that("a lookup returns the entries of a table", {
  i <- rep(1:3, 4)
  j <- c(2, 1, 2, 2, 1, 1, 2)
  table <- matrix(c(1, -2, 3, 0.5, 4, -1), 3)
  for (axis in 0:1) {
    op <- keops_kernel(sprintf("Sum_Reduction(A * Exp(-s * SqDist(x, y)), %d)", axis), args)
    expect_equal(op(replace(p, "A", list(lookup_terms(table, i, j)))), op(replace(p, "A", list(table[i, j]))))
  }
  expect_output(print(lookup_terms(table, i, j)), "12 x 7 terms from a table 3 x 2")
})

# The derivatives of value(p) with respect to the entries of the variable `name`, by finite differences.
differences <- function(value, p, name) {
  at <- \(k, h) value(replace(p, name, list(replace(p[[name]], k, p[[name]][[k]] + h))))
  vapply(seq_along(p[[name]]), \(k) (at(k, 1e-5) - at(k, -1e-5)) / 2e-5, 0)
}

test_that("gradients in points, parameters and values of pairs agree with finite differences", {
  formulas <- c("Sum_Reduction(A * Exp(-s * SqDist(x, y)), 1)", "Sum_Reduction(A * A * (s * x - y), 0)",
                "LogSumExp_Reduction(A - s * SqDist(x, y), 1)", "LogSumExp_Reduction(A * s * SqDist(x, y), 0)",
                "Max_Reduction(A * x * s - y, 0)", "Median_Reduction(A * s * SqDist(x, y), 1)",
                "Quantile_Reduction(A * s * (x - y), 0.3, 0.8, 0)")
  for (formula in formulas) for (backend in backends()) {
    op <- keops_kernel(formula, args, backend = backend)
    e <- withr::with_seed(5, array(rnorm(length(op(p))), dim(op(p))))
    for (name in names(p)) {
      gradient <- keops_grad(op, name)(c(p, list(eta = e)))
      expect_identical(dim(gradient), dim(as.matrix(p[[name]])))
      expect_equal(as.vector(gradient), differences(\(p) sum(op(p) * e), p, name), tolerance = 1e-7, info = formula)
    }
  }
  vectors <- keops_kernel("Var_Reduction(A, 0)", "A = Vij(2)")
  both <- list(A = array(c(p$A, -p$A), c(12, 7, 2)))
  gradient <- keops_grad(vectors, "A")(c(both, list(eta = matrix(1:14, 7))))
  expect_identical(dim(gradient), c(12L, 7L, 2L))
  expect_equal(as.vector(gradient), differences(\(p) sum(vectors(p) * 1:14), both, "A"), tolerance = 1e-7)
})

test_that("gradients can be differentiated again", {
  op <- keops_kernel("Sum_Reduction(A * A * Exp(-s * SqDist(x, y)), 1)", args)
  for (first in c("A", "y")) {
    slope <- keops_grad(op, first)
    at <- c(p, list(eta = seq_len(12) / 12))
    e <- withr::with_seed(6, array(rnorm(length(p[[first]])), dim(p[[first]])))
    for (name in c(names(p), "eta")) {
      gradient <- keops_grad(slope, name)(c(at, list(eta2 = e)))
      expect_equal(as.vector(gradient), differences(\(p) sum(slope(p) * e), at, name), tolerance = 1e-6)
    }
  }
  expect_output(print(keops_grad(op, "A")), "one row per i and one column per j")
})

test_that("many rows are computed in blocks", {
  A <- withr::with_seed(4, matrix(runif(2500 * 2000), 2500))
  op <- keops_kernel("Sum_Reduction(A * A, 1)", "A = Vij(1)", backend = "cpu")
  expect_equal(as.vector(op(list(A))), rowSums(A^2), tolerance = 1e-12)
  op <- keops_kernel("Sum_Reduction(A, 0)", "A = Vij(1)", backend = "cpu")
  expect_equal(as.vector(op(list(A))), colSums(A), tolerance = 1e-12)
})

test_that("variables of pairs on a GPU agree with the CPU", {
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
  several = keops_kernel("Grad(LogSumExp_Reduction(A * SqDist(x, y), 1), y, e)", c(args[1:3], "e = Vi(1)")),
  solve = kernel_solve(keops_kernel("Sum_Reduction(A * b, 1)", c("A = Vij(1)", "b = Vj(1)")), "b", list(diag(3), 1:3)),
  position = keops_kernel("Sum_Reduction(A * IndexJ(), 1)", "A = Vij(1)"),
  numbers = lookup_terms(diag(2), 1:3, 1:2),
  table = lookup_terms(1:2, 1, 1)
))
