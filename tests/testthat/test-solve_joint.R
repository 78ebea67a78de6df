# Joint distributions of new points given base points, against dense kriging and double loops in plain R.

base_u <- withr::with_seed(1, matrix(runif(120), 60))
new_u <- withr::with_seed(2, matrix(runif(100), 50))
noise <- withr::with_seed(3, runif(60, 0, 0.2))
values <- withr::with_seed(4, matrix(rnorm(120), 60))
covariance_of <- \(x, y, range = 0.4) {
  h <- sqrt(3) * sqrt(outer(x[, 1], y[, 1], "-")^2 + outer(x[, 2], y[, 2], "-")^2) / range
  1.3 * (1 + h) * exp(-h)
}
model <- kernops:::covariance_model(matern(3/2, 1.3, 0.4), 2)
sets_of <- \(m, base = base_u, new = new_u, var = noise, k = model) {
  base <- list(u = base, near = base, noise = var)
  new <- list(u = new, near = new, variance = rep(1.3, nrow(new)))
  kernops:::joint_sets(kernops:::covariance_matrix(k), k$parameters$value, base, new, m)
}
kriging <- \(base = base_u, new = new_u, var = noise, y = values, k = covariance_of) {
  weights <- solve(k(base, base) + diag(var), k(base, new))
  list(mean = t(weights) %*% y, cov = k(new, new) - t(k(base, new)) %*% weights)
}
# Random sums: each sum has a column with indices of new points, and a column with the weights of these points. `dense`
# has the same weights in a matrix with a row for each new point.
sums_of <- \(count, points = 50) {
  which <- matrix(sample(0:points, 4 * count, TRUE), 4)
  weights <- matrix(rnorm(4 * count), 4)
  dense <- matrix(0, points, count)
  for (s in seq_len(count)) for (k in which(which[, s] > 0)) {
    dense[which[k, s], s] <- dense[which[k, s], s] + weights[k, s]
  }
  list(which = which, weights = weights, dense = dense)
}

test_that("with all points as neighbours, the joint distribution agrees with dense kriging", {
  withr::local_seed(5)
  exact <- kriging()
  sets <- sets_of(1000L)
  sums <- sums_of(20)
  expect_equal(kernops:::joint_values(sets, values), exact$mean, tolerance = 1e-8)
  expect_equal(kernops:::joint_variances_of(sets), diag(exact$cov), tolerance = 1e-8)
  expect_equal(kernops:::joint_sums_of(sets, sums$which, sums$weights),
               diag(t(sums$dense) %*% exact$cov %*% sums$dense), tolerance = 1e-8)
  parts <- kernops:::joint_sums_of(sets, sums$which, sums$weights, parts = TRUE)
  expect_equal(crossprod(parts), t(sums$dense) %*% exact$cov %*% sums$dense, tolerance = 1e-8)
})

test_that("base points without noise keep their values, also at new points at the same location", {
  new <- rbind(base_u[7, ], new_u, base_u[9, ] + 1e-9)
  sets <- sets_of(1000L, new = new, var = 0 * noise)
  found <- kernops:::joint_values(sets, values)
  expect_equal(found[1, ], values[7, ], tolerance = 1e-9)
  expect_equal(found[52, ], values[9, ], tolerance = 1e-6)
  expect_equal(found[2:51, ], kriging(var = 0 * noise)$mean, tolerance = 1e-7)
  expect_lt(max(kernops:::joint_variances_of(sets)[c(1, 52)]), 1e-8)
})

