# The test cases of PyKeOps in PyKeOps' own spelling (see helper-keops_shim.R), against plain R.
#
# Cases without a counterpart: half precision, torch.func, transposed memory, and reading a parameter at symbolic
# positions, A[I * ncol + J], for which the formula language has no operation. In kernops, a slice K[2:8, 3:14] and
# selected pairs are numbers, not tensors. Gradients are requested explicitly, because kernops records no tape. Saved
# operators are tested in test-keops_kernel.R, and reductions over nearby clusters in test-keops_ranges.R.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y
py <- pykeops_names
g <- Y[, 2, drop = FALSE]
f <- X[, 1, drop = FALSE]
sigma <- 0.4

each <- function(f) {
  do.call(rbind, lapply(1:10, \(i) Reduce(`+`, lapply(1:6, \(j) f(X[i, ], Y[j, ], j)))))
}

aliases <- c("p=Pm(0,1)", "a=Vj(1,1)", "x=Vi(2,3)", "y=Vj(3,3)")
weighted <- rep((sigma - g)^2, each = 10) * exp(-D2)
scaled <- (X %*% t(Y))^2
pykeops_formulas <- list(
  list("Square(p-a)*Exp(x+y)", aliases, "Sum", list(sigma, g, X, Y),
       each(\(a, b, j) (sigma - g[j])^2 * exp(a + b))),
  list("Square(p-a)*Exp(-SqNorm2(x-y))", aliases, "LogSumExp", list(sigma, g, X, Y),
       cbind(log(rowSums(exp(weighted))))),
  list("Square(p-Var(3,1,1))*Exp(-SqNorm2(y-x))", c("p=Pm(0,1)", "x=Vi(1,3)", "y=Vj(2,3)"), "Sum", list(sigma, X, Y, g),
       cbind(rowSums(weighted))),
  list("Grad(Grad(x + Var(1,3,1), x, Var(2,3,0)),x, Var(3,3,0))", "x=Vi(0,3)", "Sum", list(X, Y, X, X), 0 * X),
  list("Pow((X|Y),2) * ((Elem(P,0) * X) + (Elem(P,1) * Y))", c("P = Pm(2)", "X = Vi(3) ", "Y = Vj(3) "), "Sum",
       list(c(0.7, 0.2), X, Y), 0.7 * rowSums(scaled) * X + 0.2 * scaled %*% Y),
  list("x", "x=Vj(1)", "Sum", list(g), matrix(sum(g))),
  list("param", "param=Pm(1)", "Sum", list(sigma), matrix(sigma))
)

test_that("Genred() of formulas is right in both precisions", {
  for (case in pykeops_formulas) for (precision in c("float64", "float32")) with_kernops({
    op <- Genred(case[[1]], case[[2]], reduction_op = case[[3]], axis = 1)
    expect_close(do.call(op, case[[4]]), case[[5]], precision, info = case[[1]])
  }, precision = precision)
})

test_that("Genred() of reductions with an argument is right", {
  softmax <- Genred("Square(p-a)*Exp(-SqNorm2(x-y))", aliases, "SumSoftMaxWeight", axis = 1, formula2 = "y")
  expect_close(softmax(sigma, g, X, Y), exp(weighted) %*% Y / rowSums(exp(weighted)))
  variables <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(3)")
  softmax <- Genred("SqDist(x,y)", variables, "SumSoftMaxWeight", axis = 1, formula2 = "b")
  expect_close(softmax(X, Y, B), exp(D2) %*% B / rowSums(exp(D2)))
  nearest <- Genred("SqDist(x,y)", c("x = Vi(3)", "y = Vj(3)"), "ArgKMin", axis = 1, opt_arg = 3)
  expect_equal(nearest(X, Y), t(apply(D2, 1, order))[, 1:3] - 1)
  op <- keops_kernel("LogSumExp_Reduction((Elem(P,0) * X) + (Elem(P,1) * Y), 1)", c("P = Pm(2)", "X=Vi(1)", "Y=Vj(1)"))
  shares <- exp(outer(0.7 * c(f), 0.2 * c(g), `+`))
  input <- list(c(0.7, 0.2), f, g, matrix(1, 10))
  expect_close(keops_grad(op, "X")(input), matrix(0.7, 10))
  expect_close(keops_grad(op, "Y")(input), cbind(0.2 * colSums(shares / rowSums(shares))))
})

