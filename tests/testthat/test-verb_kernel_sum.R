# The oracle computes the kernel matrix in plain R (helper-clouds.R).

kernels <- list(
  list("Exp(-SqDist(x, y) / 0.02)", \(r) exp(-r^2 / 0.02)),
  list("Exp(-SqDist(x, y) / 4)", \(r) exp(-r^2 / 4)),                   # large even at the largest distances
  list("Inv(1 + SqDist(x, y) * 30)", \(r) 1 / (1 + 30 * r^2)),
  list("Exp(-Norm2(x - y) / 0.1)", \(r) exp(-r / 0.1)),                 # not smooth at 0
  list("(1 + Norm2(x - y) * 5) * Exp(-Norm2(x - y) * 5)", \(r) (1 + 5 * r) * exp(-5 * r))
)

test_that("exact sums agree with the kernel matrix", {
  withr::local_seed(1)
  x <- matrix(runif(60), 20, dimnames = list(letters[1:20], NULL))
  y <- matrix(runif(90), 30)
  b <- matrix(rnorm(60), 30, dimnames = list(NULL, c("u", "v")))
  expected <- kernel_matrix(x, y, \(r) exp(-(r / 0.3)^2 / 2)) %*% b
  sums <- kernel_sum(squared_exponential(1, 0.3), x, y, b)
  expect_equal(sums, unname(expected), tolerance = 1e-12, ignore_attr = TRUE)
})

test_that("sums by Fourier series are within the tolerance for every point cloud", {
  withr::local_seed(2)
  slow_pairs(1e-4)
  for (d in 1:3) for (cloud in names(point_clouds)) for (kernel in kernels) {
    x <- point_clouds[[cloud]](150, d)
    y <- rbind(point_clouds[[cloud]](120, d), x[1:10, , drop = FALSE])
    b <- runif(130)
    tol <- if (d == 3) 1e-3 else 1e-6
    sums <- kernel_sum(kernel[[1]], x, y, b, tol = tol)
    expected <- drop(kernel_matrix(x, y, kernel[[2]]) %*% b)
    error <- max(abs(sums - expected)) / max(abs(expected))
    label <- paste(kernel[[1]], "for the cloud", cloud, "in", d)
    expect_lte(error, tol, label = label)
    expect_equal(attr(sums, "error"), error, tolerance = 1e-2 * tol / max(error, 1e-300), label = label)
  }
})

test_that("covariances may be used as kernels", {
  withr::local_seed(3)
  slow_pairs(1e-4)
  x <- matrix(runif(400), 200)
  b <- cbind(a = rnorm(200), b = 1)
  for (covariance in list(squared_exponential(2, 0.1), squared_exponential(1, c(0.1, 3)), matern(1, 0.2, nu = 3 / 2),
                          wendland(1, 0.3))) {
    exact <- kernel_sum(covariance, x, b = b)
    sums <- kernel_sum(covariance, x, b = b, tol = 1e-5)
    expect_lte(max(abs(sums - exact)), 1e-5 * max(abs(exact)))
    expect_identical(dimnames(sums), dimnames(exact))
  }
  r <- as.matrix(dist(x))
  expect_equal(kernel_sum(matern(1, 0.2, nu = 3 / 2), x, b = b[, 1]), {
    u <- sqrt(3) * r / 0.2
    drop(((1 + u) * exp(-u)) %*% b[, 1])
  }, ignore_attr = TRUE)
})

test_that("sums with odd kernels have the right sign", {
  withr::local_seed(4)
  slow_pairs(1)
  x <- matrix(runif(80), ncol = 1)
  b <- runif(80)
  sums <- kernel_sum("(x - y) * Exp(-SqDist(x, y) / 0.02)", x, b = b, tol = 1e-6)
  expected <- drop(outer(c(x), c(x), \(u, v) (u - v) * exp(-(u - v)^2 / 0.02)) %*% b)
  expect_lte(max(abs(sums - expected)), 1e-6 * max(abs(expected)))
  expect_gt(attr(sums, "modes"), 0)
})

