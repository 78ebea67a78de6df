# Products of a parameter matrix A and differences x - y. The engine subtracts a reference point, one of the rows, from
# all points of x and y, and then multiplies each point by A once.

quadratic <- \(x, y, A) outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(\(i, j) {
  d <- x[i, ] - y[j, ]
  sum(d * (A %*% d))
}))
points <- \(n, D, offset = 0) offset + round(matrix(rnorm(n * D), n) / sqrt(D) * 2^10) / 2^10
arguments <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)
matrices <- function(D) {
  root <- matrix(rnorm(D * D), D) / sqrt(D)
  list(symmetric = crossprod(root), `of rank 1` = tcrossprod(root[, 1]), `not symmetric` = root,
       negative = -crossprod(root), equal = 2 * diag(D), none = 0 * root)
}

test_that("quadratic forms of a matrix are right for any matrix", {
  withr::local_seed(1)
  for (D in c(2, 3, 7, 20)) for (offset in c(0, 1e4)) {
    x <- points(37, D, offset)
    y <- points(29, D, offset)
    y[1, ] <- x[1, ]
    b <- runif(29)
    all <- matrices(D)
    for_each_backend(\(kernel, precision) for (name in names(all)) {
      A <- all[[name]]
      d <- quadratic(x, y, A)
      close <- \(...) expect_close(..., precision, info = paste(name, D, offset))
      args <- arguments(D, sprintf("A = Pm(%d)", D * D), "b = Vj(1)")
      sum_of <- \(f) kernel(sprintf("Sum_Reduction(%s * b, 1)", f), args)
      gauss <- sum_of("Exp(-WeightedSqDist(A, x, y))")
      close(gauss(list(x, y, A, b)), exp(-d) %*% b)
      close(sum_of("Inv(4 + Abs((x - y) | VecMatMult(x - y, A)))")(list(x, y, A, b)), (1 / (4 + abs(d))) %*% b)
      e <- runif(37)
      k <- exp(-d) * outer(e, b)
      from_first <- \(z) t(t(z) - x[1, ])
      by_difference <- from_first(x) * rowSums(k) - k %*% from_first(y)
      terms <- (abs(from_first(x)) * rowSums(k) + k %*% abs(from_first(y))) %*% abs(A + t(A))
      close(keops_grad(gauss, "x")(list(x, y, A, b, e)), -by_difference %*% (A + t(A)), scale = row_scale(terms))
      if (name %in% c("symmetric", "equal")) {
        close(sum_of("Exp(-Sqrt(WeightedSqDist(A, x, y)))")(list(x, y, A, b)), exp(-sqrt(pmax(d, 0))) %*% b)
      }
    })
  }
})

test_that("products of a matrix and a difference are right, also if the matrix is not square", {
  withr::local_seed(2)
  for (offset in c(0, 1e4)) {
    x <- points(37, 4, offset)
    y <- points(29, 4, offset)
    B <- matrix(rnorm(12), 3)
    z <- \(i, j) B %*% (x[i, ] - y[j, ])
    norms <- outer(1:37, 1:29, Vectorize(\(i, j) sum(z(i, j)^2)))
    for_each_backend(\(kernel, precision) {
      close <- \(actual, expected) expect_close(actual, expected, precision, info = offset)
      args <- arguments(4, "B = Pm(12)")
      sum_of <- \(f, axis) kernel(sprintf("Sum_Reduction(%s, %d)", f, axis), args)(list(x, y, B))
      close(sum_of("Exp(-SqNorm2(MatVecMult(B, x - y)))", 1), rowSums(exp(-norms)))
      sums <- sum_of("MatVecMult(B, x - y) * Exp(-SqNorm2(MatVecMult(B, x - y)))", 0)
      expected <- t(vapply(1:29, \(j) rowSums(sapply(1:37, \(i) z(i, j) * exp(-norms[i, j]))), numeric(3)))
      close(sums, expected)
    })
  }
})

test_that("missing and distant points, and matrices that are not finite, do not change other results", {
  withr::local_seed(3)
  x <- points(40, 3, 1e4)
  y <- points(29, 3, 1e4)
  A <- crossprod(matrix(rnorm(9), 3))
  expected <- rowSums(exp(-quadratic(x, y, A)))
  for_each_backend(\(kernel, precision) {
    gauss <- kernel("Sum_Reduction(Exp(-WeightedSqDist(A, x, y)), 1)", arguments(3, "A = Pm(9)"))
    for (odd in list(NA, Inf, -9999)) for (row in list(1, 40, c(1, 20))) {
      some <- replace(x, cbind(rep(row, each = 3), 1:3), odd)
      value <- gauss(list(some, y, A))
      expect_close(value[-row, , drop = FALSE], expected[-row], precision)
      if (is.na(odd)) expect_true(all(is.na(value[row, ])))
    }
    expect_true(all(is.na(gauss(list(x, y, replace(A, 2, NA))))))
    expect_identical(dim(gauss(list(x[0, ], y, A))), c(0L, 1L))
    expect_identical(c(gauss(list(x, y[0, ], A))), numeric(40))
  })
})

test_that("each batch has a separate matrix and a separate reference point", {
  withr::local_seed(4)
  x <- array(rnorm(37 * 3 * 2), c(37, 3, 2)) + rep(c(0, 1e4), each = 37 * 3)
  y <- array(rnorm(29 * 3 * 2), c(29, 3, 2)) + rep(c(0, 1e4), each = 29 * 3)
  A <- array(replicate(2, crossprod(matrix(rnorm(9), 3))), c(9, 2))
  for_each_backend(\(kernel, precision) {
    if (precision == "float32") return()
    gauss <- kernel("Sum_Reduction(Exp(-WeightedSqDist(A, x, y)), 1)", arguments(3, "A = Pm(9)"))
    value <- gauss(list(x, y, array(A, c(1, 9, 2))))
    for (n in 1:2) {
      expected <- rowSums(exp(-quadratic(x[, , n], y[, , n], matrix(A[, n], 3))))
      expect_close(as.matrix(value[, , n]), expected, precision)
    }
  })
})

test_that("points and matrices may be on the GPU", {
  skip_without_gpu()
  withr::local_seed(5)
  x <- points(37, 3, 1e4)
  y <- points(29, 3, 1e4)
  A <- crossprod(matrix(rnorm(9), 3))
  expected <- rowSums(exp(-quadratic(x, y, A)))
  for (precision in c("float64", "float32")) {
    gauss <- keops_kernel("Sum_Reduction(Exp(-WeightedSqDist(A, x, y)), 1)", arguments(3, "A = Pm(9)"),
                          precision = precision, backend = "cuda")
    there <- \(z) gpu_matrix(z, precision)
    for (matrix in list(A, there(matrix(A, 1)))) {
      expect_close(as.matrix(gauss(list(there(x), there(y), matrix))), expected, precision)
    }
  }
})