test_that("Genred() of batches in two dimensions is right", {
  withr::local_seed(2)
  x <- array(runif(10 * 3 * 2 * 3), c(10, 3, 2, 3))
  l <- array(runif(10 * 3), c(10, 1, 1, 3))
  y <- array(runif(6 * 3 * 2), c(6, 3, 2, 1))
  s <- array(1 + runif(3), c(1, 1, 1, 3))
  variables <- c("x = Vi(3)", "l = Vi(1)", "y = Vj(3)", "s = Pm(1)")
  op <- Genred("1 / Exp(1 + Sum(Square(l + x * y) + s))", variables, axis = 1)
  term <- \(i, j, u, v) 1 / exp(1 + sum((l[i, 1, 1, v] + x[i, , u, v] * y[j, , u, 1])^2 + s[v]))
  expected <- array(0, c(10, 1, 2, 3))
  for (i in 1:10) for (u in 1:2) for (v in 1:3) expected[i, 1, u, v] <- sum(sapply(1:6, \(j) term(i, j, u, v)))
  expect_equal(op(x, l, y, s), expected)
})

test_that("KernelSolve() and its gradient are right", {
  n <- 10
  variables <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(3)", "oos2 = Pm(1)")
  solver <- KernelSolve("Exp(-oos2*SqDist(x,y))*b", variables, "b", axis = 1)
  dense <- \(x) exp(-sigma * dense_sqdist(x, x)) + 0.1 * diag(n)
  fit <- solver(X, X, X^2, sigma, alpha = 0.1)
  expect_close(fit$solution, solve(dense(X), X^2), tolerance = 1e-8)
  eta <- cos(X)
  gradient <- kernel_solve_grad(fit, eta)
  expect_close(gradient$x + gradient$y, central_difference(\(x) sum(solve(dense(x), X^2) * eta), X), tolerance = 1e-5)
  K <- py$exp(-sqdist(Vi(X), Vj(X)))
  solution <- suppressMessages(K |> py$solve(X^2, alpha = 0.1), "kernops_preconditioner")
  expect_close(solution, solve(exp(-dense_sqdist(X, X)) + 0.1 * diag(n), X^2), tolerance = 1e-5)
})

test_that("sums of four kernels, computed from the logarithms of the kernels, are right", {
  r2 <- py$Pm(1 / sigma^2) * (py$Vi(X) |> py$sqdist(py$Vj(Y)))
  kernels <- list(
    gaussian = list(-r2, exp(-D2 / sigma^2)),
    laplacian = list(-(r2 |> py$sqrt()), exp(-sqrt(D2) / sigma)),
    cauchy = list((1 + r2) |> py$power(-1) |> py$log(), 1 / (1 + D2 / sigma^2)),
    inverse_multiquadric = list((1 + r2) |> py$sqrt() |> py$power(-1) |> py$log(), 1 / sqrt(1 + D2 / sigma^2))
  )
  for (name in names(kernels)) {
    lazy <- kernels[[name]][[1]] |> py$logsumexp(dim = 1, weight = py$Vj(exp(g)))
    expect_close(lazy, log(kernels[[name]][[2]] %*% exp(g)), info = name)
  }
})

# Each chain of methods makes a symbolic matrix. The test compares the product of this matrix and B, and the gradient in
# x of half the sum of squares of the product.
test_that("values and gradients of symbolic matrices are right", {
  x_i <- py$Vi(X)
  y_j <- py$Vj(Y)
  chains <- list(
    clamp = list((x_i * y_j) |> py$clamp(-0.2, 0.3) |> py$sum(dim = 2) |> py$square() |> (`-`)() |> py$exp(),
                 \(a, b) exp(-sum(pmin(pmax(a * b, -0.2), 0.3))^2)),
    cos = list((py$cos(x_i) - y_j) |> py$sum(dim = 2), \(a, b) sum(cos(a) - b)),
    sinc = list((x_i + y_j) |> py$sinc() |> py$sum(dim = -1), \(a, b) sum(sin(pi * (a + b)) / (pi * (a + b)))),
    relu = list(-1 / (1 + ((2 * x_i + y_j) |> py$relu() |> py$sum(dim = -1)) / 9),
                \(a, b) -1 / (1 + sum(pmax(2 * a + b, 0)) / 9)),
    scaled = list((-(0.5 * (2 * x_i - y_j) |> py$power(2) / 1.5) |> py$sum(dim = -1)) |> py$exp(),
                  \(a, b) exp(-sum(0.5 * (2 * a - b)^2 / 1.5)))
  )
  for (name in names(chains)) {
    K <- chains[[name]][[1]]
    value <- \(x) outer(seq_len(nrow(x)), 1:6, Vectorize(\(i, j) chains[[name]][[2]](x[i, ], Y[j, ]))) %*% B
    v <- K |> py$matmul(B)
    expect_close(v, value(X), info = name)
    gradient <- grad(K * (Vi(v) | Vj(B)), 1, x_i) |> py$sum(dim = 1) # Vi(v) contains numbers
    expect_close(gradient, central_difference(\(x) sum(v * value(x)), X, 2^-14), tolerance = 1e-5, info = name)
  }
})

