# Predictions of fits of tables, conditioned on values of the field at the observations of a cell and its halo (the
# observations around the cell). Oracles: kriging by dense matrices in plain R, and fits in memory with the same
# ordering, in which each new point is conditioned separately on values of the field.

field_in_memory <- function(fit, d, ...) {
  same <- like_in_memory(fit, d[order_of_table(fit), ], ordering = "given", ...)
  same$vecchia$local <- 2L * fit$vecchia$m
  same$prepared <- nearest_conditioning(same, joint_base(same))
  same
}

# Points within the region of the observations, and some points beyond.
sites <- function(n = 400) {
  withr::local_seed(4)
  data.frame(x = c(runif(n)^2, 1.3, -2), y = c(runif(n), 0.5, 3), w = rnorm(n + 2), kind = "c")
}

test_that("with all neighbours, predictions agree with kriging with a known mean", {
  small_cells(rows = 20, heads = 5)
  d <- table_data(90)
  new <- sites(30)
  fit <- gp(z ~ w, gp_table(d), ~ x + y, known_covariance(), estimate = "none", neighbours = 89,
            known = list(beta = c(2, 0.5), noise = ~ noise))
  expect_gt(sum(fit$blocks$rows > 0), 3)
  distance <- as.matrix(dist(rbind(d[c("x", "y")], new[c("x", "y")])))
  h <- sqrt(3) * distance / 0.3
  k <- 0.5 * (1 + h) * exp(-h)
  seen <- 1:90
  weights <- solve(k[seen, seen] + diag(0.09 + d$noise), k[seen, -seen])
  predicted <- predict(fit, new, se.fit = TRUE, interval = "confidence", joint = TRUE)
  expect_equal(predicted$fit, 2 + 0.5 * new$w + as.vector(crossprod(weights, d$z - 2 - 0.5 * d$w)), tolerance = 1e-7)
  expect_equal(predicted$se.fit, unname(sqrt(0.5 - colSums(weights * k[seen, -seen]))), tolerance = 1e-7)
})

test_that("if halos contain all observations, predictions agree with those from the field in memory", {
  small_cells()
  replaced_locally(halo_share = 1e3)
  d <- table_data(2000)
  d <- rbind(d, d[1:20, ]) # two observations at a location
  rownames(d) <- NULL
  new <- sites()
  for (formula in c(z ~ w, z ~ w + kind)) {
    fit <- fit_of_table(d, formula, weights = weight, known = list(noise = ~ noise))
    expect_gte(sum(fit$blocks$rows > 0), 8)
    same <- field_in_memory(fit, d, formula, weights = weight, known = list(noise = ~ noise))
    for (interval in c("confidence", "prediction")) {
      expect_equal(predict(fit, new, se.fit = TRUE, interval = interval, probs = 0.2, above = 2),
                   predict(same, new, se.fit = TRUE, interval = interval, probs = 0.2, above = 2), tolerance = 1e-8,
                   ignore_attr = TRUE)
    }
    expect_equal(predict(fit, new, type = "terms"), predict(same, new, type = "terms"), tolerance = 1e-8)
  }
})

# The rate at which kriging weights decrease with the distance, for a Matern 3/2 field in the plane. There are `density`
# observations per unit of area, and each has noise of variance `noise`. The spectrum of the field is 6 pi variance k^3
# / (k^2 + w^2)^(5/2) with k = sqrt(3) / range. The rate is the imaginary part of the complex frequency w at which this
# spectrum equals minus the spectrum of the noise.
decay_rate <- function(variance, range, noise, density) {
  k <- sqrt(3) / range
  squared <- (6 * pi * variance * k^3 * density / noise)^(2 / 5) * exp(0.4i * pi) - k^2
  Im(sqrt(squared))
}

test_that("the effect of observations beyond the halo agrees with the theory of equivalent kernels", {
  small_cells(rows = 400)
  d <- table_data(6000)
  withr::with_seed(5, d$x <- runif(6000))
  fit <- fit_of_table(d, covariance = matern(3/2, 0.5, 0.05) + nugget(0.02))
  same <- field_in_memory(fit, d)
  new <- sites(600)
  new <- new[new$x < 1 & new$x > 0, ]
  expected <- predict(same, new, se.fit = TRUE, interval = "confidence")
  unit <- sqrt(3) / 0.05 # the unit of the scaled coordinates in which halos are measured
  for (share in c(0.5, 1, 2)) {
    replaced_locally(halo_share = share)
    count <- fit$vecchia$local
    blocks <- fit_for_tasks(fit)$blocks
    rows <- vapply(seq_along(blocks$rows), function(k) nrow(records_of_field(blocks, k, 10)), 0L)
    expect_lt(max(rows), 2000) # of the 6000 rows of the table
    left <- 10 * exp(-decay_rate(0.5, 0.05, 0.02, 6000) * min(halo_widths(fit$blocks, count)) / unit)
    predicted <- predict(fit, new, se.fit = TRUE, interval = "confidence")
    expect_lt(max(abs(predicted$fit - expected$fit) / expected$se.fit), left)
    expect_lt(max(abs(predicted$se.fit / expected$se.fit - 1)), left)
  }
})

test_that("standard errors agree with joint predictions of a fit in memory within 1 %", {
  small_cells(rows = 400)
  d <- table_data(3000)
  fit <- fit_of_table(d, covariance = matern(3/2, 0.5, 0.1) + nugget(0.09), neighbours = 30)
  same <- gp(z ~ w, d, ~ x + y, fit$covariance, "vecchia", "none", neighbours = 30)
  new <- sites(300)[1:300, ]
  se <- function(fit) predict(fit, new, se.fit = TRUE, interval = "confidence")$se.fit
  expect_lt(max(abs(se(fit) / se(same) - 1)), 0.01)
})

test_that("predictions do not depend on how new points are split", {
  small_cells()
  replaced_locally(halo_rows = 500)
  fit <- fit_of_table(table_data(1500))
  new <- sites()
  what <- c("fit", "se.fit")
  all <- predict(fit, new, what = what)
  part <- rep(1:6, 67)
  parts <- lapply(split(seq_along(part), part), function(rows) predict(fit, new[rows, ], what = what))
  expect_identical(do.call(rbind, parts)[order(order(part)), ]$se.fit, all$se.fit)
  one <- predict(fit, new[7, ], what = what)
  expect_identical(unlist(one), unlist(all[7, ]))
  replaced_locally(cell_rows = 7)
  expect_identical(predict(fit, gp_table(new), what = what)$fit, all$fit)
})

test_that("the field of the latest cell is kept with the fit, and dropped when another cell is predicted", {
  small_cells()
  fit <- fit_of_table(table_data(1500))
  new <- sites(3)[1:3, ]
  new[2, c("x", "y")] <- new[1, c("x", "y")] + 1e-3
  all <- predict(fit, new, what = c("fit", "se.fit"))
  count <- 0
  replaced_locally(records_of_field = local({
    read <- records_of_field
    function(...) {
      count <<- count + 1
      read(...)
    }
  }))
  what <- c("fit", "se.fit")
  for (k in c(1, 2, 1, 3, 1)) expect_identical(unlist(predict(fit, new[k, ], what = what)), unlist(all[k, ]))
  expect_identical(length(unique(cells_near(fit$blocks, fit$blocks$near_of(new_points(fit, new, NULL)$u)))), 2L)
  expect_lte(count, 3)
  fit$theta <- fit$theta * 1.1
  predict(fit, new[1, ])
  expect_lte(count, 4)
  expect_lt(length(serialize(fit$cell, NULL)), 1e3)
})
