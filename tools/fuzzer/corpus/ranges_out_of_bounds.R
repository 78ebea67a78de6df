# Ranges of pairs, which compiled code reads, must not contain positions beyond the points.
x <- matrix(stats::runif(10), 5)
op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(2)", "y = Vj(2)"))
all <- from_matrix(rbind(c(1, 2), c(3, 5)), rbind(c(1, 2), c(3, 5)), diag(2) == 1)
spoiled <- \(name, value) replace(all, name, list(value))
refuses(op(list(x, x), ranges = spoiled("ranges_i", rbind(c(1, 2), c(3, 600))))) &&
  refuses(op(list(x, x), ranges = spoiled("slices_i", c(1, 900)))) &&
  refuses(op(list(x, x), ranges = spoiled("redranges_j", rbind(c(-4, 2), c(3, NA)))))
