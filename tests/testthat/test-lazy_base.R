# R's functions of matrices compute a symbolic matrix without storing it, or recommend another call.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("row and column sums, products and atan2() agree with the dense matrix", {
  rownames(X) <- letters[1:10]
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- `rownames<-`(exp(-D2), letters[1:10])
  for (f in list(rowSums, colSums, rowMeans, colMeans)) expect_equal(f(K), f(dense))
  expect_equal(rowSums(sqdist(Vi(3), Vj(3)))(list(X, Y)), as.matrix(rowSums(D2)), ignore_attr = TRUE)
  expect_equal(crossprod(K, X), crossprod(dense, X))
  expect_equal(crossprod(K, 1:10), crossprod(dense, 1:10))
  expect_equal(crossprod(X, K), crossprod(X, dense))
  expect_equal(tcrossprod(K, t(B)), tcrossprod(dense, t(B)))
  expect_equal(tcrossprod(t(B), K), tcrossprod(t(B), dense))
  expect_equal(as.matrix(atan2(K, 2)), atan2(dense, 2))
  expect_equal(as.matrix(atan2(-1, K)), atan2(-1, dense))
  expect_equal(as.matrix(atan2(K, log(K))), atan2(dense, log(dense)))
  expect_identical(list(rowSums(X), crossprod(X), atan2(1, 2)),
                   list(base::rowSums(X), base::crossprod(X), base::atan2(1, 2)))
})

test_that("entries of a symbolic matrix are indexed as in R, and diag() is R's own function", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  dense <- exp(-D2)
  pairs <- cbind(c(1, 10, 3), c(6, 1, 3))
  expect_equal(K[pairs], dense[pairs])
  expect_equal(K[c(60, 1, 11)], dense[c(60, 1, 11)])
  expect_equal((Vi(X) - Vj(Y))[pairs], X[pairs[, 1], ] - Y[pairs[, 2], ])
  expect_true(is.matrix(K))
  expect_false(is.matrix(Vi(X) - Vj(Y)))
  expect_identical(environmentName(environment(diag)), "base")
})

test_that("functions that need the stored matrix store small matrices, and refuse large ones", {
  K <- exp(-sqdist(Vi(X), Vj(X)))
  dense <- exp(-dense_sqdist(X, X))
  functions <- list(eigen = eigen, svd = svd, qr = qr, chol = \(x) chol(x + (lazy_op("IndexI") == lazy_op("IndexJ"))),
                    apply = \(x) apply(x, 1, sum), scale = scale, dist = dist, prcomp = prcomp,
                    kmeans = \(x) kmeans(x, x[1:2, ])$cluster)
  expect_equal(eigen(K)$values, eigen(dense)$values)
  for (name in names(functions)) {
    expect_no_error(functions[[name]](K))
    expect_error(with_kernops(functions[[name]](K), dense_entries = 99), "would store", class = "kernops_dense_error",
                 label = name)
  }
  local_kernops(dense_entries = 1)
  expect_equal(as.matrix(K), dense)
  expect_equal(lapply(list(K), as.matrix), list(dense))
  expect_equal(K[, ], dense)
})

test_mistakes("kernops_error", alist(
  `eigenvalues of what is large` = with_kernops(eigen(sqdist(Vi(X), Vj(X))), dense_entries = 10),
  `rows of what is large` = with_kernops(apply(sqdist(Vi(X), Vj(Y)), 1, max), dense_entries = 10),
  `smaller of two` = pmin(sqdist(Vi(X), Vj(Y)), 1),
  `larger of two` = pmax(1, sqdist(Vi(X), Vj(Y))),
  `a condition` = ifelse(sqdist(Vi(X), Vj(Y)) > 1, 1, 0),
  `sums without missing numbers` = rowSums(sqdist(Vi(X), Vj(Y)), na.rm = TRUE),
  `sums of vectors` = colSums(Vi(X) - Vj(Y)),
  `a matrix by itself` = crossprod(sqdist(Vi(X), Vj(Y))),
  `a matrix by itself, transposed` = tcrossprod(sqdist(Vi(X), Vj(Y))),
  `entries of points` = Vi(X)[1:3],
  `a coordinate of points` = Vi(X)[, 2],
  `a summary` = summary(sqdist(Vi(X), Vj(Y))),
  `in reverse` = rev(sqdist(Vi(X), Vj(Y))),
  `a median` = median(sqdist(Vi(X), Vj(Y))),
  `a determinant` = det(sqdist(Vi(X), Vj(X))),
  `beside another` = cbind(sqdist(Vi(X), Vj(Y)), 1),
  `below another` = rbind(1:6, sqdist(Vi(X), Vj(Y))),
  `numbers as weights` = logsumexp(sqdist(Vi(X), Vj(Y)), "j", 1:6),
  `entries that are not there` = sqdist(Vi(X), Vj(Y))[61]
))