test_that("with few neighbours, the joint distribution agrees with a double loop in plain R", {
  for (m in c(1L, 5L, 20L)) {
    sets <- sets_of(m)
    expect_setequal(sets$order, 1:50)
    all <- rbind(base_u, new_u[sets$order, ])
    K <- covariance_of(all, all) + diag(c(noise, numeric(50)))
    U <- oracle_factor(K, earlier_neighbours(all, m))[60 + 1:50, ]
    mean <- -solve(U[, -(1:60)], U[, 1:60] %*% values)
    cov <- solve(crossprod(U[, -(1:60)]))
    back <- order(sets$order)
    expect_equal(kernops:::joint_values(sets, values), mean[back, ], tolerance = 1e-9)
    expect_equal(kernops:::joint_variances_of(sets), diag(cov)[back], tolerance = 1e-9)
    # for the argument `errors`, whose rows are in the order of the sets, U^-1 errors is added
    errors <- withr::with_seed(6, matrix(rnorm(100), 50))
    expect_equal(kernops:::joint_values(sets, values, errors), (mean + solve(U[, -(1:60)], errors))[back, ],
                 tolerance = 1e-9)
  }
})

test_that("draws have the covariance of kriging", {
  sets <- sets_of(1000L)
  draws <- withr::with_seed(7, kernops:::joint_values(sets, matrix(0, 60, 20000), matrix(rnorm(50 * 20000), 50)))
  exact <- kriging()$cov
  spread <- sqrt((exact^2 + outer(diag(exact), diag(exact))) / 20000)
  expect_lt(max(abs(tcrossprod(draws) / 20000 - exact) / spread), 5)
})

test_that("variances of many points agree with those of each point alone, with any number of threads", {
  withr::local_seed(8)
  new <- matrix(runif(1e4), 5000)
  run <- \(threads) {
    local_kernops(threads = threads)
    sets <- sets_of(15L, new = new)
    list(sets = sets, mean = kernops:::joint_values(sets, values), variance = kernops:::joint_variances_of(sets))
  }
  one <- run(1)
  expect_identical(run(3), one)
  some <- sample(5000, 50)
  expect_equal(kernops:::joint_sums_of(one$sets, matrix(some, 1), matrix(1, 1, 50)), one$variance[some])
  # a variance is the sum of the squares of its parts
  few <- sets_of(15L, new = new[1:4000, ])
  parts <- kernops:::joint_sums_of(few, matrix(1:4000, 1)[, 1:50, drop = FALSE], matrix(1, 1, 50), parts = TRUE)
  expect_equal(colSums(parts^2), kernops:::joint_variances_of(few)[1:50], tolerance = 1e-12)
})

test_that("smooth fields on fine grids, with singular covariances, have nearly exact distributions", {
  k <- kernops:::covariance_model(squared_exponential(1.3, 0.4), 2)
  of <- \(x, y) 1.3 * exp(-(outer(x[, 1], y[, 1], "-")^2 + outer(x[, 2], y[, 2], "-")^2) / (2 * 0.4^2))
  grid <- as.matrix(expand.grid(seq(0, 1, length.out = 20), seq(0, 1, length.out = 20)))
  exact <- kriging(new = grid, var = noise + 0.1, k = of)
  # each entry: the number of neighbours, the largest error of a mean in standard errors, and the largest relative error
  # of a standard error
  limits <- list(c(60L, 0.6, 0.1), c(120L, 0.2, 0.05), c(500L, 1e-6, 1e-6))
  for (limit in limits) {
    sets <- sets_of(limit[[1]], new = grid, var = noise + 0.1, k = k)
    off <- (kernops:::joint_values(sets, values) - exact$mean) / sqrt(diag(exact$cov))
    ratio <- sqrt(kernops:::joint_variances_of(sets) / diag(exact$cov))
    expect_lt(max(abs(off)), limit[[2]])
    expect_lt(max(abs(ratio - 1)), limit[[3]])
  }
})

