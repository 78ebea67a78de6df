# Joint distributions of new points for fits of tables. The oracle is universal kriging by dense matrices in plain R.

# A list: the observations; a fit of the table of these observations, divided into one or many cells; new points; and
# the kriging distribution of the new points and of the nodes of blocks. Each block has four nodes around its centre.
joint_case <- function(cells, frame = parent.frame()) {
  if (cells > 1) {
    small_cells(400, 60, frame)
    replaced_locally(few_latent = 100, frame = frame)
  }
  d <- table_data(1500)
  new <- withr::with_seed(7, data.frame(x = runif(40, 0.2, 0.5), y = runif(40, 0.3, 0.6), w = rnorm(40)))
  fit <- fit_of_table(d, z ~ w, neighbours = 20)
  list(d = d, new = new, fit = fit, joint = kriging_of(d, new))
}

kriging_of <- function(d, new) {
  n <- nrow(d)
  seen <- seq_len(n)
  h <- sqrt(3) * as.matrix(dist(rbind(d[c("x", "y")], new[c("x", "y")]))) / 0.3
  k <- 0.5 * (1 + h) * exp(-h)
  x <- cbind(1, c(d$w, new$w))
  half <- backsolve(chol(k[seen, seen] + diag(0.09, n)), cbind(d$z, x[seen, ], k[seen, -seen]), transpose = TRUE)
  trend <- half[, 2:3]
  cross <- half[, -(1:3)]
  information <- crossprod(trend)
  beta <- solve(information, crossprod(trend, half[, 1]))
  gap <- t(x[-seen, ]) - crossprod(trend, cross)
  list(mean = as.vector(x[-seen, ] %*% beta + crossprod(cross, half[, 1] - trend %*% beta)),
       cov = unname(k[-seen, -seen] - crossprod(cross) + crossprod(gap, solve(information, gap))))
}

test_that("sums, covariances and means over blocks have the joint distribution of kriging", {
  for (cells in c(1, 4)) {
    case <- joint_case(cells)
    joint <- case$joint
    weights <- cbind(mean = 1 / 40, gap = c(1, -1, rep(0, 38)))
    sums <- predict(case$fit, case$new, sums = weights, se.fit = TRUE, interval = "confidence")
    se <- sqrt(diag(t(weights) %*% joint$cov %*% weights))
    expect_equal(sums$se.fit, se, tolerance = 0.02, ignore_attr = TRUE)
    expect_lt(max(abs(sums$fit - t(weights) %*% joint$mean) / se), 0.2)
    all <- predict(case$fit, case$new, cov = TRUE, interval = "confidence", se.fit = TRUE)
    expect_equal(sqrt(diag(all$cov)), all$fit$se.fit, tolerance = 1e-6, ignore_attr = TRUE)
    expect_equal(all$fit$se.fit, sqrt(diag(joint$cov)), tolerance = 0.02)
    expect_lt(max(abs(cov2cor(all$cov) - cov2cor(joint$cov))), 0.06)
    squares <- case$new[1:5, ]
    blocks <- predict(case$fit, squares, block = c(0.06, 0.06), se.fit = TRUE, interval = "confidence")
    side <- seq(-0.027, 0.027, length.out = 10)
    shift <- expand.grid(x = side, y = side)
    for (k in 1:5) {
      nodes <- kriging_of(case$d, data.frame(x = squares$x[[k]] + shift$x, y = squares$y[[k]] + shift$y,
                                             w = squares$w[[k]]))
      expect_equal(blocks$se.fit[[k]], sqrt(mean(nodes$cov)), tolerance = 0.02)
      expect_lt(abs(blocks$fit[[k]] - mean(nodes$mean)) / blocks$se.fit[[k]], 0.2)
    }
  }
})

test_that("draws given a table, and areas of exceedance, have the joint distribution of kriging", {
  case <- joint_case(4)
  joint <- case$joint
  draws <- simulate(case$fit, 2000, seed = 1, newdata = case$new)
  expect_identical(dim(draws), c(40L, 2000L))
  expect_identical(simulate(case$fit, 2000, seed = 1, newdata = case$new), draws)
  expect_equal(mean(apply(draws, 1, sd) / sqrt(diag(joint$cov))), 1, tolerance = 0.03)
  expect_equal(sd(colMeans(draws)), sqrt(mean(joint$cov)), tolerance = 0.06)
  expect_lt(max(abs(rowMeans(draws) - joint$mean) / sqrt(diag(joint$cov))), 0.35)
  free <- simulate(case$fit, 1000, seed = 1, newdata = case$new, conditional = FALSE)
  expect_equal(mean(apply(free, 1, var)), 0.5, tolerance = 0.1)
  noisy <- simulate(case$fit, 1000, seed = 1, newdata = case$new, noise = TRUE)
  expect_equal(mean(apply(noisy, 1, var)), mean(diag(joint$cov)) + 0.09, tolerance = 0.05)
  exceeded <- gp_exceedance(case$fit, case$new, above = 2, areas = 1 / 40, nsim = 4000)
  expect_equal(exceeded$fit, mean(pnorm(2, joint$mean, sqrt(diag(joint$cov)), lower.tail = FALSE)), tolerance = 0.02)
  dense <- withr::with_seed(2, joint$mean + t(chol(joint$cov)) %*% matrix(rnorm(4e5), 40))
  expect_equal(exceeded$se.fit, sd(colMeans(dense > 2)), tolerance = 0.08)
})

test_that("the nearest observations are found even outside the halo of a cell", {
  case <- joint_case(4)
  case$fit$vecchia$local <- 30L
  blocks <- case$fit$blocks
  far <- rbind(case$new[1:3, ], data.frame(x = c(1.5, 0.9), y = c(0.5, -1), w = 0))
  u <- new_points(case$fit, far, NULL)$u
  near <- blocks$near_of(u)
  found <- nearest_records(blocks, near, 1e-3, 30)
  distance <- as.matrix(dist(rbind(u, as.matrix(case$d[c("x", "y")]) -
                                     rep(case$fit$center, each = 1500))))[1:5, -(1:5)]
  expect_setequal(found[, "row"], unlist(apply(distance, 1, function(x) order(x)[1:30], simplify = FALSE)))
})

test_that("predictions and draws that need points in memory are errors", {
  replaced_locally(few_latent = 100)
  fit <- fit_of_table(table_data(300))
  new <- table_data(20, seed = 2)
  expect_snapshot(error = TRUE, {
    predict(fit, gp_table(new), sums = rep(1, 20))
    predict(fit, new, cov = TRUE, nmax = 5)
    predict(fit, new, interval = "prediction", sums = rep(1, 20))
    simulate(fit)
    simulate(fit, newdata = gp_table(new))
    gp_exceedance(fit, above = 1)
  })
  replaced_locally(most_records = function(object) 50)
  expect_snapshot(error = TRUE, predict(fit, new, cov = TRUE))
})
