# Dates, functions and NULL were passed to comparisons and to as.matrix(), which raised errors of R.
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
fit <- kernel_solve(op, "b", list(diag(2), diag(2), 1:2), 1)
refuses(LazyTensor(diag(2), Sys.Date())) && refuses(LazyTensor(diag(2), sum)) && refuses(kernel_interpolation(NULL)) &&
  refuses(kernel_solve_grad(fit, 1:2, sum)) && refuses(covariance("s * Exp(-SqDist(x, y))", list(s = sum))) &&
  refuses(matern(variance = sum))
