# Symbolic matrices with ranges. The oracle is a dense matrix with zeros outside of the ranges, or a loop over the pairs
# within the ranges.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y
rows <- rbind(c(1, 3), c(4, 4), c(6, 10)) # row 5 is in no range
columns <- rbind(c(1, 2), c(3, 6))
keep <- rbind(c(TRUE, FALSE), c(TRUE, TRUE), c(FALSE, TRUE))
ranges <- from_matrix(rows, columns, keep)
there <- matrix(FALSE, 10, 6)
for (a in 1:3) for (b in which(keep[a, ])) there[rows[a, 1]:rows[a, 2], columns[b, 1]:columns[b, 2]] <- TRUE

K <- with_ranges(exp(-sqdist(Vi(X), Vj(Y))), ranges)
dense <- exp(-D2) * there
absent <- ifelse(there, exp(-D2), NA)
# A function of the pairs within the ranges, for each row or column.
each <- \(margin, f, x = absent) cbind(apply(x, margin, \(v) f(v[!is.na(v)])))

test_that("products, sums and blocks agree with a matrix that is zero outside of the ranges", {
  expect_equal(K %*% B, dense %*% B)
  expect_equal(t(K) %*% X, t(dense) %*% X)
  expect_equal(t(t(K)) %*% B, dense %*% B)
  expect_equal((1:10) %*% K, (1:10) %*% dense)
  expect_equal(crossprod(K, X), crossprod(dense, X))
  expect_equal(tcrossprod(K, t(B)), dense %*% B)
  expect_equal(rowSums(K), rowSums(dense))
  expect_equal(colSums(K), colSums(dense))
  expect_equal(sum(K), sum(dense))
  expect_equal(as.matrix(K), dense)
  expect_equal(as.matrix(t(K)), t(dense))
  expect_equal(diag(K), diag(dense))
  for (pick in alist(K[3:6, ], K[2, 3], K[c(7, 7, 1), -1], K[, 4, drop = FALSE], K[13], K[cbind(5:7, 4:6)])) {
    expect_equal(eval(pick), eval(pick, list(K = dense)), info = deparse(pick))
  }
  difference <- with_ranges(Vi(X) - Vj(Y), ranges)
  expect_equal(as.array(difference), array(outer(1:10, 1:6, Vectorize(\(i, j) i)), c(10, 6, 3)) * 0 +
                 vapply(1:3, \(k) outer(X[, k], Y[, k], "-") * there, there + 0))
  wave <- exp(1i * sqdist(Vi(X), Vj(Y)))
  expect_equal(with_ranges(wave, ranges) %*% B, (exp(1i * D2) * there) %*% B)
  expect_equal(as.matrix(with_ranges(wave, ranges)), exp(1i * D2) * there)
})

test_that("other reductions omit the pairs outside of the ranges", {
  expect_equal(min(K, "j"), suppressWarnings(each(1, min)))
  expect_equal(max(K, "i"), each(2, max))
  expect_equal(mean(K, "j"), each(1, mean))
  expect_equal(rowMeans(K), as.vector(each(1, mean)))
  expect_equal(mean(K), mean(absent, na.rm = TRUE))
  expect_equal(range(K), range(absent, na.rm = TRUE))
  expect_equal(lazy_reduce(K, "Count", "j"), cbind(rowSums(there)))
  expect_equal(argmin(K, "j"), cbind(apply(absent, 1, \(v) which.min(v)[1])))
  expect_equal(logsumexp(K, "j", weight = Vj(abs(B))), log((exp(exp(-D2)) * there) %*% abs(B)))
})

test_that("arithmetic and derivatives keep the ranges", {
  x <- Vi(X)
  y <- Vj(Y)
  D <- with_ranges(sqdist(x, y), ranges)
  expect_equal(as.matrix(exp(-D)), dense)
  expect_equal(as.matrix(2 * exp(-D) + sqdist(x, y)), (2 * exp(-D2) + D2) * there)
  expect_equal(as.matrix(if_else(sqdist(x, y) > 1, D, -1)), ifelse(D2 > 1, D2, -1) * there)
  expect_equal(as.matrix(D > 1), (D2 > 1) * there)
  expect_equal(sum(grad(D, 1, x), "j"), 2 * (X * rowSums(there) - there %*% Y))
  expect_equal(sum(laplacian(D, x), "j"), cbind(6 * rowSums(there)))
  expect_identical((D * D)@ranges, ranges)
  expect_equal(as.matrix(with_ranges(D, NULL)), D2)
  expect_equal(sum(D, "j", ranges = unclass(ranges)), cbind(rowSums(D2 * there)))
  objective <- keops_objective(exp(-D), x)
  value <- \(X) sum(exp(-dense_sqdist(X, Y)) * there)
  expect_equal(objective$fn(X), value(X))
  expect_equal(objective$gr(X), as.vector(central_difference(value, X)), tolerance = 1e-6)
  expect_identical(attr(keops_formula(D), "ranges"), ranges)
  expect_snapshot(print(D))
  skip_if_not_installed("RSpectra")
  expect_equal(RSpectra::svds(K, 2)$d, svd(dense)$d[1:2])
})

