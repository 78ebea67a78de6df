# If an argument was a recycled number, the check of sizes accepted other arguments of different sizes; the error
# message then named another operation.
refuses(keops_kernel("Sum_Reduction(WeightedSqDist(s, x, y), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(2)")))
