# The oracle computes each statistic from the matrix of all pairs in plain R.
energy_by_matrix <- function(x, y) {
  d <- as.matrix(dist(rbind(x, y)))
  first <- seq_len(nrow(x))
  means <- 2 * mean(d[first, -first]) - mean(d[first, first]) - mean(d[-first, -first])
  nrow(x) * nrow(y) / (nrow(x) + nrow(y)) * means
}
mmd_by_matrix <- function(x, y, sd) {
  k <- exp(-as.matrix(dist(rbind(x, y)))^2 / (2 * sd^2))
  first <- seq_len(nrow(x))
  mean(k[first, first]) + mean(k[-first, -first]) - 2 * mean(k[first, -first])
}

test_that("the statistics of the data and of each permutation agree with sums over all pairs", {
  for (d in c(1, 3)) for (offset in c(0, 1e6)) withr::with_seed(d, {
    x <- matrix(rnorm(12 * d), 12) + offset
    y <- matrix(rnorm(9 * d), 9) + 0.4 + offset
    both <- rbind(x, y)
    z <- rep(c(1 / 12, -1 / 9), c(12, 9))
    permuted <- function(test, statistic) withr::with_seed(7, {
      result <- test(x, y, permutations = 19)
      set.seed(7)
      labels <- replicate(19, sample(z))
      true <- apply(labels, 2, \(z) statistic(both[z > 0, , drop = FALSE], both[z < 0, , drop = FALSE]))
      expect_equal(unname(result$statistic), statistic(x, y), tolerance = 1e-8)
      expect_equal(result$permuted, true, tolerance = 1e-8)
      expect_equal(result$p.value, (1 + sum(true >= statistic(x, y))) / 20)
    })
    permuted(energy_test, energy_by_matrix)
    sd <- median(dist(both))
    permuted(mmd_test, \(a, b) mmd_by_matrix(a, b, sd))
    expect_equal(mmd_test(x, y, 9, sd = 2)$statistic[[1]], mmd_by_matrix(x, y, 2), tolerance = 1e-8)
  })
})

test_that("energy_test() agrees with the package energy", {
  skip_if_not_installed("energy")
  x <- as.matrix(iris[1:50, 1:4])
  y <- as.matrix(iris[51:100, 1:4])
  true <- energy::eqdist.etest(rbind(x, y), c(50, 50), R = 9)
  test <- energy_test(x, y, 99)
  expect_equal(unname(test$statistic), unname(true$statistic))
  expect_equal(test$p.value, 0.01)
  expect_s3_class(test, "htest")
})

test_that("p-values are uniformly distributed if both samples have the same distribution", {
  p <- withr::with_seed(1, replicate(200, energy_test(rnorm(15), rnorm(10), 39)$p.value))
  expect_gt(suppressWarnings(ks.test(p - runif(200) / 40, "punif"))$p.value, 0.01)
})

test_that("two-sample tests refuse invalid arguments", {
  expect_snapshot(error = TRUE, {
    energy_test(c(1, NA), 1:3)
    energy_test(numeric(), 1:3)
    energy_test(cbind(1:3, 1), 1:3)
    energy_test(1:3, 1:3, permutations = 0)
    mmd_test(c(1, 1), c(1, 1))
    mmd_test(1:3, 1:3, sd = 0)
  })
  expect_snapshot(mmd_test(1:3, 4:6, 1)[c("statistic", "parameter", "method", "data.name")])
})