# Three clusters; pairs of the first and the second cluster are within the ranges, too.
blocks <- \(n) cbind(c(0, 2 * n, 3 * n) + 1, c(2 * n, 3 * n, 6 * n))
met <- rbind(c(TRUE, TRUE, FALSE), c(TRUE, TRUE, FALSE), c(FALSE, FALSE, TRUE))
square_case <- function(n, p = 2) {
  case <- problem(6 * n, p)
  cluster <- rep(1:3, c(2, 1, 3) * n)
  c(case, list(ranges = from_matrix(blocks(n), blocks(n), met), there = met[cluster, cluster]))
}

test_that("systems within ranges are solved with every preconditioner except Vecchia's", {
  withr::local_seed(5)
  case <- square_case(20)
  expected <- solve(case$K * case$there + diag(0.1, 120), case$b)
  for_each_space(function(backend) {
    op <- gaussian(2, backend = backend)
    for (precond in c("none", "jacobi", "pivoted_cholesky", "nystrom", "auto")) {
      fit <- kernel_solve(op, "b", case$input, 0.1, tol = 1e-10, precond = precond, ranges = case$ranges)
      expect_equal(fit$solution, expected, tolerance = 1e-8, info = precond)
    }
    fit <- kernel_solve(op, "b", case$input, 0.1, tol = 1e-10, method = "minres", ranges = case$ranges)
    expect_equal(fit$solution, expected, tolerance = 1e-8)
    single <- gaussian(2, backend = backend, precision = "float32")
    expect_equal(kernel_solve(single, "b", case$input, 0.1, tol = 1e-9, ranges = case$ranges)$solution, expected,
                 tolerance = 1e-7)
    P <- kernel_preconditioner(op, "b", case$input, 0.1, rank = 120, ranges = case$ranges)
    expect_equal(P$logdet, c(determinant(case$K * case$there + diag(0.1, 120))$modulus), tolerance = 1e-6)
    expect_error(kernel_preconditioner(op, "b", case$input, 0.1, "vecchia", ranges = case$ranges),
                 class = "kernops_input_error")
  })
  x <- Vi(case$input$x)
  K <- with_ranges(exp(-8 * sqdist(x, Vj(case$input$x))), case$ranges)
  expect_equal(suppressMessages(solve(K, case$b, 0.1, tol = 1e-10)), expected, tolerance = 1e-8)
})

test_that("the gradient of a solution within ranges agrees with a matrix that is zero outside", {
  withr::local_seed(6)
  case <- square_case(3, 1)
  lambda <- 0.5
  eta <- uniform(18)
  value <- function(s = 8, x = case$input$x, y = case$input$x, b = case$b, lambda = 0.5) {
    sum(eta * solve(exp(-s * dense_sqdist(x, y)) * case$there + diag(lambda, 18), b))
  }
  fit <- kernel_solve(gaussian(), "b", case$input, lambda, tol = 1e-13, ranges = case$ranges)
  gradient <- kernel_solve_grad(fit, eta)
  expect_equal(gradient$s, central_difference(\(s) value(s = s), 8), tolerance = 1e-6)
  expect_equal(gradient$x, central_difference(\(x) value(x = x), case$input$x), tolerance = 1e-6)
  expect_equal(gradient$y, central_difference(\(y) value(y = y), case$input$x), tolerance = 1e-6)
  expect_equal(gradient$b, central_difference(\(b) value(b = b), case$b), tolerance = 1e-6)
  expect_equal(gradient$lambda, c(central_difference(\(l) value(lambda = l), lambda)), tolerance = 1e-6)
})

test_that("in_ranges() agrees with a loop, also for clusters at the ends and for clusters of one point", {
  withr::local_seed(7)
  for (trial in 1:20) {
    ends <- \(n) {
      cuts <- sort(sample(n, 5))
      cbind(cuts[-5] + 1, cuts[-1])[sort(sample(4, 3)), ]
    }
    i <- ends(12)
    j <- ends(9)
    keep <- matrix(runif(9) < 0.5, 3)
    there <- matrix(FALSE, 12, 9)
    for (a in 1:3) for (b in which(keep[a, ])) there[i[a, 1]:i[a, 2], j[b, 1]:j[b, 2]] <- TRUE
    made <- from_matrix(i, j, keep)
    expect_identical(in_ranges(made, c(row(there)), c(col(there))), c(there))
    expect_identical(pair_count(made), as.numeric(sum(there)))
  }
})

one_way <- from_matrix(blocks(2), blocks(2), upper.tri(met, diag = TRUE))
other <- from_matrix(rows, columns, !keep)
L <- with_ranges(sqdist(Vi(X), Vj(Y)), other)
S <- with_ranges(exp(-sqdist(Vi(rbind(X, Y[1:2, ])), Vj(rbind(X, Y[1:2, ])))), one_way)
test_mistakes("kernops_input_error", alist(
  `ranges that differ` = K + L,
  `weights of other ranges` = logsumexp(K, "j", weight = L),
  `a reduction over other ranges` = sum(K, "j", ranges = other),
  `ranges of nothing` = with_ranges(Vi(3) - Vj(3), ranges),
  `ranges of a variable without data` = sum(K * Vj(1), "j"),
  `no ranges to speak of` = with_ranges(K, 1:6),
  `a system that is not symmetric` = solve(S, 1:12, 1)
))
test_mistakes("kernops_dim_error", alist(`ranges of other points` = with_ranges(sqdist(Vi(Y), Vj(X)), ranges)))
