# Symbolic matrices: their data, their printed form, and applications, against base R and other packages.

list2env(lazy_points(), environment()) # X, Y, B, and the squared distances D2 of X and Y

test_that("functions of base R do not change for other objects", {
  expect_identical(round(4.5), 4)
  expect_identical(sum(c(1:10, NA), na.rm = TRUE), 55L)
  expect_identical(log(8, 2), 3)
  expect_identical(max(3, 5), 5)
  expect_true(is.primitive(`%*%`))
  expect_identical(diag(2), matrix(c(1, 0, 0, 1), 2))
})

test_that("a tensor keeps its original data", {
  x <- X + 0
  K <- sqdist(Vi(x), Vj(Y))
  x[1] <- 99
  expect_equal(as.matrix(K), D2, tolerance = 1e-12)
})

test_that("k-means, nearest neighbours and spectra of symbolic matrices agree with specialised packages", {
  withr::local_seed(1)
  points <- matrix(runif(2e5), 1e5)
  centres <- points[1:50, ]
  nearest <- drop(argmin(sqdist(Vi(points), Vj(centres)), "j"))
  rows <- sample(1e5, 200)
  expect_identical(nearest[rows], apply(dense_sqdist(points[rows, ], centres), 1, which.min))
  for (iteration in 1:5) {
    cluster <- drop(argmin(sqdist(Vi(points), Vj(centres)), "j"))
    centres <- rowsum(points, cluster) / tabulate(cluster, 50)
  }
  expect_warning(lloyd <- kmeans(points, points[1:50, ], iter.max = 5, algorithm = "Lloyd"), "did not converge")
  expect_equal(unname(centres), unname(lloyd$centers), tolerance = 1e-12)
  skip_if_not_installed("RSpectra")
  K <- exp(-sqdist(Vi(points[1:300, ]), Vj(points[1:300, ])) * 4)
  leading <- RSpectra::eigs_sym(\(v, K) drop(K %*% v), k = 5, n = 300, args = K)
  expect_equal(leading$values, eigen(as.matrix(K))$values[1:5], tolerance = 1e-10)
  skip_if_not_installed("FNN")
  among <- matrix(runif(3e5), 1e5)
  expect_identical(argKmin(sqdist(Vi(among[1:10000, ]), Vj(among)), 10, "j"),
                   matrix(FNN::knnx.index(among, among[1:10000, ], 10), 10000))
})

test_that("a tensor is shown with its shape, formula and size", {
  x <- X
  y <- Y
  expect_snapshot(exp(-sqdist(Vi(x), Vj(y)) / 2))
  expect_snapshot(sqdist(Vi(3), Vj(3)))
  expect_snapshot(Vi(x * 1i) * Vj(y))
})
