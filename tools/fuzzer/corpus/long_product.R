# The factors of a product were regrouped again at each level of the formula, so that compilation took 2^n steps.
long <- sprintf("Sum_Reduction(x%s, 1)", strrep(" * y / x", 900))
system.time(op <- keops_kernel(long, c("x = Vi(1)", "y = Vj(1)")))[["elapsed"]] < 2 && is.function(op)