test_that("minima and their positions over the rows are right", {
  D_ij <- (1 + ((0.7 * py$Vi(X) + py$Vj(Y)) |> py$relu() * 1.4)^2) |> py$log() |> py$sum(-1)
  K_ij <- py$cos(D_ij^1.5 + 1) * py$sin(D_ij * (3.2 + 1.4))
  d <- outer(1:10, 1:6, Vectorize(\(i, j) sum(log(1 + (pmax(0.7 * X[i, ] + Y[j, ], 0) * 1.4)^2))))
  k <- cos(d^1.5 + 1) * sin(d * 4.6)
  expect_equal(K_ij |> py$min_argmin(dim = 0), list(cbind(apply(k, 2, min)), cbind(apply(k, 2, which.min) - 1)))
  withr::local_seed(3)
  x <- uniform(10, 990)
  y <- uniform(6, 990)
  wide <- outer(1:10, 1:6, Vectorize(\(i, j) sum(exp(-(x[i, ] + y[j, ])^2))))
  found <- (-(py$Vi(x) + py$Vj(y))^2) |> py$exp() |> py$sum(dim = -1) |> py$min_argmin(dim = 0)
  expect_equal(found, list(cbind(apply(wide, 2, min)), cbind(apply(wide, 2, which.min) - 1)))
})

test_that("long vectors are right, as points and as right-hand sides", {
  withr::local_seed(4)
  for (sizes in list(c(300, 1), c(3, 300))) for (scheme in c("block_sum", "kahan_scheme", "direct_sum")) {
    x <- uniform(20, sizes[[1]]) / sqrt(sizes[[1]])
    y <- uniform(30, sizes[[1]]) / sqrt(sizes[[1]])
    b <- uniform(30, sizes[[2]])
    K <- (-((py$Vi(x) - py$Vj(y)) |> py$square() |> py$sum(dim = 2))) |> py$exp()
    expect_close(K |> py$matmul(b, sum_scheme = scheme), exp(-dense_sqdist(x, y)) %*% b)
  }
})

test_that("products, their transposes and derivatives in the right-hand side are right", {
  K <- py$exp(-(py$Vi(X) |> py$sqdist(py$Vj(Y))))
  expect_close(py$t(K) |> py$matmul(X), t(exp(-D2)) %*% X)
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(3)", "y = Vj(3)", "b = Vj(3)"))
  v <- op(list(X, Y, B))
  by_b <- keops_grad(op, "b")(list(X, Y, B, 2 * v)) # the gradient of sum(v^2)
  expect_close(by_b, 2 * t(exp(-D2)) %*% exp(-D2) %*% B)
  again <- op(list(X, Y, 2 * by_b)) # by_b is linear in b
  expect_close(keops_grad(op, "b")(list(X, Y, B, 2 * again)), 4 * crossprod(exp(-D2)) %*% by_b)
})

# Entries of tensors are in row-major order.
tensor <- \(v, dims) aperm(array(v, rev(dims)))
flat <- \(t) as.vector(aperm(t))
over_pairs <- function(x, y, of_pair) {
  rows <- \(i) Reduce(`+`, lapply(seq_len(nrow(y)), \(j) of_pair(x[i, ], y[j, ])))
  do.call(rbind, lapply(seq_len(nrow(x)), rows))
}

