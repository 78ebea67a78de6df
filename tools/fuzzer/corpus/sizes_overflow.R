# Sizes of results and of tiles were computed as 32-bit integers: 65536 * 65536 entries became 0.
large <- \(f) keops_kernel(sprintf("Sum_Reduction(%s, 1)", f), c("x = Vi(1)", "y = Vj(1)"))
refuses(large("TensorProd(SumT(x, 65536), SumT(y, 65537))")) && refuses(large("Transpose(SumT(x, 4), 65536, 65536)")) &&
  identical(large("SumT(x, 1048576) * y")(list(2, 3)), matrix(6, 1, 2^20))
