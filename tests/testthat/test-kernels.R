# Typical uses of comparable packages: values, gradients and second gradients of three reductions of four kernels agree
# with dense matrices to 1e-10. The oracle computes gradients by complex steps, which lose no digits.

withr::with_seed(1, {
  X <- uniform(10, 3)
  Y <- uniform(6, 3)
  B <- uniform(6, 3, low = 0.2)
  eta <- uniform(10, 3)
  eta2 <- uniform(10, 3)
})

sqdist_matrix <- \(x, y) Reduce(`+`, lapply(seq_len(ncol(x)), \(k) outer(x[, k], y[, k], `-`)^2))
kernels <- list(
  Gaussian             = list("Exp(-SqDist(x, y))", \(d2) exp(-d2)),
  Laplacian            = list("Exp(-Sqrt(SqDist(x, y)))", \(d2) exp(-sqrt(d2))),
  Cauchy               = list("Inv(1 + SqDist(x, y))", \(d2) 1 / (1 + d2)),
  `inverse multiquadric` = list("Inv(Sqrt(1 + SqDist(x, y)))", \(d2) 1 / sqrt(1 + d2))
)
reductions <- list(
  Sum                = list("Sum_Reduction(%s * b, 1)", \(K, b) K %*% b),
  `weighted LogSumExp` = list("LogSumExp_Reduction(%s, b, 1)", \(K, b) log(exp(K) %*% b)),
  SumSoftMax         = list("SumSoftMaxWeight_Reduction(%s, b, 1)", \(K, b) (exp(K) %*% b) / rowSums(exp(K)))
)

complex_step <- \(f, x) array(vapply(seq_along(x), \(k) Im(f(replace(x + 0i, k, x[k] + 1e-30i))) * 1e30, 0), dim(x))

# Derivatives along the coordinate k: central differences with Richardson's extrapolation to the sixth order.
directional <- function(f, x, k) {
  slope <- \(h) (f(replace(x, k, x[k] + h)) - f(replace(x, k, x[k] - h))) / (2 * h)
  first <- vapply(2^-(5:8), slope, 0)
  second <- (4 * first[-1] - first[-4]) / 3
  third <- (16 * second[-1] - second[-3]) / 15
  (64 * third[2] - third[1]) / 63
}

for (kernel_name in names(kernels)) for (reduction in names(reductions)) {
  test_that(paste(kernel_name, reduction, "and its derivatives agree with dense R to 1e-10"), {
    formula <- sprintf(reductions[[reduction]][[1]], kernels[[kernel_name]][[1]])
    dense <- \(x) reductions[[reduction]][[2]](kernels[[kernel_name]][[2]](sqdist_matrix(x, Y)), B)
    gradient <- \(x) complex_step(\(x) sum(eta * dense(x)), x)
    along <- \(x) sum(eta2 * gradient(x))
    hessian <- array(vapply(seq_along(X), \(k) directional(along, X, k), 0), dim(X))
    tolerance <- c(float64 = 1e-10, float32 = 1e-4)
    for_each_backend(function(kernel, precision) {
      op <- kernel(formula, c("x = Vi(3)", "y = Vj(3)", "b = Vj(3)"))
      by_x <- keops_grad(op, "x")
      expect_close(op(list(X, Y, B)), dense(X), precision)
      expect_close(by_x(list(X, Y, B, eta)), gradient(X), precision, tolerance[[precision]])
      expect_close(keops_grad(by_x, "x")(list(X, Y, B, eta, eta2)), hessian, precision, tolerance[[precision]])
    })
  })
}
