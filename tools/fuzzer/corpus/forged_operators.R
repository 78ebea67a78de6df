# Objects with the class of an operator, but without its fields, were called as operators.
of <- list(structure(\(x) x, class = "keops_kernel"), structure(list(), class = "keops_kernel"),
           structure(1, class = "gp"))
all(vapply(of, \(op) refuses(keops_grad(op, "x")) && refuses(keops_source(op)), NA)) &&
  refuses(kernel_solve(of[[1]], "b", 1))
