# The oracle computes the statistic and its moments from the weight matrix, by the published sums.
morans_by_matrix <- function(w, z) {
  n <- length(z)
  z <- z - mean(z)
  s0 <- s1 <- s2 <- cross <- 0
  for (i in 1:n) {
    for (j in 1:n) {
      s0 <- s0 + w[i, j]
      s1 <- s1 + (w[i, j] + w[j, i])^2 / 2
      cross <- cross + w[i, j] * z[i] * z[j]
    }
    s2 <- s2 + (sum(w[i, ]) + sum(w[, i]))^2
  }
  b2 <- mean(z^4) / mean(z^2)^2
  second <- (n * ((n^2 - 3 * n + 3) * s1 - n * s2 + 3 * s0^2) -
    b2 * ((n^2 - n) * s1 - 2 * n * s2 + 6 * s0^2)) / ((n - 1) * (n - 2) * (n - 3) * s0^2)
  c(n / s0 * cross / sum(z^2), -1 / (n - 1), second - 1 / (n - 1)^2)
}
distance_weights <- function(x, radius, power, standardise) {
  d <- as.matrix(dist(x))
  w <- ifelse(d <= radius & d > 0, d^-power, 0)
  if (standardise) w / pmax(rowSums(w), 1e-300) else w
}

test_that("the statistic and its moments agree with sums over the weight matrix", {
  skip_if_not_installed("Matrix")
  for (d in 1:3) withr::with_seed(d, {
    x <- matrix(runif(40 * d), 40) * 1e-3 + 100
    z <- rnorm(40) + 1e3 * x[, 1]
    for (radius in c(Inf, 4e-4)) for (power in c(0, 1, 1.5)) for (standardise in c(TRUE, FALSE)) {
      if (radius == Inf && power == 0) next
      w <- distance_weights(x, radius, power, standardise)
      for (backend in backends()) {
        test <- morans_i(x, z, radius, power, standardise, backend = backend)
        expect_equal(unname(test$estimate), morans_by_matrix(w, z), tolerance = 1e-9)
      }
    }
    expect_equal(morans_i(x, z), morans_i(x, z, power = 1), ignore_attr = TRUE)
  })
})

test_that("p-values agree with the normal distribution", {
  x <- 1:30
  z <- sin(x)
  score <- unname(morans_i(x, z)$statistic)
  truth <- morans_by_matrix(distance_weights(x, Inf, 1, FALSE), z)
  expect_equal(score, (truth[[1]] - truth[[2]]) / sqrt(truth[[3]]))
  expect_equal(morans_i(x, z)$p.value, 1 - pnorm(score))
  expect_equal(morans_i(x, z, alternative = "less")$p.value, pnorm(score))
  expect_equal(morans_i(x, z, alternative = "two.sided")$p.value, 2 * pnorm(-abs(score)))
})

test_that("permutation tests use the statistics of permuted values", {
  x <- withr::with_seed(1, matrix(rnorm(50), 25))
  z <- x[, 1] + x[, 2]^2
  for (alternative in c("greater", "less", "two.sided")) {
    test <- withr::with_seed(2, morans_i(x, z, alternative = alternative, permutations = 19))
    orders <- withr::with_seed(2, replicate(19, sample(25)))
    w <- distance_weights(x, Inf, 1, FALSE)
    truth <- apply(orders, 2, \(order) morans_by_matrix(w, z[order])[[1]])
    own <- morans_by_matrix(w, z)[[1]]
    expect_equal(test$permuted, truth)
    extreme <- switch(alternative, greater = truth >= own, less = truth <= own,
                      two.sided = abs(truth + 1 / 24) >= abs(own + 1 / 24))
    expect_equal(test$p.value, (1 + sum(extreme)) / 20)
  }
})

test_that("morans_i() agrees with the package spdep", {
  nb2listw <- peer("spdep", "nb2listw")
  x <- withr::with_seed(3, matrix(runif(160), 80))
  z <- x[, 1] + withr::with_seed(4, rnorm(80))
  near <- peer("spdep", "dnearneigh")(x, 0, 0.3)
  for (style in c("B", "W")) {
    true <- peer("spdep", "moran.test")(z, nb2listw(near, style = style, zero.policy = TRUE), zero.policy = TRUE)
    test <- morans_i(x, z, 0.3, standardise = style == "W")
    expect_equal(unname(test$estimate), unname(true$estimate))
    expect_equal(test$p.value, true$p.value)
  }
})

test_that("the statistic does not depend on the units of distances and values", {
  x <- withr::with_seed(5, matrix(runif(60), 30))
  z <- sin(5 * x[, 1])
  for (unit in c(1e-200, 1e200)) expect_equal(morans_i(x * unit, z * unit)$estimate, morans_i(x, z)$estimate)
})

test_that("morans_i() refuses invalid arguments", {
  expect_snapshot(error = TRUE, {
    morans_i(1:5, c(1, 2, NA, 4, 5))
    morans_i(1:5, 1:4)
    morans_i(1:3, 1:3)
    morans_i(1:5, rep(2, 5))
    morans_i(c(1, 1, 2, 3), 1:4)
    morans_i(1:5, 1:5, radius = 0.5)
    morans_i(1:5, 1:5, power = 0)
    morans_i(1:5, 1:5, radius = 10)
    morans_i(1:5, 1:5, power = -1)
    morans_i(1:5, 1:5, permutations = -1)
  })
  expect_snapshot(morans_i(c(1, 2, 4, 7, 11), c(1, 2, 2, 3, 3)))
})
