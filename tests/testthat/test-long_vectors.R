# Long vectors on every backend. The engine uses different kernels for different lengths, so lengths are near the
# limits. Points are near or far from the origin, and are few, or enough for panels (large blocks of pairs).

# exact in float32: 14 bits before the binary point and 10 bits after it
points <- \(n, D, offset) offset + round(matrix(rnorm(n * D), n) / sqrt(D) * 2^10) / 2^10
arguments <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)
sq_dist <- \(x, y) outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)

for (D in c(20, 64, 100, 128, 160, 200, 256, 512, 784, 1024, 2048)) {
  test_that(paste("values, gradients, softmax and neighbours are right and repeatable, D =", D), {
    withr::local_seed(D)
    for (size in list(c(67, 75), c(523, 1060))) for (offset in c(0, 1e4)) {
      x <- points(size[1], D, offset)
      y <- points(size[2], D, offset)
      from_first <- \(z) t(t(z) - x[1, ])
      d <- sq_dist(from_first(x), from_first(y))
      k <- exp(-d)
      e <- rnorm(size[1])
      u <- matrix(runif(size[2] * 20), ncol = 20)
      gradient <- -2 * e * (from_first(x) * rowSums(k) - k %*% from_first(y))
      nearest <- t(apply(d, 1, sort))[, 1:5]
      for_each_backend(\(kernel, precision) {
        close <- \(...) expect_close(..., precision, info = toString(c(size, offset)))
        gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", arguments(D))
        slope <- keops_grad(gauss, "x")
        softmax <- kernel("SumSoftMaxWeight_Reduction(-SqDist(x, y), u, 1)", arguments(D, "u = Vj(20)"))
        close(gauss(list(x, y)), rowSums(k))
        close(slope(list(x, y, e)), gradient)
        close(softmax(list(x, y, u)), k %*% u / rowSums(k))
        found <- kernel("ArgKMin_Reduction(SqDist(x, y), 5, 1)", arguments(D))(list(x, y))
        close(matrix(d[cbind(c(row(found)), c(found))], size[1]), nearest)
        expect_identical(slope(list(x, y, e)), slope(list(x, y, e)))
        expect_identical(softmax(list(x, y, u)), softmax(list(x, y, u)))
      })
    }
  })
}