test_that("RSpectra accepts symbolic matrices", {
  skip_if_not_installed("RSpectra")
  K <- exp(-sqdist(Vi(X), Vj(X)))
  decomposition <- eigen(exp(-dense_sqdist(X, X)))
  expect_equal(RSpectra::eigs_sym(K, 3)$values, decomposition$values[1:3])
  expect_equal(abs(RSpectra::eigs_sym(K, 2)$vectors), abs(decomposition$vectors[, 1:2]))
  expect_equal(Re(RSpectra::eigs(K, 3)$values), decomposition$values[1:3])
  expect_equal(RSpectra::svds(exp(-sqdist(Vi(X), Vj(Y))), 2)$d, svd(exp(-D2))$d[1:2])
  expect_error(RSpectra::eigs_sym(exp(-sqdist(Vi(X), Vj(Y))), 2), "square", class = "kernops_dim_error")
  expect_error(RSpectra::eigs_sym(K, 2, sigma = 0), "sigma", class = "kernops_input_error")
})

test_that("a message says once that a vector with one number for each row is used as a parameter", {
  K <- sqdist(Vi(X), Vj(Y))
  rlang::reset_message_verbosity("kernops_parameter")
  expect_message(sum(K * seq_len(nrow(X)), "j"), "Vi(v)", fixed = TRUE, class = "kernops_parameter")
  expect_no_message(sum(K * seq_len(nrow(X)), "j"))
  rlang::reset_message_verbosity("kernops_parameter")
  expect_no_message(K * 2 + elem(Vi(X), 1) / elem(Vj(Y), 1))
  expect_message(seq_len(nrow(Y)) - K, "Vj(v)", fixed = TRUE, class = "kernops_parameter")
})

test_that("functions of base work if kernops is not attached", {
  K <- exp(-sqdist(Vi(X), Vj(Y)))
  G <- exp(-D2)
  for (name in c("rowSums", "colSums", "rowMeans", "colMeans")) {
    f <- get(name, baseenv())
    expect_equal(f(K), f(G), label = name)
    expect_equal(lapply(list(K), f), list(f(G)), label = name)
    expect_equal(do.call(f, list(x = K, dims = 1)), f(G), label = name)
    expect_error(f(K, na.rm = TRUE), class = "kernops_input_error")
    expect_error(f(Vi(X) - Vj(Y)), class = "kernops_dim_error")
  }
  if (getRversion() >= "4.4.0") {
    expect_equal(base::crossprod(K, X), crossprod(G, X))
    expect_equal(base::tcrossprod(K, t(B)), tcrossprod(G, t(B)))
  } else {
    # this version of R raises an error before it searches for an S4 method (ARCHITECTURE.md)
    expect_error(base::crossprod(K, X), "numeric/complex matrix")
    expect_error(base::tcrossprod(K, t(B)), "numeric/complex matrix")
  }
  expect_error(base::atan2(K, 1), "non-numeric argument")
  rownames(X) <- letters[1:10]
  expect_named(base::rowSums(sqdist(Vi(X), Vj(Y))), letters[1:10])
  after <- function(K) {
    sums <- base::rowSums(K)
    length(sums) + 1
  }
  expect_equal(after(K), 11)
  expect_equal(base::rowSums(sqdist(Vi(3), Vj(3)))(list(X, Y)), cbind(base::rowSums(D2)), ignore_attr = TRUE)
  expect_equal(base::diag(K[1:6, ]), diag(G[1:6, ]))
  expect_error(base::diag(Vi(X) - Vj(Y)), "`diag\\(\\)` requires", class = "kernops_dim_error")
  expect_error(lapply(list(Vi(X) - Vj(Y)), base::diag), class = "kernops_dim_error")
})

test_that("methods are found in a process that does not attach kernops", {
  skip_on_cran()
  code <- "x <- 1:9 / 9
    K <- exp(-kernops::sqdist(kernops::Vi(x), kernops::Vj(x)))
    G <- exp(-as.matrix(dist(x))^2)
    near <- function(a, b) isTRUE(all.equal(a, b, tolerance = 1e-5, check.attributes = FALSE))
    cat(near(rowSums(K), rowSums(G)), near(colMeans(K), colMeans(G)), near(kernops::crossprod(K, x), crossprod(G, x)),
        near(as.matrix(kernops::atan2(K, 2)), atan2(G, 2)), near(max(K), max(G)), near(t(K) %*% x, t(G) %*% x),
        near(drop(solve(K, x, lambda = 1)), solve(G + diag(9), x)), near(diag(K), diag(G)))"
  expect_identical(run_fresh(code), paste(rep("TRUE", 8), collapse = " "))
})
