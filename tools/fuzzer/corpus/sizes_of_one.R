# A number that is recycled passed the check of sizes, and the error message then named another operation.
refuses(keops_kernel("Sum_Reduction(WeightedSqDist(s, x, y), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(2)")))
