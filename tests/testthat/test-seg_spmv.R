# Sparse products, against package Matrix; products over other semirings, against loops.

sparse <- function(rows, columns, density) {
  m <- matrix(rnorm(rows * columns) * (runif(rows * columns) < density), rows, columns)
  if (rows > 4) m[c(1, rows), ] <- 0
  if (rows > 4 && density > 0) m[3, ] <- rnorm(columns)
  dimnames(m) <- list(sprintf("r%d", seq_len(rows)), NULL)
  m
}

test_that("a product agrees with Matrix, for every kind of matrix", {
  skip_if_not_installed("Matrix")
  withr::local_seed(1)
  for (dense in list(sparse(60, 40, 0.1), sparse(50, 1, 0.3), sparse(1, 50, 0.3), sparse(9, 7, 0),
                     sparse(200, 300, 0.02))) {
    v <- rnorm(ncol(dense))
    vs <- matrix(rnorm(3 * ncol(dense)), ncol(dense))
    for (class in c("CsparseMatrix", "RsparseMatrix")) {
      A <- methods::as(methods::as(dense, "generalMatrix"), class)
      expected <- as.matrix(methods::as(A, "CsparseMatrix") %*% v)[, 1]
      expect_equal(spmv(A, v), expected, tolerance = 1e-13)
      expect_equal(spmv(A, v, plan = spmv_plan(A)), expected, tolerance = 1e-13)
      expect_equal(spmv(A, vs), as.matrix(methods::as(A, "CsparseMatrix") %*% vs), tolerance = 1e-13)
      expect_identical(with_threads(2, spmv(A, v)), with_threads(1, spmv(A, v)))
    }
  }
})

test_that("other classes of Matrix are converted", {
  skip_if_not_installed("Matrix")
  A <- Matrix::sparseMatrix(i = c(1, 1, 3), j = c(1, 3, 2), x = c(1, 2, 3), dims = c(3, 3))
  v <- c(10, 20, 30)
  for (other in list(methods::as(A, "TsparseMatrix"), methods::as(A, "nMatrix"), Matrix::forceSymmetric(A),
                     Matrix::triu(A), Matrix::Diagonal(3))) {
    expect_equal(spmv(other, v), as.numeric(other %*% v), info = class(other))
  }
})

test_that("a matrix may be given as a plan, or as a matrix of R", {
  withr::local_seed(9)
  dense <- sparse(30, 20, 0.3)
  v <- rnorm(20)
  expect_equal(spmv(dense, v), (dense %*% v)[, 1])
  expect_equal(spmv(spmv_plan(dense), cbind(v, 2 * v)), dense %*% cbind(v, 2 * v))
  expect_equal(spmv(unname(dense), v, mul = "+", add = "max"), apply(unname(dense), 1, \(row) max(row + v)))
  expect_identical(spmv(matrix(TRUE, 2, 0), numeric()), c(0, 0))
  A <- list(offsets = c(0, 2, 3, 4), columns = c(0, 2, 1, 3), values = c(1, 2, 3, 5))
  plan <- spmv_plan(A)
  expect_identical(spmv(plan, c(1, 10, 100, 1000)), spmv(A, c(1, 10, 100, 1000)))
  expect_identical(spmv(A[1:2], 1:4, plan = plan), spmv(A[1:2], 1:4)) # without values
  B <- replace(A, "values", list(c(2, 4, 6, 10)))
  expect_identical(spmv(B, 1:4, plan = plan), 2 * spmv(plan, 1:4))
  skip_if_not_installed("Matrix")
  C <- methods::as(dense, "CsparseMatrix")
  expect_equal(spmv(spmv_plan(C), v), spmv(C, v))
  expect_error(spmv(spmv_plan(C), v[-1]), class = "kernops_dim_error")
  expect_error(spmv(dense, v[-1]), class = "kernops_dim_error")
})

test_that("many entries in few rows are summed in the same order by any number of threads", {
  skip_if_not_installed("Matrix")
  withr::local_seed(3)
  A <- Matrix::sparseMatrix(i = c(sample(2000, 3e5, TRUE), rep(7, 2e4)), j = sample(30000, 3.2e5, TRUE),
                            x = rnorm(3.2e5),
                            dims = c(2000, 30000))
  v <- rnorm(30000)
  for (B in list(A, methods::as(A, "RsparseMatrix"))) {
    alone <- with_threads(1, spmv(B, v))
    expect_equal(alone, as.numeric(A %*% v), tolerance = 1e-13)
    for (threads in c(2, 8)) expect_identical(with_threads(threads, spmv(B, v)), alone)
    expect_identical(spmv(B, cbind(v, -v))[, 2], -alone)
  }
})

