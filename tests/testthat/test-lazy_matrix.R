# Symbolic matrices as matrices: products, blocks, linear systems and names.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("a symbolic matrix behaves as a matrix", {
  K <- exp(-sqdist(Vi(X), Vj(Y)) / 2)
  dense <- exp(-D2 / 2)
  expect_identical(dim(K), c(10L, 6L))
  expect_equal(as.matrix(K), dense, tolerance = 1e-12)
  expect_equal(K %*% B, dense %*% B, tolerance = 1e-12)
  expect_equal(K %*% B[, 1], dense %*% B[, 1], tolerance = 1e-12)
  expect_equal(t(K) %*% (1:10), t(dense) %*% (1:10), tolerance = 1e-12)
  expect_equal((1:10) %*% K, (1:10) %*% dense, tolerance = 1e-12)
  expect_equal(t(X) %*% K, t(X) %*% dense, tolerance = 1e-12)
  expect_equal(K[2:4, -1], dense[2:4, -1], tolerance = 1e-12)
  expect_equal(K[3, 5], dense[3, 5], tolerance = 1e-12)
  expect_equal(K[, 2, drop = FALSE], dense[, 2, drop = FALSE], tolerance = 1e-12)
  expect_equal(as.matrix(t(K)), t(dense), tolerance = 1e-12)
  expect_equal(diag(K), diag(dense), tolerance = 1e-12)
  expect_identical(dim(Vi(X) - Vj(Y)), c(10L, 6L, 3L))
  expect_equal(as.matrix(Vi(X) - Vj(Y))[4, 2, ], X[4, ] - Y[2, ])
  band <- lazy_op("IndexI") <= lazy_op("IndexJ")
  expect_equal(as.matrix(band * K), (row(dense) <= col(dense)) * dense, tolerance = 1e-12)
  expect_equal(as.matrix(t(band * K)), t((row(dense) <= col(dense)) * dense), tolerance = 1e-12)
  G <- exp(-sqdist(Vi(X), Vj(X)))
  solution <- solve(G, X, lambda = 0.1, tol = 1e-12)
  expect_equal(solution, solve(as.matrix(G) + diag(0.1, 10), X), tolerance = 1e-8)
})

test_that("rows and columns have the names of their points", {
  x <- `rownames<-`(X, letters[1:10])
  y <- `rownames<-`(Y, LETTERS[1:6])
  K <- exp(-sqdist(Vi(x), Vj(y)) / 2)
  dense <- matrix(exp(-D2 / 2), 10, dimnames = list(letters[1:10], LETTERS[1:6]))
  expect_identical(dimnames(K), dimnames(dense))
  expect_null(dimnames(exp(-sqdist(Vi(X), Vj(Y)))))
  expect_equal(as.matrix(K), dense)
  expect_equal(as.matrix(t(K)), t(dense))
  for (pick in alist(K["c", ], K[, "B"], K[c("a", "j"), c("F", "A")], K[-1, 2:3], K[3, 4], K[2, 2:3, drop = FALSE])) {
    expect_equal(eval(pick), eval(pick, list(K = dense)), info = deparse(pick))
  }
  named <- matrix(1:12, 6, dimnames = list(LETTERS[1:6], c("u", "v")))
  expect_equal(K %*% named, dense %*% named)
  expect_equal(t(K) %*% dense, t(dense) %*% dense)
  expect_equal(t(named) %*% t(K), t(named) %*% t(dense))
  expect_equal(diag(K), diag(dense))
  expect_equal(diag(sqdist(Vi(x), Vj(x))), diag(`dimnames<-`(matrix(0, 10, 10), list(letters[1:10], letters[1:10]))))
  expect_error(K["z", 1], class = "kernops_input_error")
})

test_that("blocks without rows or columns have the dimensions of dense blocks", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- exp(-D2)
  for (pick in alist(K[0, ], K[, 0], K[0, 0], K[integer(), 2], K[0, 1:2, drop = FALSE])) {
    expect_equal(dim(eval(pick)), dim(eval(pick, list(K = dense))), info = deparse(pick))
  }
})

test_that("a right-hand side can be a single number, and products print no message", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  expect_no_message(product <- K %*% Vj(B))
  expect_equal(product, exp(-D2) %*% B)
  one <- exp(-sqdist(Vi(X), Vj(Y[1, , drop = FALSE])))
  expect_equal(one %*% 5, 5 * exp(-D2[, 1, drop = FALSE]))
  expect_equal(5 %*% t(one), t(5 * exp(-D2[, 1, drop = FALSE])))
})

test_that("products require the dimensions that products of matrices require", {
  column <- Vi(X[, 1])
  expect_equal(column %*% 5, X[, 1, drop = FALSE] %*% 5)
  expect_equal(column %*% t(1:4), X[, 1] %*% t(1:4))
  expect_equal(Vj(Y[, 1]) %*% (1:6), t(Y[, 1]) %*% (1:6))
  expect_equal((1:10) %*% column, (1:10) %*% X[, 1])
  for (unfit in alist(column %*% (1:5), (1:5) %*% Vj(Y[, 1]), column %*% Vj(Y[, 1]), Pm(2) %*% (1:5))) {
    expect_error(eval(unfit), class = "kernops_dim_error", label = deparse(unfit))
  }
  expect_s3_class(exp(-sqdist(Vi(3), Vj(3))) %*% Vj(2), "keops_kernel")
})