test_that("neighbours that do not come before a point, and matrices of other sizes, are errors", {
  sets <- sets_of(5L)
  late <- replace(sets, "neighbours", list(replace(sets$neighbours, 1, 61L)))
  expect_snapshot(error = TRUE, {
    kernops:::joint_values(late, values)
    kernops:::joint_variances_of(replace(sets, "sd", list(1)))
    kernops:::joint_values(sets, values, matrix(0, 3, 2))
    kernops:::joint_values(sets, values[-1, ])
    kernops:::joint_sums_of(sets, matrix(99L), matrix(1))
    kernops:::joint_variances_of(replace(sets, "posterior", list(kernops:::posterior_hold(matrix(0L, 1, 3), 1L))))
    kernops:::joint_sums_of(sets, matrix(1:2), matrix(1, 1, 1))
  })
})

test_that("the joint distribution of some new points agrees with that of all new points", {
  base <- list(u = base_u, near = base_u, noise = noise)
  new <- list(u = new_u, near = new_u, variance = rep(1.3, 50))
  values_of <- kernops:::covariance_matrix(model)
  whole <- sets_of(4L)
  chosen <- c(3L, 17L, 40L)
  part <- kernops:::joint_sets(values_of, model$parameters$value, base, new, 4L, chosen = chosen)
  # the points on which the chosen points depend, by a loop over the neighbours
  needed <- match(chosen, whole$order)
  repeat {
    near <- whole$neighbours[, needed] - 60L
    more <- union(needed, near[near > 0])
    if (length(more) == length(needed)) break
    needed <- more
  }
  expect_identical(part$positions, sort(needed))
  expect_identical(part$numbers, sort(whole$order[needed]))
  expect_lt(length(needed), 50)
  expect_identical(kernops:::joint_values(part, values), kernops:::joint_values(whole, values)[part$numbers, ])
  expect_identical(kernops:::joint_variances_of(part), kernops:::joint_variances_of(whole)[part$numbers])
})

# The neighbours of point i of u: the m nearest of the earlier points, and the m / 3 nearest of the points `cover`,
# which are spread over all observations. Points of `cover` that are not among the m nearest points replace the farthest
# of these.
covered_neighbours <- function(u, m, i, cover) {
  from <- \(rows) rows[order(colSums((t(u[rows, , drop = FALSE]) - u[i, ])^2))]
  near <- head(from(seq_len(i - 1)), m)
  missing <- setdiff(head(from(cover), m %/% 3), near)
  c(head(near, m - length(missing)), missing)
}

test_that("joint distributions agree with a double loop if a third of the neighbours may be distant covering points", {
  cover <- c(3L, 17L, 18L, 40L, 41L, 55L)
  base <- list(u = base_u, near = base_u, noise = noise, cover = \() cover)
  for (m in c(2L, 5L, 20L, 58L, 80L)) {
    sets <- kernops:::joint_sets(kernops:::covariance_matrix(model), model$parameters$value, base,
                                 list(u = new_u, near = new_u, variance = rep(1.3, 50)), m)
    all <- rbind(base_u, new_u[sets$order, ])
    K <- covariance_of(all, all) + diag(c(noise, numeric(50)))
    neighbours <- lapply(1:110, \(i) if (i <= 60) seq_len(i - 1) else
      if (m < 60) covered_neighbours(all, m, i, cover) else earlier_neighbours(all, m)[[i]])
    U <- oracle_factor(K, neighbours)[60 + 1:50, ]
    expect_equal(kernops:::joint_values(sets, values)[sets$order, ], -solve(U[, -(1:60)], U[, 1:60] %*% values),
                 tolerance = 1e-9)
    expect_equal(kernops:::joint_variances_of(sets)[sets$order], diag(solve(crossprod(U[, -(1:60)]))), tolerance = 1e-9)
  }
})

