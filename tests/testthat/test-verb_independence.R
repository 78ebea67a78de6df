# The oracle centres the matrices of all pairs in plain R.
centred <- function(k) k - outer(rowMeans(k), colMeans(k), `+`) + mean(k)
distance_matrix <- \(x) as.matrix(dist(x))
kernel_matrix <- \(x, sd) exp(-as.matrix(dist(x))^2 / (2 * sd^2))
dcor_by_matrix <- function(x, y) {
  a <- centred(distance_matrix(x))
  b <- centred(distance_matrix(y))
  means <- sqrt(c(mean(a * b), mean(a^2), mean(b^2)))
  c(means[1] / sqrt(means[2] * means[3]), means)
}
observed <- \(n, d, e, seed = 10 * d + e) withr::with_seed(seed, {
  x <- matrix(rnorm(n * d), n)
  list(x = x + 1e4, y = matrix(rnorm(n * e), n) * 1e-3 + 1e-3 * x[, 1]^2)
})

test_that("the distance correlation agrees with the centred matrices", {
  for (d in c(1, 3)) for (e in 1:2) for (backend in backends()) {
    pair <- observed(40, d, e)
    test <- distance_correlation(pair$x, pair$y, backend = backend)
    expect_equal(unname(c(test$statistic, test$estimate)), dcor_by_matrix(pair$x, pair$y), tolerance = 1e-9)
    expect_null(test$p.value)
  }
  ties <- withr::with_seed(1, matrix(sample(0:3, 100, TRUE), 50))
  for (turn in 1:2) {
    test <- distance_correlation(ties[, turn], ties[, 3 - turn])
    expect_equal(unname(c(test$statistic, test$estimate)), dcor_by_matrix(ties[, turn], ties[, 3 - turn]))
  }
  expect_equal(distance_correlation(1:9, 3 - 2 * 1:9)$statistic[[1]], 1)
  expect_equal(distance_correlation(1:9, rep(1, 9))$statistic[[1]], 0)
  expect_equal(distance_correlation(c(0, 1), c(5, 2))$statistic[[1]], 1)
})

test_that("the HSIC agrees with the centred kernel matrices", {
  for (d in c(1, 3)) for (backend in backends()) {
    pair <- observed(30, d, 2)
    sd <- c(median(dist(pair$x)), median(dist(pair$y)))
    true <- mean(centred(kernel_matrix(pair$x, sd[1])) * centred(kernel_matrix(pair$y, sd[2])))
    expect_equal(hsic_test(pair$x, pair$y, 0, backend = backend)$statistic[[1]], true, tolerance = 1e-9)
    true <- mean(centred(kernel_matrix(pair$x, 2)) * centred(kernel_matrix(pair$y, 1e-3)))
    expect_equal(hsic_test(pair$x, pair$y, 0, sd = c(2, 1e-3))$statistic[[1]], true, tolerance = 1e-9)
  }
})

test_that("a permutation test permutes the rows of y", {
  for (stored in c(0, 5000)) for (d in c(1, 2)) for (e in 1:2) {
    local_constant("most_stored", stored)
    pair <- observed(20, d, e)
    orders <- withr::with_seed(5, replicate(70, sample.int(20)))
    p_value <- \(true, own) (1 + sum(true >= own)) / 71
    test <- withr::with_seed(5, distance_correlation(pair$x, pair$y, 70))
    true <- apply(orders, 2, \(order) dcor_by_matrix(pair$x, pair$y[order, , drop = FALSE])[[1]])
    expect_equal(test$permuted, true, tolerance = 1e-8)
    expect_equal(test$p.value, p_value(true, test$statistic))
    test <- withr::with_seed(5, hsic_test(pair$x, pair$y, 70, sd = c(1, 1e-3)))
    a <- centred(kernel_matrix(pair$x, 1))
    true <- apply(orders, 2, \(order) mean(a * kernel_matrix(pair$y, 1e-3)[order, order]))
    expect_equal(test$permuted, true, tolerance = 1e-8)
    expect_equal(test$p.value, p_value(true, test$statistic))
  }
})

test_that("distance_correlation() agrees with the package energy", {
  dcor <- peer("energy", "dcor")
  dcov <- peer("energy", "dcov")
  for (columns in list(1, 1:2)) {
    x <- as.matrix(iris[columns])
    y <- as.matrix(iris[3:4])[, columns, drop = FALSE]
    true <- c(dcov(x, y), dcov(x, x), dcov(y, y), dcor(x, y))
    test <- distance_correlation(x, y)
    expect_equal(unname(c(test$estimate, test$statistic)), true)
  }
})

test_that("p-values of independent variables are uniformly distributed", {
  p <- withr::with_seed(1, replicate(100, c(distance_correlation(rnorm(15), rnorm(15), 39)$p.value,
                                            hsic_test(rnorm(15), rnorm(15), 39)$p.value)))
  uniform <- \(p) suppressWarnings(ks.test(p - withr::with_seed(2, runif(length(p))) / 40, "punif"))$p.value
  expect_gt(uniform(p[1, ]), 0.01)
  expect_gt(uniform(p[2, ]), 0.01)
})

test_that("multiplying the data by 1e-200 or 1e200 does not change the distance correlation and the HSIC", {
  pair <- observed(30, 1, 1)
  for (unit in c(1e-200, 1e200)) {
    expect_equal(distance_correlation(pair$x * unit, pair$y)$statistic, distance_correlation(pair$x, pair$y)$statistic)
    expect_equal(hsic_test(pair$x * unit, pair$y, 0)$statistic, hsic_test(pair$x, pair$y, 0)$statistic)
  }
})

test_that("independence tests refuse invalid arguments", {
  expect_snapshot(error = TRUE, {
    distance_correlation(c(1, NA), 1:2)
    distance_correlation(1:3, 1:4)
    distance_correlation(1, 1)
    distance_correlation(1:3, 1:3, permutations = -1)
    hsic_test(1:3, 1:3, sd = c(1, 0))
    hsic_test(1:3, rep(1, 3))
  })
  expect_snapshot({
    distance_correlation(1:5, c(2, 4, 3, 5, 5))
    names(hsic_test(1:5, c(2, 4, 3, 5, 5), 9))
  })
})