test_that("products of tensors with a permutation, and their gradients, are right", {
  A <- 1:28 / 7
  product <- py$Pm(A) |> py$keops_tensordot(py$Pm(Y[1:7]), c(4, 7), 7, 1, 0) |> py$sum_reduction(dim = 1)
  expect_close(product, t(matrix(A, 4, byrow = TRUE) %*% Y[1:7]))
  withr::local_seed(5)
  dims_x <- c(2, 3, 2, 2, 4)
  dims_y <- c(2, 4, 2, 3, 2, 3)
  permute <- c(4, 3, 2, 0, 1)
  x <- uniform(3, prod(dims_x))
  y <- uniform(2, prod(dims_y))
  dot <- function(a, b) {
    a <- matrix(aperm(tensor(a, dims_x), c(2, 4, 5, 1, 3)), 6) # the last three dimensions are summed over
    b <- matrix(aperm(tensor(b, dims_y), c(2, 5, 3, 1, 4, 6)), 16)
    flat(aperm(array(a %*% b, c(3, 2, 2, 3, 3)), order(permute)))
  }
  x_i <- py$Vi(x)
  y_j <- py$Vj(y)
  lazy <- x_i |> py$keops_tensordot(y_j, dims_x, dims_y, c(4, 0, 2), c(1, 4, 2), permute)
  expect_close(lazy |> py$sum_reduction(dim = 1), over_pairs(x, y, dot))
  e <- uniform(3, 108)
  of_e <- \(x, y) sum(over_pairs(x, y, dot) * e) # linear in x, so it equals sum(x * gradient in x)
  expect_equal(sum(x * sum(grad(lazy, Vi(e), x_i), "j")), of_e(x, y))
  other <- uniform(2, ncol(y))
  expect_equal(sum(other * sum(grad(lazy, Vi(e), y_j), "i")), of_e(x, other))
})

test_that("Kronecker products of tensors are right", {
  withr::local_seed(6)
  for (dims in list(list(c(4, 5), c(4, 4)), list(c(4, 5, 4), c(4, 4, 5)), list(c(3, 5, 3, 2), c(3, 3, 5, 4)))) {
    if (prod(unlist(dims)) > 5000) local_kernops(backend = "auto") # larger products exceed the registers of a GPU
    x <- uniform(3, prod(dims[[1]]))
    y <- uniform(4, prod(dims[[2]]))
    expected <- over_pairs(x, y, \(a, b) flat(kronecker(tensor(a, dims[[1]]), tensor(b, dims[[2]]))))
    expect_close(py$Vi(x) |> py$keops_kron(py$Vj(y), dims[[1]], dims[[2]]) |> py$sum(dim = 1), expected)
    places <- 2 * seq_along(dims[[1]]) - 2 # dimensions of x and y alternate
    text <- sprintf("TensorDot(x, y, [%s], [%s], [], [], [%s])", toString(dims[[1]]), toString(dims[[2]]),
                    toString(c(places, places + 1)))
    variables <- sprintf(c("x=Vi(0,%d)", "y=Vj(1,%d)"), c(ncol(x), ncol(y)))
    expect_close(Genred(text, variables, axis = 1)(x, y), expected)
  }
})

test_that("a discrete Fourier transform of complex values is right", {
  z <- Y[, 1] + 1i * Y[, 2]
  phase <- py$exp(-2i * pi * py$Vj(Y[, 3]) * py$Vi(f))
  expect_equal(py$sum(py$Vj(z) * phase, dim = 0), cbind(z * colSums(exp(-2i * pi * outer(c(f), Y[, 3])))))
  expect_equal(py$sum(py$Vj(z) * phase, dim = 1), exp(-2i * pi * outer(c(f), Y[, 3])) %*% z)
})

test_that("slices and selected pairs are evaluated to numbers", {
  K <- py$exp(-(py$Vi(X) |> py$sqdist(py$Vj(Y))))
  expect_close(K[3:8, 2:5], exp(-D2)[3:8, 2:5])
  pairs <- cbind(c(1, 10, 3, 3), c(6, 1, 2, 2))
  expect_equal(sum(K[pairs]), sum(exp(-D2)[pairs]))
  expect_equal((py$Vi(X) - py$Vj(Y))[2:3, 4], X[2:3, ] - Y[c(4, 4), ])
})