test_that("between tracks of dense points, predictions improve if neighbours include points of other tracks", {
  withr::local_seed(9)
  tracks <- cbind(runif(300), sample(c(0.1, 0.5, 0.9), 300, TRUE) + rnorm(300, sd = 1e-3))
  between <- cbind(runif(40), runif(40))
  var <- rep(1e-3, 300)
  K <- covariance_of(tracks, tracks) + diag(var)
  k <- covariance_of(tracks, between)
  exact <- solve(K, k)
  left <- 1.3 - colSums(exact * k)
  # the mean square error in excess of kriging, divided by the mean square error of kriging
  excess <- \(...) {
    base <- list(u = tracks, near = tracks, noise = var, ...)
    sets <- kernops:::joint_sets(kernops:::covariance_matrix(model), model$parameters$value, base,
                                 list(u = between, near = between, variance = rep(1.3, 40)), 30L)
    off <- t(kernops:::joint_values(sets, diag(300))) - exact
    sum(off * (K %*% off)) / sum(left)
  }
  cover <- kernops:::covering_points(tracks)
  expect_lt(excess(cover = \() cover), 0.8 * excess())
})

test_that("further neighbours replace the last neighbours of a point, and the number of neighbours is kept", {
  near <- cbind(c(4L, 2L, 9L, 7L), c(3L, 1L, 0L, 0L), c(1L, 0L, 0L, 0L), c(5L, 6L, 7L, 8L))
  more <- cbind(c(9L, 8L), c(5L, 3L), c(1L, 1L), c(1L, 2L))
  expect_identical(kernops:::joined_neighbours(near, more),
                   cbind(c(4L, 2L, 9L, 8L), c(3L, 1L, 5L, 0L), c(1L, 0L, 0L, 0L), c(5L, 6L, 1L, 2L)))
  many <- near[, rep(1:4, 700)]
  local_kernops(threads = 3)
  expect_identical(kernops:::joined_neighbours(many, more[, rep(1:4, 700)]),
                   kernops:::joined_neighbours(near, more)[, rep(1:4, 700)])
})

test_that("covering points are spread over all points as in a farthest-first ordering, also for regular grids", {
  grid <- as.matrix(expand.grid(1:30, 1:30))
  cover <- kernops:::covering_points(grid)
  expect_length(cover, 120)
  gaps <- apply(grid, 1, \(x) min(colSums((t(grid[cover, ]) - x)^2)))
  expect_lt(sqrt(max(gaps)), 2 * sqrt(900 / 120))
  expect_setequal(kernops:::covering_points(grid[1:10, ]), 1:10)
  expect_length(kernops:::covering_points(grid[0, ]), 0)
})

# Threads share the points if there are few columns; 20,000 points are enough for two threads.
test_that("values of many points are computed in order, with any number of threads", {
  withr::local_seed(4)
  base <- 50
  n <- 2e4
  near <- vapply(seq_len(n), function(i) {
    c(sample.int(base, 1), base + sample.int(max(1, i - 1), 1), base + max(1, i - 1))
  }, numeric(3))
  near[2:3, 1] <- 0
  storage.mode(near) <- "integer"
  sets <- list(weights = matrix(runif(3 * n, -0.5, 0.5), 3), sd = runif(n), neighbours = near, base = base,
               posterior = NULL, total = n)
  values <- matrix(rnorm(3 * base), base)
  errors <- matrix(rnorm(3 * n), n)
  expected <- rbind(values, matrix(0, n, 3))
  for (i in seq_len(n)) {
    sum <- 0
    for (k in which(near[, i] > 0)) sum <- sum + sets$weights[k, i] * expected[near[k, i], ]
    expected[base + i, ] <- sum + sets$sd[[i]] * errors[i, ]
  }
  for (threads in c(1, 2, 4)) {
    expect_equal(joint_predict(sets, values, errors, threads), expected[-seq_len(base), ], tolerance = 1e-13)
    expect_identical(joint_predict(sets, values, errors, threads), joint_predict(sets, values, errors, 1))
  }
  few <- joint_variances(sets, 1)
  for (threads in 2:4) expect_identical(joint_variances(sets, threads), few)
  sets$neighbours[3, 5] <- as.integer(base + 5)
  expect_error(joint_predict(sets, values, errors, 3), "neighbours are base points or earlier new points")
})