test_that("products with a matrix as a parameter equal products in R", {
  withr::local_seed(14)
  A <- matrix(rnorm(6), 3)
  U <- matrix(rnorm(15), 5)
  S <- crossprod(matrix(rnorm(4), 2))
  Z <- matrix(rnorm(10), 5)
  expect_equal(sum(matvecmult(Pm(A), Vi(Z)), "j"), Z %*% t(A))
  expect_equal(sum(matvecmult(2 * Pm(A), Vi(Z)), "j"), 2 * Z %*% t(A))
  expect_equal(sum(vecmatmult(Vi(U), Pm(A)), "j"), U %*% A)
  expect_equal(sum(tensordot(Pm(A), Vi(Z), c(3, 2), 2, 2, 1), "j"), Z %*% t(A))
  expect_equal(sum(weightedsqnorm(Vi(Z), Pm(S)), "j"), cbind(rowSums(Z %*% S * Z)))
  K <- exp(-sqdist(matvecmult(Pm(A), Vi(Z)), Vj(U)))
  expect_equal(as.matrix(K), exp(-outer(1:5, 1:5, Vectorize(\(i, j) sum((A %*% Z[i, ] - U[j, ])^2)))))
  expect_equal(K[2:3, 1], as.matrix(K)[2:3, 1])
  expect_equal(sum(matvecmult(Pm(A), Vi(2)), "j")(list(Z)), Z %*% t(A))
  a <- Pm(A)
  gradient <- sum(grad(sum(matvecmult(a, Vi(Z))), 1, a), "j")
  expect_equal(gradient, t(apply(Z, 1, \(z) rep(z, 3))))
  for (row in list(A[1, ], t(A[1, ]), cbind(A[1, ]))) expect_equal(sum(matvecmult(Pm(row), Vi(Z)), "j"), Z %*% A[1, ])
  for (unfit in alist(matvecmult(Pm(t(A)), Vi(Z)), Pm(A) * concat(Vi(Z), concat(Vi(Z), Vi(Z))),
                      tensorprod(Pm(A), Vi(Z)), matvecmult(Pm(t(A)), Vi(2)), matvecmult(concat(Pm(A), Pm(A)), Vi(Z)))) {
    expect_error(sum(eval(unfit), "j"), "the parameter", class = "kernops_dim_error", label = deparse1(unfit))
  }
})

test_that("blocks of any shape agree with the dense matrix, also if other entries are infinite", {
  inverse <- 1 / sqdist(Vi(X), Vj(rbind(X, X)))
  dense <- 1 / dense_sqdist(X, rbind(X, X))
  expect_equal(as.matrix(inverse), dense)
  waves <- exp(1i * (Vi(X) - Vj(rbind(X, X)))) * lazy_op("IndexJ")
  each <- sapply(1:20, \(j) exp(1i * t(t(X) - rbind(X, X)[j, ])) * j, simplify = "array") |> aperm(c(1, 3, 2))
  for (at in list(list(3, 1:20), list(1:10, 17), list(c(2, 2, 9), 20:3), list(4, 4), list(0, 2:3), list(-1, 0))) {
    i <- at[[1]]
    j <- at[[2]]
    expect_equal(inverse[i, j, drop = FALSE], dense[i, j, drop = FALSE])
    expect_equal(waves[i, j, drop = FALSE], each[i, j, , drop = FALSE])
  }
})

test_that("the error of solve() for a matrix that is not square names its dimensions", {
  expect_error(solve(sqdist(Vi(X), Vj(Y)), 1:6), "square matrix of scalars: K is 10 x 6", class = "kernops_dim_error")
  expect_error(solve(Vi(X) - Vj(X), 1:10), "square matrix of scalars: K is 10 x 10 x 3", class = "kernops_dim_error")
})

test_that("solve() chooses a preconditioner, and reports the choice", {
  withr::local_seed(3)
  x <- uniform(600, 2)
  b <- rnorm(600)
  smooth <- exp(-sqdist(Vi(x), Vj(x)) * 2)
  rough <- exp(-10 * norm2(Vi(x) - Vj(x)))
  for (case in list(list(smooth, "pivoted_cholesky"), list(rough, "vecchia"))) {
    rlang::reset_message_verbosity("kernops_preconditioner")
    expect_message(a <- solve(case[[1]], b, 1e-3, tol = 1e-10), case[[2]], class = "kernops_preconditioner")
    expect_equal(a, solve(as.matrix(case[[1]]) + diag(1e-3, 600), cbind(b)), tolerance = 1e-6, ignore_attr = TRUE)
  }
  expect_no_message(solve(rough, b, 1e-3))
  signed <- solve(smooth - 2, b, 0.5, method = "minres", tol = 1e-10)
  expect_equal(signed, solve(as.matrix(smooth) - 2 + diag(0.5, 600), cbind(b)), tolerance = 1e-6, ignore_attr = TRUE)
  expect_error(solve(smooth - 2, b, 0.5), "not positive definite", class = "kernops_input_error")
})

test_that("the automatic preconditioner is reported, and saves iterations", {
  withr::local_seed(3)
  x <- uniform(600, 2)
  op <- keops_kernel("Sum_Reduction(Exp(-10 * Norm2(x - y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
  input <- list(x = x, y = x, b = rnorm(600))
  plain <- kernel_solve(op, "b", input, 1e-3)
  quick <- kernel_solve(op, "b", input, 1e-3, precond = "auto")
  expect_lt(quick$iterations, plain$iterations / 2)
  expect_output(print(quick), "preconditioner +vecchia, rank")
  numbered <- keops_kernel("Sum_Reduction(IfElse(-Abs(IndexI() - IndexJ()), 2, 0) * b + 0 * Sum(x + y), 1)",
                           c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
  expect_equal(kernel_solve(numbered, "b", input, precond = "auto")$solution, input$b / 2, ignore_attr = TRUE)
})
