# Sums by Fourier series on a GPU: the oracle computes the kernel matrix in plain R.

test_that("sums by Fourier series on a GPU are within the tolerance for every point cloud", {
  skip_without_gpu()
  slow_pairs(1e-4)
  withr::local_seed(1)
  for (d in 1:3) for (cloud in names(point_clouds)) {
    x <- point_clouds[[cloud]](150, d)
    y <- rbind(point_clouds[[cloud]](120, d), x[1:10, , drop = FALSE])
    b <- cbind(runif(130), rnorm(130))
    tol <- if (d == 3) 1e-3 else 1e-6
    sums <- kernel_sum("Exp(-SqDist(x, y) / 0.08)", x, y, b, tol = tol, backend = "cuda")
    expected <- kernel_matrix(x, y, \(r) exp(-r^2 / 0.08)) %*% b
    label <- paste("the cloud", cloud, "in", d)
    expect_lte(max(abs(sums - expected)), tol * max(abs(expected)), label = label)
    if (cloud != "equal") expect_gt(max(attr(sums, "modes")), 0, label = label)
  }
})

test_that("kernels that are not smooth are divided on a GPU, too", {
  skip_without_gpu()
  slow_pairs(1e-4)
  withr::local_seed(2)
  x <- matrix(runif(600), ncol = 2)
  sums <- kernel_sum("Exp(-Norm2(x - y) / 0.1)", x, tol = 1e-5, backend = "cuda")
  expected <- rowSums(kernel_matrix(x, x, \(r) exp(-r / 0.1)))
  expect_lte(max(abs(sums - expected)), 1e-5 * max(expected))
  expect_gt(max(attr(sums, "modes")), 0)
})

# The sums of one plan, computed on both backends. Most rows of x are in a few tiles, so that several blocks share the
# points of such a tile.
test_that("a GPU has the sums of the CPU, with the same bits in each run", {
  skip_without_gpu()
  withr::local_seed(3)
  for (d in 1:3) for (width in c(3, 9, 16)) {
    size <- list(c(40L), c(36L, 50L), c(32L, 36L, 40L))[[d]]
    x <- rbind(matrix(runif(300 * d), ncol = d), matrix(0.98 + 0.02 * runif(5000 * d), ncol = d))
    y <- matrix(runif(200 * d, -1, 2), ncol = d)
    window <- spreading_window(10^(2 - width))$pieces
    factor <- array(complex(real = 1 / prod(size), imaginary = 0), size)
    grid <- list(origin = rep(0.1, d), scale = size, size = size, window = window)
    for (case in list(list(x, NULL), list(x, y), list(y, x))) {
      b <- cbind(rnorm(nrow(case[[2]] %||% case[[1]])), 1)
      there <- lapply(1:2, \(run) sums_on_gpu(case[[1]], case[[2]], b, grid, factor, list(backend = "cuda")))
      here <- sums_on_cpu(case[[1]], case[[2]], b, grid, factor)
      expect_equal(there[[1]], here, tolerance = 1e-12, label = paste("sums in", d, "dimensions, width", width))
      expect_identical(there[[2]], there[[1]])
    }
  }
})
