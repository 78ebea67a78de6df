# Each derivative doubled the size of the formula, because common subexpressions were not shared.
op <- keops_kernel("LogSumExp_Reduction(-SqDist(x,y)*Sin(x|y)/(1+(x|x)),1)", c("x = Vi(2)", "y = Vj(2)"))
tower <- paste0(strrep("Grad(", 40), "Exp(Sin(x) * x)", strrep(", x, 1)", 40))
system.time(for (order in 1:8) op <- keops_grad(op, "x"))[["elapsed"]] < 5 &&
  refuses(keops_kernel(sprintf("Sum_Reduction(%s, 1)", tower), "x = Vj(1)"))