test_that("NA, NaN and Inf have the effect that they have in R's own product", {
  A <- list(offsets = c(0, 2, 3, 4), columns = c(0, 2, 1, 3), values = c(1, 2, 3, 0))
  expect_identical(spmv(A, c(NA, NaN, 1, Inf)), c(NA, NaN, NaN))
  expect_identical(spmv(A, c(1, -Inf, 1, 1)), c(3, -Inf, 0))
  expect_identical(spmv(replace(A, "values", list(c(NA, 2, 3, 0))), 1:4 + 0), c(NA, 6, 0))
})

test_that("a plan prints what it is, and may be saved", {
  A <- list(offsets = c(0, 2, 2, 3), columns = c(0, 2, 1), values = c(1, 2, 3))
  expect_snapshot(spmv_plan(A))
  file <- withr::local_tempfile()
  saveRDS(spmv_plan(A), file)
  expect_identical(spmv(A, c(10, 20, 30), plan = readRDS(file)), c(70, 0, 60))
})

test_that("products over other semirings agree with loops", {
  withr::local_seed(2)
  dense <- sparse(30, 20, 0.2)
  entries <- which(t(dense) != 0, arr.ind = TRUE)
  A <- list(offsets = c(0, cumsum(rowSums(dense != 0))), columns = entries[, 1] - 1, values = t(dense)[entries])
  v <- rnorm(20)
  loop <- \(mul, add, none) vapply(1:30, \(i) {
    j <- which(dense[i, ] != 0)
    if (length(j)) add(mul(dense[i, j], v[j])) else none
  }, none)
  expect_equal(spmv(A, v), loop(`*`, sum, 0), tolerance = 1e-13)
  expect_identical(spmv(A, v, "+", "min"), loop(`+`, min, Inf))
  expect_identical(spmv(A, v, "*", "max"), loop(`*`, max, -Inf))
  positive <- \(x) as.numeric(x > 0)
  expect_identical(spmv(replace(A, "values", list(positive(A$values))), positive(v), "and", "or"),
                   loop(\(a, b) a > 0 & b > 0, any, FALSE))
  expect_equal(spmv(A, v, "a * Exp(-Abs(b))", "+"), loop(\(a, b) a * exp(-abs(b)), sum, 0), tolerance = 1e-13)
  expect_equal(spmv(A, v, \(a, b) a - b, seg_op("Hypot(a, b)", 0)),
               loop(\(a, b) a - b, \(x) if (length(x) > 1) sqrt(sum(x^2)) else x, 0),
               tolerance = 1e-13)
  expect_equal(spmv(A[c("offsets", "columns")], v), loop(\(a, b) b, sum, 0), tolerance = 1e-13)
})

test_that("the product with a matrix has the type of the product with a vector", {
  A <- list(offsets = c(0, 2, 3), columns = c(0, 1, 2), values = c(1, 0, 1))
  v <- cbind(p = c(1, 0, 1), q = c(0, 1, 0))
  expect_identical(spmv(A, v, "and", "or"), cbind(p = c(TRUE, TRUE), q = c(FALSE, FALSE)))
  expect_identical(spmv(A, v, "*", "argmax"), cbind(p = c(1L, 1L), q = c(1L, 1L)))
  expect_identical(unname(spmv(A, v[, 0], "and", "or")), matrix(NA, 2, 0))
})

test_that("the entries of the rows may begin at any offset", {
  A <- list(offsets = c(0, 2, 3), sources = c(1, 0), columns = c(0, 1, 2), values = c(1, 10, 100))
  expect_identical(spmv(A, c(1, 2, 3)), c(320, 1))
})

test_that("a sparse matrix with inconsistent slots is refused", {
  skip_if_not_installed("Matrix")
  by_column <- methods::as(Matrix::sparseMatrix(i = 1:3, j = 3:1, x = 1, dims = c(3, 3)), "generalMatrix")
  by_row <- methods::as(by_column, "RsparseMatrix")
  expect_refused <- function(A, slot, value) {
    methods::slot(A, slot, check = FALSE) <- value
    expect_error(spmv(A, 1:3), "valid sparse matrix", class = "kernops_input_error")
  }
  expect_refused(by_column, "i", c(0L, 1L, 900000L))
  expect_refused(by_column, "i", 0:3)
  expect_refused(by_column, "p", c(0L, 1L, 2L, 9L))
  expect_refused(by_row, "j", c(0L, 1L, 900000L))
  expect_refused(by_row, "j", c(0L, NA, 1L))
})