test_that("sums have the same bits for any number of threads", {
  withr::local_seed(5)
  slow_pairs(1)
  x <- matrix(runif(20000), ncol = 2)
  b <- rnorm(10000)
  sums <- lapply(1:3, function(threads) {
    withr::local_options(kernops.threads = threads)
    kernel_sum(squared_exponential(1, 0.1), x, b = b, tol = 1e-6)
  })
  expect_identical(sums[[2]], sums[[1]])
  expect_identical(sums[[3]], sums[[1]])
})

test_that("sums of few pairs are exact", {
  sums <- kernel_sum(squared_exponential(1, 0.5), c(0, 1), tol = 1e-6)
  expect_equal(as.vector(sums), rep(1 + exp(-2), 2))
  expect_identical(attributes(sums), list(error = 0, modes = 0))
})

test_that("sums over all pairs replace series that would take longer", {
  withr::local_seed(7)
  replaced_locally(seconds_of_sums = lapply(seconds_of_sums, \(times) c(pairs = 1, near = 1e6, cells = 1e6)))
  x <- matrix(runif(20), ncol = 2)
  sums <- kernel_sum("Exp(-Norm2(x - y))", x, tol = 1e-6)
  expect_equal(as.vector(sums), rowSums(kernel_matrix(x, x, \(r) exp(-r))), tolerance = 1e-12)
  replaced_locally(most_exact_seconds = 50)
  expect_error(kernel_sum("Exp(-Norm2(x - y))", x, tol = 1e-6), class = "kernops_tolerance_error")
})

test_that("invalid input is refused", {
  x <- matrix(1:6 / 6, 3)
  expect_snapshot(error = TRUE, {
    kernel_sum(squared_exponential(), x)
    kernel_sum(squared_exponential(1, 1) + nugget(1), x)
    kernel_sum("Exp(-(x | y))", x)
    kernel_sum("Inv(SqDist(x, y))", x)
    kernel_sum(squared_exponential(1, 1), x, matrix(1, 2, 3))
    kernel_sum(squared_exponential(1, 1), x, b = 1:2)
    kernel_sum(squared_exponential(1, 1), x, b = c(1, NA, 2))
    kernel_sum(squared_exponential(1, 1), x, tol = 0)
    kernel_sum(squared_exponential(1, 1), matrix(1:8 / 8, 2), tol = 1e-3)
    kernel_sum(sum, x)
    kernel_sum(squared_exponential(1, 1), c(1, NA))
  })
})

test_that("a tolerance is not reached if a sum is far smaller than its terms", {
  withr::local_seed(6)
  slow_pairs(1)
  replaced_locally(most_exact_seconds = 0)
  x <- runif(50)
  y <- c(x, x + 1e-9) # each point is near a point whose weight has the opposite sign
  expect_snapshot(error = TRUE, kernel_sum(squared_exponential(1, 0.1), x, y, rep(c(1, -1), each = 50), tol = 1e-8),
                  transform = \(lines) sub("error is [0-9.e-]+", "error is <number>", lines))
})

test_that("grids and windows of inconsistent sizes are refused", {
  pieces <- spreading_window(1e-3)$pieces
  place <- function(x = matrix(0.5, 3, 1), origin = 0, scale = 1, size = 64L, window = pieces) {
    place_points(x, origin, scale, size, window, 1L)
  }
  expect_snapshot(error = TRUE, {
    place(size = rep(64L, 4))
    place(size = 31L)
    place(window = pieces[1, , drop = FALSE])
    place(origin = c(0, 0))
    sums_on_grid(place(), 1:2 / 2, 1L)
    sums_at_points(place(), 1:2 / 2, 1L)
    place(window = matrix(0, 3, 25))
    sums_of_series(matrix(0.5, 3, 1), NULL, matrix(1, 3, 1), list(origin = 0, scale = 1, size = 64L, window = pieces),
                   complex(5), list(backend = "cpu"))
  })
})