test_that("a plan is accepted only for the matrix from which it was made", {
  skip_if_not_installed("Matrix")
  withr::local_seed(7)
  by_column <- Matrix::rsparsematrix(6, 6, 0.4)
  by_row <- methods::as(by_column, "RsparseMatrix")
  for (A in list(by_column, by_row)) {
    plan <- spmv_plan(A)
    A@x <- 2 * A@x
    expect_equal(spmv(A, 1:6, plan = plan), as.vector(A %*% 1:6))
  }
  refused <- \(A, of) expect_error(spmv(A, 1:6, plan = spmv_plan(of)), "plan", class = "kernops_input_error")
  refused(by_row, by_column)
  refused(by_column, by_row)
  refused(by_column, by_column[6:1, 6:1][, c(2:6, 1)])
  permuted <- \(i) methods::as(Matrix::sparseMatrix(i = i, j = 1:3, x = 1:3), "generalMatrix") # one entry per column
  for (class in c("CsparseMatrix", "RsparseMatrix")) {
    of <- spmv_plan(methods::as(permuted(1:3), class))
    expect_error(spmv(methods::as(permuted(3:1), class), 1:3, plan = of), "plan", class = "kernops_input_error")
  }
})

test_that("a plan stores the columns of a matrix, but no names", {
  A <- \(columns) list(offsets = 0:3, columns = columns, values = c(1, 1, 1))
  expect_identical(spmv(A(c(2, 0, 1)), c(10, 20, 30), plan = spmv_plan(A(c(2, 0, 1)))), c(30, 10, 20))
  expect_error(spmv(A(c(2, 0, 1)), c(10, 20, 30), plan = spmv_plan(A(c(1, 2, 0)))), class = "kernops_input_error")
  expect_identical(spmv(data.frame(offsets = 0:1, columns = 1:0), c(3, 4)), c(4, 3))
  skip_if_not_installed("Matrix")
  named <- \(rows) Matrix::sparseMatrix(i = 1:2, j = 2:1, x = 1:2, dimnames = list(rows, NULL))
  expect_identical(spmv(named(c("c", "d")), 3:4, plan = spmv_plan(named(c("a", "b")))), c(c = 4, d = 6))
})

test_that("operations on bits require integer products", {
  A <- list(offsets = c(0, 2, 3), columns = c(0, 1, 1), values = c(6, 10, 12))
  v <- c(0.5, 1)
  expect_identical(spmv(A, v, \(a, b) floor(a * b), "bit_or"), as.numeric(c(bitwOr(3, 10), 12)))
  expect_identical(spmv(A, v, "Floor(a * b)", "bit_xor"), as.numeric(c(bitwXor(3, 10), 12)))
  expect_identical(spmv(A, c(1, 1), add = "bit_and"), as.numeric(c(bitwAnd(6, 10), 12)))
  refused <- function(...) expect_error(spmv(..., add = "bit_or"), "whole", class = "kernops_input_error")
  refused(A, c(1, 1), \(a, b) a / 4)
  refused(A, c(1e300, 1))
  refused(A, c(Inf, 1))
  expect_identical(spmv(A, c(NA, 1), add = "bit_or"), c(NA, 12))
})

bad <- list(offsets = c(0, 1), columns = 0, values = 2)
test_mistakes("kernops_error", alist(
  `not a sparse matrix` = spmv(matrix("a", 2, 2), 1:2),
  `too few columns` = spmv(bad, numeric()),
  `a column between numbers` = spmv(replace(bad, "columns", 0.5), 1),
  `columns in words` = spmv(replace(bad, "columns", "0"), 1),
  `values of class integer64` = spmv(replace(bad, "values", list(integer64(1, 0))), 0.5, "+"),
  `products of class integer64` = spmv(bad, 1, \(a, b) integer64(a, 0)),
  `values under another name` = spmv(list(offsets = c(0, 1), columns = 0, x = 2), 1),
  `values in words` = spmv(replace(bad, "values", "2"), 1),
  `a vector in words` = spmv(bad, "1"),
  `bits of fractions` = spmv(bad, 0.25, add = "bit_or"),
  `a product of another length` = spmv(bad, 1, mul = \(a, b) c(a, b)),
  `a range of products` = spmv(bad, 1, add = "range"),
  `a plan of something else` = spmv(bad, 1, plan = seg_plan(lengths = 1)),
  `a plan of another matrix` = spmv(replace(bad, "values", list(1:2)), 1, plan = spmv_plan(bad)),
  `an unknown addition` = spmv(bad, 1, add = "plus"),
  `an unknown multiplication` = spmv(bad, 1, mul = "times")
))
